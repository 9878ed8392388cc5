// Package programs runs the programs over points that make keys: each makes some of the
// points, two are on their way at a time, and whoever waits is told how far they are.
package programs

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
)

// atATime is how many programs run at the same time: one is computed while the answer of
// the other is read.
const atATime = 2

// Program makes some points.
type Program struct {
	Points int
	Run    func(context.Context) error
}

// Progress counts points.
type Progress struct {
	mu       sync.Mutex
	made, of int
	tell     func(made, of int)
}

// NewProgress returns a count of no points yet. tell hears of each change, without calls that
// overlap; it may be nil.
func NewProgress(of int, tell func(made, of int)) *Progress {
	return &Progress{of: of, tell: tell}
}

// Add counts points.
func (p *Progress) Add(points int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made += points; p.tell != nil {
		p.tell(p.made, p.of)
	}
}

// Run runs programs and counts their points. The first error ends the others.
func Run(ctx context.Context, progress *Progress, all []Program) error {
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(atATime)
	for _, p := range all {
		running.Go(func() error {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			if err := p.Run(ctx); err != nil {
				return err
			}
			progress.Add(p.Points)
			return nil
		})
	}
	return running.Wait()
}

// Scaled returns programs of most points each at most. They set dst, which must not overlap
// points, to the products of points and scalars; one scalar is for all points.
func Scaled[P, S any](e *engine.Engine, g *msm.Group[P, S], dst, points []P, scalars []S, most int) (all []Program) {
	for lo := 0; lo < len(points); lo += most {
		hi := min(lo+most, len(points))
		by := scalars
		if len(scalars) > 1 {
			by = scalars[lo:hi]
		}
		all = append(all, each(e, g, dst[lo:hi], [][]P{points[lo:hi]}, by, func(at []backend.Range, by backend.Range) backend.Step {
			return backend.MultiplyPoints{Dst: at[0], Src: at[0], Scalars: by}
		}))
	}
	return all
}

// Differences returns programs, as Scaled does, that set dst to the differences of points.
func Differences[P, S any](e *engine.Engine, g *msm.Group[P, S], dst, plus, minus []P, most int) (all []Program) {
	for lo := 0; lo < len(dst); lo += most {
		hi := min(lo+most, len(dst))
		all = append(all, each(e, g, dst[lo:hi], [][]P{plus[lo:hi], minus[lo:hi]}, nil, func(at []backend.Range, _ backend.Range) backend.Step {
			return backend.AddPoints{Dst: at[0], Plus: at[:1], Minus: at[1:]}
		}))
	}
	return all
}

// each returns a program that sets dst to the first of some vectors after a step. The step
// is given where the vectors and the scalars are.
func each[P, S any](e *engine.Engine, g *msm.Group[P, S], dst []P, vectors [][]P, scalars []S,
	step func([]backend.Range, backend.Range) backend.Step) Program {
	element := backend.PointOf(g.Curve(), g.Group())
	space := engine.Space{Elements: backend.Elements{Element: element, Count: len(dst) * len(vectors)}}
	return Program{len(dst), func(ctx context.Context) error {
		_, err := e.Repeat(ctx, space, func(ctx context.Context, s *engine.Session) error {
			var steps []backend.Step
			var at []backend.Range
			for i, v := range vectors {
				at = append(at, backend.Range{Space: s.Space(), Offset: i * len(dst), Count: len(dst)})
				steps = append(steps, backend.Write{Dst: at[i], Input: backend.Input{Bytes: layout.Bytes(v)}})
			}
			var by backend.Range
			if len(scalars) > 0 {
				factors, err := s.BesideOf(ctx, backend.Elements{Element: backend.ScalarOf(g.Curve()), Count: len(scalars)})
				if err != nil {
					return err
				}
				defer factors.Close()
				by = backend.Range{Space: factors.Space(), Count: len(scalars)}
				steps = append(steps, backend.Write{Dst: by, Input: backend.Input{Bytes: layout.Bytes(scalars)}})
			}
			out, err := s.Run(ctx, slices.Concat(steps, []backend.Step{step(at, by), backend.Read{Src: at[0]}}))
			if err != nil {
				return err
			}
			copy(layout.Bytes(dst), out[len(out)-1])
			return nil
		})
		return err
	}}
}
