package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// replay computes a program again on the next backend and compares its answers and what it left in
// memory, as Config.CompareEvery says. It leaves out commitments, which are compared as MSMs. A nil
// replay does nothing.
type replay struct {
	steps  []backend.Step // of the program, no commitments among them
	at     []int          // for each of steps, its index in the program
	spaces map[backend.SpaceID]backend.Elements
	inputs []backend.Range // what the program reads that was in memory before it
	finals []backend.Range // what its steps compute, as it stands at the end
}

// replayed decides whether a program is computed again, and plans it.
func (p *program) replayed(steps []backend.Step) *replay {
	e := p.s.e
	every := uint64(e.cfg.CompareEvery)
	if every == 0 || !slices.ContainsFunc(steps, computes) {
		return nil
	}
	e.mu.Lock()
	fresh := p.g.fresh
	e.mu.Unlock()
	if e.programs.Add(1)%every != 0 && !fresh {
		return nil
	}
	r := &replay{spaces: map[backend.SpaceID]backend.Elements{}}
	var written, computed ranges
	for i, step := range steps {
		if _, ok := step.(Commit); ok {
			continue
		}
		r.steps, r.at = append(r.steps, step), append(r.at, i)
		all := backend.Accesses(step)
		for _, a := range all {
			switch elements, ok := p.elements(a.Space); {
			case a.Bases != 0, !ok, a.Offset < 0, a.Count < 0, a.Offset > elements.Count, a.Count > elements.Count-a.Offset:
				return nil // the backend refuses the step, or no other backend has the bases
			case a.Count > 0:
				elements.Count = max(a.Offset+a.Count, r.spaces[a.Space].Count)
				r.spaces[a.Space] = elements
			}
			if !a.Writes && !written.have(a.Range) {
				r.inputs = append(r.inputs, a.Range)
			}
		}
		for _, a := range all {
			if a.Writes {
				written = written.with(a.Range)
				if computes(step) {
					computed = computed.with(a.Range)
				}
			}
		}
	}
	r.finals = computed
	return r
}

// computes reports whether a step computes elements. Steps that write given elements or read do
// not, nor do commitments.
func computes(step backend.Step) bool {
	switch step.(type) {
	case backend.Write, backend.Read, Commit:
		return false
	}
	return true
}

// elements returns what a space holds, if a session of the program's backend owns it.
func (p *program) elements(id backend.SpaceID) (backend.Elements, bool) {
	p.s.e.mu.Lock()
	defer p.s.e.mu.Unlock()
	for s := range p.g.sessions {
		if s.id == id {
			return s.space.Elements, true
		}
	}
	return backend.Elements{}, false
}

// run computes the program p again. at is the index of the first step of p that reads finals. A
// program that cannot be compared stands: only a different answer accuses p's backend.
func (r *replay) run(ctx context.Context, p *program, at int) (err error) {
	if r == nil {
		return nil
	}
	inputs, finals, g := p.out[:len(r.inputs)], p.out[at:], p.g
	p.secrets = append(append(p.secrets, inputs...), finals...)
	e := g.e
	c := &call{brief: true, only: true, can: r.can}
	e.mu.Lock()
	after := slices.Index(e.slots, g.slot) + 1
	c.passed = slices.Clone(e.slots[:after])
	last := after == len(e.slots) || after == 0
	e.mu.Unlock()
	if last {
		return nil
	}
	ctx, end := e.Observe(ctx, Phase{Kind: PhaseCompare, Backend: g.slot.name, Jobs: len(r.steps)})
	defer func() { end(err) }()
	var again [][]byte
	defer func() {
		for _, a := range again {
			clear(a)
		}
	}()
	by, err := e.attempt(ctx, c, func(ctx context.Context, g *generation) (err error) {
		again, err = r.on(ctx, g, inputs)
		return err
	})
	if err != nil {
		if ended := backend.Ended(ctx); ended != nil {
			return ended
		}
		e.events.add(Event{Kind: EventUncompared, Backend: g.slot.name, Err: err})
		return nil
	}
	e.sum(func(st *Stats) { st.Compared++ })
	for k, i := range r.at {
		if !bytes.Equal(again[k], p.out[p.stepOf[i]]) {
			return fmt.Errorf("%w: %s has another answer to step %d (%s)", ErrWrongAnswer, by, i, backend.StepName(r.steps[k]))
		}
	}
	for k, f := range r.finals {
		if !bytes.Equal(again[len(r.steps)+k], finals[k]) {
			return fmt.Errorf("%w: %s computes something else in %d elements from %d on", ErrWrongAnswer, by, f.Count, f.Offset)
		}
	}
	return nil
}

// can returns why a backend is unable to compute the program again.
func (r *replay) can(i backend.Info) error {
	for _, el := range r.spaces {
		if !i.Can.HasPrograms(el.Element) {
			return fmt.Errorf("%w: backend %s has no programs over %v", backend.ErrUnsupported, i.Name, el.Element)
		}
	}
	for _, s := range r.steps {
		if c, ok := s.(backend.Compute); ok && !i.Can.HasNumbers(c.Op) {
			return fmt.Errorf("%w: backend %s has no %v", backend.ErrUnsupported, i.Name, c.Op)
		}
	}
	return nil
}

// on computes the program on another backend, in new spaces. It returns the answers of its steps,
// and after them the elements of finals.
func (r *replay) on(ctx context.Context, g *generation, inputs [][]byte) ([][]byte, error) {
	return on(ctx, g, func(ctx context.Context, b backend.Backend) (_ [][]byte, err error) {
		v, ok := backend.As[backend.Programs](b)
		if !ok {
			return nil, fmt.Errorf("%w: no programs", backend.ErrUnsupported)
		}
		names := map[backend.SpaceID]backend.SpaceID{}
		defer func() {
			for _, id := range names {
				limited(closeLimit, func(ctx context.Context) error { return v.FreeSpace(ctx, id) })
			}
		}()
		for id, el := range r.spaces {
			if names[id], err = v.NewSpace(ctx, el.Element, el.Count); err != nil {
				delete(names, id)
				return nil, err
			}
		}
		var steps []backend.Step
		for k, in := range r.inputs {
			steps = append(steps, backend.Write{Dst: in, Input: backend.Input{Bytes: inputs[k]}})
		}
		for _, s := range r.steps {
			steps = append(steps, backend.WithInput(s, func(in *backend.Input, _ int) { in.Ready = nil })) // it is all there
		}
		steps = append(steps, reads(r.finals)...)
		for i, s := range steps {
			steps[i] = backend.Renamed(s, func(id backend.SpaceID) backend.SpaceID { return names[id] }, nil)
		}
		out, err := v.Run(ctx, steps)
		if err != nil {
			return nil, err
		}
		if len(out) != len(steps) {
			return nil, fmt.Errorf("%w: %d answers to %d steps", ErrWrongAnswer, len(out), len(steps))
		}
		return out[len(r.inputs):], nil
	})
}

// before returns the steps that read the inputs of the comparison.
func (r *replay) before() []backend.Step {
	if r == nil {
		return nil
	}
	return reads(r.inputs)
}

// after returns the steps that read what is compared.
func (r *replay) after() []backend.Step {
	if r == nil {
		return nil
	}
	return reads(r.finals)
}

// reads returns steps that read ranges.
func reads(all []backend.Range) (steps []backend.Step) {
	for _, r := range all {
		steps = append(steps, backend.Read{Src: r})
	}
	return steps
}

// ranges are sorted, and no two of one space touch.
type ranges []backend.Range

// with returns the ranges with r added.
func (all ranges) with(r backend.Range) ranges {
	if r.Count == 0 {
		return all
	}
	all = append(slices.Clone(all), r)
	slices.SortFunc(all, func(a, b backend.Range) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Offset, b.Offset))
	})
	joined := all[:1]
	for _, r := range all[1:] {
		last := &joined[len(joined)-1]
		if r.Space != last.Space || r.Offset > last.Offset+last.Count {
			joined = append(joined, r)
			continue
		}
		last.Count = max(last.Count, r.Offset+r.Count-last.Offset)
	}
	return joined
}

// have reports whether the ranges contain all elements of r.
func (all ranges) have(r backend.Range) bool {
	return r.Count == 0 || slices.ContainsFunc(all, func(o backend.Range) bool { return contains(r, o) })
}

// contains reports whether o contains all of r.
func contains(r, o backend.Range) bool {
	return r.Space == o.Space && r.Offset >= o.Offset && r.Offset+r.Count <= o.Offset+o.Count
}

// checkReads checks what a program reads of what it computed, as Config.Check demands. Residues
// must be below their modulus if the program wrote it. Elements of GF(2^n) must have no bits from
// x^n on. Signs and carries must be valid ones. Space.Check checks other elements.
func (p *program) checkReads(steps []backend.Step) error {
	if p.s.e.cfg.Check == CheckNone {
		return nil
	}
	for i, step := range steps {
		read, ok := step.(backend.Read)
		if !ok || read.Src.Count == 0 {
			continue
		}
		k := lastWriter(steps[:i], read.Src)
		if k < 0 || !computes(steps[k]) {
			continue
		}
		var err error
		answer := p.out[p.stepOf[i]]
		if c, ok := steps[k].(backend.Compute); ok {
			err = checkNumbers(&c, steps[:k], read.Src, answer)
		} else if p.s.space.Check != nil {
			err = p.s.space.Check(answer)
		} else {
			continue
		}
		p.g.e.sum(func(st *Stats) { st.Checked++ })
		if err != nil {
			return fmt.Errorf("step %d (%s): %w", i, backend.StepName(step), err)
		}
	}
	return nil
}

// lastWriter returns the last step that writes an element of r, or -1. It is -1 too if that step
// writes only a part of r.
func lastWriter(steps []backend.Step, r backend.Range) int {
	for k, s := range slices.Backward(steps) {
		if !backend.Writes(s, r) {
			continue
		}
		for _, a := range backend.Accesses(s) {
			if a.Writes && contains(r, a.Range) {
				return k
			}
		}
		return -1
	}
	return -1
}

// checkNumbers checks answer, the numbers that were read from src. The step c computed them after
// the steps before.
func checkNumbers(c *backend.Compute, before []backend.Step, src backend.Range, answer []byte) error {
	to := c.Dst
	var fits func(i int, element []byte) bool
	word := func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) }
	var what string
	switch {
	case contains(src, c.Carry.Range()):
		to, what = c.Carry, "a carry of 0 or 1"
		fits = func(_ int, b []byte) bool { return word(b)>>1 == 0 }
	case c.Op == backend.NumCompare:
		what = "a sign"
		fits = func(_ int, b []byte) bool { return word(b) >= -1 && word(b) <= 1 }
	case c.Degree > 0:
		what = fmt.Sprintf("an element of GF(2^%d)", c.Degree)
		fits = func(_ int, b []byte) bool { return c.Degree%32 == 0 || uint32(word(b[len(b)-4:]))>>(c.Degree%32) == 0 }
	case c.M != backend.Batch{}:
		what = "below the modulus"
		moduli := written(before, c.M.Range())
		if moduli == nil {
			return nil
		}
		size := 4 * c.M.Words
		fits = func(i int, b []byte) bool {
			if c.M.Count == 1 {
				i = 0
			}
			return below(b, moduli[i*size:(i+1)*size])
		}
	default:
		return nil
	}
	size, skip := 4*to.Words, src.Offset-to.Offset
	if skip%to.Words != 0 || src.Count%to.Words != 0 {
		return nil // parts of numbers
	}
	for i := 0; i*size < len(answer); i++ {
		if !fits(skip/to.Words+i, answer[i*size:(i+1)*size]) {
			return fmt.Errorf("%w: element %d of %v is not %s", ErrWrongAnswer, skip/to.Words+i, c.Op, what)
		}
	}
	return nil
}

// written returns what a program wrote to a range, if its last step that writes there is a Write.
// It returns nil if the words were computed, or written before the program.
func written(steps []backend.Step, r backend.Range) []byte {
	k := lastWriter(steps, r)
	if k < 0 {
		return nil
	}
	w, ok := steps[k].(backend.Write)
	if !ok {
		return nil
	}
	from := 4 * (r.Offset - w.Dst.Offset)
	return w.Bytes[from : from+4*r.Count]
}

// below reports whether one number is below another of the same width, both little-endian. Its time
// depends on neither.
func below(x, m []byte) bool {
	var borrow uint64
	for i := 0; i < len(m); i += 4 {
		d := uint64(binary.LittleEndian.Uint32(x[i:])) - uint64(binary.LittleEndian.Uint32(m[i:])) - borrow
		borrow = d >> 63
	}
	return borrow == 1
}
