package share

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendutil"
)

// Session is the backend of one of those who share. It implements
// backend.Backend, backend.Metered and, as far as the backend that is shared does,
// backend.Vectors.
type Session struct {
	s     *Shared
	user  int
	quota int64
	lane  lane
	kept  *backendutil.Residents[*entry, space] // spaces by the backend's ids

	mu   sync.Mutex
	held int64 // bytes of bases and spaces
}

// space is a space of the backend's.
type space struct {
	id   backend.SpaceID
	size int64
}

var (
	_ backend.Backend = (*Session)(nil)
	_ backend.Vectors = (*Session)(nil)
	_ backend.Metered = (*Session)(nil)
)

// Open opens a session of a user's, whose files and memory are told from others';
// quota bounds the bytes of bases and vectors that it holds, each set of bases
// counted in full however many hold it; 0 is no limit.
func (s *Shared) Open(user int, quota int64) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
	of := s.claims[user]
	if of == nil {
		of = &claim{}
		s.claims[user] = of
	}
	return &Session{s: s, user: user, lane: lane{user: of}, quota: quota, kept: backendutil.NewResidents[*entry, space](s.b.Info().Name)}
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

// Done implements backend.Backend: it is closed after Close. The end of the
// backend that is shared is for whoever owns that to see.
func (s *Session) Done() <-chan struct{} { return s.kept.Done() }

// Usage implements backend.Metered, with what all sessions did.
func (s *Session) Usage() backend.Usage { return s.s.Usage() }

// AttachArena shows shared memory to the backend, if it wants to see it; see
// plugin.ArenaUser.
func (s *Session) AttachArena(b []byte) (detach func(), err error) {
	type user interface {
		AttachArena(b []byte) (detach func(), err error)
	}
	if u, ok := backend.As[user](s.s.b); ok {
		return u.AttachArena(b)
	}
	return nil, nil
}

// take counts memory that the session is to hold; give ends that.
func (s *Session) take(what string, size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quota > 0 && size > s.quota-s.held {
		return fmt.Errorf("%w: %s of %d bytes, and this session holds %d of the %d bytes of bases and vectors that it may; free some, or raise the daemon's --quota-memory",
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

// LoadBases implements backend.Backend. Bases whose digest is known (Bases.Memo),
// or that lie in a file that has been read before, are not read when they are
// loaded already.
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
	e, err := s.s.hold(ctx, &b, s.user)
	if err != nil {
		s.give(b.Size())
		return 0, err
	}
	return s.kept.AddBases(loaded(&b), e), nil
}

// FreeBases implements backend.Backend.
func (s *Session) FreeBases(ctx context.Context, id backend.BasesID) error {
	end, err := s.kept.Begin()
	if err != nil {
		return err
	}
	defer end()
	return s.kept.FreeBases(ctx, id, s.letGo)
}

func (s *Session) letGo(e *entry) error {
	s.give(e.size)
	s.s.release(e, s.user)
	return nil
}

// MSM implements backend.Backend.
func (s *Session) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	end, err := s.kept.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	used, err := s.kept.UseJobs(jobs)
	if err != nil {
		return nil, err
	}
	defer s.kept.EndJobs(used)
	var inputs []input
	for i := range jobs {
		if jobs[i].Ready != nil {
			inputs = append(inputs, input{jobs[i].Ready, jobs[i].Count})
		}
	}
	return s.compute(ctx, inputs, func(ctx context.Context, ready func(ready) ready) ([][]byte, error) {
		theirs := make([]backend.Job, len(jobs))
		for i, j := range jobs {
			j.Bases, j.Ready = used[i].Kept.id, ready(j.Ready)
			theirs[i] = j
		}
		return s.s.b.MSM(ctx, theirs)
	})
}

// errNoVectors is of a backend that has none.
var errNoVectors = fmt.Errorf("%w: vectors", backend.ErrUnsupported)

// NewSpace implements backend.Vectors.
func (s *Session) NewSpace(ctx context.Context, curve backend.Curve, count int) (backend.SpaceID, error) {
	end, err := s.kept.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	if s.s.vectors == nil {
		return 0, errNoVectors
	}
	size, err := backendutil.SpaceBytes(curve, count)
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
		id, err = s.s.vectors.NewSpace(ctx, curve, count)
		return err
	}, always)
	if err != nil {
		s.give(size)
		s.s.unreserve(s.user, size)
		return 0, err
	}
	s.kept.PutSpace(id, backendutil.Loaded{Curve: curve, Count: count}, space{id, size})
	return id, nil
}

// FreeSpace implements backend.Vectors.
func (s *Session) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	end, err := s.kept.Begin()
	if err != nil {
		return err
	}
	defer end()
	return s.kept.FreeSpace(ctx, id, s.freeSpace)
}

func (s *Session) freeSpace(p space) error {
	defer s.s.unreserve(s.user, p.size)
	s.give(p.size)
	return s.s.vectors.FreeSpace(context.Background(), p.id)
}

// Run implements backend.Vectors.
func (s *Session) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	end, err := s.kept.Begin()
	if err != nil {
		return nil, err
	}
	defer end()
	if s.s.vectors == nil {
		return nil, errNoVectors
	}
	used, err := s.kept.UseSteps(steps)
	if err != nil {
		return nil, err
	}
	defer s.kept.EndSteps(used)
	// A program that has begun cannot begin again, so it begins with all that it
	// is to be given.
	theirs := make([]backend.Step, len(steps))
	for i, step := range steps {
		switch step := step.(type) {
		case backend.Write:
			if step.Ready != nil {
				if err := step.Ready(ctx, step.Dst.Count); err != nil {
					return nil, backendutil.InStep(i, step, err)
				}
				step.Ready = nil
			}
			theirs[i] = step
		case backend.Commit:
			step.Bases = used.Bases[step.Bases].Kept.id
			theirs[i] = step
		default:
			theirs[i] = step
		}
	}
	ctx, leave, err := s.s.turns.enter(ctx, &s.lane)
	if err != nil {
		return nil, err
	}
	defer leave()
	answers, err := s.s.vectors.Run(ctx, theirs)
	if errors.Is(err, backend.ErrOutOfMemory) {
		s.s.Empty() // for the next one
	}
	return answers, err
}

// Close implements backend.Backend: it waits for the calls in flight, and gives
// everything back. The backend that is shared stays.
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

// ready is backend.Job.Ready, and input such a wait for all.
type (
	ready func(ctx context.Context, n int) error
	input struct {
		ready ready
		count int
	}
)

// errStalled ends a computation whose scalars do not come.
var errStalled = fmt.Errorf("%w: scalars did not come", backend.ErrInternal)

func always() bool { return true }

// compute calls f in a turn of the session's. A call whose scalars fail to come
// for a while, of a prover that stands or is slow, would keep the turn from
// others: it is cancelled, waits for all its scalars without a turn, and
// computes from the start.
func (s *Session) compute(ctx context.Context, inputs []input, f func(context.Context, func(ready) ready) ([][]byte, error)) ([][]byte, error) {
	answers, stalled, err := s.attempt(ctx, func(ctx context.Context, stall func()) ([][]byte, error) {
		return f(ctx, func(r ready) ready {
			if r == nil {
				return nil
			}
			return func(ctx context.Context, n int) error {
				t := time.AfterFunc(s.s.stalled, stall)
				defer t.Stop()
				return r(ctx, n)
			}
		})
	})
	if !stalled {
		return answers, err
	}
	for _, in := range inputs {
		if err := in.ready(ctx, in.count); err != nil {
			return nil, err
		}
	}
	answers, _, err = s.attempt(ctx, func(ctx context.Context, _ func()) ([][]byte, error) {
		return f(ctx, func(ready) ready { return nil }) // what is there now is what counts
	})
	return answers, err
}

// attempt is one turn. stalled tells that f failed because it called stall.
func (s *Session) attempt(ctx context.Context, f func(ctx context.Context, stall func()) ([][]byte, error)) (answers [][]byte, stalled bool, err error) {
	during, leave, err := s.s.turns.enter(ctx, &s.lane)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	during, cancel := context.WithCancelCause(during)
	defer cancel(nil)
	err = s.s.roomy(func() (err error) {
		answers, err = f(during, func() { cancel(errStalled) })
		return err
	}, always)
	return answers, err != nil && ctx.Err() == nil && context.Cause(during) == errStalled, err
}
