package groth16_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// held makes the first request wait, so that others are solved meanwhile. It counts the programs, and the
// MSMs over the same points that follow one another in one of them, where they are most.
type held struct {
	once sync.Once

	mu             sync.Mutex
	jobs, programs int
}

func (h *held) call(int, int) bool {
	h.once.Do(func() { time.Sleep(200 * time.Millisecond) })
	return false
}

// see counts the steps of a program.
func (h *held) see(steps []backend.Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.programs++
	var last backend.Job
	n := 0
	for _, s := range steps {
		j, _ := s.(backend.Job)
		if j.Count == 0 || j.Bases != last.Bases || j.Offset != last.Offset || j.Count != last.Count {
			n = 0
		}
		if last = j; j.Count > 0 {
			n++
		}
		h.jobs = max(h.jobs, n)
	}
}

// seen is a backend whose programs are counted, and take a while if they have sums.
type seen struct {
	*faulty.Backend
	by *held
}

func (s *seen) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	s.by.see(steps)
	if slices.ContainsFunc(steps, func(s backend.Step) bool { _, sum := s.(backend.Job); return sum }) {
		time.Sleep(100 * time.Millisecond) // others are solved
	}
	return s.Backend.Run(ctx, steps)
}

// TestStreamSharesRequests: the proofs of a stream are computed together on a backend in another
// process, and each is right. A wrong witness and a dying backend harm no other proof.
func TestStreamSharesRequests(t *testing.T) {
	for name, dies := range map[string]bool{"commitments": false, "hints and tables": true} {
		for _, id := range []ecc.ID{ecc.BN254, ecc.BLS12_377} {
			h := new(held)
			f := faulty.Backends{Elsewhere: true, Lie: h.call}
			b := build(t, id, samples.ByName(name))
			p, err := groth16.NewProver(newEngine(t, engine.Config{Open: func(ctx context.Context, _ string) (backend.Backend, error) {
				on, err := f.New(ctx)
				return &seen{on, h}, err
			}}), b.ccs, b.pk,
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
			if h.jobs < 2 || h.programs >= n {
				t.Errorf("%s, %v: %d MSMs over the same points, %d programs: proofs share no requests", name, id, h.jobs, h.programs)
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

// lanes is a backend of some devices that counts how many programs run at a time, at most.
type lanes struct {
	*faulty.Backend
	devices int

	mu        sync.Mutex
	now, most int
}

func (l *lanes) Info() backend.Info {
	i := l.Backend.Info()
	i.Devices = make([]backend.Device, l.devices)
	return i
}

func (l *lanes) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	count := func(more int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.now += more
		l.most = max(l.most, l.now)
	}
	count(1)
	defer count(-1)
	time.Sleep(100 * time.Millisecond) // others are solved
	return l.Backend.Run(ctx, steps)
}

// TestStreamKeepsAllDevicesBusy: two requests are computed at a time for each device.
func TestStreamKeepsAllDevicesBusy(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("random of 60"))
	all := slices.Repeat([]witness.Witness{b.witness(t, 3)}, 40)
	for devices, want := range map[int]int{0: 2, 1: 2, 3: 6} {
		f := faulty.Backends{Elsewhere: true}
		var on *lanes
		p, err := groth16.NewProver(newEngine(t, engine.Config{Open: func(ctx context.Context, _ string) (backend.Backend, error) {
			b, err := f.New(ctx)
			on = &lanes{Backend: b, devices: devices}
			return on, err
		}}), b.ccs, b.pk)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range p.ProveAll(t.Context(), slices.Values(all), 20) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if on.most != want {
			t.Errorf("%d devices: %d programs at a time, want %d", devices, on.most, want)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
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
