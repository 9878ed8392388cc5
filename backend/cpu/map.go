package cpu

import (
	"context"
	"iter"
	"math/bits"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// mapped runs the code once for each block of elements, not for each element, so that nearly all of
// the time goes into sums and products of blocks.
func (f vectors[E, V, PE, PV]) mapped(ctx context.Context, m *backend.Map, dst []byte, args [][]byte) error {
	if m.Count == 0 {
		return nil
	}
	turn := turnOf(m)
	to := operandOf(f.view(dst), m.Dst, turn)
	from := make([]operand[E, V], len(args))
	for k := range args {
		from[k] = operandOf(f.view(args[k]), m.Args[k], turn)
	}
	constants := f.copied(m.Constants)
	return each(ctx, m.Count, grain, func(parts iter.Seq2[int, int]) {
		s := stack[E, V, PE, PV]{args: from, constants: constants, zero: make(V, block)}
		for d := range s.rooms {
			s.rooms[d] = make(V, block)
			defer clear(s.rooms[d])
		}
		for lo, hi := range parts {
			for ; lo < hi; lo += block {
				s.run(m.Code, &to, uint64(lo), min(block, hi-lo))
			}
		}
	})
}

// turnOf returns the number of bits of a place in Dst, if Dst is a whole vector in reversed order.
// Then the Map counts the places of Dst, not i, because blocks of other vectors in reversed order
// are contiguous too. turnOf returns 0 if the Map counts i.
func turnOf(m *backend.Map) int {
	if d := m.Dst.Places(); d.Order == backend.Reversed && d.Count == m.Count && d.Stride == 1 && d.Rotate == 0 {
		return bits.TrailingZeros(uint(d.Count))
	}
	return 0
}

// operand is a sequence of elements that a Map reads or writes.
type operand[E any, V ~[]E] struct {
	v              V
	stride, rotate uint64
	reversed       bool
	bits           int // of a place, if their number is a power of two
	turn           int
}

func operandOf[E any, V ~[]E](v V, o backend.Operand, turn int) operand[E, V] {
	o = o.Places()
	return operand[E, V]{v, uint64(o.Stride), uint64(o.Rotate), o.Order == backend.Reversed, bits.TrailingZeros(uint(len(v))), turn}
}

// reverse returns the last n bits of i in reverse.
func reverse(i uint64, n int) uint64 { return bits.Reverse64(i) >> (64 - n) }

// place returns the place of the element that the Map counts as k.
func (o *operand[E, V]) place(k uint64) (at uint64) {
	if o.turn > 0 {
		k = reverse(k, o.turn)
	}
	if m := uint64(len(o.v)); m == 1<<o.bits {
		at = (o.stride*k + o.rotate) & (m - 1)
	} else {
		hi, lo := bits.Mul64(o.stride, k)
		lo, carry := bits.Add64(lo, o.rotate, 0)
		at = bits.Rem64(hi+carry, lo, m)
	}
	if o.reversed {
		at = reverse(at, o.bits)
	}
	return at
}

// one returns the operand's element if it has only one, or nil.
func (o *operand[E, V]) one() *E {
	if o.stride == 0 {
		return &o.v[o.place(0)]
	}
	return nil
}

// side returns the n elements from k on if they lie side by side, or nil.
func (o *operand[E, V]) side(k uint64, n int) V {
	var at uint64
	switch m := uint64(len(o.v)); {
	case o.stride != 1:
		return nil
	case !o.reversed && o.turn == 0:
		if at = o.place(k); at+uint64(n) > m {
			return nil
		}
	case o.reversed && o.turn > 0 && o.turn == o.bits:
		// k is a multiple of n, a power of two. The places of k to k+n-1 differ in their first
		// bits, and Rotate is added to the last ones. If no carry reaches the first bits, the
		// places lie side by side.
		last := o.turn - bits.TrailingZeros(uint(n))
		if at = reverse(k, o.turn) + o.rotate; at>>last != 0 {
			return nil
		}
		at = reverse(at, o.turn)
	default:
		return nil
	}
	return o.v[at : at+uint64(n)]
}

// load copies elements from k on.
func (o *operand[E, V]) load(to V, k uint64) {
	if o.stride == 1 && !o.reversed && o.turn == 0 {
		for at := o.place(k); len(to) > 0; at = 0 {
			to = to[copy(to, o.v[at:]):]
		}
		return
	}
	for i := range to {
		to[i] = o.v[o.place(k+uint64(i))]
	}
}

// store does the inverse of load.
func (o *operand[E, V]) store(from V, k uint64) {
	for i := range from {
		o.v[o.place(k+uint64(i))] = from[i]
	}
}

// stack runs code on blocks of elements.
type stack[E any, V ~[]E, PE curves.Element[E], PV curves.Vector[E, V]] struct {
	args      []operand[E, V]
	constants V
	zero      V
	// rooms[d] is the memory for the block at depth d. Entries at depth d and above may lie in it,
	// those below d never do. An operation that writes it has taken off those above first.
	rooms [backend.MapStack]V
	at    [backend.MapStack]entry[E, V]
	out   V // where the current operation writes
}

// entry is a block, or one element that stands for a whole block.
type entry[E any, V ~[]E] struct {
	v   V
	one *E
}

// run sets n elements of to, from k on.
func (s *stack[E, V, PE, PV]) run(code []backend.MapCode, to *operand[E, V], k uint64, n int) {
	side := to.side(k, n)
	top := -1
	for i, op := range code {
		switch op.Op {
		case backend.MapLoad:
			top++
			a := &s.args[op.Arg]
			if s.at[top] = (entry[E, V]{a.side(k, n), a.one()}); s.at[top].one == nil && s.at[top].v == nil {
				s.at[top].v = s.rooms[top][:n]
				a.load(s.at[top].v, k)
			}
			continue
		case backend.MapConst:
			top++
			s.at[top] = entry[E, V]{nil, &s.constants[op.Arg]}
			continue
		case backend.MapCopy:
			top++
			s.at[top] = s.at[top-1-op.Arg]
			continue
		case backend.MapAdd, backend.MapSub, backend.MapMul:
			top--
		}
		if s.out = s.rooms[top][:n]; i == len(code)-1 && side != nil {
			s.out = side
		}
		s.operate(op.Op, top, n)
		s.at[top] = entry[E, V]{s.out, nil}
	}
	switch result := s.block(0, n); {
	case side == nil:
		to.store(result, k)
	case &side[0] != &result[0]:
		copy(side, result)
	}
}

// block returns the entry at depth d as a block.
func (s *stack[E, V, PE, PV]) block(d, n int) V {
	e := &s.at[d]
	if e.one != nil {
		// The element may lie in the vector that is written. That is safe: nothing is written there
		// before the last operation has read it.
		*e = entry[E, V]{s.rooms[d][:n], fill(s.rooms[d][:n], *e.one)}
	}
	return e.v
}

// fill sets all of v to to, and returns nil.
func fill[E any, V ~[]E](v V, to E) *E {
	for i := range v {
		v[i] = to
	}
	return nil
}

// operate sets out to the result of an operation on the entries from depth d on.
func (s *stack[E, V, PE, PV]) operate(op backend.MapOp, d, n int) {
	out := PV(&s.out)
	switch op {
	case backend.MapAdd:
		out.Add(s.block(d, n), s.block(d+1, n))
	case backend.MapSub:
		out.Sub(s.block(d, n), s.block(d+1, n))
	case backend.MapMul:
		if one := s.at[d+1].one; one != nil {
			out.ScalarMul(s.block(d, n), one)
		} else if one := s.at[d].one; one != nil {
			out.ScalarMul(s.at[d+1].v, one)
		} else {
			out.Mul(s.at[d].v, s.at[d+1].v)
		}
	case backend.MapSquare:
		out.Mul(s.block(d, n), s.block(d, n))
	case backend.MapDouble:
		out.Add(s.block(d, n), s.block(d, n))
	case backend.MapNeg:
		out.Sub(s.zero[:n], s.block(d, n))
	}
}
