package cuda

import (
	"context"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/backend/cuda/internal/vector"
)

// Run runs a program on one card, to which it brings the spaces that the program uses.
// Programs and MSMs take turns there.
func (b *Backend) Run(ctx context.Context, steps []backend.Step) (_ [][]byte, err error) {
	end, err := b.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	defer backendutil.Caught(&err)
	used, err := b.kept.UseSteps(steps)
	if err != nil {
		return nil, err
	}
	defer b.kept.EndSteps(used)
	if len(used.Spaces) == 0 { // it has no steps
		return make([][]byte, len(steps)), backend.Ended(ctx)
	}
	steps = b.repeatable(steps)
	all := uses(steps, used.Spaces)
	for {
		answers, lost, err := b.runOnce(ctx, steps, all, used)
		if !lost || b.err() != nil {
			return answers, err
		}
		// Others have all that it uses, as it was before.
	}
}

// repeatable is steps whose Ready is asked for no less than before when they are run
// again, on another card.
func (b *Backend) repeatable(steps []backend.Step) []backend.Step {
	if len(b.seats) == 1 {
		return steps
	}
	steps = slices.Clone(steps)
	for i, s := range steps {
		if w, ok := s.(backend.Write); ok && w.Ready != nil {
			w.Ready = (&gate{ready: w.Ready}).wait
			steps[i] = w
		}
	}
	return steps
}

// runOnce runs a program on one card, and tells whether that was lost.
func (b *Backend) runOnce(ctx context.Context, steps []backend.Step, all []use, used *backendutil.Used[*bases, *space]) (_ [][]byte, lost bool, err error) {
	on, copies, end, err := b.gather(ctx, all)
	if err != nil {
		return nil, false, err
	}
	here := make(map[backend.BasesID]held)
	b.mu.Lock()
	for id, r := range used.Bases {
		here[id] = r.Kept.held[on]
	}
	b.mu.Unlock()
	steps, elsewhere := commits(steps, func(id backend.BasesID) span { return here[id].span })
	answers, err := b.runOn(ctx, on, steps, vector.Used{
		Space: func(id backend.SpaceID) *vector.Space { return copies[id].Space },
		Bases: func(id backend.BasesID) *msm.Bases { return here[id].Bases },
	})
	lost = err != nil && on.Driver().Err() != nil
	end(lost)
	if lost {
		b.lose(on)
	}
	if err != nil {
		return nil, lost, err
	}
	return answers, false, b.commit(ctx, elsewhere, answers, func(id backend.BasesID) *bases { return used.Bases[id].Kept })
}

// runOn runs a program on a card. What panics there is an error, so that its end is
// noted.
func (b *Backend) runOn(ctx context.Context, on *card, steps []backend.Step, used vector.Used) (_ [][]byte, err error) {
	defer backendutil.Caught(&err)
	return on.vectors.Run(ctx, steps, used)
}

// commits is a program for a card that has the bases that here says: a commitment
// to others reads its scalars instead, and is in the second result, by its step.
func commits(steps []backend.Step, here func(backend.BasesID) span) ([]backend.Step, map[int]backend.Commit) {
	var elsewhere map[int]backend.Commit
	cloned := false
	for i, s := range steps {
		c, ok := s.(backend.Commit)
		if !ok {
			continue
		}
		has := here(c.Bases)
		covered := has.covers(span{c.Offset, c.Offset + c.Src.Count})
		if covered && has.from == 0 {
			continue
		}
		if !cloned {
			steps, cloned = slices.Clone(steps), true
		}
		if covered {
			c.Offset -= has.from
			steps[i] = c
			continue
		}
		if elsewhere == nil {
			elsewhere = make(map[int]backend.Commit)
		}
		elsewhere[i], steps[i] = c, backend.Read{Src: c.Src}
	}
	return steps, elsewhere
}

// commit computes commitments to scalars that were read into the answers, and
// answers them there.
func (b *Backend) commit(ctx context.Context, elsewhere map[int]backend.Commit, answers [][]byte, of func(backend.BasesID) *bases) error {
	var jobs []backend.Job
	var on []*bases
	var at []int
	for i, c := range elsewhere {
		defer clear(answers[i])
		jobs = append(jobs, backend.Job{Offset: c.Offset, Count: c.Src.Count, Scalars: answers[i]})
		on, at = append(on, of(c.Bases)), append(at, i)
	}
	if len(jobs) == 0 {
		return nil
	}
	points, err := b.compute(ctx, jobs, on)
	if err != nil {
		return err
	}
	for k, i := range at {
		answers[i] = points[k]
	}
	return nil
}
