package circom

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"

	"github.com/pippin-zk/pippin/backend"
)

// cube is y = x^3 + x + shift, as the circuit of testdata/cubic.
type cube struct {
	Y     frontend.Variable `gnark:",public"`
	Shift frontend.Variable `gnark:",public"`
	X     frontend.Variable
}

func (c *cube) Define(api frontend.API) error {
	api.AssertIsEqual(c.Y, api.Add(api.Mul(c.X, c.X, c.X), c.X, c.Shift))
	return nil
}

// committing is a circuit with a commitment.
type committing struct{ X frontend.Variable }

func (c *committing) Define(api frontend.API) error {
	v, err := api.(frontend.Committer).Commit(c.X)
	if err != nil {
		return err
	}
	api.AssertIsDifferent(v, c.X)
	return nil
}

// TestGnarkVerifies has gnark verify snarkjs's proofs, and refuse a signal that was changed.
func TestGnarkVerifies(t *testing.T) {
	for _, circuit := range made {
		p := proofOf(t, circuit)
		vk, err := keyOf(t, circuit).Gnark()
		if err != nil {
			t.Fatal(circuit, err)
		}
		verify := func() error {
			proof, public, err := p.Gnark()
			if err != nil {
				t.Fatal(circuit, err)
			}
			return groth16.Verify(proof, vk, public)
		}
		if err := verify(); err != nil {
			t.Errorf("%s: %v", circuit, err)
		}
		for i := range p.Public {
			p.Public[i].Add(p.Public[i], big.NewInt(1))
			if verify() == nil {
				t.Errorf("%s: verifies with another signal %d", circuit, i)
			}
			p.Public[i].Sub(p.Public[i], big.NewInt(1))
		}
	}
}

// TestGnarkExportsSolidity writes a contract for a key of snarkjs.
func TestGnarkExportsSolidity(t *testing.T) {
	vk, err := keyOf(t, "cubic").Gnark()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := vk.ExportSolidity(&b); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(b.Bytes(), []byte(keyOf(t, "cubic").Alpha.X.String())) {
		t.Error("the contract does not have alpha")
	}
}

// proved returns gnark's keys, proof and witness of a circuit.
func proved(t *testing.T, id ecc.ID, circuit, assignment frontend.Circuit) (groth16.VerifyingKey, groth16.Proof, witness.Witness) {
	ccs, err := frontend.Compile(id.ScalarField(), r1cs.NewBuilder, circuit)
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := groth16.Setup(ccs)
	if err != nil {
		t.Fatal(err)
	}
	w, err := frontend.NewWitness(assignment, id.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	proof, err := groth16.Prove(ccs, pk, w)
	if err != nil {
		t.Fatal(err)
	}
	return vk, proof, w
}

// TestGnarkInSnarkjsFiles writes gnark's own proof and key as snarkjs's files, and has gnark verify
// what is read from them.
func TestGnarkInSnarkjsFiles(t *testing.T) {
	for _, id := range []ecc.ID{ecc.BN254, ecc.BLS12_381} {
		stockKey, stockProof, w := proved(t, id, new(cube), &cube{Y: 35, Shift: 5, X: 3})
		vk, err := VerifyingKeyOf(stockKey)
		if err != nil {
			t.Fatal(id, err)
		}
		p, err := ProofOf(stockProof, w)
		if err != nil {
			t.Fatal(id, err)
		}
		if !slices.EqualFunc(p.Public, []int64{35, 5}, func(a *big.Int, b int64) bool { return a.Cmp(big.NewInt(b)) == 0 }) {
			t.Errorf("%s: public signals %v", id, p.Public)
		}
		keyFile, err := vk.JSON()
		if err != nil {
			t.Fatal(id, err)
		}
		proofFile, err := p.JSON()
		if err != nil {
			t.Fatal(id, err)
		}
		public, err := p.PublicJSON()
		if err != nil {
			t.Fatal(id, err)
		}
		if vk, err = ParseVerifyingKey(keyFile); err != nil {
			t.Fatal(id, err)
		}
		if p, err = ParseProof(proofFile, public); err != nil {
			t.Fatal(id, err)
		}
		backKey, err := vk.Gnark()
		if err != nil {
			t.Fatal(id, err)
		}
		proof, signals, err := p.Gnark()
		if err != nil {
			t.Fatal(id, err)
		}
		if err := groth16.Verify(proof, backKey, signals); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestGnarkRefused converts what snarkjs has no form for.
func TestGnarkRefused(t *testing.T) {
	vk, proof, w := proved(t, ecc.BN254, new(committing), &committing{X: 3})
	if _, err := VerifyingKeyOf(vk); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("a key with a commitment: %v", err)
	}
	if _, err := ProofOf(proof, w); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("a proof with a commitment: %v", err)
	}
	if _, err := VerifyingKeyOf(groth16.NewVerifyingKey(ecc.BW6_761)); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("a key on BW6-761: %v", err)
	}
	if _, err := ProofOf(groth16.NewProof(ecc.BN254), nil); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("no witness: %v", err)
	}
	other, err := witness.New(ecc.BLS12_381.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ProofOf(groth16.NewProof(ecc.BN254), other); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a witness on another curve: %v", err)
	}
	p := proofOf(t, "cubic")
	p.A.X = big.NewInt(4)
	if _, _, err := p.Gnark(); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a point that is not on the curve: %v", err)
	}
}
