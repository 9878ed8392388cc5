package arith

import (
	"context"
	"fmt"

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

// On is a Calculator on an engine.
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
	out, carry    *Numbers // answers; carry may be none
	all, done     int      // elements
	part          int      // elements at a time
	over          bool     // over all elements
	fixed, moving []operand
	dst, sum      operand // the answers' places; sum is of a part, over all elements
	carries       operand
}

// operand is numbers and where they are.
type operand struct {
	n     *Numbers
	batch backend.Batch
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
	space := engine.Space{Curve: backend.Words, Count: t.place(), Numbers: need}
	if _, err := c.e.Repeat(ctx, space, t.run); err != nil {
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
			t.moving = append(t.moving, operand{n: o.n})
			size += o.n.Width
		case o.n.Len() == 1 && (!t.over || o.what == "M"):
			t.fixed = append(t.fixed, operand{n: o.n})
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

// place gives operands their places in the one space, and says how long it is.
func (t *task) place() (words int) {
	at := func(width, count int) backend.Batch {
		b := backend.Batch{Offset: words, Words: width, Count: count}
		words += width * count
		return b
	}
	for i := range t.fixed {
		t.fixed[i].batch = at(t.fixed[i].n.Width, 1)
	}
	for i := range t.moving {
		t.moving[i].batch = at(t.moving[i].n.Width, t.part)
	}
	if t.over {
		t.dst.batch = at(t.out.Width, t.out.Len())
		t.sum.batch = at(t.out.Width, t.out.Len())
	} else {
		t.dst.batch = at(t.out.Width, t.part)
	}
	if t.carry != nil {
		t.carries.batch = at(1, t.part)
	}
	return words
}

// run computes what is left to do, in a session of its own.
func (t *task) run(ctx context.Context, s *engine.Session) error {
	in := func(b backend.Batch, count int) backend.Batch {
		b.Space = s.Space()
		if count >= 0 {
			b.Count = count
		}
		return b
	}
	var steps []backend.Step
	for _, o := range t.fixed {
		steps = append(steps, backend.Write{Dst: in(o.batch, -1).Range(), Bytes: o.n.bytes(0, 1)})
	}
	if t.over {
		t.done = 0 // the sum was lost with its session
	}
	if t.all == 0 && !t.over {
		return nil
	}
	for first := true; t.done < t.all || first; first = false {
		lo, hi := t.done, min(t.done+t.part, t.all)
		c := backend.Compute{Op: t.op, Degree: t.degree}
		of := func(n *Numbers) backend.Batch {
			for _, o := range t.fixed {
				if o.n == n {
					return in(o.batch, 1)
				}
			}
			for _, o := range t.moving {
				if o.n == n {
					return in(o.batch, hi-lo)
				}
			}
			return backend.Batch{}
		}
		for _, o := range t.moving {
			steps = append(steps, backend.Write{Dst: in(o.batch, hi-lo).Range(), Bytes: o.n.bytes(lo, hi)})
		}
		c.A, c.B, c.M = of(t.a), of(t.b), of(t.m)
		if !t.over {
			c.Dst = in(t.dst.batch, hi-lo)
			if t.carry != nil {
				c.Carry = in(t.carries.batch, hi-lo)
			}
			steps = append(steps, c, backend.Read{Src: c.Dst.Range()})
			if t.carry != nil {
				steps = append(steps, backend.Read{Src: c.Carry.Range()})
			}
		} else {
			c.Dst = in(t.dst.batch, -1)
			if lo > 0 {
				c.Dst = in(t.sum.batch, -1)
			}
			steps = append(steps, c)
			if lo > 0 {
				total := in(t.dst.batch, -1)
				steps = append(steps, backend.Compute{Op: t.adding(), Dst: total, A: total, B: c.Dst, M: c.M})
			}
			if hi == t.all {
				steps = append(steps, backend.Read{Src: in(t.dst.batch, -1).Range()})
			}
		}
		answers, err := s.Run(ctx, steps)
		if err != nil {
			if lo > 0 {
				err = fmt.Errorf("elements from %d on: %w", lo, err)
			}
			return err
		}
		t.take(answers, lo, hi)
		steps = nil
		if t.done = hi; t.c.o.Progress != nil {
			t.c.o.Progress(hi, t.all)
		}
	}
	return nil
}

// adding is the operation that adds up the answers of parts.
func (t *task) adding() backend.NumberOp {
	if t.m != nil {
		return backend.NumAddMod
	}
	return backend.NumAdd
}

// take copies the answers of the elements from lo to before hi.
func (t *task) take(answers [][]byte, lo, hi int) {
	var read [][]byte
	for _, a := range answers {
		if len(a) > 0 {
			read = append(read, a)
		}
	}
	if len(read) == 0 {
		return
	}
	if t.over {
		lo, hi = 0, t.out.Len()
	}
	copy(t.out.bytes(lo, hi), read[0])
	if t.carry != nil {
		copy(t.carry.bytes(lo, hi), read[1])
	}
	for _, r := range read {
		clear(r)
	}
}
