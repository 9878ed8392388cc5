package cpu

import (
	"context"
	"iter"
	"math"
	"math/big"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// group computes steps over the points of one group. Points and scalars come as memory of whole
// elements, aligned to 8 bytes. The steps are those that backend.Check has accepted. Encoded points
// may be at any address.
type group interface {
	// multiply treats missing scalars as ones.
	multiply(ctx context.Context, c *local.Call, dst, src, scalars []byte, terms int) error
	add(ctx context.Context, dst []byte, plus, minus [][]byte) error
	transform(ctx context.Context, c *local.Call, dst, src []byte, t *backend.Transform) error
	// check returns how many points are not valid, and the index of the first.
	check(ctx context.Context, src []byte, subgroup bool) (bad, first int, err error)
	// decode returns the index of the first element that encodes no point, or -1.
	decode(ctx context.Context, dst, src []byte, as backend.Encoding) (bad int, err error)
	encode(ctx context.Context, dst, src []byte, as backend.Encoding) error
}

// fastPoints returns New's arithmetic of a group.
func fastPoints(e backend.Element) group {
	return &points{e, numbersOf(e.Curve), curves.GroupOf(e.Curve, e.Group), curves.Of(e.Curve).Fr}
}

// points is group arithmetic on gnark-crypto's types. Its time depends on the scalars.
type points struct {
	of      backend.Element
	numbers numbers
	group   curves.Group
	scalars curves.Field
}

// The sums of a block of points are made affine together. A worker takes a grain of points at a
// time: as many as keep it busy for about a millisecond.
const (
	pointBlock  = 256
	pointsAlone = 16
)

// pointsIn returns memory as points. Its alignment and length are right: see group.
func pointsIn(g curves.Group, b []byte) curves.Points {
	p, err := g.Points(b)
	if err != nil {
		panic(err)
	}
	return p
}

// in returns memory as points.
func (g *points) in(b []byte) curves.Points { return pointsIn(g.group, b) }

// scalarsIn returns memory as scalars.
func (g *points) scalarsIn(b []byte) curves.Elements {
	e, err := g.scalars.Elements(b)
	if err != nil {
		panic(err) // alignment and length are right: see group
	}
	return e
}

// blocks computes the points dst on every processor, grain points at a time. of returns a function
// for one worker. That function adds the sum of point i to sums[at], which is infinity before.
func (g *points) blocks(ctx context.Context, dst curves.Points, grain int, of func() func(i int, sums curves.Sums, at int)) error {
	return each(ctx, dst.Len(), grain, func(parts iter.Seq2[int, int]) {
		set := of()
		sums := g.group.Sums(grain)
		defer sums.Clear()
		for lo, hi := range parts {
			some := sums.Part(0, hi-lo)
			some.Clear()
			for i := range hi - lo {
				set(lo+i, some, i)
			}
			some.Affine(dst.Part(lo, hi))
		}
	})
}

// From these numbers of products on, a table for a fixed base pays, or MultiExp for a row.
const (
	manyOfBase = 64
	manyOfRow  = 32
)

func (g *points) multiply(ctx context.Context, c *local.Call, dst, src, scalars []byte, terms int) error {
	to, from, by := g.in(dst), g.in(src), g.scalarsIn(scalars)
	points, factors := from.Len(), by.Len()
	terms = max(terms, 1)
	switch {
	case to.Len() == 0:
		return backend.Ended(ctx)
	case factors > 0 && points == 1 && to.Len()*terms >= manyOfBase:
		return g.fixedBase(ctx, to, from, by, terms)
	case factors > 0 && terms >= manyOfRow:
		return c.Attempt(ctx, func() error { return g.rows(ctx, to, src, scalars, terms) })
	}
	return g.blocks(ctx, to, min(pointBlock, max(1, pointsAlone*16/terms)), func() func(int, curves.Sums, int) {
		var k big.Int
		product := g.group.Sums(1)
		return func(j int, sums curves.Sums, at int) {
			for i := j * terms; i < (j+1)*terms; i++ {
				if factors == 0 {
					sums.Add(at, from, i%points)
					continue
				}
				product.Set(0, from, i%points)
				times(product, 0, by, i%factors, &k)
				sums.AddSum(at, product, 0)
			}
		}
	})
}

// times multiplies sum i by a scalar. k is memory for the scalar, and is wiped.
func times(sums curves.Sums, i int, by curves.Elements, at int, k *big.Int) {
	sums.Multiply(i, by.Int(at, k))
	clear(k.Bits())
}

// fixedBase multiplies one point by many scalars. Its table has the multiples of the point by every
// byte at every place of a scalar, so that a product takes one addition for each byte of a scalar.
func (g *points) fixedBase(ctx context.Context, dst, base curves.Points, by curves.Elements, terms int) error {
	const width = 256
	size := g.of.Curve.ScalarBytes()
	table, row, place := g.group.New(size*width), g.group.Sums(width), g.group.Sums(1)
	place.Set(0, base, 0)
	for w := range size {
		if err := backend.Yield(ctx); err != nil {
			return err
		}
		row.Clear()
		for k := 1; k < width; k++ {
			row.SetSum(k, row, k-1)
			row.AddSum(k, place, 0)
		}
		row.Affine(table.Part(w*width, (w+1)*width))
		for range 8 {
			place.Double(0)
		}
	}
	return g.blocks(ctx, dst, max(1, pointBlock/terms), func() func(int, curves.Sums, int) {
		var k big.Int
		digits := make([]byte, size)
		return func(j int, sums curves.Sums, at int) {
			for i := j * terms; i < (j+1)*terms; i++ {
				by.Int(i%by.Len(), &k).FillBytes(digits)
				for w := range size {
					if d := digits[size-1-w]; d != 0 {
						sums.Add(at, table, w*width+int(d))
					}
				}
			}
			clear(digits)
			clear(k.Bits())
		}
	})
}

// rows computes each sum by gnark-crypto's MultiExp.
func (g *points) rows(ctx context.Context, dst curves.Points, src, by []byte, terms int) error {
	tasks := min(max(1, runtime.GOMAXPROCS(0)/dst.Len()), 1024)
	var failed atomic.Pointer[error]
	err := g.blocks(ctx, dst, max(1, pointBlock/terms), func() func(int, curves.Sums, int) {
		own, scalars := g.group.New(terms).Bytes(), g.scalars.New(terms).Bytes()
		return func(j int, sums curves.Sums, at int) {
			p, s := g.in(row(src, own, j)), g.scalarsIn(row(by, scalars, j))
			if err := sums.MSM(at, p, s, tasks); err != nil {
				failed.Store(&err)
			}
			clear(scalars)
		}
	})
	if e := failed.Load(); e != nil {
		return *e
	}
	return err
}

// row returns row j of memory that is repeated; own has the length of a row. If the row is
// contiguous it is returned where it lies, otherwise it is copied to own.
func row(all, own []byte, j int) []byte {
	at := j * len(own) % len(all)
	if at+len(own) <= len(all) {
		return all[at : at+len(own)]
	}
	for n := 0; n < len(own); {
		n += copy(own[n:], all[(at+n)%len(all):])
	}
	return own
}

func (g *points) add(ctx context.Context, dst []byte, plus, minus [][]byte) error {
	views := func(all [][]byte) (v []curves.Points) {
		for _, b := range all {
			v = append(v, g.in(b))
		}
		return v
	}
	more, less := views(plus), views(minus)
	return g.blocks(ctx, g.in(dst), pointBlock, func() func(int, curves.Sums, int) {
		return func(i int, sums curves.Sums, at int) {
			for _, p := range more {
				sums.Add(at, p, i%p.Len())
			}
			for _, p := range less {
				sums.Subtract(at, p, i%p.Len())
			}
		}
	})
}

// transform computes a radix-2 transform of points in Jacobian form. It decimates in frequency from
// natural order and in time from reversed order.
func (g *points) transform(ctx context.Context, _ *local.Call, dst, src []byte, t *backend.Transform) error {
	to, from := g.in(dst), g.in(src)
	batch := max(t.Batch, 1)
	n, given := to.Len()/batch, from.Len()/batch
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
	var factors curves.Elements // of the coefficients, which are the results of an inverse transform
	if t.Inverse && n > 1 || len(t.Shift) > 0 {
		factors = g.powers(scale, shift, n)
		defer clear(factors.Bytes())
	}
	turn := 64 - bits.TrailingZeros(uint(n))
	reverse := func(i int) int { return int(bits.Reverse64(uint64(i)) >> turn) }
	a := g.group.Sums(n)
	defer a.Clear()
	scaled := func(o backend.Order) error {
		return each(ctx, n, pointsAlone, func(parts iter.Seq2[int, int]) {
			var k big.Int
			for lo, hi := range parts {
				for i := lo; i < hi; i++ {
					at := i
					if o == backend.Reversed {
						at = reverse(i)
					}
					times(a, i, factors, at, &k)
				}
			}
		})
	}
	left := backend.Reversed // the order of a after the butterflies
	if t.From == backend.Reversed {
		left = backend.Natural
	}
	for v := range batch {
		a.Clear()
		for i := range given {
			a.Set(i, from, v*given+i)
		}
		if factors != nil && !t.Inverse {
			if err := scaled(t.From); err != nil {
				return err
			}
		}
		if err := g.butterflies(ctx, a, roots, t.From); err != nil {
			return err
		}
		if factors != nil && t.Inverse {
			if err := scaled(left); err != nil {
				return err
			}
		}
		if err := g.blocks(ctx, to.Part(v*n, (v+1)*n), pointBlock, func() func(int, curves.Sums, int) {
			return func(i int, sums curves.Sums, at int) {
				if left != t.To {
					i = reverse(i)
				}
				sums.SetSum(at, a, i)
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// powers returns n powers, first, first ratio, first ratio^2 and so on, and ratio after them.
func (g *points) powers(first, ratio *big.Int, n int) curves.Elements {
	all := g.scalars.New(n + 1)
	all.SetInt(0, first)
	all.SetInt(n, ratio)
	for i := 1; i < n; i++ {
		all.Mul(i, i-1, n)
	}
	return all
}

// butterflies transforms a; roots are the powers of a root of unity of its order.
func (g *points) butterflies(ctx context.Context, a curves.Sums, roots curves.Elements, from backend.Order) error {
	n := a.Len()
	for half := n / 2; half > 0; half /= 2 {
		m := half // from natural order it is halved each time
		if from == backend.Reversed {
			m = n / 2 / half
		}
		if err := each(ctx, n/2, pointsAlone, func(parts iter.Seq2[int, int]) {
			var k big.Int
			difference := g.group.Sums(1)
			for lo, hi := range parts {
				for i := lo; i < hi; i++ {
					x := i/m*2*m + i%m
					y, w := x+m, i%m*(n/2/m)
					if from == backend.Reversed && i%m > 0 {
						times(a, y, roots, w, &k)
					}
					difference.SetSum(0, a, x)
					difference.SubtractSum(0, a, y)
					a.AddSum(x, a, y)
					if from == backend.Natural && i%m > 0 {
						times(difference, 0, roots, w, &k)
					}
					a.SetSum(y, difference, 0)
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}

// found counts wrong elements and keeps the index of the first.
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

func (g *points) check(ctx context.Context, src []byte, subgroup bool) (bad, first int, err error) {
	from, size, q := g.in(src), g.of.Bytes(), layout.BaseField(g.of.Curve)
	wrong := newFound()
	err = each(ctx, from.Len(), pointBlock, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			for i := lo; i < hi; i++ {
				if layout.FirstNotBelow(src[i*size:(i+1)*size], q) >= 0 || !from.OnCurve(i) || subgroup && !from.InSubgroup(i) {
					wrong.add(i)
				}
			}
		}
	})
	return int(wrong.count.Load()), int(wrong.first.Load()), err
}

func (g *points) decode(ctx context.Context, dst, src []byte, as backend.Encoding) (int, error) {
	to, size := g.in(dst), as.Bytes(g.of)
	wrong := newFound()
	err := each(ctx, to.Len(), pointBlock, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			for i := lo; i < hi; i++ {
				if to.Decode(i, src[i*size:(i+1)*size]) != nil {
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

func (g *points) encode(ctx context.Context, dst, src []byte, as backend.Encoding) error {
	from, size := g.in(src), as.Bytes(g.of)
	return each(ctx, from.Len(), pointBlock, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			for i := lo; i < hi; i++ {
				from.Encode(i, dst[i*size:(i+1)*size], as)
			}
		}
	})
}
