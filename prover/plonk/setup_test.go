package plonk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/big"
	"reflect"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	kzg254 "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
	"github.com/consensys/gnark-crypto/kzg"
	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// circuit is a constraint system with both forms of a setup for it.
type circuit struct {
	samples.Sample
	ccs           constraint.ConstraintSystem
	srs, lagrange kzg.SRS
}

func circuitOf(t *testing.T, curve ecc.ID, s samples.Sample) *circuit {
	t.Helper()
	c := &circuit{Sample: s, ccs: build(t, curve, s).ccs}
	var err error
	if c.srs, c.lagrange, err = unsafekzg.NewSRS(c.ccs); err != nil {
		t.Fatal(err)
	}
	return c
}

// keyBytes encodes both keys.
func keyBytes(t *testing.T, pk stock.ProvingKey, vk stock.VerifyingKey) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, write := range []func(io.Writer) (int64, error){pk.WriteRawTo, vk.WriteRawTo} {
		if _, err := write(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestSetupIsGnarks compares keys with gnark's, byte for byte and field by field, with the
// Lagrange form given and without, and proves with them.
func TestSetupIsGnarks(t *testing.T) {
	var f faulty.Backends
	e, err := pippin.New(t.Context(), engine.Config{Open: f.Open})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	plonk.Use(e)
	defer plonk.Use(nil)
	for _, curve := range curves() {
		all := samples.On(curve)
		if curve != ecc.BN254 {
			all = []samples.Sample{samples.ByName("commitments"), samples.ByName("cubic")}
		}
		for _, s := range all {
			t.Run(curve.String()+"/"+s.Name, func(t *testing.T) {
				c := circuitOf(t, curve, s)
				pk, vk, err := stock.Setup(c.ccs, c.srs, c.lagrange)
				if err != nil {
					t.Fatal(err)
				}
				// Encoding a key changes it: it sets the version.
				made := *build(t, curve, s)
				for what, lagrange := range map[string]kzg.SRS{"given": c.lagrange, "computed": nil} {
					before := f.Loads.Load()
					made.pk, made.vk, err = plonk.Setup(c.ccs, c.srs, lagrange)
					if err != nil {
						t.Fatal(err)
					}
					if f.Loads.Load() == before {
						t.Error("the engine of Use computed nothing")
					}
					if !reflect.DeepEqual(made.vk, vk) || !reflect.DeepEqual(made.pk, pk) {
						t.Errorf("Lagrange form %s: another key than gnark's", what)
					}
					if !bytes.Equal(keyBytes(t, made.pk, made.vk), keyBytes(t, pk, vk)) {
						t.Errorf("Lagrange form %s: a key of other bytes than gnark's", what)
					}
				}
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
		t.Errorf("%d bases and spaces are left", n)
	}
}

// TestSetupDespiteDeath kills the backend at each call that computes in turn.
func TestSetupDespiteDeath(t *testing.T) {
	c := circuitOf(t, ecc.BN254, samples.ByName("commitments"))
	pk, vk, err := stock.Setup(c.ccs, c.srs, c.lagrange)
	if err != nil {
		t.Fatal(err)
	}
	for at := int64(1); ; at++ {
		var f faulty.Backends
		e, err := pippin.New(t.Context(), engine.Config{Open: f.Open})
		if err != nil {
			t.Fatal(err)
		}
		f.Die.Store(at)
		gotPK, gotVK, err := plonk.SetupOn(t.Context(), e, c.ccs, c.srs, nil)
		e.Close()
		if err != nil {
			t.Fatalf("a death at call %d: %v", at, err)
		}
		if !bytes.Equal(keyBytes(t, gotPK, gotVK), keyBytes(t, pk, vk)) {
			t.Errorf("a death at call %d: other keys", at)
		}
		if f.Die.Load() > 0 {
			if at < 3 {
				t.Errorf("%d calls compute", at-1)
			}
			return
		}
	}
}

// phases keeps the kinds of phases and calls begun at each.
type phases struct {
	begun func(engine.PhaseKind)
	all   []engine.PhaseKind
}

func (p *phases) Begin(ctx context.Context, phase engine.Phase) (context.Context, func(error)) {
	p.all = append(p.all, phase.Kind)
	if p.begun != nil {
		p.begun(phase.Kind)
	}
	return ctx, func(error) {}
}

// TestSetupTellsAndEnds wants a set-up told to the observer, and ended with its context.
func TestSetupTellsAndEnds(t *testing.T) {
	c := circuitOf(t, ecc.BN254, samples.ByName("commitments"))
	seen := &phases{}
	e, err := pippin.New(t.Context(), engine.Config{Open: new(faulty.Backends).Open, Observer: seen})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, _, err := plonk.SetupOn(t.Context(), e, c.ccs, c.srs, nil); err != nil {
		t.Fatal(err)
	}
	at := slices.Index(seen.all, engine.PhaseSetup)
	if at < 0 || !slices.Contains(seen.all[at:], engine.PhaseProgram) || !slices.Contains(seen.all[at:], engine.PhaseMSM) {
		t.Errorf("the observer heard of %v", seen.all)
	}
	for _, kind := range []engine.PhaseKind{engine.PhaseSetup, engine.PhaseProgram, engine.PhaseLoad, engine.PhaseMSM} {
		ctx, cancel := context.WithCancel(t.Context())
		seen.begun = func(k engine.PhaseKind) {
			if k == kind {
				cancel()
			}
		}
		if _, _, err := plonk.SetupOn(ctx, e, c.ccs, c.srs, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %q: %v", kind, err)
		}
		cancel()
	}
}

// TestSetupRefuses what gnark refuses, and what gnark crashes with.
func TestSetupRefuses(t *testing.T) {
	c, other := circuitOf(t, ecc.BN254, samples.ByName("cubic")), circuitOf(t, ecc.BLS12_377, samples.ByName("cubic"))
	plain, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &samples.Cubic{})
	if err != nil {
		t.Fatal(err)
	}
	short, err := kzg254.NewSRS(4, big.NewInt(5))
	if err != nil {
		t.Fatal(err)
	}
	for what, in := range map[string]struct {
		ccs           constraint.ConstraintSystem
		srs, lagrange kzg.SRS
	}{
		"no constraint system":    {nil, c.srs, c.lagrange},
		"an R1CS":                 {plain, c.srs, c.lagrange},
		"no setup":                {c.ccs, nil, nil},
		"an empty setup":          {c.ccs, (*kzg254.SRS)(nil), nil},
		"a short setup":           {c.ccs, short, c.lagrange},
		"a setup of another size": {c.ccs, c.srs, c.srs},
		"another curve's setup":   {c.ccs, other.srs, c.lagrange},
		"another curve's form":    {c.ccs, c.srs, other.lagrange},
	} {
		if pk, vk, err := plonk.SetupOn(t.Context(), nil, in.ccs, in.srs, in.lagrange); !errors.Is(err, backend.ErrInvalidInput) ||
			pk != nil || vk != nil {
			t.Errorf("%s: %v, %v, %v", what, pk, vk, err)
		}
	}
}
