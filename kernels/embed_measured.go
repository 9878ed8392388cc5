//go:build cuda && measured

package kernels

import "embed"

// Everything, with the kernels of grid/measured.
//
//go:embed fatbin
var files embed.FS
