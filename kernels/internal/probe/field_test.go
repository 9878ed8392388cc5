package probe

import (
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/pippin-zk/pippin/kernels/internal/oracle"
)

func differs(i int, got, want *big.Int) error {
	return fmt.Errorf("result %d is %x, want %x", i, got, want)
}

// field is a field as the device has it: values are coefficients in Montgomery
// form, each below bound p.
type field struct {
	oracle.Field
	words int // of a coefficient
	bound int64
}

func (f field) r() *big.Int { return oracle.Pow2(32 * f.words) }

// headroom returns the largest h with h p <= R.
func (f field) headroom() int64 { return new(big.Int).Div(f.r(), f.P).Int64() }

func makeField(p *big.Int, degree int, nonResidue int64) field {
	f := field{oracle.Field{P: p, Degree: degree, NonResidue: nonResidue}, 2 * ((p.BitLen() + 63) / 64), 1}
	if f.headroom() >= 4 {
		f.bound = 2
	}
	return f
}

func fields() map[string]field {
	m := map[string]field{}
	for name, id := range map[string]ecc.ID{"bn254": ecc.BN254, "bls12_377": ecc.BLS12_377,
		"bls12_381": ecc.BLS12_381, "bw6_761": ecc.BW6_761} {
		m[name+"_fp"] = makeField(id.BaseField(), 1, 0)
		m[name+"_fp_loop"] = m[name+"_fp"]
		m[name+"_fr"] = makeField(id.ScalarField(), 1, 0)
	}
	m["bn254_fp2"] = makeField(ecc.BN254.BaseField(), 2, -1)
	m["bls12_377_fp2"] = makeField(ecc.BLS12_377.BaseField(), 2, -5)
	m["bls12_381_fp2"] = makeField(ecc.BLS12_381.BaseField(), 2, -1)
	return m
}

// times returns k p.
func (f field) times(k int64) *big.Int { return mul(f.P, int64s(k)) }

// near returns an operand below max p that is often next to a multiple of p.
func (f field) near(max int64) operand {
	limit := f.times(max)
	r := rand.New(rand.NewPCG(1, uint64(max)))
	o := upTo(f.words, below(limit))
	o.fix = func(x *big.Int) *big.Int {
		if r.IntN(4) > 0 {
			return x
		}
		x = add(f.times(r.Int64N(max+1)), int64s(r.Int64N(5)-2))
		if x.Sign() < 0 || x.Cmp(limit) >= 0 {
			x = new(big.Int)
		}
		return x
	}
	return o
}

// elems returns the operands of n elements, all coefficients below bound p.
func (f field) elems(n int, bound int64) []operand {
	var in []operand
	for range n * f.Degree {
		in = append(in, f.near(bound))
	}
	return in
}

// results returns n results that are elements below bound p. They are compared as
// residues or, with canonical, exactly.
func (f field) results(n int, bound int64) []result {
	var out []result
	for range n * f.Degree {
		out = append(out, result{f.words, f.P, f.times(bound)})
	}
	return out
}

func (f field) rInverse() *big.Int { return new(big.Int).ModInverse(f.r(), f.P) }

// decode takes an element out of Montgomery form. encode is its inverse.
func (f field) decode(x []*big.Int) oracle.Elem {
	e, inv := f.Zero(), f.rInverse()
	for i := range e {
		e[i].Mul(x[i], inv).Mod(e[i], f.P)
	}
	return e
}

func (f field) encode(e oracle.Elem) []*big.Int {
	x := make([]*big.Int, f.Degree)
	for i := range x {
		x[i] = mul(e[i], f.r())
		x[i].Mod(x[i], f.P)
	}
	return x
}

// fieldOp returns an operation on n elements with one as its result.
func fieldOp(name string, n int, want func(f field, x []oracle.Elem) oracle.Elem) op {
	return op{name: name,
		in:  func(a *arg) []operand { return a.field.elems(n, a.field.bound) },
		out: func(a *arg) []result { return a.field.results(1, a.field.bound) },
		want: func(a *arg, x []*big.Int) []*big.Int {
			f := a.field
			var e []oracle.Elem
			for i := range n {
				e = append(e, f.decode(x[i*f.Degree:]))
			}
			return f.encode(want(f, e))
		}}
}

// slowly gives an operation fewer items.
func (o op) slowly() op { o.slow = true; return o }

// truth is an operation whose result is a boolean.
func (o op) asks(want func(f field, x []oracle.Elem) bool, n int) op {
	o.out = func(*arg) []result { return []result{exact(1)} }
	o.want = func(a *arg, x []*big.Int) []*big.Int {
		var e []oracle.Elem
		for i := range n {
			e = append(e, a.field.decode(x[i*a.field.Degree:]))
		}
		return []*big.Int{truth(want(a.field, e))}
	}
	return o
}

// feOp returns an operation on values of a wider range. Its operands are below in p. Its
// results must be below out p and congruent to those of the model.
func feOp(name string, in []func(f field) int64, out []func(f field) int64,
	want func(f field, x []*big.Int) []*big.Int) op {
	return op{name: name,
		in: func(a *arg) []operand {
			var o []operand
			for _, bound := range in {
				o = append(o, a.field.near(bound(a.field)))
			}
			return o
		},
		out: func(a *arg) []result {
			var o []result
			for _, bound := range out {
				o = append(o, a.field.results(1, bound(a.field))...)
			}
			return o
		},
		want: func(a *arg, x []*big.Int) []*big.Int { return want(a.field, x) }}
}

func halfRoom(f field) int64 { return f.headroom() / 2 }
func allRoom(f field) int64  { return f.headroom() }
func rootRoom(f field) int64 {
	switch h := f.headroom(); {
	case h >= 144:
		return 12
	case h >= 9:
		return 3
	case h >= 4:
		return 2
	}
	return 1
}
func fixed(k int64) func(field) int64 { return func(field) int64 { return k } }

type bounds = []func(field) int64

func choice(a *arg, x []*big.Int) []*big.Int {
	n := a.field.Degree
	if x[2*n].Sign() != 0 {
		return x[:n]
	}
	return x[n : 2*n]
}

// twoProducts is the product twice: its operands are taken in both orders.
func twoProducts(f field, x []*big.Int) []*big.Int {
	y := mul(mul(x[0], x[1]), f.rInverse())
	return []*big.Int{y, y}
}

var fieldOps = []op{
	fieldOp("field_zero", 1, func(f field, _ []oracle.Elem) oracle.Elem { return f.Zero() }),
	fieldOp("field_one", 1, func(f field, _ []oracle.Elem) oracle.Elem { return f.One() }),
	fieldOp("field_add", 2, func(f field, x []oracle.Elem) oracle.Elem { return f.Add(x[0], x[1]) }),
	fieldOp("field_sub", 2, func(f field, x []oracle.Elem) oracle.Elem { return f.Sub(x[0], x[1]) }),
	fieldOp("field_neg", 1, func(f field, x []oracle.Elem) oracle.Elem { return f.Scale(x[0], -1) }),
	fieldOp("field_dbl", 1, func(f field, x []oracle.Elem) oracle.Elem { return f.Scale(x[0], 2) }),
	fieldOp("field_mul", 2, func(f field, x []oracle.Elem) oracle.Elem { return f.Mul(x[0], x[1]) }),
	fieldOp("field_sqr", 1, func(f field, x []oracle.Elem) oracle.Elem { return f.Mul(x[0], x[0]) }),
	fieldOp("field_mul_sub", 4, func(f field, x []oracle.Elem) oracle.Elem {
		return f.Sub(f.Mul(x[0], x[1]), f.Mul(x[2], x[3]))
	}),
	fieldOp("fp2_mul_wide", 2, func(f field, x []oracle.Elem) oracle.Elem { return f.Mul(x[0], x[1]) }),
	fieldOp("field_inv", 1, func(f field, x []oracle.Elem) oracle.Elem { return f.Inv(x[0]) }).slowly(),
	{name: "field_raw",
		in:   func(a *arg) []operand { return a.field.elems(1, a.field.bound) },
		out:  func(a *arg) []result { return exactElem(a) },
		want: func(_ *arg, x []*big.Int) []*big.Int { return x }},
	{name: "field_load",
		in:   func(a *arg) []operand { return a.field.elems(1, 1) },
		out:  func(a *arg) []result { return exactElem(a) },
		want: func(_ *arg, x []*big.Int) []*big.Int { return x }},
	{name: "field_store",
		in:  func(a *arg) []operand { return a.field.elems(1, a.field.bound) },
		out: func(a *arg) []result { return exactElem(a) },
		want: func(a *arg, x []*big.Int) []*big.Int {
			var y []*big.Int
			for _, c := range x {
				y = append(y, new(big.Int).Mod(c, a.field.P))
			}
			return y
		}},
	fieldOp("field_is_zero", 1, nil).asks(func(f field, x []oracle.Elem) bool { return f.IsZero(x[0]) }, 1),
	fieldOp("field_eq", 2, nil).asks(func(f field, x []oracle.Elem) bool { return f.Equal(x[0], x[1]) }, 2),
	{name: "field_select",
		in:   func(a *arg) []operand { return append(a.field.elems(2, a.field.bound), upTo(1, one)) },
		out:  func(a *arg) []result { return exactElem(a) },
		want: choice},
	{name: "fp2_minus_u_squared",
		in:  func(a *arg) []operand { return a.field.elems(1, a.field.bound) },
		out: func(a *arg) []result { return a.field.results(1, a.field.bound) },
		want: func(a *arg, x []*big.Int) []*big.Int {
			k := int64s(-a.field.NonResidue)
			return []*big.Int{mul(x[0], k), mul(x[1], k)}
		}},
	{name: "field_to_integer",
		in:  func(a *arg) []operand { return a.field.elems(1, a.field.bound) },
		out: func(a *arg) []result { return exactElem(a) },
		want: func(a *arg, x []*big.Int) []*big.Int {
			return a.field.decode(x)
		}},
	{name: "field_from_integer",
		in:  func(a *arg) []operand { return []operand{words(a.field.words)} },
		out: func(a *arg) []result { return a.field.results(1, 1) },
		want: func(a *arg, x []*big.Int) []*big.Int {
			return a.field.encode(x)
		}},

	feOp("fe_add_lazy", bounds{halfRoom, halfRoom}, bounds{func(f field) int64 { return 2 * halfRoom(f) }},
		func(_ field, x []*big.Int) []*big.Int { return []*big.Int{add(x...)} }),
	feOp("fe_sub_lazy", bounds{halfRoom, halfRoom}, bounds{func(f field) int64 { return 2 * halfRoom(f) }},
		func(_ field, x []*big.Int) []*big.Int { return []*big.Int{sub(x[0], x[1])} }),
	feOp("fe_sub", bounds{halfRoom, halfRoom}, bounds{halfRoom},
		func(_ field, x []*big.Int) []*big.Int { return []*big.Int{sub(x[0], x[1])} }),
	feOp("fe_mul", bounds{fixed(1), allRoom}, bounds{fixed(2), fixed(2)}, twoProducts),
	feOp("field_product", bounds{fixed(1), func(f field) int64 { return f.headroom() - 1 }}, bounds{fixed(2), fixed(2)}, twoProducts),
	feOp("fe_mul_fixed", bounds{allRoom, fixed(1)}, bounds{fixed(2)},
		func(f field, x []*big.Int) []*big.Int {
			return []*big.Int{mul(mul(x[0], x[1]), f.rInverse())}
		}),
	feOp("fe_sqr", bounds{rootRoom}, bounds{fixed(2)},
		func(f field, x []*big.Int) []*big.Int {
			return []*big.Int{mul(mul(x[0], x[0]), f.rInverse())}
		}),
	feOp("fe_reduce", bounds{allRoom}, bounds{fixed(1), fixed(2)},
		func(_ field, x []*big.Int) []*big.Int { return []*big.Int{x[0], x[0]} }),
	feOp("fe_widen", bounds{fixed(1)}, bounds{fixed(1)},
		func(_ field, x []*big.Int) []*big.Int { return x }),
	{name: "fe_is_zero",
		in:  func(a *arg) []operand { return []operand{a.field.near(min(5, a.field.headroom()))} },
		out: func(*arg) []result { return []result{exact(1)} },
		want: func(a *arg, x []*big.Int) []*big.Int {
			return []*big.Int{truth(new(big.Int).Mod(x[0], a.field.P).Sign() == 0)}
		}},
}

func exactElem(a *arg) []result {
	var out []result
	for range a.field.Degree {
		out = append(out, exact(a.field.words))
	}
	return out
}
