package cpu

import (
	"context"
	"iter"
	"runtime"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

func (f vectors[E, V, PE, PV]) invert(ctx context.Context, dst, src []byte) error {
	to, from := f.view(dst), f.view(src)
	return each(ctx, len(to), grain, func(parts iter.Seq2[int, int]) {
		before := make(V, min(grain, len(to))) // products of the elements before
		defer clear(before)
		for lo, hi := range parts {
			f.invertPart(to[lo:hi], from[lo:hi], before)
		}
	})
}

// invertPart inverts all elements of src with one inversion. before is work memory.
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

// scan goes through the parts of 0 to n in order, or backwards. do computes one part. It gets the
// value that the parts before it have made (start for the first) and returns the value for the
// next. scan returns the last value.
//
// With many processors, alone first computes the value that each part would make of start, and join
// combines it with the value of the parts before. Then do computes all parts at the same time.
func (f vectors[E, V, PE, PV]) scan(ctx context.Context, n int, backwards bool, start E,
	alone func(lo, hi int) E, join func(before, alone *E) E, do func(lo, hi int, before E) E,
) (E, error) {
	parts := (n + grain - 1) / grain
	part := func(k int) (lo, hi int) {
		if backwards {
			k = parts - 1 - k
		}
		return k * grain, min((k+1)*grain, n)
	}
	if runtime.GOMAXPROCS(0) < 4 { // with few processors that would not pay: it is twice the work
		for k := range parts {
			if err := backend.Ended(ctx); err != nil {
				return start, err
			}
			lo, hi := part(k)
			start = do(lo, hi, start)
		}
		return start, nil
	}
	before := make(V, parts)
	defer clear(before)
	if err := each(ctx, parts, 1, func(parts iter.Seq2[int, int]) {
		for k := range parts {
			before[k] = alone(part(k))
		}
	}); err != nil {
		return start, err
	}
	for k := range before {
		after := join(&start, &before[k])
		before[k], start = start, after
	}
	return start, each(ctx, parts, 1, func(parts iter.Seq2[int, int]) {
		for k := range parts {
			lo, hi := part(k)
			do(lo, hi, before[k])
		}
	})
}

// products sets dst[i] to the product of src[0] to src[i], or to src[i-1] when exclusive,
// and returns the product of all.
func (f vectors[E, V, PE, PV]) products(ctx context.Context, dst, src []byte, exclusive bool) ([]byte, error) {
	to, from := f.view(dst), f.view(src)
	all, err := f.scan(ctx, len(from), false, f.one(), func(lo, hi int) E {
		product := f.one()
		for i := lo; i < hi; i++ {
			PE(&product).Mul(&product, &from[i])
		}
		return product
	}, func(before, alone *E) (product E) {
		PE(&product).Mul(before, alone)
		return product
	}, func(lo, hi int, before E) E {
		factor := from[lo] // dst may be src
		if to[lo] = before; !exclusive {
			PE(&to[lo]).Mul(&before, &factor)
		}
		for i := lo + 1; i < hi; i++ {
			next := from[i]
			if !exclusive {
				factor = next
			}
			PE(&to[i]).Mul(&to[i-1], &factor)
			factor = next
		}
		product := to[hi-1]
		if exclusive {
			PE(&product).Mul(&product, &factor)
		}
		return product
	})
	return layout.Bytes([]E{all}), err
}

func (f vectors[E, V, PE, PV]) evaluate(ctx context.Context, src [][]byte, o backend.Order, point []byte) ([]byte, error) {
	z := f.element(point)
	values := make([]E, len(src))
	for k := range src {
		from := f.view(src[k])
		p := f.powersOf(z, len(from), o)
		sums := make(V, (len(from)+grain-1)/grain)
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
		clear(sums)
	}
	return layout.Bytes(values), nil
}

// sum returns the sum of coefficients times powers. The powers begin with block b.
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

// divide computes h_i = c_i + z h_(i+1) from the last coefficient on. h_i is the value at z of the
// polynomial with the coefficients from c_i on; h_(i+1) is coefficient i of the quotient, and h_0
// is the remainder.
func (f vectors[E, V, PE, PV]) divide(ctx context.Context, dst, src, point []byte) ([]byte, error) {
	to, from, z := f.view(dst), f.view(src), f.element(point)
	p := f.powersOf(z, grain+1, backend.Natural)
	across := p.factor(grain / block) // every part has grain elements, except the first one taken, whose value before is zero
	var zero E
	remainder, err := f.scan(ctx, len(from), true, zero, func(lo, hi int) E {
		return f.sum(from[lo:hi], p, 0)
	}, func(before, alone *E) (value E) {
		PE(&value).Mul(before, &across)
		PE(&value).Add(&value, alone)
		return value
	}, func(lo, hi int, value E) E {
		if hi > len(to) { // the last coefficient, for which value is zero
			hi--
			value = from[hi]
		}
		if lo == hi {
			return value
		}
		c := from[hi-1] // dst may be src
		to[hi-1] = value
		for i := hi - 2; i >= lo; i-- {
			next := from[i]
			PE(&to[i]).Mul(&to[i+1], &z)
			PE(&to[i]).Add(&to[i], &c)
			c = next
		}
		PE(&value).Mul(&to[lo], &z)
		PE(&value).Add(&value, &c)
		return value
	})
	return layout.Bytes([]E{remainder}), err
}
