package cuda

import (
	"time"

	"github.com/pippin-zk/pippin/backend/cuda/driver"
)

// tracer measures phases on the device for tests and tuning, when the backend's
// trace is set. The zero time of every phase is the end of the one before.
type tracer struct {
	b      *Backend
	phases []string
	events []*driver.Event
	err    error
}

func newTracer(b *Backend) *tracer { return &tracer{b: b} }

func (t *tracer) start() {
	t.err = t.mark("start")
}

func (t *tracer) mark(phase string) error {
	if t.b.trace == nil {
		return nil
	}
	e, err := t.b.dev.NewEvent(true)
	if err != nil {
		return err
	}
	t.phases, t.events = append(t.phases, phase), append(t.events, e)
	return t.b.desk.compute.Record(e)
}

// report hands the times to the backend's trace; everything has happened.
func (t *tracer) report() {
	if t.b.trace == nil {
		return
	}
	times := make(map[string]time.Duration)
	for i, e := range t.events {
		if i > 0 {
			if d, err := e.Elapsed(t.events[i-1]); err == nil {
				times[t.phases[i]] += d
			}
		}
	}
	for _, e := range t.events {
		e.Close()
	}
	t.b.trace(times)
}
