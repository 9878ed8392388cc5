package plugin

import (
	"context"
	"errors"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// call is one request, and the shared memory that it holds.
type call struct {
	c      *Client
	caller context.Context // its values are for instrumentation, such as the span of a trace
	// req is the request. A remote call ends only when the plugin has let go of the memory or has
	// exited.
	req      *proto.RunRequest
	size     int               // upper bound of req's bytes, once it has its places
	sizes    []int             // bytes of the answers
	spaces   []backend.SpaceID // spaces that the call uses
	inputs   []input
	reads    []read        // answers in shared memory
	regions  []*shm.Region // one reference each
	buffers  []*buffer     // buffers of Alloc of which this call is a reader
	feeds    []feed
	counters []*shm.Counter // one for each feed
	checked  bool           // the plugin alone sees some of the values, and they decide whether the program fails
}

// input is bytes of the caller for the plugin.
type input struct {
	feed
	at *proto.Place // says where the bytes are
	// whole says that all bytes are written before the request is sent.
	whole bool
}

// late reports whether bytes may still be written after the request was sent.
func (in *input) late() bool { return !in.whole && (in.ready != nil || len(in.src) > inlineBytes) }

// answer is the outcome of a request.
type answer struct {
	values [][]byte
	err    error
}

// lengths gives the plugin up if the answers have other lengths than want.
func (c *Client) lengths(answers [][]byte, want []int) error {
	if len(answers) != len(want) {
		return c.nonsense("%d answers, want %d", len(answers), len(want))
	}
	for i, a := range answers {
		if len(a) != want[i] {
			return c.nonsense("answer %d has %d bytes, want %d", i, len(a), want[i])
		}
	}
	return nil
}

// do provides the inputs and makes the request.
func (k *call) do(ctx context.Context) ([][]byte, error) {
	defer k.leave()
	if err := k.prepare(ctx); err != nil {
		k.release()
		return nil, err
	}
	return k.run(ctx)
}

// prepare says where the inputs are. It takes shared memory for those that are in the caller's own,
// and copies small ones there. k holds what it took, also on an error.
func (k *call) prepare(ctx context.Context) error {
	var homeless, waiting []input
	var sizes []int
	for _, in := range k.inputs {
		switch {
		case !k.inPlace(&in):
			homeless, sizes = append(homeless, in), append(sizes, len(in.src))
		case in.ready != nil:
			waiting = append(waiting, in)
		}
	}
	if len(homeless) > 0 {
		regions, err := k.c.pool.Overwrite(ctx, sizes...)
		if err != nil {
			return err
		}
		k.regions = append(k.regions, regions...)
		for i, r := range regions {
			in := homeless[i]
			in.dst = r.Bytes()
			in.at.Bytes = wire.Region(r.Arena(), r.Offset(), len(in.src))
			if !in.late() {
				shm.Copy(in.dst, in.src)
				continue
			}
			waiting = append(waiting, in)
		}
	}
	if err := k.count(ctx, waiting); err != nil {
		return err
	}
	return k.attach(ctx)
}

// inPlace reports whether an input lies in shared memory of ours where the plugin can read it. If
// so, it says where.
func (k *call) inPlace(in *input) bool {
	r, off, ok := k.c.pool.Find(in.src)
	if !ok {
		return false
	}
	// Even if the input must be copied, they keep Free from taking the memory away.
	k.regions = append(k.regions, r)
	if b, ok := r.Owner.(*buffer); ok {
		b.enter()
		k.buffers = append(k.buffers, b)
	}
	if !shm.Aligned(in.src) {
		return false
	}
	in.at.Bytes = wire.Region(r.Arena(), r.Offset()+off, len(in.src))
	return true
}

// count gives a counter to every input that is still being written.
func (k *call) count(ctx context.Context, waiting []input) (err error) {
	if len(waiting) == 0 {
		return nil
	}
	if k.counters, err = k.c.counters.Acquire(ctx, len(waiting)); err != nil {
		return err
	}
	for i, n := range k.counters {
		in := waiting[i]
		in.counter = n
		in.at.Progress = wire.Region(n.Arena(), n.Offset(), shm.CounterSize)
		k.feeds = append(k.feeds, in.feed)
	}
	return nil
}

// attach makes the plugin map every arena that the request names.
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

// run sends the request, feeds the inputs that are still missing and waits for the answer.
func (k *call) run(ctx context.Context) ([][]byte, error) {
	wait := k.ask(ctx)
	feeding, stop := context.WithCancel(ctx)
	defer stop()
	fed := make(chan error, 1)
	if len(k.feeds) > 0 {
		go func() {
			err := runFeeds(feeding, k.feeds)
			if err != nil {
				stop()
			}
			fed <- err
		}()
	} else {
		fed <- nil
	}
	a, ended := wait(feeding)
	stop()
	err := <-fed
	if ended {
		// The plugin no longer needs the scalars, or it is gone.
		k.c.afterExit(a.err, k.release)
		return a.values, a.err
	}
	if ctx.Err() != nil {
		err = backend.Ended(ctx)
	}
	for _, n := range k.counters {
		n.Poison()
	}
	over := k.c.abandoned.add(k.spaces)
	k.c.background(func() {
		k.abandon(wait)
		over()
	})
	return nil, err
}

// waiting waits for the answer to a request. If ctx ends first it returns false, and may be called
// again. After the answer it is not called again.
type waiting func(ctx context.Context) (a answer, answered bool)

// ask sends the request, through a lane if it can.
func (k *call) ask(ctx context.Context) waiting {
	if l, message := k.c.lanes.take(ctx, k); l != nil {
		return k.throughLane(l, message)
	}
	answered := make(chan answer, 1)
	go func() {
		if k.c.sent.Acquire(ctx, 1) != nil {
			answered <- answer{err: backend.Ended(ctx)}
			return
		}
		defer k.c.sent.Release(1)
		reply, err := k.c.rpc.Run(k.c.remote(k.caller), k.req)
		if err != nil {
			answered <- answer{err: k.c.failure(err, k.checked)}
			return
		}
		answered <- k.judge(reply.GetAnswers())
	}()
	return func(ctx context.Context) (answer, bool) {
		select {
		case a := <-answered:
			return a, true
		case <-ctx.Done():
			return answer{}, false
		}
	}
}

// judge checks what the plugin has answered.
func (k *call) judge(values [][]byte) answer {
	if err := k.c.lengths(values, k.sizes); err != nil {
		return answer{err: err}
	}
	k.collect(values)
	return answer{values: values}
}

// throughLane sends the request through a lane.
func (k *call) throughLane(l *lane, message []byte) waiting {
	l.ask(message)
	return func(ctx context.Context) (answer, bool) {
		reply, err := l.await(ctx)
		if err != nil && ctx.Err() != nil && !k.c.peer.HasExited() {
			return answer{}, false
		}
		k.c.lanes.give(l)
		switch {
		case err != nil && k.c.peer.HasExited():
			return answer{err: k.c.lost(errors.New("it ended during a call"))}, true
		case err != nil:
			return answer{err: k.c.nonsense("%v", err)}, true
		case reply.GetFailure() != nil:
			told, ok := wire.FromFailure(reply.GetFailure())
			if !ok {
				return answer{err: k.c.nonsense("an error of no kind: %s", told.Text)}, true
			}
			return answer{err: k.c.told(told, k.checked)}, true
		}
		return k.judge(reply.GetAnswers()), true
	}
}

// maxCancelWait bounds the pause between two tries to cancel.
const maxCancelWait = 50 * time.Millisecond

// abandon cancels the call in the plugin, and takes the memory back when it has ended there.
func (k *call) abandon(wait waiting) {
	a := k.cancel(wait)
	for _, v := range a.values {
		clear(v)
	}
	k.c.afterExit(a.err, k.release)
}

// cancel waits for the end of a cancelled call. It asks again and again, since the plugin may not
// have begun the call yet.
func (k *call) cancel(wait waiting) answer {
	for pause := time.Millisecond; ; pause = min(2*pause, maxCancelWait) {
		reply, err := k.c.rpc.Cancel(k.c.ctx, &proto.CancelRequest{Call: k.req.Call})
		ctx, stop := k.c.ctx, func() {}
		if err == nil && !reply.Running {
			ctx, stop = context.WithTimeout(k.c.ctx, pause)
		}
		a, answered := wait(ctx)
		stop()
		if answered {
			return a
		}
	}
}

// leave makes the call no longer a reader of the caller's buffers.
func (k *call) leave() {
	for _, b := range k.buffers {
		b.leave()
	}
}

// release gives all memory back. The plugin must have stopped reading it.
func (k *call) release() {
	k.c.counters.Release(k.counters)
	for _, r := range k.regions {
		r.Release()
	}
}
