package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/resident"
	"github.com/pippin-zk/pippin/plugin/internal/process"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/text"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// Client is a backend in a plugin's process or in a daemon. It lives as long as that process, or as
// the connection. When the plugin dies, hangs or breaks the protocol, every call fails with
// backend.ErrGone. Client implements backend.Backend, backend.Allocator, backend.Programs,
// backend.Metered and backend.Killer.
type Client struct {
	name    string
	info    backend.Info
	rpc     proto.BackendClient
	channel *shm.Channel
	peer    peer
	graces  graces
	digests bool // the peer knows bases by their digest
	tests   bool // the peer tests its devices

	// ctx is that of every remote call. It ends when the process has exited and not earlier, since
	// until then the plugin may read our memory.
	ctx context.Context
	// life ends when the plugin is lost; its cause says why. The process may not have exited yet.
	life context.Context
	die  context.CancelCauseFunc

	arenas    arenas
	pool      *shm.Pool
	ownPool   bool
	staging   *shm.Pool
	replies   *shm.Pool // the plugin writes it
	chunk     int       // bytes of one chunk of bases
	counters  *shm.Counters
	lanes     lanes
	abandoned abandoned
	calls     atomic.Uint64
	usage     atomic.Pointer[backend.Usage] // as of the last ping or test
	files     atomic.Uint64
	loads     *semaphore.Weighted // loads in the plugin, given up ones included
	sent      *semaphore.Weighted // calls through gRPC, given up ones included

	// kept has the bases and spaces by the plugin's own ids, and counts who uses each: a request to
	// free one must not overtake a call on its way to the plugin.
	kept *resident.Set[struct{}, struct{}]

	mu      sync.Mutex
	closed  bool
	verdict error         // the first reason to give the plugin up
	ended   chan struct{} // closed when Close is done
	inside  sync.WaitGroup
	outside sync.WaitGroup // what cancelled calls left running
}

// Limits of what may be in a plugin at the same time. Each thing has at most one descriptor on its
// way, and the plugin takes wire.MaxDescriptors.
const (
	maxLoads     = 16
	maxAttaching = 8
)

var (
	_ backend.Backend   = (*Client)(nil)
	_ backend.Allocator = (*Client)(nil)
	_ backend.Programs  = (*Client)(nil)
	_ backend.Metered   = (*Client)(nil)
	_ backend.Tester    = (*Client)(nil)
	_ backend.Killer    = (*Client)(nil)
	_                   = [wire.MaxDescriptors - maxLoads - maxAttaching]struct{}{}
)

func newClient(spec Spec, info backend.Info, opened *proto.OpenReply, rpc proto.BackendClient, ch *shm.Channel, peer peer) *Client {
	ctx, exited := context.WithCancel(context.Background())
	life, die := context.WithCancelCause(context.Background())
	c := &Client{
		name: spec.Name, info: info, rpc: rpc, channel: ch, peer: peer, graces: defaultGraces,
		ctx: ctx, life: life, die: die,
		staging: shm.NewPool(shm.PoolOptions{Budget: int64(spec.StagingBytes), MaxArenas: 8, Public: true}),
		replies: shm.NewPool(shm.PoolOptions{Budget: cmp.Or(spec.answers, spec.Budget), MaxArenas: 8, Answers: true}),
		chunk:   max(spec.StagingBytes/3/shm.PageSize, 1) * shm.PageSize,
		loads:   semaphore.NewWeighted(maxLoads),
		sent:    semaphore.NewWeighted(wire.MaxCalls),
		kept:    resident.New[struct{}, struct{}](spec.Name),
		ended:   make(chan struct{}),
	}
	memory := spec.Memory
	if memory == nil {
		memory, c.ownPool = NewMemory(spec.Budget), true
	}
	c.pool = memory.pool
	c.counters = shm.NewCounters()
	c.arenas.init(c)
	c.digests, c.tests = opened.GetDigests(), opened.GetTests()
	// With options of gRPC there are no lanes: an instrumentation sees only what goes through gRPC.
	c.lanes.init(c, opened.GetLanes() && len(spec.GRPC) == 0)
	go func() {
		<-peer.Exited()
		exited()
		c.lost(errors.New("it ended"))
	}()
	return c
}

// Info returns what the plugin said of its backend when it was opened.
func (c *Client) Info() backend.Info { return c.info }

// Done returns a channel that is closed when the plugin's process has exited, for whatever reason,
// or was given up and killed.
func (c *Client) Done() <-chan struct{} { return c.life.Done() }

// begin counts a call in; end counts it out. run ends with ctx, and also when the plugin is lost:
// then end makes that the call's error.
func (c *Client) begin(ctx context.Context) (run context.Context, end func(*error), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, fmt.Errorf("%w: plugin %s", backend.ErrClosed, c.name)
	}
	if c.life.Err() != nil {
		return nil, nil, context.Cause(c.life)
	}
	if err := backend.Ended(ctx); err != nil {
		return nil, nil, err
	}
	c.inside.Add(1)
	run, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return run, func(err *error) {
		stop()
		cancel()
		if errors.Is(*err, context.Canceled) && ctx.Err() == nil && c.life.Err() != nil {
			*err = context.Cause(c.life)
		}
		c.inside.Done()
	}, nil
}

// remote returns the context of a remote call. It ends with the process, and has the values of the
// caller's context, such as the span of a trace.
func (c *Client) remote(caller context.Context) context.Context { return remote{c.ctx, caller} }

type remote struct {
	context.Context
	caller context.Context
}

func (r remote) Value(key any) any {
	if v := r.Context.Value(key); v != nil {
		return v
	}
	return r.caller.Value(key)
}

// background runs what is left of a cancelled call. Close waits for it, but only for a while.
func (c *Client) background(f func()) { c.outside.Go(f) }

// lost ends a plugin that died, hangs or broke the protocol, and returns the error for its calls.
// When lost returns, the process has exited, unless not even SIGKILL ended it.
func (c *Client) lost(cause error) error {
	cause = c.accuse(cause)
	c.peer.End(process.ExitGrace)
	c.die(fmt.Errorf("%w: plugin %s: %w; %s", backend.ErrGone, c.name, text.Error{Err: cause}, c.peer.Obituary()))
	return context.Cause(c.life)
}

// accuse records why the plugin is given up, and returns the first reason recorded.
func (c *Client) accuse(cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verdict == nil {
		c.verdict = cause
	}
	return c.verdict
}

// afterExit calls f when the plugin no longer reads our memory after a call that ended with err.
// That is at once, unless the plugin was lost: then it is when the process has exited.
func (c *Client) afterExit(err error, f func()) {
	if !errors.Is(err, backend.ErrGone) || c.peer.HasExited() {
		f()
		return
	}
	c.background(func() {
		<-c.ctx.Done()
		f()
	})
}

// failure returns the caller's error for the error of a remote call. checked says that the plugin
// was asked to check bytes that nobody has checked here. Everything else was checked here, so a
// plugin that calls it invalid has a fault itself.
func (c *Client) failure(err error, checked bool) error {
	remote, ok := wire.FromStatus(err)
	if !ok {
		// If the process is dead, what go-plugin and gRPC say about a lost connection helps nobody.
		if c.peer.ExitedWithin(process.ExitGrace) {
			err = errors.New("it ended during a call")
		}
		return c.lost(err)
	}
	return c.told(remote, checked)
}

// told returns the caller's error for an error that the plugin returned on purpose.
func (c *Client) told(remote *wire.RemoteError, checked bool) error {
	switch {
	case remote.Is(backend.ErrGone), remote.Is(backend.ErrClosed), remote.Is(backend.ErrUnavailable):
		// We have neither closed the backend nor failed to open it.
		return c.lost(remote)
	case remote.Is(context.Canceled), remote.Is(context.DeadlineExceeded), !checked && remote.Is(backend.ErrInvalidInput):
		remote.Kinds = []error{backend.ErrInternal}
	}
	return fmt.Errorf("plugin %s: %w", c.name, remote)
}

// nonsense gives the plugin up for an answer that no correct plugin gives.
func (c *Client) nonsense(format string, a ...any) error {
	return c.lost(fmt.Errorf("it broke the protocol: "+format, a...))
}

// Ping implements backend.Backend. The plugin answers it even while it computes.
func (c *Client) Ping(ctx context.Context) error {
	return c.keepUsage(ctx, func(ctx context.Context) (usageReply, error) { return c.rpc.Ping(ctx, &proto.PingRequest{}) })
}

// Test implements backend.Tester. A plugin that tests no devices is backend.ErrUnsupported.
func (c *Client) Test(ctx context.Context) error {
	if !c.tests {
		return fmt.Errorf("%w: plugin %s tests no devices", backend.ErrUnsupported, c.name)
	}
	return c.keepUsage(ctx, func(ctx context.Context) (usageReply, error) { return c.rpc.Test(ctx, &proto.TestRequest{}) })
}

// usageReply is a reply that says what the plugin has counted.
type usageReply interface{ GetUsage() *proto.Usage }

// keepUsage makes a request, and keeps what the plugin says that it has counted.
func (c *Client) keepUsage(ctx context.Context, ask func(context.Context) (usageReply, error)) (err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end(&err)
	reply, err := ask(run)
	if err != nil {
		if run.Err() != nil {
			return backend.Ended(run)
		}
		return c.failure(err, false)
	}
	u := wire.ToUsage(reply.GetUsage())
	c.usage.Store(&u)
	return nil
}

// Usage implements backend.Metered. It returns what the plugin said at the last ping or test: nothing
// before the first one, and nothing from a plugin that does not count.
func (c *Client) Usage() backend.Usage {
	if u := c.usage.Load(); u != nil {
		return *u
	}
	return backend.Usage{}
}

// FreeBases implements backend.Backend.
func (c *Client) FreeBases(ctx context.Context, id backend.BasesID) (err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end(&err)
	// Whoever uses the bases stops when its call ends, which it also does if the process dies.
	return c.kept.FreeBases(run, id, func(struct{}) error {
		_, err := c.rpc.FreeBases(c.ctx, &proto.FreeBasesRequest{Bases: uint64(id)})
		if err != nil {
			err = c.failure(err, false)
		}
		return err
	})
}

// graces are the limits of Close: the time between two pings while it waits for calls, and the time
// for the answer to a ping, for what cancelled calls left running, for the backend to close, and
// for the process to exit.
type graces struct{ ping, answer, abandoned, close, exit time.Duration }

var defaultGraces = graces{
	ping: time.Second, answer: 5 * time.Second, abandoned: 5 * time.Second, close: 10 * time.Second, exit: 3 * time.Second,
}

// Close implements backend.Backend. It waits for the calls in flight as long as the plugin answers
// pings. Then it closes the backend and ends the process, by force if necessary; each of these
// waits has a limit. It fails only if SIGKILL does not end the process, such as one that waits in a
// broken driver: the error is backend.ErrInternal, and what the process holds is freed when it
// ends. Buffers stay valid until they are freed.
func (c *Client) Close() error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.mu.Unlock()
	if first {
		go c.shutDown()
	}
	select {
	case <-c.ended:
		return nil
	case <-c.peer.Stuck():
		return fmt.Errorf("%w: plugin %s cannot be killed; %s", backend.ErrInternal, c.name, c.peer.Obituary())
	}
}

// Kill implements backend.Killer. It kills the plugin, or ends the connection to a daemon.
func (c *Client) Kill(cause error) {
	c.accuse(cause)
	_ = c.peer.Kill(c.ctx)
	c.lost(cause)
}

// shutDown does the work of Close. No new call begins any more.
func (c *Client) shutDown() {
	defer close(c.ended)
	c.patiently(c.inside.Wait, 0)
	c.arenas.close()
	abandoned := c.patiently(func() {
		c.outside.Wait()
		c.kept.Close()
	}, c.graces.abandoned)
	c.patiently(c.lanes.end, 0)
	c.patiently(func() {
		ctx, cancel := context.WithTimeout(c.ctx, c.graces.close)
		defer cancel()
		if _, err := c.rpc.Close(ctx, &proto.CloseRequest{}); err != nil {
			c.kill()
		}
	}, 0)
	<-c.patiently(c.peer.Leave, c.graces.exit)
	<-abandoned
	c.channel.Close()
	c.counters.Close()
	c.lanes.close()
	c.staging.Close()
	c.replies.Close()
	if c.ownPool {
		c.pool.Close()
	}
	<-c.life.Done()
}

// patiently runs f and waits for it as long as the plugin answers pings and, unless limit is 0, no
// longer than limit. Then it kills the plugin. The returned channel is closed when f has ended.
func (c *Client) patiently(f func(), limit time.Duration) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	var over <-chan time.Time
	if limit > 0 {
		over = time.After(limit)
	}
	for {
		select {
		case <-done:
			return done
		case <-over:
			c.kill()
			return done
		case <-time.After(c.graces.ping):
			if c.life.Err() == nil && !c.answers() {
				c.lost(fmt.Errorf("it did not answer for %v", c.graces.answer))
			}
		}
	}
}

// kill ends a plugin that takes too long to end.
func (c *Client) kill() { _ = c.peer.Kill(c.ctx) }

// answers reports whether the plugin answers a ping, with or without an error.
func (c *Client) answers() bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.graces.answer)
	defer cancel()
	_, err := c.rpc.Ping(ctx, &proto.PingRequest{})
	if err == nil {
		return true
	}
	_, ok := wire.FromStatus(err)
	return ok
}
