package randprog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// Program is a program with what it works on. In its steps the first space and
// the first bases have the id 1, the next ones 2 and so on.
type Program struct {
	backend.Element                   // of its spaces
	Of              []backend.Element // of each of them, where they differ
	Spaces          [][]byte          // what they hold before
	Bases           []backend.Bases
	Steps           []backend.Step
}

// Outcome is what a program answered and what its spaces then hold.
type Outcome struct{ Answers, Spaces [][]byte }

// of returns the element of space k, from zero.
func (p *Program) of(k int) backend.Element {
	if p.Of != nil {
		return p.Of[k]
	}
	return p.Element
}

// Run runs the program on a backend that has spaces of its elements.
func (p *Program) Run(ctx context.Context, b backend.Backend) (_ *Outcome, err error) {
	v, ok := backend.As[backend.Programs](b)
	if !ok {
		return nil, fmt.Errorf("%w: no programs", backend.ErrUnsupported)
	}
	var spaces []backend.SpaceID
	var bases []backend.BasesID
	defer func() {
		for _, id := range spaces {
			err = errors.Join(err, v.FreeSpace(ctx, id))
		}
		for _, id := range bases {
			err = errors.Join(err, b.FreeBases(ctx, id))
		}
	}()
	var before, after []backend.Step
	for k, elements := range p.Spaces {
		n := len(elements) / p.of(k).Bytes()
		id, err := v.NewSpace(ctx, p.of(k), n)
		if err != nil {
			return nil, err
		}
		spaces = append(spaces, id)
		all := backend.Range{Space: backend.SpaceID(k + 1), Count: n}
		before = append(before, backend.Write{Dst: all, Input: backend.Input{Bytes: elements}})
		after = append(after, backend.Read{Src: all})
	}
	for _, s := range p.Bases {
		id, err := b.LoadBases(ctx, s)
		if err != nil {
			return nil, err
		}
		bases = append(bases, id)
	}
	steps := slices.Clone(p.Steps)
	for i, s := range steps {
		if j, ok := s.(backend.Job); ok && j.SameAs > 0 {
			j.SameAs += len(before)
			steps[i] = j
		}
	}
	answers, err := v.Run(ctx, Renamed(slices.Concat(before, steps, after), spaces, bases))
	if err != nil {
		return nil, err
	}
	if want := len(before) + len(p.Steps) + len(after); len(answers) != want {
		return nil, fmt.Errorf("%d answers to %d steps", len(answers), want)
	}
	last := len(before) + len(p.Steps)
	return &Outcome{answers[len(before):last], answers[last:]}, nil
}

// Renamed returns steps with other ids: spaces[0] for the space 1 and so on, the same
// for bases. Ids that are not among them stay.
func Renamed(steps []backend.Step, spaces []backend.SpaceID, bases []backend.BasesID) []backend.Step {
	renamed := make([]backend.Step, len(steps))
	for i, s := range steps {
		renamed[i] = backend.Renamed(s, func(id backend.SpaceID) backend.SpaceID { return named(spaces, id) },
			func(id backend.BasesID) backend.BasesID { return named(bases, id) })
	}
	return renamed
}

func named[ID ~uint64](ids []ID, id ID) ID {
	if id > 0 && id <= ID(len(ids)) {
		return ids[id-1]
	}
	return id
}

// Differ says how the outcomes of the program on two backends differ, or nil.
func (p *Program) Differ(ctx context.Context, a, b backend.Backend) error {
	x, errA := p.Run(ctx, a)
	y, errB := p.Run(ctx, b)
	for _, e := range []struct {
		b   backend.Backend
		err error
	}{{a, errA}, {b, errB}} {
		if e.err != nil {
			return fmt.Errorf("%s: %w\n%s", e.b.Info().Name, e.err, p)
		}
	}
	size := p.Bytes()
	differ := func(what string, x, y []byte) error {
		if len(x) != len(y) {
			return fmt.Errorf("%s: %d and %d bytes\n%s", what, len(x), len(y), p)
		}
		for i := 0; i < len(x); i += size {
			if x, y := x[i:min(i+size, len(x))], y[i:min(i+size, len(y))]; !bytes.Equal(x, y) {
				return fmt.Errorf("%s, element %d\n%s %x\n%s %x\n%s", what, i/size, a.Info().Name, x, b.Info().Name, y, p)
			}
		}
		return nil
	}
	for i := range x.Answers {
		if err := differ(fmt.Sprintf("answer %d", i), x.Answers[i], y.Answers[i]); err != nil {
			return err
		}
	}
	for k := range x.Spaces {
		if err := differ(fmt.Sprintf("space %d", k+1), x.Spaces[k], y.Spaces[k]); err != nil {
			return err
		}
	}
	return nil
}

// String lists the steps, in a line each that is not too long.
func (p *Program) String() string {
	text := p.Element.String()
	for i, s := range p.Steps {
		text += fmt.Sprintf("\n  %d %.1000s", i, fmt.Sprintf("%T%+v", s, s))
	}
	return text
}
