// Package cudatest is what the tests of the CUDA backend's packages share: whether they run on a
// GPU or on the fake driver, and over which groups.
package cudatest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

// AllGroups is the default of the flag -groups.
const AllGroups = "bn254/g1,bls12-377/g1,bls12-381/g1,bw6-761/g1,bn254/g2,bls12-377/g2,bls12-381/g2,bw6-761/g2"

// kernels is the environment variable that names the fake driver's kernels. scripts/test-cuda-fake
// sets it.
const kernels = "FAKECUDA_KERNELS"

// WithKernels gives the fake driver the kernels, compiled for the host, before a TestMain runs its
// tests. With another driver it does nothing.
func WithKernels() {
	if os.Getenv(kernels) == "" {
		return
	}
	root, err := filepath.Abs(".")
	for ; err == nil; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil || root == filepath.Dir(root) {
			break
		}
	}
	build := exec.Command(filepath.Join(root, "kernels/host/build"))
	build.Stderr = os.Stderr
	out, err := build.Output()
	if err != nil {
		panic(build.String() + ": " + err.Error())
	}
	os.Setenv(kernels, os.Getenv(kernels)+":"+strings.TrimSpace(string(out)))
	os.Setenv("FAKECUDA_MEMORY", "3G")
}

// Slow reports whether kernels run on the host, so that tests should be small.
func Slow() bool { return os.Getenv(kernels) != "" }

// Phases returns a Trace for a device that adds up in m the phases of the last turn.
func Phases(m map[string]time.Duration) func(context.Context, []backend.StageUsage) {
	return func(_ context.Context, phases []backend.StageUsage) {
		clear(m)
		for _, p := range phases {
			m[p.Name] += p.Busy
		}
	}
}

// OnFake skips a test unless the driver is the fake one. It resets what has failed or been counted
// there.
func OnFake(t testing.TB) {
	t.Helper()
	if !Slow() {
		t.Skip("scripts/test-cuda-fake runs this test on a fake driver")
	}
	if err := driver.Init(); err != nil {
		t.Fatal(err)
	}
	if !fakecuda.Present() {
		t.Skip("this driver is no fake")
	}
	fakecuda.Reset()
	t.Cleanup(fakecuda.Reset)
}

// Fail makes calls of the fake driver fail by rules, and resets earlier failures.
func Fail(t testing.TB, rules string) {
	t.Helper()
	fakecuda.Reset()
	if err := fakecuda.Fail(rules); err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until is returns true, for at most 30 s.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came about: %s", what)
		}
	}
}

// Opened judges the error of opening a device. If there is no device it skips the test, unless
// PIPPIN_GPU=1 says that the machine has one.
func Opened(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, backend.ErrUnavailable) && os.Getenv("PIPPIN_GPU") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// EachGroup runs a test for every group of a list such as AllGroups.
func EachGroup(t *testing.T, list string, f func(t *testing.T, c backend.Curve, g backend.Group)) {
	for _, name := range strings.Split(list, ",") {
		curve, group, _ := strings.Cut(name, "/")
		c, err := backend.ParseCurve(curve)
		if err != nil {
			t.Fatal(err)
		}
		g, err := backend.ParseGroup(group)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { f(t, c, g) })
	}
}
