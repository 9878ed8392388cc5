package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

// program is one Run of a session.
type program struct {
	s *Session
	g *generation

	held   []*Bases
	reqs   []Request // the Commits as MSMs, without scalars
	steps  []backend.Step
	sizes  []int           // of the answers to steps
	stepOf []int           // for each of the caller's steps, its index in steps
	point  backend.Element // of the last commitment's bases
	jobOf  []int           // for each of reqs, its index in steps
	out    [][]byte        // the answers to steps

	answers [][]byte
	secrets [][]byte // read for checks
}

// release gives back what take took, and wipes the scalars that were read for checks.
func (p *program) release() {
	for _, b := range p.held {
		b.Release()
	}
	for _, s := range p.secrets {
		clear(s)
	}
}

// take finds the bases of a program and holds them until release.
func (p *program) take(steps []backend.Step) error {
	for i, step := range steps {
		switch c := step.(type) {
		case backend.Job:
			return fmt.Errorf("%w: step %d: a job names bases of a backend, here it is engine.Commit", backend.ErrInvalidInput, i)
		case Commit:
			if c.Dst.Space != 0 {
				return fmt.Errorf("%w: step %d: a commitment answers its point and writes none", backend.ErrInvalidInput, i)
			}
			if c.Bases == nil || c.Bases.e != p.s.e {
				return fmt.Errorf("%w: step %d: a commitment with no bases of this engine", backend.ErrInvalidInput, i)
			}
			if !c.Bases.Acquire() {
				return fmt.Errorf("step %d: bases: %w", i, backend.ErrClosed)
			}
			p.held = append(p.held, c.Bases)
			p.reqs = append(p.reqs, Request{Bases: c.Bases, Offset: c.Offset, Count: c.Count})
		}
	}
	return nil
}

// run loads what is missing, computes and checks.
func (p *program) run(ctx context.Context, steps []backend.Step) error {
	twin := p.replayed(steps)
	again, compared := p.s.e.chosen(p.g, p.reqs)
	for _, s := range twin.before() {
		p.add(s)
	}
	if err := p.translate(ctx, steps, compared); err != nil {
		return err
	}
	finals := len(p.steps)
	for _, s := range twin.after() {
		p.add(s)
	}
	if err := p.compute(ctx); err != nil {
		return err
	}
	for k, i := range compared {
		again[k].Scalars = p.out[p.jobOf[i]+1]
		p.secrets = append(p.secrets, again[k].Scalars)
	}
	if err := p.check(ctx, steps); err != nil {
		return err
	}
	if err := p.checkReads(steps); err != nil {
		return err
	}
	if err := twin.run(ctx, p, finals); err != nil {
		return err
	}
	points := pick(p.out, p.jobOf)
	if err := p.s.e.check(ctx, p.g, p.reqs, points, p.scalars); err != nil {
		return err
	}
	if err := p.s.e.compare(ctx, p.g, again, pick(points, compared)); err != nil {
		return err
	}
	p.answers = pick(p.out, p.stepOf)
	return nil
}

// translate turns the session's steps into the backend's: with the backend's ids of bases, and with
// added reads of the scalars whose commitments are to be compared.
func (p *program) translate(ctx context.Context, steps []backend.Step, compared []int) error {
	for _, step := range steps {
		p.stepOf = append(p.stepOf, len(p.steps))
		switch s := step.(type) {
		case backend.Write:
			s.Check = s.Check || p.s.e.cfg.CheckInput
			p.add(s)
		case Commit:
			id, err := p.g.ensure(ctx, s.Bases)
			if err != nil {
				return err
			}
			s.Job.Bases = id
			p.jobOf = append(p.jobOf, len(p.steps))
			p.point = backend.PointOf(s.Bases.src.Curve, s.Bases.src.Group)
			p.add(s.Job)
			if len(compared) > 0 && compared[0] == len(p.jobOf)-1 {
				compared = compared[1:]
				p.add(backend.Read{Src: s.Src})
			}
		default:
			p.add(s)
		}
	}
	return nil
}

// add adds a step for the backend.
func (p *program) add(s backend.Step) {
	in := backend.Memory{
		Bases: func(backend.BasesID) (backend.Elements, bool) { return backend.Elements{Element: p.point}, true },
		Space: p.space,
	}
	p.steps = append(p.steps, s)
	p.sizes = append(p.sizes, backend.AnswerBytes(s, in))
}

// space returns the elements of a space. A space of no session counts as the session's own: the
// backend refuses it.
func (p *program) space(id backend.SpaceID) (backend.Elements, bool) {
	if e, ok := p.elements(id); ok {
		return e, true
	}
	return p.s.space.Elements, true
}

// compute has the backend run the steps.
func (p *program) compute(ctx context.Context) (err error) {
	ctx, end := p.g.e.Observe(ctx, Phase{Kind: PhaseProgram, Backend: p.g.slot.name, Jobs: len(p.steps), Points: p.points()})
	defer func() { end(err) }()
	if p.out, err = p.on(ctx, p.steps); err != nil {
		return err
	}
	if len(p.out) != len(p.steps) {
		return fmt.Errorf("%w: %d answers to %d steps", ErrWrongAnswer, len(p.out), len(p.steps))
	}
	for i, a := range p.out {
		if len(a) != p.sizes[i] {
			return fmt.Errorf("%w: step %d (%T) answers %d bytes, want %d", ErrWrongAnswer, i, p.steps[i], len(a), p.sizes[i])
		}
	}
	return nil
}

// points returns how many scalars the program's commitments have.
func (p *program) points() (n int) {
	for _, r := range p.reqs {
		n += r.Count
	}
	return n
}

func (p *program) on(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	return on(ctx, p.g, func(ctx context.Context, b backend.Backend) ([][]byte, error) {
		v, ok := backend.As[backend.Programs](b)
		if !ok {
			return nil, fmt.Errorf("%w: no programs", backend.ErrUnsupported)
		}
		return v.Run(ctx, steps)
	})
}

// check applies Space.Check to the answers of steps that compute. It leaves out those of reads,
// which may return what the program wrote.
func (p *program) check(ctx context.Context, steps []backend.Step) (err error) {
	if p.s.space.Check == nil {
		return nil
	}
	_, end := p.g.e.Observe(ctx, Phase{Kind: PhaseCheck, Backend: p.g.slot.name, Jobs: len(steps)})
	defer func() { end(err) }()
	in := backend.Memory{Space: p.space}
	for i, step := range steps {
		if !computes(step) || backend.Answer(step, in).Element != p.s.space.Element {
			continue
		}
		p.g.e.sum(func(st *Stats) { st.Checked++ })
		if err = p.s.space.Check(p.out[p.stepOf[i]]); err != nil {
			return fmt.Errorf("step %d (%T): %w", i, step, err)
		}
	}
	return nil
}

// scalars returns the scalars of the commitment reqs[i] as they are after the program, or nil when
// a later step has changed them.
func (p *program) scalars(ctx context.Context, i int) ([]byte, error) {
	at := p.jobOf[i]
	src := p.steps[at].(backend.Job).Src
	for _, later := range p.steps[at+1:] {
		if backend.Writes(later, src) {
			p.g.e.events.add(Event{Kind: EventUncompared, Backend: p.g.slot.name,
				Err: errors.New("a commitment is infinity, and its vector was changed since")})
			return nil, nil
		}
	}
	out, err := p.on(ctx, []backend.Step{backend.Read{Src: src}})
	if err != nil {
		return nil, err
	}
	of, _ := p.space(src.Space)
	if len(out) != 1 || len(out[0]) != src.Count*of.Bytes() {
		return nil, fmt.Errorf("%w: a vector of another length", ErrWrongAnswer)
	}
	p.secrets = append(p.secrets, out[0])
	return out[0], nil
}
