package msm

import (
	"bytes"
	"context"
	"errors"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Compute computes the jobs of a call in one turn. They are queued on the card one after the other;
// each step's input is copied while the step before it is computed.
func (c *Computer) Compute(ctx context.Context, jobs []Job) (results [][]byte, err error) {
	results = make([][]byte, len(jobs))
	var all []*batch
	for i := range jobs {
		if j := &jobs[i]; j.Count == 0 {
			results[i] = layout.Bytes(make([]uint64, j.Bases.Curve.PointBytes(j.Bases.Group)/8))
		} else {
			all = append(all, newBatch(*j, i))
		}
	}
	c.planAhead(all)
	rounds, err := c.inTurn(ctx, all)
	defer func() {
		for _, r := range rounds {
			clear(r.results)
		}
	}()
	if err != nil {
		return nil, err
	}
	// The host finishes them while the card is the next call's.
	for _, r := range rounds {
		if err := finishAll(r.batches, r.results, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// inTurn makes the card compute batches. It returns the rounds with their results.
func (c *Computer) inTurn(ctx context.Context, batches []*batch) (rounds []*round, err error) {
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, turn.End()) }()
	if rounds, err = c.rounds(turn, batches); err != nil {
		return nil, err
	}
	for _, r := range rounds {
		if err := c.computeRound(ctx, turn, r); err != nil {
			return rounds, err
		}
	}
	return rounds, nil
}

// round is the batches that share the work memory at the same time: all of a call if they fit, else
// one after the other.
type round struct {
	batches         []*batch
	scalars, points [2]device.Region // the input of even steps, and of odd ones
	workAt          int64            // where the work memory of the plans begins
	secret          int64            // bytes from the first on that are secret; points come after them
	size            int64
	resultBytes     int64
	results         []byte // what the card has computed; nil until then
}

// rounds plans the batches and takes the memory for the first round. If another program uses the
// card too and takes that memory, it plans again for what is free.
func (c *Computer) rounds(turn *device.Turn, batches []*batch) ([]*round, error) {
	if len(batches) == 0 {
		return nil, nil
	}
	bases := basesOf(batches)
	c.Use(turn, bases...)
	rounds, err := c.roundsIn(batches, turn.Available())
	if errors.Is(err, backend.ErrOutOfMemory) && c.Forgo(bases...) {
		rounds, err = c.roundsIn(batches, turn.Available())
	}
	if err != nil {
		return nil, err
	}
	_, err = turn.Work(rounds[0].size, 0)
	if !errors.Is(err, backend.ErrOutOfMemory) {
		return rounds, err
	}
	free, _, failed := c.dev.Driver().MemInfo()
	if failed != nil || free >= rounds[0].size {
		return nil, err
	}
	return c.roundsIn(batches, free)
}

func basesOf(batches []*batch) (bases []*Bases) {
	for _, j := range batches {
		bases = append(bases, j.Bases)
	}
	return bases
}

// roundsIn plans the batches: as one round if memory allows, else one by one. Jobs are computed
// side by side if memory allows.
func (c *Computer) roundsIn(batches []*batch, memory int64) ([]*round, error) {
	together := c.sideBySide(batches)
	err := c.planBatches(together, memory)
	if err == nil {
		batches = together
	} else if len(together) < len(batches) && errors.Is(err, backend.ErrOutOfMemory) {
		err = c.planBatches(batches, memory)
	}
	if err != nil {
		return nil, err
	}
	all := newRound(batches, memory)
	if len(batches) == 1 || all.size <= memory {
		return []*round{all}, nil
	}
	var ones []*round
	for _, j := range batches {
		ones = append(ones, newRound([]*batch{j}, memory))
	}
	return ones, nil
}

// newRound lays out the work memory of batches that are planned.
func newRound(batches []*batch, memory int64) *round {
	r := &round{batches: batches}
	var scalars, points, work int64
	inputs := 1
	for _, j := range batches {
		scalars, points = max(scalars, j.scalarBytes()), max(points, j.plan.StreamBytes)
		work = max(work, j.plan.Work.Size)
		if len(batches) > 1 || len(j.plan.Chunks) > 1 {
			inputs = 2
		}
		j.isShared, j.isSent = false, false
	}
	// The points come last, since they are not secret.
	var at device.Layout
	for i := range 2 {
		r.scalars[i] = r.scalars[0]
		if i < inputs {
			r.scalars[i] = at.Take(scalars)
		}
	}
	r.workAt = at.Take(work).Off
	// Scalars of more than one job stay on the card if there is room.
	streamed := int64(inputs) * device.Align(points)
	uses := make(map[*backend.Job][]*batch)
	for _, j := range batches {
		uses[j.members[0].Source] = append(uses[j.members[0].Source], j)
	}
	for _, j := range batches {
		source := j.members[0].Source
		same := uses[source]
		if size := int64(len(source.Bytes)); j == same[0] && len(same) > 1 && at.Size+device.Align(size)+streamed <= memory {
			kept := at.Take(size)
			for _, s := range same {
				s.sharedScalars, s.isShared = kept, true
				s.isSent = s != j
			}
		}
		j.result = device.Region{Off: r.resultBytes, Size: j.plan.Work.Results().Size}
		r.resultBytes += device.Align(j.result.Size)
	}
	r.secret = at.Size
	for i := range 2 {
		r.points[i] = r.points[0]
		if i < inputs {
			r.points[i] = at.Take(points)
		}
	}
	r.size = at.Size
	return r
}

// computeRound runs a round and keeps its results.
func (c *Computer) computeRound(ctx context.Context, turn *device.Turn, r *round) error {
	memory, err := turn.Work(r.size, r.secret)
	if err != nil {
		return err
	}
	pinned, err := turn.Results(r.resultBytes)
	if err != nil {
		return err
	}
	x := &execution{round: r, pipe: &c.pipe, turn: turn, memory: memory, pinned: pinned.Span()}
	if err := x.queue(ctx); err != nil {
		return err
	}
	if err := x.last().Synchronize(); err != nil {
		return err
	}
	x.turn.Waited()
	r.results = bytes.Clone(pinned.Bytes()[:r.resultBytes])
	return nil
}
