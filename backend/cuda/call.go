package cuda

import (
	"context"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/internal/resident"
)

// call is a batch under way.
type call struct {
	*Backend
	jobs   []backend.Job
	bases  []*bases
	gates  []*gate    // by job, for those with scalars of their own
	points [][][]byte // by job: the sums of its parts
}

// compute computes valid jobs. Nobody may free their bases meanwhile.
func (b *Backend) compute(ctx context.Context, jobs []backend.Job, on []*bases) ([][]byte, error) {
	c := &call{Backend: b, jobs: jobs, bases: on, gates: make([]*gate, len(jobs)), points: make([][][]byte, len(jobs))}
	var left []jobPart
	for i := range jobs {
		c.gates[i] = &gate{ready: jobs[i].Ready}
		left = append(left, jobPart{i, span{jobs[i].Offset, jobs[i].Offset + jobs[i].Count}})
	}
	for len(left) > 0 {
		todo, err := c.assign(left)
		if err != nil {
			return nil, err
		}
		if left, err = c.run(ctx, todo); err != nil {
			return nil, err
		}
	}
	answers := make([][]byte, len(jobs))
	for i := range jobs {
		var err error
		if answers[i], err = msm.Sum(on[i].Curve, on[i].Group, c.points[i]); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// jobPart is a part of a job: a range of its bases.
type jobPart struct {
	job int
	span
}

// cardJobs is what one card computes for a call.
type cardJobs struct {
	*seat
	card  *card
	parts []jobPart
	held  []held // by part
	cost  float64
}

// assign assigns parts of jobs to cards, and adds their cost to what is queued there.
func (c *call) assign(left []jobPart) ([]*cardJobs, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil {
		return nil, c.cause
	}
	seats, on := c.liveLocked()
	known := cards{rules: c.options.tests.rules, busy: c.inFlight > 1}
	for _, s := range seats {
		known.queued, known.speed = append(known.queued, s.queued), append(known.speed, s.speed)
	}
	waiting := make([]pending, len(left))
	for i, w := range left {
		of := c.bases[w.job]
		waiting[i] = pending{curve: of.Curve, group: of.Group, bases: w.span, has: make([]span, len(on))}
		for k, card := range on {
			if h, ok := of.held[card]; ok {
				waiting[i].has[k] = h.span
			}
		}
	}
	parts, missing := spread(waiting, known)
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: no GPU has the bases of job %d", backend.ErrInternal, left[missing[0]].job)
	}
	todo := make([]*cardJobs, len(on))
	for k := range on {
		todo[k] = &cardJobs{seat: seats[k], card: on[k]}
	}
	for _, p := range parts {
		l, w := todo[p.card], jobPart{left[p.of].job, p.span}
		l.parts, l.held = append(l.parts, w), append(l.held, c.bases[w.job].held[l.card])
		l.cost += p.cost
		l.seat.queued += p.cost
	}
	return todo, nil
}

// run makes every card compute its parts. It returns the parts whose card was lost.
func (c *call) run(ctx context.Context, todo []*cardJobs) (again []jobPart, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	compute := func(l *cardJobs) {
		l.threads.run(func() {
			points, failed := c.on(ctx, l)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case failed == nil && l.card.wrong.Load() == nil:
				for i, w := range l.parts {
					c.points[w.job] = append(c.points[w.job], points[i])
				}
			case l.card.err() != nil:
				again = append(again, l.parts...)
			case err == nil:
				err = failed
				cancel()
			}
		})
	}
	var group resident.Group
	for _, l := range todo {
		if len(l.parts) > 0 {
			group.Go(func() { compute(l) })
		}
	}
	group.Wait()
	return again, err
}

// on computes the parts of one card.
func (c *call) on(ctx context.Context, l *cardJobs) (points [][]byte, err error) {
	defer func() {
		if err != nil && l.card.err() != nil {
			c.lose(l.card)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		l.seat.queued -= l.cost
		if err == nil {
			l.tries = 0
		}
	}()
	defer resident.Caught(&err)
	// Jobs that share scalars share them on the card too.
	type scalars struct {
		job int
		span
	}
	sources := make(map[scalars]*backend.Job)
	jobs := make([]msm.Job, len(l.parts))
	for i, w := range l.parts {
		j := &c.jobs[w.job]
		from := scalars{w.job, span{w.from - j.Offset, w.to - j.Offset}}
		if j.SameAs > 0 {
			from.job = j.SameAs - 1
		}
		part := &backend.Job{Offset: w.from - l.held[i].from, Count: w.count()}
		if sources[from] == nil {
			c.scalars(part, from.job, from.span)
			sources[from] = part
		}
		jobs[i] = msm.Job{Job: part, Source: sources[from], Bases: l.held[i].Bases, Number: w.job, First: from.from}
	}
	return l.card.compute(ctx, jobs)
}

// scalars gives a part the range of its job's scalars that it uses.
func (c *call) scalars(part *backend.Job, job int, s span) {
	of := &c.jobs[job]
	size := c.bases[job].Curve.ScalarBytes()
	part.Bytes, part.Check = of.Bytes[s.from*size:s.to*size], of.Check
	if of.Ready != nil {
		part.Ready = func(ctx context.Context, n int) error { return c.gates[job].wait(ctx, s.from+n) }
	}
}

// gate shares one job's Ready between cards. One card calls it at a time, for at most
// gateStep scalars, so a card that needs the first scalars never waits for the last.
type gate struct {
	ready func(ctx context.Context, n int) error

	mu    sync.Mutex
	there int
	err   error
	asked chan struct{} // closed when the card that asks has an answer; nil when none asks
}

// gateStep is how many scalars are asked for at a time.
const gateStep = 1 << 15

// wait waits for the first n scalars.
func (g *gate) wait(ctx context.Context, n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.there < n && g.err == nil {
		if asked := g.asked; asked != nil {
			g.mu.Unlock()
			select {
			case <-asked:
			case <-ctx.Done():
			}
			g.mu.Lock()
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			continue
		}
		g.asked = make(chan struct{})
		next := min(n, g.there+gateStep)
		g.mu.Unlock()
		err := g.ready(ctx, next)
		g.mu.Lock()
		if err != nil {
			g.err = err
		} else {
			g.there = next
		}
		close(g.asked)
		g.asked = nil
	}
	return g.err
}
