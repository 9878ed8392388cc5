package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pippin-zk/pippin/internal/files"
)

// LookAt finds out whether files can be made in a folder. One that is not there
// stands for the nearest above it, in which it would be made.
func LookAt(dir string) Folder {
	at := Folder{Path: dir}
	there := dir
	for {
		_, err := os.Stat(there)
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(there) == there {
			break
		}
		there = filepath.Dir(there)
	}
	at.Free, _ = files.Free(there)
	f, err := os.CreateTemp(there, ".pippin-doctor-*")
	if err != nil {
		at.Problem = err
		return at
	}
	at.Problem = errors.Join(f.Close(), os.Remove(f.Name()))
	return at
}
