//go:build !windows

package outfile

import (
	"io"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// ReplaceBy makes the regular file path have what write writes, at once or, when write
// fails, not at all. A file that is there keeps its permissions.
func ReplaceBy(path string, write func(io.Writer) error) error {
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer f.Cleanup() // of what was not put in place
	if err := buffered(f, write); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
