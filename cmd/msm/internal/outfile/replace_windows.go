package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// ReplaceBy makes the regular file path have what write writes, or, when write fails, what
// it had. Windows promises less than "at once or not at all", and renameio leaves it out
// for that.
func ReplaceBy(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err = errors.Join(buffered(f, write), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
