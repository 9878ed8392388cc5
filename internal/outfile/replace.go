//go:build !windows

package outfile

import (
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Replace makes the regular file path have this content, at once or not at
// all. A file that is there keeps its permissions.
func Replace(path string, content []byte) error {
	return renameio.WriteFile(path, content, 0o644, renameio.WithTempDir(filepath.Dir(path)))
}
