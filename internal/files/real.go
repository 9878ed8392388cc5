package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pippin-zk/pippin/backend"
)

// RealFile follows links and returns the path of the regular file that path names, for who
// renames a new file to it: os.Rename alone would replace a link, a device or a pipe by the
// file. The file need not exist. The error is backend.ErrInvalidInput if anything else is there, or a
// link to nothing.
func RealFile(path string) (string, error) { return find(path, 0, "regular file") }

// RealFolder does what RealFile does, for a folder.
func RealFolder(path string) (string, error) { return find(path, fs.ModeDir, "folder") }

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
