//go:build unix

package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
)

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
		a := &App{Open: clitest.NothingOpens(t)}
		if status, out, errs := cli(t, a, tiny(t, args...)...); status != ExitUsage || out != "" {
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
	a := &App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Open: clitest.NothingOpens(t)}
	if status := Run(ctx, a, tiny(t, "--out", pipe)); status != 129 {
		t.Errorf("status %d, %s", status, errs.String())
	}
}
