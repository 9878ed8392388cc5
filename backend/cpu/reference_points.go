package cpu

import (
	"bytes"
	"context"
	"math/big"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/curves"
)

// referencePoints returns the arithmetic of a group for NewReference.
func referencePoints(e backend.Element) group {
	return pointByPoint{numbersOf(e.Curve), e, curves.GroupOf(e.Curve, e.Group)}
}

// pointByPoint is the reference arithmetic of a group. Every step is computed by its definition:
// products by double-and-add, a transform by n^2 products.
type pointByPoint struct {
	numbers
	of    backend.Element
	group curves.Group
}

// put writes the first of sums as point i.
func (g pointByPoint) put(dst []byte, i int, sum curves.Sums) {
	copy(dst[i*g.of.Bytes():(i+1)*g.of.Bytes()], sum.Point(0))
}

func (g pointByPoint) multiply(ctx context.Context, _ *local.Call, dst, src, scalars []byte, terms int) error {
	from, by := pointsIn(g.group, src), g.list(scalars)
	if scalars == nil {
		by = []*big.Int{big.NewInt(1)}
	}
	results := make([]byte, len(dst))
	sum, product := g.group.Sums(1), g.group.Sums(1)
	for j := range len(dst) / g.of.Bytes() {
		sum.Clear()
		for i := range max(terms, 1) {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			at := j*max(terms, 1) + i
			addTimes(sum, product, from, at%from.Len(), by[at%len(by)])
		}
		g.put(results, j, sum)
	}
	copy(dst, results)
	return nil
}

func (g pointByPoint) add(_ context.Context, dst []byte, plus, minus [][]byte) error {
	results := make([]byte, len(dst))
	sum, product := g.group.Sums(1), g.group.Sums(1)
	for i := range len(dst) / g.of.Bytes() {
		sum.Clear()
		for k, b := range slices.Concat(plus, minus) {
			sign := big.NewInt(1)
			if k >= len(plus) {
				sign.Sub(g.r, sign)
			}
			p := pointsIn(g.group, b)
			addTimes(sum, product, p, i%p.Len(), sign)
		}
		g.put(results, i, sum)
	}
	copy(dst, results)
	return nil
}

func (g pointByPoint) transform(ctx context.Context, _ *local.Call, dst, src []byte, t *backend.Transform) error {
	size, batch := g.of.Bytes(), max(t.Batch, 1)
	n := len(dst) / size / batch
	w, shift, scale := g.root(n), big.NewInt(1), big.NewInt(1)
	if len(t.Shift) > 0 {
		shift = g.number(t.Shift)
	}
	if t.Inverse {
		w.ModInverse(w, g.r)
		shift.ModInverse(shift, g.r)
		scale.ModInverse(big.NewInt(int64(n)), g.r)
	}
	power := func(z *big.Int, e int) *big.Int { return new(big.Int).Exp(z, big.NewInt(int64(e)), g.r) }
	sum, product := g.group.Sums(1), g.group.Sums(1)
	var all [][]byte
	for part := range slices.Chunk(src, len(src)/batch) {
		in := natural(slices.Collect(slices.Chunk(slices.Clone(part), size)), t.From)
		from := pointsIn(g.group, slices.Concat(in...))
		out := make([][]byte, n)
		for j := range out {
			sum.Clear()
			for k := range in {
				if err := backend.Ended(ctx); err != nil {
					return err
				}
				factor := power(w, j*k)
				if t.Inverse {
					g.times(g.times(factor, power(shift, j)), scale)
				} else {
					g.times(factor, power(shift, k))
				}
				addTimes(sum, product, from, k, factor)
			}
			out[j] = sum.Point(0)
		}
		all = append(all, natural(out, t.To)...)
	}
	copy(dst, slices.Concat(all...))
	return nil
}

// coordinates returns the numbers of Fp of a point: the parts of X, then those of Y, in order. They
// may be q or more if the memory has such values.
func (g pointByPoint) coordinates(b []byte) (v []*big.Int) {
	q := g.of.Curve.BaseField()
	inverse := new(big.Int).ModInverse(new(big.Int).Lsh(big.NewInt(1), uint(8*g.of.Curve.FieldBytes())), q)
	for e := range slices.Chunk(b, g.of.Curve.FieldBytes()) {
		e = slices.Clone(e)
		slices.Reverse(e)
		x := new(big.Int).SetBytes(e)
		if x.Cmp(q) < 0 {
			x.Mod(x.Mul(x, inverse), q)
		}
		v = append(v, x)
	}
	return v
}

func (g pointByPoint) check(_ context.Context, src []byte, subgroup bool) (bad, first int, err error) {
	p, q, size := pointsIn(g.group, src), g.of.Curve.BaseField(), g.of.Bytes()
	sum, product := g.group.Sums(1), g.group.Sums(1)
	for i := range p.Len() {
		valid := p.OnCurve(i)
		for _, x := range g.coordinates(src[i*size : (i+1)*size]) {
			valid = valid && x.Cmp(q) < 0
		}
		if valid && subgroup {
			sum.Clear()
			addTimes(sum, product, p, i, g.r)
			valid = bytes.Equal(sum.Point(0), make([]byte, size)) // infinity
		}
		if !valid {
			if bad == 0 {
				first = i
			}
			bad++
		}
	}
	return bad, first, nil
}

// decode accepts bytes that encoding the decoded point gives back.
func (g pointByPoint) decode(_ context.Context, dst, src []byte, as backend.Encoding) (int, error) {
	to, size := pointsIn(g.group, dst), as.Bytes(g.of)
	again := make([]byte, size)
	for i := range to.Len() {
		b := src[i*size : (i+1)*size]
		if err := to.Decode(i, b); err != nil {
			return i, nil
		}
		if g.encoded(again, dst[i*g.of.Bytes():(i+1)*g.of.Bytes()], as); !bytes.Equal(again, b) {
			return i, nil
		}
	}
	return -1, nil
}

func (g pointByPoint) encode(_ context.Context, dst, src []byte, as backend.Encoding) error {
	size := as.Bytes(g.of)
	for i := range len(src) / g.of.Bytes() {
		g.encoded(dst[i*size:(i+1)*size], src[i*g.of.Bytes():(i+1)*g.of.Bytes()], as)
	}
	return nil
}

// encoded writes the point p in an encoding: its coordinates big-endian, the last part of each
// first, with flags in the first bits. BN254 has room for two flag bits; the others have the three
// of Zcash's format. Source: gnark-crypto, ecc/*/marshal.go.
func (g pointByPoint) encoded(dst, p []byte, as backend.Encoding) {
	flags := struct{ smallest, largest, infinity, plain byte }{0b100 << 5, 0b101 << 5, 0b110 << 5, 0b010 << 5}
	if g.of.Curve == backend.BN254 {
		flags.smallest, flags.largest, flags.infinity, flags.plain = 0b10<<6, 0b11<<6, 0b01<<6, 0
	}
	clear(dst)
	if bytes.Equal(p, make([]byte, len(p))) {
		if dst[0] = flags.plain; as == backend.Compressed {
			dst[0] = flags.infinity
		}
		return
	}
	v, fp := g.coordinates(p), g.of.Curve.FieldBytes()
	x, y := v[:len(v)/2], v[len(v)/2:]
	put := func(at int, parts []*big.Int) {
		for i, part := range parts {
			part.FillBytes(dst[at+(len(parts)-1-i)*fp:][:fp])
		}
	}
	put(0, x)
	if as == backend.Uncompressed {
		put(len(dst)/2, y)
		return
	}
	part := y[len(y)-1] // the last part that is not zero tells y from -y
	if part.Sign() == 0 {
		part = y[0]
	}
	flag := flags.smallest
	if new(big.Int).Lsh(part, 1).Cmp(g.of.Curve.BaseField()) > 0 {
		flag = flags.largest
	}
	dst[0] |= flag
}
