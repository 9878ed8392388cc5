// Package realpath finds what a name stands for before something new is renamed
// to it: os.Rename puts a file where a link, a device or a pipe was.
package realpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pippin-zk/pippin/backend"
)

// File is the path of the regular file that path names, itself or by links,
// whether it is there or not. Anything else there is backend.ErrInvalidInput,
// and so is a link to nothing.
func File(path string) (string, error) { return find(path, 0, "regular file") }

// Folder is the same for a folder.
func Folder(path string) (string, error) { return find(path, fs.ModeDir, "folder") }

func find(path string, kind fs.FileMode, what string) (string, error) {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err == nil && st.Mode().Type() == fs.ModeSymlink {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			st, err = os.Lstat(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	if st.Mode().Type() != kind {
		return "", fmt.Errorf("%w: %s is no %s: remove it, or choose another name", backend.ErrInvalidInput, path, what)
	}
	return path, nil
}
