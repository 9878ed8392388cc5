package plonk_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

var (
	proofs  = flag.Int("proofs", 40, "proofs in a row in the test of memory")
	moments = flag.Int("moments", 12, "swaps and deaths of a backend in the test of them")
)

func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := pippin.New(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// TestSessionsAreOpenedWhileSolving has the solver wait until the backend has them.
func TestSessionsAreOpenedWhileSolving(t *testing.T) {
	f := faulty.Backends{Elsewhere: true}
	sample, hint := samples.Waiting(func() error {
		for until := time.Now().Add(time.Minute); f.Taken.Load() < 1; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				return fmt.Errorf("%d sessions while the circuit is solved", f.Taken.Load())
			}
		}
		return nil
	})
	b := build(t, ecc.BN254, sample)
	p, err := plonk.NewProver(newEngine(t, engine.Config{Open: f.Open}), b.ccs, b.pk, plonk.WithProverOptions(gnark.WithSolverOptions(hint)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w := b.witness(t, 3)
	proof, err := p.Prove(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	b.verify(t, proof, w)
}

// TestConcurrent proves different witnesses of one circuit at once, whose
// blueprints hold values of the witness.
func TestConcurrent(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("hints and tables"))
	p, err := plonk.NewProver(newEngine(t, engine.Config{}), b.ccs, b.pk, plonk.WithProverOptions(gnark.WithSolverOptions(samples.Hints)))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2 {
				w := b.witness(t, int64(1000*g+i+1))
				proof, err := p.Prove(t.Context(), w)
				if err != nil {
					t.Error(err)
					return
				}
				b.verify(t, proof, w)
			}
		})
	}
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := p.Prove(t.Context(), b.witness(t, 1)); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("Prove after Close: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestSwapAndDeath changes and kills backends while proofs are made: no proof is
// lost, and nothing is left behind.
func TestSwapAndDeath(t *testing.T) {
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open, Backend: "first"})
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	p, err := plonk.NewProver(e, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var made atomic.Int64
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				w := b.witness(t, int64(100*g+i+1))
				proof, err := p.Prove(t.Context(), w)
				if err != nil {
					t.Error(err)
					return
				}
				b.verify(t, proof, w)
				made.Add(1)
			}
		})
	}
	f.Disturb(t, *moments, 8, &made, e.Use)
	stop.Store(true)
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	e.Close()
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases and spaces are left", n)
	}
}

// TestMemory makes proofs in a row and wants the heap, the goroutines and what
// backends hold to stay as they are, and the key's polynomials to be sent once.
func TestMemory(t *testing.T) {
	var f faulty.Backends
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	p, err := plonk.NewProver(newEngine(t, engine.Config{Open: f.Open}), b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	state := func() (heap uint64, goroutines int, held int64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine(), f.Held()
	}
	var heap uint64
	var goroutines int
	var held int64
	for i := range *proofs {
		if i == 10 {
			heap, goroutines, held = state()
		}
		w := b.witness(t, int64(i+1))
		proof, err := p.Prove(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			b.verify(t, proof, w)
		}
	}
	h, g, n := state()
	if h > heap+heap/20+1<<19 {
		t.Errorf("heap of %d bytes, %d after 10 proofs", h, heap)
	}
	if g > goroutines+2 {
		t.Errorf("%d goroutines, %d after 10 proofs", g, goroutines)
	}
	if n != held {
		t.Errorf("%d bases and spaces, %d after 10 proofs", n, held)
	}
	if s, want := f.Taken.Load(), int64(*proofs+1); s != want {
		t.Errorf("%d spaces for %d proofs, want one each and one for the key", s, *proofs)
	}
}

// TestVerify has a backend answer wrongly: the proof is right all the same, and
// the event is told.
func TestVerify(t *testing.T) {
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open, Backend: "liar", Fallbacks: []string{engine.NoFallback}})
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	var events []plonk.Event
	p, err := plonk.NewProver(e, b.ccs, b.pk, plonk.WithVerify(b.vk), plonk.OnEvent(func(ev plonk.Event) { events = append(events, ev) }))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w := b.witness(t, 3)
	for lying, want := range []int{0, 1} {
		f.Lie = func(_, steps int) bool { return lying == 1 && steps > 0 }
		proof, err := p.Prove(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		b.verify(t, proof, w)
		if len(events) != want || want == 1 && (events[0].Err == nil || events[0].Backend != "liar") {
			t.Errorf("lying %d: events %v", lying, events)
		}
	}
	// Without WithVerify such a proof comes out: the test above has something to
	// find.
	plain, err := plonk.NewProver(e, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	proof, err := plain.Prove(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	public, _ := w.Public()
	if stock.Verify(proof, b.vk, public) == nil {
		t.Error("the lie made no difference")
	}

	t.Run("verifier's options", func(t *testing.T) {
		p, err := plonk.NewProver(nil, b.ccs, b.pk, plonk.WithVerify(b.vk, gnark.WithVerifierHashToFieldFunction(sha256.New())))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Prove(t.Context(), w); !errors.Is(err, plonk.ErrNotVerified) {
			t.Errorf("error %v, want ErrNotVerified", err)
		}
	})
	t.Run("another key", func(t *testing.T) {
		other := build(t, ecc.BN254, samples.ByName("cubic"))
		if _, err := plonk.NewProver(nil, b.ccs, b.pk, plonk.WithVerify(other.vk)); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("error %v, want ErrInvalidInput", err)
		}
	})
}

// TestNoRoom wants an error that names what a proof needs, where a backend has not
// as much.
func TestNoRoom(t *testing.T) {
	e := newEngine(t, engine.Config{Fallbacks: []string{engine.NoFallback},
		Open: func(ctx context.Context, name string) (backend.Backend, error) {
			b, err := new(faulty.Backends).New(ctx)
			return &smallBackend{b}, err
		}})
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	p, err := plonk.NewProver(e, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Prove(t.Context(), b.witness(t, 3)); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("error %v", err)
	}
}

type smallBackend struct{ *faulty.Backend }

func (*smallBackend) NewSpace(context.Context, backend.Element, int) (backend.SpaceID, error) {
	return 0, backend.ErrOutOfMemory
}

// TestProve has everything that Prove keeps between calls: keys read into one
// variable, one key with two constraint systems, engines that change.
func TestProve(t *testing.T) {
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open})
	plonk.Use(e)
	defer plonk.Use(nil)
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	w := b.witness(t, 3)
	prove := func(b *built, w witness.Witness) {
		t.Helper()
		proof, err := plonk.Prove(b.ccs, b.pk, w)
		if err != nil {
			t.Fatal(err)
		}
		b.verify(t, proof, w)
	}
	prove(b, w)
	once := f.Taken.Load()
	prove(b, w)
	if n := f.Taken.Load(); n != once+1 {
		t.Errorf("%d spaces for the second proof, want 1", n-once)
	}
	again := *b
	var err error
	if again.ccs, err = frontend.Compile(ecc.BN254.ScalarField(), scs.NewBuilder, b.Circuit()); err != nil {
		t.Fatal(err)
	}
	prove(&again, w)
	plonk.Use(nil)
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases and spaces are left after Use", n)
	}
	prove(b, w)
}

// TestWrongArguments wants errors where gnark panics.
func TestWrongArguments(t *testing.T) {
	b, other := build(t, ecc.BN254, samples.ByName("cubic")), build(t, ecc.BLS12_381, samples.ByName("cubic"))
	bigger := build(t, ecc.BN254, samples.ByName("random of 60"))
	w := b.witness(t, 3)
	rank1, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &samples.Cubic{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		prove func() (stock.Proof, error)
		want  error
	}{
		{"witness of another curve", func() (stock.Proof, error) { return plonk.Prove(b.ccs, b.pk, other.witness(t, 3)) },
			witness.ErrInvalidWitness},
		{"no witness", func() (stock.Proof, error) { return plonk.Prove(b.ccs, b.pk, nil) }, witness.ErrInvalidWitness},
		{"key of another curve", func() (stock.Proof, error) { return plonk.Prove(b.ccs, other.pk, w) }, backend.ErrInvalidInput},
		{"key of another circuit", func() (stock.Proof, error) { return plonk.Prove(b.ccs, bigger.pk, w) }, backend.ErrInvalidInput},
		{"empty key", func() (stock.Proof, error) { return plonk.Prove(b.ccs, stock.NewProvingKey(ecc.BN254), w) }, backend.ErrInvalidInput},
		{"no key", func() (stock.Proof, error) { return plonk.Prove(b.ccs, nil, w) }, backend.ErrInvalidInput},
		{"no circuit", func() (stock.Proof, error) { return plonk.Prove(nil, b.pk, w) }, backend.ErrInvalidInput},
		{"Groth16's circuit", func() (stock.Proof, error) { return plonk.Prove(rank1, b.pk, w) }, backend.ErrInvalidInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.prove(); !errors.Is(err, c.want) {
				t.Errorf("error %v, want one that is %v", err, c.want)
			}
		})
	}
}

// TestErrorsAreGnarks proves what cannot be proved.
func TestErrorsAreGnarks(t *testing.T) {
	for _, name := range []string{"tiny", "commitments", "hints and tables"} {
		b := build(t, ecc.BN254, samples.ByName(name))
		for what, opts := range map[string][]gnark.ProverOption{"": {gnark.WithSolverOptions(samples.Hints)}, ", no hints": nil} {
			w := b.witness(t, -3)
			_, want := stock.Prove(b.ccs, b.pk, w, opts...)
			_, got := plonk.Prove(b.ccs, b.pk, w, opts...)
			if want == nil || got == nil || got.Error() != want.Error() {
				t.Errorf("%s%s: error %v, gnark's is %v", name, what, got, want)
			}
		}
	}
}

// TestWitnessOfAnotherCircuit has too many values, and too few, at which gnark
// panics.
func TestWitnessOfAnotherCircuit(t *testing.T) {
	small, big := build(t, ecc.BN254, samples.ByName("cubic")), build(t, ecc.BN254, samples.ByName("random of 60"))
	for _, c := range [][2]*built{{small, big}, {big, small}} {
		if _, err := plonk.Prove(c[0].ccs, c[0].pk, c[1].witness(t, 3)); err == nil || !strings.Contains(err.Error(), "witness size") {
			t.Errorf("error %v", err)
		}
	}
}

func TestCancelled(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	p, err := plonk.NewProver(nil, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Prove(ctx, b.witness(t, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// spaces is a backend that notes how large spaces are.
type spaces struct {
	*faulty.Backend
	mu   sync.Mutex
	seen []int
}

func (s *spaces) NewSpace(ctx context.Context, e backend.Element, n int) (backend.SpaceID, error) {
	s.mu.Lock()
	s.seen = append(s.seen, n)
	s.mu.Unlock()
	return s.Backend.NewSpace(ctx, e, n)
}

// TestElements compares what a key and a proof take with what Elements says: no more, and less by some roundings.
func TestElements(t *testing.T) {
	s := new(spaces)
	e := newEngine(t, engine.Config{Open: func(ctx context.Context, _ string) (_ backend.Backend, err error) {
		s.Backend, err = new(faulty.Backends).New(ctx)
		return s, err
	}})
	b := build(t, ecc.BN254, samples.ByName("random of 700"))
	p, err := plonk.NewProver(e, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s.seen = nil
	if _, err := p.Prove(t.Context(), b.witness(t, 3)); err != nil {
		t.Fatal(err)
	}
	_, n := plonk.SRSSize(b.ccs)
	key, proof := plonk.Elements(n, 0)
	slices.Sort(s.seen)
	if len(s.seen) != 2 || s.seen[0] != proof || s.seen[1] > key || s.seen[1] < key-8 {
		t.Errorf("spaces of %d elements, want %d and %d", s.seen, proof, key)
	}
}
