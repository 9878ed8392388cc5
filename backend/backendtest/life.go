package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

func info(s *subject) error {
	i := s.b.Info()
	if i.Name == "" || len(i.Can.MSM) == 0 || len(i.Devices) == 0 {
		return fmt.Errorf("a name, groups and devices are needed: %+v", i)
	}
	for _, c := range i.Can.MSM {
		if !c.Curve.Valid() || !c.Group.Valid() {
			return fmt.Errorf("unknown group %v", c)
		}
	}
	for _, e := range i.Can.Elements {
		if !e.Valid() {
			return fmt.Errorf("programs over the unknown %v", e)
		}
	}
	if _, ok := backend.As[backend.Programs](s.b); !ok && len(i.Can.Elements) > 0 {
		return fmt.Errorf("programs over %v, but no backend.Programs", i.Can.Elements)
	}
	if i.InProcess != (i.PID == 0) {
		return fmt.Errorf("in process %v and process %d", i.InProcess, i.PID)
	}
	for _, d := range i.Devices {
		if d.Name == "" {
			return fmt.Errorf("a device has no name: %+v", d)
		}
	}
	if j := s.b.Info(); j.Name != i.Name || j.Version != i.Version || !slices.Equal(j.Can.MSM, i.Can.MSM) ||
		!slices.Equal(j.Devices, i.Devices) {
		return fmt.Errorf("two answers: %+v, then %+v", i, j)
	}
	return nil
}

func invalidBases(s *subject) error {
	const n = 4
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		return withFile(l.bytes, 8, func(f *os.File) error {
			good := backend.Bases{Curve: s.curve, Group: s.group, Count: n, Bytes: l.bytes}
			for _, c := range []struct {
				what   string
				change func(*backend.Bases)
			}{
				{"curve 0", func(b *backend.Bases) { b.Curve = 0 }},
				{"curve 99", func(b *backend.Bases) { b.Curve = 99 }},
				{"group 0", func(b *backend.Bases) { b.Group = 0 }},
				{"group 3", func(b *backend.Bases) { b.Group = 3 }},
				{"count -1", func(b *backend.Bases) { b.Count = -1 }},
				{"count too small", func(b *backend.Bases) { b.Count-- }},
				{"count too large", func(b *backend.Bases) { b.Count++ }},
				{"count overflows", func(b *backend.Bases) { b.Count = math.MaxInt }},
				{"count over the bound", func(b *backend.Bases) { b.Count, b.Bytes, b.Pieces = backend.MaxCount+1, nil, pieces(nil) }},
				{"a byte is missing", func(b *backend.Bases) { b.Bytes = b.Bytes[:len(b.Bytes)-1] }},
				{"no points", func(b *backend.Bases) { b.Bytes = nil }},
				{"two sources", func(b *backend.Bases) { b.Pieces = pieces(l.bytes) }},
				{"three sources", func(b *backend.Bases) { b.Pieces, b.File = pieces(l.bytes), f }},
				{"file too short", func(b *backend.Bases) { b.Bytes, b.File, b.FileOffset = nil, f, 9 }},
				{"negative offset in a file", func(b *backend.Bases) { b.Bytes, b.File, b.FileOffset = nil, f, -1 }},
				{"negative multiples", func(b *backend.Bases) { b.Hints.Multiples = -1 }},
			} {
				b := good
				c.change(&b)
				id, err := s.b.LoadBases(s.ctx, b)
				if err := refused(err, backend.ErrInvalidInput); err != nil {
					return errors.Join(in(err, "%s", c.what), s.b.FreeBases(s.ctx, id))
				}
			}
			for _, c := range backend.CurveGroups() {
				if s.b.Info().Can.HasMSM(c.Curve, c.Group) {
					continue
				}
				_, err := s.b.LoadBases(s.ctx, backend.Bases{Curve: c.Curve, Group: c.Group})
				if err := refused(err, backend.ErrUnsupported); err != nil {
					return in(err, "%v, which is not among its capabilities", c)
				}
			}
			return s.alive()
		})
	})
}

func invalidJobs(s *subject) error {
	const n = 40
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		k, size := s.scalars(fixtures.Uniform, n, 25), s.curve.ScalarBytes()
		job := func(offset, count int, scalars []byte) backend.Job {
			return backend.Job{Bases: l.id, Offset: offset, Count: count, Input: backend.Input{Bytes: scalars}}
		}
		same := func(count, as int) backend.Job { return backend.Job{Bases: l.id, Count: count, SameAs: as} }
		whole := l.job(0, k)
		withScalars, withReady := same(n, 1), same(n, 1)
		withScalars.Bytes = k
		withReady.Ready = func(context.Context, int) error { return nil }
		type batch struct {
			what string
			jobs []backend.Job
		}
		cases := []batch{
			{"too few scalars", []backend.Job{job(0, n, k[:len(k)-size])}},
			{"too many scalars", []backend.Job{job(0, n-1, k)}},
			{"a byte is missing", []backend.Job{job(0, n, k[:len(k)-1])}},
			{"no scalars", []backend.Job{job(0, n, nil)}},
			{"range past the end", []backend.Job{job(1, n, k)}},
			{"offset past the end", []backend.Job{job(n+1, 0, nil)}},
			{"negative offset", []backend.Job{job(-1, n, k)}},
			{"negative count", []backend.Job{job(0, -1, nil)}},
			{"offset that overflows", []backend.Job{job(math.MaxInt, n, k)}},
			{"count that overflows", []backend.Job{job(1, math.MaxInt, k)}},
			{"count whose bytes overflow", []backend.Job{job(0, math.MinInt, nil)}},
			{"count whose bytes overflow to none", []backend.Job{job(0, math.MaxInt/2+1, nil)}},
			{"same as itself", []backend.Job{same(n, 1)}},
			{"same as a later job", []backend.Job{same(n, 2), whole}},
			{"same as a job that is not there", []backend.Job{whole, same(n, 9)}},
			{"same as a negative number", []backend.Job{whole, same(n, -1)}},
			{"same as a reference", []backend.Job{whole, same(n, 1), same(n, 2)}},
			{"same with another count", []backend.Job{whole, same(n-1, 1)}},
			{"same with scalars", []backend.Job{whole, withScalars}},
			{"same with ready", []backend.Job{whole, withReady}},
			{"second job wrong", []backend.Job{whole, job(1, n, k)}},
			{"bases that are not loaded", []backend.Job{{Bases: l.id + 1<<40, Count: n, Input: backend.Input{Bytes: k}}}},
			{"bases zero", []backend.Job{{Count: n, Input: backend.Input{Bytes: k}}}},
		}
		if len(s.curves) > 1 {
			other := *s
			other.curve = s.curves[1]
			m, err := other.load(fixtures.Random, n)
			if err != nil {
				return err
			}
			defer s.b.FreeBases(s.ctx, m.id) // other checks look at its errors
			cases = append(cases, batch{"same on another curve", []backend.Job{whole, {Bases: m.id, Count: n, SameAs: 1}}})
		}
		for _, c := range cases {
			r, err := s.b.MSM(s.ctx, c.jobs)
			if err := refused(err, backend.ErrInvalidInput); err != nil {
				return in(err, "%s", c.what)
			}
			if r != nil {
				return fmt.Errorf("%s: results beside an error", c.what)
			}
		}
		return s.alive()
	})
}

func unknownBases(s *subject) error {
	s = s.any()
	l, err := s.load(fixtures.Random, 3)
	if err != nil {
		return err
	}
	if err := s.b.FreeBases(s.ctx, l.id); err != nil {
		return err
	}
	_, err = s.b.MSM(s.ctx, []backend.Job{l.job(0, s.scalars(fixtures.Uniform, 3, 26))})
	return errors.Join(
		in(refused(err, backend.ErrInvalidInput), "MSM over freed bases"),
		in(refused(s.b.FreeBases(s.ctx, l.id), backend.ErrInvalidInput), "freeing twice"),
		in(refused(s.b.FreeBases(s.ctx, 0), backend.ErrInvalidInput), "freeing the id zero"),
		in(refused(s.b.FreeBases(s.ctx, 1<<60), backend.ErrInvalidInput), "freeing an unknown id"),
		s.alive(),
	)
}

// multiples checks that hints change no answer.
func multiples(s *subject) error {
	const n = 200
	s = s.any()
	return s.with(fixtures.Infinities, n, func(l *loaded) error {
		all := []backend.Hints{{Multiples: 1}, {Multiples: 2}, {Multiples: 3, Uniform: true}, {Multiples: 1000}, {Multiples: 1000, Uniform: true}}
		for i, hints := range all {
			scalars := []fixtures.Distribution{fixtures.Uniform, fixtures.Witness}[i%2]
			id, err := s.b.LoadBases(s.ctx, backend.Bases{
				Curve: s.curve, Group: s.group, Count: n, Bytes: l.bytes, Hints: hints,
			})
			if err != nil {
				return in(err, "with %+v", hints)
			}
			other := *l
			other.id = id
			if err := errors.Join(
				s.expect(&other, 3, s.scalars(scalars, n-3, 27)), s.b.FreeBases(s.ctx, id),
			); err != nil {
				return in(err, "with %+v", hints)
			}
		}
		return nil
	})
}

// freeAndReload changes the points in place between loads, as their owner may.
func freeAndReload(s *subject) error {
	const n = 33
	times := 12
	if s.full {
		times = 200
	}
	p, err := s.set(fixtures.Random)
	if err != nil {
		return err
	}
	b, err := p.Bytes(n)
	if err != nil {
		return err
	}
	k := s.scalars(fixtures.Uniform, n, 28)
	for i := range times {
		if err := p.Fill(b, i*n); err != nil {
			return err
		}
		want, err := p.Expected(i*n, k)
		if err != nil {
			return err
		}
		id, err := s.b.LoadBases(s.ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: n, Bytes: b})
		if err != nil {
			return in(err, "load %d", i)
		}
		got, err := s.one(backend.Job{Bases: id, Count: n, Input: backend.Input{Bytes: k}})
		if err := errors.Join(err, s.b.FreeBases(s.ctx, id)); err != nil {
			return in(err, "load %d", i)
		}
		if err := equal(got, want); err != nil {
			return in(err, "load %d", i)
		}
	}
	return nil
}

func concurrentCalls(s *subject) error {
	const n = 101
	workers, rounds := 6, 3
	if s.full {
		workers, rounds = 16, 20
	}
	return s.with(fixtures.Random, n, func(shared *loaded) error {
		var g errgroup.Group
		for w := range workers {
			g.Go(func() error {
				for i := range rounds {
					own := func(l *loaded) error {
						return s.expect(l, w, s.scalars(fixtures.Uniform, n-w, uint64(100+w*rounds+i)))
					}
					err := own(shared)
					if w%2 == 0 {
						err = errors.Join(err, s.with(fixtures.Repeated, n, own))
					}
					if err != nil {
						return in(err, "goroutine %d, round %d", w, i)
					}
				}
				return nil
			})
		}
		return g.Wait()
	})
}

func readyFails(s *subject) error {
	const n = 20
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		j := l.job(0, s.scalars(fixtures.Uniform, n, 29))
		late := errors.New("no scalars will come")
		j.Ready = func(context.Context, int) error { return late }
		r, err := s.b.MSM(s.ctx, []backend.Job{l.job(0, j.Bytes), j})
		if r != nil {
			return fmt.Errorf("%d results after Ready failed", len(r))
		}
		return errors.Join(refused(err, late), refused(err, backend.ErrInvalidInput), s.alive())
	})
}

func cancelledBefore(s *subject) error {
	const n = 20
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		cancelled, cancel := context.WithCancel(s.ctx)
		cancel()
		expired, stop := context.WithDeadline(s.ctx, time.Now().Add(-time.Second))
		defer stop()
		for _, ctx := range []context.Context{cancelled, expired} {
			_, errMSM := s.b.MSM(ctx, []backend.Job{l.job(0, s.scalars(fixtures.Uniform, n, 30))})
			_, errLoad := s.b.LoadBases(ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: n, Bytes: l.bytes})
			if err := errors.Join(in(refused(errMSM, ctx.Err()), "MSM"), in(refused(errLoad, ctx.Err()), "LoadBases")); err != nil {
				return err
			}
		}
		return s.alive()
	})
}

// cancelledWaiting ends a call whose scalars never come. It overwrites the scalars right after the
// call has returned, so that the race detector sees a backend that still reads them.
func cancelledWaiting(s *subject) error {
	const n = 20
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		j := l.job(0, s.scalars(fixtures.Uniform, n, 31))
		j.Ready = func(context.Context, int) error {
			cancel()
			return ctx.Err()
		}
		_, err := s.b.MSM(ctx, []backend.Job{j})
		clear(j.Bytes)
		return errors.Join(refused(err, context.Canceled), s.alive())
	})
}

func cancelledLoading(s *subject) error {
	const n = 5000
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		done := 0
		source := func(yield func([]byte, error) bool) {
			for p, err := range pieces(l.bytes) {
				if !yield(p, err) {
					return
				}
				if done += len(p); done > len(l.bytes)/2 {
					cancel()
				}
			}
		}
		id, err := s.b.LoadBases(ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: n, Pieces: source})
		if err == nil {
			err = errors.Join(errors.New("bases loaded"), s.b.FreeBases(s.ctx, id))
		}
		return errors.Join(refused(err, context.Canceled), s.alive())
	})
}

// whileComputing starts an MSM that waits for its scalars and calls do. do must not return before
// the MSM has its scalars. Then the MSM's answer must be right and do's error nil.
func (s *subject) whileComputing(l *loaded, scalars []byte, what string, do func() error) error {
	call, err := s.computing(l, scalars)
	if err != nil {
		return err
	}
	return s.during(call, what, do)
}

// computing returns a call for during and beside: an MSM whose answer is checked.
func (s *subject) computing(l *loaded, scalars []byte) (call waitingCall, err error) {
	want, err := l.want(0, scalars)
	return func(ready func(context.Context, int) error) error {
		j := l.job(0, scalars)
		j.Ready = ready
		return s.all([]backend.Job{j}, [][]byte{want})
	}, err
}

// waitingCall is a call of a backend that waits with ready.
type waitingCall func(ready func(context.Context, int) error) error

// start starts a call and returns once it waits. release lets the call go on and returns its error.
func (s *subject) start(call waitingCall) (release func() error, err error) {
	entered, goOn := make(chan struct{}, 16), make(chan struct{})
	ready := func(ctx context.Context, n int) error {
		select {
		case entered <- struct{}{}:
		default:
		}
		select {
		case <-goOn:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	computed := make(chan error, 1)
	go func() { computed <- call(ready) }()
	select {
	case <-entered:
	case err := <-computed:
		close(goOn)
		return nil, fmt.Errorf("the call ended before its scalars were there: %w", err)
	}
	return func() error { close(goOn); return <-computed }, nil
}

// during does what whileComputing does, for any call that waits with ready.
func (s *subject) during(call waitingCall, what string, do func() error) error {
	release, err := s.start(call)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	early := false
	select {
	case err = <-done:
		early = true
	case <-time.After(s.soon):
	}
	if err := release(); err != nil {
		return in(err, "the call during %s", what)
	}
	if early {
		return fmt.Errorf("%s returned (%v) while a call was in flight", what, err)
	}
	return in(<-done, "%s", what)
}

// beside starts a call, calls do while it waits, and lets it go on after do has returned.
func (s *subject) beside(call waitingCall, what string, do func() error) error {
	release, err := s.start(call)
	if err != nil {
		return err
	}
	err = in(do(), "%s", what)
	return errors.Join(err, in(release(), "the call during %s", what))
}

// causesKept checks that an error wraps both the context's error and its cause.
func causesKept(s *subject) error {
	const n = 20
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		cause := errors.New("the user went home")
		ctx, cancel := context.WithCancelCause(s.ctx)
		defer cancel(nil)
		j := l.job(0, s.scalars(fixtures.Uniform, n, 36))
		j.Ready = func(context.Context, int) error {
			cancel(cause)
			return backend.Ended(ctx)
		}
		_, errMSM := s.b.MSM(ctx, []backend.Job{j})
		_, errLoad := s.b.LoadBases(ctx, backend.Bases{Curve: s.curve, Group: s.group, Count: n, Bytes: l.bytes})
		return errors.Join(
			in(errors.Join(refused(errMSM, context.Canceled), refused(errMSM, cause)), "MSM"),
			in(errors.Join(refused(errLoad, context.Canceled), refused(errLoad, cause)), "LoadBases"),
			s.alive(),
		)
	})
}

// freeCancelled ends the context of FreeBases while a call uses the bases.
func freeCancelled(s *subject) error {
	const n = 20
	s = s.any()
	l, err := s.load(fixtures.Random, n)
	if err != nil {
		return err
	}
	k := s.scalars(fixtures.Uniform, n, 37)
	call, err := s.computing(l, k)
	if err != nil {
		return err
	}
	return errors.Join(s.beside(call, "FreeBases that was given up and asked for again", func() error {
		ctx, cancel := context.WithTimeout(s.ctx, s.soon/3)
		defer cancel()
		err := in(refused(s.b.FreeBases(ctx, l.id), context.DeadlineExceeded), "FreeBases")
		_, errMSM := s.b.MSM(s.ctx, []backend.Job{l.job(0, k)})
		return errors.Join(err,
			in(refused(errMSM, backend.ErrInvalidInput), "MSM over bases that are being freed"),
			in(refused(s.b.FreeBases(s.ctx, l.id), backend.ErrInvalidInput), "freeing them again"),
		)
	}), s.alive())
}

// aliveUntilClosed checks that Ping and Done tell whether a backend is there.
func aliveUntilClosed(s *subject) error {
	own := s.any()
	own.b = s.open()
	if err := own.b.Ping(s.ctx); err != nil {
		return in(err, "Ping")
	}
	select {
	case <-own.b.Done():
		return errors.New("the channel of Done is closed while the backend is open")
	default:
	}
	const n = 20
	l, err := own.load(fixtures.Random, n)
	if err != nil {
		return err
	}
	k := own.scalars(fixtures.Uniform, n, 38)
	want, err := l.want(0, k)
	if err != nil {
		return err
	}
	j := l.job(0, k)
	j.Ready = func(ctx context.Context, _ int) error { // a call is in flight now
		ctx, cancel := context.WithTimeout(ctx, s.answer)
		defer cancel()
		return in(own.b.Ping(ctx), "Ping during a call")
	}
	if err := errors.Join(own.all([]backend.Job{j}, [][]byte{want}), in(own.b.Close(), "Close")); err != nil {
		return err
	}
	select {
	case <-own.b.Done():
	case <-time.After(s.answer):
		return errors.New("the channel of Done is open after Close")
	}
	return in(refused(own.b.Ping(s.ctx), backend.ErrClosed), "Ping after Close")
}

func freeWaits(s *subject) error {
	const n = 20
	s = s.any()
	l, err := s.load(fixtures.Random, n)
	if err != nil {
		return err
	}
	if err := s.whileComputing(l, s.scalars(fixtures.Uniform, n, 32), "FreeBases", func() error {
		return s.b.FreeBases(s.ctx, l.id)
	}); err != nil {
		return err
	}
	return s.alive()
}

func closeWaits(s *subject) error {
	const n = 20
	own := s.any()
	own.b = s.open()
	l, err := own.load(fixtures.Random, n)
	if err != nil {
		return err
	}
	return own.whileComputing(l, own.scalars(fixtures.Uniform, n, 33), "Close", own.b.Close)
}

func closed(s *subject) error {
	const n = 3
	own := s.any()
	own.b = s.open()
	l, err := own.load(fixtures.Random, n)
	if err != nil {
		return err
	}
	if err := own.b.Close(); err != nil {
		return in(err, "Close")
	}
	ctx := s.ctx
	_, errMSM := own.b.MSM(ctx, []backend.Job{l.job(0, own.scalars(fixtures.Uniform, n, 34))})
	_, errEmpty := own.b.MSM(ctx, nil)
	_, errLoad := own.b.LoadBases(ctx, backend.Bases{Curve: l.curve, Group: l.group, Count: n, Bytes: l.bytes})
	errs := []error{
		in(refused(errMSM, backend.ErrClosed), "MSM"),
		in(refused(errEmpty, backend.ErrClosed), "empty MSM"),
		in(refused(errLoad, backend.ErrClosed), "LoadBases"),
		in(refused(own.b.FreeBases(ctx, l.id), backend.ErrClosed), "FreeBases"),
		in(own.b.Close(), "second Close"),
		in(s.any().alive(), "another backend"),
	}
	if a, ok := backend.As[backend.Allocator](own.b); ok {
		_, err := a.Alloc(ctx, 64)
		errs = append(errs, in(refused(err, backend.ErrClosed), "Alloc"))
	}
	return errors.Join(errs...)
}

// scalarBuffers checks a backend that is an Allocator; any other passes.
func scalarBuffers(s *subject) error {
	a, ok := backend.As[backend.Allocator](s.b)
	if !ok {
		return nil
	}
	const n = 70
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		k, size := s.scalars(fixtures.Uniform, n, 35), s.curve.ScalarBytes()
		buf, err := a.Alloc(s.ctx, 2*len(k)+5)
		if err != nil {
			return err
		}
		b := buf.Bytes()
		if len(b) != 2*len(k)+5 {
			return fmt.Errorf("a buffer of %d bytes, %d were asked for", len(b), 2*len(k)+5)
		}
		copy(b, k)
		copy(b[len(k)+5:], k) // another part, not aligned
		if err := errors.Join(
			in(s.expect(l, 0, b[:len(k)]), "whole"),
			in(s.expect(l, 9, b[3*size:13*size]), "part"),
		); err != nil {
			return err
		}
		want, err := l.want(0, k)
		if err != nil {
			return err
		}
		if err := in(s.all([]backend.Job{l.job(0, b[len(k)+5:])}, [][]byte{want}), "part that is not aligned"); err != nil {
			return err
		}
		return s.whileComputing(l, b[:len(k)], "Free of a buffer", func() error { buf.Free(); return nil })
	})
}

// elements checks the spaces of every element that a backend lists. They are zero at first and hold
// what is written. If a modulus bounds the elements, a checked write refuses one that is not below
// it.
func elements(s *subject) error {
	for _, e := range s.b.Info().Can.Elements {
		if err := s.elementsHeld(e); err != nil {
			return in(err, "%v", e)
		}
	}
	return nil
}

func (s *subject) elementsHeld(e backend.Element) (err error) {
	const n = 3
	v := s.vectors()
	id, err := v.NewSpace(s.ctx, e, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in(v.FreeSpace(s.ctx, id), "FreeSpace")) }()
	size := e.Bytes()
	given := make([]byte, (n-1)*size)
	for i := 0; i < len(given); i += size {
		given[i] = byte(i/size + 1)
	}
	write := func(b []byte) ([]byte, error) {
		got, err := v.Run(s.ctx, []backend.Step{
			backend.Write{Dst: span(id, 1, len(b)/size), Input: backend.Input{Bytes: b, Check: true}},
			backend.Read{Src: span(id, 0, n)},
		})
		if err != nil {
			return nil, err
		}
		return got[1], nil
	}
	got, err := write(given)
	if err != nil {
		return err
	}
	if want := slices.Concat(make([]byte, size), given); !bytes.Equal(got, want) {
		return fmt.Errorf("a space holds %x, want %x", got, want)
	}
	_, err = write(bytes.Repeat([]byte{255}, size))
	if e.Curve == 0 {
		return err
	}
	return in(refused(err, backend.ErrInvalidInput), "all bits set")
}

// usage checks a backend that is Metered: an MSM shows in its counters after the next Ping.
func usage(s *subject) error {
	m, ok := backend.As[backend.Metered](s.b)
	if !ok {
		return nil
	}
	const n = 70
	s = s.any()
	return s.with(fixtures.Random, n, func(l *loaded) error {
		var counted [2]backend.DeviceUsage // before and after
		for i := range counted {
			if err := s.b.Ping(s.ctx); err != nil {
				return in(err, "Ping")
			}
			devices := m.Usage().Devices
			if len(devices) != len(s.b.Info().Devices) {
				return fmt.Errorf("the usage of %d devices, it has %d", len(devices), len(s.b.Info().Devices))
			}
			for _, d := range devices {
				counted[i].Calls += d.Calls
				counted[i].Busy += d.Busy
			}
			if i == 0 {
				if err := s.expect(l, 0, s.scalars(fixtures.Uniform, n, 36)); err != nil {
					return err
				}
			}
		}
		if counted[1].Calls <= counted[0].Calls || counted[1].Busy <= counted[0].Busy {
			return fmt.Errorf("an MSM does not show: %+v, then %+v", counted[0], counted[1])
		}
		return nil
	})
}
