package faulty

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Lender is a backend that has memory for scalars, and sees which inputs lie there.
type Lender struct {
	*Backend // since Open
	Of       *Backends

	mu        sync.Mutex
	given     [][]byte // all buffers so far
	free      int      // of these
	in, other int      // inputs in buffers, and elsewhere
	runs      int
}

// Open opens the lender, once, whatever its name.
func (l *Lender) Open(ctx context.Context, _ string) (_ backend.Backend, err error) {
	l.Backend, err = l.Of.New(ctx)
	return l, err
}

// Alloc implements backend.Allocator.
func (l *Lender) Alloc(_ context.Context, size int) (backend.Buffer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := make([]byte, size)
	l.given = append(l.given, b)
	return &loan{l, b}, nil
}

type loan struct {
	of *Lender
	b  []byte
}

func (l *loan) Bytes() []byte { return l.b }

func (l *loan) Free() {
	clear(l.b)
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.free++
}

// Run implements backend.Programs.
func (l *Lender) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	l.mu.Lock()
	l.runs++
	l.mu.Unlock()
	for _, s := range steps {
		backend.WithInput(s, func(in *backend.Input, _ int) {
			l.mu.Lock()
			defer l.mu.Unlock()
			lo, hi := layout.Range(in.Bytes)
			if slices.ContainsFunc(l.given, func(b []byte) bool { from, to := layout.Range(b); return from <= lo && hi <= to }) {
				l.in++
			} else {
				l.other++
			}
		})
	}
	return l.Backend.Run(ctx, steps)
}

// MSM implements backend.Backend.
func (l *Lender) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return l.Run(ctx, backend.Steps(jobs))
}

// Runs returns how many programs and calls there were so far.
func (l *Lender) Runs() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs
}

// Inputs returns how many inputs lay in memory of the lender's since the last call, and how many elsewhere.
func (l *Lender) Inputs() (in, other int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in, other = l.in, l.other
	l.in, l.other = 0, 0
	return in, other
}

// Look fails the test unless all buffers are given back without secrets.
func (l *Lender) Look(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free != len(l.given) || slices.ContainsFunc(l.given, func(b []byte) bool { return !bytes.Equal(b, make([]byte, len(b))) }) {
		t.Errorf("%d of %d buffers are given back, or some have secrets", l.free, len(l.given))
	}
}
