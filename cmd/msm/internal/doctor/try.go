package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

// trialPoints is enough for buckets of many points and of none.
const trialPoints = 200

// seed chooses the points and scalars of trials, which are no secrets.
const seed = 1

// ErrWrong is an answer that is not the right one.
var ErrWrong = errors.New("wrong answer")

// Try opens a backend, has it compute an MSM of each of the groups that it has,
// and closes it. What fails is in the trial.
func Try(ctx context.Context, open func(context.Context, string) (backend.Backend, error), name string, groups []backend.CurveGroup) Trial {
	t := Trial{Backend: name}
	b, err := open(ctx, name)
	if err != nil {
		t.Problem = err
		return t
	}
	t.Info = b.Info()
	for _, g := range groups {
		if t.Info.Can.HasMSM(g.Curve, g.Group) {
			t.Answers = append(t.Answers, answer(ctx, b, g))
		}
	}
	t.Retired = retired(ctx, b)
	if err := b.Close(); err != nil {
		t.Problem = fmt.Errorf("closing: %w", err)
	}
	return t
}

// retired returns why a backend does not use some of its devices, after they were tested.
func retired(ctx context.Context, b backend.Backend) (why []string) {
	if t, ok := backend.As[backend.Tester](b); ok {
		_ = t.Test(ctx) // what keeps it from testing shows in its answers
	}
	if m, ok := backend.As[backend.Metered](b); ok {
		for _, d := range m.Usage().Devices {
			why = append(why, d.Retired)
		}
	}
	return why
}

func answer(ctx context.Context, b backend.Backend, g backend.CurveGroup) Answer {
	a := Answer{Group: g, Points: trialPoints}
	a.Problem = a.compute(ctx, b)
	return a
}

// compute computes one MSM whose answer is known from discrete logarithms.
func (a *Answer) compute(ctx context.Context, b backend.Backend) (err error) {
	g := a.Group
	points, err := fixtures.New(fixtures.Key{Curve: g.Curve, Group: g.Group, Set: fixtures.Infinities, Seed: seed})
	if err != nil {
		return err
	}
	bases, err := points.Bytes(trialPoints)
	if err != nil {
		return err
	}
	scalars, err := fixtures.Scalars(g.Curve, fixtures.Witness, seed, trialPoints)
	if err != nil {
		return err
	}
	want, err := points.Expected(0, scalars)
	if err != nil {
		return err
	}
	id, err := b.LoadBases(ctx, backend.Bases{Curve: g.Curve, Group: g.Group, Count: trialPoints, Bytes: bases})
	if err != nil {
		return fmt.Errorf("loading bases: %w", err)
	}
	defer func() { err = errors.Join(err, b.FreeBases(ctx, id)) }()
	begin := time.Now()
	got, err := b.MSM(ctx, []backend.Job{{Bases: id, Count: trialPoints, Input: backend.Input{Bytes: scalars}}})
	if a.Time = time.Since(begin); err != nil {
		return err
	}
	if len(got) != 1 || !bytes.Equal(got[0], want) {
		return ErrWrong
	}
	return nil
}
