package cuda

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/backend/cuda/msm"
	"github.com/pippin-zk/pippin/backend/cuda/vector"
)

// space is a space of vectors, on one card.
type space struct {
	*vector.Space
	card *card
}

// NewSpace takes memory for elements on the card that has the vectors already, or
// else on the one that has the least to do.
func (b *Backend) NewSpace(ctx context.Context, curve backend.Curve, count int) (_ backend.SpaceID, err error) {
	end, err := b.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	defer backendutil.Caught(&err)
	on, err := b.home()
	if err != nil {
		return 0, err
	}
	s, err := on.vectors.NewSpace(ctx, curve, count)
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := on.Driver().Err(); err != nil {
		return 0, errors.Join(err, s.Free())
	}
	kept := &space{s, on}
	b.spaces[kept] = struct{}{}
	return b.kept.AddSpace(s.Loaded, kept), nil
}

// home is the card for a new space: programs may use all spaces together.
func (b *Backend) home() (*card, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.spaces {
		return s.card, nil
	}
	seats, _ := b.live()
	if b.cause != nil {
		return nil, b.cause
	}
	return slices.MinFunc(seats, func(a, b *seat) int { return cmp.Compare(a.load, b.load) }).card, nil
}

// FreeSpace wipes a space once the programs that use it have ended.
func (b *Backend) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	end, err := b.kept.Begin()
	if err != nil {
		return err
	}
	defer end()
	return b.kept.FreeSpace(ctx, id, func(s *space) error { return drop(b, b.spaces, s, s.Free) })
}

// Run runs a program on the card of its spaces. Programs and MSMs take turns there.
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
	var on *card
	for _, s := range used.Spaces {
		on = s.Kept.card
	}
	if on == nil { // it has no steps
		return make([][]byte, len(steps)), backend.Ended(ctx)
	}
	here := make(map[backend.BasesID]held)
	b.mu.Lock()
	for id, r := range used.Bases {
		here[id] = r.Kept.held[on]
	}
	b.mu.Unlock()
	steps, elsewhere := commits(steps, func(id backend.BasesID) span { return here[id].span })
	answers, err := on.vectors.Run(ctx, steps, vector.Used{
		Space: func(id backend.SpaceID) *vector.Space { return used.Spaces[id].Kept.Space },
		Bases: func(id backend.BasesID) *msm.Bases { return here[id].Bases },
	})
	if err != nil {
		if on.Driver().Err() != nil {
			b.lose(on)
		}
		return nil, err
	}
	return answers, b.commit(ctx, elsewhere, answers, func(id backend.BasesID) *bases { return used.Bases[id].Kept })
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
