package arith

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// Options of a Calculator. The zero value is the default.
type Options struct {
	// Memory is how many bytes of the backend's memory an operation takes, about;
	// long batches are computed in parts. 0 is 256 MiB.
	Memory int
	// Progress, if set, is called with how many elements of how many are done, after
	// each part, by one goroutine at a time for each operation.
	Progress func(done, all int)
	// Public says that the values of all operands, exponents and moduli among them, may show
	// in the time that an operation takes. The CPU backend then computes inverses and some
	// remainders faster; the answers are the same. Without it they are secret, as
	// docs/numbers.md says. ExpModCRT's key is secret always.
	Public bool
}

const defaultMemory = 256 << 20

// Calculator computes on an engine, one operation a call. Safe for concurrent use.
type Calculator struct {
	e    *engine.Engine
	o    Options
	into *Numbers
}

// On returns a Calculator on an engine.
func On(e *engine.Engine, o Options) *Calculator {
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	return &Calculator{e: e, o: o}
}

// Into returns a Calculator whose operations write their answer to dst, and return it, in
// place of numbers of their own. dst has the width and length of the answer, and no word of
// its memory is an operand's; after an error its numbers are undefined. Carries and signs are
// still made.
func (c *Calculator) Into(dst *Numbers) *Calculator {
	to := *c
	to.into = dst
	return &to
}

// operation is a call of a Calculator: what it computes, and how far it is.
type operation struct {
	c             *Calculator
	op            backend.NumberOp
	degree        int
	short         uint64 // the exponent of a power by products; 0 is none
	a, b, m       *Numbers
	out, carry    *Numbers   // answers; carry may be none
	all, done     int        // elements
	part          int        // elements at a time
	over          bool       // over all elements
	fixed, moving []*Numbers // operands: one number for all elements, and one each
}

// compute runs an operation whose answers have a width in words; count is how many
// there are of one over all elements, and otherwise 0.
func (c *Calculator) compute(ctx context.Context, op backend.NumberOp, degree, width, count int,
	carry bool, a, b, m *Numbers) (out, carries *Numbers, err error) {
	x := &operation{c: c, op: op, degree: degree, a: a, b: b, m: m, over: count > 0}
	need := []backend.NumberOp{op}
	if x.over {
		need = append(need, x.adding())
	}
	return x.do(ctx, need, width, count, carry)
}

// do plans and runs an operation that needs some of a backend.
func (x *operation) do(ctx context.Context, need []backend.NumberOp, width, count int, carry bool) (out, carries *Numbers, err error) {
	if err := x.plan(width, count, carry); err != nil {
		return nil, nil, fmt.Errorf("%v: %w", x.op, err)
	}
	if _, err := repeatWith(ctx, x.c.e, x.words(), need, x.run); err != nil {
		return nil, nil, err
	}
	return x.out, x.carry, nil
}

// plan checks shapes and makes room for the answers.
func (x *operation) plan(width, count int, carry bool) error {
	r := rules[x.op]
	operands := []struct {
		what string
		n    *Numbers
		used bool
	}{{"A", x.a, true}, {"B", x.b, r.b && x.short == 0}, {"M", x.m, r.m}}
	var shapes [3]*shape
	for i, o := range operands {
		if !o.used {
			continue
		}
		if err := o.n.valid(o.what); err != nil {
			return err
		}
		shapes[i] = &shape{o.n.Width, o.n.Len()}
	}
	var err error
	if x.all, err = r.elements(x.degree, shapes[0], shapes[1], shapes[2]); err != nil {
		return err
	}
	size := 0 // words of an element
	for _, o := range operands {
		if o.used && x.c.into != nil && o.n.overlaps(x.c.into) {
			return invalid("the destination is %s, or has words of it", o.what)
		}
		switch {
		case !o.used:
		case o.n.Len() == 1 && x.all != 1 || x.over && o.what == "M":
			x.fixed = append(x.fixed, o.n)
		default:
			x.moving = append(x.moving, o.n)
			size += o.n.Width
		}
	}
	if !x.over {
		count = x.all
		size += width
	}
	switch into := x.c.into; {
	case into == nil:
		x.out = Make(32*width, count)
	case into.Width != width || into.Len() != count:
		return invalid("a destination of %d numbers of %d bits, want %d of %d", into.Len(), 32*into.Width, count, 32*width)
	default:
		x.out = into
	}
	if carry {
		x.carry = Make(32, x.all)
		size++
	}
	if x.short > 0 {
		size += 2 * width
	}
	x.part = min(x.all, max(1, x.c.o.Memory/4/max(size, 1)))
	return nil
}

// words returns how much memory a session for the operation needs.
func (x *operation) words() (n int) {
	of := func(width, count int) { n += roomFor(width * count) }
	for _, f := range x.fixed {
		of(f.Width, 1)
	}
	for _, m := range x.moving {
		of(m.Width, x.part)
	}
	if x.over {
		for range 2 { // the sum of all parts, and of one
			of(x.out.Width, x.out.Len())
		}
	} else {
		of(x.out.Width, x.part)
	}
	if x.carry != nil {
		of(x.carry.Width, x.part)
	}
	if x.short > 0 {
		for range 2 {
			of(x.out.Width, x.part)
		}
	}
	return n
}

// run computes what is left to do, in a session of its own.
func (x *operation) run(ctx context.Context, s *Session) error {
	if x.all == 0 && !x.over {
		return nil
	}
	var missing error
	batch := func(n *Numbers, count int) *Batch {
		b, err := s.New(32*n.Width, count)
		missing = errors.Join(missing, err)
		return b
	}
	at := map[*Numbers]*Batch{} // operands
	for _, n := range x.fixed {
		at[n] = batch(n, 1)
	}
	for _, n := range x.moving {
		at[n] = batch(n, x.part)
	}
	var dst, sum, carry, base, power *Batch // sum is of a part, over all elements
	if x.over {
		x.done = 0 // the sum was lost with its session
		dst, sum = batch(x.out, x.out.Len()), batch(x.out, x.out.Len())
	} else if dst = batch(x.out, x.part); x.carry != nil {
		carry = batch(x.carry, x.part)
	}
	if x.short > 0 {
		base, power = batch(x.out, x.part), batch(x.out, x.part)
	}
	if missing != nil {
		return missing
	}
	p := s.Program()
	for _, n := range x.fixed {
		p.Write(at[n], n)
	}
	for first := true; x.done < x.all || first; first = false {
		lo, hi := x.done, min(x.done+x.part, x.all)
		for _, n := range x.moving {
			p.Write(at[n].first(hi-lo), n.part(lo, hi))
		}
		of := func(n *Numbers) *Batch {
			if b := at[n]; b != nil && slices.Contains(x.moving, n) {
				return b.first(hi - lo)
			}
			return at[n]
		}
		p.Public(x.c.o.Public)
		o := operands{A: of(x.a), B: of(x.b), M: of(x.m), Degree: x.degree}
		switch {
		case x.short > 0:
			to := dst.first(hi - lo)
			p.powers(to, base.first(hi-lo), power.first(hi-lo), o.A, x.short, o.M)
			p.readTo(x.out.part(lo, hi), to)
		case !x.over:
			to := dst.first(hi - lo)
			if carry != nil {
				o.Carry = carry.first(hi - lo)
			}
			p.do(x.op, to, o)
			p.readTo(x.out.part(lo, hi), to)
			if carry != nil {
				p.readTo(x.carry.part(lo, hi), o.Carry)
			}
		case lo == 0:
			p.do(x.op, dst, o)
		default:
			p.do(x.op, sum, o)
			p.do(x.adding(), dst, operands{A: dst, B: sum, M: o.M})
		}
		if x.over && hi == x.all {
			p.readTo(x.out, dst)
		}
		if err := p.Run(ctx); err != nil {
			return inWords(err, lo)
		}
		p.Reset()
		if x.done = hi; x.c.o.Progress != nil {
			x.c.o.Progress(hi, x.all)
		}
	}
	return nil
}

// adding returns the operation that adds up the answers of parts.
func (x *operation) adding() backend.NumberOp {
	if x.m != nil {
		return backend.NumAddMod
	}
	return backend.NumAdd
}
