//go:build !cuda

package kernels

import (
	"embed"
	"io/fs"
)

// embedded is empty: only a build with the tag cuda carries compiled code.
func embedded() fs.FS { return embed.FS{} }
