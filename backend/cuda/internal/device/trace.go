package device

import (
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// tracer measures the phases of a turn on the device if somebody wants to be told.
type tracer struct {
	turn   *Turn
	phases []string
	events []*driver.Event
}

// Mark says that what was queued on Compute since the last mark belongs to phase. At the first mark
// of a turn the time begins.
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

// Marks reports whether Mark measures. Then everything belongs on Compute.
func (t *Turn) Marks() bool { return t.dev.trace != nil }

// report reports the times of a turn that ends.
func (t *tracer) report() {
	if len(t.events) == 0 {
		return
	}
	_ = t.turn.Compute.Synchronize() // if it fails, a time is missing
	var times []backend.StageUsage
	for i, e := range t.events {
		if i > 0 {
			if d, err := e.Elapsed(t.events[i-1]); err == nil {
				times = append(times, backend.StageUsage{Name: t.phases[i], Busy: d})
			}
		}
	}
	for _, e := range t.events {
		e.Close()
	}
	t.phases, t.events = nil, nil
	t.turn.dev.add(times)
	t.turn.dev.trace(t.turn.ctx, times)
}

// add adds times to the sums of stages.
func (d *Device) add(times []backend.StageUsage) {
	d.stages.Lock()
	defer d.stages.Unlock()
	for _, p := range times {
		i := slices.IndexFunc(d.stages.sums, func(s backend.StageUsage) bool { return s.Name == p.Name })
		if i < 0 {
			i, d.stages.sums = len(d.stages.sums), append(d.stages.sums, backend.StageUsage{Name: p.Name})
		}
		d.stages.sums[i].Busy += p.Busy
	}
}
