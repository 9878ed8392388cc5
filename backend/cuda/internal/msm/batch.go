package msm

import (
	"fmt"
	"math"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/kernels"
)

// Job is one MSM of a call: a valid job of the contract, the job that has its scalars (itself or an
// earlier one), and its bases on this card.
type Job struct {
	*backend.Job
	Source *backend.Job
	Bases  *Bases

	// For errors: the number of the job in its call and, if its scalars here are a part of the
	// job's, the index at which they begin.
	Number, First int
}

// batch is one MSM of a call, or several of the same shape that are computed side by side by one
// plan: all over the same range of the same bases.
type batch struct {
	members []member
	Bases   *Bases // the bases of all members, and the range of them
	Offset  int
	Count   int
	plan    *msmplan.Plan
	kernels *groupKernels
	table   *table // nil if there are no multiples to use

	resident []driver.Span // by member, the scalars that are on the card already, if the plan says so

	// sharedScalars is where scalars lie on the card that several batches of a round use. The first
	// of these batches sends them; isSent is true for the others.
	sharedScalars device.Region
	isShared      bool
	isSent        bool

	result device.Region // of the pinned results: the sums, then the bad scalars
}

// member is a job of a batch.
type member struct {
	Job
	at int // the number of its answer in the call; -1 for an OnCard, whose members answer in their order
}

// newBatch makes a batch of one job, whose answer is number at of the call.
func newBatch(j Job, at int) *batch {
	return &batch{members: []member{{j, at}}, Bases: j.Bases, Offset: j.Offset, Count: j.Count}
}

// check reports whether scalars are checked. That is the same for all members.
func (j *batch) check() bool { return j.members[0].Source.Check }

// sideBySide joins small batches over the same bases, as long as a batch has at most fills points:
// these fill a card. A batch whose scalars others use too stays alone, because such scalars are
// sent once.
func sideBySide(jobs []*batch, fills int) []*batch {
	type like struct {
		bases         *Bases
		offset, count int
		check         bool
	}
	uses := make(map[*backend.Job]int)
	for _, j := range jobs {
		uses[j.members[0].Source]++
	}
	var all []*batch
	growing := make(map[like]*batch)
	for _, j := range jobs {
		most := together(fills, j.Count)
		if most < 2 || uses[j.members[0].Source] > 1 {
			all = append(all, j)
			continue
		}
		k := like{j.Bases, j.Offset, j.Count, j.check()}
		if g := growing[k]; g != nil && len(g.members) < most {
			g.members = append(g.members, j.members...)
			continue
		}
		g := newBatch(j.members[0].Job, j.members[0].at)
		growing[k] = g
		all = append(all, g)
	}
	return all
}

// together returns how many MSMs of count points are computed side by side at most, where as many as have
// fills points fill the card.
func together(fills, count int) int { return min(fills/count, msmplan.MostTogether) }

// packs reports whether the scalars of the members are copied to lie one behind the other, as the kernels
// read them: they are on the card, but not in that way.
func (j *batch) packs() bool {
	if len(j.resident) < 2 {
		return false
	}
	at := func(k int) kernels.Pointer { return device.Address(j.resident[k]) }
	for k, s := range j.resident {
		if at(k) != at(0)+kernels.Pointer(int64(k)*s.Size()) {
			return true
		}
	}
	return len(j.plan.Chunks) > 1
}

// scalarBytes returns the work memory for the scalars of a step.
func (j *batch) scalarBytes() int64 {
	if !j.packs() {
		return j.plan.ScalarBytes
	}
	return int64(len(j.members)) * int64(slices.Max(j.plan.Chunks)) * int64(j.Bases.Curve.ScalarBytes())
}

// failed names in an error the job that failed: the first of several members.
func (j *batch) failed(err error) error { return j.members[0].failed(err) }

// failed names in an error the job that failed.
func (m *member) failed(err error) error {
	if err == nil || m.at < 0 {
		return err
	}
	return fmt.Errorf("job %d: %w", m.Number, err)
}

// planBatches plans batches for memory bytes of device memory, with the multiples that their bases
// have in this turn.
func (c *Computer) planBatches(batches []*batch, memory int64) error {
	for _, j := range batches {
		if err := c.planBatch(j, c.inputOf(j, memory)); err != nil {
			return j.failed(err)
		}
	}
	return nil
}

// planAhead makes the plans that batches will need, assuming that there is memory for the best. It
// is called before the turn, so that no call waits while the card only plans.
func (c *Computer) planAhead(batches []*batch) {
	if len(batches) == 0 {
		return
	}
	for _, j := range c.sideBySide(batches) {
		in := c.inputOf(j, math.MaxInt64)
		in.Multiples = c.tables.expected(j.Bases)
		_, _ = c.plans.Plan(in) // the turn meets the error again and returns it
	}
}

// sideBySide joins small batches until they fill the card.
func (c *Computer) sideBySide(batches []*batch) []*batch {
	return sideBySide(batches, c.paramsFor(batches[0].Bases.Elements, batches[0].Count).Together)
}

// inputOf returns the input for a batch's plan, without multiples.
func (c *Computer) inputOf(j *batch, memory int64) msmplan.Input {
	in := c.inputFor(j.Bases.Elements, j.Count, j.Bases.host != nil, memory)
	in.Together = len(j.members)
	in.Fed = slices.ContainsFunc(j.members, func(m member) bool { return m.Source.Ready != nil })
	return in
}

// planBatch plans a batch, with the multiples that its bases have in this turn.
func (c *Computer) planBatch(j *batch, in msmplan.Input) (err error) {
	j.table = c.tables.used(j.Bases)
	if j.table != nil {
		in.Multiples = j.table.Multiples
	}
	if j.plan, err = c.plans.Plan(in); err != nil {
		return err
	}
	if c.planned != nil {
		c.planned(j.plan)
	}
	j.kernels, err = loadKernels(c.dev, in.Curve, in.Group, j.plan.Form())
	return err
}

// paramsFor returns the parameters for plans of MSMs of points points over bases.
func (c *Computer) paramsFor(of backend.Elements, points int) msmplan.Params {
	t := c.tuning.Params(of.Curve, of.Group, points)
	t.Shared = min(t.Shared, mostShared(c.dev))
	if c.tune != nil {
		c.tune(&t)
	}
	return t
}

// inputFor returns the input for a plan of an MSM over count of the bases, without multiples.
func (c *Computer) inputFor(of backend.Elements, count int, stream bool, memory int64) msmplan.Input {
	return msmplan.Input{
		Curve: of.Curve, Group: of.Group, Count: count, Together: 1, Stream: stream, Memory: memory, Params: c.paramsFor(of, count),
	}
}
