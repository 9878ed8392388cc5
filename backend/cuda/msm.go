package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/internal/layout"
)

// task is one job of a batch with its plan.
type task struct {
	number int // of the job
	job    *backend.Job
	source *backend.Job // whose scalars it uses
	bases  *resident
	plan   *plan
	prog   *program

	// kept is where the scalars stay on the device for later jobs of the batch;
	// the first job with them fills it.
	kept     region
	isKept   bool
	isFilled bool

	result region // of the pinned results: the sums, then the bad scalar
}

// step is one chunk of a task.
type step struct {
	*task
	from, n     int
	first, last bool
}

// MSM computes a batch. Calls take turns; the jobs of a batch are queued on the
// device one after the other, each step's input copied while the step before
// it is computed.
func (b *Backend) MSM(ctx context.Context, jobs []backend.Job) (_ [][]byte, err error) {
	end, err := b.bases.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	defer backendutil.Caught(&err)
	used, err := b.bases.Use(jobs)
	if err != nil {
		return nil, err
	}
	defer b.bases.Unuse(used)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	results := make([][]byte, len(jobs))
	var tasks []*task
	for i := range jobs {
		if jobs[i].Count == 0 {
			results[i] = layout.Bytes(make([]uint64, used[i].Curve.PointBytes(used[i].Group)/8))
			continue
		}
		t := &task{number: i, job: &jobs[i], source: backendutil.Source(jobs, i), bases: used[i].Kept}
		if t.prog, err = b.code.program(used[i].Curve, used[i].Group); err != nil {
			return nil, jobError(i, err)
		}
		tasks = append(tasks, t)
	}
	if err := b.take(ctx); err != nil {
		return nil, err
	}
	defer b.give()
	groups, err := b.groups(tasks)
	if err != nil {
		return nil, err
	}
	for _, group := range groups {
		if err := b.compute(ctx, group, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// batch is tasks that share the work memory at the same time.
type batch struct {
	tasks           []*task
	scalars, points [2]region // a step's input, by turns
	work            int64     // where the plans' rooms begin
	size            int64
	results         int64
}

// available is the memory for work. The caller has the turn.
func (b *Backend) available() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.budget - (b.used - b.desk.held())
}

// groups plans the tasks and has the memory for the first of them. Where others
// use the device too and that is not there, it plans again for what is.
func (b *Backend) groups(tasks []*task) ([]*batch, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	groups, err := b.groupsIn(tasks, b.available())
	if err != nil {
		return nil, err
	}
	_, err = b.workMemory(groups[0].size)
	if !errors.Is(err, backend.ErrOutOfMemory) {
		return groups, err
	}
	free, _, failed := b.dev.MemInfo()
	if failed != nil || free >= groups[0].size {
		return nil, err
	}
	return b.groupsIn(tasks, free)
}

// groupsIn plans the tasks: as one batch where the memory allows, else one by one.
func (b *Backend) groupsIn(tasks []*task, memory int64) ([]*batch, error) {
	for _, t := range tasks {
		var err error
		t.plan, err = b.plan(b.inputFor(t.bases.Loaded, t.job.Count, t.bases.host != nil, memory))
		if err != nil {
			return nil, jobError(t.number, err)
		}
	}
	all := newBatch(tasks, memory)
	if len(tasks) == 1 || all.size <= memory {
		return []*batch{all}, nil
	}
	var ones []*batch
	for _, t := range tasks {
		ones = append(ones, newBatch([]*task{t}, memory))
	}
	return ones, nil
}

// plan is newPlan with a memory of its own.
func (b *Backend) plan(in input) (*plan, error) {
	if p, ok := b.plans[in]; ok {
		return p, nil
	}
	p, err := newPlan(in)
	if err == nil {
		if len(b.plans) > 256 {
			clear(b.plans)
		}
		b.plans[in] = p
	}
	return p, err
}

func newBatch(tasks []*task, memory int64) *batch {
	g := &batch{tasks: tasks}
	var at room
	var scalars, points, work, turns int64
	for _, t := range tasks {
		scalars, points = max(scalars, t.plan.scalarBytes), max(points, t.plan.streamBytes)
		work = max(work, t.plan.room.size)
		turns = max(turns, int64(len(t.plan.chunks)))
		t.isKept, t.isFilled = false, false
	}
	if len(tasks) > 1 {
		turns = 2
	}
	for i := range 2 {
		if i > 0 && turns == 1 {
			g.scalars[1], g.points[1] = g.scalars[0], g.points[0]
			break
		}
		g.scalars[i], g.points[i] = at.take(scalars), at.take(points)
	}
	g.work = at.size
	at.take(work)
	// Scalars of more than one job are kept on the device where there is room.
	uses := make(map[*backend.Job][]*task)
	for _, t := range tasks {
		uses[t.source] = append(uses[t.source], t)
	}
	for _, t := range tasks {
		same := uses[t.source]
		if size := int64(len(t.source.Scalars)); t == same[0] && len(same) > 1 && at.size+round(size) <= memory {
			kept := at.take(size)
			for _, s := range same {
				s.kept, s.isKept = kept, true
				s.isFilled = s != t
			}
		}
		t.result = region{g.results, int64(t.plan.sets)*t.plan.sumBytes() + 8}
		g.results += round(t.result.size)
	}
	g.size = at.size
	return g
}

// compute runs a batch and stores the answers.
func (b *Backend) compute(ctx context.Context, g *batch, results [][]byte) (err error) {
	memory, err := b.workMemory(g.size)
	if err != nil {
		return err
	}
	pinned, err := b.desk.results(g.results)
	if err != nil {
		return err
	}
	defer pinned.Wipe()
	x := &execution{Backend: b, desk: b.desk, batch: g, memory: memory, pinned: pinned.Span(), tracer: newTracer(b)}
	if err := x.run(ctx); err != nil {
		return err
	}
	answers, err := finishAll(g.tasks, pinned.Bytes())
	if err != nil {
		return err
	}
	for i, t := range g.tasks {
		results[t.number] = answers[i]
	}
	return nil
}

// workMemory is size bytes that stay allocated for later calls.
func (b *Backend) workMemory(size int64) (driver.Span, error) {
	d := b.desk
	if d.held() >= size {
		return d.memory.Span().Slice(0, size), nil
	}
	b.mu.Lock()
	b.used -= d.held()
	b.mu.Unlock()
	if err := d.drop(); err != nil {
		return driver.Span{}, err
	}
	m, err := b.dev.Alloc(size)
	if err != nil {
		return driver.Span{}, fmt.Errorf("work memory of %d bytes: %w", size, err)
	}
	d.memory = m
	b.mu.Lock()
	b.used += size
	b.mu.Unlock()
	return m.Span(), nil
}

// execution is a batch on the device.
type execution struct {
	*Backend
	*desk
	*batch
	memory driver.Span
	pinned driver.HostSpan
	tracer *tracer
	steps  []step
}

// run queues all steps, two at a time at most, and waits for the results.
func (x *execution) run(ctx context.Context) (err error) {
	for _, t := range x.tasks {
		for i, from := 0, 0; i < len(t.plan.chunks); i++ {
			n := t.plan.chunks[i]
			x.steps = append(x.steps, step{t, from, n, i == 0, i == len(t.plan.chunks)-1})
			from += n
		}
	}
	defer func() {
		if err != nil {
			// Nothing may read the caller's memory any more, or write results.
			err = errors.Join(err, x.desk.copy.Synchronize(), x.desk.compute.Synchronize())
		}
		x.tracer.report()
		err = errors.Join(err, x.wipe())
	}()
	x.tracer.start()
	if err := x.upload(ctx, 0); err != nil {
		return err
	}
	for i := range x.steps {
		if i >= 2 {
			if err := x.done[i%2].Synchronize(); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.step(i); err != nil {
			return jobError(x.steps[i].number, err)
		}
		if i+1 < len(x.steps) {
			if err := x.upload(ctx, i+1); err != nil {
				return err
			}
		}
	}
	if err := x.done[(len(x.steps)-1)%2].Synchronize(); err != nil {
		return err
	}
	return nil
}

func (x *execution) at(r region) driver.Span { return x.memory.Slice(r.off, r.size) }

// scalarsOf is where the scalars of a step are, or will be.
func (x *execution) scalarsOf(i int) driver.Span {
	s := &x.steps[i]
	size := int64(s.bases.Curve.ScalarBytes())
	if s.isKept {
		return x.at(s.kept).Slice(int64(s.from)*size, int64(s.n)*size)
	}
	return x.at(x.scalars[i%2]).Slice(0, int64(s.n)*size)
}

// pointsOf is where the points of a step are, or will be.
func (x *execution) pointsOf(i int) driver.Span {
	s := &x.steps[i]
	size := int64(s.bases.Curve.PointBytes(s.bases.Group))
	if s.bases.host == nil {
		return s.bases.memory.Span().Slice(int64(s.job.Offset+s.from)*size, int64(s.n)*size)
	}
	return x.at(x.points[i%2]).Slice(0, int64(s.n)*size)
}

// upload copies the input of a step, once the step that used the place before
// no longer needs it.
func (x *execution) upload(ctx context.Context, i int) error {
	s := &x.steps[i]
	if err := backendutil.Wait(ctx, s.source, s.from+s.n); err != nil {
		return err
	}
	if i >= 2 {
		free := x.read[i%2]
		if s.bases.host != nil || x.steps[i-2].bases.host != nil {
			free = x.done[i%2]
		}
		if err := x.desk.copy.Wait(free); err != nil {
			return err
		}
	}
	if !s.isFilled {
		size := s.bases.Curve.ScalarBytes()
		if err := x.send(x.scalarsOf(i), s.source.Scalars[s.from*size:(s.from+s.n)*size]); err != nil {
			return jobError(s.number, err)
		}
	}
	if s.bases.host != nil {
		size := s.bases.Curve.PointBytes(s.bases.Group)
		from := s.job.Offset + s.from
		if err := x.send(x.pointsOf(i), s.bases.host[from*size:(from+s.n)*size]); err != nil {
			return jobError(s.number, err)
		}
	}
	return x.desk.copy.Record(x.copied[i%2])
}

// send copies to the device: memory that the device can read by itself without
// waiting, any other before it returns.
func (x *execution) send(dst driver.Span, src []byte) error {
	if h, ok := x.desk.dev.FindHost(src); ok {
		return x.desk.copy.Upload(dst, h)
	}
	return x.desk.copy.Write(dst, src)
}

// step launches the phases for one chunk.
func (x *execution) step(i int) error {
	s := &x.steps[i]
	r := &run{plan: s.plan, program: s.prog, stream: x.desk.compute,
		memory: x.memory.Slice(x.work, s.plan.room.size), mark: x.tracer.mark}
	if err := r.stream.Wait(x.copied[i%2]); err != nil {
		return err
	}
	if err := x.tracer.mark("copy"); err != nil {
		return err
	}
	if s.first {
		if err := r.begin(); err != nil {
			return err
		}
	}
	if err := r.step(x.pointsOf(i), x.scalarsOf(i), s.n, 0, s.source.Check, s.from, x.read[i%2]); err != nil {
		return err
	}
	if s.last {
		if err := r.end(); err != nil {
			return err
		}
		sums := r.at(s.plan.room.sums)
		out := x.pinned.Slice(s.result.off, s.result.size)
		if err := r.stream.Download(out.Slice(0, sums.Size()), sums); err != nil {
			return err
		}
		if err := r.stream.Download(out.Slice(sums.Size(), 4), r.at(s.plan.room.bad)); err != nil {
			return err
		}
	}
	return r.stream.Record(x.done[i%2])
}

// wipe queues the overwriting of what scalars can be told from. It is done
// before the next call's work, or the memory is given back, begins.
func (x *execution) wipe() error {
	return errors.Join(
		x.desk.compute.Fill(x.memory, 0),
		// The next call copies on the other stream.
		x.desk.compute.Record(x.read[0]),
		x.desk.copy.Wait(x.read[0]),
	)
}

// finishAll makes affine points of what came back.
func finishAll(tasks []*task, pinned []byte) ([][]byte, error) {
	answers := make([][]byte, len(tasks))
	var g errgroup.Group
	for i, t := range tasks {
		g.Go(func() (err error) {
			out := pinned[t.result.off : t.result.off+t.result.size]
			sums := out[:int64(t.plan.sets)*t.plan.sumBytes()]
			if bad := binary.LittleEndian.Uint32(out[len(sums):]); t.source.Check && bad != none {
				return jobError(t.number, fmt.Errorf("%w: scalar %d of %v is not below r", backend.ErrInvalidInput, bad, t.bases.Curve))
			}
			answers[i], err = finishers[t.bases.Curve][t.bases.Group-backend.G1](sums, t.plan.width)
			return jobError(t.number, err)
		})
	}
	return answers, g.Wait()
}
