package groth16_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// lender is a backend that has memory for scalars, and sees which inputs lie there.
type lender struct {
	*faulty.Backend

	mu        sync.Mutex
	given     [][]byte // all buffers so far
	free      int      // of these
	in, other int      // inputs in buffers, and elsewhere
	runs      int
}

// Alloc implements backend.Allocator.
func (l *lender) Alloc(_ context.Context, size int) (backend.Buffer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := make([]byte, size)
	l.given = append(l.given, b)
	return &loan{l, b}, nil
}

type loan struct {
	of *lender
	b  []byte
}

func (l *loan) Bytes() []byte { return l.b }

func (l *loan) Free() {
	clear(l.b)
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.of.free++
}

func (l *lender) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
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

func (l *lender) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	return l.Run(ctx, backend.Steps(jobs))
}

// proverOn returns a prover whose engine has one lender, which is elsewhere.
func proverOn(t *testing.T, b *built) (*groth16.Prover, *lender, *faulty.Backends) {
	t.Helper()
	f, l := &faulty.Backends{Elsewhere: true}, new(lender)
	e := newEngine(t, engine.Config{Open: func(ctx context.Context, _ string) (_ backend.Backend, err error) {
		l.Backend, err = f.New(ctx)
		return l, err
	}})
	p, err := groth16.NewProver(e, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	return p, l, f
}

// look sees whether all buffers are given back without secrets.
func (l *lender) look(t *testing.T) {
	t.Helper()
	if l.free != len(l.given) || slices.ContainsFunc(l.given, func(b []byte) bool { return !bytes.Equal(b, make([]byte, len(b))) }) {
		t.Errorf("%d of %d buffers are given back, or some have secrets", l.free, len(l.given))
	}
}

// TestSolutionsAreWhereTheBackendReads: nothing of a proof is copied to the backend's memory, whether it is
// made alone or in a stream. All of that memory is given back and wiped. Without memory the proofs are right too.
func TestSolutionsAreWhereTheBackendReads(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("random of 60"))
	w := b.witness(t, 3)
	wrong := b.witness(t, -3)
	wires := b.ccs.GetNbPublicVariables() + b.ccs.GetNbSecretVariables() + b.ccs.GetNbInternalVariables()
	solution := 32 * (wires + 3*b.ccs.GetNbConstraints())
	for most, lends := range map[int]bool{1 << 30: true, 4 * solution: true, 4*solution - 1: false, 0: false} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			defer groth16.MostLent(int64(most))()
			p, l, _ := proverOn(t, b)
			l.in, l.other = 0, 0 // what was asked when the backend was opened
			for _, inFlight := range []int{1, 4} {
				for proof, err := range p.ProveAll(t.Context(), slices.Values(slices.Repeat([]witness.Witness{w}, 8)), inFlight) {
					if err != nil {
						t.Fatal(err)
					}
					b.verify(t, proof, w)
				}
			}
			if _, err := p.Prove(t.Context(), wrong); err == nil {
				t.Error("a proof of a wrong witness")
			}
			if lends != (l.other == 0) || lends != (l.in > 0) {
				t.Errorf("%d inputs in the backend's memory, %d elsewhere", l.in, l.other)
			}
			groth16.LentNow(int64(most)) // by others, so that there is nothing to lend
			l.in = 0
			if _, err := p.Prove(t.Context(), w); err != nil || l.in > 0 {
				t.Errorf("%v, %d inputs in the backend's memory although others have all of it", err, l.in)
			}
			groth16.LentNow(-int64(most))
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			l.look(t)
			if n := groth16.LentNow(0); n != 0 {
				t.Errorf("%d bytes count as lent", n)
			}
		})
	}
}

// TestSumsOverWiresBeginEarly: when all wires have values the sums over them begin, while constraints are being
// checked. If the solver then leaves the witness to gnark's, they are begun again with what that finds.
func TestSumsOverWiresBeginEarly(t *testing.T) {
	for name, err := range map[string]error{"solved": nil, "left to gnark": assignment.ErrDefect} {
		t.Run(name, func(t *testing.T) {
			b := build(t, ecc.BN254, samples.ByName("commitments"))
			w := b.witness(t, 3)
			p, l, f := proverOn(t, b)
			runs := func() int {
				l.mu.Lock()
				defer l.mu.Unlock()
				return l.runs
			}
			begun := 0
			defer groth16.Settled(func() {
				for before, since := runs(), time.Now(); runs() == before; time.Sleep(100 * time.Microsecond) {
					if time.Since(since) > 10*time.Second {
						t.Error("no program runs although all wires have values")
						return
					}
				}
				begun++
			}, err)()
			left := solve.LeftToGnark()
			proof, failed := p.Prove(t.Context(), w)
			if failed != nil {
				t.Fatal(failed)
			}
			b.verify(t, proof, w)
			if asked := solve.LeftToGnark() != left; begun != 1 || asked != (err != nil) {
				t.Errorf("begun %d times, gnark was asked: %v", begun, asked)
			}
			if failed := p.Close(); failed != nil || f.Held() != 0 {
				t.Errorf("%v, %d bases and spaces are left", failed, f.Held())
			}
			l.look(t)
		})
	}
}
