package cpu

import (
	"context"
	"iter"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Scans are computed twice over parts of grain elements: the first time for what
// each part makes of what comes before it, the second time for the elements.

func (f vectors[E, V, PE, PV]) invert(ctx context.Context, dst, src []byte) error {
	to, from := f.view(dst), f.view(src)
	return each(ctx, len(to), grain, func(parts iter.Seq2[int, int]) {
		before := make(V, min(grain, len(to))) // products of those before
		defer clear(before)
		for lo, hi := range parts {
			f.invertPart(to[lo:hi], from[lo:hi], before)
		}
	})
}

// invertPart inverts with one inversion; before is work memory.
func (f vectors[E, V, PE, PV]) invertPart(dst, src, before V) {
	product := f.one()
	for i := range src {
		before[i] = product
		if !PE(&src[i]).IsZero() {
			PE(&product).Mul(&product, &src[i])
		}
	}
	PE(&product).Inverse(&product)
	for i := len(src) - 1; i >= 0; i-- {
		v := src[i]
		if PE(&v).IsZero() {
			dst[i] = v
			continue
		}
		PE(&dst[i]).Mul(&product, &before[i])
		PE(&product).Mul(&product, &v)
	}
}

func (f vectors[E, V, PE, PV]) products(ctx context.Context, dst, src []byte, exclusive bool) ([]byte, error) {
	to, from := f.view(dst), f.view(src)
	before := f.parts(len(from)) // the product of each part, then of those before
	defer clear(before)
	if err := each(ctx, len(from), grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			product := f.one()
			for i := lo; i < hi; i++ {
				PE(&product).Mul(&product, &from[i])
			}
			before[lo/grain] = product
		}
	}); err != nil {
		return nil, err
	}
	all := f.one()
	for i := range before {
		product := before[i]
		before[i] = all
		PE(&all).Mul(&all, &product)
	}
	return layout.Bytes([]E{all}), each(ctx, len(from), grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			product := before[lo/grain]
			for i := lo; i < hi; i++ {
				last := product
				PE(&product).Mul(&product, &from[i])
				if exclusive {
					to[i] = last
				} else {
					to[i] = product
				}
			}
		}
	})
}

// parts is an element for each part of n.
func (f vectors[E, V, PE, PV]) parts(n int) V { return make(V, (n+grain-1)/grain) }

func (f vectors[E, V, PE, PV]) evaluate(ctx context.Context, src [][]byte, o backend.Order, point []byte) ([]byte, error) {
	z := f.element(point)
	values := make([]E, len(src))
	for k := range src {
		from := f.view(src[k])
		p := f.powersOf(z, len(from), o)
		sums := f.parts(len(from))
		if err := each(ctx, len(from), grain, func(parts iter.Seq2[int, int]) {
			for lo, hi := range parts {
				sums[lo/grain] = f.sum(from[lo:hi], p, lo/block)
			}
		}); err != nil {
			return nil, err
		}
		for i := range sums {
			PE(&values[k]).Add(&values[k], &sums[i])
		}
	}
	return layout.Bytes(values), nil
}

// sum is the sum of coefficients times powers, from the powers' block b on.
func (f vectors[E, V, PE, PV]) sum(src V, p *powers[E, V, PE], b int) (sum E) {
	for ; len(src) > 0; b++ {
		part := src[:min(block, len(src))]
		src = src[len(part):]
		value, z := PV(&part).InnerProduct(p.low[:len(part)]), p.factor(b)
		PE(&value).Mul(&value, &z)
		PE(&sum).Add(&sum, &value)
	}
	return sum
}

// divide computes the values h_i of the polynomials of the coefficients from i on:
// h_i = c_i + z h_(i+1). They are the quotient's coefficients and, h_0, the remainder.
func (f vectors[E, V, PE, PV]) divide(ctx context.Context, dst, src, point []byte) ([]byte, error) {
	to, from, z := f.view(dst), f.view(src), f.element(point)
	p := f.powersOf(z, max(len(from), grain+1), backend.Natural)
	after := f.parts(len(from)) // of each part alone, then what comes after it
	defer clear(after)
	if err := each(ctx, len(from), grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			after[lo/grain] = f.sum(from[lo:hi], p, 0)
		}
	}); err != nil {
		return nil, err
	}
	var value E
	across := p.factor(grain / block) // all parts but the last have grain elements
	for i := len(after) - 1; i >= 0; i-- {
		alone := after[i]
		after[i] = value
		PE(&value).Mul(&value, &across)
		PE(&value).Add(&value, &alone)
	}
	return layout.Bytes([]E{value}), each(ctx, len(from), grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			value := after[lo/grain]
			for i := hi - 1; i >= lo; i-- {
				c := from[i] // dst may be src
				if i < len(to) {
					to[i] = value
				}
				PE(&value).Mul(&value, &z)
				PE(&value).Add(&value, &c)
			}
		}
	})
}
