package cuda

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/backend/cuda/internal/vector"
	"github.com/pippin-zk/pippin/internal/resident"
)

// MSM implements backend.Backend.
func (b *Backend) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return b.Run(ctx, backend.Steps(jobs))
}

// Run runs a program. Jobs that name no space are spread over the cards, as place.go decides; on a
// card, calls take turns in the order in which they come. Any other program runs on one card, to
// which Run brings the spaces that it uses. What was on a card that is lost is computed again on
// the others.
func (b *Backend) Run(ctx context.Context, steps []backend.Step) (_ [][]byte, err error) {
	end, err := b.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	defer resident.Caught(&err)
	used, err := b.kept.Use(steps)
	if err != nil {
		return nil, err
	}
	defer b.kept.End(used)
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	if jobs, alone := backend.Jobs(steps); alone {
		on := make([]*bases, len(jobs))
		for i, j := range jobs {
			on[i] = used.Bases[j.Bases].Kept
		}
		return b.compute(ctx, jobs, on)
	}
	steps = b.repeatable(steps)
	if steps, err = b.given(ctx, steps, used); err != nil {
		return nil, err
	}
	answers := make([][]byte, len(steps))
	for steps != nil {
		some, left, lost, err := b.runOnce(ctx, steps, used)
		switch {
		case lost && b.err() == nil:
			continue // other cards have everything that it uses, as it was before
		case lost:
			return nil, cmp.Or(err, b.err())
		case err != nil:
			return nil, err
		}
		for i, a := range some {
			if a != nil {
				answers[i] = a
			}
		}
		steps = left
	}
	return answers, nil
}

// given replaces jobs with scalars from the caller that write their point to a space. It computes
// them now and turns each into a write of its point.
func (b *Backend) given(ctx context.Context, steps []backend.Step, used *resident.Used[*bases, *space]) ([]backend.Step, error) {
	if !slices.ContainsFunc(steps, func(s backend.Step) bool { j, ok := s.(backend.Job); return ok && j.Dst.Space != 0 }) {
		return steps, nil
	}
	steps = slices.Clone(steps)
	var jobs []backend.Job
	var on []*bases
	var at []int
	for i, s := range steps {
		j, ok := s.(backend.Job)
		if !ok || j.Src.Space != 0 {
			continue
		}
		// They become a batch in which SameAs would mean other jobs, so each gets its scalars.
		if j.SameAs > 0 {
			j.Input, j.SameAs = steps[j.SameAs-1].(backend.Job).Input, 0
		} else if j.Ready != nil {
			j.Ready = (&gate{ready: j.Ready}).wait
		}
		steps[i] = j
		if j.Dst.Space != 0 {
			at, on = append(at, i), append(on, used.Bases[j.Bases].Kept)
			j.Dst = backend.Range{}
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 {
		return steps, nil
	}
	points, err := b.compute(ctx, jobs, on)
	if err != nil {
		return nil, err
	}
	// Later jobs with SameAs have their scalars by now.
	for k, i := range at {
		steps[i] = backend.Write{Dst: steps[i].(backend.Job).Dst, Input: backend.Input{Bytes: points[k]}}
	}
	return steps, nil
}

// repeatable returns steps that can run again on another card: Ready is never asked for fewer
// elements than before.
func (b *Backend) repeatable(steps []backend.Step) []backend.Step {
	if len(b.seats) == 1 {
		return steps
	}
	steps = slices.Clone(steps)
	for i, s := range steps {
		steps[i] = backend.WithInput(s, func(in *backend.Input, _ int) {
			if in.Ready != nil {
				in.Ready = (&gate{ready: in.Ready}).wait
			}
		})
	}
	return steps
}

// runOnce runs a program on one card and reports whether the card was lost, or retired for a wrong answer. If a job is computed
// elsewhere and writes its point to a space, the program runs only up to that job. Then left is
// what is still to run, with nil for the steps that are done.
func (b *Backend) runOnce(ctx context.Context, steps []backend.Step, used *resident.Used[*bases, *space]) (_ [][]byte,
	left []backend.Step, lost bool, err error) {
	on, copies, end, err := b.gather(ctx, uses(steps, used.Spaces))
	if err != nil {
		return nil, nil, false, err
	}
	here := make(map[backend.BasesID]held)
	b.mu.Lock()
	for id, r := range used.Bases {
		here[id] = r.Kept.held[on]
	}
	b.mu.Unlock()
	all := steps
	steps, elsewhere := commits(steps, func(id backend.BasesID) span { return here[id].span })
	last := -1
	for _, i := range slices.Sorted(maps.Keys(elsewhere)) {
		switch {
		case last >= 0:
			delete(elsewhere, i)
		case elsewhere[i].Dst.Space != 0:
			last = i
			clear(steps[i+1:]) // commits has cloned them
		}
	}
	answers, err := b.runOn(ctx, on, steps, vector.Used{
		Space: func(id backend.SpaceID) *vector.Space { return copies[id].Space },
		Bases: func(id backend.BasesID) *msm.Bases { return here[id].Bases },
	})
	lost = err != nil && on.err() != nil || on.wrong.Load() != nil
	end(lost)
	if lost {
		b.lose(on)
		return nil, nil, true, err
	}
	if err != nil {
		return nil, nil, false, err
	}
	if err := b.commit(ctx, elsewhere, answers, func(id backend.BasesID) *bases { return used.Bases[id].Kept }); err != nil {
		return nil, nil, false, err
	}
	if last >= 0 {
		left = slices.Clone(all)
		clear(left[:last])
		left[last] = backend.Write{Dst: elsewhere[last].Dst, Input: backend.Input{Bytes: answers[last]}}
		answers[last] = nil
	}
	return answers, left, false, nil
}

// runOn runs a program on a card. It turns a panic into an error, so that the program's end is
// recorded.
func (b *Backend) runOn(ctx context.Context, on *card, steps []backend.Step, used vector.Used) (_ [][]byte, err error) {
	defer resident.Caught(&err)
	return on.vectors.Run(ctx, steps, used)
}

// commits returns a program for a card with the bases that here gives. It also returns, by step,
// the jobs that are computed elsewhere. If their scalars are in a space, the program reads them
// instead.
func commits(steps []backend.Step, here func(backend.BasesID) span) ([]backend.Step, map[int]backend.Job) {
	var elsewhere map[int]backend.Job
	cloned := false
	for i, s := range steps {
		j, ok := s.(backend.Job)
		if !ok {
			continue
		}
		has := here(j.Bases)
		covered := j.Src.Space != 0 && has.covers(span{j.Offset, j.Offset + j.Count})
		if covered && has.from == 0 {
			continue
		}
		if !cloned {
			steps, cloned = slices.Clone(steps), true
		}
		if covered {
			j.Offset -= has.from
			steps[i] = j
			continue
		}
		if elsewhere == nil {
			elsewhere = make(map[int]backend.Job)
		}
		if elsewhere[i] = j; j.Src.Space != 0 {
			steps[i] = backend.Read{Src: j.Src}
		}
	}
	return steps, elsewhere
}

// commit computes the jobs that are computed elsewhere and puts their points among the answers.
// Their scalars are inputs, or were read into the answers.
func (b *Backend) commit(ctx context.Context, elsewhere map[int]backend.Job, answers [][]byte, of func(backend.BasesID) *bases) error {
	if len(elsewhere) == 0 {
		return nil
	}
	var jobs []backend.Job
	var on []*bases
	steps := slices.Sorted(maps.Keys(elsewhere)) // sorted, so that a job comes before those that share its scalars
	for _, i := range steps {
		j := elsewhere[i]
		switch {
		case j.Src.Space != 0:
			defer clear(answers[i])
			j.Src, j.Dst, j.Bytes = backend.Range{}, backend.Range{}, answers[i]
		case j.SameAs > 0:
			at, _ := slices.BinarySearch(steps, j.SameAs-1)
			j.SameAs = at + 1
		}
		jobs, on = append(jobs, j), append(on, of(j.Bases))
	}
	points, err := b.compute(ctx, jobs, on)
	if err != nil {
		return err
	}
	for k, i := range steps {
		answers[i] = points[k]
	}
	return nil
}
