//go:build unix

package plugin

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const exeSuffix = ""

func executable(st fs.FileInfo) bool { return st.Mode()&0o111 != 0 }

// trusted refuses a file that anybody but root and this user can change or
// replace: the file, its folder and every folder above belong to one of the
// two, and nobody else can write to them. Further up, a folder in which
// others can create but not replace files (/tmp) will do.
func trusted(path string) error {
	if err := private(path, false); err != nil {
		return err
	}
	for dir, up := filepath.Dir(path), false; ; dir, up = filepath.Dir(dir), true {
		if err := private(dir, up); err != nil {
			return err
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// private checks one step of a path; sticky allows what the sticky bit makes
// harmless.
func private(path string, sticky bool) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: no owner to see", path)
	}
	if sys.Uid != 0 && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to root or user %d", path, sys.Uid, os.Geteuid())
	}
	if st.Mode()&fs.ModeSymlink != 0 {
		return nil // has no permissions; its target is checked as well
	}
	if st.Mode().Perm()&0o022 == 0 || (sticky && st.Mode()&fs.ModeSticky != 0) {
		return nil
	}
	return fmt.Errorf("others can write to %s (%v); chmod go-w it", path, st.Mode())
}
