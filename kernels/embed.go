//go:build cuda

package kernels

import (
	"embed"
	"io/fs"
)

func embedded() fs.FS {
	sub, err := fs.Sub(files, "fatbin")
	if err != nil {
		return embed.FS{} // it cannot be: the name is valid
	}
	return sub
}
