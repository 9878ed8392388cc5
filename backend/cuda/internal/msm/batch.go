package msm

import (
	"fmt"
	"math"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

// Job is one MSM of a call: a valid job of the contract, the job whose scalars it
// uses (itself, or an earlier one), and its bases on this card.
type Job struct {
	*backend.Job
	Source *backend.Job
	Bases  *Bases

	// For errors: the job's number in its call, and where in its scalars these
	// begin, when they are a part of them.
	Number, First int
}

// batch is one MSM of a call, or several of the same shape that are computed side by side:
// the same range of the same bases, with a plan for all of them.
type batch struct {
	members []member
	Bases   *Bases // those of all members, and the range of them
	Offset  int
	Count   int
	plan    *msmplan.Plan
	kernels *groupKernels
	table   *table // nil where there are no multiples to use

	resident driver.Span // the scalars, when the plan says that they are on the card

	// sharedScalars is where scalars stay on the card that several batches of a round
	// use. The first of these batches sends them; for the others isSent is true.
	sharedScalars device.Region
	isShared      bool
	isSent        bool

	result device.Region // of the pinned results: the sums, then the bad scalars
}

// member is a Job of a batch.
type member struct {
	Job
	at int // its answer's number in the call; -1 for an OnCard
}

// newBatch makes a batch of one job, whose answer is number at of the call.
func newBatch(j Job, at int) *batch {
	return &batch{members: []member{{j, at}}, Bases: j.Bases, Offset: j.Offset, Count: j.Count}
}

// check reports whether scalars are checked; it is the same for all members.
func (j *batch) check() bool { return j.members[0].Source.Check }

// sideBySide makes one batch of small ones over the same bases, as long as it has no more
// than fills points, which fill a card. A batch whose scalars others use too stays alone,
// because such scalars are sent once.
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
		most := min(fills/j.Count, msmplan.MostTogether)
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

// failed adds to an error which job failed: of several members, the first.
func (j *batch) failed(err error) error { return j.members[0].failed(err) }

// failed adds to an error which job failed.
func (m *member) failed(err error) error {
	if err == nil || m.at < 0 {
		return err
	}
	return fmt.Errorf("job %d: %w", m.Number, err)
}

// planBatches plans batches for so many bytes of device memory, with the multiples that
// their bases have in this turn.
func (c *Computer) planBatches(batches []*batch, memory int64) error {
	for _, j := range batches {
		if err := c.planBatch(j, c.inputOf(j, memory)); err != nil {
			return j.failed(err)
		}
	}
	return nil
}

// planAhead makes the plans that batches will need, if there is memory for the best of
// them. It is called before the turn, so that nobody waits for a card that only plans.
func (c *Computer) planAhead(batches []*batch) {
	if len(batches) == 0 {
		return
	}
	for _, j := range c.sideBySide(batches) {
		in := c.inputOf(j, math.MaxInt64)
		in.Multiples = c.tables.expected(j.Bases)
		_, _ = c.plans.Plan(in) // what is wrong, the turn finds again and returns
	}
}

// sideBySide makes fewer batches of small ones, as many as fill the card.
func (c *Computer) sideBySide(batches []*batch) []*batch {
	return sideBySide(batches, c.paramsFor(batches[0].Bases.Elements, batches[0].Count).Together)
}

// inputOf returns the input of the plan of a batch, without multiples.
func (c *Computer) inputOf(j *batch, memory int64) msmplan.Input {
	in := c.inputFor(j.Bases.Elements, j.Count, j.Bases.host != nil, memory)
	in.Together = len(j.members)
	in.Fed = slices.ContainsFunc(j.members, func(m member) bool { return m.Source.Ready != nil })
	return in
}

// planBatch plans a batch with the multiples that its bases have in this turn.
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
	j.kernels, err = loadKernels(c.dev, in.Curve, in.Group, in.Multiples.Edwards)
	return err
}

// paramsFor returns what plans of MSMs of so many points over bases are made by.
func (c *Computer) paramsFor(of backend.Elements, points int) msmplan.Params {
	t := c.tuning.Params(of.Curve, of.Group, points)
	t.Shared = min(t.Shared, mostShared(c.dev))
	if c.tune != nil {
		c.tune(&t)
	}
	return t
}

// inputFor returns the input of a plan for count of the bases, without multiples.
func (c *Computer) inputFor(of backend.Elements, count int, stream bool, memory int64) msmplan.Input {
	return msmplan.Input{
		Curve: of.Curve, Group: of.Group, Count: count, Together: 1, Stream: stream, Memory: memory, Params: c.paramsFor(of, count),
	}
}
