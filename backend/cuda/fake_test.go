//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/fixtures"
)

// sayWhy is an environment variable that makes this program print why it cannot open a device.
const sayWhy = "PIPPIN_SAY_WHY"

func TestMain(m *testing.M) {
	if os.Getenv(sayWhy) != "" {
		b, err := Open(Options{Devices: "0"})
		if err == nil {
			fmt.Println("opened", b.Info().Devices[0].Detail)
		} else {
			fmt.Printf("%v: %v\n", backend.FaultOf(err), err)
		}
		os.Exit(0)
	}
	if os.Getenv(noKernels) != "" {
		os.Unsetenv("FAKECUDA_KERNELS") // the fake driver has kernels too, which do nothing
	} else {
		cudatest.WithKernels()
	}
	os.Exit(m.Run())
}

// fake opens a device of the fake driver. It skips the test if another driver is in use.
func fake(t testing.TB, o Options) *Backend {
	t.Helper()
	cudatest.OnFake(t)
	if o.Devices == "" {
		o.Devices = "0"
	}
	b, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFake computes small MSMs of every group with the kernels on the host.
func TestFake(t *testing.T) {
	b := fake(t, Options{})
	defer b.Close()
	for _, c := range backend.Curves() {
		for _, g := range backend.Groups() {
			p, err := fixtures.New(fixtures.Key{Curve: c, Group: g, Set: fixtures.Infinities, Seed: *seed})
			if err != nil {
				t.Fatal(err)
			}
			const n = 50
			points, err := p.Bytes(n)
			if err != nil {
				t.Fatal(err)
			}
			id, err := b.LoadBases(t.Context(), backend.Bases{Curve: c, Group: g, Count: n, Bytes: points, Hints: backend.Hints{Check: true}})
			if err != nil {
				t.Fatal(err)
			}
			scalars, err := fixtures.Scalars(c, fixtures.Witness, *seed, n-1)
			if err != nil {
				t.Fatal(err)
			}
			judge(t, b, p, id, 1, scalars, c.String()+" "+g.String())
		}
	}
}

// TestFakeConformance runs the suite on one group, which takes minutes. It is for changes made
// without a GPU at hand.
func TestFakeConformance(t *testing.T) {
	if !*full {
		t.Skip("-full runs this test")
	}
	fake(t, Options{}).Close()
	backendtest.Run(t, func(t testing.TB) backend.Backend { return fake(t, Options{}) }, backendtest.Options{
		Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1}, Logs: []int{4}, Seed: *seed,
	})
}

// small returns bases and a job over them.
func small(t *testing.T, b *Backend) (backend.Bases, backend.Job) {
	t.Helper()
	const n = 20
	p, err := fixtures.NewPoints(backend.BN254, backend.G1, *seed)
	if err != nil {
		t.Fatal(err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		t.Fatal(err)
	}
	scalars, err := fixtures.Scalars(backend.BN254, fixtures.PlonkL, *seed, n)
	if err != nil {
		t.Fatal(err)
	}
	bases := backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: points}
	id, err := b.LoadBases(t.Context(), bases)
	if err != nil {
		t.Fatal(err)
	}
	return bases, backend.Job{Bases: id, Count: n, Input: backend.Input{Bytes: scalars}}
}

// TestLostDevice: after an error that ends the context, every call says that the backend is gone,
// as do Ping and Done. Close still succeeds.
func TestLostDevice(t *testing.T) {
	const launchFailed = "719"
	b := fake(t, Options{})
	bases, job := small(t, b)
	if err := b.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	cudatest.Fail(t, "cuLaunchKernel@3="+launchFailed)
	if _, err := b.MSM(t.Context(), []backend.Job{job}); backend.FaultOf(err) != backend.FaultGone {
		t.Errorf("the call that loses the device: %v", err)
	}
	select {
	case <-b.Done():
	case <-time.After(time.Minute):
		t.Error("the device is lost, and the backend not done")
	}
	if err := b.Ping(t.Context()); !errors.Is(err, backend.ErrGone) {
		t.Errorf("Ping on a lost device: %v", err)
	}
	if _, err := b.MSM(t.Context(), []backend.Job{job}); !errors.Is(err, backend.ErrGone) {
		t.Errorf("MSM on a lost device: %v", err)
	}
	if _, err := b.LoadBases(t.Context(), bases); !errors.Is(err, backend.ErrGone) {
		t.Errorf("LoadBases on a lost device: %v", err)
	}
	if err := b.FreeBases(t.Context(), job.Bases); err != nil {
		t.Errorf("FreeBases on a lost device: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("Close on a lost device: %v", err)
	}
	if err := b.Ping(t.Context()); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("Ping after Close: %v", err)
	}
}

// TestClosed: Close closes Done and ends every call except Info. A second Close does no harm.
func TestClosed(t *testing.T) {
	b := fake(t, Options{})
	bases, job := small(t, b)
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	select {
	case <-b.Done():
	case <-time.After(time.Minute):
		t.Error("closed, and not done")
	}
	_, msm := b.MSM(t.Context(), []backend.Job{job})
	_, load := b.LoadBases(t.Context(), bases)
	_, attach := b.AttachArena(make([]byte, 8))
	for i, err := range []error{b.Ping(t.Context()), msm, load, attach, b.FreeBases(t.Context(), job.Bases)} {
		if !errors.Is(err, backend.ErrClosed) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if b.Info().Name != "cuda" {
		t.Error("no Info")
	}
}

// TestWhyItDoesNotOpen: whatever is missing, the error says what it is and what to do. Each case is
// a separate process, since a driver starts only once.
func TestWhyItDoesNotOpen(t *testing.T) {
	const outOfMemory, unsupportedPTX, invalidImage, noBinary = "2", "222", "200", "209"
	cudatest.OnFake(t)
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "libcuda.so.1"), []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := "FAKECUDA_DRIVER=12020"
	for what, c := range map[string]struct {
		env  []string
		says []string
	}{
		"all is well":          {nil, []string{"opened", "compute capability 9.0"}},
		"no driver":            {[]string{"LD_LIBRARY_PATH=" + broken}, []string{"gone:", "install the NVIDIA driver"}},
		"no device":            {[]string{"FAKECUDA_DEVICES=0"}, []string{"gone:", "nvidia-smi must list a GPU"}},
		"another architecture": {[]string{"FAKECUDA_CC=7.5"}, []string{"gone:", "compute capability 7.5", "make kernels ARCH=75"}},
		"a driver too old: PTX": {[]string{old, "FAKECUDA_FAIL=cuModuleLoadData@1=" + unsupportedPTX},
			[]string{"gone:", "install driver 580", "driver for CUDA 12.2"}},
		"a driver too old": {[]string{old, "FAKECUDA_FAIL=cuModuleLoadData@1=" + invalidImage},
			[]string{"gone:", "install driver 580", "driver for CUDA 12.2"}},
		"no code":                    {[]string{"FAKECUDA_FAIL=cuModuleLoadData@1=" + noBinary}, []string{"gone:", "compute capability 9.0"}},
		"a driver that lacks a call": {[]string{old, "FAKECUDA_FAIL=cuStreamCreate@1=36"}, []string{"gone:", "install a newer NVIDIA driver"}},
		"no memory for a context": {[]string{"FAKECUDA_FAIL=cuDevicePrimaryCtxRetain@1=" + outOfMemory},
			[]string{"backend: out of memory", "nvidia-smi lists"}},
		"no memory left on the card": {[]string{"FAKECUDA_MEMORY=64K"},
			[]string{"backend: out of memory", "65536 bytes of the card's 65536 are free", "nvidia-smi shows who"}},
		"no pinned memory": {[]string{"FAKECUDA_FAIL=cuMemHostAlloc@1+=" + outOfMemory},
			[]string{"backend: no pinned memory", "out of memory", "ulimit -l"}},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(append(os.Environ(), sayWhy+"=1"), c.env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for _, part := range c.says {
			if !strings.Contains(string(out), part) {
				t.Errorf("%s: %q lacks %q", what, out, part)
			}
		}
	}
}
