package share

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// turns lets a number of calls compute at a time. A turn that becomes free goes
// to the session that has the fewest, and of those to the one that has had the
// least time: many calls, or long ones, of one session do not hold up another's.
type turns struct {
	mu      sync.Mutex
	free    int
	waiting []*waiter // in the order in which they came
	clock   time.Duration
}

// lane is one session's part, under turns.mu.
type lane struct {
	running, waiting int
	// used is the time that its calls had. One that comes back from a pause
	// begins where the others are: time that was not used is not saved up.
	used time.Duration
}

type waiter struct {
	lane *lane
	turn chan struct{} // closed when it has the turn
}

func newTurns(n int) *turns { return &turns{free: n} }

// enter waits for a turn, which leave ends.
func (t *turns) enter(ctx context.Context, l *lane) (leave func(), err error) {
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	w := &waiter{lane: l, turn: make(chan struct{})}
	t.mu.Lock()
	if l.running+l.waiting == 0 {
		l.used = max(l.used, t.clock)
	}
	l.waiting++
	t.waiting = append(t.waiting, w)
	t.nextLocked()
	t.mu.Unlock()
	select {
	case <-w.turn:
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		if i := slices.Index(t.waiting, w); i >= 0 {
			t.waiting = slices.Delete(t.waiting, i, i+1)
			l.waiting--
		} else {
			t.endLocked(l, 0)
		}
		return nil, backend.Ended(ctx)
	}
	began := time.Now()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.endLocked(l, time.Since(began))
	}, nil
}

// nextLocked gives free turns away.
func (t *turns) nextLocked() {
	for t.free > 0 && len(t.waiting) > 0 {
		first := 0
		for i, w := range t.waiting {
			a, b := w.lane, t.waiting[first].lane
			if a.running < b.running || a.running == b.running && a.used < b.used {
				first = i
			}
		}
		w := t.waiting[first]
		t.waiting = slices.Delete(t.waiting, first, first+1)
		w.lane.waiting--
		w.lane.running++
		t.free--
		t.clock = max(t.clock, w.lane.used)
		close(w.turn)
	}
}

// endLocked gives a turn back.
func (t *turns) endLocked(l *lane, used time.Duration) {
	l.running--
	l.used += used
	t.free++
	t.nextLocked()
}

// length is how many calls wait.
func (t *turns) length() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting)
}
