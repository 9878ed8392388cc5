package tenancy

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// calls makes calls take turns and notes which had one.
type calls struct {
	t     *testing.T
	turns *turns
	all   sync.WaitGroup

	mu    sync.Mutex
	order []string
}

// queued makes a call of a session wait, and compute for d when it has its turn.
func (c *calls) queued(name string, of *queue, d time.Duration) {
	c.all.Go(func() {
		_, leave, err := c.turns.enter(ctx, of)
		if err != nil {
			c.t.Error(err)
			return
		}
		c.mu.Lock()
		c.order = append(c.order, name)
		c.mu.Unlock()
		time.Sleep(d)
		leave()
	})
	synctest.Wait()
}

// had returns who has had turns, in their order.
func (c *calls) had() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.order, "")
}

// patient returns turns without extra turns.
func patient(n int) *turns {
	t := newTurns(n)
	t.patience = 24 * time.Hour
	return t
}

// TestWhoseTurn: the user who has had the least time comes first, and among that user's sessions
// the one that has had the least. A user who comes back has saved nothing up, and waits no longer
// than a slice for earlier time.
func TestWhoseTurn(t *testing.T) {
	const d = 10 * time.Millisecond
	for name, row := range map[string]struct {
		calls func(c *calls)
		want  string
	}{
		"sessions of a user share his time": {func(c *calls) {
			whose := &user{}
			a, b := &queue{user: whose}, &queue{user: whose}
			for range 3 {
				c.queued("a", a, d)
			}
			c.queued("b", b, d)
		}, "abaa"},
		"a session has saved nothing up": {func(c *calls) {
			whose := &user{}
			a, b := &queue{user: whose}, &queue{user: whose}
			for range 6 {
				c.queued("a", a, d)
			}
			time.Sleep(35 * time.Millisecond)
			for range 3 {
				c.queued("b", b, d)
			}
		}, "aaaababab"},
		"a user has saved nothing up": {func(c *calls) {
			a, b := &queue{user: &user{}}, &queue{user: &user{}}
			for range 6 {
				c.queued("a", a, d)
			}
			time.Sleep(35 * time.Millisecond)
			for range 3 {
				c.queued("b", b, d)
			}
		}, "aaaababab"},
		"a user who had much waits a slice": {func(c *calls) {
			a, b := &queue{user: &user{}}, &queue{user: &user{}}
			c.queued("b", b, time.Second)
			c.all.Wait()
			for range 3 {
				c.queued("a", a, d)
			}
			c.queued("b", b, d)
		}, "babaa"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := &calls{t: t, turns: patient(1)}
			row.calls(c)
			c.all.Wait()
			if got := c.had(); got != row.want {
				t.Errorf("%s: order %s, want %s", name, got, row.want)
			}
			if c.turns.free != 1 || len(c.turns.users) != 0 {
				t.Errorf("%s: %+v", name, c.turns)
			}
		})
	}
}

// TestTimeIsCountedOnce, for the session and for the user, however often one looks.
func TestTimeIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, of := patient(1), &queue{user: &user{}}
		_, leave, err := turns.enter(ctx, of)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(time.Millisecond)
			turns.mu.Lock()
			turns.settleLocked()
			turns.mu.Unlock()
		}
		leave()
		if of.used != 3*time.Millisecond || of.user.used != of.used {
			t.Errorf("a call of 3 ms counts as %v, for its user %v", of.used, of.user.used)
		}
	})
}

// TestTurnThatComesTooLate: a turn given to a call that gives up at the same time is not lost.
func TestTurnThatComesTooLate(t *testing.T) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	turns := patient(1)
	for range 100 { // each of two things may happen
		u := &turn{t: turns, queue: &queue{user: &user{}}}
		turns.mu.Lock()
		turns.waitLocked(u)
		turns.nextLocked()
		turns.mu.Unlock()
		if turns.await(ended, u) == nil {
			u.leave()
		}
		if turns.free != 1 || len(turns.users)+len(turns.running)+turns.waiting != 0 {
			t.Fatalf("%+v", turns)
		}
	}
}

// TestSlice: a call keeps its turn for a slice, gives it to another that waits, and has it back
// when that has had as much time.
func TestSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, turns: patient(1)}
		during, leave, err := c.turns.enter(ctx, &queue{user: &user{}})
		if err != nil {
			t.Fatal(err)
		}
		c.queued("b", &queue{user: &user{}}, 5*time.Millisecond)
		yield := func(want string, waits time.Duration) {
			t.Helper()
			began := time.Now()
			if err := backend.Yield(during); err != nil {
				t.Error(err)
			}
			if got, took := c.had(), time.Since(began); got != want || took != waits {
				t.Errorf("%q had a turn, and the call waited %v; want %q and %v", got, took, want, waits)
			}
		}
		yield("", 0)
		time.Sleep(slice - 1)
		yield("", 0)
		time.Sleep(time.Nanosecond)
		yield("b", 5*time.Millisecond)
		leave()
		c.all.Wait()
	})
}

// TestCallThatEndsWhileItIsAway: a turn that comes back to a call which has ended goes to the next.
func TestCallThatEndsWhileItIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, turns: patient(1)}
		during, leave, err := c.turns.enter(ctx, &queue{user: &user{}})
		if err != nil {
			t.Fatal(err)
		}
		c.queued("b", &queue{user: &user{}}, 10*time.Millisecond)
		time.Sleep(slice)
		c.all.Go(func() { _ = backend.Yield(during) })
		synctest.Wait()
		leave()
		c.all.Wait()
		if got := c.had(); got != "b" || c.turns.free != 1 || len(c.turns.users)+len(c.turns.running) != 0 {
			t.Errorf("%q had a turn, %+v", got, c.turns)
		}
	})
}

// TestOnesCallsSlowAnothers: a long call waits while a user computes who has had less time, even if
// there are turns for both and nobody waits for one.
func TestOnesCallsSlowAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, turns: patient(3)}
		heavy := &user{}
		during, leave, err := c.turns.enter(ctx, &queue{user: heavy})
		if err != nil {
			t.Fatal(err)
		}
		c.queued("heavy", &queue{user: heavy}, time.Minute)
		c.queued("light", &queue{user: &user{}}, 10*time.Millisecond)
		time.Sleep(slice + time.Millisecond)
		began := time.Now()
		if err := backend.Yield(during); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 10*time.Millisecond-slice-time.Millisecond {
			t.Errorf("it waited %v beside a call of 10 ms", took)
		}
		leave()
		c.all.Wait()
	})
}

// TestSessionsShare: a long call gives its turn to another session of its user, but not to a
// session of a user who has had more time, however new that session is.
func TestSessionsShare(t *testing.T) {
	for name, row := range map[string]struct {
		same bool
		want string
	}{"of its user": {true, "lb"}, "of a user who has had more": {false, "l"}} {
		synctest.Test(t, func(t *testing.T) {
			c := &calls{t: t, turns: patient(1)}
			mine, of := &user{}, &user{}
			c.queued("l", &queue{user: of}, time.Second)
			c.all.Wait()
			if row.same {
				of = mine
			}
			during, leave, err := c.turns.enter(ctx, &queue{user: mine})
			if err != nil {
				t.Fatal(err)
			}
			c.queued("b", &queue{user: of}, time.Millisecond)
			time.Sleep(slice)
			if err := backend.Yield(during); err != nil {
				t.Error(err)
			}
			if got := c.had(); got != row.want {
				t.Errorf("a session %s: %q had turns, want %q", name, got, row.want)
			}
			leave()
			c.all.Wait()
			if len(mine.sessions)+len(of.sessions) != 0 {
				t.Errorf("a session %s: %d and %d sessions are left", name, len(mine.sessions), len(of.sessions))
			}
		})
	}
}

// TestBegunCallsGoFirst: within a session a call that gave its turn away goes on before one that
// has not begun, so that one of them at a time has work memory.
func TestBegunCallsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, turns: patient(1)}
		of := &queue{user: &user{}}
		during, leave, err := c.turns.enter(ctx, of)
		if err != nil {
			t.Fatal(err)
		}
		c.queued("new", of, time.Millisecond)
		c.queued("other", &queue{user: &user{}}, 5*time.Millisecond)
		time.Sleep(slice)
		if err := backend.Yield(during); err != nil {
			t.Error(err)
		}
		if got := c.had(); got != "other" {
			t.Errorf("%q had turns before the call went on", got)
		}
		leave()
		c.all.Wait()
	})
}

// TestNoneBeginsBesideLess: on a CPU no call begins while a user computes who has had less time,
// even if a turn is free. Elsewhere it begins.
func TestNoneBeginsBesideLess(t *testing.T) {
	for _, cpu := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := &calls{t: t, turns: patient(2)}
			c.turns.cpu = cpu
			heavy := &queue{user: &user{}}
			c.queued("heavy", heavy, 4*time.Millisecond)
			c.queued("heavy", heavy, 4*time.Millisecond)
			c.queued("light", &queue{user: &user{}}, 3*time.Millisecond)
			c.queued("late", heavy, time.Millisecond)
			time.Sleep(5 * time.Millisecond) // light has computed for 1 ms
			if began := strings.Contains(c.had(), "late"); began == cpu {
				t.Errorf("on a CPU %v: %s", cpu, c.had())
			}
			c.all.Wait()
			if c.turns.free != 2 || c.turns.waiting+len(c.turns.running)+len(c.turns.users) != 0 {
				t.Errorf("%+v", c.turns)
			}
		})
	}
}

// TestPatienceBeginsAnew: a user whose calls have waited long while another of the user's computed
// gets an extra turn soon after that one ends, if others keep theirs.
func TestPatienceBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		mine, other := &queue{user: &user{}}, &queue{user: &user{}}
		_, leave, err := turns.enter(ctx, mine)
		if err != nil {
			t.Fatal(err)
		}
		began := make(chan time.Time, 1)
		go func() {
			_, end, err := turns.enter(ctx, mine)
			if err != nil {
				t.Error(err)
				return
			}
			began <- time.Now()
			end()
		}()
		synctest.Wait()
		time.Sleep(10 * patience)
		long := make(chan func(), 1)
		go func() {
			_, end, err := turns.enter(ctx, other)
			if err != nil {
				t.Error(err)
			}
			long <- end
		}()
		time.Sleep(time.Millisecond) // the other has had less
		at := time.Now()
		leave()
		if took := (<-began).Sub(at); took != patience {
			t.Errorf("a turn more after %v", took)
		}
		(<-long)()
		if turns.free != 1 || turns.waiting+len(turns.running)+len(turns.users) != 0 || mine.user.more != nil {
			t.Errorf("%+v", turns)
		}
	})
}

// crowd makes n calls of 16 sessions of one user compute in parts, call after call, until ctx ends.
func crowd(ctx context.Context, turns *turns, n int) (all *sync.WaitGroup) {
	var sessions []*queue
	for range 16 {
		sessions = append(sessions, turns.queue(1))
	}
	all = new(sync.WaitGroup)
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				u := &turn{t: turns, queue: sessions[i%16]}
				if u.take(ctx) != nil {
					return
				}
				for range 3000 {
					time.Sleep(100 * time.Microsecond)
					if u.pause(ctx) != nil {
						break
					}
				}
				u.leave()
			}
		})
	}
	return all
}

// TestCrowd: however many calls wait, another user's call has its turn after a slice and a part,
// and no more is looked at for many calls than for few.
func TestCrowd(t *testing.T) {
	looks := map[int]int{}
	for _, n := range []int{32, 960} {
		synctest.Test(t, func(t *testing.T) {
			turns := newTurns(2)
			turns.cpu = true
			during, cancel := context.WithCancel(ctx)
			all := crowd(during, turns, n)
			time.Sleep(300 * time.Millisecond)
			other := turns.queue(2)
			turns.mu.Lock()
			before := turns.looks
			turns.mu.Unlock()
			for range 60 {
				at := time.Now()
				u := &turn{t: turns, queue: other}
				err := u.take(ctx)
				if took := time.Since(at); err != nil || took > slice+200*time.Microsecond {
					t.Fatalf("%d calls wait: %v, a turn after %v", n, err, took)
				}
				time.Sleep(time.Millisecond)
				u.leave()
				time.Sleep(2 * time.Millisecond)
			}
			turns.mu.Lock()
			looks[n] = turns.looks - before
			turns.mu.Unlock()
			cancel()
			all.Wait()
			if turns.free != 2 || turns.waiting+len(turns.running)+len(turns.users) != 0 {
				t.Errorf("%+v", turns)
			}
		})
	}
	if few, many := looks[32], looks[960]; few == 0 || many > few+few/10 {
		t.Errorf("%d looks while 960 calls wait, %d while 32 do", many, few)
	}
}

// TestLooksAreShort: the next call is found as fast among many calls that wait as among few.
func TestLooksAreShort(t *testing.T) {
	least := map[int]time.Duration{32: time.Hour, 9600: time.Hour}
	for range 20 {
		for n := range least {
			turns := patient(0)
			var sessions []*queue
			for range 16 {
				sessions = append(sessions, turns.queue(1))
			}
			for i := range n {
				turns.waitLocked(&turn{t: turns, queue: sessions[i%16]})
			}
			at := time.Now()
			for range 1000 {
				turns.bestLocked()
			}
			least[n] = min(least[n], time.Since(at))
		}
	}
	if few, many := least[32], least[9600]; many > 4*few {
		t.Errorf("1000 looks among 32 take %v, among 9600 %v", few, many)
	}
}
