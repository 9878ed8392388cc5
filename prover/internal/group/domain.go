package group

import (
	"context"
	"math/bits"
	"runtime"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// Domain computes over a multiplicative subgroup of Fr and its coset. gnark-crypto's
// transforms cannot be stopped, so a long one is cut: its first (or last) steps are
// computed here in grains, and what they leave are many short transforms, the pieces,
// which gnark-crypto computes. The context is looked at before each grain and piece,
// every 4 ms or so on one processor.
type Domain[S any] struct {
	// Size is the number of elements, a power of two.
	Size int
	// Shift is the coset's representative.
	Shift S

	field *Field[S]
	piece int // the elements of a piece, a power of two
	// roots[k][i] is w^(i 2^k) for a generator w of the subgroup; inverses have those
	// of 1/w. There is one k for each step that is computed here.
	roots, inverses [][]S
	// interpolate turns the values of a piece into coefficients, evaluate does the
	// reverse. Coefficients stand in bit-reversed order.
	interpolate, evaluate func(piece []S)
	toCoset, fromCoset    *powers[S]
}

const (
	leastPiece = 1 << 12 // shorter ones cost more in their sum
	mostPiece  = 1 << 14 // longer ones leave a second cache
	// leastCut is the elements from which a transform is cut: shorter ones take a
	// millisecond.
	leastCut = 1 << 14
	// grain is the butterflies that a processor takes at a time.
	grain = 1 << 10
)

// transforms is gnark-crypto's type fft.Domain.
type transforms[S, D, O any] interface {
	curves.Transforms[S, D, O]
	curves.Tables[S]
}

// NewDomain binds a domain of gnark-crypto of size elements. make makes another one;
// dit, dif and alone are its package's values DIT, DIF and WithNbTasks(1). A domain that
// has no tables is not cut.
func NewDomain[S, D, O any, T transforms[S, D, O]](f *Field[S], t T, size uint64, shift S,
	make func(size int) T, dit, dif D, alone O) *Domain[S] {
	n := int(size)
	d := &Domain[S]{
		Size: n, Shift: shift, field: f, piece: n,
		interpolate: func(a []S) { t.FFTInverse(a, dif) },
		evaluate:    func(a []S) { t.FFT(a, dit) },
		toCoset:     f.powersOf(shift, n), fromCoset: f.powersOf(f.Inverse(shift), n),
	}
	if n < leastCut {
		return d
	}
	roots, err := t.Twiddles()
	if err != nil {
		return d
	}
	inverses, err := t.TwiddlesInv()
	if err != nil {
		return d
	}
	d.piece = max(leastPiece, min(mostPiece, 1<<(bits.Len(uint(n/(4*runtime.GOMAXPROCS(0))))-1)))
	steps := bits.TrailingZeros(uint(n / d.piece))
	d.roots, d.inverses = roots[:steps], inverses[:steps]
	part := make(d.piece)
	d.interpolate = func(a []S) { part.FFTInverse(a, dif, alone) }
	d.evaluate = func(a []S) { part.FFT(a, dit, alone) }
	return d
}

// Quotient computes the coefficients of H = (A B - C) / (X^Size - 1), in bit-reversed
// order, in a. a, b and c are the values of A, B and C on the subgroup, Size of each,
// and are overwritten. When ctx ends, Quotient returns its error.
//
// On the coset, X^Size - 1 is a constant other than zero, and A and B are multiplied.
// Interpolation there gives A B modulo X^Size - Shift^Size, in which C, of degree below
// Size, is what it is everywhere: C needs no transform to the coset.
func (d *Domain[S]) Quotient(ctx context.Context, a, b, c []S) error {
	f := d.field
	// An interpolation is divided by Size: interpolate divides by the elements of a
	// piece, and share does the rest.
	share := f.Inverse(f.Number(d.Size / d.piece))
	constant := f.Product(share, f.InverseOfPowerMinusOne(d.Shift, d.Size))
	for _, phase := range []func() error{
		func() error { return d.split(ctx, a, b, c) },
		func() error {
			return d.pieces(ctx, 3, func(i, at, end int) {
				v := [...][]S{a, b, c}[i][at:end]
				if d.interpolate(v); i == 2 {
					f.vecScale(v, v, &constant)
					return
				}
				d.toCoset.scale(v, at, share)
				d.evaluate(v)
			})
		},
		func() error { return d.join(ctx, a, b) },
		func() error {
			return d.pieces(ctx, 1, func(_, at, end int) { f.vecMul(a[at:end], a[at:end], b[at:end]) })
		},
		func() error { return d.split(ctx, a) },
		func() error {
			return d.pieces(ctx, 1, func(_, at, end int) {
				v := a[at:end]
				d.interpolate(v)
				d.fromCoset.scale(v, at, constant)
				f.vecSub(v, v, c[at:end])
			})
		},
	} {
		if err := phase(); err != nil {
			return err
		}
	}
	return nil
}

// OnCoset computes the values of A B - C on the coset, in natural order, in a. a, b and c are
// the values of A, B and C on the subgroup, Size of each, and are overwritten. When ctx ends,
// OnCoset returns its error.
func (d *Domain[S]) OnCoset(ctx context.Context, a, b, c []S) error {
	f := d.field
	share := f.Inverse(f.Number(d.Size / d.piece))
	for _, phase := range []func() error{
		func() error { return d.split(ctx, a, b, c) },
		func() error {
			return d.pieces(ctx, 3, func(i, at, end int) {
				v := [...][]S{a, b, c}[i][at:end]
				d.interpolate(v)
				d.toCoset.scale(v, at, share)
				d.evaluate(v)
			})
		},
		func() error { return d.join(ctx, a, b, c) },
		func() error {
			return d.pieces(ctx, 1, func(_, at, end int) {
				f.vecMul(a[at:end], a[at:end], b[at:end])
				f.vecSub(a[at:end], a[at:end], c[at:end])
			})
		},
	} {
		if err := phase(); err != nil {
			return err
		}
	}
	return nil
}

// split computes the first steps of interpolations. The rest of each is an interpolation of
// every piece.
func (d *Domain[S]) split(ctx context.Context, all ...[]S) error {
	for k, roots := range d.inverses {
		if err := d.step(ctx, all, k, func(upper, lower []S, at int) {
			for i := range upper {
				d.field.butterfly(&upper[i], &lower[i])
			}
			d.field.vecMul(lower, lower, roots[at:at+len(lower)])
		}); err != nil {
			return err
		}
	}
	return nil
}

// join computes the last steps of evaluations, after an evaluation of every piece.
func (d *Domain[S]) join(ctx context.Context, all ...[]S) error {
	for k := len(d.roots) - 1; k >= 0; k-- {
		roots := d.roots[k]
		if err := d.step(ctx, all, k, func(upper, lower []S, at int) {
			d.field.vecMul(lower, lower, roots[at:at+len(lower)])
			for i := range upper {
				d.field.butterfly(&upper[i], &lower[i])
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// step calls do with all pairs of elements that step k of a transform combines: each
// vector is 2^k parts, and an element of a part's upper half is combined with the one
// at the same place, from at on, in its lower half.
func (d *Domain[S]) step(ctx context.Context, all [][]S, k int, do func(upper, lower []S, at int)) error {
	half, pairs := d.Size>>(k+1), d.Size/2
	return merge.Until(ctx, len(all)*pairs, grain, func(lo, _ int) {
		v, pair := all[lo/pairs], lo%pairs
		at := pair % half
		upper := 2*(pair-at) + at
		do(v[upper:upper+grain], v[upper+half:upper+half+grain], at)
	})
}

// pieces calls do for the elements from at to end of each piece of so many vectors.
func (d *Domain[S]) pieces(ctx context.Context, vectors int, do func(vector, at, end int)) error {
	return merge.Until(ctx, vectors*d.Size, d.piece, func(lo, _ int) {
		at := lo % d.Size
		do(lo/d.Size, at, at+d.piece)
	})
}

// powers are those of an element z below z^n, for n a power of two. The one at place
// b*len(low)+i, in bit-reversed order, is factor(b) * low[i].
type powers[S any] struct {
	field   *Field[S]
	low     []S
	squares []S // z^(2^k)
	high    int // bits of b
}

// powersOf makes the powers of z.
func (f *Field[S]) powersOf(z S, n int) *powers[S] {
	const mostLow = 9
	logN := bits.TrailingZeros(uint(n))
	p := &powers[S]{field: f, squares: make([]S, logN), low: make([]S, 1<<min(logN, mostLow))}
	p.high = logN - bits.TrailingZeros(uint(len(p.low)))
	for k := range p.squares {
		p.squares[k] = z
		f.mul(&z, &z, &z)
	}
	p.low[0] = f.One()
	for k, square := range p.squares[p.high:] {
		f.vecScale(p.low[1<<k:2<<k], p.low[:1<<k], &square)
	}
	merge.BitReverse(p.low)
	return p
}

// factor returns z to the power that stands first in a block, b, in bit-reversed order.
func (p *powers[S]) factor(b int) S {
	z := p.field.One()
	for e := bits.Reverse64(uint64(b)) >> (64 - p.high); e != 0; e &= e - 1 {
		p.field.mul(&z, &z, &p.squares[bits.TrailingZeros64(e)])
	}
	return z
}

// scale multiplies the elements of v, the first of which stands at the place at, by their
// powers and by k.
func (p *powers[S]) scale(v []S, at int, k S) {
	factors := make([]S, len(p.low))
	for n := len(p.low); len(v) > 0; v, at = v[n:], at+n {
		z := p.factor(at / n)
		p.field.mul(&z, &z, &k)
		p.field.vecScale(factors, p.low, &z)
		p.field.vecMul(v[:n], v[:n], factors)
	}
}
