package randprog

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// Honest reports whether the program's last step touches what it says and nothing else: on
// a backend, and where other memory holds something else, which is fill. What the step
// does not say it writes stays as it was; what it does not say it reads changes neither
// what it writes nor what it answers; its answer has the length that it says.
func (p *Program) Honest(ctx context.Context, b backend.Backend, fill func(e backend.Element, n int) []byte) error {
	step := p.Steps[len(p.Steps)-1]
	if j, ok := step.(backend.Job); ok && j.SameAs > 0 {
		return nil // it is nothing without the earlier one
	}
	before, err := p.without(1).Run(ctx, b)
	if err != nil {
		return fmt.Errorf("the steps before: %w", err)
	}
	alone := *p
	alone.Spaces, alone.Steps = before.Spaces, []backend.Step{step}
	named := func(writes bool) [][]bool { // by space, the elements that the step reads or writes
		all := make([][]bool, len(p.Spaces))
		for k := range all {
			all[k] = make([]bool, len(p.Spaces[k])/p.of(k).Bytes())
		}
		for _, a := range backend.Accesses(step) {
			if a.Space != 0 && a.Writes == writes {
				for i := range a.Count {
					all[a.Space-1][a.Offset+i] = true
				}
			}
		}
		return all
	}
	reads, writes := named(false), named(true)
	other := alone
	other.Spaces = make([][]byte, len(alone.Spaces))
	for k, space := range alone.Spaces {
		other.Spaces[k] = fill(p.of(k), len(space)/p.of(k).Bytes())
		for i, read := range reads[k] {
			if read {
				copy(p.at(k, other.Spaces[k], i), p.at(k, space, i))
			}
		}
	}
	x, err := alone.Run(ctx, b)
	if err != nil {
		return err
	}
	y, err := other.Run(ctx, b)
	if err != nil {
		return err
	}
	if want := backend.AnswerBytes(step, p.memory()); len(x.Answers[0]) != want {
		return fmt.Errorf("it answers %d bytes, and says %d", len(x.Answers[0]), want)
	}
	if !bytes.Equal(x.Answers[0], y.Answers[0]) {
		return fmt.Errorf("its answer depends on what it does not say it reads")
	}
	for k := range alone.Spaces {
		for i, written := range writes[k] {
			got, again := p.at(k, x.Spaces[k], i), p.at(k, y.Spaces[k], i)
			switch {
			case !written && !(bytes.Equal(got, p.at(k, alone.Spaces[k], i)) && bytes.Equal(again, p.at(k, other.Spaces[k], i))):
				return fmt.Errorf("space %d, element %d is changed, which it does not say it writes", k+1, i)
			case written && !bytes.Equal(got, again) && !(bytes.Equal(got, p.at(k, alone.Spaces[k], i)) &&
				bytes.Equal(again, p.at(k, other.Spaces[k], i))):
				// A Map may leave elements of its range as they were.
				return fmt.Errorf("space %d, element %d depends on what it does not say it reads", k+1, i)
			}
		}
	}
	return nil
}

// at returns element i of what space k holds.
func (p *Program) at(k int, space []byte, i int) []byte {
	size := p.of(k).Bytes()
	return space[i*size : (i+1)*size]
}

// without returns the program without its last n steps.
func (p *Program) without(n int) *Program {
	q := *p
	q.Steps = slices.Clone(p.Steps[:len(p.Steps)-n])
	return &q
}

// memory returns what the program's ids name.
func (p *Program) memory() backend.Memory {
	return backend.Memory{
		Bases: func(id backend.BasesID) (backend.Elements, bool) { return p.Bases[id-1].Elements(), true },
		Space: func(id backend.SpaceID) (backend.Elements, bool) {
			return backend.Elements{Element: p.of(int(id - 1)), Count: len(p.Spaces[id-1]) / p.of(int(id-1)).Bytes()}, true
		},
	}
}
