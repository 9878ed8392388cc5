package groth16_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/solidity"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"
	recursion "github.com/consensys/gnark/std/recursion/groth16"
	"github.com/rs/zerolog"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// TestOptions compares proofs with gnark's under every prover option, on a circuit with
// commitments, where the hash functions matter.
func TestOptions(t *testing.T) {
	e := newEngine(t, engine.Config{})
	type pair struct {
		name     string
		curve    ecc.ID
		prover   []gnark.ProverOption
		verifier []gnark.VerifierOption
	}
	solidityProver := solidity.WithProverTargetSolidityVerifier(gnark.GROTH16)
	solidityVerifier := solidity.WithVerifierTargetSolidityVerifier(gnark.GROTH16)
	native := func(outer, inner ecc.ID) pair {
		return pair{"recursion in " + outer.String(), inner,
			[]gnark.ProverOption{recursion.GetNativeProverOptions(outer.ScalarField(), inner.ScalarField())},
			[]gnark.VerifierOption{recursion.GetNativeVerifierOptions(outer.ScalarField(), inner.ScalarField())}}
	}
	for _, c := range []pair{
		{"none", ecc.BN254, nil, nil},
		{"solidity", ecc.BN254, []gnark.ProverOption{solidityProver}, []gnark.VerifierOption{solidityVerifier}},
		native(ecc.BW6_761, ecc.BLS12_377),
		native(ecc.BN254, ecc.BN254),
		native(ecc.BN254, ecc.BW6_761),
		{"hash of 32 bytes", ecc.BW6_761, // shorter than a scalar
			[]gnark.ProverOption{gnark.WithProverHashToFieldFunction(sha256.New())},
			[]gnark.VerifierOption{gnark.WithVerifierHashToFieldFunction(sha256.New())}},
		{"without effect", ecc.BLS12_381,
			[]gnark.ProverOption{gnark.WithProverChallengeHashFunction(sha256.New()), gnark.WithProverKZGFoldingHashFunction(sha256.New()),
				gnark.WithStatisticalZeroKnowledge(), gnark.WithSolverOptions(solver.WithNbTasks(1))},
			nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := build(t, c.curve, samples.ByName("commitments"))
			w := b.witness(t, 5)
			want := proofBytes(t, 1, func() (stock.Proof, error) { return stock.Prove(b.ccs, b.pk, w, c.prover...) })
			var proof stock.Proof
			keep := func(p stock.Proof, err error) (stock.Proof, error) { proof = p; return p, err }

			p, err := groth16.NewProver(e, b.ccs, b.pk, groth16.WithProverOptions(c.prover...), groth16.WithVerify(b.vk, c.verifier...),
				groth16.OnEvent(func(ev groth16.Event) { t.Error(ev) }))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if got := proofBytes(t, 1, func() (stock.Proof, error) { return keep(p.Prove(t.Context(), w)) }); !bytes.Equal(got, want) {
				t.Error("options of the Prover: another proof than gnark's")
			}
			b.verify(t, proof, w, c.verifier...)
			prove := func() (stock.Proof, error) { return keep(groth16.Prove(b.ccs, b.pk, w, c.prover...)) }
			if got := proofBytes(t, 1, prove); !bytes.Equal(got, want) {
				t.Error("options of the call: another proof than gnark's")
			}
		})
	}
}

// TestOptionsCount shows that TestOptions can fail: without the option the proof differs.
func TestOptionsCount(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	w := b.witness(t, 5)
	plain := proofBytes(t, 1, func() (stock.Proof, error) { return groth16.Prove(b.ccs, b.pk, w) })
	other := proofBytes(t, 1, func() (stock.Proof, error) {
		return groth16.Prove(b.ccs, b.pk, w, solidity.WithProverTargetSolidityVerifier(gnark.GROTH16))
	})
	if bytes.Equal(plain, other) {
		t.Error("the hash function makes no difference")
	}
}

// TestErrorsAreGnarks proves statements that cannot be proved.
func TestErrorsAreGnarks(t *testing.T) {
	opt := gnark.WithSolverOptions(samples.Hints)
	same := func(t *testing.T, b *built, w witness.Witness, opts ...gnark.ProverOption) {
		t.Helper()
		_, want := stock.Prove(b.ccs, b.pk, w, opts...)
		_, got := groth16.Prove(b.ccs, b.pk, w, opts...)
		if want == nil || got == nil || got.Error() != want.Error() {
			t.Errorf("error %v, gnark's is %v", got, want)
		}
	}
	for _, curve := range curves() {
		for _, s := range samples.On(curve) {
			if s.Name == "unconstrained" {
				continue // no witness is bad
			}
			t.Run(curve.String()+"/"+s.Name, func(t *testing.T) {
				b := build(t, curve, s)
				same(t, b, b.witness(t, -3), opt)
			})
		}
	}
	b := build(t, ecc.BN254, samples.ByName("hints and tables"))
	t.Run("hint missing", func(t *testing.T) { same(t, b, b.witness(t, 3)) })
	t.Run("hint fails", func(t *testing.T) { same(t, b, b.witness(t, 0), opt) })
	t.Run("another circuit's witness", func(t *testing.T) { same(t, b, build(t, ecc.BN254, samples.ByName("cubic")).witness(t, 3), opt) })
	t.Run("icicle", func(t *testing.T) {
		_, err := groth16.Prove(b.ccs, b.pk, b.witness(t, 3), gnark.WithIcicleAcceleration())
		if err == nil {
			t.Error("an option's error was lost")
		}
	})
}

// TestWrongArguments: arguments for which gnark panics give errors.
func TestWrongArguments(t *testing.T) {
	b, other := build(t, ecc.BN254, samples.ByName("cubic")), build(t, ecc.BLS12_381, samples.ByName("cubic"))
	bigger := build(t, ecc.BN254, samples.ByName("random of 60"))
	w := b.witness(t, 3)
	sparse, err := frontend.Compile(ecc.BN254.ScalarField(), scs.NewBuilder, &samples.Cubic{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		prove func() (stock.Proof, error)
		want  error
	}{
		{"witness of another curve", func() (stock.Proof, error) { return groth16.Prove(b.ccs, b.pk, other.witness(t, 3)) },
			witness.ErrInvalidWitness},
		{"no witness", func() (stock.Proof, error) { return groth16.Prove(b.ccs, b.pk, nil) }, witness.ErrInvalidWitness},
		{"key of another curve", func() (stock.Proof, error) { return groth16.Prove(b.ccs, other.pk, w) }, backend.ErrInvalidInput},
		{"key of another circuit", func() (stock.Proof, error) { return groth16.Prove(b.ccs, bigger.pk, w) }, backend.ErrInvalidInput},
		{"empty key", func() (stock.Proof, error) { return groth16.Prove(b.ccs, stock.NewProvingKey(ecc.BN254), w) }, backend.ErrInvalidInput},
		{"no key", func() (stock.Proof, error) { return groth16.Prove(b.ccs, nil, w) }, backend.ErrInvalidInput},
		{"no circuit", func() (stock.Proof, error) { return groth16.Prove(nil, b.pk, w) }, backend.ErrInvalidInput},
		{"PLONK's circuit", func() (stock.Proof, error) { return groth16.Prove(sparse, b.pk, w) }, backend.ErrInvalidInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.prove(); !errors.Is(err, c.want) {
				t.Errorf("error %v, want one that is %v", err, c.want)
			}
		})
	}
}

// TestDummyKeys proves with keys whose points are all equal: additions must be complete, and all
// bases merge into one. Such a proof only shows that it equals gnark's.
func TestDummyKeys(t *testing.T) {
	e := newEngine(t, engine.Config{})
	for _, curve := range curves() {
		for _, name := range []string{"random of 700", "commitments", "public commitment"} {
			t.Run(curve.String()+"/"+name, func(t *testing.T) {
				b := *build(t, curve, samples.ByName(name))
				var err error
				if b.pk, err = groth16.DummySetup(b.ccs); err != nil {
					t.Fatal(err)
				}
				w := b.witness(t, 3)
				want := proofBytes(t, 1, func() (stock.Proof, error) { return stock.Prove(b.ccs, b.pk, w) })
				for mode, newProver := range modes(e) {
					p, err := newProver(&b)
					if err != nil {
						t.Fatal(err)
					}
					if got := proofBytes(t, 1, func() (stock.Proof, error) { return p.Prove(t.Context(), w) }); !bytes.Equal(got, want) {
						t.Errorf("%s: another proof than gnark's", mode)
					}
					p.Close()
				}
			})
		}
	}
}

// TestLog: gnark's log gets the lines that gnark's prover writes, and who computed.
func TestLog(t *testing.T) {
	var lines bytes.Buffer
	logger.Set(zerolog.New(&lines))
	defer logger.Disable()
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	w := b.witness(t, 3)
	last := func(prove func() (stock.Proof, error)) map[string]any {
		t.Helper()
		if _, err := prove(); err != nil {
			t.Fatal(err)
		}
		all := bytes.Split(bytes.TrimSpace(lines.Bytes()), []byte("\n"))
		var line map[string]any
		if err := json.Unmarshal(all[len(all)-1], &line); err != nil {
			t.Fatal(err)
		}
		if took, _ := line["took"].(float64); took <= 0 {
			t.Errorf("no time in %v", line)
		}
		delete(line, "took")
		return line
	}
	want := last(func() (stock.Proof, error) { return stock.Prove(b.ccs, b.pk, w) })
	want["acceleration"] = "pippin cpu"
	if got := last(func() (stock.Proof, error) { return groth16.Prove(b.ccs, b.pk, w) }); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestWrongWitnessIsAPhase: an observer is told that gnark's solver was asked, but not for a right
// witness.
func TestWrongWitnessIsAPhase(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	seen := &phases{}
	p, err := groth16.NewProver(newEngine(t, engine.Config{Observer: seen}), b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	asked := func() (n int) {
		for _, p := range seen.all {
			switch p.Kind {
			case engine.PhaseSolveGnark:
				n++
			case engine.PhaseSolveDefect:
				t.Error("a defect")
			}
		}
		return n
	}
	if _, err := p.Prove(t.Context(), b.witness(t, 3)); err != nil || asked() != 0 {
		t.Fatalf("%v, gnark's solver was asked %d times", err, asked())
	}
	if _, err := p.Prove(t.Context(), b.witness(t, -3)); err == nil || asked() != 1 {
		t.Errorf("%v for a wrong witness, gnark's solver was asked %d times", err, asked())
	}
}
