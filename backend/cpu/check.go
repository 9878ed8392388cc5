package cpu

import (
	"encoding/binary"
	"math/big"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/internal/layout"
)

// firstNotBelow is the index of the first element of size bytes that is not
// below m, or -1.
func firstNotBelow(elements []byte, size int, m *big.Int) (int, error) {
	words, err := layout.View[uint64](elements)
	if err != nil {
		return 0, err
	}
	limit := limbs(m, size)
	per := len(limit)
	return first(len(words)/per, func(i int) bool { return !isBelow(words[i*per:(i+1)*per], limit) }), nil
}

// limbs is v as size/8 limbs, least significant first.
func limbs(v *big.Int, size int) []uint64 {
	b := v.FillBytes(make([]byte, size))
	l := make([]uint64, size/8)
	for i := range l {
		l[i] = binary.BigEndian.Uint64(b[size-8*(i+1):])
	}
	return l
}

// isBelow tells whether a < m, both least significant limb first.
func isBelow(a, m []uint64) bool {
	for k := len(m) - 1; k >= 0; k-- {
		if a[k] != m[k] {
			return a[k] < m[k]
		}
	}
	return false
}

// first is the smallest i below n with bad(i), or -1, looked for on all
// processors.
func first(n int, bad func(int) bool) int {
	parts := min(runtime.GOMAXPROCS(0), n/256+1)
	found := make([]int, parts)
	var g errgroup.Group
	for p := range parts {
		g.Go(func() error {
			found[p] = -1
			for i := p * n / parts; i < (p+1)*n/parts; i++ {
				if bad(i) {
					found[p] = i
					break
				}
			}
			return nil
		})
	}
	_ = g.Wait() // no part returns an error
	for _, i := range found {
		if i >= 0 {
			return i
		}
	}
	return -1
}
