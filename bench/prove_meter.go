package bench

import (
	"context"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
)

// meter adds up the time during which at least one MSM call is running on a
// backend. A nil meter is always at zero.
type meter struct {
	mu     sync.Mutex
	active int
	since  time.Time // when active left zero
	busy   time.Duration
}

func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active == 0 {
		m.since = time.Now()
	}
	m.active++
}

func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active--; m.active == 0 {
		m.busy += time.Since(m.since)
	}
}

// take is the time since the last call, which no MSM may be running across.
func (m *meter) take() time.Duration {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	busy := m.busy
	m.busy = 0
	return busy
}

// open opens what open does, with the meter in front. Shared memory stays
// shared: the capability is passed through.
func (m *meter) open(ctx context.Context, open msm.Opener, name string) (backend.Backend, error) {
	b, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	if a, ok := b.(backend.Allocator); ok {
		return meteredAllocator{metered{b, m}, a}, nil
	}
	return metered{b, m}, nil
}

type metered struct {
	backend.Backend
	m *meter
}

func (b metered) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	b.m.begin()
	defer b.m.end()
	return b.Backend.MSM(ctx, jobs)
}

type meteredAllocator struct {
	metered
	backend.Allocator
}
