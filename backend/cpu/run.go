package cpu

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/resident"
)

// arithmetic computes steps over one scalar field. Vectors come as memory of whole elements,
// aligned to 8 bytes. The steps are those that backend.Check has accepted.
type arithmetic interface {
	// gather returns an index that is not below the number of src's elements, or -1.
	gather(ctx context.Context, dst, src []byte, index []uint32) (bad int, err error)
	// sparse returns the least entry that is wrong, or -1. dst is zero.
	sparse(ctx context.Context, dst, src []byte, m *entries) (bad int, err error)
	transform(ctx context.Context, c *local.Call, dst, src []byte, t *backend.Transform) error
	mapped(ctx context.Context, m *backend.Map, dst []byte, args [][]byte) error
	powers(ctx context.Context, dst, first, ratio []byte) error
	invert(ctx context.Context, dst, src []byte) error
	products(ctx context.Context, dst, src []byte, exclusive bool) (all []byte, err error)
	evaluate(ctx context.Context, src [][]byte, o backend.Order, point []byte) (values []byte, err error)
	divide(ctx context.Context, dst, src, point []byte) (remainder []byte, err error)
}

// program is one call of Run.
type program struct {
	*local.Program[*space]
	*inProcess
}

// MSM implements backend.Backend.
func (l *inProcess) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return l.Run(ctx, backend.Steps(jobs))
}

func (l *inProcess) Run(ctx context.Context, steps []backend.Step) (_ [][]byte, err error) {
	end, err := l.Residents.Begin()
	if err != nil {
		return nil, err
	}
	used, err := l.Residents.Use(steps)
	if err != nil {
		end()
		return nil, err
	}
	p := &program{inProcess: l, Program: &local.Program[*space]{
		Backend: l.Backend, Call: local.NewCall(ctx), Used: used, Steps: steps, Answers: make([][]byte, len(steps)),
	}}
	p.At = p.at
	l.Meter.Begin(0)
	defer func() {
		ended := make(chan struct{})
		if p.GivenUp.Load() {
			for _, s := range used.Spaces {
				s.Kept.leave(ended)
			}
		}
		p.Ended(func() { close(ended); l.Meter.End(); l.Residents.End(used); end() })
	}()
	defer resident.Caught(&err)
	for _, s := range used.Spaces {
		if err := s.Kept.settle(ctx); err != nil {
			return nil, err
		}
	}
	var answers int64
	for _, s := range steps {
		answers += int64(backend.AnswerBytes(s, used.Memory()))
	}
	if err := l.room.take(answers); err != nil {
		return nil, err
	}
	defer l.room.give(answers)
	return p.run(ctx)
}

func (p *program) run(ctx context.Context) ([][]byte, error) {
	for i := 0; i < len(p.Steps); {
		n, err := p.Jobs(ctx, i)
		if err != nil {
			return nil, err
		}
		if i += n; n > 0 {
			continue
		}
		if p.Answers[i], err = p.step(ctx, p.Steps[i]); err != nil {
			return nil, backend.InStep(i, p.Steps[i], err)
		}
		i++
	}
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	return p.Answers, nil
}

// at returns the memory of a range.
func (p *program) at(r backend.Range) []byte { return p.Used.Spaces[r.Space].Kept.at(r) }

// all returns the memory of some ranges.
func (p *program) all(ranges []backend.Range) [][]byte {
	at := make([][]byte, len(ranges))
	for i, r := range ranges {
		at[i] = p.at(r)
	}
	return at
}

// over returns the arithmetic of the group whose points are in a range.
func (p *program) over(r backend.Range) group { return p.points(p.Used.Spaces[r.Space].Element) }

// of returns the arithmetic over the field of a range.
func (p *program) of(r backend.Range) arithmetic { return p.field(p.Used.Spaces[r.Space].Curve) }

// step runs one step that is not a Job.
func (p *program) step(ctx context.Context, s backend.Step) ([]byte, error) {
	if err := backend.Yield(ctx); err != nil {
		return nil, err
	}
	switch s := s.(type) {
	case backend.Write:
		return nil, p.write(ctx, &s)
	case backend.WriteIndices:
		dst := p.at(s.Dst)
		clear(dst[copy(dst, layout.Bytes(s.Indices)):])
		return nil, nil
	case backend.Read:
		if s.Encoding != backend.AsInSpaces {
			return p.encoded(ctx, &s)
		}
		src := p.at(s.Src)
		answer := make([]byte, len(src))
		local.Parts(len(src), func(lo, hi int) { copy(answer[lo:hi], src[lo:hi]) })
		return answer, nil
	case backend.Compute:
		return nil, p.compute(ctx, &s)
	case backend.Gather:
		return nil, p.gather(ctx, &s)
	case backend.SparseProduct:
		return nil, p.sparse(ctx, &s)
	case backend.MultiplyPoints:
		var scalars []byte
		if s.Scalars != (backend.Range{}) {
			scalars = p.at(s.Scalars)
		}
		return nil, p.over(s.Dst).multiply(ctx, p.Call, p.at(s.Dst), p.at(s.Src), scalars, s.Terms)
	case backend.AddPoints:
		return nil, p.over(s.Dst).add(ctx, p.at(s.Dst), p.all(s.Plus), p.all(s.Minus))
	case backend.CheckPoints:
		bad, first, err := p.over(s.Src).check(ctx, p.at(s.Src), s.Subgroup)
		return backend.CheckedAnswer(bad, first), err
	case backend.Transform:
		if p.Used.Spaces[s.Dst.Space].Kind == backend.Points {
			return nil, p.over(s.Dst).transform(ctx, p.Call, p.at(s.Dst), p.at(s.Src), &s)
		}
		return nil, p.of(s.Dst).transform(ctx, p.Call, p.at(s.Dst), p.at(s.Src), &s)
	case backend.Map:
		args := make([][]byte, len(s.Args))
		for i, a := range s.Args {
			args[i] = p.at(a.Range)
		}
		return nil, p.of(s.Dst.Range).mapped(ctx, &s, p.at(s.Dst.Range), args)
	case backend.Powers:
		return nil, p.of(s.Dst).powers(ctx, p.at(s.Dst), s.First, s.Ratio)
	case backend.Invert:
		return nil, p.of(s.Dst).invert(ctx, p.at(s.Dst), p.at(s.Src))
	case backend.Products:
		return p.of(s.Dst).products(ctx, p.at(s.Dst), p.at(s.Src), s.Exclusive)
	case backend.Evaluate:
		return p.of(s.Src[0]).evaluate(ctx, p.all(s.Src), s.Order, s.Point)
	case backend.Divide:
		return p.of(s.Dst).divide(ctx, p.at(s.Dst), p.at(s.Src), s.Point)
	}
	return nil, fmt.Errorf("%w: a step that was checked is not known", backend.ErrInternal)
}

// write copies the caller's elements as they become ready.
func (p *program) write(ctx context.Context, s *backend.Write) error {
	const piece = 1 << 18 // elements
	of := p.Used.Spaces[s.Dst.Space].Element
	dst, size, given := p.at(s.Dst), of.Bytes(), s.Encoding.Bytes(of)
	for lo := 0; lo < s.Dst.Count; lo += piece {
		hi := min(lo+piece, s.Dst.Count)
		if err := s.Wait(ctx, hi); err != nil {
			return err
		}
		to, from := dst[lo*size:hi*size], s.Bytes[lo*given:hi*given]
		if s.Encoding != backend.AsInSpaces {
			i, err := p.over(s.Dst).decode(ctx, to, from, s.Encoding)
			if err != nil {
				return err
			}
			if i >= 0 {
				return fmt.Errorf("%w: element %d is no encoding of one of the %v", backend.ErrInvalidInput, lo+i, of)
			}
			continue
		}
		local.Parts(len(to), func(lo, hi int) { copy(to[lo:hi], from[lo:hi]) })
		if !s.Check {
			continue
		}
		switch of.Kind {
		case backend.Scalars:
			if i := local.FirstNotBelow(to, layout.ScalarField(of.Curve)); i >= 0 {
				return fmt.Errorf("%w: element %d is not below the order of %v", backend.ErrInvalidInput, lo+i, of.Curve)
			}
		case backend.Points:
			if i := local.FirstNotBelow(to, layout.BaseField(of.Curve)); i >= 0 {
				return fmt.Errorf("%w: element %d has a coordinate that is not below q of %v", backend.ErrInvalidInput,
					lo+i*of.Curve.FieldBytes()/size, of.Curve)
			}
		}
	}
	return nil
}

// encoded answers points in an encoding.
func (p *program) encoded(ctx context.Context, s *backend.Read) ([]byte, error) {
	answer := make([]byte, s.Src.Count*s.Encoding.Bytes(p.Used.Spaces[s.Src.Space].Element))
	return answer, p.over(s.Src).encode(ctx, answer, p.at(s.Src), s.Encoding)
}

func (p *program) gather(ctx context.Context, s *backend.Gather) error {
	index, err := layout.View[uint32](p.at(s.Index))
	if err != nil {
		return err
	}
	bad, err := p.of(s.Dst).gather(ctx, p.at(s.Dst), p.at(s.Src), index[:s.Dst.Count])
	if err == nil && bad >= 0 {
		err = fmt.Errorf("%w: index %d of %d elements", backend.ErrInvalidInput, bad, s.Src.Count)
	}
	return err
}

// entries are the tables of a sparse matrix, and its factors that are neither 1 nor -1.
type entries struct {
	rows, columns, factors []uint32
	values                 []byte
}

func (p *program) sparse(ctx context.Context, s *backend.SparseProduct) error {
	var m entries
	for _, t := range []struct {
		to   *[]uint32
		from backend.Range
	}{{&m.rows, s.Rows}, {&m.columns, s.Columns}, {&m.factors, s.Factors}} {
		table, err := layout.View[uint32](p.at(t.from))
		if err != nil {
			return err
		}
		*t.to = table[:s.Entries]
	}
	if s.Values != (backend.Range{}) {
		m.values = p.at(s.Values)
	}
	dst := p.at(s.Dst)
	local.Parts(len(dst), func(lo, hi int) { clear(dst[lo:hi]) })
	bad, err := p.of(s.Dst).sparse(ctx, dst, p.at(s.Src), &m)
	if err == nil && bad >= 0 {
		err = fmt.Errorf("%w: entry %d is not one of %d rows, %d columns and %d values, or its row is below the one before",
			backend.ErrInvalidInput, bad, s.Dst.Count, s.Src.Count, s.Values.Count)
	}
	return err
}

// each calls work on every processor. Each work takes parts of 0 to n, grain at a time, until none
// is left or ctx ends.
func each(ctx context.Context, n, grain int, work func(parts iter.Seq2[int, int])) error {
	var next atomic.Int64
	parts := func(yield func(lo, hi int) bool) {
		for backend.Yield(ctx) == nil {
			lo := int(next.Add(1)-1) * grain
			if lo >= n || !yield(lo, min(lo+grain, n)) {
				return
			}
		}
	}
	var g errgroup.Group
	for range min(runtime.GOMAXPROCS(0), (n+grain-1)/grain) {
		g.Go(func() (err error) {
			defer resident.Caught(&err)
			work(parts)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return backend.Ended(ctx)
}
