package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// outputFile is a file that appears under its name only when it is whole.
type outputFile struct {
	path string
	f    *os.File
}

// createOutput opens a file beside path, so that a folder that is missing or
// closed shows before hours of work. Without a path there is no file.
func createOutput(path string) (*outputFile, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, usageError{fmt.Errorf("cannot write %s: %w", path, err)}
	}
	return &outputFile{path, f}, nil
}

// write fills the file and gives it its name.
func (o *outputFile) write(do func(io.Writer) error) error {
	err := do(o.f)
	if err == nil {
		err = o.f.Chmod(0o644)
	}
	if e := o.f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(o.f.Name(), o.path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.path, err)
	}
	return nil
}

// discard removes the file unless it was written.
func (o *outputFile) discard() {
	if o != nil && o.f.Close() == nil {
		os.Remove(o.f.Name())
	}
}

// deliver writes a result in its format to the file, and as a table to stdout;
// without a file in its format to stdout.
func (a *app) deliver(out *outputFile, table, format func(io.Writer) error) error {
	if out == nil {
		return format(a.stdout)
	}
	return errors.Join(table(a.stdout), out.write(format))
}

// writeJSON writes v for people and programs.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
