package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

// Space says what memory a session has.
type Space struct {
	backend.Elements // zero at the beginning
	// Numbers are the operations that the backend must have. They are for a session of words.
	Numbers []backend.NumberOp
	// Keep keeps the memory for another session when this one is closed; nil gives it back.
	Keep *Kept
	// Check refuses wrong elements among those that a program computed and answers; nil refuses
	// nothing.
	Check func(elements []byte) error
}

// Session is memory for vectors, or for words of numbers, in one opened backend, with programs that
// compute on it. When that backend dies or is replaced, the vectors are lost: Run and Err return
// backend.ErrGone. Whoever still has the inputs opens another session and computes again; Repeat
// does that by itself.
//
// A session that no program uses delays nothing: Use, repairs and Shutdown do not wait for it. It
// is safe for concurrent use, under the rules of backend.Programs for programs at the same time.
type Session struct {
	e     *Engine
	g     *generation
	id    backend.SpaceID
	space Space
	// held says that Repeat holds a reference to g while f runs. Then the session stays usable
	// although g is retired and the engine waits for its calls. held only changes while f does not
	// have the session.
	held bool

	// Under Engine.mu:
	closed bool
	unsure bool  // a program failed while the session was open: its memory is not kept
	broken error // why a program failed that was not at fault itself
}

// Commit is a job over bases that the engine has loaded, as a step for Session.Run. The session's
// backend loads the bases if it does not hold them.
type Commit struct {
	backend.Job // its field Bases is not used
	Bases       *Bases
}

// OpenSession takes memory in the first backend that is ready, able and has room. It waits as a
// call does. If no backend has room, the error is backend.ErrOutOfMemory and says how much was
// wanted and what there is. The caller closes the session.
func (e *Engine) OpenSession(ctx context.Context, space Space) (s *Session, err error) {
	_, err = e.do(ctx, space.call(), func(ctx context.Context, g *generation) (err error) {
		s, err = g.open(ctx, space, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Repeat calls f with a new session and closes it afterwards. If a program failed because of the
// session's backend, Repeat calls f again with another session: up to Config.Restarts times if the
// backend died, then on the next backend. f begins from its inputs each time. by is the backend of
// the last session.
//
// Any other error of f is returned as it is. If it wraps ErrWrongAnswer, f has found the backend's
// answers to be wrong, and the backend is not asked again.
//
// Use and Shutdown treat it as a call: they wait for f.
func (e *Engine) Repeat(ctx context.Context, space Space, f func(context.Context, *Session) error) (by string, err error) {
	return e.repeat(ctx, space, nil, f)
}

// Repeat does what Engine.Repeat does, but begins with this session if it is on the backend that a
// call would get now. So its memory can be taken ahead of time, while there is nothing to compute.
// Nobody else may use the session yet. Repeat closes it.
func (s *Session) Repeat(ctx context.Context, f func(context.Context, *Session) error) (by string, err error) {
	if s.none() {
		return "", errNoSession()
	}
	defer s.shut(false) // in case it was not used
	return s.e.repeat(ctx, s.space, s, f)
}

// hold lets Repeat use the session on g. It returns false if the session is elsewhere or unusable.
func (s *Session) hold(g *generation) bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.g != g || s.broken != nil || s.overLocked() != nil {
		return false
	}
	s.held = true
	return true
}

// repeat does what Repeat does, and begins with the session ahead if it is not nil.
func (e *Engine) repeat(ctx context.Context, space Space, ahead *Session, f func(context.Context, *Session) error) (by string, err error) {
	var own error // of f
	by, err = e.do(ctx, space.call(), func(ctx context.Context, g *generation) (err error) {
		s := ahead
		if ahead = nil; s != nil && !s.hold(g) {
			s.shut(false) // do not wait: its backend may not answer
			s = nil
		}
		if s == nil {
			if s, err = g.open(ctx, space, true); err != nil {
				return err
			}
		}
		defer func() { s.shut(ctx.Err() == nil) }() // without waiting if the call has no time left
		own = f(ctx, s)
		broken := s.failure()
		if own == nil || broken == nil && ctx.Err() == nil && !errors.Is(own, ErrWrongAnswer) {
			return nil
		}
		return both(own, broken)
	})
	if err != nil {
		return "", err
	}
	return by, own
}

// call returns the call for which a session is opened.
func (sp *Space) call() *call {
	return &call{points: sp.Count, subject: subject{element: sp.Element, count: sp.Count}, can: func(i backend.Info) error {
		switch {
		case !i.Can.HasPrograms(sp.Element):
			return fmt.Errorf("%w: backend %s has no programs over %v", backend.ErrUnsupported, i.Name, sp.Element)
		case !i.Can.HasNumbers(sp.Numbers...):
			return fmt.Errorf("%w: backend %s has not all of the operations %v on numbers", backend.ErrUnsupported, i.Name, sp.Numbers)
		}
		return nil
	}}
}

// open opens a session on g.
func (g *generation) open(ctx context.Context, space Space, held bool) (_ *Session, err error) {
	if _, err := space.Size(); err != nil {
		return nil, err
	}
	ctx, end := g.e.Observe(ctx, Phase{Kind: PhaseSpace, Backend: g.slot.name, Points: space.Count})
	defer func() { end(err) }()
	v, ok := backend.As[backend.Programs](g.b)
	if !ok {
		return nil, fmt.Errorf("%w: backend %s has no programs", backend.ErrUnsupported, g.slot.name)
	}
	s := &Session{e: g.e, g: g, space: space, held: held}
	var kept bool
	if s.id, kept = g.takeKept(space); !kept {
		s.id, err = taking(ctx, g, func(ctx context.Context, _ backend.Backend) (backend.SpaceID, error) {
			return v.NewSpace(ctx, space.Element, space.Count)
		})
	}
	if errors.Is(err, backend.ErrOutOfMemory) {
		err = fmt.Errorf("%d %v, %d bytes, beside %s: %w", space.Count, space.Element, s.bytes(), g.contents(), err)
	}
	if err != nil {
		return nil, err
	}
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	g.sessions[s] = struct{}{}
	return s, nil
}

// contents says what memory in a backend is used for.
func (g *generation) contents() string {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	spaces := g.kept.bytes
	for s := range g.sessions {
		spaces += s.bytes()
	}
	has := fmt.Sprintf("%d bytes of bases and %d of vectors", g.e.countersLocked(g.slot.name).Resident, spaces)
	for _, d := range g.info.Devices {
		has += fmt.Sprintf(" in %s with %d", d.Name, d.Memory)
	}
	return has
}

func (s *Session) bytes() int64 { return s.space.bytes() }

func (sp *Space) bytes() int64 { return int64(sp.Count) * int64(sp.Element.Bytes()) }

// none reports whether s is nil or a zero value, which OpenSession did not make.
func (s *Session) none() bool { return s == nil || s.e == nil }

func errNoSession() error {
	return fmt.Errorf("%w: no session: a nil one, or one that OpenSession did not make", backend.ErrInvalidInput)
}

// Beside opens another session on the same backend, with count elements of the same kind, so that
// programs can use the memory of both. It stays open when s is closed.
func (s *Session) Beside(ctx context.Context, count int) (*Session, error) {
	if s.none() {
		return nil, errNoSession()
	}
	return s.BesideOf(ctx, backend.Elements{Element: s.space.Element, Count: count})
}

// BesideOf does what Beside does, with elements of another kind or group of the same curve, such as
// scalars beside points.
func (s *Session) BesideOf(ctx context.Context, elements backend.Elements) (*Session, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	space := s.space
	space.Elements = elements
	other, err := s.g.open(ctx, space, false)
	if err != nil {
		return nil, s.settle(ctx, err)
	}
	return other, nil
}

// Together reports whether one program may use the memory of both sessions.
func (s *Session) Together(other *Session) bool {
	return !s.none() && !other.none() && s.g == other.g
}

// Space returns the name of the session's memory for ranges. Its elements are numbered from 0 to
// Len-1.
func (s *Session) Space() backend.SpaceID {
	if s.none() {
		return 0
	}
	return s.id
}

// Len returns how many elements the memory has.
func (s *Session) Len() int {
	if s.none() {
		return 0
	}
	return s.space.Count
}

// Backend returns the name of the session's backend.
func (s *Session) Backend() string {
	if s.none() {
		return ""
	}
	return s.g.slot.name
}

// Err returns why the session takes no more programs, or nil while it does. The error wraps
// backend.ErrGone if the caller should open another session.
func (s *Session) Err() error {
	if s.none() {
		return errNoSession()
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.overLocked()
}

// Current reports whether a session opened now would be on the same backend. If not, a better
// backend is ready again, and the caller does well to open a new session there.
func (s *Session) Current() bool {
	if s.none() {
		return false
	}
	c := s.space.call()
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.overLocked() != nil {
		return false
	}
	for _, slot := range s.e.slots {
		if slot.gen != nil && (slot.gen == s.g || slot.open() && c.openLocked(slot) && slot.gen.putOff(c, false) == nil) {
			return slot.gen == s.g
		}
	}
	return true
}

// overLocked does what Err does; Engine.mu is held.
func (s *Session) overLocked() error {
	gone := func(cause error) error {
		if errors.Is(cause, backend.ErrGone) {
			return fmt.Errorf("the vectors of a session are lost: %w", cause)
		}
		return fmt.Errorf("%w: the vectors of a session are lost: backend %s: %v", backend.ErrGone, s.g.slot.name, cause)
	}
	switch {
	case s.closed:
		return fmt.Errorf("session: %w", backend.ErrClosed)
	case s.e.forced || s.e.closed && !s.held:
		return errClosed()
	case s.g.refused != nil:
		return gone(s.g.refused)
	case s.g.ctx.Err() != nil:
		return gone(context.Cause(s.g.ctx))
	case s.g.retired && !s.held:
		return gone(errRetired)
	}
	if errors.Is(s.broken, ErrWrongAnswer) {
		return s.broken
	}
	return nil
}

// failure returns why a program failed that was not at fault itself, or nil.
func (s *Session) failure() error {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.broken
}

// enter counts a call on the session's backend in; leave counts it out.
func (s *Session) enter() (leave func(), err error) {
	if s.none() {
		return nil, errNoSession()
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if err := s.overLocked(); err != nil {
		if s.broken == nil && errors.Is(err, backend.ErrGone) {
			s.broken = err // another call's failure has ended the backend: Repeat goes on elsewhere
		}
		return nil, err
	}
	s.e.stats.InFlight++
	s.g.refs++
	s.e.countersLocked(s.g.slot.name).InFlight++
	return func() {
		s.g.exit()
		s.e.end()
	}, nil
}

// settle applies what follows a failure on the session's backend, and returns the caller's error.
func (s *Session) settle(ctx context.Context, err error) error {
	e, g := s.e, s.g
	e.mu.Lock()
	ended := e.forced || ctx.Err() != nil
	if fault := backend.FaultOf(err); !ended && (fault != backend.FaultCaller || isGone(err)) {
		s.broken = err
	}
	if !s.held && !ended {
		g.outcomeLocked(ctx, err)
	}
	e.mu.Unlock()
	if !s.held || !errors.Is(err, ErrWrongAnswer) { // otherwise Repeat refuses the backend
		e.conclude(ctx, g, failure{err: err, allowed: -1})
	}
	switch {
	case ctx.Err() != nil:
		return backend.Ended(ctx)
	case isGone(err) && !errors.Is(err, backend.ErrGone):
		// The caller did not close the backend, so he gets ErrGone.
		return fmt.Errorf("%w: backend %s: %v", backend.ErrGone, g.slot.name, err)
	}
	return fmt.Errorf("backend %s: %w", g.slot.name, err)
}

// Run runs steps of package backend in the session's backend. They may use the session's memory and
// that of sessions that are together with it. In place of backend.Job they have Commit. Answers are
// those of backend.Programs.Run. Computed answers are checked as Space.Check and Config.Check say,
// and compared as Config.CompareEvery says.
//
// A program is never repeated. After an error other than backend.ErrGone the session stays usable,
// but the ranges that the steps were to write hold undefined elements.
func (s *Session) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	p := &program{s: s, g: s.g}
	defer p.release()
	if err := p.take(steps); err != nil {
		return nil, err
	}
	if err := p.run(ctx, steps); err != nil {
		s.e.count(s.g.slot.name, func(c *BackendStats) { c.Broken++ })
		s.g.distrust()
		return nil, s.settle(ctx, err)
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.g.provedLocked()
	if !s.held { // otherwise the outcome is that of what Repeat calls
		s.g.outcomeLocked(ctx, nil)
	}
	s.e.countersLocked(s.g.slot.name).Programs++
	return p.answers, nil
}

// Close waits for the programs that use the memory, wipes it and gives it back. Closing twice is no
// error.
func (s *Session) Close() error {
	if s.none() || !s.end() {
		return nil
	}
	return s.free()
}

// shut closes the session; wait says whether to wait for that.
func (s *Session) shut(wait bool) {
	if !s.end() {
		return
	}
	free := func() {
		if err := s.free(); err != nil {
			s.e.cfg.Log.Warn("closing a session", "cause", err)
		}
	}
	if wait {
		free()
	} else {
		s.e.background.Go(free)
	}
}

// end lets no more programs in. It reports whether the caller must call free.
func (s *Session) end() bool {
	e, g := s.e, s.g
	e.mu.Lock()
	defer e.mu.Unlock()
	_, there := g.sessions[s]
	delete(g.sessions, s)
	s.closed = true
	return there && g.ctx.Err() == nil && !g.keepLocked(s) && g.enterLocked()
}

// free wipes the memory and gives it back.
func (s *Session) free() error {
	defer s.g.leave()
	defer s.g.roomier()
	return s.g.freeSpace(s.id)
}

// freeSpace wipes memory and gives it back.
func (g *generation) freeSpace(id backend.SpaceID) error {
	v, _ := backend.As[backend.Programs](g.b)
	err := limited(closeLimit, func(ctx context.Context) error {
		ctx, stop := g.bind(ctx)
		defer stop()
		return v.FreeSpace(ctx, id)
	})
	switch backend.FaultOf(err) {
	case backend.FaultNone, backend.FaultGone, backend.FaultContext:
		return nil // its memory goes with the backend
	}
	return fmt.Errorf("backend %s: freeing the memory of a session: %w", g.slot.name, err)
}
