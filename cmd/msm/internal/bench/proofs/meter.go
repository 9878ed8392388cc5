package proofs

import (
	"context"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// meter adds up the time during which at least one MSM call is running on a
// backend, and knows when the last solver ended: it is the engine's observer too.
// A nil meter is always at zero.
type meter struct {
	mu     sync.Mutex
	active int
	since  time.Time // when active left zero
	busy   time.Duration
	solved time.Time
	// solving is how long the last solver took, but for the time with MSMs.
	solving time.Duration
}

// Begin tells when a solver begins and ends.
func (m *meter) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	if p.Kind != engine.PhaseSolve {
		return ctx, func(error) {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	start, busy := time.Now(), m.busy
	return ctx, func(error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.solved = time.Now()
		m.solving = m.solved.Sub(start) - (m.busy - busy)
	}
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

// take returns the time since the last call, which no MSM may be running across.
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

// afterSolve returns the time from the last solver's end to t.
func (m *meter) afterSolve(t time.Time) time.Duration {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return t.Sub(m.solved)
}

// ownSolve returns what the last solver took.
func (m *meter) ownSolve() time.Duration {
	if m == nil {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.solving
}

// Wrap returns a backend with the meter in front of its MSMs and programs.
func (m *meter) Wrap(b backend.Backend) backend.Backend {
	if v, ok := backend.As[backend.Programs](b); ok {
		return meteredPrograms{metered{b, m}, v}
	}
	return metered{b, m}
}

type metered struct {
	backend.Backend
	m *meter
}

// Unwrap lets other capabilities be found.
func (b metered) Unwrap() backend.Backend { return b.Backend }

func (b metered) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	b.m.begin()
	defer b.m.end()
	return b.Backend.MSM(ctx, jobs)
}

// meteredPrograms is for backends with programs, which have MSMs in them.
type meteredPrograms struct {
	metered
	backend.Programs
}

func (b meteredPrograms) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	b.m.begin()
	defer b.m.end()
	return b.Programs.Run(ctx, steps)
}
