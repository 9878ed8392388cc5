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
	caller context.Context // for what instrumentation finds there
	// req is what is asked. A remote call ends when the plugin has let go of the memory
	// or has exited.
	req      *proto.RunRequest
	size     int               // most bytes of req, once its places are known
	sizes    []int             // bytes of the answers
	spaces   []backend.SpaceID // that it uses
	inputs   []input
	reads    []read        // answers in shared memory
	regions  []*shm.Region // one reference each
	buffers  []*buffer     // the caller's own, this call being a reader
	feeds    []feed
	counters []*shm.Counter // one a feed
	checked  bool           // the plugin sees values that decide whether the program fails
}

// input is bytes of the caller's for the plugin.
type input struct {
	feed
	at *proto.Place // says where the bytes are
	// whole tells that all of them are written before the request is sent.
	whole bool
}

// late reports whether the bytes may still be written after the request was sent.
func (in *input) late() bool { return !in.whole && (in.ready != nil || len(in.src) > inlineBytes) }

// answer is what came of a request.
type answer struct {
	values [][]byte
	err    error
}

// lengths refuses answers of other lengths than these.
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

// do brings the inputs and makes the request.
func (k *call) do(ctx context.Context) ([][]byte, error) {
	defer k.leave()
	if err := k.prepare(ctx); err != nil {
		k.release()
		return nil, err
	}
	return k.run(ctx)
}

// prepare says where the inputs are, takes memory for those that are the
// caller's, and copies what is small. What it took is in k, also on an error.
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

// inPlace reports whether an input is in a buffer of ours where the plugin can
// read it, and then where.
func (k *call) inPlace(in *input) bool {
	r, off, ok := k.c.pool.Find(in.src)
	if !ok {
		return false
	}
	// The reference and the reader also protect a copy from a Free.
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

// count gives every input that is not there yet a counter.
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

// run sends the request, brings what is not there yet and waits for the answer.
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
		// The plugin needs no more of the scalars, or it is gone.
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

// waiting waits for the answer to a request, or for the end of ctx: then it goes
// on, and can be waited for again. Once it is answered nobody asks again.
type waiting func(ctx context.Context) (a answer, answered bool)

// ask sends the request, the short way where it can.
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

// judge looks at what the plugin has answered.
func (k *call) judge(values [][]byte) answer {
	if err := k.c.lengths(values, k.sizes); err != nil {
		return answer{err: err}
	}
	k.collect(values)
	return answer{values: values}
}

// throughLane asks in a lane.
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

// abandon cancels the call at the plugin and takes the memory back when it
// has ended there.
func (k *call) abandon(wait waiting) {
	a := k.cancel(wait)
	for _, v := range a.values {
		clear(v)
	}
	k.c.afterExit(a.err, k.release)
}

// cancel waits for the end of a cancelled call. The plugin may not have begun
// it yet, so it asks again.
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
