package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/engine"
)

// A timeline prints what happens as it happens and counts calls. Safe for
// concurrent use.
type timeline struct {
	start time.Time

	mu     sync.Mutex
	w      io.Writer
	phases []*phase
	events map[engine.EventKind]int
	calls  int
	wrong  int
	failed []error
}

// A phase is the time from one step of the script to the next. A call counts
// in the phase in which it ended.
type phase struct {
	name    string
	latency []time.Duration
}

func newTimeline(w io.Writer) *timeline {
	fmt.Fprintf(w, "%8s  %7s  %s\n", "time", "calls", "what happened")
	return &timeline{start: time.Now(), w: w, events: map[engine.EventKind]int{}}
}

// begin starts the next phase.
func (t *timeline) begin(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phases = append(t.phases, &phase{name: name})
	t.lineLocked(name)
}

// note prints one line.
func (t *timeline) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lineLocked(text)
}

// event notes an event. It serves as engine.Config.OnEvent.
func (t *timeline) event(ev engine.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events[ev.Kind]++
	t.lineLocked("  engine: " + ev.String())
}

// awaitRestart waits for the engine to have opened a dead backend again, but not
// for ever: the verdict tells whether it has.
func (t *timeline) awaitRestart(ctx context.Context) error {
	for end := time.Now().Add(30 * time.Second); !t.restarted() && time.Now().Before(end); {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (t *timeline) restarted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events[engine.EventRestart] > 0
}

func (t *timeline) lineLocked(text string) {
	fmt.Fprintf(t.w, "%7.2fs  %7d  %s\n", time.Since(t.start).Seconds(), t.calls, text)
}

// call counts one call that has ended.
func (t *timeline) call(took time.Duration, err error, right bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls++
	switch {
	case err != nil:
		t.failed = append(t.failed, err)
		t.lineLocked(fmt.Sprintf("a call FAILED: %v", err))
	case !right:
		t.wrong++
		t.lineLocked("an answer is WRONG")
	}
	if len(t.phases) > 0 {
		p := t.phases[len(t.phases)-1]
		p.latency = append(p.latency, took)
	}
}

// summary prints the latencies of each phase and who answered.
func (t *timeline) summary(seen *observer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.w, "\n%-24s %7s %9s %9s %9s %9s\n", "phase", "calls", "median", "90 %", "99 %", "slowest")
	for _, p := range t.phases {
		slices.Sort(p.latency)
		fmt.Fprintf(t.w, "%-24s %7d", p.name, len(p.latency))
		for _, q := range []float64{0.5, 0.9, 0.99, 1} {
			fmt.Fprintf(t.w, " %9s", quantile(p.latency, q).Round(100*time.Microsecond))
		}
		fmt.Fprintln(t.w)
	}
	fmt.Fprintln(t.w, "\nanswered by")
	for _, b := range seen.opened() {
		fmt.Fprintf(t.w, "%-24s %7d\n", b.name, b.answers.Load())
	}
	fmt.Fprintf(t.w, "\n%d calls, %d right, %d lost\n", t.calls, t.calls-t.wrong-len(t.failed), len(t.failed))
}

// quantile returns the element below which the fraction q of the sorted elements lies,
// or 0 if there are none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	at := int(q * float64(len(sorted)))
	return sorted[min(at, len(sorted)-1)]
}

// verdict returns nil if every call was answered rightly and the plugin's death led to a
// restart.
func (t *timeline) verdict() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if n := len(t.failed); n > 0 {
		err = fmt.Errorf("%d of %d calls failed, the first with: %w", n, t.calls, t.failed[0])
	}
	if t.wrong > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d answers are wrong", t.wrong, t.calls))
	}
	if t.calls == 0 {
		err = errors.Join(err, errors.New("no call was made"))
	}
	if t.events[engine.EventRestart] == 0 {
		err = errors.Join(err, errors.New("the plugin was not restarted after its death"))
	}
	return err
}

// made returns the number of calls that have ended.
func (t *timeline) made() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls
}
