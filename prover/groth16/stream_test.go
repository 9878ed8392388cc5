package groth16_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// held makes the first request wait, so that others are solved meanwhile. It counts the MSMs of the
// largest call, and the programs.
type held struct {
	once           sync.Once
	jobs, programs atomic.Int64
}

func (h *held) call(jobs, steps int) bool {
	h.once.Do(func() { time.Sleep(200 * time.Millisecond) })
	if steps > jobs {
		h.programs.Add(1)
	}
	for n := h.jobs.Load(); int64(jobs) > n && !h.jobs.CompareAndSwap(n, int64(jobs)); n = h.jobs.Load() {
	}
	return false
}

// TestStreamSharesRequests: the proofs of a stream are computed together on a backend in another
// process, and each is right. A wrong witness and a dying backend harm no other proof.
func TestStreamSharesRequests(t *testing.T) {
	for name, dies := range map[string]bool{"commitments": false, "hints and tables": true} {
		for _, id := range []ecc.ID{ecc.BN254, ecc.BLS12_377} {
			h := new(held)
			f := faulty.Backends{Elsewhere: true, Lie: h.call}
			b := build(t, id, samples.ByName(name))
			p, err := groth16.NewProver(newEngine(t, engine.Config{Open: f.Open}), b.ccs, b.pk,
				groth16.WithProverOptions(gnark.WithSolverOptions(samples.Hints)))
			if err != nil {
				t.Fatal(err)
			}
			if dies {
				f.Die.Store(5)
			}
			const n, wrong = 24, 9
			var all []witness.Witness
			for i := range int64(n) {
				seed := i + 1
				if i == wrong {
					seed = -seed
				}
				all = append(all, b.witness(t, seed))
			}
			i := 0
			for proof, err := range p.ProveAll(t.Context(), slices.Values(all), 12) {
				switch {
				case i == wrong && err == nil:
					t.Error("a proof of a wrong witness")
				case i != wrong && err != nil:
					t.Errorf("%s, %v: proof %d: %v", name, id, i, err)
				case i != wrong:
					b.verify(t, proof, all[i])
				}
				i++
			}
			if i != n {
				t.Errorf("%d proofs of %d", i, n)
			}
			if h.jobs.Load() < 6 || h.programs.Load() >= n {
				t.Errorf("%s, %v: %d MSMs in a call, %d programs: proofs share no requests", name, id, h.jobs.Load(), h.programs.Load())
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if f.Held() != 0 {
				t.Errorf("%d bases and spaces are left", f.Held())
			}
		}
	}
}

// TestStreamIsCancelled: if the context of a stream ends, its proofs return that error and leave
// nothing behind.
func TestStreamIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := new(held)
	f := faulty.Backends{Elsewhere: true, Lie: func(jobs, steps int) bool {
		h.call(jobs, steps)
		cancel()
		return false
	}}
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	p, err := groth16.NewProver(newEngine(t, engine.Config{Open: f.Open}), b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	w := b.witness(t, 3)
	failed := 0
	for _, err := range p.ProveAll(ctx, slices.Values(slices.Repeat([]witness.Witness{w}, 40)), 12) {
		if errors.Is(err, context.Canceled) {
			failed++
		} else if err != nil {
			t.Errorf("the error is %v", err)
		}
	}
	if failed < 1 { // whose request was being computed; how many others had begun is chance
		t.Errorf("%d proofs are cancelled", failed)
	}
	if err := p.Close(); err != nil || f.Held() != 0 {
		t.Errorf("%v, %d bases and spaces are left", err, f.Held())
	}
}
