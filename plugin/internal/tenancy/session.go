package tenancy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/resident"
)

// Session is the backend of one of those who share a backend. It implements backend.Backend,
// backend.Metered and, as far as the shared backend does, backend.Programs.
type Session struct {
	s     *Shared
	user  int
	quota int64
	queue *queue                       // for calls
	loads *queue                       // for loads
	kept  *resident.Set[*entry, space] // spaces by the backend's ids
	hits  uint64                       // loads whose bases were resident already; under Shared.mu

	mu    sync.Mutex
	held  int64 // bytes of bases and spaces
	bases int64 // the part of held that is bases
}

// space is a space of the shared backend.
type space struct {
	id   backend.SpaceID
	size int64
}

var (
	_ backend.Backend  = (*Session)(nil)
	_ backend.Programs = (*Session)(nil)
	_ backend.Metered  = (*Session)(nil)
	_ backend.Tester   = (*Session)(nil)
)

// Open opens a session of a user. Files and memory of different users are kept apart. quota bounds
// the bytes of bases and vectors that the session holds; 0 is no limit. Bases count in full for
// each session that holds them.
func (s *Shared) Open(user int, quota int64) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
	o := &Session{s: s, user: user, queue: s.turns.queue(user), quota: quota, kept: resident.New[*entry, space](s.b.Info().Name)}
	o.loads = o.queue
	if s.loads != s.turns {
		o.loads = s.loads.queue(user)
	}
	return o
}

// Info implements backend.Backend.
func (s *Session) Info() backend.Info { return s.s.b.Info() }

// Ping implements backend.Backend.
func (s *Session) Ping(ctx context.Context) error {
	if err := s.kept.Ping(ctx); err != nil {
		return err
	}
	return s.s.b.Ping(ctx)
}

// Done implements backend.Backend. The channel is closed after Close. When the shared backend ends,
// its owner must notice.
func (s *Session) Done() <-chan struct{} { return s.kept.Done() }

// Usage implements backend.Metered. Only the user who runs the daemon learns what all sessions did,
// because that tells about everyone's scalars. Others learn what this session did. It is not known
// then which of several devices computed a call: all time counts for the first one.
func (s *Session) Usage() backend.Usage {
	if s.user == s.s.o.Owner {
		return s.s.Usage()
	}
	had, waiting := s.s.turns.of(s.queue)
	d := &backend.DaemonUsage{Sessions: 1, Waiting: waiting}
	s.mu.Lock()
	d.Resident = s.bases
	s.mu.Unlock()
	s.s.mu.Lock()
	d.Recognised = s.hits
	s.s.mu.Unlock()
	u := backend.Usage{Devices: make([]backend.DeviceUsage, len(s.s.b.Info().Devices)), Daemon: d}
	if len(u.Devices) > 0 {
		u.Devices[0] = had
	}
	if m, ok := backend.As[backend.Metered](s.s.b); ok {
		of := m.Usage().Devices
		for i := range min(len(of), len(u.Devices)) {
			u.Devices[i].Retired = of[i].Retired
		}
	}
	return u
}

// Test implements backend.Tester, in a turn of the session.
func (s *Session) Test(ctx context.Context) error {
	end, err := s.kept.Begin()
	if err != nil {
		return err
	}
	defer end()
	t, ok := backend.As[backend.Tester](s.s.b)
	if !ok {
		return fmt.Errorf("%w: tests of devices", backend.ErrUnsupported)
	}
	during, leave, err := s.s.turns.enter(ctx, s.queue)
	if err != nil {
		return err
	}
	defer leave()
	return t.Test(during)
}

// AttachArena shows shared memory to the backend, if that wants to see it; see serve.ArenaUser.
func (s *Session) AttachArena(b []byte) (detach func(), err error) {
	type user interface {
		AttachArena(b []byte) (detach func(), err error)
	}
	if u, ok := backend.As[user](s.s.b); ok {
		return u.AttachArena(b)
	}
	return nil, nil
}

// take counts memory that the session will hold, until give. It fails with backend.ErrOutOfMemory
// beyond the quota.
func (s *Session) take(what string, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quota > 0 && size > s.quota-s.held {
		return fmt.Errorf("%w: %s of %d bytes, and this session holds %d of the %d bytes of bases and "+
			"vectors that it may; free some, or raise the daemon's --quota-memory",
			backend.ErrOutOfMemory, what, size, s.held, s.quota)
	}
	s.held += size
	return nil
}

func (s *Session) give(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held -= size
}

// LoadBases implements backend.Backend. It does not read bases that are loaded already, if their
// digest is known (Bases.Memo) or they lie in a file that has been read before.
func (s *Session) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	end, err := s.kept.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	if err := b.Validate(); err != nil {
		return 0, err
	}
	if err := s.take("bases", b.Size()); err != nil {
		return 0, err
	}
	e, err := s.s.hold(ctx, &b, s)
	if err != nil {
		s.give(b.Size())
		return 0, err
	}
	s.mu.Lock()
	s.bases += e.size
	s.mu.Unlock()
	return s.kept.AddBases(b.Elements(), e), nil
}

// FreeBases implements backend.Backend.
func (s *Session) FreeBases(ctx context.Context, id backend.BasesID) error {
	return s.kept.FreeBases(ctx, id, s.letGo)
}

func (s *Session) letGo(e *entry) error {
	s.give(e.size)
	s.mu.Lock()
	s.bases -= e.size
	s.mu.Unlock()
	s.s.release(e, s.user)
	return nil
}

// MSM implements backend.Backend.
func (s *Session) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return s.Run(ctx, backend.Steps(jobs))
}

// errNoPrograms is returned if the shared backend has no programs.
var errNoPrograms = fmt.Errorf("%w: programs", backend.ErrUnsupported)

// NewSpace implements backend.Programs.
func (s *Session) NewSpace(ctx context.Context, e backend.Element, count int) (backend.SpaceID, error) {
	end, err := s.kept.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	if s.s.programs == nil {
		return 0, errNoPrograms
	}
	of := backend.Elements{Element: e, Count: count}
	size, err := of.Size()
	if err != nil {
		return 0, err
	}
	if err := s.take("vectors", size); err != nil {
		return 0, err
	}
	if err := s.s.reserve(s.user, size); err != nil {
		s.give(size)
		return 0, err
	}
	var id backend.SpaceID
	err = s.s.roomy(func() (err error) {
		id, err = s.s.programs.NewSpace(ctx, e, count)
		return err
	}, always)
	if err != nil {
		s.give(size)
		s.s.unreserve(s.user, size)
		return 0, err
	}
	s.kept.PutSpace(id, of, space{id, size})
	return id, nil
}

// FreeSpace implements backend.Programs.
func (s *Session) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	return s.kept.FreeSpace(ctx, id, s.freeSpace)
}

func (s *Session) freeSpace(p space) error {
	defer s.s.unreserve(s.user, p.size)
	s.give(p.size)
	return s.s.programs.FreeSpace(context.Background(), p.id)
}

// Run implements backend.Programs. It replaces the session's ids by those of the backend, which
// checks the steps.
func (s *Session) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	end, err := s.kept.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	used, err := s.kept.Find(steps)
	if err != nil {
		return nil, err
	}
	defer s.kept.End(used)
	theirs := make([]backend.Step, len(steps))
	var late []input // inputs that are still being written
	again := true    // the program writes no space, so that it can begin again
	for i, step := range steps {
		theirs[i] = backend.Renamed(step, nil, func(id backend.BasesID) backend.BasesID { return used.Bases[id].Kept.id })
		backend.WithInput(step, func(in *backend.Input, count int) {
			if in.Ready != nil {
				late = append(late, input{i, *in, count})
			}
		})
		again = again && !writes(step)
	}
	return s.compute(ctx, theirs, late, again)
}

// HoldAnswers counts the memory of a program's answers, until release. It fails with
// backend.ErrOutOfMemory if there is too little.
func (s *Session) HoldAnswers(steps []backend.Step) (release func(), err error) {
	if !slices.ContainsFunc(steps, isRead) {
		return func() {}, nil // each step answers a point or a few elements
	}
	used, err := s.kept.Find(steps)
	if err != nil {
		return nil, err
	}
	defer s.kept.End(used)
	var size int64
	for _, step := range steps {
		size += int64(backend.AnswerBytes(step, used.Memory()))
	}
	if err := s.s.reserve(s.user, size); err != nil {
		if wrong := backend.Check(steps, used.Memory()); wrong != nil {
			return nil, wrong
		}
		return nil, err
	}
	return func() { s.s.unreserve(s.user, size) }, nil
}

func isRead(step backend.Step) bool {
	_, ok := step.(backend.Read)
	return ok
}

// writes reports whether a step changes a space.
func writes(step backend.Step) bool {
	return slices.ContainsFunc(backend.Accesses(step), func(a backend.Access) bool { return a.Writes })
}

// Close implements backend.Backend: it waits for the calls in flight and gives everything back. The
// shared backend stays open.
func (s *Session) Close() error {
	bases, spaces, first := s.kept.Close()
	if !first {
		return nil
	}
	var failed error
	for _, p := range spaces {
		failed = errors.Join(failed, s.freeSpace(p))
	}
	for _, e := range bases {
		_ = s.letGo(e)
	}
	s.s.mu.Lock()
	defer s.s.mu.Unlock()
	s.s.sessions--
	return failed
}

// input is an input that is still being written while its program computes.
type input struct {
	step  int
	of    backend.Input
	count int // in elements
}

// errStalled cancels a computation whose input does not come.
var errStalled = fmt.Errorf("%w: input did not come", backend.ErrInternal)

// compute runs a program in a turn of the session. Input may fail to come for a while, if its
// prover stands still or is slow; the program would then keep the turn from others. So it is
// cancelled, waits for all of its input without a turn, and computes from the start. A program that
// cannot begin again does not begin before all of its input is there.
func (s *Session) compute(ctx context.Context, steps []backend.Step, late []input, again bool) ([][]byte, error) {
	if again {
		answers, stalled, err := s.attempt(ctx, steps, again)
		if !stalled {
			return answers, err
		}
	}
	for _, in := range late {
		if err := in.of.Wait(ctx, in.count); err != nil {
			return nil, backend.InStep(in.step, steps[in.step], err)
		}
		steps[in.step] = backend.WithInput(steps[in.step], func(in *backend.Input, _ int) { in.Ready = nil })
	}
	answers, _, err := s.attempt(ctx, steps, again)
	return answers, err
}

// attempt computes in one turn. stalled says that the program failed because its input did not
// come.
func (s *Session) attempt(ctx context.Context, steps []backend.Step, again bool) (answers [][]byte, stalled bool, err error) {
	during, leave, err := s.s.turns.enter(ctx, s.queue)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	during, cancel := context.WithCancelCause(during)
	defer cancel(nil)
	watched := make([]backend.Step, len(steps))
	for i, step := range steps {
		watched[i] = backend.WithInput(step, func(in *backend.Input, _ int) {
			if ready := in.Ready; ready != nil {
				in.Ready = func(ctx context.Context, n int) error {
					t := time.AfterFunc(s.s.stalled, func() { cancel(errStalled) })
					defer t.Stop()
					return ready(ctx, n)
				}
			}
		})
	}
	err = s.s.roomy(func() (err error) {
		answers, err = backend.Run(during, s.s.b, watched)
		return err
	}, func() bool { return again })
	return answers, err != nil && context.Cause(during) == errStalled, err
}

// always lets roomy try again, and evictOne evict.
func always() bool { return true }
