// Package clitest has what tests of commands share.
package clitest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
)

// IsProgress is whether a command says how far it is, as it does on a slow machine only.
func IsProgress(line []byte) bool { return bytes.HasPrefix(line, []byte("msm: [")) }

// Said keeps what a command says on stderr, without its progress.
type Said struct{ bytes.Buffer }

func (s *Said) Write(line []byte) (int, error) {
	if IsProgress(line) {
		return len(line), nil
	}
	return s.Buffer.Write(line)
}

// Output returns what run writes, and its status.
func Output(run func(stdout, stderr io.Writer) int) (status int, stdout, stderr string) {
	var out bytes.Buffer
	var errs Said
	status = run(&out, &errs)
	return status, out.String(), errs.String()
}

// Getenv is an environment with a cache that no test may use.
func Getenv(key string) string {
	if key == "PIPPIN_CACHE" {
		return filepath.Join(os.TempDir(), "unused: tests name a cache")
	}
	return ""
}

// WrongOpener opens the CPU backend, but "wrong" answers wrongly.
func WrongOpener(_ context.Context, name string) (backend.Backend, error) {
	switch name {
	case "wrong":
		return wrong{cpu.New(cpu.Options{})}, nil
	case "reference":
		return cpu.NewReference(), nil
	case "cpu":
		return cpu.New(cpu.Options{}), nil
	}
	return nil, fmt.Errorf("%w: unknown backend %q", backend.ErrUnavailable, name)
}

// NothingOpens is an opener for what must fail before a backend is opened.
func NothingOpens(t *testing.T) func(context.Context, string) (backend.Backend, error) {
	return func(_ context.Context, name string) (backend.Backend, error) {
		t.Errorf("%s is opened", name)
		return nil, backend.ErrUnavailable
	}
}

type wrong struct{ backend.Backend }

func (w wrong) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	out, err := w.Backend.MSM(ctx, jobs)
	for i := range out {
		out[i][0] ^= 1
	}
	return out, err
}

// BuildPlugin makes a folder with the CPU plugin.
func BuildPlugin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	path := filepath.Join(dir, "msm-backend-cpu")
	build := exec.Command("go", "build", "-o", path, "github.com/pippin-zk/pippin/cmd/msm-backend-cpu")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the plugin: %v\n%s", err, out)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
