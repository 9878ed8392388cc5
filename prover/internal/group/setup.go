package group

import (
	"context"
	"crypto/rand"
	"io"
	"math/big"
	"slices"

	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// setupPart is the scalars that a goroutine computes at a time: some tenths of a
// millisecond.
const setupPart = 1 << 12

// RandomNonzero sets z to a uniform scalar other than 0. It takes the bytes of crypto/rand
// that rand.Int takes for a number below r-1, and adds 1 to the number. rand.Int would
// leave them in memory.
func (f *Field[S]) RandomNonzero(z *S) error {
	b := make([]byte, f.Bytes) // big-endian, as rand.Int reads it
	low := make([]byte, f.Bytes)
	defer clear(b)
	defer clear(low)
	for {
		if _, err := io.ReadFull(rand.Reader, b); err != nil {
			return err
		}
		b[0] &= 0xff >> (8*f.Bytes - f.bits())
		for i := f.Bytes - 1; i >= 0; i-- {
			if b[i]++; b[i] != 0 {
				break
			}
		}
		copy(low, b)
		slices.Reverse(low)
		if f.below(low) {
			f.fromBytes(z, b)
			return nil
		}
	}
}

// SetBig sets z to an integer modulo r.
func (f *Field[S]) SetBig(z *S, n *big.Int) { f.fromBig(z, n) }

// InverseTo sets z to 1/a, and to 0 for 0.
func (f *Field[S]) InverseTo(z, a *S) { f.inverse(z, a) }

// AddTo adds x to sum.
func (f *Field[S]) AddTo(sum, x *S) { f.addTo(sum, x) }

// Subtract sets z to a-b.
func (f *Field[S]) Subtract(z, a, b *S) { f.sub(z, a, b) }

// Scale multiplies v by k, until ctx ends.
func (f *Field[S]) Scale(ctx context.Context, v []S, k *S) error {
	return merge.Until(ctx, len(v), setupPart, func(lo, hi int) { f.vecScale(v[lo:hi], v[lo:hi], k) })
}

// Powers sets v to first, first*by, first*by^2, .., until ctx ends.
func (f *Field[S]) Powers(ctx context.Context, v []S, first, by *S) error {
	return merge.Until(ctx, len(v), setupPart, func(lo, hi int) {
		if v[lo] = *first; lo > 0 {
			f.power(&v[lo], by, lo)
			f.mul(&v[lo], &v[lo], first)
		}
		for i := lo + 1; i < hi; i++ {
			f.mul(&v[i], &v[i-1], by)
		}
	})
}

// PowerMinusOne sets z, which is not t, to t^n - 1 for n of at least 1.
func (f *Field[S]) PowerMinusOne(z, t *S, n int) {
	one := f.One()
	f.power(z, t, n)
	f.sub(z, z, &one)
}

// Lagrange sets v to the values at t of the first Lagrange polynomials of the n-th roots
// of unity, which root generates, until ctx ends. Polynomial i is
//
//	(X^n - 1)/n * root^i/(X - root^i).
//
// If t is a root of unity, all values are 0.
func (f *Field[S]) Lagrange(ctx context.Context, v []S, t, root *S, n int) error {
	factor := make([]S, 1)
	defer clear(factor)
	share := f.Inverse(f.Number(n))
	f.PowerMinusOne(&factor[0], t, n)
	f.mul(&factor[0], &factor[0], &share)
	return merge.Until(ctx, len(v), setupPart, func(lo, hi int) {
		// One inversion for all differences X - root^i of a part: v has the product of
		// those before.
		v, roots, differences := v[lo:hi], make([]S, hi-lo), make([]S, hi-lo)
		run := make([]S, 1)
		defer clear(differences)
		defer clear(run)
		if f.one(&roots[0]); lo > 0 {
			f.power(&roots[0], root, lo)
		}
		f.one(&run[0])
		for i := range v {
			if i > 0 {
				f.mul(&roots[i], &roots[i-1], root)
			}
			v[i] = run[0]
			f.sub(&differences[i], t, &roots[i])
			f.mul(&run[0], &run[0], &differences[i])
		}
		f.inverse(&run[0], &run[0])
		f.mul(&run[0], &run[0], &factor[0])
		for i := len(v) - 1; i >= 0; i-- {
			f.mul(&v[i], &v[i], &run[0])
			f.mul(&v[i], &v[i], &roots[i])
			f.mul(&run[0], &run[0], &differences[i])
		}
	})
}
