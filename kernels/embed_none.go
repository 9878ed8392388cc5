//go:build !cuda

package kernels

import (
	"embed"
	"io/fs"
)

// embedded returns an empty file system: only a build with the tag cuda carries compiled
// code.
func embedded() fs.FS { return embed.FS{} }
