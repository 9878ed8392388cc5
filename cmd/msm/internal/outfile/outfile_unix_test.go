//go:build unix

package outfile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFileKeepsWhatIsThere: the results go to a device, a pipe or the file
// behind a link, and these are still there afterwards.
func TestFileKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	const text = "the result"
	check := func(t *testing.T, content []byte) {
		t.Helper()
		if string(content) != text {
			t.Errorf("%q is written", content)
		}
	}
	run := func(t *testing.T, path string, want fs.FileMode) {
		t.Helper()
		f, err := Create(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			t.Error(err)
		}
		if st, err := os.Lstat(path); err != nil || st.Mode().Type() != want {
			t.Errorf("%s is now %v (%v)", path, st, err)
		}
	}

	t.Run("link", func(t *testing.T) {
		old := bytes.Repeat([]byte("longer than a record "), 1<<10)
		if err := errors.Join(os.WriteFile(name("file"), old, 0o600), os.Symlink("file", name("link"))); err != nil {
			t.Fatal(err)
		}
		run(t, name("link"), fs.ModeSymlink)
		content, err := os.ReadFile(name("file"))
		if err != nil {
			t.Fatal(err)
		}
		check(t, content)
	})
	t.Run("pipe", func(t *testing.T) {
		if err := unix.Mkfifo(name("pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		content := make(chan []byte, 1)
		go func() {
			f, err := os.Open(name("pipe"))
			if err != nil {
				t.Error(err)
			}
			b, err := io.ReadAll(f)
			if err != nil {
				t.Error(err)
			}
			f.Close()
			content <- b
		}()
		run(t, name("pipe"), fs.ModeNamedPipe)
		check(t, <-content)
	})
	t.Run("device", func(t *testing.T) {
		if err := unix.Mknod(name("null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err != nil {
			t.Skipf("only root makes devices: %v", err)
		}
		run(t, name("null"), fs.ModeDevice|fs.ModeCharDevice)
	})
	t.Run("regular", func(t *testing.T) {
		if err := os.WriteFile(name("regular"), []byte("old"), 0o640); err != nil {
			t.Fatal(err)
		}
		before, err := os.Open(name("regular"))
		if err != nil {
			t.Fatal(err)
		}
		defer before.Close()
		run(t, name("regular"), 0)
		if old, err := io.ReadAll(before); err != nil || string(old) != "old" {
			t.Errorf("who reads the old file sees %q, %v", old, err)
		}
		if st, err := os.Stat(name("regular")); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("%v, %v", st, err)
		}
	})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 5 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestFileRefused: what cannot be written is refused before the work, and changed by
// nothing.
func TestFileRefused(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if err := errors.Join(os.Symlink("nowhere", name("dangling")), os.WriteFile(name("a"), []byte("old"), 0o600),
		os.Symlink(dir, name("folder"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, name("dangling"), name("folder"), name("a/b"), name("no/such")} {
		if f, err := Create(t.Context(), path); err == nil || f != nil {
			t.Errorf("%s can be written", path)
		}
	}
	f, err := Create(t.Context(), name("a"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := errors.New("wrong")
	if err := f.Write(func(io.Writer) error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
	if content, err := os.ReadFile(name("a")); err != nil || string(content) != "old" {
		t.Errorf("%q, %v", content, err)
	}
	for _, other := range []string{dir + "/./a", name("folder/a")} {
		if !Same(name("a"), other) || !Same(name("new"), filepath.Join(filepath.Dir(other), "new")) {
			t.Errorf("%s is another file", other)
		}
	}
	if Same(name("a"), name("b")) {
		t.Error("two files are one")
	}
}

// TestPipeWithoutReader: waiting for a reader ends with the context.
func TestPipeWithoutReader(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*pipePoll)
	defer cancel()
	if _, err := Create(ctx, pipe); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestNoFile: without a path there is nothing to write.
func TestNoFile(t *testing.T) {
	f, err := Create(t.Context(), "")
	if err := errors.Join(err, f.Write(func(io.Writer) error { return errors.New("written") }), f.Close()); err != nil {
		t.Error(err)
	}
}
