package msm

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// OnCard is an MSM whose scalars are on the card already, in the turn of a program. OnCard plans
// it. Then Queue queues it, in work memory and with pinned memory of the caller. When the card has
// computed it, Answer makes the point.
type OnCard struct {
	round
	pipe *pipe
}

// OnCard plans the MSM over count of the bases from offset on, with at most memory bytes of work
// memory. The caller has the turn.
func (c *Computer) OnCard(b *Bases, offset, count int, memory int64) (*OnCard, error) {
	j := newBatch(Job{Job: &backend.Job{Offset: offset, Count: count}, Source: &backend.Job{}, Bases: b}, -1)
	in := c.inputFor(b.Elements, count, b.host != nil, memory)
	in.Resident = true
	if err := c.planBatch(j, in); err != nil {
		return nil, err
	}
	return &OnCard{*newRound([]*batch{j}, memory), &c.pipe}, nil
}

// Work returns the bytes of work memory that the MSM needs.
func (r *OnCard) Work() int64 { return r.size }

// Secret returns how many of these bytes, from the first on, must be overwritten afterwards.
func (r *OnCard) Secret() int64 { return r.secret }

// Results returns the bytes of pinned memory that it needs.
func (r *OnCard) Results() int64 { return r.resultBytes }

// MayEndBeside reports whether the MSM is one that can end on the stream Beside.
func (r *OnCard) MayEndBeside() bool {
	plan := r.batches[0].plan
	return !plan.Direct && len(plan.Chunks) == 1
}

// Queue queues the MSM and returns before it is done. Its scalars are what the turn's stream
// Compute has written by then. If beside, which MayEndBeside allows, the phases that follow the accumulation, which keep few of
// the card's multiprocessors busy, are queued on the stream Beside: what is queued on Compute next
// runs at the same time, and must leave the work memory alone.
func (r *OnCard) Queue(ctx context.Context, turn *device.Turn, scalars, work driver.Span, pinned driver.HostSpan, beside bool) error {
	r.batches[0].resident = scalars
	x := &execution{round: &r.round, pipe: r.pipe, turn: turn, memory: work, pinned: pinned, beside: beside}
	if r.batches[0].Bases.host != nil {
		// Its points are copied to memory that another MSM may still use.
		if err := errors.Join(turn.Compute.Record(x.done[1]), turn.Copy.Wait(x.done[1])); err != nil {
			return err
		}
	}
	return x.queue(ctx)
}

// Answer makes the affine point from the results in pinned memory.
func (r *OnCard) Answer(pinned []byte) ([]byte, error) {
	answer := make([][]byte, 1)
	err := finishAll(r.batches, pinned, answer)
	return answer[0], err
}
