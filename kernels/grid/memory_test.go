//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"flag"
	"testing"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/internal/cuda/memory"
)

var instrumented = flag.Bool("instrumented", false,
	"under compute-sanitizer, whose own code uses shared memory: what launches leave there is not compared")

// TestOverwrite writes a value to all stacks and all shared memory, finds it
// there, and finds nothing of it once they were overwritten again.
func TestOverwrite(t *testing.T) {
	d := open(t)
	for _, stack := range []int{1, 1000, 2000} {
		k, ok := memory.Covering(stack)
		if !ok {
			t.Fatalf("no kernels for stacks of %d bytes", stack)
		}
		over, in := function(d, k.Overwrite.Entry), function(d, k.Inspect.Entry)
		shared := d.Info().SharedPerBlock
		for _, f := range []*driver.Function{over, in} {
			d.must(f.SetMaxDynamicShared(shared))
		}
		blocks, err := over.Occupancy(k.Overwrite.Threads, 0)
		d.must(err)
		full := driver.Launch{
			Grid: driver.Dim{X: d.Info().Multiprocessors * blocks}, Block: driver.Dim{X: k.Overwrite.Threads}, Cooperative: true,
		}
		wide := driver.Launch{Grid: driver.Dim{X: d.Info().Multiprocessors}, Block: driver.Dim{X: k.Overwrite.Threads}, Shared: shared}
		overwrite := func(value int) {
			launchShaped(d, over, full, memory.Overwrite{Value: value})
			launchShaped(d, over, wide, memory.Overwrite{Value: value, SharedWords: shared / 4})
		}
		inspect := func(value int) []uint32 {
			different := d.words(2, 0, 0)
			launchShaped(d, in, full, memory.Inspect{Value: value, Different: at(different)})
			launchShaped(d, in, wide, memory.Inspect{Value: value, SharedWords: shared / 4, Different: at(different)})
			return d.read(different)
		}
		const secret = 0x5ec2e7
		overwrite(secret)
		if left := inspect(secret); !*instrumented && (left[0] != 0 || left[1] != 0) {
			t.Errorf("stacks of %d bytes: %d words of stacks and %d of shared memory were not reached", stack, left[0], left[1])
		}
		if left := inspect(0); !*instrumented && (left[1] == 0 || left[0] == 0 && !fakecuda.Present()) {
			t.Errorf("stacks of %d bytes: inspect sees nothing", stack)
		}
		overwrite(0)
		if left := inspect(0); !*instrumented && (left[0] != 0 || left[1] != 0) {
			t.Errorf("stacks of %d bytes: %d words of stacks and %d of shared memory are left", stack, left[0], left[1])
		}
	}
}
