package files

import (
	"os"
	"path/filepath"
)

// Free returns how many bytes this process may still write below a folder. The folder
// need not exist yet. Free returns false if the system does not say.
func Free(dir string) (uint64, bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, false
	}
	for {
		if _, err := os.Stat(dir); err == nil {
			return free(dir)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return 0, false
		}
		dir = parent
	}
}
