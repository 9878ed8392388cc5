package vector

import (
	"context"
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/point"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
)

// groupOf returns the group that computes over the points of a range, and puts its facts into the
// program's frame.
func (p *program) groupOf(r backend.Range) (*point.Group, error) {
	g, err := p.computer.group(p.used.Space(r.Space).Element)
	if err != nil {
		return nil, err
	}
	if _, ok := p.facts[g]; !ok {
		p.facts[g] = p.put(g.Facts())
	}
	return g, nil
}

// resources returns what queueing a group's steps takes.
func (x *execution) resources(ctx context.Context, g *point.Group) point.Resources {
	return point.Resources{
		Stream: x.turn.Compute, Work: x.scratchAt.In(x.work), Facts: x.inFrame(x.facts[g]),
		Pace: func(products int) error {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			// A product takes as long as 2^10 elements of other steps.
			x.queued += 1 << 10 * products
			return x.pace(ctx)
		},
	}
}

// pointsAt returns where the points of a range lie.
func (p *program) pointsAt(r backend.Range) point.Points {
	return point.Points{At: p.at(r), Count: r.Count}
}

// overPoints plans step i, which s computes in work memory. begin is called with the execution
// before that.
func (p *program) overPoints(i int, g *point.Group, s point.Step, begin func(*execution)) error {
	scratch, err := g.Scratch(s)
	if err != nil {
		return err
	}
	p.needs(scratch)
	touched := ranges(p.steps[i])
	p.queue(func(ctx context.Context, x *execution) error {
		if err := x.touch(touched); err != nil {
			return err
		}
		begin(x)
		return g.Queue(s, x.resources(ctx, g))
	})
	return nil
}

func (p *program) multiplyPoints(i int, s backend.MultiplyPoints) error {
	g, err := p.groupOf(s.Dst)
	if err != nil {
		return err
	}
	m := &point.Multiply{Dst: p.pointsAt(s.Dst), Src: p.pointsAt(s.Src), Terms: s.Terms, Memory: p.turn.Available()}
	if s.Scalars != (backend.Range{}) {
		m.Scalars = p.pointsAt(s.Scalars)
	}
	return p.overPoints(i, g, m, func(*execution) {})
}

func (p *program) addPoints(i int, s backend.AddPoints) error {
	g, err := p.groupOf(s.Dst)
	if err != nil {
		return err
	}
	var items []byte
	add := func(all []backend.Range, minus uint32) {
		for _, r := range all {
			items = binary.LittleEndian.AppendUint64(items, uint64(p.at(r)))
			items = binary.LittleEndian.AppendUint32(items, uint32(r.Count))
			items = binary.LittleEndian.AppendUint32(items, minus)
		}
	}
	add(s.Plus, 0)
	add(s.Minus, 1)
	at := p.put(items)
	a := &point.Add{Dst: p.pointsAt(s.Dst), N: len(s.Plus) + len(s.Minus)}
	return p.overPoints(i, g, a, func(x *execution) { a.Items = x.inFrame(at) })
}

func (p *program) checkPoints(i int, s backend.CheckPoints) error {
	g, err := p.groupOf(s.Src)
	if err != nil {
		return err
	}
	at := p.room(point.CheckedBytes)
	touched := ranges(s)
	p.queue(func(ctx context.Context, x *execution) error {
		if err := x.touch(touched); err != nil {
			return err
		}
		return g.Check(x.resources(ctx, g), p.pointsAt(s.Src), s.Subgroup, x.inAnswers(at))
	})
	p.finish[i] = func(x *execution) ([]byte, error) {
		answer := x.answered(at, point.CheckedBytes)
		// It was filled with ones, and the kernel adds to it.
		bad, first := binary.LittleEndian.Uint32(answer)+1, binary.LittleEndian.Uint32(answer[8:])
		return backend.CheckedAnswer(int(bad), int(first)), nil
	}
	return nil
}

func (p *program) transformPoints(i int, s backend.Transform) error {
	g, err := p.groupOf(s.Dst)
	if err != nil {
		return err
	}
	if s.Dst.Count == 0 {
		p.launch(i, func(*execution, *driver.Stream) error { return nil })
		return nil
	}
	n := s.Dst.Count / max(s.Batch, 1)
	t := &point.Transform{
		Dst: p.pointsAt(s.Dst), Src: p.pointsAt(s.Src), LogN: bits.TrailingZeros(uint(n)), From: s.From, To: s.To, Inverse: s.Inverse,
	}
	one := p.put(oneOf(p.curve))
	var current *execution // nil while the step is planned
	powers := func(first int, ratio func(step int) ([]byte, error)) point.Powers {
		return func(to kernels.Pointer, step, n int) error {
			r, err := ratio(step)
			if err != nil {
				return err
			}
			table, err := p.powersOf(r)
			if err != nil || current == nil {
				return err
			}
			return current.sequenceTo(current.turn.Compute, first, table, to, n)
		}
	}
	t.Roots = powers(one, func(step int) ([]byte, error) { return rootOf(p.curve, n, step, s.Inverse) })
	shift, scale := s.Shift, one
	if s.Inverse {
		scale = p.put(reciprocal(p.curve, n))
		if len(shift) > 0 {
			shift = inverse(p.curve, shift)
		}
	}
	if len(shift) == 0 {
		shift = oneOf(p.curve)
	}
	if t.ManyFactor = len(s.Shift) > 0; t.ManyFactor || s.Inverse && n > 1 {
		t.Factors = powers(scale, func(int) ([]byte, error) { return shift, nil })
	}
	return p.overPoints(i, g, t, func(x *execution) { current = x })
}

// writePoints plans step i, which writes points, either encoded or as spaces hold them.
func (p *program) writePoints(i int, s backend.Write) error {
	g, err := p.groupOf(s.Dst)
	if err != nil {
		return err
	}
	encoded := s.Encoding != backend.AsInSpaces
	if !encoded && !s.Check {
		p.uploaded(s.Dst, s.Input)
		return nil
	}
	var bad int64
	if encoded {
		p.needs(int64(len(s.Bytes)))
		bad = p.refusal(i, "element %d is no encoding of one of the %v", p.used.Space(s.Dst.Space).Element)
	} else {
		bad = p.refusal(i, "element %d has a coordinate that is not below q of %v", p.curve)
	}
	p.queue(func(ctx context.Context, x *execution) error {
		if !encoded {
			if err := errors.Join(x.upload(ctx, s.Dst, s.Input), x.touch([]backend.Range{s.Dst})); err != nil {
				return err
			}
			return g.Coordinates(x.resources(ctx, g), p.pointsAt(s.Dst), x.inAnswers(bad))
		}
		if err := x.uploadScratch(ctx, s.Input, s.Encoding.Bytes(p.used.Space(s.Dst.Space).Element)); err != nil {
			return err
		}
		if err := x.touch([]backend.Range{s.Dst}); err != nil {
			return err
		}
		return g.Decode(x.resources(ctx, g), p.pointsAt(s.Dst), x.scratchFrom(0), s.Encoding, x.inAnswers(bad))
	})
	return nil
}

// encoded plans step i, which reads points in an encoding.
func (p *program) encoded(i int, s backend.Read) error {
	g, err := p.groupOf(s.Src)
	if err != nil {
		return err
	}
	size := int64(s.Src.Count * s.Encoding.Bytes(p.used.Space(s.Src.Space).Element))
	touched := ranges(s)
	if size <= few {
		at := p.answer(i, size)
		p.queue(func(ctx context.Context, x *execution) error {
			if err := x.touch(touched); err != nil {
				return err
			}
			return g.Encode(x.resources(ctx, g), p.pointsAt(s.Src), x.inAnswers(at), s.Encoding)
		})
		return nil
	}
	p.needs(size)
	b := answerBytes(size)
	p.queue(func(ctx context.Context, x *execution) error {
		if err := x.touch(touched); err != nil {
			return err
		}
		if err := g.Encode(x.resources(ctx, g), p.pointsAt(s.Src), x.scratchFrom(0), s.Encoding); err != nil {
			return err
		}
		return x.turn.Compute.Read(b, x.scratchAt.In(x.work).Slice(0, size))
	})
	p.finish[i] = func(*execution) ([]byte, error) { return b, nil }
	return nil
}
