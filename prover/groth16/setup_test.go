package groth16_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"math/big"
	rand2 "math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/scs"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/heaptest"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// madeKeys are the keys of a set-up, and their encodings.
type madeKeys struct {
	pk stock.ProvingKey
	vk stock.VerifyingKey
}

func (k *madeKeys) bytes(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, write := range []func(io.Writer) (int64, error){k.pk.WriteRawTo, k.vk.WriteRawTo} {
		if _, err := write(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// setUp makes keys with fixed randomness.
func setUp(t *testing.T, seed byte, make func() (stock.ProvingKey, stock.VerifyingKey, error)) (k madeKeys) {
	t.Helper()
	withReader(rand2.NewChaCha8([32]byte{seed}), func() {
		var err error
		if k.pk, k.vk, err = make(); err != nil {
			t.Fatal(err)
		}
	})
	return k
}

// TestSetupIsGnarks compares keys with gnark's for the same randomness, byte for byte and field by
// field, and proves with them.
func TestSetupIsGnarks(t *testing.T) {
	var f faulty.Backends
	e := newEngine(t, engine.Config{Open: f.Open})
	groth16.Use(e)
	defer groth16.Use(nil)
	for _, curve := range curves() {
		all := samples.On(curve)
		if curve != ecc.BN254 {
			all = []samples.Sample{samples.ByName("commitments"), samples.ByName("cubic")}
		}
		for i, s := range all {
			t.Run(curve.String()+"/"+s.Name, func(t *testing.T) {
				b := build(t, curve, s)
				want := setUp(t, byte(i), func() (stock.ProvingKey, stock.VerifyingKey, error) { return stock.Setup(b.ccs) })
				before := f.Taken.Load()
				got := setUp(t, byte(i), func() (stock.ProvingKey, stock.VerifyingKey, error) { return groth16.Setup(b.ccs) })
				if f.Taken.Load() == before {
					t.Error("the engine of Use computed nothing")
				}
				if !bytes.Equal(got.bytes(t), want.bytes(t)) {
					t.Fatal("other keys than gnark's")
				}
				if !reflect.DeepEqual(got.vk, want.vk) {
					t.Error("the verifying key has fields that are not encoded, and they differ")
				}
				made := *b
				made.pk, made.vk = got.pk, got.vk
				w := made.witness(t, 3)
				proof, err := stock.Prove(made.ccs, made.pk, w, gnark.WithSolverOptions(samples.Hints))
				if err != nil {
					t.Fatal(err)
				}
				made.verify(t, proof, w)
			})
		}
	}
	if n := f.Held(); n != 0 {
		t.Errorf("%d spaces are left", n)
	}
}

// TestSetupDespiteDeath kills the backend at each of its computing calls in turn, during a set-up
// of many programs.
func TestSetupDespiteDeath(t *testing.T) {
	defer groth16.MostMultiples(7)()
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	want := setUp(t, 1, func() (stock.ProvingKey, stock.VerifyingKey, error) { return stock.Setup(b.ccs) })
	for at := int64(1); ; at++ {
		var f faulty.Backends
		e := newEngine(t, engine.Config{Open: f.Open})
		f.Die.Store(at)
		got := setUp(t, 1, func() (stock.ProvingKey, stock.VerifyingKey, error) {
			return groth16.SetupOn(t.Context(), e, b.ccs)
		})
		if !bytes.Equal(got.bytes(t), want.bytes(t)) {
			t.Errorf("a death at call %d: other keys", at)
		}
		if f.Die.Load() > 0 {
			if at < 10 {
				t.Errorf("%d calls compute", at-1)
			}
			return
		}
	}
}

// phases records the phases of an engine, and calls begun at the beginning of each.
type phases struct {
	mu    sync.Mutex
	begun func(engine.Phase)
	all   []engine.Phase
}

func (p *phases) Begin(ctx context.Context, phase engine.Phase) (context.Context, func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, phase)
	if p.begun != nil {
		p.begun(phase)
	}
	return ctx, func(error) {}
}

// TestSetupTellsAndEnds: the observer is told of a set-up, and the set-up ends with its context,
// before its programs and in the middle of them.
func TestSetupTellsAndEnds(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	seen := &phases{}
	e := newEngine(t, engine.Config{Open: new(faulty.Backends).Open, Observer: seen})
	made, of := 0, 0
	if _, _, err := groth16.SetupOn(t.Context(), e, b.ccs, groth16.OnPoints(func(points, all int) {
		if points <= made {
			t.Errorf("%d points after %d", points, made)
		}
		made, of = points, all
	})); err != nil {
		t.Fatal(err)
	}
	if made != of || made < b.ccs.GetNbConstraints() {
		t.Errorf("told of %d of %d points", made, of)
	}
	at := slices.IndexFunc(seen.all, func(p engine.Phase) bool { return p.Kind == engine.PhaseSetup })
	if at < 0 || seen.all[at].Points < b.ccs.GetNbConstraints() {
		t.Fatalf("the observer heard of %v", seen.all)
	}
	if !slices.ContainsFunc(seen.all[at:], func(p engine.Phase) bool { return p.Kind == engine.PhaseProgram }) {
		t.Error("the observer heard of no program of the set-up")
	}
	for _, kind := range []engine.PhaseKind{"", engine.PhaseSetup, engine.PhaseProgram} {
		ctx, cancel := context.WithCancel(t.Context())
		if seen.begun = func(p engine.Phase) {
			if p.Kind == kind {
				cancel()
			}
		}; kind == "" {
			cancel()
		}
		if _, _, err := groth16.SetupOn(ctx, e, b.ccs); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %q: %v", kind, err)
		}
		cancel()
	}
}

// TestSetupRefuses: constraint systems without a set-up are refused.
func TestSetupRefuses(t *testing.T) {
	sparse, err := frontend.Compile(ecc.BN254.ScalarField(), scs.NewBuilder, &samples.Cubic{})
	if err != nil {
		t.Fatal(err)
	}
	for what, ccs := range map[string]constraint.ConstraintSystem{"none": nil, "a sparse one": sparse} {
		if pk, vk, err := groth16.SetupOn(t.Context(), nil, ccs); !errors.Is(err, backend.ErrInvalidInput) || pk != nil || vk != nil {
			t.Errorf("%s: %v, %v, %v", what, pk, vk, err)
		}
	}
}

// TestWasteIsWiped: the numbers that a set-up drew are gone from memory, in Montgomery form and as
// numbers, and so is some of what was computed from them.
func TestWasteIsWiped(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	// Other numbers than those of TestBlindingIsWiped, which may leave its own.
	drawn, redrawn := counter(1), counter(1)
	withReader(&drawn, func() {
		if _, _, err := groth16.SetupOn(t.Context(), nil, b.ccs); err != nil {
			t.Fatal(err)
		}
	})
	dump := heaptest.Dump(t)

	names := []string{"tau", "alpha", "beta", "gamma", "delta", "1/gamma", "1/delta", "tau^2", "tau^n - 1", "sigma"}
	waste := make([]fr.Element, len(names))
	withReader(&redrawn, func() {
		for i := range 5 {
			waste[i].MustSetRandom()
		}
		if _, err := bn254.RandomOnG2(); err != nil {
			t.Fatal(err)
		}
		for range b.ccs.GetCommitments().(constraint.Groth16Commitments) {
			sigma, err := rand.Int(rand.Reader, new(big.Int).Sub(fr.Modulus(), big.NewInt(1)))
			if err != nil {
				t.Fatal(err)
			}
			waste[9].SetBigInt(sigma.Add(sigma, big.NewInt(1)))
		}
	})
	if drawn != redrawn {
		t.Fatal("the set-up did not draw what gnark's draws")
	}
	waste[5].Inverse(&waste[3])
	waste[6].Inverse(&waste[4])
	waste[7].Square(&waste[0])
	one := fr.One()
	size := big.NewInt(int64(ecc.NextPowerOfTwo(uint64(b.ccs.GetNbConstraints()))))
	waste[8].Exp(waste[0], size).Sub(&waste[8], &one)
	secrets := map[string][]byte{}
	var numbers []*big.Int
	for i, name := range names {
		number := waste[i].BigInt(new(big.Int))
		numbers = append(numbers, number)
		secrets[name] = layout.Bytes(waste[i : i+1])
		secrets[name+" as a number"] = layout.Bytes(number.Bits())
		secrets[name+" as bytes"] = waste[i].Marshal()
	}
	now := heaptest.Dump(t)
	for what, b := range secrets {
		if bytes.Contains(dump, b) {
			t.Errorf("%s is still in memory", what)
		}
		if !bytes.Contains(now, b) {
			t.Errorf("%s is not found where it is", what)
		}
	}
	runtime.KeepAlive(numbers)
}
