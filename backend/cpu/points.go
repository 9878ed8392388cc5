package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/big"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/layout"
)

// group computes steps over the points of one group. Points and scalars come as
// memory of whole elements, aligned to 8 bytes, of steps that Check has found to be
// right; encoded points are at any address.
type group interface {
	// multiply takes no scalars as ones.
	multiply(ctx context.Context, c *local.Call, dst, src, scalars []byte, terms int) error
	add(ctx context.Context, dst []byte, plus, minus [][]byte) error
	transform(ctx context.Context, c *local.Call, dst, src []byte, t *backend.Transform) error
	// check returns how many points are not valid, and the first of them.
	check(ctx context.Context, src []byte, subgroup bool) (bad, first int, err error)
	// decode returns the first element that is no encoding, or -1.
	decode(ctx context.Context, dst, src []byte, as backend.Encoding) (bad int, err error)
	encode(ctx context.Context, dst, src []byte, as backend.Encoding) error
}

// affinePoint is gnark-crypto's type of a point P with J its Jacobian form, which has
// C and U as compressed and uncompressed bytes.
type affinePoint[P, J, C, U any] interface {
	local.Affine[P, J]
	Neg(*P) *P
	IsInSubGroup() bool
	Bytes() C
	RawBytes() U
}

// jacobianPoint is gnark-crypto's type of a point P in Jacobian form; S is the type of
// scalars.
type jacobianPoint[P, J, S any] interface {
	*J
	AddMixed(*P) *J
	AddAssign(*J) *J
	SubAssign(*J) *J
	DoubleAssign() *J
	FromAffine(*P) *J
	ScalarMultiplication(*J, *big.Int) *J
	MultiExp([]P, []S, ecc.MultiExpConfig) (*J, error)
}

// scalarElement is gnark-crypto's type of a scalar S.
type scalarElement[S any] interface {
	*S
	BigInt(*big.Int) *big.Int
	SetBigInt(*big.Int) *S
	Mul(a, b *S) *S
	SetOne() *S
}

// decoder is gnark-crypto's type Decoder.
type decoder interface {
	Decode(any) error
	BytesRead() int64
}

// decode254 and those below make decoders of points that do not check their group.
func decode254(r io.Reader) decoder { return bn254.NewDecoder(r, bn254.NoSubgroupChecks()) }
func decode377(r io.Reader) decoder { return bls12377.NewDecoder(r, bls12377.NoSubgroupChecks()) }
func decode381(r io.Reader) decoder { return bls12381.NewDecoder(r, bls12381.NoSubgroupChecks()) }
func decode761(r io.Reader) decoder { return bw6761.NewDecoder(r, bw6761.NoSubgroupChecks()) }

// fastPoints makes the table of groups for New.
func fastPoints(e backend.Element) group {
	f := numbersOf(e.Curve)
	return [...][2]group{
		backend.BN254: {
			&points[bn254.G1Affine, bn254.G1Jac, fr254.Element, [32]byte, [64]byte, *bn254.G1Affine, *bn254.G1Jac, *fr254.Element]{e, f, decode254, bn254.BatchJacobianToAffineG1},
			&points[bn254.G2Affine, bn254.G2Jac, fr254.Element, [64]byte, [128]byte, *bn254.G2Affine, *bn254.G2Jac, *fr254.Element]{e, f, decode254, nil},
		},
		backend.BLS12377: {
			&points[bls12377.G1Affine, bls12377.G1Jac, fr377.Element, [48]byte, [96]byte, *bls12377.G1Affine, *bls12377.G1Jac, *fr377.Element]{e, f, decode377, bls12377.BatchJacobianToAffineG1},
			&points[bls12377.G2Affine, bls12377.G2Jac, fr377.Element, [96]byte, [192]byte, *bls12377.G2Affine, *bls12377.G2Jac, *fr377.Element]{e, f, decode377, nil},
		},
		backend.BLS12381: {
			&points[bls12381.G1Affine, bls12381.G1Jac, fr381.Element, [48]byte, [96]byte, *bls12381.G1Affine, *bls12381.G1Jac, *fr381.Element]{e, f, decode381, bls12381.BatchJacobianToAffineG1},
			&points[bls12381.G2Affine, bls12381.G2Jac, fr381.Element, [96]byte, [192]byte, *bls12381.G2Affine, *bls12381.G2Jac, *fr381.Element]{e, f, decode381, nil},
		},
		backend.BW6761: {
			&points[bw6761.G1Affine, bw6761.G1Jac, fr761.Element, [96]byte, [192]byte, *bw6761.G1Affine, *bw6761.G1Jac, *fr761.Element]{e, f, decode761, bw6761.BatchJacobianToAffineG1},
			&points[bw6761.G2Affine, bw6761.G2Jac, fr761.Element, [96]byte, [192]byte, *bw6761.G2Affine, *bw6761.G2Jac, *fr761.Element]{e, f, decode761, nil},
		},
	}[e.Curve][e.Group-backend.G1]
}

// points is the group arithmetic on gnark-crypto's types. It takes a time that depends
// on the scalars.
type points[P, J, S, C, U any, PP affinePoint[P, J, C, U], PJ jacobianPoint[P, J, S], PS scalarElement[S]] struct {
	of      backend.Element
	numbers numbers
	decoder func(io.Reader) decoder
	batch   func([]J) []P // to affine; nil where gnark-crypto has none
}

// Points are computed in blocks, whose sums become affine together. Processors take
// grains of as many as keep them busy for a millisecond or so.
const (
	pointBlock  = 256
	pointsAlone = 16
)

func viewOf[T any](b []byte) []T {
	v, err := layout.View[T](b)
	if err != nil {
		panic(err) // its alignment and length are right, see group
	}
	return v
}

// affine sets dst to src.
func (g *points[P, J, S, C, U, PP, PJ, PS]) affine(dst []P, src []J) {
	if g.batch != nil && len(src) > 1 {
		copy(dst, g.batch(src))
		return
	}
	for i := range src {
		PP(&dst[i]).FromJacobian(&src[i])
	}
}

// blocks sets each of dst to what of makes of it, on every processor, grain at a time.
func (g *points[P, J, S, C, U, PP, PJ, PS]) blocks(ctx context.Context, dst []P, grain int, of func() func(i int, sum *J)) error {
	return each(ctx, len(dst), grain, func(parts iter.Seq2[int, int]) {
		set := of()
		sums := make([]J, grain)
		defer clear(sums)
		for lo, hi := range parts {
			some := sums[:hi-lo]
			clear(some)
			for i := range some {
				set(lo+i, &some[i])
			}
			g.affine(dst[lo:hi], some)
		}
	})
}

// What makes a product worth a table, or a row a MultiExp: so many products.
const (
	manyOfBase = 64
	manyOfRow  = 32
)

func (g *points[P, J, S, C, U, PP, PJ, PS]) multiply(ctx context.Context, c *local.Call, dst, src, scalars []byte, terms int) error {
	to, from, by := viewOf[P](dst), viewOf[P](src), viewOf[S](scalars)
	terms = max(terms, 1)
	switch {
	case len(to) == 0:
		return backend.Ended(ctx)
	case len(by) > 0 && len(from) == 1 && len(to)*terms >= manyOfBase:
		return g.fixedBase(ctx, to, &from[0], by, terms)
	case len(by) > 0 && terms >= manyOfRow:
		return c.Attempt(ctx, func() error { return g.rows(ctx, to, from, by, terms) })
	}
	return g.blocks(ctx, to, min(pointBlock, max(1, pointsAlone*16/terms)), func() func(int, *J) {
		var k big.Int
		return func(j int, sum *J) {
			for i := j * terms; i < (j+1)*terms; i++ {
				p := &from[i%len(from)]
				if len(by) == 0 {
					PJ(sum).AddMixed(p)
					continue
				}
				var product J
				PJ(&product).FromAffine(p)
				g.times(&product, &by[i%len(by)], &k)
				PJ(sum).AddAssign(&product)
			}
		}
	})
}

// times multiplies p by a scalar; k is room for it, and wiped.
func (g *points[P, J, S, C, U, PP, PJ, PS]) times(p *J, by *S, k *big.Int) {
	PJ(p).ScalarMultiplication(p, PS(by).BigInt(k))
	clear(k.Bits())
}

// fixedBase multiplies one point, of which a table has the multiples by every byte at
// every place of a scalar: a product is as many additions as a scalar has bytes.
func (g *points[P, J, S, C, U, PP, PJ, PS]) fixedBase(ctx context.Context, dst []P, base *P, by []S, terms int) error {
	const width = 256
	size := g.of.Curve.ScalarBytes()
	table, row := make([]P, size*width), make([]J, width)
	var place J
	PJ(&place).FromAffine(base)
	for w := range size {
		if err := backend.Yield(ctx); err != nil {
			return err
		}
		clear(row)
		for k := 1; k < width; k++ {
			row[k] = row[k-1]
			PJ(&row[k]).AddAssign(&place)
		}
		g.affine(table[w*width:(w+1)*width], row)
		for range 8 {
			PJ(&place).DoubleAssign()
		}
	}
	return g.blocks(ctx, dst, max(1, pointBlock/terms), func() func(int, *J) {
		var k big.Int
		digits := make([]byte, size)
		return func(j int, sum *J) {
			for i := j * terms; i < (j+1)*terms; i++ {
				PS(&by[i%len(by)]).BigInt(&k).FillBytes(digits)
				for w := range size {
					if d := digits[size-1-w]; d != 0 {
						PJ(sum).AddMixed(&table[w*width+int(d)])
					}
				}
			}
			clear(digits)
			clear(k.Bits())
		}
	})
}

// rows has gnark-crypto's MultiExp compute each sum.
func (g *points[P, J, S, C, U, PP, PJ, PS]) rows(ctx context.Context, dst []P, src []P, by []S, terms int) error {
	tasks := max(1, runtime.GOMAXPROCS(0)/len(dst))
	var failed atomic.Pointer[error]
	err := g.blocks(ctx, dst, max(1, pointBlock/terms), func() func(int, *J) {
		own, scalars := make([]P, terms), make([]S, terms)
		return func(j int, sum *J) {
			p, s := row(src, own, j), row(by, scalars, j)
			if _, err := PJ(sum).MultiExp(p, s, ecc.MultiExpConfig{NbTasks: min(tasks, 1024)}); err != nil {
				failed.Store(&err)
			}
			clear(scalars)
		}
	})
	if e := failed.Load(); e != nil {
		return fmt.Errorf("%w: gnark-crypto: %w", backend.ErrInternal, *e)
	}
	return err
}

// row returns row j of elements that are repeated, as many as own has room for: where they
// lie, or copied to own.
func row[T any](all, own []T, j int) []T {
	at := j * len(own) % len(all)
	if at+len(own) <= len(all) {
		return all[at : at+len(own)]
	}
	for i := range own {
		own[i] = all[(at+i)%len(all)]
	}
	return own
}

func (g *points[P, J, S, C, U, PP, PJ, PS]) add(ctx context.Context, dst []byte, plus, minus [][]byte) error {
	to := viewOf[P](dst)
	views := func(all [][]byte) (v [][]P) {
		for _, b := range all {
			v = append(v, viewOf[P](b))
		}
		return v
	}
	more, less := views(plus), views(minus)
	return g.blocks(ctx, to, pointBlock, func() func(int, *J) {
		return func(i int, sum *J) {
			for _, p := range more {
				PJ(sum).AddMixed(&p[i%len(p)])
			}
			for _, p := range less {
				var negative P
				PP(&negative).Neg(&p[i%len(p)])
				PJ(sum).AddMixed(&negative)
			}
		}
	})
}

// transform computes a radix-2 transform of points in Jacobian form: by decimation in
// frequency from natural order, and in time from reversed order.
func (g *points[P, J, S, C, U, PP, PJ, PS]) transform(ctx context.Context, _ *local.Call, dst, src []byte, t *backend.Transform) error {
	to, from := viewOf[P](dst), viewOf[P](src)
	batch := max(t.Batch, 1)
	n, given := len(to)/batch, len(from)/batch
	f := g.numbers
	w, shift, scale := f.root(n), big.NewInt(1), big.NewInt(1)
	if len(t.Shift) > 0 {
		shift = f.number(t.Shift)
	}
	if t.Inverse {
		w.ModInverse(w, f.r)
		shift.ModInverse(shift, f.r)
		scale.ModInverse(big.NewInt(int64(n)), f.r)
	}
	roots := g.powers(big.NewInt(1), w, n/2)
	var factors []S // of the coefficients, which are the results of an inverse
	if t.Inverse && n > 1 || len(t.Shift) > 0 {
		factors = g.powers(scale, shift, n)
	}
	defer clear(factors)
	turn := 64 - bits.TrailingZeros(uint(n))
	reverse := func(i int) int { return int(bits.Reverse64(uint64(i)) >> turn) }
	scaled := func(a []J, o backend.Order) error {
		return each(ctx, len(a), pointsAlone, func(parts iter.Seq2[int, int]) {
			var k big.Int
			for lo, hi := range parts {
				for i := lo; i < hi; i++ {
					at := i
					if o == backend.Reversed {
						at = reverse(i)
					}
					g.times(&a[i], &factors[at], &k)
				}
			}
		})
	}
	a := make([]J, n)
	defer clear(a)
	for v := range batch {
		clear(a)
		for i, p := range from[v*given : (v+1)*given] {
			PJ(&a[i]).FromAffine(&p)
		}
		if factors != nil && !t.Inverse {
			if err := scaled(a, t.From); err != nil {
				return err
			}
		}
		if err := g.butterflies(ctx, a, roots, t.From); err != nil {
			return err
		}
		if t.From == backend.Natural && t.To == backend.Natural {
			if err := bitReverse(ctx, a, n); err != nil {
				return err
			}
		}
		if factors != nil && t.Inverse {
			if err := scaled(a, t.To); err != nil {
				return err
			}
		}
		if err := g.blocks(ctx, to[v*n:(v+1)*n], pointBlock, func() func(int, *J) {
			return func(i int, sum *J) { *sum = a[i] }
		}); err != nil {
			return err
		}
	}
	return nil
}

// powers returns first, first ratio, first ratio^2 and so on, n of them.
func (g *points[P, J, S, C, U, PP, PJ, PS]) powers(first, ratio *big.Int, n int) []S {
	all := make([]S, n)
	var z, by S
	PS(&z).SetBigInt(first)
	PS(&by).SetBigInt(ratio)
	for i := range all {
		all[i] = z
		PS(&z).Mul(&z, &by)
	}
	return all
}

// butterflies transforms a, whose length is twice that of roots or one.
func (g *points[P, J, S, C, U, PP, PJ, PS]) butterflies(ctx context.Context, a []J, roots []S, from backend.Order) error {
	n := len(a)
	for half := n / 2; half > 0; half /= 2 {
		m := half // from natural order the halves become shorter
		if from == backend.Reversed {
			m = n / 2 / half
		}
		if err := each(ctx, n/2, pointsAlone, func(parts iter.Seq2[int, int]) {
			var k big.Int
			for lo, hi := range parts {
				for i := lo; i < hi; i++ {
					at := i/m*2*m + i%m
					x, y, w := &a[at], &a[at+m], &roots[i%m*(n/2/m)]
					if from == backend.Reversed && i%m > 0 {
						g.times(y, w, &k)
					}
					sum := *x
					PJ(&sum).AddAssign(y)
					difference := *x
					PJ(&difference).SubAssign(y)
					if from == backend.Natural && i%m > 0 {
						g.times(&difference, w, &k)
					}
					*x, *y = sum, difference
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// found counts elements that are not right and keeps the first of them.
type found struct {
	count, first atomic.Int64
}

func newFound() *found {
	f := new(found)
	f.first.Store(math.MaxInt64)
	return f
}

func (f *found) add(i int) {
	f.count.Add(1)
	for first := f.first.Load(); int64(i) < first; first = f.first.Load() {
		if f.first.CompareAndSwap(first, int64(i)) {
			return
		}
	}
}

func (g *points[P, J, S, C, U, PP, PJ, PS]) check(ctx context.Context, src []byte, subgroup bool) (bad, first int, err error) {
	from, size, q := viewOf[P](src), g.of.Bytes(), layout.BaseField(g.of.Curve)
	wrong := newFound()
	err = each(ctx, len(from), pointBlock, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			for i := lo; i < hi; i++ {
				p := PP(&from[i])
				if layout.FirstNotBelow(src[i*size:(i+1)*size], q) >= 0 || !p.IsOnCurve() || subgroup && !p.IsInSubGroup() {
					wrong.add(i)
				}
			}
		}
	})
	return int(wrong.count.Load()), int(wrong.first.Load()), err
}

var errOther = errors.New("another encoding")

func (g *points[P, J, S, C, U, PP, PJ, PS]) decode(ctx context.Context, dst, src []byte, as backend.Encoding) (int, error) {
	to, size := viewOf[P](dst), as.Bytes(g.of)
	wrong := newFound()
	err := each(ctx, len(to), pointBlock, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			for i := lo; i < hi; i++ {
				if g.decoded(&to[i], src[i*size:(i+1)*size]) != nil {
					wrong.add(i)
				}
			}
		}
	})
	if err != nil || wrong.count.Load() == 0 {
		return -1, err
	}
	return int(wrong.first.Load()), nil
}

// decoded sets p to the point that b encodes.
func (g *points[P, J, S, C, U, PP, PJ, PS]) decoded(p *P, b []byte) error {
	d := g.decoder(bytes.NewReader(b))
	if err := d.Decode(p); err != nil {
		return err
	}
	if d.BytesRead() != int64(len(b)) {
		return errOther // a compressed point where an uncompressed one should be
	}
	return nil
}

func (g *points[P, J, S, C, U, PP, PJ, PS]) encode(ctx context.Context, dst, src []byte, as backend.Encoding) error {
	from, size := viewOf[P](src), as.Bytes(g.of)
	return each(ctx, len(from), pointBlock, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			for i := lo; i < hi; i++ {
				to := dst[i*size : (i+1)*size]
				if as == backend.Compressed {
					copy(to, layout.Bytes([]C{PP(&from[i]).Bytes()}))
				} else {
					copy(to, layout.Bytes([]U{PP(&from[i]).RawBytes()}))
				}
			}
		}
	})
}
