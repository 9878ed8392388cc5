//go:build cuda && cgo && linux && (amd64 || arm64)

package ntt

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
)

// TestPassesBeginEarly: a transform's first pass is a launch like others, since its
// tables may have been made just before, and so is what follows the last one.
func TestPassesBeginEarly(t *testing.T) {
	cudatest.OnFake(t)
	c := open(t, backend.BN254)
	calls := func() (early, other int64) {
		return fakecuda.Calls("cuLaunchKernelEx"), fakecuda.Calls("cuLaunchKernel")
	}
	for _, shift := range [][]byte{nil, c.elements(1, 1)} {
		for _, x := range ways {
			for logN, follow := range map[int]int64{8: 0, 9: 1} {
				x.LogN, x.Shift = logN, shift
				m, free := c.memory(c.elements(1<<logN, 1))
				early, other := calls()
				c.must(c.Queue(c.Turn, m, m, x))
				early2, other2 := calls()
				if early2-early != follow || other2 == other {
					t.Errorf("%v: %d passes begin early, want %d, beside %d other launches", x, early2-early, follow, other2-other)
				}
				free()
			}
		}
	}
}
