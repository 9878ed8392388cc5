//go:build cuda && !measured

package kernels

import "embed"

// What is in the repository, and what was built beside it, but for what is only measured.
//
//go:embed fatbin/*/manifest.json fatbin/*/memory fatbin/*/msm fatbin/*/ntt fatbin/*/number fatbin/*/point fatbin/*/vector
var files embed.FS
