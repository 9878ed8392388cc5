package faulty

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/solve"
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

// BeginsEarly tests that a program runs when all wires have values, while the solver, which settled has wait, still
// checks constraints. If the solver then ends with err, gnark's is asked, and what began is begun again. prove makes a
// proof and verifies it, end frees the prover: then nothing is held any more.
func (l *Lender) BeginsEarly(t *testing.T, settled func(f func(), err error) (restore func()), err error, prove, end func() error) {
	t.Helper()
	begun := 0
	defer settled(func() {
		for before, since := l.Runs(), time.Now(); l.Runs() == before; time.Sleep(100 * time.Microsecond) {
			if time.Since(since) > 10*time.Second {
				t.Error("no program runs although all wires have values")
				return
			}
		}
		begun++
	}, err)()
	left := solve.LeftToGnark()
	if err := prove(); err != nil {
		t.Fatal(err)
	}
	if asked := solve.LeftToGnark() != left; begun != 1 || asked != (err != nil) {
		t.Errorf("begun %d times, gnark was asked: %v", begun, asked)
	}
	if err := end(); err != nil || l.Of.Held() != 0 {
		t.Errorf("%v, %d bases and spaces are left", err, l.Of.Held())
	}
	l.Look(t)
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
