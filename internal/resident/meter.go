package resident

import (
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Meter counts the use of a device. The zero value is an unused one; it is safe
// for concurrent use.
type Meter struct {
	mu    sync.Mutex
	sum   backend.DeviceUsage // but for what runs
	calls int                 // that have the device
	since time.Time           // that the first of them has
}

// Begin notes that a call has the device, for which it waited; End that it has
// it no more. Of calls at the same time the device is busy once.
func (m *Meter) Begin(waited time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.Waited += waited
	m.sum.Calls++
	if m.calls++; m.calls == 1 {
		m.since = time.Now()
	}
}

// End ends what Begin began.
func (m *Meter) End() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls--; m.calls == 0 {
		m.sum.Busy += time.Since(m.since)
	}
}

// Usage returns what was counted until now.
func (m *Meter) Usage() backend.DeviceUsage {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.sum
	if m.calls > 0 {
		u.Busy += time.Since(m.since)
	}
	return u
}
