//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

// TestFakeNumbers runs the suite's part about numbers, and compares random programs with the
// backend cpu.
func TestFakeNumbers(t *testing.T) {
	fake(t, Options{}).Close()
	backendtest.RunNumbers(t, func(t testing.TB) backend.Backend { return fake(t, Options{}) }, backendtest.Options{Full: *full, Seed: *seed})
	b, c := fake(t, Options{}), cpu.New(cpu.Options{})
	defer b.Close()
	defer c.Close()
	r := rand.New(rand.NewPCG(*seed, 1))
	for range *cases / 4 {
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		backendtest.DifferenceOfNumbers(t, b, c, data)
	}
}

// numbers is a backend with a space of words. Its programs have several kernels each, and secret
// operands.
type numbers struct {
	*Backend
	space backend.SpaceID
}

func openNumbers(t *testing.T, b *Backend) numbers {
	t.Helper()
	space, err := b.NewSpace(t.Context(), backend.Word(), 4096)
	if err != nil {
		t.Fatal(err)
	}
	return numbers{b, space}
}

// run computes 8 powers and their sum, modulo 2^512 - 1.
func (n numbers) run(t *testing.T) ([][]byte, error) {
	t.Helper()
	const words, count = 16, 8
	batch := func(k, count int) backend.Batch {
		return backend.Batch{Space: n.space, Offset: k * words * count, Words: words, Count: count}
	}
	a, e, dst := batch(0, count), batch(1, count), batch(2, count)
	m, sum := batch(30, 1), batch(31, 1)
	return n.Run(t.Context(), []backend.Step{
		backend.Write{Dst: a.Range(), Input: backend.Input{Bytes: bytes.Repeat([]byte{0x5a}, 4*words*count)}},
		backend.Write{Dst: e.Range(), Input: backend.Input{Bytes: bytes.Repeat([]byte{7}, 4*words*count)}},
		backend.Write{Dst: m.Range(), Input: backend.Input{Bytes: bytes.Repeat([]byte{0xff}, 4*words)}},
		backend.Compute{Op: backend.NumExpMod, Dst: dst, A: a, B: e, M: m},
		backend.Compute{Op: backend.NumDotMod, Dst: sum, A: dst, B: dst, M: m},
		backend.Read{Src: sum.Range()},
	})
}

// TestNumbersOnALostDevice: a program on a lost card says so, and Close wipes what it can.
func TestNumbersOnALostDevice(t *testing.T) {
	const launchFailed = "719"
	b := fake(t, Options{})
	n := openNumbers(t, b)
	cudatest.Fail(t, "cuLaunchKernel@3="+launchFailed)
	for range 2 {
		if _, err := n.run(t); !errors.Is(err, backend.ErrGone) {
			t.Errorf("on a lost card: %v", err)
		}
	}
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestNumbersWithoutMemory: memory that is refused fails one program and nothing else.
func TestNumbersWithoutMemory(t *testing.T) {
	const outOfMemory = "2"
	b := fake(t, Options{})
	defer b.Close()
	n := openNumbers(t, b)
	cudatest.Fail(t, "cuMemAlloc@1+="+outOfMemory)
	if _, err := n.run(t); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("no work memory: %v", err)
	}
	if _, err := n.NewSpace(t.Context(), backend.Word(), 1<<20); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("no memory for a space: %v", err)
	}
	fakecuda.Reset()
	if _, err := n.run(t); err != nil {
		t.Errorf("after the memory ran out: %v", err)
	}
}

// TestNumbersLeaveNothing: programs take memory once and all give the same answer. What they give
// back at the end is wiped.
func TestNumbersLeaveNothing(t *testing.T) {
	b := fake(t, Options{})
	unwiped := func() int64 { return fakecuda.Counter("unwiped_memory") + fakecuda.Counter("unwiped") }
	before := unwiped()
	n := openNumbers(t, b)
	want, err := n.run(t)
	if err != nil {
		t.Fatal(err)
	}
	took := fakecuda.Calls("cuMemAlloc")
	for range 20 {
		got, err := n.run(t)
		if err != nil || !bytes.Equal(got[5], want[5]) {
			t.Fatalf("%x, %v, want %x", got, err, want[5])
		}
	}
	if more := fakecuda.Calls("cuMemAlloc") - took; more != 0 {
		t.Errorf("memory was taken %d times again", more)
	}
	if err := errors.Join(n.FreeSpace(t.Context(), n.space), b.Close()); err != nil {
		t.Error(err)
	}
	if left := unwiped() - before; left != 0 {
		t.Errorf("%d pieces of memory were given back as they were", left)
	}
}
