package plugin

import (
	"context"
	"fmt"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/plugin/proto"
	"github.com/pippin-zk/pippin/plugin/shm"
)

// maxJobs bounds a batch, so that a request stays small.
const maxJobs = 1 << 14

// call is one MSM request and the shared memory that it holds.
type call struct {
	c        *Client
	req      *proto.MSMRequest
	points   []int         // bytes of each answer
	regions  []*shm.Region // one reference each
	buffers  []*buffer     // the caller's own, this call being a reader
	feeds    []feed
	counters []*shm.Counter // one a feed
	waiting  []*proto.Job   // the jobs of the feeds
	checked  bool           // the plugin looks at the scalars
}

// answer is what came of a request.
type answer struct {
	points [][]byte
	err    error
}

// MSM implements backend.Backend. Scalars in a buffer of Alloc are used where
// they are; others are copied to shared memory, which is wiped afterwards.
// When ctx ends it returns as soon as no scalars of the caller are read, and
// the plugin is told to give up.
func (c *Client) MSM(ctx context.Context, jobs []backend.Job) (_ [][]byte, err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end(&err)
	used, err := c.bases.UseJobs(jobs)
	if err != nil {
		return nil, err
	}
	defer c.bases.EndJobs(used)
	if len(jobs) > maxJobs {
		return nil, fmt.Errorf("%w: %d jobs in a batch, a plugin takes %d", backend.ErrUnsupported, len(jobs), maxJobs)
	}
	if len(jobs) == 0 {
		return [][]byte{}, nil
	}
	k := &call{c: c, req: &proto.MSMRequest{Call: c.calls.Add(1)}}
	defer k.leave()
	if err := k.prepare(run, jobs, used); err != nil {
		k.release()
		return nil, err
	}
	return k.run(run)
}

// prepare says where the scalars are, takes memory for those that are the
// caller's, and copies what is small. What it took is in k, also on an error.
func (k *call) prepare(ctx context.Context, jobs []backend.Job, used []*backendutil.Resident[struct{}]) error {
	var homeless []feed // without a region yet
	var places []*proto.Job
	var sizes []int
	for i := range jobs {
		j, bases := &jobs[i], used[i].Loaded
		k.points = append(k.points, bases.Curve.PointBytes(bases.Group))
		w := &proto.Job{
			Bases: uint64(j.Bases), Offset: uint64(j.Offset), Count: uint64(j.Count),
			SameAs: uint32(j.SameAs), Check: j.Check,
		}
		k.req.Jobs = append(k.req.Jobs, w)
		k.checked = k.checked || j.Check
		if len(j.Scalars) == 0 {
			continue
		}
		f := feed{src: j.Scalars, scalar: bases.Curve.ScalarBytes()}
		if j.Ready != nil {
			f.ready = func(ctx context.Context, n int) error { return backendutil.Wait(ctx, j, n) }
		}
		if k.inPlace(w, f.src) {
			if f.ready != nil {
				k.feeds, k.waiting = append(k.feeds, f), append(k.waiting, w)
			}
			continue
		}
		homeless, places, sizes = append(homeless, f), append(places, w), append(sizes, len(f.src))
	}
	if len(homeless) > 0 {
		regions, err := k.c.pool.Acquire(ctx, sizes...)
		if err != nil {
			return err
		}
		k.regions = append(k.regions, regions...)
		for i, r := range regions {
			f, w := homeless[i], places[i]
			f.dst = r.Bytes()
			w.Scalars = wire(r.Arena(), r.Offset(), len(f.src))
			if f.ready == nil && len(f.src) <= inlineBytes {
				copy(f.dst, f.src)
				continue
			}
			k.feeds, k.waiting = append(k.feeds, f), append(k.waiting, w)
		}
	}
	if err := k.count(ctx); err != nil {
		return err
	}
	return k.attach(ctx)
}

// inPlace tells whether scalars are in a buffer of ours where the plugin can
// read them, and then where.
func (k *call) inPlace(w *proto.Job, scalars []byte) bool {
	r, off, ok := k.c.pool.Find(scalars)
	if !ok {
		return false
	}
	// The reference and the reader also protect a copy from a Free.
	k.regions = append(k.regions, r)
	if b, ok := r.Owner.(*buffer); ok {
		b.enter()
		k.buffers = append(k.buffers, b)
	}
	if !shm.Aligned(scalars) {
		return false
	}
	w.Scalars = wire(r.Arena(), r.Offset()+off, len(scalars))
	return true
}

// wire names shared memory to the plugin.
func wire(a *shm.Arena, offset, length int) *proto.Region {
	return &proto.Region{Arena: a.ID(), Offset: uint64(offset), Length: uint64(length)}
}

// count gives every feed a counter.
func (k *call) count(ctx context.Context) (err error) {
	if len(k.feeds) == 0 {
		return nil
	}
	if k.counters, err = k.c.counters.Acquire(ctx, len(k.feeds)); err != nil {
		return err
	}
	for i, n := range k.counters {
		k.feeds[i].counter = n
		k.waiting[i].Progress = wire(n.Arena(), n.Offset(), shm.CounterSize)
	}
	return nil
}

// attach makes the plugin map every arena of the request.
func (k *call) attach(ctx context.Context) error {
	for _, r := range k.regions {
		if err := k.c.arenas.attach(ctx, r); err != nil {
			return err
		}
	}
	for _, n := range k.counters {
		if err := k.c.arenas.attach(ctx, n.Region()); err != nil {
			return err
		}
	}
	return nil
}

// run sends the request, brings the scalars and waits for the answer.
func (k *call) run(ctx context.Context) ([][]byte, error) {
	answered := make(chan answer, 1)
	go func() { answered <- k.ask() }()

	feeding, stop := context.WithCancel(ctx)
	defer stop()
	fed := make(chan error, 1)
	if len(k.feeds) > 0 {
		go func() { fed <- runFeeds(feeding, k.feeds) }()
	} else {
		fed <- nil
	}
	var err error
	for waiting := true; waiting; {
		select {
		case a := <-answered:
			// The plugin needs no more of the scalars, or it is gone.
			stop()
			if fed != nil {
				<-fed
			}
			k.c.afterExit(a.err, k.release)
			return a.points, a.err
		case err = <-fed:
			fed, waiting = nil, err == nil
		case <-ctx.Done():
			waiting = false
		}
	}
	stop()
	if fed != nil {
		<-fed
	}
	if ctx.Err() != nil {
		err = backend.Ended(ctx)
	}
	for _, n := range k.counters {
		n.Poison()
	}
	k.c.background(func() { k.abandon(answered) })
	return nil, err
}

// ask makes the remote call. It ends when the plugin has let go of the memory
// or has exited.
func (k *call) ask() answer {
	reply, err := k.c.rpc.MSM(k.c.ctx, k.req)
	if err != nil {
		return answer{err: k.c.failure(err, k.checked)}
	}
	if len(reply.Points) != len(k.points) {
		return answer{err: k.c.nonsense("%d points for %d jobs", len(reply.Points), len(k.points))}
	}
	for i, p := range reply.Points {
		if len(p) != k.points[i] {
			return answer{err: k.c.nonsense("a point of %d bytes for job %d, want %d", len(p), i, k.points[i])}
		}
	}
	return answer{points: reply.Points}
}

// maxCancelWait bounds the pause between two tries to cancel.
const maxCancelWait = 50 * time.Millisecond

// abandon cancels the call at the plugin and takes the memory back when it
// has ended there.
func (k *call) abandon(answered <-chan answer) {
	a := k.cancel(answered)
	k.c.afterExit(a.err, k.release)
}

// cancel waits for the end of a cancelled call. The plugin may not have begun
// it yet, so it asks again.
func (k *call) cancel(answered <-chan answer) answer {
	for wait := time.Millisecond; ; wait = min(2*wait, maxCancelWait) {
		reply, err := k.c.rpc.Cancel(k.c.ctx, &proto.CancelRequest{Call: k.req.Call})
		if err != nil || reply.Running {
			return <-answered
		}
		select {
		case a := <-answered:
			return a
		case <-time.After(wait):
		}
	}
}

// leave ends the reading of the caller's own buffers, as he sees it.
func (k *call) leave() {
	for _, b := range k.buffers {
		b.leave()
	}
}

// release gives all memory back. The plugin must not read it any more.
func (k *call) release() {
	k.c.counters.Release(k.counters)
	for _, r := range k.regions {
		r.Release()
	}
}
