//go:build cuda && cgo && linux && (amd64 || arm64)

package ntt

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

// TestPassesBeginEarly: all passes begin early, except the first one after tables were made.
func TestPassesBeginEarly(t *testing.T) {
	cudatest.OnFake(t)
	c := open(t, backend.BN254)
	calls := func() (early, other int64) {
		return fakecuda.Calls("cuLaunchKernelEx"), fakecuda.Calls("cuLaunchKernel")
	}
	for _, shift := range [][]byte{nil, c.elements(1, 1)} {
		for _, x := range ways {
			for logN, passes := range map[int]int64{8: 1, 9: 2} {
				x.LogN, x.Shift = logN, shift
				m, free := c.memory(c.elements(1<<logN, 1))
				c.must(c.Field.Drop())
				for _, want := range []int64{passes - 1, passes} {
					early, other := calls()
					c.must(c.Queue(c.Turn, m, m, x))
					early2, other2 := calls()
					if early2-early != want || want < passes && other2-other < 2 {
						t.Errorf("%v: %d passes begin early, want %d, beside %d other launches", x, early2-early, want, other2-other)
					}
				}
				free()
			}
		}
	}
}
