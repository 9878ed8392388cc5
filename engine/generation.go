package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/resident"
)

// generation is one opened backend with what is resident in it. A slot has one generation after the
// other.
type generation struct {
	e    *Engine
	slot *slot
	b    backend.Backend
	info backend.Info
	born time.Time

	// ctx ends when the backend is gone or given up; the reason is its cause. It ends every call on
	// the backend.
	ctx    context.Context
	end    context.CancelCauseFunc
	hurry  chan struct{} // asks for a ping at once
	closed chan struct{} // closed when the backend is closed

	// Under Engine.mu:
	refs    int
	retired bool          // takes no new calls
	idle    chan struct{} // closed when it is retired and refs is 0
	proven  bool          // has answered a call
	fresh   bool          // opened by a repair, and no answer compared yet
	pinged  time.Time     // when the unanswered ping was sent, or zero
	refused error         // this backend's wrong answer, if it gave one
	// refusedInRow counts refusals since the last answer, which was at answered.
	refusedInRow int
	answered     time.Time
	tested       time.Time // when it last computed known answers
	testing      bool      // it does
	// without has the devices, by number, that the backend has retired, the last one at retiredAt.
	without   map[int]bool
	retiredAt time.Time
	// sessions are those with memory in the backend.
	sessions map[*Session]struct{}
	kept     keptSpaces

	mu       sync.Mutex
	ids      map[*Bases]*residence
	subjects map[subject]*refusal // of calls that the backend has refused
}

// residence is bases that are loaded, are being loaded, or were refused.
type residence struct {
	done chan struct{} // closed when id and err are set
	id   backend.BasesID
	err  error

	refusals // for want of room; under generation.mu
}

// adopt makes a generation of an opened backend and starts to tend it.
func (e *Engine) adopt(s *slot, b backend.Backend) *generation {
	g := &generation{
		e: e, slot: s, b: b, info: b.Info(), born: time.Now(),
		hurry: make(chan struct{}, 1), closed: make(chan struct{}), idle: make(chan struct{}),
		ids: map[*Bases]*residence{}, sessions: map[*Session]struct{}{}, subjects: map[subject]*refusal{},
		without: map[int]bool{},
	}
	g.tested = g.born
	g.ctx, g.end = context.WithCancelCause(context.Background())
	e.mu.Lock()
	e.generations[g] = struct{}{}
	e.mu.Unlock()
	e.background.Go(g.tend)
	return g
}

// enterLocked takes a reference. It returns false when the generation is closed.
func (g *generation) enterLocked() bool {
	if g.retired && g.refs == 0 {
		return false
	}
	g.refs++
	return true
}

// leave gives a reference back.
func (g *generation) leave() {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	g.refs--
	if g.retired && g.refs == 0 {
		close(g.idle)
	}
}

// retireLocked refuses new calls; Engine.mu is held.
func (g *generation) retireLocked() {
	if !g.retired {
		g.retired = true
		if g.refs == 0 {
			close(g.idle)
		}
	}
}

// fail gives the backend up for the reason cause. Only the first call counts.
func (g *generation) fail(cause error) {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	if g.ctx.Err() != nil {
		return
	}
	g.end(cause)
	g.retireLocked()
	g.slot.lostLocked(g, cause)
}

// lifeLocked returns how the backend has lived.
func (g *generation) lifeLocked() life {
	switch {
	case !g.proven:
		return useless
	case time.Since(g.born) < g.e.cfg.RetryMax:
		return short
	}
	return long
}

// tend watches the backend. It closes it when it is gone, or when it is retired and its calls have
// ended.
func (g *generation) tend() {
	g.watch()
	if g.ctx.Err() != nil {
		g.kill()
		// Its calls have been told to return. Close ends those that do not.
		wait(g.idle, letGo)
	}
	err := limited(closeLimit, func(context.Context) error { return g.b.Close() })
	if err != nil && !errors.Is(err, backend.ErrGone) {
		g.e.cfg.Log.Warn("closing a backend", "backend", g.slot.name, "cause", err)
	}
	g.end(backend.ErrClosed)
	g.e.mu.Lock()
	delete(g.e.generations, g)
	clear(g.sessions)
	g.kept = keptSpaces{}
	g.e.mu.Unlock()
	g.forgetAll()
	close(g.closed)
}

// kill ends a backend that was given up. Asking it to close would only show, some seconds later,
// that it does not answer; meanwhile it would hold a device's memory beside its replacement.
func (g *generation) kill() {
	cause := context.Cause(g.ctx)
	k, ok := backend.As[backend.Killer](g.b)
	if !ok || errors.Is(cause, backend.ErrClosed) { // the engine closes: ask the backend to end
		return
	}
	_ = limited(closeLimit, func(context.Context) error {
		k.Kill(cause)
		return nil
	})
}

// wanted lists the bases that the backend was asked to keep.
func (g *generation) wanted() map[*Bases]struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make(map[*Bases]struct{})
	for b := range g.ids {
		all[b] = struct{}{}
	}
	return all
}

// forgetAll records that nothing is resident any more.
func (g *generation) forgetAll() {
	var size int64
	g.mu.Lock()
	for b := range g.ids {
		if g.loadedLocked(b) {
			size += b.src.Size()
		}
	}
	clear(g.ids)
	g.mu.Unlock()
	g.e.count(g.slot.name, func(c *BackendStats) { c.Resident -= size })
}

// watch returns when it is time to close the backend.
func (g *generation) watch() {
	every := g.e.cfg.PingEvery
	if g.info.InProcess || every <= 0 {
		every = 1<<63 - 1
	}
	t := time.NewTimer(every)
	defer t.Stop()
	for missed := 0; ; {
		select {
		case <-g.ctx.Done():
			return
		case <-g.idle:
			return
		case <-g.b.Done():
			g.fail(fmt.Errorf("%w: backend %s ended", backend.ErrGone, g.slot.name))
			return
		case <-g.hurry:
			if g.info.InProcess {
				continue
			}
		case <-t.C:
		}
		pause := every
		switch err := g.ping(); {
		case g.ctx.Err() != nil:
			return
		case err == nil:
			missed = 0
			g.prove()
			g.noteRetired()
			if g.knownDue() {
				g.e.background.Go(g.testInUse)
			}
		case backend.FaultOf(err) == backend.FaultGone, errors.Is(err, backend.ErrClosed):
			g.fail(err)
			return
		default:
			missed++
			g.missed(err)
			g.e.cfg.Log.Warn("a backend does not answer a ping", "backend", g.slot.name, "in a row", missed, "cause", err)
			if missed >= g.e.cfg.PingMisses {
				g.fail(fmt.Errorf("%w: backend %s answered none of %d pings, each within %v: it hangs and is ended",
					backend.ErrGone, g.slot.name, missed, g.e.cfg.PingTimeout))
				return
			}
			pause = min(every, g.e.cfg.PingTimeout/10)
		}
		t.Reset(pause)
	}
}

// ping asks the backend whether it still answers.
func (g *generation) ping() error {
	g.setPinged(time.Now())
	defer g.setPinged(time.Time{})
	return limited(g.e.cfg.PingTimeout, func(ctx context.Context) error {
		ctx, stop := g.bind(ctx)
		defer stop()
		return g.b.Ping(ctx)
	})
}

func (g *generation) setPinged(t time.Time) {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	g.pinged = t
}

// prove records that the backend works.
func (g *generation) prove() {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	g.provedLocked()
}

func (g *generation) provedLocked() {
	g.proven = true
	g.slot.trustLocked(g)
}

// missed records that the backend has not answered a ping.
func (g *generation) missed(err error) {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	g.e.countersLocked(g.slot.name).Missed++
	g.slot.suspectLocked(g, fmt.Errorf("a ping is not answered: %w", err))
}

// urge has the backend pinged soon.
func (g *generation) urge() {
	select {
	case g.hurry <- struct{}{}:
	default:
	}
}

// bind returns a context that ends with ctx or with the generation.
func (g *generation) bind(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	undo := context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })
	return ctx, func() {
		undo()
		cancel(nil)
	}
}

// on runs f on the backend. When ctx or the generation ends, on returns as soon as the backend no
// longer reads the caller's memory. A panic becomes backend.ErrInternal.
func on[T any](ctx context.Context, g *generation, f func(context.Context, backend.Backend) (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	bound, stop := g.bind(ctx)
	defer stop()
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() { done <- r }()
		defer resident.Caught(&r.err)
		r.v, r.err = f(bound, g.b)
	}()
	var r result
	select {
	case r = <-done:
	case <-g.b.Done():
		// A backend that is gone reads nothing, even if its calls do not return.
		t := time.NewTimer(letGo)
		defer t.Stop()
		select {
		case r = <-done:
		case <-t.C:
			r.err = fmt.Errorf("%w: backend %s ended during a call", backend.ErrGone, g.slot.name)
		}
	}
	if r.err != nil && g.ctx.Err() != nil && ctx.Err() == nil && errors.Is(r.err, context.Canceled) {
		r.err = context.Cause(g.ctx)
	}
	return r.v, r.err
}

// holds reports whether bases are loaded.
func (g *generation) holds(b *Bases) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.loadedLocked(b)
}

// loadedLocked reports whether bases are loaded. g.mu is held.
func (g *generation) loadedLocked(b *Bases) bool {
	r := g.ids[b]
	if r == nil {
		return false
	}
	select {
	case <-r.done:
		return r.err == nil
	default:
		return false
	}
}

// ensure makes b resident and returns its id. Concurrent callers share one load. The caller holds
// references to both b and g.
func (g *generation) ensure(ctx context.Context, b *Bases) (backend.BasesID, error) {
	for {
		g.mu.Lock()
		r := g.ids[b]
		if r == nil {
			if b.src.ReadOnce && b.settled {
				g.mu.Unlock()
				return 0, g.slot.lacks()
			}
			r = &residence{done: make(chan struct{})}
			g.ids[b] = r
			g.mu.Unlock()
			g.load(ctx, b, r)
			return r.id, r.err
		}
		g.mu.Unlock()
		select {
		case <-r.done:
		case <-ctx.Done():
			return 0, backend.Ended(ctx)
		}
		switch {
		case r.err == nil:
			return r.id, nil
		case g.asks(r):
			r = g.askAgain(ctx, b, r)
			return r.id, r.err
		case backend.FaultOf(r.err) != backend.FaultContext:
			return r.id, r.err
		}
		// The context of another caller ended the load, but ours has not ended.
	}
}

// asks reports whether a call should ask again whether there is room for bases.
func (g *generation) asks(r *residence) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Is(r.err, backend.ErrOutOfMemory) && r.refusals.asks()
}

// askAgain loads bases for which there was no room, and returns their new residence. It takes the
// old one's place, unless the caller's context ended the load.
func (g *generation) askAgain(ctx context.Context, b *Bases, old *residence) *residence {
	r := &residence{done: make(chan struct{}), refusals: refusals{inRow: old.inRow}}
	g.load(ctx, b, r)
	g.mu.Lock()
	defer g.mu.Unlock()
	old.asking = false
	if g.ids[b] == old && (r.err == nil || lasting(r.err)) {
		g.ids[b] = r
	}
	return r
}

// load loads b and fills in r.
func (g *generation) load(ctx context.Context, b *Bases, r *residence) {
	defer close(r.done)
	began := time.Now()
	ctx, end := g.e.Observe(ctx, Phase{Kind: PhaseLoad, Backend: g.slot.name, Points: b.src.Count})
	defer func() { end(r.err) }()
	if !g.info.Can.HasMSM(b.src.Curve, b.src.Group) {
		r.err = fmt.Errorf("%w: backend %s has no MSMs of %v %v", backend.ErrUnsupported, g.slot.name, b.src.Curve, b.src.Group)
	} else {
		r.id, r.err = taking(ctx, g, func(ctx context.Context, to backend.Backend) (backend.BasesID, error) {
			return to.LoadBases(ctx, b.src.Bases)
		})
	}
	if r.err == nil {
		g.e.count(g.slot.name, func(c *BackendStats) { c.Resident += b.src.Size() })
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case errors.Is(r.err, backend.ErrOutOfMemory):
		r.err = noRoom{r.err}
		r.refused(time.Since(began))
	case !lasting(r.err) && g.ids[b] == r:
		delete(g.ids, b)
	}
}

// noRoom is the error of bases for which there was no room. Calls about them get it again without
// asking the backend.
type noRoom struct{ error }

func (n noRoom) Unwrap() error { return n.error }

// lasting reports whether a second load would fail with the same error: for ever if the backend
// does not support it, for a while if it has no room. Such an error is remembered, so that calls go
// to the next backend at once.
func lasting(err error) bool {
	return errors.Is(err, backend.ErrOutOfMemory) || errors.Is(err, backend.ErrUnsupported)
}

// roomier makes the next call ask again about what had no room.
func (g *generation) roomier() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.ids {
		select {
		case <-r.done:
			r.again = time.Time{}
		default:
		}
	}
	for _, r := range g.subjects {
		r.again = time.Time{}
	}
}

// free releases b if it is resident. Nobody else holds a reference to b.
func (g *generation) free(b *Bases) error {
	g.mu.Lock()
	r := g.ids[b]
	delete(g.ids, b)
	g.mu.Unlock()
	g.dropSubjects(b)
	g.roomier()
	if r == nil {
		return nil
	}
	<-r.done // soon: the load held a reference to b
	if r.err != nil {
		return nil
	}
	g.e.count(g.slot.name, func(c *BackendStats) { c.Resident -= b.src.Size() })
	if g.ctx.Err() != nil {
		return nil
	}
	return limited(closeLimit, func(ctx context.Context) error {
		ctx, stop := g.bind(ctx)
		defer stop()
		return g.b.FreeBases(ctx, r.id)
	})
}

// wait waits for c, but at most for limit. It reports whether c was closed.
func wait(c <-chan struct{}, limit time.Duration) bool {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
