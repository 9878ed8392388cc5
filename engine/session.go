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
	// Numbers is operations that a backend must have, for a session of words.
	Numbers []backend.NumberOp
	// Check refuses elements that a program computed and answers; nil refuses
	// nothing.
	Check func(elements []byte) error
}

// Session is memory for vectors, or for words of numbers, in one opened backend, and
// programs over it. When that backend dies or is replaced the vectors are lost: Run and
// Err say so with backend.ErrGone, and whoever has what they were computed from opens
// another session and computes them again, or has Repeat do that.
//
// A session that no program uses holds nothing up: neither Use nor a repair nor
// Shutdown waits for it. Safe for concurrent use, with what backend.Programs says
// of programs at the same time.
type Session struct {
	e     *Engine
	g     *generation
	id    backend.SpaceID
	space Space
	// held tells that Repeat has a reference to g while f runs: the session may
	// then go on although g is retired and the engine waits for its calls. It
	// changes before f has the session.
	held bool

	// Under Engine.mu:
	closed bool
	broken error // why a program failed through no fault of its own
}

// Commit is a job over bases that the engine has loaded, as a step for Session.Run.
// They are loaded into the session's backend if they are not there.
type Commit struct {
	backend.Job // but for its Bases, which are not used
	Bases       *Bases
}

// OpenSession takes memory in the first backend that is ready, can and has the
// room, waiting as a call does. Without room anywhere it is
// backend.ErrOutOfMemory, and says how much was wanted and what there is. Close
// the session.
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

// Repeat calls f with a session, which is closed afterwards, and again with a new
// one when a program failed because of the session's backend: as often as
// Config.Restarts has it when that died, then on the next backend. f begins from
// its inputs each time. by is the backend of the last session.
//
// Any other error of f is Repeat's own, unless it wraps ErrWrongAnswer: then f has
// found the backend's answers to be wrong, which is not asked again.
//
// For Use and Shutdown it is a call: they wait for f.
func (e *Engine) Repeat(ctx context.Context, space Space, f func(context.Context, *Session) error) (by string, err error) {
	return e.repeat(ctx, space, nil, f)
}

// Repeat does what Engine.Repeat does and begins with this session, which nobody uses yet,
// when it is on the backend that a call gets now: its memory was taken while there was
// nothing to compute. It closes the session.
func (s *Session) Repeat(ctx context.Context, f func(context.Context, *Session) error) (by string, err error) {
	if s.none() {
		return "", errNoSession()
	}
	defer s.shut(false) // if it was not used
	return s.e.repeat(ctx, s.space, s, f)
}

// hold has Repeat use a session on g; false when it cannot be used there.
func (s *Session) hold(g *generation) bool {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	if s.g != g || s.broken != nil || s.overLocked() != nil {
		return false
	}
	s.held = true
	return true
}

// repeat does what Repeat does, first with the session ahead, if there is one.
func (e *Engine) repeat(ctx context.Context, space Space, ahead *Session, f func(context.Context, *Session) error) (by string, err error) {
	var own error // of f
	by, err = e.do(ctx, space.call(), func(ctx context.Context, g *generation) (err error) {
		s := ahead
		if ahead = nil; s != nil && !s.hold(g) {
			s.shut(false) // it may be where nothing is answered
			s = nil
		}
		if s == nil {
			if s, err = g.open(ctx, space, true); err != nil {
				return err
			}
		}
		defer func() { s.shut(ctx.Err() == nil) }() // or else the call has no more time
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

// call makes the call for which a session is opened.
func (sp *Space) call() *call {
	return &call{points: sp.Count, can: func(i backend.Info) error {
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
	s.id, err = on(ctx, g, func(ctx context.Context, _ backend.Backend) (backend.SpaceID, error) {
		return v.NewSpace(ctx, space.Element, space.Count)
	})
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

// contents says what is in a backend.
func (g *generation) contents() string {
	g.e.mu.Lock()
	defer g.e.mu.Unlock()
	var spaces int64
	for s := range g.sessions {
		spaces += s.bytes()
	}
	has := fmt.Sprintf("%d bytes of bases and %d of vectors", g.e.countersLocked(g.slot.name).Resident, spaces)
	for _, d := range g.info.Devices {
		has += fmt.Sprintf(" in %s with %d", d.Name, d.Memory)
	}
	return has
}

func (s *Session) bytes() int64 { return int64(s.space.Count) * int64(s.space.Element.Bytes()) }

// none reports whether OpenSession did not make the session.
func (s *Session) none() bool { return s == nil || s.e == nil }

func errNoSession() error {
	return fmt.Errorf("%w: no session: a nil one, or one that OpenSession did not make", backend.ErrInvalidInput)
}

// Beside opens another session on the same backend, of as many of the same elements, for
// programs that use the memory of both. It does not end with s.
func (s *Session) Beside(ctx context.Context, count int) (*Session, error) {
	if s.none() {
		return nil, errNoSession()
	}
	return s.BesideOf(ctx, backend.Elements{Element: s.space.Element, Count: count})
}

// BesideOf does what Beside does with elements of another kind or group, of the same curve:
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

// Together reports whether programs may use the memory of both sessions.
func (s *Session) Together(other *Session) bool {
	return !s.none() && !other.none() && s.g == other.g
}

// Space names the session's memory in ranges, from 0 to Len.
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

// Err returns why the session takes no more programs, nil while it does. It wraps
// backend.ErrGone when another session is to be opened.
func (s *Session) Err() error {
	if s.none() {
		return errNoSession()
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.overLocked()
}

// Current reports whether a session that is opened now would be on the same
// backend: one on another is as good as lost when a better one is ready again.
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
		if slot.gen != nil && (slot.gen == s.g || slot.state == StateReady && c.openLocked(slot)) {
			return slot.gen == s.g
		}
	}
	return true
}

// overLocked does what Err does.
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

// failure returns why a program failed through no fault of its own.
func (s *Session) failure() error {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	return s.broken
}

// enter counts a call on the session's backend in, and leave out.
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

// settle draws the consequences of a failure on the session's backend.
func (s *Session) settle(ctx context.Context, err error) error {
	e, g := s.e, s.g
	e.mu.Lock()
	ended := e.forced || ctx.Err() != nil
	if fault := backend.FaultOf(err); !ended && (fault != backend.FaultCaller || isGone(err)) {
		s.broken = err
	}
	e.mu.Unlock()
	if !s.held || !errors.Is(err, ErrWrongAnswer) { // Repeat refuses the backend
		e.conclude(ctx, g, failure{err: err, allowed: -1})
	}
	switch {
	case ctx.Err() != nil:
		return backend.Ended(ctx)
	case isGone(err) && !errors.Is(err, backend.ErrGone):
		// Who closed it was not the caller.
		return fmt.Errorf("%w: backend %s: %v", backend.ErrGone, g.slot.name, err)
	}
	return fmt.Errorf("backend %s: %w", g.slot.name, err)
}

// Run runs the steps in the session's backend: those of package backend over the
// session's memory and that of others that are together with it, but for
// backend.Job, whose place Commit takes. Answers are those of
// backend.Programs.Run; computed ones are checked as Space.Check and Config.Check
// say, and compared as Config.CompareEvery says.
//
// It is never repeated. Without backend.ErrGone in the error the session can be
// used on, but the ranges that the steps were to write have undefined elements.
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
		return nil, s.settle(ctx, err)
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.g.provedLocked()
	s.e.countersLocked(s.g.slot.name).Programs++
	return p.answers, nil
}

// Close wipes the memory and gives it back, when the programs that use it have
// ended. Closing twice is no error.
func (s *Session) Close() error {
	if s.none() || !s.end() {
		return nil
	}
	return s.free()
}

// shut closes the session, and waits for that or not.
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

// end closes the session to programs, and reports whether free is to be called.
func (s *Session) end() bool {
	e, g := s.e, s.g
	e.mu.Lock()
	defer e.mu.Unlock()
	_, there := g.sessions[s]
	delete(g.sessions, s)
	s.closed = true
	return there && g.ctx.Err() == nil && g.enterLocked()
}

// free wipes the memory and gives it back.
func (s *Session) free() error {
	g := s.g
	defer g.leave()
	defer g.roomier()
	v, _ := backend.As[backend.Programs](g.b)
	err := limited(closeLimit, func(ctx context.Context) error {
		ctx, stop := g.bind(ctx)
		defer stop()
		return v.FreeSpace(ctx, s.id)
	})
	switch backend.FaultOf(err) {
	case backend.FaultNone, backend.FaultGone, backend.FaultContext:
		return nil // it goes, if it has not gone with its backend
	}
	return fmt.Errorf("backend %s: freeing the memory of a session: %w", g.slot.name, err)
}
