package msm

import (
	"context"
	"errors"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// OnCard is MSMs over the same bases, side by side, whose scalars are on the card already, in the turn of a
// program. Computer.OnCard plans it. Then Queue queues it, in work memory and with pinned memory of the
// caller. When the card has computed it, Answers makes the points.
type OnCard struct {
	round
	pipe *pipe
}

// OnCard plans an MSM for each of the scalars, all over the same bases: as many as the scalars have elements,
// from offset on. Those that fill the card together are one OnCard, if memory allows. Each may take memory
// bytes of work memory. The caller has the turn.
func (c *Computer) OnCard(b *Bases, offset int, scalars []driver.Span, memory int64) ([]*OnCard, error) {
	count := int(scalars[0].Size()) / b.Curve.ScalarBytes()
	most := max(together(c.paramsFor(b.Elements, count).Together, count), 1)
	all, err := c.onCard(b, offset, count, scalars, most, memory)
	if most > 1 && errors.Is(err, backend.ErrOutOfMemory) {
		all, err = c.onCard(b, offset, count, scalars, 1, memory)
	}
	return all, err
}

// onCard plans the MSMs of OnCard, at most so many side by side.
func (c *Computer) onCard(b *Bases, offset, count int, scalars []driver.Span, most int, memory int64) (all []*OnCard, err error) {
	for some := range slices.Chunk(scalars, most) {
		j := &batch{Bases: b, Offset: offset, Count: count, resident: some}
		for range some {
			j.members = append(j.members, member{Job{Job: &backend.Job{Offset: offset, Count: count}, Source: &backend.Job{}, Bases: b}, -1})
		}
		in := c.inputFor(b.Elements, count, b.host != nil, memory)
		in.Resident = true
		if len(some) > 1 {
			// Beside the plan's memory they may be packed, in two parts at a time.
			in.Together = len(some)
			in.Memory -= 2 * device.Align(int64(len(some))*some[0].Size())
		}
		if err := c.planBatch(j, in); err != nil {
			return nil, err
		}
		all = append(all, &OnCard{*newRound([]*batch{j}, memory), &c.pipe})
	}
	return all, nil
}

// Count returns how many MSMs it is.
func (r *OnCard) Count() int { return len(r.batches[0].members) }

// Work returns the bytes of work memory that it needs.
func (r *OnCard) Work() int64 { return r.size }

// Secret returns how many of these bytes, from the first on, must be overwritten afterwards.
func (r *OnCard) Secret() int64 { return r.secret }

// Results returns the bytes of pinned memory that it needs.
func (r *OnCard) Results() int64 { return r.resultBytes }

// MayEndBeside reports whether it can end on the stream Beside.
func (r *OnCard) MayEndBeside() bool {
	plan := r.batches[0].plan
	return !plan.Direct && len(plan.Chunks) == 1
}

// Queue queues the MSMs and returns before they are done. Their scalars are what the turn's stream
// Compute has written by then. If beside, which MayEndBeside allows, the phases that follow the accumulation, which keep few of
// the card's multiprocessors busy, are queued on the stream Beside: what is queued on Compute next
// runs at the same time, and must leave the work memory alone.
func (r *OnCard) Queue(ctx context.Context, turn *device.Turn, work driver.Span, pinned driver.HostSpan, beside bool) error {
	x := &execution{round: &r.round, pipe: r.pipe, turn: turn, memory: work, pinned: pinned, beside: beside}
	if r.batches[0].Bases.host != nil {
		// Its points are copied to memory that another MSM may still use.
		if err := errors.Join(turn.Compute.Record(x.done[1]), turn.Copy.Wait(x.done[1])); err != nil {
			return err
		}
	}
	return x.queue(ctx)
}

// Answers makes the affine points from the results in pinned memory.
func (r *OnCard) Answers(pinned []byte) ([][]byte, error) {
	answers := make([][]byte, r.Count())
	return answers, finishAll(r.batches, pinned, answers)
}
