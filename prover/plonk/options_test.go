package plonk_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	gnark "github.com/consensys/gnark/backend"
	stock "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/backend/solidity"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/logger"
	recursion "github.com/consensys/gnark/std/recursion/plonk"
	"github.com/rs/zerolog"

	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// TestOptions compares with gnark under every prover option, on a circuit
// whose commitments make all hash functions count.
func TestOptions(t *testing.T) {
	type set struct {
		name     string
		curve    ecc.ID
		prover   []gnark.ProverOption
		verifier []gnark.VerifierOption
	}
	native := func(outer, inner ecc.ID) set {
		return set{"recursion in " + outer.String(), inner,
			[]gnark.ProverOption{recursion.GetNativeProverOptions(outer.ScalarField(), inner.ScalarField())},
			[]gnark.VerifierOption{recursion.GetNativeVerifierOptions(outer.ScalarField(), inner.ScalarField())}}
	}
	plain := map[ecc.ID][]byte{}
	for _, c := range []set{
		{"none", ecc.BN254, nil, nil},
		{"none", ecc.BLS12_377, nil, nil},
		{"solidity", ecc.BN254, []gnark.ProverOption{solidity.WithProverTargetSolidityVerifier(gnark.PLONK)},
			[]gnark.VerifierOption{solidity.WithVerifierTargetSolidityVerifier(gnark.PLONK)}},
		native(ecc.BW6_761, ecc.BLS12_377),
		{"hash to field", ecc.BN254, []gnark.ProverOption{gnark.WithProverHashToFieldFunction(sha256.New())},
			[]gnark.VerifierOption{gnark.WithVerifierHashToFieldFunction(sha256.New())}},
		{"challenge hash", ecc.BN254, []gnark.ProverOption{gnark.WithProverChallengeHashFunction(sha256.New224())},
			[]gnark.VerifierOption{gnark.WithVerifierChallengeHashFunction(sha256.New224())}},
		{"folding hash", ecc.BN254, []gnark.ProverOption{gnark.WithProverKZGFoldingHashFunction(sha256.New224())},
			[]gnark.VerifierOption{gnark.WithVerifierKZGFoldingHashFunction(sha256.New224())}},
		{"statistical zero knowledge", ecc.BN254, []gnark.ProverOption{gnark.WithStatisticalZeroKnowledge(),
			gnark.WithSolverOptions(solver.WithNbTasks(1))}, nil},
	} {
		t.Run(c.curve.String()+"/"+c.name, func(t *testing.T) {
			b := build(t, c.curve, samples.ByName("commitments"))
			w := b.witness(t, 5)
			want := proofBytes(t, 1, func() (stock.Proof, error) { return stock.Prove(b.ccs, b.pk, w, c.prover...) })
			if c.name == "none" {
				plain[c.curve] = want
			} else if bytes.Equal(want, plain[c.curve]) && c.name != "solidity" {
				t.Error("the option makes no difference: equality says nothing")
			}
			p, err := plonk.NewProver(nil, b.ccs, b.pk, plonk.WithProverOptions(c.prover...), plonk.WithVerify(b.vk, c.verifier...),
				plonk.OnEvent(func(ev plonk.Event) { t.Error(ev) }))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if got := proofBytes(t, 1, func() (stock.Proof, error) { return p.Prove(t.Context(), w) }); !bytes.Equal(got, want) {
				t.Error("options of the Prover: another proof than gnark's")
			}
			if got := proofBytes(t, 1, func() (stock.Proof, error) { return plonk.Prove(b.ccs, b.pk, w, c.prover...) }); !bytes.Equal(got, want) {
				t.Error("options of the call: another proof than gnark's")
			}
		})
	}
}

// TestLog wants in gnark's log what gnark's prover writes there, and who
// computed.
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
	if got := last(func() (stock.Proof, error) { return plonk.Prove(b.ccs, b.pk, w) }); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
