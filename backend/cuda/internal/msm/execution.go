package msm

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

// pipe is the events between copying a step's input, sorting its entries and computing another
// step. Even and odd steps have one of each.
type pipe struct {
	copied [2]*driver.Event // the step's input is on the card
	read   [2]*driver.Event // its entries are made: the input may be overwritten
	sorted [2]*driver.Event // its tasks are made
	done   [2]*driver.Event // its sums are computed
	added  *driver.Event    // its tasks are computed
}

// all returns the places of all events.
func (p *pipe) all() []**driver.Event {
	return []**driver.Event{&p.copied[0], &p.copied[1], &p.read[0], &p.read[1], &p.sorted[0], &p.sorted[1], &p.done[0], &p.done[1], &p.added}
}

// step is one chunk of a batch: all phases but the last over these points.
type step struct {
	*batch
	from, n     int
	first, last bool
}

// execution is a round that is being queued on the card.
type execution struct {
	*round
	*pipe
	turn   *device.Turn
	memory driver.Span
	pinned driver.HostSpan
	beside bool // the phases after the accumulation go to the stream Beside
	steps  []step
}

// last returns the event that happens when all steps are done.
func (x *execution) last() *driver.Event { return x.done[(len(x.steps)-1)%2] }

// queue queues all steps; at most two are under way at the same time.
func (x *execution) queue(ctx context.Context) error {
	for _, j := range x.batches {
		for i, from := 0, 0; i < len(j.plan.Chunks); i++ {
			n := j.plan.Chunks[i]
			x.steps = append(x.steps, step{j, from, n, i == 0, i == len(j.plan.Chunks)-1})
			from += n
		}
	}
	if err := x.turn.Mark("start"); err != nil {
		return err
	}
	if err := x.upload(ctx, 0); err != nil {
		return err
	}
	for i := range x.steps {
		if i >= 2 {
			if err := x.done[i%2].Synchronize(); err != nil {
				return err
			}
		}
		if err := backend.Ended(ctx); err != nil {
			return err
		}
		if err := x.step(i); err != nil {
			return x.steps[i].failed(err)
		}
		if i+1 < len(x.steps) {
			if err := x.upload(ctx, i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// scalarsOf returns where the scalars of a step are or will be, those of each member after those of
// the one before.
func (x *execution) scalarsOf(i int) driver.Span {
	s := &x.steps[i]
	size := int64(s.Bases.Curve.ScalarBytes())
	if s.plan.Resident && !s.packs() {
		return s.resident[0].Slice(int64(s.from)*size, int64(s.n)*size) // those of the other members follow
	}
	if s.isShared {
		return s.sharedScalars.In(x.memory).Slice(int64(s.from)*size, int64(s.n)*size)
	}
	return x.scalars[i%2].In(x.memory).Slice(0, int64(len(s.members))*int64(s.n)*size)
}

// pointsOf returns where the points of a step are or will be.
func (x *execution) pointsOf(i int) driver.Span {
	s := &x.steps[i]
	first, n := int64(s.Offset+s.from), int64(s.n)
	size := int64(s.Bases.Curve.PointBytes(s.Bases.Group))
	switch {
	case s.plan.Skip > 0 || s.plan.Form() == msmplan.Edwards:
		all := s.table.memory.Span() // the later rows follow
		from := first * s.plan.BaseBytes(s.plan.Multiples)
		return all.Slice(from, all.Size()-from)
	case s.Bases.host == nil:
		return s.Bases.memory.Span().Slice(first*size, n*size)
	}
	return x.points[i%2].In(x.memory).Slice(0, n*size)
}

// uploadBytes is the most that is sent at a time of scalars that are still arriving.
const uploadBytes = 4 << 20

// upload copies the input of a step, after the step that used the same memory before no longer
// needs it.
func (x *execution) upload(ctx context.Context, i int) error {
	s := &x.steps[i]
	if !s.uploads() {
		return nil
	}
	if i >= 2 {
		free := x.read[i%2]
		if s.Bases.host != nil || x.steps[i-2].Bases.host != nil {
			free = x.done[i%2]
		}
		if err := x.turn.Copy.Wait(free); err != nil {
			return err
		}
	}
	if !s.isSent && !s.plan.Resident {
		size, to := s.Bases.Curve.ScalarBytes(), x.scalarsOf(i)
		for k, m := range s.members {
			// Scalars that arrive while the MSM runs are sent to the card in pieces.
			most := s.n
			if m.Source.Ready != nil {
				most = max(1, uploadBytes/size)
			}
			for at := 0; at < s.n; at += most {
				n := min(most, s.n-at)
				if err := m.Source.Wait(ctx, s.from+at+n); err != nil {
					return err
				}
				from := s.from + at
				if err := x.turn.Send(to.Slice(int64((k*s.n+at)*size), int64(n*size)), m.Source.Bytes[from*size:(from+n)*size]); err != nil {
					return m.failed(err)
				}
			}
		}
	}
	if s.Bases.host != nil {
		size := s.Bases.Curve.PointBytes(s.Bases.Group)
		from := s.Offset + s.from
		if err := x.turn.Send(x.pointsOf(i), s.Bases.host[from*size:(from+s.n)*size]); err != nil {
			return s.failed(err)
		}
	}
	return x.turn.Copy.Record(x.copied[i%2])
}

// uploads reports whether a step reads anything from the host.
func (s *step) uploads() bool { return !s.plan.Resident || s.Bases.host != nil }

// step launches the phases of one chunk.
func (x *execution) step(i int) error {
	s := &x.steps[i]
	p := &phases{Plan: s.plan, groupKernels: s.kernels, points: s.n, piece: s.plan.PieceOf(s.n),
		TaskLists: s.plan.Work.Lists[i%2], ahead: x.turn.Compute, stream: x.turn.Compute, after: x.turn.Compute,
		added: x.added, memory: x.memory.Slice(x.workAt, s.plan.Work.Size), mark: x.turn.Mark}
	if x.beside {
		p.after = x.turn.Beside
	}
	if s.plan.Overlaps() {
		p.ahead = x.turn.Beside
		// Wait until the memory that it overwrites is free: after the step before the last or, at
		// first, after whatever used it.
		free := x.done[i%2]
		if s.first {
			free = x.sorted[i%2]
			if err := p.stream.Record(free); err != nil {
				return err
			}
		}
		if i >= 2 || s.first {
			if err := p.ahead.Wait(free); err != nil {
				return err
			}
		}
	}
	if s.uploads() {
		if err := p.ahead.Wait(x.copied[i%2]); err != nil {
			return err
		}
		if err := p.mark("copy"); err != nil {
			return err
		}
	}
	if s.packs() {
		if err := x.pack(i, p.ahead); err != nil {
			return err
		}
	}
	compute := x.sortAndAdd
	if s.plan.Direct {
		compute = x.addDirectly
	}
	if err := compute(i, p); err != nil {
		return err
	}
	if s.last {
		if err := p.after.Download(x.pinned.Slice(s.result.Off, s.result.Size), p.at(s.plan.Work.Results())); err != nil {
			return err
		}
	}
	return p.after.Record(x.done[i%2])
}

// pack copies the scalars of a step's members one behind the other.
func (x *execution) pack(i int, on *driver.Stream) error {
	s, to := &x.steps[i], x.scalarsOf(i)
	size := int64(s.Bases.Curve.ScalarBytes())
	n := int64(s.n) * size
	for k, from := range s.resident {
		if err := on.Copy(to.Slice(int64(k)*n, n), from.Slice(int64(s.from)*size, n)); err != nil {
			return err
		}
	}
	return nil
}

// addDirectly launches the only phase of an MSM without buckets.
func (x *execution) addDirectly(i int, p *phases) error {
	if err := p.addMultiples(x.scalarsOf(i), x.pointsOf(i), x.steps[i].check()); err != nil {
		return err
	}
	return p.stream.Record(x.read[i%2])
}

// sortAndAdd launches the phases of a chunk with buckets.
func (x *execution) sortAndAdd(i int, p *phases) error {
	s := &x.steps[i]
	if s.first {
		if err := p.clearSums(); err != nil {
			return err
		}
	}
	if err := p.makeTasks(x.scalarsOf(i), s.check(), s.from, x.read[i%2]); err != nil {
		return err
	}
	if p.ahead != p.stream {
		if err := errors.Join(p.ahead.Record(x.sorted[i%2]), p.stream.Wait(x.sorted[i%2]), p.mark("sort")); err != nil {
			return err
		}
	}
	if err := p.addUp(x.pointsOf(i)); err != nil {
		return err
	}
	if s.last {
		return p.reduceBuckets()
	}
	return nil
}
