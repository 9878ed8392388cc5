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

// calls has calls take turns, and notes who had one.
type calls struct {
	t     *testing.T
	turns *turns
	all   sync.WaitGroup

	mu    sync.Mutex
	order []string
}

// queued has a call of a session wait, and compute for d when it has its turn.
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

// patient returns turns that nobody gets for waiting long.
func patient(n int) *turns {
	t := newTurns(n)
	t.patience = 24 * time.Hour
	return t
}

// TestWhoseTurn: the user who had the least time comes first, and of his sessions the one that
// had; who comes back has saved nothing up, and waits no longer than a slice for what he had.
func TestWhoseTurn(t *testing.T) {
	const d = 10 * time.Millisecond
	for name, row := range map[string]struct {
		calls func(c *calls)
		want  string
	}{
		"sessions of a user share his time": {func(c *calls) {
			user := &claim{}
			a, b := &queue{user: user}, &queue{user: user}
			for range 3 {
				c.queued("a", a, d)
			}
			c.queued("b", b, d)
		}, "abaa"},
		"a session has saved nothing up": {func(c *calls) {
			user := &claim{}
			a, b := &queue{user: user}, &queue{user: user}
			for range 6 {
				c.queued("a", a, d)
			}
			time.Sleep(35 * time.Millisecond)
			for range 3 {
				c.queued("b", b, d)
			}
		}, "aaaababab"},
		"a user has saved nothing up": {func(c *calls) {
			a, b := &queue{user: &claim{}}, &queue{user: &claim{}}
			for range 6 {
				c.queued("a", a, d)
			}
			time.Sleep(35 * time.Millisecond)
			for range 3 {
				c.queued("b", b, d)
			}
		}, "aaaababab"},
		"a user who had much waits a slice": {func(c *calls) {
			a, b := &queue{user: &claim{}}, &queue{user: &claim{}}
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
		turns, of := patient(1), &queue{user: &claim{}}
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

// TestTurnThatComesTooLate: a turn that is given while its call gives up is not lost.
func TestTurnThatComesTooLate(t *testing.T) {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	turns := patient(1)
	for range 100 { // each of two things may happen
		u := &turn{t: turns, queue: &queue{user: &claim{}}}
		turns.mu.Lock()
		turns.waitLocked(u)
		turns.nextLocked()
		turns.mu.Unlock()
		if turns.await(ended, u) == nil {
			u.leave()
		}
		if turns.free != 1 || len(turns.users)+len(turns.running)+len(turns.waiting) != 0 {
			t.Fatalf("%+v", turns)
		}
	}
}

// TestSlice: a call keeps its turn for a slice, gives it to who waits, and has it back when he
// has had as much.
func TestSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, turns: patient(1)}
		during, leave, err := c.turns.enter(ctx, &queue{user: &claim{}})
		if err != nil {
			t.Fatal(err)
		}
		c.queued("b", &queue{user: &claim{}}, 5*time.Millisecond)
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

// TestCallThatEndsWhileItIsAway: when its turn comes back nobody is there, and it is given on.
func TestCallThatEndsWhileItIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, turns: patient(1)}
		during, leave, err := c.turns.enter(ctx, &queue{user: &claim{}})
		if err != nil {
			t.Fatal(err)
		}
		c.queued("b", &queue{user: &claim{}}, 10*time.Millisecond)
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

// TestOnesCallsSlowAnothers: a long call waits while a user computes who had less, also where
// there are turns for both and nobody waits for one.
func TestOnesCallsSlowAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &calls{t: t, turns: patient(3)}
		heavy := &claim{}
		during, leave, err := c.turns.enter(ctx, &queue{user: heavy})
		if err != nil {
			t.Fatal(err)
		}
		c.queued("heavy", &queue{user: heavy}, time.Minute)
		c.queued("light", &queue{user: &claim{}}, 10*time.Millisecond)
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
