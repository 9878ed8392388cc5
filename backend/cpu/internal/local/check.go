package local

import (
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/internal/layout"
)

// FirstNotBelow returns the index of the first element that is not below m, or -1.
func FirstNotBelow(elements []byte, m layout.Modulus) int {
	size := 8 * len(m)
	return first(len(elements)/size, func(i int) bool { return layout.FirstNotBelow(elements[i*size:(i+1)*size], m) >= 0 })
}

// first returns the smallest i below n for which bad(i) is true, or -1. All processors look for it.
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
	_ = g.Wait() // the parts return no errors
	for _, i := range found {
		if i >= 0 {
			return i
		}
	}
	return -1
}
