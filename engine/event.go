package engine

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	EventOpened   EventKind = "opened"    // a backend answers calls from now on
	EventSwapped  EventKind = "swapped"   // Use replaced the preferred backend
	EventGone     EventKind = "gone"      // a backend died or was given up; one for every death
	EventRestart  EventKind = "restarted" // a backend that was gone is open again
	EventFailed   EventKind = "failed"    // a call failed on a backend, which stays
	EventFallback EventKind = "fell back" // another backend answers; see Lasting
	// a lasting fall-back ends: the preferred backend answers again, or Use replaced it by one that
	// does
	EventReturned EventKind = "returned"
	EventWrong    EventKind = "wrong answer" // a check refused an answer; the backend is not asked again
	// a device of a backend computes wrongly: the backend goes on with its others
	EventDevice     EventKind = "device retired"
	EventUncompared EventKind = "not compared" // an answer was returned although comparing it failed
	EventBypassed   EventKind = "bypassed"     // a prover that was given no engine computed a proof in this process
)

// Event is something that an engine's owner may want to know. A call failed because of it only if
// the call's own error says so.
type Event struct {
	Time    time.Time
	Kind    EventKind
	Backend string // the backend it happened to, or that took over
	// Lasting says that another backend answers from now on, not for a single call.
	Lasting bool
	Err     error // the cause, if there is one
}

// String returns one line for people.
func (ev Event) String() string {
	kind := string(ev.Kind)
	if ev.Kind == EventFallback {
		kind += " for one call"
		if ev.Lasting {
			kind = string(ev.Kind) + " from now on"
		}
	}
	if ev.Err == nil {
		return fmt.Sprintf("%s: %s", kind, ev.Backend)
	}
	return fmt.Sprintf("%s: %s: %v", kind, ev.Backend, ev.Err)
}

// Bypassed reports that a prover computed in this process, and why, while this engine was open. It is for
// packages that have paths of their own.
func (e *Engine) Bypassed(why error) {
	e.events.add(Event{Kind: EventBypassed, Backend: e.Backend(), Err: why})
}

// events delivers events in order. Its goroutine lives only while events are queued.
type events struct {
	log *slog.Logger
	on  func(Event)

	mu      sync.Mutex
	queue   []Event
	running bool
	empty   chan struct{} // closed when the queue has been delivered
}

// add queues an event.
func (q *events) add(ev Event) {
	ev.Time = time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = append(q.queue, ev)
	if !q.running {
		q.running, q.empty = true, make(chan struct{})
		go q.deliver()
	}
}

func (q *events) deliver() {
	for {
		q.mu.Lock()
		if len(q.queue) == 0 {
			q.running = false
			close(q.empty)
			q.mu.Unlock()
			return
		}
		ev := q.queue[0]
		q.queue = q.queue[1:]
		q.mu.Unlock()
		if ev.Err == nil {
			q.log.Info("backend "+string(ev.Kind), "backend", ev.Backend)
		} else {
			q.log.Warn("backend "+string(ev.Kind), "backend", ev.Backend, "lasting", ev.Lasting, "cause", ev.Err)
		}
		if q.on != nil {
			q.on(ev)
		}
	}
}

// flush waits until the events queued so far are delivered, but at most for limit.
func (q *events) flush(limit time.Duration) {
	q.mu.Lock()
	running, empty := q.running, q.empty
	q.mu.Unlock()
	if !running {
		return
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-empty:
	case <-t.C:
	}
}
