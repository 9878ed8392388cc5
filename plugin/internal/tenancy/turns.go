package tenancy

import (
	"container/list"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// turns lets a number of calls compute at a time. A free turn goes to the user who has had the
// least time, and among that user's sessions to the one that has had the least. So neither many
// calls, nor long ones, nor many sessions of one user hold up another user. Within a session, calls
// that have begun go first, so that few of them hold work memory. Then comes the call that has
// waited longest.
//
// A call that has had its turn for a slice checks, between two parts of its computation, whether a
// user with less time waits. If so, it gives the turn away and waits until no such user waits or
// computes. On a CPU calls slow each other down, so there no call begins either while a user with
// less time computes. A backend may not divide its computations into parts, so a user who has
// waited for patience without any turn gets one more turn than there are.
//
// Each session has a queue. Finding the next call goes over users and over the sessions of one
// user, never over calls: a thousand that wait cost the others no more than one.
type turns struct {
	contended atomic.Bool // somebody waits, or two users compute
	patience  time.Duration
	cpu       bool // calls compute on this machine's processors
	made      time.Time

	mu      sync.Mutex
	free    int // below 0 while there are extra turns
	waiting int
	running []*turn
	users   []*user       // those who wait or compute
	known   map[int]*user // all users, by number: their time outlives their sessions
	looks   int           // how many users, sessions and computing calls were looked at; for tests
}

const (
	// slice is how long a call computes before it gives its turn to others.
	slice = 2 * time.Millisecond
	// patience is how long a user who computes nothing waits before an extra turn.
	patience = 20 * time.Millisecond
)

// claim is what one user, or one session, has of the turns. turns.mu guards it.
type claim struct {
	running, waiting int
	// used is the time that its calls have had. One that comes back from a pause starts level with
	// the others: unused time is not saved up, and a user with short calls does not wait long for
	// having had many.
	used time.Duration
}

func (c *claim) idle() bool { return c.running+c.waiting == 0 }

// user is what one user has.
type user struct {
	claim
	sessions []*queue // that wait or compute
	// more gives the user an extra turn. It is nil while the user computes or has no new call that
	// waits.
	more *time.Timer
}

// queue is what one session has.
type queue struct {
	claim
	user  *user
	begun list.List // of *turn: calls that gave their turn away
	fresh list.List // of *turn: calls that have had none
	// calls is the time and number of its calls, without loads. used would not do, because it is
	// moved up.
	calls backend.DeviceUsage
}

// turn belongs to one call, which gives it away and takes it back.
type turn struct {
	t     *turns
	queue *queue
	load  bool          // it hashes and checks points and is no call
	has   chan struct{} // closed when the call has the turn
	// keeps is until when the call computes without checking for others, as a time since
	// turns.made.
	keeps atomic.Int64

	// Under turns.mu.
	waits    *list.Element // in its queue
	asked    time.Time     // since when it waits
	computes bool
	since    time.Time     // until when its time has been counted
	away     chan struct{} // not nil while it has given the turn away; closed when it is back
	over     bool          // the call has ended
}

func newTurns(n int) *turns {
	return &turns{free: n, patience: patience, known: map[int]*user{}, made: time.Now()}
}

// queue returns the queue of a new session of a user.
func (t *turns) queue(number int) *queue {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.known[number]
	if of == nil {
		of = &user{}
		t.known[number] = of
	}
	return &queue{user: of}
}

// enter waits for a turn, until leave ends it. The computation must use the context returned: with
// it backend.Yield gives the turn to others.
func (t *turns) enter(ctx context.Context, l *queue) (during context.Context, leave func(), err error) {
	u := &turn{t: t, queue: l}
	if err := u.take(ctx); err != nil {
		return nil, nil, err
	}
	return backend.WithYield(ctx, u.pause), u.leave, nil
}

// take waits for the turn, until leave ends it.
func (u *turn) take(ctx context.Context) error {
	if err := backend.Ended(ctx); err != nil {
		return err
	}
	u.t.mu.Lock()
	u.t.waitLocked(u)
	u.t.nextLocked()
	u.t.mu.Unlock()
	return u.t.await(ctx, u)
}

// waitLocked makes a call wait for a turn.
func (t *turns) waitLocked(u *turn) {
	l := u.queue
	if l.user.idle() {
		t.settleLocked()
		if len(t.users) > 0 {
			least := slices.MinFunc(t.users, func(a, b *user) int { return int(a.used - b.used) }).used
			l.user.used = min(max(l.user.used, least), least+slice)
		}
		t.users = append(t.users, l.user)
	}
	if l.idle() {
		if others := l.user.sessions; len(others) > 0 {
			l.used = max(l.used, slices.MinFunc(others, func(a, b *queue) int { return int(a.used - b.used) }).used)
		}
		l.user.sessions = append(l.user.sessions, l)
	}
	u.has = make(chan struct{})
	u.asked = time.Now()
	l.waiting++
	l.user.waiting++
	t.waiting++
	if u.away != nil {
		u.waits = l.begun.PushBack(u)
		return
	}
	u.waits = l.fresh.PushBack(u)
	t.hopeLocked(l.user)
}

// hopeLocked starts the timer for an extra turn, if a user computes nothing and has a new call.
func (t *turns) hopeLocked(of *user) {
	if of.running > 0 || of.more != nil || t.nextOfLocked(of, true) == nil {
		return
	}
	var own *time.Timer
	own = time.AfterFunc(t.patience, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if of.more != own {
			return // unhopeLocked came too late to stop the timer
		}
		of.more = nil
		if next := t.nextOfLocked(of, true); next != nil {
			t.giveLocked(next)
		}
	})
	of.more = own
}

// unhopeLocked stops the timer that hopeLocked has started.
func (t *turns) unhopeLocked(of *user) {
	if of.more != nil {
		of.more.Stop()
		of.more = nil
	}
}

// await waits until a call has its turn.
func (t *turns) await(ctx context.Context, u *turn) error {
	select {
	case <-u.has:
		return nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		if u.waits != nil {
			t.dropLocked(u)
		} else {
			t.endLocked(u)
		}
		t.forgetLocked(u.queue)
		return backend.Ended(ctx)
	}
}

// nextLocked gives free turns to calls that wait.
func (t *turns) nextLocked() {
	for t.free > 0 {
		next := t.bestLocked()
		if next == nil {
			break
		}
		t.giveLocked(next)
	}
	t.noteLocked()
}

// noteLocked notes whether calls that compute must check for others.
func (t *turns) noteLocked() { t.contended.Store(t.waiting > 0 || len(t.users) > 1) }

// bestLocked returns the turn that is next among those that wait, or nil. While a user with less
// time computes, calls that gave up their turn wait: on a CPU the two would slow each other down.
func (t *turns) bestLocked() (best *turn) {
	t.settleLocked()
	least := t.leastRunningLocked()
	for _, of := range t.users {
		t.looks++
		yields := least < of.used
		if of.waiting == 0 || yields && t.cpu || best != nil && of.used >= best.queue.user.used {
			continue
		}
		if next := t.nextOfLocked(of, yields); next != nil {
			best = next
		}
	}
	return best
}

// nextOfLocked returns the turn that is next among a user's calls that wait, or among those that
// are new, or nil.
func (t *turns) nextOfLocked(of *user, onlyNew bool) (next *turn) {
	for _, l := range of.sessions {
		t.looks++
		first := l.begun.Front()
		if first == nil || onlyNew {
			first = l.fresh.Front()
		}
		if first != nil && (next == nil || l.used < next.queue.used) {
			next = first.Value.(*turn)
		}
	}
	return next
}

// leastRunningLocked returns the least time that any user who computes has had.
func (t *turns) leastRunningLocked() time.Duration {
	least := time.Duration(math.MaxInt64)
	for _, r := range t.running {
		t.looks++
		least = min(least, r.queue.user.used)
	}
	return least
}

// before reports whether the user of a call has had less time than the other call's user. For two
// calls of one user it compares their sessions.
func (u *turn) before(other *turn) bool {
	a, b := u.queue, other.queue
	return a.user.used < b.user.used || a.user == b.user && a.used < b.used
}

// giveLocked gives a turn to a call that waits.
func (t *turns) giveLocked(u *turn) {
	t.dropLocked(u)
	u.queue.running++
	u.queue.user.running++
	t.unhopeLocked(u.queue.user)
	t.running = append(t.running, u)
	t.free--
	u.computes = true
	u.since = time.Now()
	if !u.load {
		u.queue.calls.Waited += u.since.Sub(u.asked)
		if u.away == nil {
			u.queue.calls.Calls++
		}
	}
	u.keeps.Store(int64(u.since.Sub(t.made) + slice))
	close(u.has)
}

// dropLocked takes a call out of those that wait.
func (t *turns) dropLocked(u *turn) {
	l := u.queue
	if u.away != nil {
		l.begun.Remove(u.waits)
	} else {
		l.fresh.Remove(u.waits)
	}
	u.waits = nil
	l.waiting--
	l.user.waiting--
	t.waiting--
	t.noteLocked()
}

// settleLocked counts the time that calls have had until now.
func (t *turns) settleLocked() {
	now := time.Now()
	for _, u := range t.running {
		t.looks++
		d := now.Sub(u.since)
		u.since = now
		u.queue.used += d
		u.queue.user.used += d
		if !u.load {
			u.queue.calls.Busy += d
		}
	}
}

// endLocked takes a turn back from a call that computes.
func (t *turns) endLocked(u *turn) {
	t.settleLocked()
	t.running = slices.DeleteFunc(t.running, func(r *turn) bool { return r == u })
	u.computes = false
	u.queue.running--
	u.queue.user.running--
	t.free++
	t.nextLocked()
	t.hopeLocked(u.queue.user)
}

// forgetLocked takes out a session that neither waits nor computes, and its user if none of the
// user's sessions does.
func (t *turns) forgetLocked(l *queue) {
	if l.idle() {
		l.user.sessions = slices.DeleteFunc(l.user.sessions, func(q *queue) bool { return q == l })
	}
	if l.user.idle() {
		t.unhopeLocked(l.user)
		t.users = slices.DeleteFunc(t.users, func(u *user) bool { return u == l.user })
		t.noteLocked()
	}
}

// leave ends the turn of a call.
func (u *turn) leave() {
	t := u.t
	t.mu.Lock()
	defer t.mu.Unlock()
	u.over = true
	if u.away == nil && u.computes {
		t.endLocked(u)
	}
	t.forgetLocked(u.queue)
}

// pause gives the turn to a call that comes before this one, if there is such a call and the slice
// is over. Then it waits for the turn to come back. Other goroutines of this call that come here
// wait too.
func (u *turn) pause(ctx context.Context) error {
	t := u.t
	if !t.contended.Load() {
		return nil
	}
	if int64(time.Since(t.made)) < u.keeps.Load() {
		runtime.Gosched()
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
	if u.over || !u.computes || !t.comesBeforeLocked(u) {
		t.mu.Unlock()
		runtime.Gosched()
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
		t.forgetLocked(u.queue)
	}
	return err
}

// comesBeforeLocked reports whether a call waits that comes before one that computes, or a user
// with less time computes beside it.
func (t *turns) comesBeforeLocked(u *turn) bool {
	next := t.bestLocked()
	return next != nil && next.before(u) || t.leastRunningLocked() < u.queue.user.used
}

// of returns what a session's calls have had until now, and how many wait.
func (t *turns) of(l *queue) (had backend.DeviceUsage, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settleLocked()
	return l.calls, l.waiting
}

// length returns how many calls wait.
func (t *turns) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting
}
