package cpu

import (
	"context"
	"math/big"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/curves"
)

// numbers is the reference arithmetic. Elements are math/big's numbers, and every step is computed
// by its definition: a transform takes n^2 products.
type numbers struct {
	size           int      // of an element in bytes
	r              *big.Int // the field's order
	radix, inverse *big.Int // R = 2^(8 size) and 1/R
	// root is gnark-crypto's root of unity of order n, a power of two.
	root func(n int) *big.Int
}

func numbersOf(c backend.Curve) numbers {
	r := c.ScalarField()
	radix := new(big.Int).Lsh(big.NewInt(1), uint(8*c.ScalarBytes()))
	return numbers{c.ScalarBytes(), r, radix, new(big.Int).ModInverse(radix, r), func(n int) *big.Int {
		w, err := curves.Of(c).Fr.Root(n)
		if err != nil {
			panic(err) // the field's two-adicity was checked before
		}
		return w.Int(0, new(big.Int))
	}}
}

func referenceField(c backend.Curve) arithmetic { return numbersOf(c) }

// number returns the value of an element in Montgomery form: b/R mod r, with b little-endian.
func (f numbers) number(b []byte) *big.Int {
	b = slices.Clone(b)
	slices.Reverse(b)
	v := new(big.Int).SetBytes(b)
	return v.Mod(v.Mul(v, f.inverse), f.r)
}

// put writes v, any number, as an element.
func (f numbers) put(dst []byte, v *big.Int) {
	v = new(big.Int).Mul(v, f.radix)
	v.Mod(v, f.r).FillBytes(dst[:f.size])
	slices.Reverse(dst[:f.size])
}

func (f numbers) bytes(v ...*big.Int) []byte {
	b := make([]byte, len(v)*f.size)
	for i := range v {
		f.put(b[i*f.size:], v[i])
	}
	return b
}

// list returns the values of a vector.
func (f numbers) list(b []byte) []*big.Int {
	var v []*big.Int
	for e := range slices.Chunk(b, f.size) {
		v = append(v, f.number(e))
	}
	return v
}

// times sets a to a b.
func (f numbers) times(a, b *big.Int) *big.Int { return a.Mod(a.Mul(a, b), f.r) }

func (f numbers) gather(_ context.Context, dst, src []byte, index []uint32) (int, error) {
	for i, k := range index {
		if int64(k) >= int64(len(src)/f.size) {
			return int(k), nil
		}
		copy(dst[i*f.size:][:f.size], src[int(k)*f.size:])
	}
	return -1, nil
}

func (f numbers) sparse(_ context.Context, dst, src []byte, m *entries) (int, error) {
	from, values := f.list(src), f.list(m.values)
	sums := f.list(dst) // zeros
	for i, row := range m.rows {
		column, factor := m.columns[i], int(m.factors[i])
		if int64(row) >= int64(len(sums)) || i > 0 && row < m.rows[i-1] || int64(column) >= int64(len(from)) ||
			factor >= backend.FactorValue+len(values) {
			return i, nil
		}
		var by *big.Int
		switch factor {
		case backend.FactorOne:
			by = big.NewInt(1)
		case backend.FactorMinusOne:
			by = big.NewInt(-1)
		default:
			by = values[factor-backend.FactorValue]
		}
		sums[row].Add(sums[row], new(big.Int).Mul(by, from[column]))
	}
	copy(dst, f.bytes(sums...))
	return -1, nil
}

// natural returns values in natural order, given those of order o.
func natural[T any](v []T, o backend.Order) []T {
	if o == backend.Natural {
		return v
	}
	turned := make([]T, len(v))
	for i := range v {
		at := 0
		for bit := 1; bit < len(v); bit *= 2 {
			at *= 2
			if i&bit != 0 {
				at++
			}
		}
		turned[at] = v[i]
	}
	return turned
}

func (f numbers) transform(ctx context.Context, _ *local.Call, dst, src []byte, t *backend.Transform) error {
	batch := max(t.Batch, 1)
	n := len(dst) / f.size / batch
	w, shift, scale := f.root(n), big.NewInt(1), big.NewInt(1)
	if len(t.Shift) > 0 {
		shift = f.number(t.Shift)
	}
	if t.Inverse {
		w.ModInverse(w, f.r)
		shift.ModInverse(shift, f.r)
		scale.ModInverse(big.NewInt(int64(n)), f.r)
	}
	var all []*big.Int
	for _, in := range chunks(f.list(src), batch) {
		in = natural(in, t.From)
		if !t.Inverse {
			for k, s := 0, big.NewInt(1); k < len(in); k++ {
				f.times(in[k], s)
				f.times(s, shift)
			}
		}
		out := make([]*big.Int, n)
		at, last := big.NewInt(1), new(big.Int).Set(scale)
		for j := range out {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			out[j] = f.value(in, at)
			f.times(out[j], last)
			f.times(at, w)
			if t.Inverse {
				f.times(last, shift)
			}
		}
		all = append(all, natural(out, t.To)...)
	}
	copy(dst, f.bytes(all...))
	return nil
}

// chunks cuts v into n lists of one length.
func chunks(v []*big.Int, n int) [][]*big.Int {
	return slices.Collect(slices.Chunk(v, len(v)/n))
}

// value returns the value of a polynomial at z.
func (f numbers) value(coefficients []*big.Int, z *big.Int) *big.Int {
	v := new(big.Int)
	for _, c := range slices.Backward(coefficients) {
		v.Mod(v.Add(v.Mul(v, z), c), f.r)
	}
	return v
}

// placeOf returns the place of element i of an operand.
func placeOf(o backend.Operand, i int) int {
	m := big.NewInt(int64(o.Count))
	at := new(big.Int).Mul(big.NewInt(int64(o.Stride)), big.NewInt(int64(i)))
	place := int(at.Mod(at.Add(at, big.NewInt(int64(o.Rotate))), m).Int64())
	if o.Order == backend.Natural {
		return place
	}
	turned := 0
	for bit := 1; bit < o.Count; bit *= 2 {
		turned = 2*turned + place%2
		place /= 2
	}
	return turned
}

func (f numbers) mapped(ctx context.Context, m *backend.Map, dst []byte, args [][]byte) error {
	results := make([]*big.Int, m.Count)
	for i := range results {
		if err := backend.Ended(ctx); err != nil {
			return err
		}
		load := func(k int) *big.Int { return f.number(args[k][placeOf(m.Args[k], i)*f.size:][:f.size]) }
		results[i] = f.result(m, load)
	}
	for i, v := range results {
		f.put(dst[placeOf(m.Dst, i)*f.size:], v)
	}
	return nil
}

// result runs the code for one element.
func (f numbers) result(m *backend.Map, load func(k int) *big.Int) *big.Int {
	var stack []*big.Int
	push := func(v *big.Int) { stack = append(stack, v.Mod(v, f.r)) }
	pop := func() *big.Int {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		return v
	}
	for _, c := range m.Code {
		v := new(big.Int)
		switch c.Op {
		case backend.MapLoad:
			push(load(c.Arg))
		case backend.MapConst:
			push(f.number(m.Constants[c.Arg*f.size:][:f.size]))
		case backend.MapCopy:
			push(v.Set(stack[len(stack)-1-c.Arg]))
		case backend.MapAdd:
			push(v.Add(pop(), pop()))
		case backend.MapSub:
			b := pop()
			push(v.Sub(pop(), b))
		case backend.MapMul:
			push(v.Mul(pop(), pop()))
		case backend.MapSquare:
			push(v.Exp(pop(), big.NewInt(2), nil))
		case backend.MapDouble:
			push(v.Lsh(pop(), 1))
		case backend.MapNeg:
			push(v.Neg(pop()))
		}
	}
	return stack[0]
}

func (f numbers) powers(_ context.Context, dst, first, ratio []byte) error {
	for i := range len(dst) / f.size {
		v := new(big.Int).Exp(f.number(ratio), big.NewInt(int64(i)), f.r)
		f.put(dst[i*f.size:], v.Mul(v, f.number(first)))
	}
	return nil
}

func (f numbers) invert(_ context.Context, dst, src []byte) error {
	v := f.list(src)
	for i := range v {
		if v[i].Sign() != 0 {
			v[i].ModInverse(v[i], f.r)
		}
	}
	copy(dst, f.bytes(v...))
	return nil
}

func (f numbers) products(_ context.Context, dst, src []byte, exclusive bool) ([]byte, error) {
	product := big.NewInt(1)
	for i, v := range f.list(src) {
		if exclusive {
			f.put(dst[i*f.size:], product)
		}
		if f.times(product, v); !exclusive {
			f.put(dst[i*f.size:], product)
		}
	}
	return f.bytes(product), nil
}

func (f numbers) evaluate(_ context.Context, src [][]byte, o backend.Order, point []byte) ([]byte, error) {
	var values []*big.Int
	for _, s := range src {
		values = append(values, f.value(natural(f.list(s), o), f.number(point)))
	}
	return f.bytes(values...), nil
}

// divide divides polynomials as on paper.
func (f numbers) divide(_ context.Context, dst, src, point []byte) ([]byte, error) {
	rest, z := f.list(src), f.number(point)
	for i := len(rest) - 1; i > 0; i-- { // rest[i] X^i is rest[i] X^(i-1) (X - z), and z rest[i] X^(i-1)
		f.put(dst[(i-1)*f.size:], rest[i])
		rest[i-1].Add(rest[i-1], new(big.Int).Mul(rest[i], z))
		rest[i-1].Mod(rest[i-1], f.r)
	}
	return f.bytes(rest[0]), nil
}
