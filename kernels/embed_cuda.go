//go:build cuda

package kernels

import (
	"embed"
	"io/fs"
)

// What is in the repository, and what was built beside it.
//
//go:embed fatbin
var files embed.FS

func embedded() fs.FS {
	sub, err := fs.Sub(files, "fatbin")
	if err != nil {
		return embed.FS{} // it cannot be: the name is valid
	}
	return sub
}
