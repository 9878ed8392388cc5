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
}

const defaultMemory = 256 << 20

// Calculator computes on an engine, one operation a call. Safe for concurrent use.
type Calculator struct {
	e *engine.Engine
	o Options
}

// On returns a Calculator on an engine.
func On(e *engine.Engine, o Options) *Calculator {
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	return &Calculator{e, o}
}

// task is one operation on numbers in memory.
type task struct {
	c             *Calculator
	op            backend.NumberOp
	degree        int
	a, b, m       *Numbers
	out, carry    *Numbers   // answers; carry may be none
	all, done     int        // elements
	part          int        // elements at a time
	over          bool       // over all elements
	fixed, moving []*Numbers // operands: one number for all elements, and one each
}

// compute runs an operation whose answers have a width in words; count is how many
// there are of one over all elements, and otherwise 0.
func (c *Calculator) compute(ctx context.Context, op backend.NumberOp, degree, width, count int, carry bool, a, b, m *Numbers) (out, carries *Numbers, err error) {
	t := &task{c: c, op: op, degree: degree, a: a, b: b, m: m, over: count > 0}
	if err := t.plan(width, count, carry); err != nil {
		return nil, nil, fmt.Errorf("%v: %w", op, err)
	}
	need := []backend.NumberOp{op}
	if t.over && t.part < t.all {
		need = append(need, t.adding())
	}
	if _, err := Repeat(ctx, c.e, t.words(), need, t.run); err != nil {
		return nil, nil, err
	}
	return t.out, t.carry, nil
}

// plan checks lengths and makes room for the answers.
func (t *task) plan(width, count int, carry bool) error {
	operands := []struct {
		what string
		n    *Numbers
	}{{"A", t.a}, {"B", t.b}, {"M", t.m}}
	for _, o := range operands {
		if o.n == nil && o.what != "A" {
			continue // the backend says whether it is missing
		}
		if err := o.n.valid(o.what); err != nil {
			return err
		}
	}
	t.all = t.a.Len()
	if !t.over {
		for _, o := range operands {
			if o.n != nil && t.all == 1 {
				t.all = o.n.Len()
			}
		}
	}
	size := 0 // words of an element
	for _, o := range operands {
		switch {
		case o.n == nil:
		case o.n.Len() == t.all && !(t.over && o.what == "M"):
			t.moving = append(t.moving, o.n)
			size += o.n.Width
		case o.n.Len() == 1 && (!t.over || o.what == "M"):
			t.fixed = append(t.fixed, o.n)
		default:
			return fmt.Errorf("%w: %d numbers in %s, of %d elements", backend.ErrInvalidInput, o.n.Len(), o.what, t.all)
		}
	}
	if t.over {
		t.out = Make(32*width, count)
	} else {
		t.out = Make(32*width, t.all)
		size += width
	}
	if carry {
		t.carry = Make(32, t.all)
		size++
	}
	t.part = min(t.all, max(1, t.c.o.Memory/4/max(size, 1)))
	return nil
}

// words returns how much memory a session for the operation needs.
func (t *task) words() (n int) {
	for _, f := range t.fixed {
		n += f.Width
	}
	for _, m := range t.moving {
		n += m.Width * t.part
	}
	if t.over {
		n += 2 * len(t.out.Words) // the sum of all parts, and of one
	} else {
		n += t.out.Width * t.part
	}
	if t.carry != nil {
		n += t.part
	}
	return n
}

// run computes what is left to do, in a session of its own.
func (t *task) run(ctx context.Context, s *Session) error {
	if t.all == 0 && !t.over {
		return nil
	}
	var missing error
	batch := func(n *Numbers, count int) *Batch {
		b, err := s.New(32*n.Width, count)
		missing = errors.Join(missing, err)
		return b
	}
	at := map[*Numbers]*Batch{} // operands
	for _, n := range t.fixed {
		at[n] = batch(n, 1)
	}
	for _, n := range t.moving {
		at[n] = batch(n, t.part)
	}
	var dst, sum, carry *Batch // sum is of a part, over all elements
	if t.over {
		t.done = 0 // the sum was lost with its session
		dst, sum = batch(t.out, t.out.Len()), batch(t.out, t.out.Len())
	} else if dst = batch(t.out, t.part); t.carry != nil {
		carry = batch(t.carry, t.part)
	}
	if missing != nil {
		return missing
	}
	p := s.Program()
	for _, n := range t.fixed {
		p.Write(at[n], n)
	}
	for first := true; t.done < t.all || first; first = false {
		lo, hi := t.done, min(t.done+t.part, t.all)
		for _, n := range t.moving {
			p.Write(at[n].first(hi-lo), n.part(lo, hi))
		}
		of := func(n *Numbers) *Batch {
			if b := at[n]; b != nil && slices.Contains(t.moving, n) {
				return b.first(hi - lo)
			}
			return at[n]
		}
		o := Operands{A: of(t.a), B: of(t.b), M: of(t.m), Degree: t.degree}
		switch {
		case !t.over:
			to := dst.first(hi - lo)
			if carry != nil {
				o.Carry = carry.first(hi - lo)
			}
			p.Do(t.op, to, o)
			p.readTo(t.out.part(lo, hi), to)
			if carry != nil {
				p.readTo(t.carry.part(lo, hi), o.Carry)
			}
		case lo == 0:
			p.Do(t.op, dst, o)
		default:
			p.Do(t.op, sum, o)
			p.Do(t.adding(), dst, Operands{A: dst, B: sum, M: o.M})
		}
		if t.over && hi == t.all {
			p.readTo(t.out, dst)
		}
		if err := p.Run(ctx); err != nil {
			if lo > 0 {
				err = fmt.Errorf("elements from %d on: %w", lo, err)
			}
			return err
		}
		if t.done = hi; t.c.o.Progress != nil {
			t.c.o.Progress(hi, t.all)
		}
	}
	return nil
}

// adding returns the operation that adds up the answers of parts.
func (t *task) adding() backend.NumberOp {
	if t.m != nil {
		return backend.NumAddMod
	}
	return backend.NumAdd
}
