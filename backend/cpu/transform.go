package cpu

import (
	"context"
	"iter"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/curves"
)

// butterflies transforms a vector in place, without a shift, from natural to reversed order or
// back. Its inverse divides by the vector's length.
type butterflies[E any] func(a []E, inverse bool, from backend.Order, tasks int)

func onDomain[E, D, O any](d curves.Transforms[E, D, O], dif, dit D, tasks func(int) O) butterflies[E] {
	return func(a []E, inverse bool, from backend.Order, n int) {
		transform, way := d.FFT, dif
		if inverse {
			transform = d.FFTInverse
		}
		if from == backend.Reversed {
			way = dit
		}
		transform(a, way, tasks(n))
	}
}

// mostTables is the most elements of a transform whose tables are kept: for elements of 32 bytes
// they then take 2 GiB. Longer transforms make a part of their tables each time.
const (
	logMostTables = 24
	mostTables    = 1 << logMostTables
)

// domains keeps gnark-crypto's tables of the sizes last used. Together they are as large as two of
// the largest tables.
type domains[E any] struct {
	make func(n int) butterflies[E]

	mu   sync.Mutex
	kept []*keptDomain[E] // the last used first
}

type keptDomain[E any] struct {
	n    int
	made func() butterflies[E]
}

// of returns the transform of n elements. For a new size this may take seconds.
func (d *domains[E]) of(n int) butterflies[E] { return d.find(n).made() }

func (d *domains[E]) find(n int) *keptDomain[E] {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := &keptDomain[E]{n, sync.OnceValue(func() butterflies[E] { return d.make(n) })}
	if n > mostTables {
		return found
	}
	all := n
	others := slices.DeleteFunc(d.kept, func(k *keptDomain[E]) bool {
		if k.n == n {
			found = k
			return true
		}
		all += k.n
		return all > 2*mostTables
	})
	d.kept = slices.Insert(others, 0, found)
	return found
}

// transform computes a transform. When ctx ends it may run on after the call, since gnark-crypto's
// butterflies cannot be stopped.
func (f vectors[E, V, PE, PV]) transform(ctx context.Context, c *local.Call, dst, src []byte, t *backend.Transform) error {
	to, from := f.view(dst), f.view(src)
	batch := max(t.Batch, 1)
	n, given := len(to)/batch, len(from)/batch
	var shifts *powers[E, V, PE]
	if len(t.Shift) > 0 {
		shift, order := f.element(t.Shift), t.From
		if t.Inverse {
			PE(&shift).Inverse(&shift)
			order = t.To
		}
		shifts = f.powersOf(shift, n, order)
	}
	return c.Attempt(ctx, func() error {
		before := shifts
		if t.Inverse {
			before = nil
		}
		if before != nil || t.Dst != t.Src {
			if err := f.copy(ctx, to, from, n, given, before); err != nil {
				return err
			}
		}
		if err := f.butterflies(ctx, to, n, t); err != nil {
			return err
		}
		if t.From == backend.Natural && t.To == backend.Natural {
			if err := bitReverse(ctx, to, n); err != nil {
				return err
			}
		}
		if t.Inverse && shifts != nil {
			return f.copy(ctx, to, to, n, n, shifts)
		}
		return nil
	})
}

// copy sets vectors of n elements: each gets its given first elements and then zeros, multiplied by
// powers unless p is nil. dst may be src if given is n.
func (f vectors[E, V, PE, PV]) copy(ctx context.Context, dst, src V, n, given int, p *powers[E, V, PE]) error {
	return each(ctx, len(dst), grain, func(parts iter.Seq2[int, int]) {
		factors := make(V, block)
		for lo, hi := range parts {
			for ; lo < hi; lo += min(block, n) {
				of, at := lo/n, lo%n // a block lies within one vector
				to := dst[lo:min(lo+min(block, n), hi)]
				from := src[of*given+min(at, given) : of*given+min(at+len(to), given)]
				clear(to[len(from):])
				to = to[:len(from)]
				if p == nil {
					copy(to, from)
					continue
				}
				some, z := factors[:len(from)], p.factor(at/block)
				PV(&some).ScalarMul(p.low[:len(from)], &z)
				PV(&to).Mul(from, some)
			}
		}
	})
}

// butterflies transforms vectors of n elements in place.
func (f vectors[E, V, PE, PV]) butterflies(ctx context.Context, all V, n int, t *backend.Transform) error {
	const small = 1 << 11 // too few elements for several processors
	do, processors := f.domains.of(n), runtime.GOMAXPROCS(0)
	if batch := len(all) / n; batch >= processors || n <= small {
		return each(ctx, batch, max(1, small/n), func(parts iter.Seq2[int, int]) {
			for lo, hi := range parts {
				for ; lo < hi; lo++ {
					do(all[lo*n:(lo+1)*n], t.Inverse, t.From, 1)
				}
			}
		})
	}
	for ; len(all) > 0; all = all[n:] {
		if err := backend.Ended(ctx); err != nil {
			return err
		}
		do(all[:n], t.Inverse, t.From, processors)
	}
	return nil
}

// bitReverse moves every element of vectors of n elements, a power of two, to the place with
// reversed bits.
func bitReverse[E any](ctx context.Context, all []E, n int) error {
	return each(ctx, len(all), grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			swapReversed(all, n, lo, hi)
		}
	})
}

// swapReversed does bitReverse for the elements from lo to hi that move up.
func swapReversed[E any](all []E, n, lo, hi int) {
	shift := 64 - bits.TrailingZeros(uint(n))
	for ; lo < hi; lo++ {
		i := lo & (n - 1)
		if k := int(bits.Reverse64(uint64(i)) >> shift); i < k {
			all[lo], all[lo-i+k] = all[lo-i+k], all[lo]
		}
	}
}
