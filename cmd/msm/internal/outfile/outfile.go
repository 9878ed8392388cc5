// Package outfile writes the results of long work to files, as a whole or not at all.
package outfile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// File is where a result goes. A regular file is replaced by a whole one or left as it
// is; a device, a pipe and what a link leads to are written in place. A nil File is
// none: writing and closing it does nothing.
type File struct {
	path string
	f    *os.File // open when written in place
}

// Create finds out whether path can be written, so that hours of work are not lost to
// a folder that is missing or closed. Nothing is changed yet. For a pipe it waits until
// somebody reads, or returns the context's error. Without a path there is no file.
func Create(ctx context.Context, path string) (*File, error) {
	if path == "" {
		return nil, nil
	}
	o := &File{path: path}
	replace, err := replaceable(path)
	switch {
	case err != nil:
	case replace:
		err = tryReplace(path)
	default:
		o.f, err = openInPlace(ctx, path)
	}
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), o.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return o, nil
}

// replaceable reports whether path is a regular file or nothing.
func replaceable(path string) (bool, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case st.IsDir():
		return false, errors.New("it is a folder")
	}
	return st.Mode().IsRegular(), nil
}

// tryReplace fails where Replace would.
func tryReplace(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // a file that may not be written is not replaced either
	switch {
	case err == nil:
		err = f.Close()
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err
	}
	if f, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*"); err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// pipePoll is how often is looked for the reader of a pipe.
const pipePoll = 50 * time.Millisecond

// openInPlace opens what is there, without creating or emptying it.
func openInPlace(ctx context.Context, path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		if st, e := os.Stat(path); e != nil || st.Mode().Type() != fs.ModeNamedPipe {
			return nil, err
		}
		select {
		case <-time.After(pipePoll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Write calls do to write the file. Nothing is written when do fails. What is written in
// place is in memory before.
func (o *File) Write(do func(io.Writer) error) error {
	if o == nil {
		return nil
	}
	var err error
	if o.f == nil {
		err = o.replace(do)
	} else {
		var content bytes.Buffer
		if err = do(&content); err == nil {
			err = o.put(content.Bytes())
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.path, err)
	}
	return nil
}

// WriteBytes writes the file with this content.
func (o *File) WriteBytes(content []byte) error {
	return o.Write(func(w io.Writer) error { _, err := w.Write(content); return err })
}

func (o *File) replace(do func(io.Writer) error) error {
	if replace, err := replaceable(o.path); err != nil || !replace {
		return errors.Join(errors.New("what is there now is no regular file"), err)
	}
	return ReplaceBy(o.path, do)
}

// put writes in place.
func (o *File) put(content []byte) error {
	st, err := o.f.Stat()
	if err == nil && st.Mode().IsRegular() {
		err = o.f.Truncate(0)
	}
	if err == nil {
		_, err = o.f.Write(content)
	}
	return errors.Join(err, o.Close())
}

// Replace makes the regular file path have this content, see ReplaceBy.
func Replace(path string, content []byte) error {
	return ReplaceBy(path, func(w io.Writer) error { _, err := w.Write(content); return err })
}

// buffered calls write with a buffer before f.
func buffered(f io.Writer, write func(io.Writer) error) error {
	b := bufio.NewWriterSize(f, 1<<20)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// Counter counts the bytes that are written to it.
type Counter int64

func (c *Counter) Write(b []byte) (int, error) {
	*c += Counter(len(b))
	return len(b), nil
}

// Close lets go of the file. It may be called at any time.
func (o *File) Close() error {
	if o == nil || o.f == nil {
		return nil
	}
	f := o.f
	o.f = nil
	return f.Close()
}

// Same reports whether two paths name one file, which need not be there yet.
func Same(a, b string) bool {
	same := func(a, b string) bool {
		x, errX := os.Stat(a)
		y, errY := os.Stat(b)
		return errX == nil && errY == nil && os.SameFile(x, y)
	}
	return same(a, b) || filepath.Base(a) == filepath.Base(b) && same(filepath.Dir(a), filepath.Dir(b))
}
