package msm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/layout"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// Computer computes MSMs on one card. Its methods may be called concurrently;
// calls take turns on the card.
type Computer struct {
	dev  *device.Device
	tune func(*msmplan.Params) // changes the tables for tests; may be nil

	tuning msmplan.Tuning

	// Of the multiples of bases: what there is, what makes them, one at a time, until
	// Close.
	tables     tables
	builders   *semaphore.Weighted
	background context.Context
	stop       context.CancelFunc

	// Under the turn:
	plans map[msmplan.Input]*msmplan.Plan
	pipe  pipe
}

// New makes a computer on a card, which stays the caller's and outlives it.
// Kernels that do not fit the card are found now, not in the first call.
func New(d *device.Device) (*Computer, error) {
	if _, err := device.Load(d, kernel.ForCommon().RestScatter); err != nil {
		return nil, err
	}
	c := &Computer{dev: d, plans: make(map[msmplan.Input]*msmplan.Plan), builders: semaphore.NewWeighted(1)}
	if err := c.Tune(nil); err != nil {
		return nil, err
	}
	c.background, c.stop = context.WithCancel(context.Background())
	for i := range 2 {
		for _, e := range []**driver.Event{&c.pipe.copied[i], &c.pipe.read[i], &c.pipe.sorted[i], &c.pipe.done[i]} {
			var err error
			if *e, err = d.Driver().NewEvent(false); err != nil {
				return nil, errors.Join(err, c.Close())
			}
		}
	}
	return c, nil
}

// Tune has plans made by a table of the card's own, nil for none, before the first call;
// its error is that of TuningFor.
func (c *Computer) Tune(own *msmplan.Table) error {
	info := c.dev.Driver().Info()
	tuning, err := msmplan.TuningFor(info.Name, info.Compute.String(), info.Multiprocessors, own)
	if err == nil {
		c.tuning = tuning
	}
	return err
}

// Tuning says what plans are made by.
func (c *Computer) Tuning() msmplan.Tuning { return c.tuning }

// Quiet stops what is computed in the background, for good, and waits for it.
func (c *Computer) Quiet() {
	c.stop()
	_ = c.builders.Acquire(context.Background(), 1) // nobody else gets it any more
}

// Close ends the computer. No call is in flight, and no bases are there.
func (c *Computer) Close() error {
	c.stop()
	var errs []error
	for i := range 2 {
		for _, e := range []*driver.Event{c.pipe.copied[i], c.pipe.read[i], c.pipe.sorted[i], c.pipe.done[i]} {
			if e != nil {
				errs = append(errs, e.Close())
			}
		}
	}
	return errors.Join(errs...)
}

// pipe is the events between the copies of one step's input, its tasks, and the
// computation of another's: those of even steps and of odd ones.
type pipe struct {
	copied [2]*driver.Event // the step's input is on the device
	read   [2]*driver.Event // its entries are made: the input may be written over
	sorted [2]*driver.Event // there are tasks
	done   [2]*driver.Event // it is computed
}

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

// job is a Job of a call, or several that are computed side by side, with their plan.
type job struct {
	members []member
	Bases   *Bases // those of all members, and the range of them
	Offset  int
	Count   int
	plan    *msmplan.Plan
	prog    *program
	table   *table // nil where there are no multiples to use

	resident driver.Span // the scalars, when the plan says that they are on the card

	// kept is where the scalars stay on the device for later jobs of the round;
	// the first job with them fills it.
	kept     device.Region
	isKept   bool
	isFilled bool

	result device.Region // of the pinned results: the sums, then the bad scalars
}

// member is a Job in a job.
type member struct {
	Job
	at int // among the answers; -1 is that of a Round
}

func newJob(j Job, at int) *job {
	return &job{members: []member{{j, at}}, Bases: j.Bases, Offset: j.Offset, Count: j.Count}
}

// check tells whether scalars are looked at, which is the same for all members.
func (j *job) check() bool { return j.members[0].Source.Check }

// sideBySide makes one job of small ones over the same bases, as far as their
// points together are not more than what fills a card. Jobs whose scalars others
// use too stay alone, for these are sent once.
func sideBySide(jobs []*job, fills int) []*job {
	type like struct {
		bases         *Bases
		offset, count int
		check         bool
	}
	uses := make(map[*backend.Job]int)
	for _, j := range jobs {
		uses[j.members[0].Source]++
	}
	var all []*job
	growing := make(map[like]*job)
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
		g := newJob(j.members[0].Job, j.members[0].at)
		growing[k] = g
		all = append(all, g)
	}
	return all
}

// step is one chunk of a job.
type step struct {
	*job
	from, n     int
	first, last bool
}

// Compute answers the jobs of a call, in one turn. They are queued on the device
// one after the other, each step's input copied while the step before it is
// computed.
func (c *Computer) Compute(ctx context.Context, jobs []Job) (results [][]byte, err error) {
	results = make([][]byte, len(jobs))
	var all []*job
	for i := range jobs {
		if j := &jobs[i]; j.Count == 0 {
			results[i] = layout.Bytes(make([]uint64, j.Bases.Curve.PointBytes(j.Bases.Group)/8))
		} else {
			all = append(all, newJob(*j, i))
		}
	}
	rounds, err := c.inTurn(ctx, all)
	defer func() {
		for _, r := range rounds {
			clear(r.came)
		}
	}()
	if err != nil {
		return nil, err
	}
	// The host's part is done while the card is the next call's.
	for _, r := range rounds {
		if err := finishAll(r.jobs, r.came, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// inTurn has the card compute jobs, and answers the rounds with what came back.
func (c *Computer) inTurn(ctx context.Context, jobs []*job) (rounds []*round, err error) {
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, turn.End()) }()
	if rounds, err = c.rounds(turn, jobs); err != nil {
		return nil, err
	}
	for _, r := range rounds {
		if err := c.compute(ctx, turn, r); err != nil {
			return rounds, err
		}
	}
	return rounds, nil
}

// failed is the error of a job, and of one with more members the first one's.
func (j *job) failed(err error) error { return j.members[0].failed(err) }

func (m *member) failed(err error) error {
	if err == nil || m.at < 0 {
		return err
	}
	return fmt.Errorf("job %d: %w", m.Number, err)
}

// Round is an MSM whose scalars are on the card already, as a part of somebody's
// turn: it is planned, then queued in work memory and with pinned memory for what
// comes back, both the caller's; and when the card has done it, it has an answer.
type Round struct {
	round
	pipe *pipe
}

// Round plans the MSM of count of the bases from offset on, for work memory of at
// most so many bytes. The scalars come with Queue. Its user has the turn.
func (c *Computer) Round(b *Bases, offset, count int, memory int64) (*Round, error) {
	j := newJob(Job{Job: &backend.Job{Offset: offset, Count: count}, Source: &backend.Job{}, Bases: b}, -1)
	in := c.inputFor(b.Loaded, count, b.host != nil, memory)
	in.Resident = true
	if err := c.planJob(j, in); err != nil {
		return nil, err
	}
	return &Round{*newRound([]*job{j}, memory), &c.pipe}, nil
}

// Work is the bytes of work memory, the first Secret of which are to be
// overwritten, and Results those of pinned memory.
func (r *Round) Work() int64    { return r.size }
func (r *Round) Secret() int64  { return r.secret }
func (r *Round) Results() int64 { return r.results }

// Queue queues the MSM with scalars that what is on the turn's stream Compute has
// written, and returns before it is done.
func (r *Round) Queue(ctx context.Context, turn *device.Turn, scalars, work driver.Span, pinned driver.HostSpan) error {
	r.jobs[0].resident = scalars
	x := &execution{round: &r.round, pipe: r.pipe, turn: turn, memory: work, pinned: pinned}
	if r.jobs[0].Bases.host != nil {
		// Its points are copied to where those of another may be in use still.
		if err := errors.Join(turn.Compute.Record(x.done[1]), turn.Copy.Wait(x.done[1])); err != nil {
			return err
		}
	}
	return x.queue(ctx)
}

// Answer makes a point of what came back.
func (r *Round) Answer(pinned []byte) ([]byte, error) {
	answer := make([][]byte, 1)
	err := finishAll(r.jobs, pinned, answer)
	return answer[0], err
}

// round is jobs that share the work memory at the same time.
type round struct {
	jobs            []*job
	scalars, points [2]device.Region // a step's input: of even steps, and of odd ones
	rooms           int64            // where the plans' rooms begin
	secret          int64            // what comes after it are points
	size            int64
	results         int64
	came            []byte // what the card has computed, once it has
}

// rounds plans the jobs and has the memory for the first of them. Where others
// use the device too and that is not there, it plans again for what is.
func (c *Computer) rounds(turn *device.Turn, jobs []*job) ([]*round, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	bases := basesOf(jobs)
	c.Use(turn, bases...)
	rounds, err := c.roundsIn(jobs, turn.Available())
	if errors.Is(err, backend.ErrOutOfMemory) && c.Forgo(bases...) {
		rounds, err = c.roundsIn(jobs, turn.Available())
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
	return c.roundsIn(jobs, free)
}

func basesOf(jobs []*job) (bases []*Bases) {
	for _, j := range jobs {
		bases = append(bases, j.Bases)
	}
	return bases
}

// roundsIn plans the jobs: small ones side by side and all as one round where the
// memory allows, else one by one.
func (c *Computer) roundsIn(jobs []*job, memory int64) ([]*round, error) {
	together := sideBySide(jobs, c.tuningOf(jobs[0].Bases.Loaded, jobs[0].Count).Together)
	err := c.planAll(together, memory)
	if err == nil {
		jobs = together
	} else if len(together) < len(jobs) && errors.Is(err, backend.ErrOutOfMemory) {
		err = c.planAll(jobs, memory)
	}
	if err != nil {
		return nil, err
	}
	all := newRound(jobs, memory)
	if len(jobs) == 1 || all.size <= memory {
		return []*round{all}, nil
	}
	var ones []*round
	for _, j := range jobs {
		ones = append(ones, newRound([]*job{j}, memory))
	}
	return ones, nil
}

func (c *Computer) planAll(jobs []*job, memory int64) error {
	for _, j := range jobs {
		in := c.inputFor(j.Bases.Loaded, j.Count, j.Bases.host != nil, memory)
		in.Together = len(j.members)
		in.Fed = slices.ContainsFunc(j.members, func(m member) bool { return m.Source.Ready != nil })
		if err := c.planJob(j, in); err != nil {
			return j.failed(err)
		}
	}
	return nil
}

func (c *Computer) tuningOf(of backendutil.Loaded, points int) msmplan.Params {
	t := c.tuning.Params(of.Curve, of.Group, points)
	t.Shared = min(t.Shared, mostShared(c.dev))
	if c.tune != nil {
		c.tune(&t)
	}
	return t
}

func (c *Computer) inputFor(of backendutil.Loaded, count int, stream bool, memory int64) msmplan.Input {
	return msmplan.Input{Curve: of.Curve, Group: of.Group, Count: count, Together: 1, Stream: stream, Memory: memory, Params: c.tuningOf(of, count)}
}

// planJob plans a job with the multiples that its bases have in this turn.
func (c *Computer) planJob(j *job, in msmplan.Input) (err error) {
	j.table = c.tables.used(j.Bases)
	if j.table != nil {
		in.Multiples = j.table.Multiples
	}
	if j.plan, err = c.plan(in); err != nil {
		return err
	}
	j.prog, err = newProgram(c.dev, in.Curve, in.Group, in.Multiples.Edwards)
	return err
}

// plan is newPlan with a memory of its own. The caller has the turn.
func (c *Computer) plan(in msmplan.Input) (*msmplan.Plan, error) {
	if p, ok := c.plans[in]; ok {
		return p, nil
	}
	p, err := msmplan.New(in)
	if err == nil {
		if len(c.plans) > 256 {
			clear(c.plans)
		}
		c.plans[in] = p
	}
	return p, err
}

func newRound(jobs []*job, memory int64) *round {
	r := &round{jobs: jobs}
	var scalars, points, work int64
	inputs := 1
	for _, j := range jobs {
		scalars, points = max(scalars, j.plan.ScalarBytes), max(points, j.plan.StreamBytes)
		work = max(work, j.plan.Work.Size)
		if len(jobs) > 1 || len(j.plan.Chunks) > 1 {
			inputs = 2
		}
		j.isKept, j.isFilled = false, false
	}
	// The points come last: they are no secret.
	var at device.Layout
	for i := range 2 {
		r.scalars[i] = r.scalars[0]
		if i < inputs {
			r.scalars[i] = at.Take(scalars)
		}
	}
	r.rooms = at.Take(work).Off
	// Scalars of more than one job are kept on the device where there is room.
	streamed := int64(inputs) * device.Align(points)
	uses := make(map[*backend.Job][]*job)
	for _, j := range jobs {
		uses[j.members[0].Source] = append(uses[j.members[0].Source], j)
	}
	for _, j := range jobs {
		source := j.members[0].Source
		same := uses[source]
		if size := int64(len(source.Scalars)); j == same[0] && len(same) > 1 && at.Size+device.Align(size)+streamed <= memory {
			kept := at.Take(size)
			for _, s := range same {
				s.kept, s.isKept = kept, true
				s.isFilled = s != j
			}
		}
		j.result = device.Region{Off: r.results, Size: j.plan.Work.Sums.Size + device.Align(j.plan.Work.Bad.Size)}
		r.results += device.Align(j.result.Size)
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

// compute runs a round and keeps what came back.
func (c *Computer) compute(ctx context.Context, turn *device.Turn, r *round) error {
	memory, err := turn.Work(r.size, r.secret)
	if err != nil {
		return err
	}
	pinned, err := turn.Results(r.results)
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
	r.came = bytes.Clone(pinned.Bytes()[:r.results])
	return nil
}

// execution is a round on the device.
type execution struct {
	*round
	*pipe
	turn   *device.Turn
	memory driver.Span
	pinned driver.HostSpan
	steps  []step
}

// last happens when all steps are done.
func (x *execution) last() *driver.Event { return x.done[(len(x.steps)-1)%2] }

// queue queues all steps, two at a time at most.
func (x *execution) queue(ctx context.Context) error {
	for _, j := range x.jobs {
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

// scalarsOf is where the scalars of a step are, or will be: those of one member
// after those of another.
func (x *execution) scalarsOf(i int) driver.Span {
	s := &x.steps[i]
	size := int64(s.Bases.Curve.ScalarBytes())
	if s.plan.Resident {
		return s.resident.Slice(int64(s.from)*size, int64(s.n)*size)
	}
	if s.isKept {
		return s.kept.In(x.memory).Slice(int64(s.from)*size, int64(s.n)*size)
	}
	return x.scalars[i%2].In(x.memory).Slice(0, int64(len(s.members))*int64(s.n)*size)
}

// pointsOf is where the points of a step are, or will be.
func (x *execution) pointsOf(i int) driver.Span {
	s := &x.steps[i]
	first, n := int64(s.Offset+s.from), int64(s.n)
	size := int64(s.Bases.Curve.PointBytes(s.Bases.Group))
	switch {
	case s.plan.Skip > 0 || s.plan.Multiples.Edwards:
		all := s.table.memory.Span() // the rows to come as well
		from := first * s.plan.BaseBytes(s.plan.Multiples)
		return all.Slice(from, all.Size()-from)
	case s.Bases.host == nil:
		return s.Bases.memory.Span().Slice(first*size, n*size)
	}
	return x.points[i%2].In(x.memory).Slice(0, n*size)
}

// uploadBytes is the most scalars sent at a time of those that are still on their way.
const uploadBytes = 4 << 20

// upload copies the input of a step, once the step that used the place before
// no longer needs it.
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
	if !s.isFilled && !s.plan.Resident {
		size, to := s.Bases.Curve.ScalarBytes(), x.scalarsOf(i)
		for k, m := range s.members {
			// What comes while the MSM runs goes on to the card in pieces.
			most := s.n
			if m.Source.Ready != nil {
				most = max(1, uploadBytes/size)
			}
			for at := 0; at < s.n; at += most {
				n := min(most, s.n-at)
				if err := backendutil.Wait(ctx, m.Source, s.from+at+n); err != nil {
					return err
				}
				from := s.from + at
				if err := x.turn.Send(to.Slice(int64((k*s.n+at)*size), int64(n*size)), m.Source.Scalars[from*size:(from+n)*size]); err != nil {
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

// uploads tells whether a step reads something from the host.
func (s *step) uploads() bool { return !s.plan.Resident || s.Bases.host != nil }

// step launches the phases for one chunk.
func (x *execution) step(i int) error {
	s := &x.steps[i]
	p := &phases{Plan: s.plan, program: s.prog, piece: s.plan.PieceOf(s.n), TaskLists: s.plan.Work.Lists[i%2], ahead: x.turn.Compute, stream: x.turn.Compute,
		memory: x.memory.Slice(x.rooms, s.plan.Work.Size), mark: x.turn.Mark}
	if s.plan.Overlaps() {
		p.ahead = x.turn.Beside
		// What it writes over is not used any more: the step before the last, and at
		// first whatever was there.
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
	if s.first {
		if err := p.begin(); err != nil {
			return err
		}
	}
	if err := p.before(x.scalarsOf(i), s.n, s.check(), s.from, x.read[i%2]); err != nil {
		return err
	}
	if p.ahead != p.stream {
		if err := errors.Join(p.ahead.Record(x.sorted[i%2]), p.stream.Wait(x.sorted[i%2]), p.mark("sort")); err != nil {
			return err
		}
	}
	if err := p.add(x.pointsOf(i)); err != nil {
		return err
	}
	if s.last {
		if err := p.end(); err != nil {
			return err
		}
		sums := p.at(s.plan.Work.Sums)
		out := x.pinned.Slice(s.result.Off, s.result.Size)
		if err := p.stream.Download(out.Slice(0, sums.Size()), sums); err != nil {
			return err
		}
		bad := p.at(s.plan.Work.Bad)
		if err := p.stream.Download(out.Slice(sums.Size(), bad.Size()), bad); err != nil {
			return err
		}
	}
	return p.stream.Record(x.done[i%2])
}

// finishAll makes affine points of what came back, and puts them to their places, or
// the one of a Round to the first.
func finishAll(jobs []*job, came []byte, answers [][]byte) error {
	var group backendutil.Group
	var mu sync.Mutex
	var failure error
	for _, j := range jobs {
		out := came[j.result.Off : j.result.Off+j.result.Size]
		bad := out[j.plan.Work.Sums.Size:]
		each := int(j.plan.Work.Sums.Size) / len(j.members)
		for k, m := range j.members {
			sums := out[k*each : (k+1)*each]
			bad := binary.LittleEndian.Uint32(bad[4*k:])
			at := max(m.at, 0)
			group.Go(func() {
				point, err := j.finish(&m, sums, bad)
				mu.Lock()
				defer mu.Unlock()
				answers[at], failure = point, cmp.Or(failure, err)
			})
		}
	}
	group.Wait()
	return failure
}

// finish makes an affine point of a member's sums. The first scalar that is not below
// r is bad, where there is one.
func (j *job) finish(m *member, sums []byte, bad uint32) (point []byte, err error) {
	defer backendutil.Caught(&err)
	if j.check() && bad != kernel.NoIndex {
		return nil, m.failed(fmt.Errorf("%w: scalar %d of %v is not below r", backend.ErrInvalidInput, int(bad)+m.First, j.Bases.Curve))
	}
	first, _ := j.plan.Reduction()
	point, err = finishers[j.Bases.Curve][j.Bases.Group-backend.G1](sums, j.plan.Sets, j.plan.Width, first)
	return point, m.failed(err)
}
