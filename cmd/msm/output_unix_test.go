//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/internal/record"
)

// TestOutputKeepsWhatIsThere: the results go to a device, a pipe or the file
// behind a link, and these are still there afterwards.
func TestOutputKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	check := func(t *testing.T, content []byte) {
		t.Helper()
		var r record.Record[record.Run]
		if err := json.Unmarshal(content, &r); err != nil || len(r.Runs) != 2 {
			t.Errorf("%v: %s", err, content)
		}
	}
	run := func(t *testing.T, path string, want fs.FileMode) {
		t.Helper()
		if status, _, errs := cli(t, &app{}, tiny(t, "--format", "json", "--out", path)...); status != exitOK || errs != "" {
			t.Errorf("status %d, %s", status, errs)
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

// TestOutputRefused: what cannot be written is refused before the work.
func TestOutputRefused(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	if err := errors.Join(os.Symlink("nowhere", name("dangling")), os.WriteFile(name("a"), nil, 0o600),
		os.Symlink("a", name("link")), os.Link(name("a"), name("hard")), os.Symlink(dir, name("folder"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--out", dir}, {"--out", name("dangling")}, {"--out", name("folder")}, {"--out", name("a/b")}, {"--out", name("no/such")},
		{"--out", name("a"), "--plot", name("a")}, {"--out", name("a"), "--plot", name("link")}, {"--out", name("a"), "--plot", name("hard")},
		{"--out", name("new"), "--plot", dir + "/./new"}, {"--out", name("new"), "--plot", name("folder/new")},
	} {
		a := &app{open: nothingOpens(t)}
		if status, out, errs := cli(t, a, tiny(t, args...)...); status != exitUsage || out != "" {
			t.Errorf("%q: status %d, %s%s", args, status, out, errs)
		}
	}
	if content, err := os.ReadFile(name("a")); err != nil || len(content) > 0 {
		t.Errorf("a refused file was written: %q, %v", content, err)
	}
}

// TestOutputPipeWithoutReader: waiting for a reader ends with the command.
func TestOutputPipeWithoutReader(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ended{syscall.SIGHUP})
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs, getenv: func(string) string { return "" }, open: nothingOpens(t)}
	if status := run(ctx, a, tiny(t, "--out", pipe)); status != 129 {
		t.Errorf("status %d, %s", status, errs.String())
	}
}
