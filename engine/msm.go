package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// Request is one MSM of a batch: Count scalars times the bases from Offset on.
type Request struct {
	Bases         *Bases
	Offset, Count int
	Scalars       []byte
	SameAs        int // as in backend.Job
}

// MSM computes a batch on the first backend that is able to and returns affine points. by is the
// name of that backend. The scalars are read during the call only.
func (e *Engine) MSM(ctx context.Context, reqs []Request) (out [][]byte, by string, err error) {
	held := 0
	defer func() {
		for _, r := range reqs[:held] {
			r.Bases.Release()
		}
	}()
	c := &call{jobs: len(reqs)}
	for i, r := range reqs {
		if r.Bases.none() || r.Bases.e != e {
			return nil, "", fmt.Errorf("%w: MSM %d has no bases of this engine", backend.ErrInvalidInput, i)
		}
		if !r.Bases.Acquire() {
			return nil, "", fmt.Errorf("bases: %w", backend.ErrClosed)
		}
		held++
		c.points += r.Count
		if r.Bases.src.ReadOnce && r.Bases.settled {
			c.fits = func(g *generation) bool { return g.holdsAll(reqs) }
		}
	}
	if len(reqs) > 0 {
		c.subject = subject{bases: reqs[0].Bases, count: c.points}
	}
	by, err = e.do(ctx, c, func(ctx context.Context, g *generation) (err error) {
		if out, err = g.msm(ctx, reqs); err != nil {
			return err
		}
		own := func(_ context.Context, i int) ([]byte, error) { return scalars(reqs, i), nil }
		if err = e.check(ctx, g, reqs, out, own); err != nil {
			return err
		}
		again, at := e.chosen(g, reqs)
		for k, i := range at {
			again[k].Scalars, again[k].SameAs = scalars(reqs, i), 0
		}
		return e.compare(ctx, g, again, pick(out, at))
	})
	if err != nil {
		return nil, "", err
	}
	return out, by, nil
}

// holdsAll reports whether all bases with ReadOnce are loaded here.
func (g *generation) holdsAll(reqs []Request) bool {
	return !slices.ContainsFunc(reqs, func(r Request) bool { return r.Bases.src.ReadOnce && !g.holds(r.Bases) })
}

// msm computes the batch on one backend. It loads the bases of empty sums, but answers infinity for
// them without asking the backend.
func (g *generation) msm(ctx context.Context, reqs []Request) ([][]byte, error) {
	jobs := make([]backend.Job, len(reqs))
	out := make([][]byte, len(reqs))
	points := 0
	for i, r := range reqs {
		id, err := g.ensure(ctx, r.Bases)
		if err != nil {
			return nil, err
		}
		jobs[i] = backend.Job{
			Bases: id, Offset: r.Offset, Count: r.Count, Input: backend.Input{Bytes: r.Scalars, Check: g.e.cfg.CheckInput}, SameAs: r.SameAs,
		}
		out[i] = make([]byte, r.answerBytes())
		points += r.Count
	}
	if points == 0 {
		return out, nil
	}
	ctx, end := g.e.Observe(ctx, Phase{Kind: PhaseMSM, Backend: g.slot.name, Jobs: len(jobs), Points: points})
	out, err := on(ctx, g, func(ctx context.Context, b backend.Backend) ([][]byte, error) { return b.MSM(ctx, jobs) })
	end(err)
	if err != nil {
		return nil, err
	}
	if len(out) != len(jobs) {
		return nil, fmt.Errorf("%w: %d answers to %d jobs", ErrWrongAnswer, len(out), len(jobs))
	}
	for i, r := range reqs {
		if len(out[i]) != r.answerBytes() {
			return nil, fmt.Errorf("%w: a point of %d bytes, want %d", ErrWrongAnswer, len(out[i]), r.answerBytes())
		}
	}
	return out, nil
}

func (r *Request) answerBytes() int { return r.Bases.src.Curve.PointBytes(r.Bases.src.Group) }

// scalars returns the scalars of reqs[i], following SameAs.
func scalars(reqs []Request, i int) []byte {
	if s := reqs[i].SameAs; s > 0 {
		return reqs[s-1].Scalars
	}
	return reqs[i].Scalars
}

// pick returns the elements of from at the indices at.
func pick[T any](from []T, at []int) []T {
	some := make([]T, len(at))
	for k, i := range at {
		some[k] = from[i]
	}
	return some
}

// check applies Config.Check to the answers of g. scalars returns the scalars of reqs[i], or nil if
// they are not available.
func (e *Engine) check(ctx context.Context, g *generation, reqs []Request, out [][]byte,
	scalars func(ctx context.Context, i int) ([]byte, error)) (err error) {
	ctx, end := e.Observe(ctx, Phase{Kind: PhaseCheck, Backend: g.slot.name, Jobs: len(reqs)})
	defer func() { end(err) }()
	for i, r := range reqs {
		src := &r.Bases.src
		if src.Check == nil || r.Count == 0 {
			continue
		}
		infinite, err := src.Check(out[i], e.cfg.Check)
		if err == nil && infinite && e.cfg.Check != CheckNone && !g.info.InProcess {
			err = confirm(ctx, r, func() ([]byte, error) { return scalars(ctx, i) })
		}
		e.sum(func(st *Stats) { st.Checked++ })
		if err != nil {
			return err
		}
	}
	return nil
}

// confirm computes again, in this process, an MSM for which a backend answered infinity. Infinity
// passes every other check, and a backend that did nothing is likely to answer it.
func confirm(ctx context.Context, r Request, scalars func() ([]byte, error)) error {
	src := &r.Bases.src
	if src.Sum == nil || src.ReadOnce {
		return nil
	}
	s, err := scalars()
	if err != nil || zero(s) {
		return err
	}
	sum, err := src.Sum(ctx, r.Offset, r.Count, s)
	if err == nil && !zero(sum) {
		err = fmt.Errorf("%w: infinity for an MSM of %d %v %v points that is not", ErrWrongAnswer, r.Count, src.Curve, src.Group)
	}
	return err
}

func zero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// compare makes the next backend compute answers of g again. An answer that cannot be compared
// stands: only a different one accuses g.
func (e *Engine) compare(ctx context.Context, g *generation, again []Request, out [][]byte) (err error) {
	if len(again) == 0 {
		return nil
	}
	c := &call{brief: true, only: true}
	e.mu.Lock()
	after := slices.Index(e.slots, g.slot) + 1
	c.passed = slices.Clone(e.slots[:after])
	last := after == len(e.slots) || after == 0
	e.mu.Unlock()
	if last {
		return nil
	}
	ctx, end := e.Observe(ctx, Phase{Kind: PhaseCompare, Backend: g.slot.name, Jobs: len(again)})
	defer func() { end(err) }()
	var want [][]byte
	by, err := e.attempt(ctx, c, func(ctx context.Context, g *generation) (err error) {
		want, err = g.msm(ctx, again)
		return err
	})
	if err != nil {
		if ended := backend.Ended(ctx); ended != nil {
			return ended
		}
		e.events.add(Event{Kind: EventUncompared, Backend: g.slot.name, Err: err})
		return nil
	}
	e.sum(func(st *Stats) { st.Compared += uint64(len(again)) })
	for i, r := range again {
		if !bytes.Equal(out[i], want[i]) {
			return fmt.Errorf("%w: %s has another one for an MSM of %d %v %v points", ErrWrongAnswer,
				by, r.Count, r.Bases.src.Curve, r.Bases.src.Group)
		}
	}
	return nil
}

// chosen returns the MSMs of a batch that are to be compared, and their indices in it.
func (e *Engine) chosen(g *generation, reqs []Request) (again []Request, at []int) {
	every := uint64(e.cfg.CompareEvery)
	if every == 0 {
		return nil, nil
	}
	e.mu.Lock()
	fresh := g.fresh
	g.fresh = false
	e.mu.Unlock()
	for i, r := range reqs {
		if r.Count > 0 && (e.asked.Add(1)%every == 0 || fresh) {
			again, at = append(again, r), append(at, i)
		}
	}
	return again, at
}
