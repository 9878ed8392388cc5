package msm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// ErrWrongAnswer is wrapped by the error of a call whose answer a check
// refused and that no fallback could repeat.
var ErrWrongAnswer = errors.New("wrong answer from the backend")

// request is one MSM of a batch in the engine's own terms.
type request struct {
	p             *points
	offset, count int
	scalars       []byte
	sameAs        int // as in backend.Job
}

// run answers a batch on the current backend and sees to it that the caller
// gets an answer whatever happens to that backend: see handle for the rules.
// by is the name of the backend that answered.
func (e *Engine) run(ctx context.Context, reqs []request) (out [][]byte, by string, err error) {
	held := 0
	defer func() {
		for _, r := range reqs[:held] {
			r.p.release()
		}
	}()
	for _, r := range reqs {
		if !r.p.acquire() {
			return nil, "", fmt.Errorf("msm bases: %w", backend.ErrClosed)
		}
		held++
	}
	for attempt := 0; ; attempt++ {
		s, err := e.acquire()
		if err != nil {
			return nil, "", err
		}
		by = s.name
		out, err = e.runOn(ctx, s, reqs)
		if err == nil {
			err = e.verify(ctx, s, reqs, out)
		}
		if err != nil {
			out, by, err = e.handle(ctx, s, reqs, err, attempt)
		}
		e.release(s)
		if err != errRepeat {
			return out, by, err
		}
	}
}

// errRepeat is handle's answer when the call should be tried again.
var errRepeat = errors.New("repeat")

// handle decides what follows a failed call on s:
//   - wrong input, bases that are lost, a cancelled call and a closed engine
//     fail the call;
//   - a dead backend is replaced and the call repeated, on the fallback when
//     the call has used up its attempts;
//   - a wrong answer puts the fallback in the backend's place for good;
//   - anything else (no memory, not supported, a defect) sends this one call
//     to the fallback.
//
// s is referenced by the caller.
func (e *Engine) handle(ctx context.Context, s *slot, reqs []request, cause error, attempt int) (out [][]byte, by string, err error) {
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case errors.Is(cause, backend.ErrInvalidInput), errors.Is(cause, backend.ErrClosed), errors.Is(cause, ErrBasesLost):
		return nil, "", cause
	case errors.Is(cause, ErrWrongAnswer):
		e.event(EventWrong, s.name, cause)
		if err := e.replace(ctx, s, cause, false); err != nil {
			return nil, "", err
		}
		return nil, "", errRepeat
	case errors.Is(cause, backend.ErrGone):
		e.event(EventFailed, s.name, cause)
		if err := e.replace(ctx, s, cause, attempt < e.cfg.Restarts); err != nil {
			return nil, "", err
		}
		return nil, "", errRepeat
	}
	e.event(EventFailed, s.name, cause)
	if e.cfg.Fallback == NoFallback || s.name == e.cfg.Fallback {
		return nil, "", cause
	}
	f, err := e.acquireFallback(ctx)
	if err != nil {
		return nil, "", errors.Join(cause, err)
	}
	defer e.release(f)
	e.event(EventFallback, f.name, cause)
	if out, err = e.runOn(ctx, f, reqs); err != nil {
		return nil, "", errors.Join(cause, err)
	}
	return out, f.name, nil
}

// replace puts another backend in the place of s, which died of cause, unless
// somebody did so already: the same one opened again if reopen is set and
// possible, else the fallback.
func (e *Engine) replace(ctx context.Context, s *slot, cause error, reopen bool) error {
	if err := e.lockChange(ctx); err != nil {
		return err
	}
	defer e.unlockChange()
	e.mu.Lock()
	s.dead = true
	done := e.current != s
	e.mu.Unlock()
	if done {
		return nil
	}
	if reopen {
		fresh, err := e.openLoaded(ctx, s.name)
		if err == nil {
			if err := e.install(fresh); err != nil {
				return err
			}
			e.event(EventRestart, s.name, cause)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		cause = errors.Join(cause, err)
	}
	if e.cfg.Fallback == NoFallback || e.cfg.Fallback == s.name {
		return cause
	}
	f, err := e.acquireFallbackLocked(ctx)
	if err != nil {
		return errors.Join(cause, err)
	}
	defer e.release(f)
	if err := e.install(f); err != nil {
		return err
	}
	e.event(EventFallback, f.name, cause)
	return nil
}

// runOn answers the batch on one slot, which the caller references. Empty
// sums are infinity without asking the backend; their bases are loaded.
func (e *Engine) runOn(ctx context.Context, s *slot, reqs []request) (out [][]byte, err error) {
	jobs := make([]backend.Job, len(reqs))
	for i, r := range reqs {
		id, err := s.ensure(ctx, r.p)
		if err != nil {
			return nil, err
		}
		jobs[i] = backend.Job{Bases: id, Offset: r.offset, Count: r.count, Scalars: r.scalars, SameAs: r.sameAs, Check: e.cfg.CheckInput}
	}
	if empty(reqs) {
		for _, r := range reqs {
			out = append(out, make([]byte, r.p.spec.Curve.PointBytes(r.p.spec.Group)))
		}
		return out, nil
	}
	out, err = s.b.MSM(ctx, jobs)
	if err != nil {
		return nil, err
	}
	if len(out) != len(jobs) {
		return nil, fmt.Errorf("%w: backend %q gave %d answers to %d jobs", ErrWrongAnswer, s.name, len(out), len(jobs))
	}
	for i, r := range reqs {
		if want := r.p.spec.Curve.PointBytes(r.p.spec.Group); len(out[i]) != want {
			return nil, fmt.Errorf("%w: backend %q answered %d bytes, want %d", ErrWrongAnswer, s.name, len(out[i]), want)
		}
	}
	return out, nil
}

func empty(reqs []request) bool {
	return !slices.ContainsFunc(reqs, func(r request) bool { return r.count > 0 })
}

// verify applies the configured checks to the answers of s.
func (e *Engine) verify(ctx context.Context, s *slot, reqs []request, out [][]byte) error {
	if e.cfg.Check != CheckNone {
		for i, r := range reqs {
			if err := r.p.check(out[i], e.cfg.Check); err != nil {
				return fmt.Errorf("%w: backend %q: %w", ErrWrongAnswer, s.name, err)
			}
		}
	}
	if e.cfg.CompareEvery == 0 || s.name == e.cfg.Fallback || empty(reqs) {
		return nil
	}
	var again []request
	var at []int
	for i, r := range reqs {
		if e.calls.Add(1)%uint64(e.cfg.CompareEvery) == 0 {
			if r.sameAs > 0 {
				r.scalars, r.sameAs = reqs[r.sameAs-1].scalars, 0
			}
			again, at = append(again, r), append(at, i)
		}
	}
	if len(again) == 0 {
		return nil
	}
	f, err := e.acquireFallback(ctx)
	if err != nil {
		return fmt.Errorf("comparing an answer: %w", err)
	}
	defer e.release(f)
	want, err := e.runOn(ctx, f, again)
	if err != nil {
		return fmt.Errorf("comparing an answer: %w", err)
	}
	for k, i := range at {
		if !bytes.Equal(out[i], want[k]) {
			return fmt.Errorf("%w: %q and %q differ in an MSM of %d %v %v points", ErrWrongAnswer,
				s.name, f.name, reqs[i].count, reqs[i].p.spec.Curve, reqs[i].p.spec.Group)
		}
	}
	return nil
}
