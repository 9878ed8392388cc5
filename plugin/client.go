package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
	"github.com/pippin-zk/pippin/plugin/proto"
	"github.com/pippin-zk/pippin/plugin/shm"
)

// Client is a backend in a plugin's process. It serves for the life of that
// process: when it dies, or answers what it must not, every call fails with
// backend.ErrGone. It implements backend.Backend and backend.Allocator.
type Client struct {
	name    string
	info    backend.Info
	rpc     proto.BackendClient
	channel *shm.Channel
	proc    *process
	gp      *goplugin.Client
	graces  graces

	// ctx is every remote call's: it ends when the process has exited, never
	// earlier, since until then the plugin may read our memory.
	ctx context.Context

	arenas   arenas
	pool     *shm.Pool
	ownPool  bool
	staging  *shm.Pool
	slot     int // bytes of one chunk of bases
	counters *shm.Counters
	calls    atomic.Uint64
	files    atomic.Uint64

	// bases are the plugin's by its own ids, with who uses them: FreeBases
	// must not overtake a call on its way to the plugin.
	bases *backendutil.Residents[struct{}]

	mu      sync.Mutex
	closed  bool
	ended   chan struct{} // closed when Close is done
	cause   error         // why it is gone
	inside  sync.WaitGroup
	outside sync.WaitGroup // what cancelled calls left running
}

var (
	_ backend.Backend   = (*Client)(nil)
	_ backend.Allocator = (*Client)(nil)
)

func newClient(spec Spec, info backend.Info, rpc proto.BackendClient, ch *shm.Channel, proc *process, gp *goplugin.Client) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{
		name: spec.Name, info: info, rpc: rpc, channel: ch, proc: proc, gp: gp, ctx: ctx, graces: defaultGraces,
		pool:    spec.pool,
		staging: shm.NewPool(shm.PoolOptions{Budget: int64(spec.StagingBytes), MaxArenas: 8, Public: true}),
		slot:    max(spec.StagingBytes/3/shm.PageSize, 1) * shm.PageSize,
		bases:   backendutil.NewResidents[struct{}](spec.Name),
		ended:   make(chan struct{}),
	}
	if c.pool == nil {
		c.pool, c.ownPool = shm.NewPool(shm.PoolOptions{Budget: spec.Budget}), true
	}
	c.counters = shm.NewCounters()
	c.arenas.init(c)
	go func() {
		<-proc.exited
		cancel()
	}()
	return c
}

// Info describes the backend as the plugin did when it was opened.
func (c *Client) Info() backend.Info { return c.info }

// Done is closed when the plugin's process has exited, for whatever reason.
func (c *Client) Done() <-chan struct{} { return c.proc.exited }

// begin counts a call in; the result counts it out.
func (c *Client) begin(ctx context.Context) (end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("%w: plugin %s", backend.ErrClosed, c.name)
	}
	if c.cause != nil {
		return nil, c.cause
	}
	if c.proc.hasExited() {
		c.cause = c.gone(errors.New("its process ended"))
		return nil, c.cause
	}
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	c.inside.Add(1)
	return c.inside.Done, nil
}

// closedInLife tells that the owner closed the client before anything was
// wrong with the plugin.
func (c *Client) closedInLife() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed && c.cause == nil
}

// background runs what is left of a cancelled call; Close waits for it, but
// not for ever.
func (c *Client) background(f func()) {
	c.outside.Add(1)
	go func() {
		defer c.outside.Done()
		f()
	}()
}

// gone is the error of a plugin that is lost.
func (c *Client) gone(cause error) error {
	return fmt.Errorf("%w: plugin %s: %w; %s", backend.ErrGone, c.name, cleanError{cause}, c.proc.obituary())
}

// lost ends a plugin that died or broke the protocol. When it returns the
// process has exited, so that none of our memory is read any more.
func (c *Client) lost(cause error) error {
	c.proc.end(exitGrace)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = c.gone(cause)
	}
	return c.cause
}

// failure is what the caller gets for the error of a remote call.
func (c *Client) failure(err error) error {
	remote, ok := fromStatus(err)
	switch {
	case !ok:
		// go-plugin's and gRPC's words for a lost connection help nobody
		// when the process is dead.
		if c.proc.exitedWithin(exitGrace) {
			return c.lost(errors.New("its process ended during a call"))
		}
		return c.lost(err)
	case errors.Is(remote, backend.ErrGone):
		return c.lost(remote)
	case errors.Is(remote, backend.ErrClosed), errors.Is(remote, backend.ErrUnavailable):
		// We have neither closed it nor failed to open it.
		return c.lost(remote)
	}
	return remote
}

// nonsense is for an answer that no correct plugin gives.
func (c *Client) nonsense(format string, a ...any) error {
	return c.lost(fmt.Errorf("it broke the protocol: "+format, a...))
}

// Ping implements backend.Backend: the plugin answers beside its computations.
func (c *Client) Ping(ctx context.Context) error {
	end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	remote, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if _, err := c.rpc.Ping(remote, &proto.PingRequest{}); err != nil {
		if ctx.Err() != nil {
			return backend.Ended(ctx)
		}
		return c.failure(err)
	}
	return nil
}

// FreeBases implements backend.Backend.
func (c *Client) FreeBases(ctx context.Context, id backend.BasesID) error {
	end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	// Uses end with their calls, also when the process dies.
	return c.bases.Free(ctx, id, func(struct{}) error {
		_, err := c.rpc.FreeBases(c.ctx, &proto.FreeBasesRequest{Bases: uint64(id)})
		if err != nil {
			err = c.failure(err)
		}
		return err
	})
}

// graces are how long Close waits: for what cancelled calls left running, for
// the backend to close, for the process to exit.
type graces struct{ abandoned, close, exit time.Duration }

var defaultGraces = graces{abandoned: 5 * time.Second, close: 10 * time.Second, exit: 3 * time.Second}

// Close implements backend.Backend. It waits for the calls in flight, closes
// the backend and ends the process, by force when it does not go by itself.
// Buffers stay valid until they are freed.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.ended
		return nil
	}
	c.closed = true
	if c.cause == nil && c.proc.hasExited() {
		c.cause = c.gone(errors.New("its process ended"))
	}
	c.mu.Unlock()
	defer close(c.ended)

	c.inside.Wait()
	c.arenas.close()
	abandoned := make(chan struct{})
	go func() {
		c.outside.Wait()
		c.bases.Close()
		close(abandoned)
	}()
	select {
	case <-abandoned:
	case <-time.After(c.graces.abandoned):
		_ = c.proc.Kill(c.ctx)
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.graces.close)
	defer cancel()
	if _, err := c.rpc.Close(ctx, &proto.CloseRequest{}); err != nil {
		_ = c.proc.Kill(ctx)
	}
	killed := make(chan struct{})
	go func() {
		c.gp.Kill()
		close(killed)
	}()
	select {
	case <-killed:
	case <-time.After(c.graces.exit):
	}
	// go-plugin asks a plugin that does not answer for ever, unless it dies.
	c.proc.end(0)
	<-killed
	<-abandoned
	c.channel.Close()
	c.counters.Close()
	c.staging.Close()
	if c.ownPool {
		c.pool.Close()
	}
	return nil
}
