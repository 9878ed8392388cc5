package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/pippin-zk/pippin/internal/record"
)

// outputFile is where a result goes. A regular file is replaced by a whole one
// or left as it is; a device, a pipe and what a link leads to are written in
// place.
type outputFile struct {
	path string
	f    *os.File // open when written in place
}

// createOutput finds out whether path can be written, so that hours of work
// are not lost to a folder that is missing or closed. Nothing is changed yet.
// For a pipe it waits until somebody reads. Without a path there is no file.
func createOutput(ctx context.Context, path string) (*outputFile, error) {
	if path == "" {
		return nil, nil
	}
	o := &outputFile{path: path}
	replace, err := replaceable(path)
	switch {
	case err != nil:
	case replace:
		err = tryReplace(path)
	default:
		o.f, err = openInPlace(ctx, path)
	}
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), o.close())
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("cannot write %s: %w", path, err)}
	}
	return o, nil
}

// createOutputs is createOutput for a result and for its plot, whose format the
// ending of its name says.
func createOutputs(ctx context.Context, out, plot string) (result, picture *outputFile, err error) {
	if out != "" && plot != "" && sameFile(out, plot) {
		return nil, nil, usageError{fmt.Errorf("--out and --plot are the same file, %s", out)}
	}
	if err := oneOf("plot", plotFormat(plot), record.PlotFormats...); err != nil {
		return nil, nil, fmt.Errorf("%w: the ending of %s says which", err, plot)
	}
	if result, err = createOutput(ctx, out); err != nil {
		return nil, nil, err
	}
	if picture, err = createOutput(ctx, plot); err != nil {
		return nil, nil, errors.Join(err, result.close())
	}
	return result, picture, nil
}

// plotFormat is what the name of a plot's file ends with: SVG where that says
// nothing, as of a pipe.
func plotFormat(path string) string {
	return cmp.Or(strings.ToLower(strings.TrimPrefix(filepath.Ext(path), ".")), "svg")
}

// replaceable tells whether path is a regular file or nothing.
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

// tryReplace fails where replaceFile would.
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

// write writes the file, if there is one.
func (o *outputFile) write(do func(io.Writer) error) error {
	if o == nil {
		return nil
	}
	var content bytes.Buffer
	err := do(&content)
	if err == nil {
		err = o.put(content.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.path, err)
	}
	return nil
}

func (o *outputFile) put(content []byte) error {
	if o.f == nil {
		if replace, err := replaceable(o.path); err != nil || !replace {
			return errors.Join(errors.New("what is there now is no regular file"), err)
		}
		return replaceFile(o.path, content)
	}
	st, err := o.f.Stat()
	if err == nil && st.Mode().IsRegular() {
		err = o.f.Truncate(0)
	}
	if err == nil {
		_, err = o.f.Write(content)
	}
	return errors.Join(err, o.close())
}

// close lets go of the file. It may be called at any time.
func (o *outputFile) close() error {
	if o == nil || o.f == nil {
		return nil
	}
	f := o.f
	o.f = nil
	return f.Close()
}

// sameFile tells whether two paths name one file, which need not be there yet.
func sameFile(a, b string) bool {
	same := func(a, b string) bool {
		x, errX := os.Stat(a)
		y, errY := os.Stat(b)
		return errX == nil && errY == nil && os.SameFile(x, y)
	}
	return same(a, b) || filepath.Base(a) == filepath.Base(b) && same(filepath.Dir(a), filepath.Dir(b))
}

// deliver writes a result in its format to the file, and as a table to stdout;
// without a file in its format to stdout.
func (a *app) deliver(out *outputFile, table, format func(io.Writer) error) error {
	if out == nil {
		return format(a.stdout)
	}
	return errors.Join(table(a.stdout), out.write(format))
}

// tableOr is the writer of the format, json or table.
func tableOr(format string, table, json func(io.Writer) error) func(io.Writer) error {
	if format == "json" {
		return json
	}
	return table
}

// width is the characters in a line of a terminal, 0 where w is none.
func width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// writeJSON writes v for people and programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
