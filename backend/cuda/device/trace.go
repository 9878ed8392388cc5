package device

import (
	"time"

	"github.com/pippin-zk/pippin/backend/cuda/driver"
)

// tracer measures the phases of a turn on the device, when there is somebody to
// tell.
type tracer struct {
	turn   *Turn
	phases []string
	events []*driver.Event
}

// Mark says that what was put on Compute since the mark before is of a phase.
// The first mark of a turn is where time begins.
func (t *Turn) Mark(phase string) error {
	if t.dev.trace == nil {
		return nil
	}
	e, err := t.dev.driver.NewEvent(true)
	if err != nil {
		return err
	}
	t.tracer.phases, t.tracer.events = append(t.tracer.phases, phase), append(t.tracer.events, e)
	return t.Compute.Record(e)
}

// report tells the times of a turn that ends.
func (t *tracer) report() {
	if len(t.events) == 0 {
		return
	}
	_ = t.turn.Compute.Synchronize() // without it a time is missing
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
	t.phases, t.events = nil, nil
	t.turn.dev.trace(times)
}
