package tenancy

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Options configures a Shared. The zero value is the default.
type Options struct {
	// Keep is how many bytes all bases together may have while any are kept that no session holds.
	// Of these, the last used stay. 0 keeps none.
	Keep int64
	// Room bounds the bytes of bases and vectors in total. UserRoom bounds those that one user's
	// sessions hold. 0 is no limit.
	Room, UserRoom int64
	// Copies and UserCopies bound in the same way the bytes of the copies from which bases are
	// hashed while they are loaded.
	Copies, UserCopies int64
	// Turns is how many calls compute at a time. 0 is two for each device, so that one fetches its
	// scalars while another computes.
	Turns int
	// Owner is the user who may read what all sessions do. Others read what their own session does.
	Owner int
	// Log takes what sessions are not told; nil discards it.
	Log *slog.Logger
}

// Shared is a backend that sessions share. Its methods may be called concurrently.
type Shared struct {
	b        backend.Backend
	programs backend.Programs // nil when it has none
	o        Options
	turns    *turns
	loads    *turns        // for what loads compute on this machine's processors
	stalled  time.Duration // for how long scalars may fail to come during a turn

	mu       sync.Mutex
	kept     map[key]*entry
	files    map[file]backend.Digest
	loading  map[offer]*load
	resident int64 // bytes of kept, the sum of footprints
	room     room
	idle     list.List // of *entry that no session holds; the first goes first
	sessions int
	hits     uint64
	freeing  sync.WaitGroup
}

// key identifies bases. Two sessions that load the same points with different hints hold them
// twice.
type key struct {
	digest backend.Digest // of curve, group, count and content
	hints  backend.Hints
}

// offer is a key, and the user who says that his bases have it.
type offer struct {
	key
	user int
}

// entry is bases that are loaded. Shared.mu guards it.
type entry struct {
	key
	// readers are the users whose sessions have sent the points themselves. Other users gain
	// nothing by the digest.
	readers map[int]bool
	id      backend.BasesID // in the backend
	size    int64
	holders map[int]int   // how often each user's sessions have loaded them
	idle    *list.Element // in Shared.idle, if there are no holders
}

// load is bases that are being loaded, so that a second session can wait for them.
type load struct {
	done chan struct{}

	mu    sync.Mutex
	moved time.Time // when bytes came last
}

const (
	// defaultStall is for how long nothing may come, of a call's scalars or of bases that another
	// session is loading too, before nobody waits any more.
	defaultStall = 2 * time.Second
	// loadTurns is how many loads hash points at a time if calls compute on a device with memory of
	// its own: while one hashes, another copies.
	loadTurns = 2
	// entryBytes is how much memory bases or a space take beside their elements.
	entryBytes = 4 << 10
	// longestWait bounds the wait for another session's load, even if that moves.
	longestWait = time.Minute
)

// New shares a backend. The owner of the backend closes it after the sessions.
func New(b backend.Backend, o Options) *Shared {
	if o.Turns <= 0 {
		o.Turns = 2 * max(1, len(b.Info().Devices))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Shared{
		b: b, o: o, turns: newTurns(o.Turns), stalled: defaultStall,
		room: room{users: map[int]int64{}, copyingOf: map[int]int64{}},
		kept: map[key]*entry{}, files: map[file]backend.Digest{}, loading: map[offer]*load{},
	}
	s.programs, _ = backend.As[backend.Programs](b)
	s.loads = s.turns
	s.turns.cpu = slices.ContainsFunc(b.Info().Devices, func(d backend.Device) bool { return d.Host })
	if !s.turns.cpu {
		s.loads = newTurns(loadTurns)
		s.loads.cpu = true
	}
	return s
}

// Usage returns what the backend counts, and what all sessions hold. It is for the owner.
func (s *Shared) Usage() backend.Usage {
	var u backend.Usage
	if m, ok := backend.As[backend.Metered](s.b); ok {
		u = m.Usage()
	}
	d := &backend.DaemonUsage{Waiting: s.turns.length()}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Sessions, d.Resident, d.Recognised = s.sessions, s.resident-entryBytes*int64(len(s.kept)), s.hits
	for e := s.idle.Front(); e != nil; e = e.Next() {
		d.Unheld += e.Value.(*entry).size
	}
	u.Daemon = d
	return u
}

// hold makes bases resident for one more session, which must release them. If no session
// of this user has sent the points before, hold reads them even when another user's copy
// is resident: knowing a digest does not prove that the user has the points, and the time
// must not reveal that somebody else has.
func (s *Shared) hold(ctx context.Context, b *backend.Bases, o *Session) (*entry, error) {
	user, q := o.user, o.loads
	identity, isFile := identify(b, user)
	k := key{hints: b.Hints}
	known := false
	k.digest, known = b.KnownDigest()
	if isFile {
		d, seen := s.seen(identity)
		if seen && !known {
			k.digest, known = d, true
		}
		if !seen {
			// Flush first, so that a change while the file is read shows.
			if isFile = flush(b); isFile {
				identity, isFile = identify(b, user)
			}
		}
	}
	if !known {
		return s.read(ctx, b, user, q, nil, nil, identity, isFile)
	}
	deadline := time.Now().Add(longestWait)
	for {
		s.mu.Lock()
		if e := s.kept[k]; e != nil && e.readers[user] {
			err := s.holdLocked(e, user)
			if err == nil {
				s.hits++
				o.hits++
			}
			s.mu.Unlock()
			if err != nil {
				return nil, err
			}
			return e, nil
		}
		other := s.loading[offer{k, user}]
		own := &load{done: make(chan struct{}), moved: time.Now()}
		if other == nil {
			s.loading[offer{k, user}] = own
		}
		s.mu.Unlock()
		if other == nil {
			defer func() {
				s.mu.Lock()
				delete(s.loading, offer{k, user})
				s.mu.Unlock()
				close(own.done)
			}()
			return s.read(ctx, b, user, q, &k.digest, own, identity, isFile)
		}
		if !s.await(ctx, other, deadline) {
			if err := backend.Ended(ctx); err != nil {
				return nil, err
			}
			return s.read(ctx, b, user, q, &k.digest, nil, identity, isFile)
		}
	}
}

// await waits for another session's load to end. It returns false if the load does not move for
// stalled, if deadline has passed, or if ctx ends.
func (s *Shared) await(ctx context.Context, l *load, deadline time.Time) bool {
	t := time.NewTicker(s.stalled / 4)
	defer t.Stop()
	for {
		select {
		case <-l.done:
			return true
		case <-ctx.Done():
			return false
		case now := <-t.C:
			l.mu.Lock()
			still := now.Sub(l.moved)
			l.mu.Unlock()
			if still > s.stalled || now.After(deadline) {
				return false
			}
		}
	}
}

// move notes that bytes have come.
func (l *load) move() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moved = time.Now()
}

// read loads bases from their source. said is the digest that they are said to have. progress notes
// when bytes come. Both may be nil.
func (s *Shared) read(ctx context.Context, b *backend.Bases, user int, q *queue, said *backend.Digest,
	progress *load, identity file, isFile bool) (_ *entry, err error) {
	size := b.Size()
	if err := s.reserve(user, size); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.unreserve(user, size)
		}
	}()
	room, err := s.takeCopy(user, size)
	if err != nil {
		return nil, err
	}
	defer s.giveCopy(user, room)
	s.evict(footprint(size))
	own := &private{b: b, hash: backend.NewHasher(b), progress: progress, room: room, ctx: ctx, turns: s.loads, queue: q}
	defer own.leave()
	from := backend.Bases{Curve: b.Curve, Group: b.Group, Count: b.Count, Hints: b.Hints, Pieces: own.pieces}
	var id backend.BasesID
	err = s.roomy(func() (err error) {
		id, err = s.b.LoadBases(backend.WithYield(ctx, own.pause), from)
		return err
	}, func() bool { return !own.begun || b.Pieces == nil })
	if err != nil {
		return nil, err
	}
	k := key{digest: own.hash.Digest(), hints: b.Hints}
	if said != nil && *said != k.digest {
		s.free(id)
		return nil, fmt.Errorf("%w: the digest of %d bases of %v %v is %v, not %v as was said", backend.ErrInvalidInput,
			b.Count, b.Curve, b.Group, k.digest, *said)
	}
	s.mu.Lock()
	if isFile {
		s.learnLocked(identity, b, k.digest)
	}
	e, double := s.kept[k]
	if !double {
		e = &entry{key: k, id: id, size: size, holders: map[int]int{}, readers: map[int]bool{}}
		s.kept[k] = e
		s.resident += footprint(size)
	}
	s.room.apart -= footprint(size)
	if e.holders[user] > 0 {
		s.unchargeLocked(user, footprint(size)) // the user held them already
	}
	e.holders[user]++
	s.busyLocked(e)
	another := double && !e.readers[user]
	e.readers[user] = true
	s.mu.Unlock()
	switch {
	case another: // in the background: the time must not reveal that another user has them
		s.freeing.Go(func() { s.free(id) })
	case double:
		s.free(id)
	}
	return e, nil
}

// free frees bases of the backend. It only logs an error: a backend that fails to free is dying,
// and what it keeps harms nobody.
func (s *Shared) free(id backend.BasesID) {
	if err := s.b.FreeBases(context.Background(), id); err != nil {
		s.o.Log.Warn("freeing bases", "cause", err)
	}
}

// roomy calls f. If that runs out of memory, roomy frees the bases that nobody holds. If there were
// any, and again returns true, it calls f once more.
func (s *Shared) roomy(f func() error, again func() bool) error {
	err := f()
	if errors.Is(err, backend.ErrOutOfMemory) && s.evict(1<<62) && again() {
		err = f()
	}
	return err
}

// holdLocked adds a holder to bases that are loaded.
func (s *Shared) holdLocked(e *entry, user int) error {
	if e.holders[user] == 0 {
		if err := s.fitsUserLocked(user, footprint(e.size)); err != nil {
			return err
		}
		s.room.users[user] += footprint(e.size)
	}
	e.holders[user]++
	s.busyLocked(e)
	return nil
}

// busyLocked notes that somebody holds bases.
func (s *Shared) busyLocked(e *entry) {
	if e.idle != nil {
		s.idle.Remove(e.idle)
		e.idle = nil
	}
}

// footprint returns how much bases, a space or answers of a size count against the limits of a
// user's sessions and of all sessions: the size and entryBytes. The quota of one session counts
// elements only.
func footprint(size int64) int64 { return size + entryBytes }

// release drops one holder of bases.
func (s *Shared) release(e *entry, user int) {
	s.mu.Lock()
	if e.holders[user]--; e.holders[user] == 0 {
		delete(e.holders, user)
		s.unchargeLocked(user, footprint(e.size))
	}
	if len(e.holders) == 0 {
		e.idle = s.idle.PushBack(e)
	}
	s.mu.Unlock()
	s.evict(0)
}

// evict frees bases that nobody holds, the first released first, until Keep has room for that many
// more bytes. It reports whether it freed any.
func (s *Shared) evict(room int64) (freed bool) {
	for s.evictOne(func() bool { return s.resident > s.o.Keep-room }) {
		freed = true
	}
	return freed
}

// evictOne frees the bases that were released first among those that nobody holds. It does so if
// there are any and tooMany, which is called under the lock, returns true.
func (s *Shared) evictOne(tooMany func() bool) bool {
	s.mu.Lock()
	first := s.idle.Front()
	if first == nil || !tooMany() {
		s.mu.Unlock()
		return false
	}
	oldest := s.idle.Remove(first).(*entry)
	delete(s.kept, oldest.key)
	s.resident -= footprint(oldest.size)
	s.mu.Unlock()
	s.free(oldest.id)
	return true
}

// Empty frees all bases that no session holds.
func (s *Shared) Empty() { s.evict(1 << 62) }
