package cpu_test

import (
	"flag"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cpu"
)

var full = flag.Bool("full", false, "run the conformance suite in full")

func TestConformance(t *testing.T) {
	o := backendtest.Options{Full: *full}
	if !*full {
		o.Logs = []int{6, 10} // sizes around 2^12 take a quarter of the time
	}
	backendtest.Run(t, func(testing.TB) backend.Backend { return cpu.New(cpu.Options{}) }, o)
}

// TestConformanceInChunks makes every MSM one of several chunks.
func TestConformanceInChunks(t *testing.T) {
	backendtest.Run(t, func(testing.TB) backend.Backend { return cpu.New(cpu.Options{Tasks: 1, Chunk: 50}) }, backendtest.Options{
		Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1}, Logs: []int{6}, Seed: 1,
	})
}

func TestNoDifferenceFromReference(t *testing.T) {
	a, b := cpu.New(cpu.Options{}), cpu.NewReference()
	defer a.Close()
	defer b.Close()
	backendtest.Difference(t, a, b, 1, 100)
}

func FuzzNoDifferenceFromReference(f *testing.F) {
	a, b := cpu.New(cpu.Options{}), cpu.NewReference()
	f.Cleanup(func() { a.Close(); b.Close() })
	f.Add([]byte{})
	f.Add([]byte{0, 0, 1, 20, 0, 0, 20, 0, 6, 6, 6, 6, 2, 0, 2, 1, 7, 128})
	f.Add([]byte{3, 1, 4, 24, 2, 0, 24, 1, 5, 1, 2, 5, 3, 4})
	f.Fuzz(func(t *testing.T, data []byte) { backendtest.DifferenceOf(t, a, b, data) })
}

func FuzzNoDifferenceOfPrograms(f *testing.F) {
	a, b := cpu.New(cpu.Options{}), cpu.NewReference()
	f.Cleanup(func() { a.Close(); b.Close() })
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 9, 9, 9, 1, 5, 3, 4, 5, 6, 7, 2, 3, 6, 6})
	f.Fuzz(func(t *testing.T, data []byte) { backendtest.DifferenceOfPrograms(t, a, b, data) })
}

func FuzzNoDifferenceOfPoints(f *testing.F) {
	a, b := cpu.New(cpu.Options{}), cpu.NewReference()
	f.Cleanup(func() { a.Close(); b.Close() })
	f.Add([]byte{})
	f.Add([]byte{2, 1, 3, 7, 7, 1, 4, 9, 3, 2, 1, 6, 6, 5, 2, 0, 8, 200, 31})
	f.Fuzz(func(t *testing.T, data []byte) { backendtest.DifferenceOfPoints(t, a, b, data) })
}

func FuzzNoDifferenceOfNumbers(f *testing.F) {
	a, b := cpu.New(cpu.Options{}), cpu.NewReference()
	f.Cleanup(func() { a.Close(); b.Close() })
	f.Add([]byte{})
	f.Add([]byte{3, 2, 14, 2, 7, 9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, data []byte) { backendtest.DifferenceOfNumbers(t, a, b, data) })
}
