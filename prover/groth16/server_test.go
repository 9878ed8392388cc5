package groth16_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"io"
	"math/big"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/std/lookup/logderivlookup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

var (
	proofs  = flag.Int("proofs", 40, "proofs in a row in the test of memory")
	moments = flag.Int("moments", 10, "swaps and deaths of a backend in the test of them")
)

// TestSessionIsOpenedWhileSolving holds the solver up until the backend has a session.
func TestSessionIsOpenedWhileSolving(t *testing.T) {
	f := faulty.Backends{Elsewhere: true}
	sample, hint := samples.Waiting(func() error {
		for until := time.Now().Add(time.Minute); f.Taken.Load() < 1; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				return errors.New("no session while the circuit is solved")
			}
		}
		return nil
	})
	b := build(t, ecc.BN254, sample)
	p, err := groth16.NewProver(newEngine(t, engine.Config{Open: f.Open}), b.ccs, b.pk,
		groth16.WithProverOptions(gnark.WithSolverOptions(hint)))
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

// TestConcurrent proves different witnesses of one circuit at the same time. Both circuits have
// blueprints that hold values of the witness.
func TestConcurrent(t *testing.T) {
	e := newEngine(t, engine.Config{})
	for name, c := range map[string]struct{ callers, each int }{
		"hints and tables": {4, 3},
		"GKR":              {2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := build(t, ecc.BN254, samples.ByName(name))
			p, err := groth16.NewProver(e, b.ccs, b.pk, groth16.WithProverOptions(gnark.WithSolverOptions(samples.Hints)))
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for g := range c.callers {
				wg.Go(func() {
					for i := range c.each {
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
		})
	}
}

// meeting looks a value up in a table, calls a hint, and looks the value up again.
type meeting struct{ X frontend.Variable }

func (c *meeting) Define(api frontend.API) error {
	table := logderivlookup.New(api)
	table.Insert(c.X)
	table.Insert(api.Mul(c.X, c.X))
	first := table.Lookup(0)[0]
	zero, err := api.Compiler().NewHint(samples.HalfHint, 1, first)
	if err != nil {
		return err
	}
	api.AssertIsEqual(zero[0], 0)
	api.AssertIsEqual(table.Lookup(zero[0])[0], c.X)
	return nil
}

// meetings returns the circuit, and an option by which its solvers wait between the two look-ups
// until two of them are there.
func meetings(t *testing.T) (*built, gnark.ProverOption) {
	b := build(t, ecc.BN254, samples.Sample{Name: "meeting", Circuit: func() frontend.Circuit { return &meeting{} },
		Assign: func(_ *big.Int, seed int64) frontend.Circuit { return &meeting{seed} }})
	var mu sync.Mutex
	met := make(chan struct{})
	waiting := false
	hint := func(_ *big.Int, _, out []*big.Int) error {
		mu.Lock()
		meet := met
		if waiting = !waiting; !waiting { // the second
			close(met)
			met = make(chan struct{})
		}
		mu.Unlock()
		select {
		case <-meet:
		case <-time.After(time.Minute):
			return errors.New("the other solver did not come: is there a lock?")
		}
		out[0].SetUint64(0)
		return nil
	}
	return b, gnark.WithSolverOptions(solver.OverrideHint(solver.GetHintID(samples.HalfHint), hint))
}

// TestSolversMeet has two solvers of one circuit between their two look-ups at the same time: if
// they shared the table, one would see the other's value.
func TestSolversMeet(t *testing.T) {
	b, meet := meetings(t)
	p, err := groth16.NewProver(nil, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	proveTwo(t, b, p, meet)
}

// TestFallbacksAtOnce: two proofs are refused, and their solvers meet again when the proofs are
// made again. gnark's own prover then took the values of one user for those of the other ("1·5 !=
// 7").
func TestFallbacksAtOnce(t *testing.T) {
	b, meet := meetings(t)
	f := faulty.Backends{Lie: func(jobs, _ int) bool { return jobs > 1 }}
	var events atomic.Int64
	p, err := groth16.NewProver(newEngine(t, engine.Config{Open: f.Open}), b.ccs, b.pk, groth16.WithVerify(b.vk),
		groth16.OnEvent(func(groth16.Event) { events.Add(1) }))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	proveTwo(t, b, p, meet)
	if n := events.Load(); n != 2 {
		t.Errorf("%d proofs were made again, want 2", n)
	}
}

func proveTwo(t *testing.T, b *built, p *groth16.Prover, opts ...gnark.ProverOption) {
	t.Helper()
	var wg sync.WaitGroup
	for _, seed := range []int64{5, 7} {
		wg.Go(func() {
			w := b.witness(t, seed)
			proof, err := p.Prove(t.Context(), w, opts...)
			if err != nil {
				t.Error(err)
				return
			}
			b.verify(t, proof, w)
		})
	}
	wg.Wait()
}

// TestSwapAndDeath changes and kills backends while proofs are made.
func TestSwapAndDeath(t *testing.T) {
	for name, opt := range ways() {
		t.Run(name, func(t *testing.T) { swapAndDie(t, opt) })
	}
}

// ways are the two ways to compute the sums.
func ways() map[string]groth16.Option {
	return map[string]groth16.Option{"batches": groth16.MergeScalars(groth16.MergeAlways), "programs": groth16.Quotient(true)}
}

func swapAndDie(t *testing.T, opt groth16.Option) {
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open, Backend: "first"})
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	p, err := groth16.NewProver(e, b.ccs, b.pk, opt)
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
	f.Disturb(t, *moments, 6, &made, e.Use)
	stop.Store(true)
	wg.Wait()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	e.Close()
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases are left", n)
	}
}

// TestSwapWhileSolving swaps from this process to another and back before the constraint system is
// solved, and when it has been. A proof once asked again where its programs run, and crashed.
func TestSwapWhileSolving(t *testing.T) {
	here, there := new(faulty.Backends), &faulty.Backends{Elsewhere: true}
	solved := new(aroundSolving)
	e := newEngine(t, engine.Config{Backend: "here", Observer: solved, Open: func(ctx context.Context, name string) (backend.Backend, error) {
		if name == "here" {
			return here.Open(ctx, name)
		}
		return there.Open(ctx, name)
	}})
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	p, err := groth16.NewProver(e, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i, to := range []string{"there", "here", "there", "here", "there"} {
		use := func() {
			if err := e.Use(t.Context(), to); err != nil {
				t.Error(err)
			}
		}
		if solved.before, solved.f = nil, use; i > 2 {
			solved.before, solved.f = use, nil
		}
		w := b.witness(t, int64(i))
		proof, err := p.Prove(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		b.verify(t, proof, w)
	}
	if there.Loads.Load() == 0 {
		t.Error("no proof used the other process")
	}
}

// TestMemory makes proofs in a row. The heap, the goroutines and what backends hold must not grow.
func TestMemory(t *testing.T) {
	for name, opt := range ways() {
		t.Run(name, func(t *testing.T) { proveInARow(t, opt) })
	}
}

func proveInARow(t *testing.T, opt groth16.Option) {
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open})
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	p, err := groth16.NewProver(e, b.ccs, b.pk, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	state := func() (heap uint64, goroutines int, bases int64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine(), f.Held()
	}
	var heap uint64
	var goroutines int
	var bases int64
	for i := range *proofs {
		if i == 10 {
			heap, goroutines, bases = state()
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
	if n != bases {
		t.Errorf("%d bases, %d after 10 proofs", n, bases)
	}
	if n := f.Taken.Load(); n != 0 && n != int64(*proofs+1) {
		t.Errorf("%d spaces for %d proofs, want one each and one for the key", n, *proofs)
	}
}

// TestVerify: a backend answers wrongly, but the proof is right, and the event is reported.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name string
		lie  func(jobs, steps int) bool
		opt  groth16.Option
	}{
		{"in the batch", func(jobs, _ int) bool { return jobs > 1 }, groth16.Quotient(false)},
		{"in H and the commitments", func(jobs, _ int) bool { return jobs == 1 }, groth16.Quotient(false)},
		{"in programs", func(_, steps int) bool { return steps > 0 }, groth16.Quotient(true)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var f faulty.Backends
			e := newEngine(t, engine.Config{Open: f.Open, Backend: "liar"})
			b := build(t, ecc.BN254, samples.ByName("commitments"))
			var events []groth16.Event
			p, err := groth16.NewProver(e, b.ccs, b.pk, c.opt, groth16.WithVerify(b.vk),
				groth16.OnEvent(func(ev groth16.Event) { events = append(events, ev) }))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			w := b.witness(t, 3)
			for lying, want := range []int{0, 1} {
				if lying == 1 {
					f.Lie = c.lie
				}
				proof, err := p.Prove(t.Context(), w)
				if err != nil {
					t.Fatal(err)
				}
				b.verify(t, proof, w)
				if len(events) != want || want == 1 && (events[0].Err == nil || events[0].Backend != "liar") {
					t.Errorf("lying %d: events %v", lying, events)
				}
			}
			// Without WithVerify the wrong proof is returned: so the test above has something to
			// find.
			plain, err := groth16.NewProver(e, b.ccs, b.pk, c.opt)
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
		})
	}
	t.Run("verifier's options", func(t *testing.T) {
		b := build(t, ecc.BN254, samples.ByName("commitments"))
		p, err := groth16.NewProver(nil, b.ccs, b.pk, groth16.WithVerify(b.vk, gnark.WithVerifierHashToFieldFunction(sha256.New())))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Prove(t.Context(), b.witness(t, 3)); !errors.Is(err, groth16.ErrNotVerified) {
			t.Errorf("error %v, want ErrNotVerified", err)
		}
	})
	t.Run("another key", func(t *testing.T) {
		b := build(t, ecc.BN254, samples.ByName("cubic"))
		_, vk, err := stock.Setup(b.ccs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := groth16.NewProver(nil, b.ccs, b.pk, groth16.WithVerify(vk)); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("error %v, want ErrInvalidInput", err)
		}
	})
}

// TestFallbackObeysContext cancels a proof that was refused. gnark's own prover would make it
// nevertheless.
func TestFallbackObeysContext(t *testing.T) {
	f := faulty.Backends{Lie: func(jobs, _ int) bool { return jobs > 1 }}
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	ctx, cancel := context.WithCancel(t.Context())
	p, err := groth16.NewProver(newEngine(t, engine.Config{Open: f.Open}), b.ccs, b.pk, groth16.WithVerify(b.vk),
		groth16.OnEvent(func(groth16.Event) { cancel() }))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Prove(ctx, b.witness(t, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestCancelled(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	p, err := groth16.NewProver(nil, b.ccs, b.pk)
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

// TestProve tests the function with gnark's signature. It keeps what it loaded, notices another key
// in the same variable, and frees a key's points when the key becomes garbage and by Use.
func TestProve(t *testing.T) {
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open})
	groth16.Use(e)
	defer groth16.Use(nil)
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	prove := func(pk stock.ProvingKey, vk stock.VerifyingKey) {
		t.Helper()
		w := b.witness(t, 3)
		proof, err := groth16.Prove(b.ccs, pk, w)
		if err != nil {
			t.Fatal(err)
		}
		public, _ := w.Public()
		if err := groth16.Verify(proof, vk, public); err != nil {
			t.Error(err)
		}
	}
	prove(b.pk, b.vk)
	one := f.Held()
	if one == 0 {
		t.Fatal("nothing was loaded into the engine")
	}
	prove(b.pk, b.vk)
	if n := f.Held(); n != one {
		t.Fatalf("%d bases after the second proof, %d after the first", n, one)
	}

	// Two keys of the circuit, one after the other in the same variable.
	pk2, vk2, err := groth16.Setup(b.ccs)
	if err != nil {
		t.Fatal(err)
	}
	var raw1, raw2 bytes.Buffer
	for _, x := range []struct {
		pk io.WriterTo
		to *bytes.Buffer
	}{{b.pk, &raw1}, {pk2, &raw2}} {
		if _, err := x.pk.WriteTo(x.to); err != nil {
			t.Fatal(err)
		}
	}
	pk := groth16.NewProvingKey(ecc.BN254)
	for _, x := range []struct {
		raw *bytes.Buffer
		vk  stock.VerifyingKey
	}{{&raw1, b.vk}, {&raw2, vk2}} {
		if _, err := pk.ReadFrom(x.raw); err != nil {
			t.Fatal(err)
		}
		prove(pk, x.vk)
		if n := f.Held(); n != 2*one {
			t.Errorf("%d bases with two keys, want %d", n, 2*one)
		}
	}
	runtime.KeepAlive(pk)
	pk = nil
	for deadline := time.Now().Add(10 * time.Second); f.Held() > one; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the bases of a key that is garbage are still loaded: %d, want %d", f.Held(), one)
		}
		runtime.GC()
	}
	groth16.Use(nil)
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases after Use", n)
	}
	prove(b.pk, b.vk) // without an engine
	runtime.KeepAlive(b)
}

// TestProveWhileUseChanges calls Prove from several goroutines while another
// changes the engine.
func TestProveWhileUseChanges(t *testing.T) {
	e := newEngine(t, engine.Config{})
	defer groth16.Use(nil)
	b := build(t, ecc.BN254, samples.ByName("tiny"))
	var stop atomic.Bool
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				if _, err := groth16.Prove(b.ccs, b.pk, b.witness(t, int64(10*g+i+1))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 30 {
		groth16.Use([]*engine.Engine{e, nil}[i%2])
		time.Sleep(5 * time.Millisecond)
	}
	stop.Store(true)
	wg.Wait()
}

// TestVerifyingKeepsNoKeys: keys become garbage whose proofs are verified. Their bases must be
// freed as they are without.
func TestVerifyingKeepsNoKeys(t *testing.T) {
	var f faulty.Backends
	defer groth16.Use(nil)
	b := build(t, ecc.BN254, samples.ByName("tiny"))
	w := b.witness(t, 3)
	var verifying []groth16.Option
	keys := map[int]stock.ProvingKey{}
	for i := range 5 {
		pk, vk, err := groth16.Setup(b.ccs)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = pk
		verifying = append(verifying, groth16.WithVerify(vk))
	}
	groth16.Use(newEngine(t, engine.Config{Open: f.Open}), verifying...)
	for _, pk := range keys {
		if _, err := groth16.Prove(b.ccs, pk, w); err != nil {
			t.Fatal(err)
		}
	}
	if f.Held() == 0 {
		t.Fatal("nothing was loaded into the engine")
	}
	clear(keys)
	for deadline := time.Now().Add(time.Minute); f.Held() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bases of keys that are garbage are still loaded", f.Held())
		}
		runtime.GC()
	}
}

// TestVerifyingKeyIsForItsOwnKey proves with two keys, and one verifying key is known. The proofs
// of its key are verified, and those of the other are not refused.
func TestVerifyingKeyIsForItsOwnKey(t *testing.T) {
	f := faulty.Backends{Lie: func(jobs, _ int) bool { return jobs > 1 }}
	defer groth16.Use(nil)
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	other, _, err := groth16.Setup(b.ccs)
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	groth16.Use(newEngine(t, engine.Config{Open: f.Open}), groth16.WithVerify(b.vk), groth16.OnEvent(func(groth16.Event) { events++ }))
	w := b.witness(t, 3)
	if _, err := groth16.Prove(b.ccs, other, w); err != nil || events != 0 {
		t.Errorf("the other key: %v, %d events", err, events)
	}
	proof, err := groth16.Prove(b.ccs, b.pk, w)
	if err != nil || events != 1 {
		t.Fatalf("the key: %v, %d events", err, events)
	}
	b.verify(t, proof, w)
}

// TestOneKeyTwoConstraintSystems proves with one key and two objects of one circuit in turns. The
// key is loaded once.
func TestOneKeyTwoConstraintSystems(t *testing.T) {
	var f faulty.Backends
	groth16.Use(newEngine(t, engine.Config{Open: f.Open}))
	defer groth16.Use(nil)
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	again, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, b.Circuit())
	if err != nil {
		t.Fatal(err)
	}
	var loads int64
	for i := range 6 {
		w := b.witness(t, int64(i+1))
		proof, err := groth16.Prove([]constraint.ConstraintSystem{b.ccs, again}[i%2], b.pk, w)
		if err != nil {
			t.Fatal(err)
		}
		b.verify(t, proof, w)
		if i == 0 {
			loads = f.Loads.Load()
		}
	}
	// A circuit that the key is not for does not unload it either.
	other := build(t, ecc.BN254, samples.ByName("cubic"))
	if _, err := groth16.Prove(other.ccs, b.pk, other.witness(t, 3)); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("another circuit: %v", err)
	}
	if _, err := groth16.Prove(b.ccs, b.pk, b.witness(t, 3)); err != nil {
		t.Error(err)
	}
	if n := f.Loads.Load(); loads == 0 || n != loads {
		t.Errorf("%d loads after the first proof, %d after eight", loads, n)
	}
}
