package tenancy

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// turns lets a number of calls compute at a time. A turn that becomes free goes to the
// user who has had the least time, and among his sessions to the one that has had the
// least. So neither many calls, nor long ones, nor many sessions of one user hold up
// another's.
//
// A call that has had its turn for a slice looks, between two parts of its computation,
// whether a user with less time waits. If so, it gives the turn away and waits until no
// such user waits or computes. For a backend that has no parts there is one turn more, for
// a user who has none and has waited.
type turns struct {
	contended atomic.Bool // somebody waits, or two users compute
	patience  time.Duration

	mu      sync.Mutex
	free    int // below 0 where there are turns more
	waiting []*turn
	running []*turn
	users   []*claim       // who wait or compute
	claims  map[int]*claim // of all users, whose time outlives their sessions
}

const (
	// slice is how long a call computes before it gives its turn to others.
	slice = 2 * time.Millisecond
	// patience is how long a user waits who computes nothing before he has a turn more.
	patience = 20 * time.Millisecond
)

// claim is the part of a user, or of one session, under turns.mu.
type claim struct {
	running, waiting int
	// used is the time that its calls had. One that comes back from a pause begins
	// where the others are: time that was not used is not saved up, and a user with
	// short calls does not wait long because he has had many.
	used time.Duration
}

func (c *claim) idle() bool { return c.running+c.waiting == 0 }

// queue is one session's part, and its user's.
type queue struct {
	claim
	user *claim
}

// turn is one call's. A call has one at a time, and gives it away and takes it back.
type turn struct {
	t     *turns
	queue *queue
	has   chan struct{} // closed when it has the turn

	// Under turns.mu.
	began time.Time // it has it since, and since then its time is counted
	since time.Time
	away  chan struct{} // while it has given it away: closed when that is over
	over  bool          // the call has ended
}

func newTurns(n int) *turns { return &turns{free: n, patience: patience, claims: map[int]*claim{}} }

// queue returns the part of a new session of a user's.
func (t *turns) queue(user int) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.claims[user]
	if of == nil {
		of = &claim{}
		t.claims[user] = of
	}
	return &queue{user: of}
}

// enter waits for a turn, which leave ends. The context that it returns is for what
// computes: there backend.Yield gives the turn to others.
func (t *turns) enter(ctx context.Context, l *queue) (during context.Context, leave func(), err error) {
	u, err := t.take(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	return backend.WithYield(ctx, u.pause), u.leave, nil
}

// take waits for a turn.
func (t *turns) take(ctx context.Context, l *queue) (*turn, error) {
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	u := &turn{t: t, queue: l}
	t.mu.Lock()
	t.waitLocked(u)
	t.nextLocked()
	t.mu.Unlock()
	if err := t.await(ctx, u); err != nil {
		return nil, err
	}
	return u, nil
}

// waitLocked has a call wait for a turn.
func (t *turns) waitLocked(u *turn) {
	l := u.queue
	if l.user.idle() {
		t.settleLocked()
		if len(t.users) > 0 {
			least := slices.MinFunc(t.users, func(a, b *claim) int { return int(a.used - b.used) }).used
			l.user.used = min(max(l.user.used, least), least+slice)
		}
		t.users = append(t.users, l.user)
	}
	if l.idle() {
		l.used = max(l.used, t.leastOfLocked(l.user))
	}
	u.has = make(chan struct{})
	l.waiting++
	l.user.waiting++
	t.waiting = append(t.waiting, u)
}

// leastOfLocked returns the least time of a user's sessions that wait or compute.
func (t *turns) leastOfLocked(user *claim) (least time.Duration) {
	first := true
	for _, u := range slices.Concat(t.running, t.waiting) {
		if u.queue.user == user && (first || u.queue.used < least) {
			least, first = u.queue.used, false
		}
	}
	return least
}

// await waits until a call has its turn.
func (t *turns) await(ctx context.Context, u *turn) error {
	more := time.AfterFunc(t.patience, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := slices.Index(t.waiting, u); i >= 0 && u.away == nil && u.queue.user.running == 0 {
			t.giveLocked(i)
		}
	})
	defer more.Stop()
	select {
	case <-u.has:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := slices.Index(t.waiting, u); i >= 0 {
			t.dropLocked(i)
		} else {
			t.endLocked(u)
		}
		t.forgetLocked(u.queue.user)
		return backend.Ended(ctx)
	}
}

// nextLocked gives free turns away.
func (t *turns) nextLocked() {
	for t.free > 0 {
		next := t.bestLocked()
		if next < 0 {
			break
		}
		t.giveLocked(next)
	}
	t.noteLocked()
}

// noteLocked has those who compute look at who else does.
func (t *turns) noteLocked() { t.contended.Store(len(t.waiting) > 0 || len(t.users) > 1) }

// bestLocked returns whose turn is next, of those who wait, or -1.
func (t *turns) bestLocked() int {
	t.settleLocked()
	best := -1
	for i, u := range t.waiting {
		if (best < 0 || u.before(t.waiting[best])) && (u.away == nil || !t.yieldsLocked(u)) {
			best = i
		}
	}
	return best
}

// yieldsLocked reports whether a user with an earlier turn is computing, so that a call
// that gave up its turn must wait: on a CPU the two would slow each other down.
func (t *turns) yieldsLocked(u *turn) bool {
	return slices.ContainsFunc(t.running, func(r *turn) bool { return r.queue.user.used < u.queue.user.used })
}

// before reports whether a call's user, or of one user its session, has had less time.
func (u *turn) before(other *turn) bool {
	a, b := u.queue, other.queue
	return a.user.used < b.user.used || a.user == b.user && a.used < b.used
}

// giveLocked gives a turn to one who waits.
func (t *turns) giveLocked(i int) {
	u := t.waiting[i]
	t.dropLocked(i)
	u.queue.running++
	u.queue.user.running++
	t.running = append(t.running, u)
	t.free--
	u.began = time.Now()
	u.since = u.began
	close(u.has)
}

// dropLocked has one wait no more.
func (t *turns) dropLocked(i int) {
	u := t.waiting[i]
	t.waiting = slices.Delete(t.waiting, i, i+1)
	u.queue.waiting--
	u.queue.user.waiting--
	t.noteLocked()
}

// settleLocked counts the time that calls have had until now.
func (t *turns) settleLocked() {
	now := time.Now()
	for _, u := range t.running {
		d := now.Sub(u.since)
		u.since = now
		u.queue.used += d
		u.queue.user.used += d
	}
}

// endLocked takes a turn back.
func (t *turns) endLocked(u *turn) {
	t.settleLocked()
	t.running = slices.DeleteFunc(t.running, func(r *turn) bool { return r == u })
	u.queue.running--
	u.queue.user.running--
	t.free++
	t.nextLocked()
}

// forgetLocked counts a user out who neither waits nor computes.
func (t *turns) forgetLocked(user *claim) {
	if user.idle() {
		t.users = slices.DeleteFunc(t.users, func(c *claim) bool { return c == user })
		t.noteLocked()
	}
}

// leave ends the turn of a call.
func (u *turn) leave() {
	t := u.t
	t.mu.Lock()
	defer t.mu.Unlock()
	u.over = true
	if u.away == nil && slices.Contains(t.running, u) {
		t.endLocked(u)
	}
	t.forgetLocked(u.queue.user)
}

// pause gives the turn to a call that comes before, if there is one and the slice is
// over, and waits for it to come back. All goroutines of the call wait then that come
// here.
func (u *turn) pause(ctx context.Context) error {
	t := u.t
	if !t.contended.Load() {
		return nil
	}
	t.mu.Lock()
	if away := u.away; away != nil {
		t.mu.Unlock()
		select {
		case <-away:
		case <-ctx.Done():
		}
		return backend.Ended(ctx)
	}
	if next := t.bestLocked(); u.over || time.Since(u.began) < slice || !slices.Contains(t.running, u) ||
		(next < 0 || !t.waiting[next].before(u)) && !t.yieldsLocked(u) {
		t.mu.Unlock()
		return nil
	}
	away := make(chan struct{})
	u.away = away
	t.waitLocked(u)
	t.endLocked(u)
	t.mu.Unlock()
	err := t.await(ctx, u)
	t.mu.Lock()
	defer t.mu.Unlock()
	u.away = nil
	close(away)
	if err == nil && u.over {
		t.endLocked(u)
		t.forgetLocked(u.queue.user)
	}
	return err
}

// length returns how many calls wait.
func (t *turns) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}
