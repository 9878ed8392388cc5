package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Engine answers calls on the first of its backends that can. All methods may
// be called concurrently.
type Engine struct {
	cfg        Config
	events     events
	background sync.WaitGroup // owners, and what watches generations
	using      chan struct{}  // one Use at a time

	asked    atomic.Uint64 // answers, for CompareEvery
	programs atomic.Uint64 // programs that compute, for CompareEvery

	mu          sync.Mutex
	slots       []*slot                 // in the order of preference
	coming      *slot                   // the slot that Use is loading
	supersede   context.CancelCauseFunc // ends the last Use that began, if it has not ended
	generations map[*generation]struct{}
	bases       map[*Bases]struct{}
	moved       chan struct{} // closed and replaced whenever a slot changes
	closed      bool          // no new calls
	forced      bool          // no repetitions either: Shutdown ran out of time
	drained     chan struct{} // closed when closed is set and no call is in flight
	ended       chan struct{} // closed when everything is closed
	stats       Stats         // without Backends and Reasons
	reasons     map[Reason]uint64
	backends    map[string]*BackendStats
}

// New opens an engine on cfg.Backend. If that backend fails to open, New fails and does not fall
// back: a user whose GPU is missing should learn so at the start.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, events: events{log: cfg.Log, on: cfg.OnEvent},
		using:       make(chan struct{}, 1),
		generations: map[*generation]struct{}{}, bases: map[*Bases]struct{}{},
		moved: make(chan struct{}), drained: make(chan struct{}), ended: make(chan struct{}),
		backends: map[string]*BackendStats{}, reasons: map[Reason]uint64{},
	}
	first := e.newSlot(cfg.Backend)
	e.slots = e.lineUpLocked(first)
	if err := e.first(ctx, first, nil); err != nil {
		e.Close()
		return nil, err
	}
	e.events.add(Event{Kind: EventOpened, Backend: cfg.Backend})
	return e, nil
}

// lineUpLocked returns the slots in order, with first preferred. The fallbacks keep their slots.
func (e *Engine) lineUpLocked(first *slot) []*slot {
	slots := []*slot{first}
	for _, name := range e.cfg.Fallbacks {
		if name == first.name {
			continue
		}
		at := slices.IndexFunc(e.slots, func(s *slot) bool { return s.name == name })
		if at >= 0 {
			slots = append(slots, e.slots[at])
		} else {
			slots = append(slots, e.newSlot(name))
		}
	}
	return slots
}

// first starts a slot once after is closed, and waits until it is ready. If the opening fails or
// ctx ends first, the slot is retired.
func (e *Engine) first(ctx context.Context, s *slot, after <-chan struct{}) error {
	e.mu.Lock()
	outcome := s.startLocked(time.Time{}, true, after)
	e.mu.Unlock()
	var err error
	select {
	case err = <-outcome:
	case <-ctx.Done():
		err = fmt.Errorf("opening backend %q: %w", s.name, backend.Ended(ctx))
	}
	if err != nil {
		s.retired(err)
	}
	return err
}

// Use opens the backend called name, loads every open Bases into it from where its owner keeps it,
// and makes it the preferred one. Calls go on meanwhile. Those in flight finish on the old backend,
// which is closed after the last of them. If a device has no room for both, the old one is closed
// first, and calls go to the fallback until Use returns. On an error the old backend stays
// preferred.
//
// Use with the name of the present backend opens it anew. A backend that was retired for a wrong
// answer is asked again.
//
// The last Use wins: if another is called while one opens or loads its backend, the earlier ends
// with ErrSuperseded.
func (e *Engine) Use(ctx context.Context, name string) error {
	if e.none() {
		return errNoEngine()
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	e.mu.Lock()
	if e.supersede != nil {
		e.supersede(ErrSuperseded)
	}
	e.supersede = end
	e.mu.Unlock()
	select {
	case e.using <- struct{}{}:
	case <-ctx.Done():
		return backend.Ended(ctx)
	}
	defer func() { <-e.using }()

	if err := e.begin(); err != nil {
		return err
	}
	defer e.end()
	s := e.newSlot(name)
	e.mu.Lock()
	e.coming = s
	e.mu.Unlock()
	err := e.first(ctx, s, nil)
	e.mu.Lock()
	e.coming = nil
	e.mu.Unlock()
	switch {
	case err == nil:
		e.prefer(s)
	case errors.Is(err, backend.ErrOutOfMemory) && ctx.Err() == nil && e.outside():
		if again := e.useInstead(ctx, name); again != nil {
			return errors.Join(err, again)
		}
	default:
		return err
	}
	e.events.add(Event{Kind: EventSwapped, Backend: name})
	return nil
}

// ErrSuperseded is wrapped by the error of a Use that a newer one has ended.
var ErrSuperseded = errors.New("a newer Use took over")

// outside reports whether the preferred backend is outside of this process, so that closing it
// frees memory.
func (e *Engine) outside() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	info := e.slots[0].info
	return info != nil && !info.InProcess
}

// prefer puts s first and retires the slot that it replaces. It returns a channel that is closed
// when the backend preferred so far is closed.
func (e *Engine) prefer(s *slot) (closed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.slots
	e.slots = e.lineUpLocked(s)
	if old[0].announced && !slices.Contains(e.slots, old[0]) {
		s.announced = true // so that the lasting fall-back announced for old[0] gets its end
		if s.open() {
			s.returnedLocked()
		}
	}
	if g := old[0].gen; g != nil && !slices.Contains(e.slots, old[0]) {
		closed = g.closed
	}
	for _, o := range old {
		if !slices.Contains(e.slots, o) {
			o.retireLocked(errRetired)
		}
	}
	e.changedLocked()
	return closed
}

// useInstead closes the preferred backend before it opens the one called name, and reopens the old
// one if that fails.
func (e *Engine) useInstead(ctx context.Context, name string) error {
	e.mu.Lock()
	old := e.slots[0].name
	e.mu.Unlock()
	s := e.newSlot(name)
	err := e.first(ctx, s, e.prefer(s))
	if err == nil {
		return nil
	}
	back := e.newSlot(old)
	e.prefer(back)
	e.mu.Lock()
	outcome := back.startLocked(time.Time{}, false, nil)
	e.mu.Unlock()
	select {
	case undone := <-outcome:
		return errors.Join(err, undone)
	case <-ctx.Done():
		return err
	}
}

// Info describes the backend that would answer a call, as far as it is known: only its name if it
// was never needed, and no process while it is being repaired.
func (e *Engine) Info() backend.Info {
	if e.none() {
		return backend.Info{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.currentLocked()
	if s.info == nil {
		return backend.Info{Name: s.name}
	}
	info := *s.info
	if s.gen == nil {
		info.PID = 0
	}
	return info
}

// Backend returns the name of the backend that would answer a call.
func (e *Engine) Backend() string {
	if e.none() {
		return ""
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.currentLocked().name
}

// Config returns the engine's configuration with defaults filled in.
func (e *Engine) Config() Config {
	if e.none() {
		return Config{}
	}
	return e.cfg
}

// currentLocked finds the slot that a call would be sent to, or would wait for.
func (e *Engine) currentLocked() *slot {
	now := time.Now()
	for i, s := range e.slots {
		if s.awaited(now, i+1 < len(e.slots)) {
			return s
		}
	}
	return e.slots[0]
}

// changedLocked wakes the calls that wait.
func (e *Engine) changedLocked() {
	close(e.moved)
	e.moved = make(chan struct{})
}

func errClosed() error { return fmt.Errorf("engine: %w", backend.ErrClosed) }

// none reports whether the engine is nil or a zero value, which New did not make. Both refuse every
// call.
func (e *Engine) none() bool { return e == nil || e.using == nil }

func errNoEngine() error {
	return fmt.Errorf("%w: no engine: pippin.New opens one", backend.ErrInvalidInput)
}

// Err returns why the engine takes no calls, or nil while it does.
func (e *Engine) Err() error {
	switch {
	case e.none():
		return errNoEngine()
	case e.Closed():
		return errClosed()
	}
	return nil
}

// begin counts a call in; end counts it out.
func (e *Engine) begin() error {
	if e.none() {
		return errNoEngine()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed()
	}
	e.stats.InFlight++
	return nil
}

func (e *Engine) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stats.InFlight--; e.closed && e.stats.InFlight == 0 {
		close(e.drained)
	}
}

// Close does what Shutdown does and gives the calls in flight 30 seconds. Scalar buffers stay valid
// until they are freed. Closing twice is no error.
func (e *Engine) Close() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), drainLimit, errors.New("calls were still in flight"))
	defer cancel()
	return e.Shutdown(ctx)
}

// Closed reports whether Close or Shutdown was called.
func (e *Engine) Closed() bool {
	if e.none() {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// Shutdown refuses new calls, waits for those in flight and closes the backends. If ctx ends first,
// those calls end with backend.ErrClosed, and so does Shutdown. The engine's Bases become unusable;
// closing them afterwards is unnecessary but harmless.
func (e *Engine) Shutdown(ctx context.Context) error {
	if e.none() {
		return nil
	}
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		if e.stats.InFlight == 0 {
			close(e.drained)
		}
		go e.finish()
	}
	e.mu.Unlock()
	var cut error
	select {
	case <-e.drained:
	case <-ctx.Done():
		cut = fmt.Errorf("engine: closed with calls in flight: %w", backend.Ended(ctx))
		e.force()
	}
	if !wait(e.ended, closeLimit+letGo+2*unresponsive) {
		cut = errors.Join(cut, fmt.Errorf("%w: engine: a backend does not close; it was left behind", backend.ErrInternal))
	}
	return cut
}

// force ends the calls in flight.
func (e *Engine) force() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.forced = true
	for _, s := range append(slices.Clone(e.slots), e.coming) {
		if s != nil {
			s.retireLocked(errClosed())
		}
	}
	for g := range e.generations {
		g.end(errClosed())
	}
	e.changedLocked()
}

// finish closes everything after the last call.
func (e *Engine) finish() {
	<-e.drained
	e.mu.Lock()
	for _, s := range e.slots {
		s.retireLocked(errClosed())
	}
	e.mu.Unlock()
	e.background.Wait()
	e.mu.Lock()
	clear(e.bases)
	e.mu.Unlock()
	e.events.flush(unresponsive)
	close(e.ended)
}

// countersLocked finds the statistics of a backend.
func (e *Engine) countersLocked(name string) *BackendStats {
	c := e.backends[name]
	if c == nil {
		c = &BackendStats{Name: name, State: StateRetired}
		e.backends[name] = c
	}
	return c
}

// sum changes the engine's own statistics.
func (e *Engine) sum(f func(*Stats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(&e.stats)
}

// count changes the statistics of a backend.
func (e *Engine) count(name string, f func(*BackendStats)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(e.countersLocked(name))
}

// Stats returns the state of the engine now.
func (e *Engine) Stats() Stats {
	if e.none() {
		return Stats{}
	}
	st, open := e.counted()
	for i := range st.Backends {
		if m, ok := backend.As[backend.Metered](open[i]); ok {
			st.Backends[i].Usage = m.Usage()
		}
	}
	return st
}

// counted returns the state without the backends' own Usage, and those that are open
// as they stand in Stats.Backends.
func (e *Engine) counted() (st Stats, open []backend.Backend) {
	e.mu.Lock()
	defer e.mu.Unlock()
	st = e.stats
	st.Reasons = maps.Clone(e.reasons)
	st.Bases = len(e.bases)
	spaces := map[string]int64{}
	for g := range e.generations {
		st.Sessions += len(g.sessions)
		spaces[g.slot.name] += g.kept.bytes
		for s := range g.sessions {
			spaces[g.slot.name] += s.bytes()
		}
	}
	var names []string
	for _, s := range e.slots {
		c := *e.countersLocked(s.name)
		c.State, c.Err, c.Spaces = s.state, s.err, spaces[s.name]
		st.Backends, names = append(st.Backends, c), append(names, s.name)
	}
	for _, c := range e.backends {
		if !slices.Contains(names, c.Name) {
			c := *c
			c.Spaces = spaces[c.Name]
			st.Backends = append(st.Backends, c)
		}
	}
	slices.SortFunc(st.Backends[len(e.slots):], func(a, b BackendStats) int { return cmp.Compare(a.Name, b.Name) })
	open = make([]backend.Backend, len(st.Backends))
	for i, s := range e.slots {
		if s.gen != nil {
			open[i] = s.gen.b
		}
	}
	return st, open
}
