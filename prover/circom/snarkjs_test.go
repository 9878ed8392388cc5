package circom

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
)

// TestSnarkjsVerifies has snarkjs verify proofs of this package, with keys that this package wrote,
// and proofs and keys of gnark.
func TestSnarkjsVerifies(t *testing.T) {
	if _, err := exec.LookPath("snarkjs"); err != nil {
		t.Skip("no snarkjs in PATH: npm install -g snarkjs@0.7.6")
	}
	for _, circuit := range made {
		k, err := ParseKey(fileOf(t, circuit, "circuit.zkey"))
		if err != nil {
			t.Fatal(err)
		}
		w, err := ParseWitness(fileOf(t, circuit, "witness.wtns"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := k.Prove(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		bySnarkjs(t, circuit, k.VerifyingKey(), p)
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []ecc.ID{ecc.BN254, ecc.BLS12_381} {
		stockKey, stockProof, w := proved(t, id, new(cube), &cube{Y: 35, Shift: 5, X: 3})
		vk, err := VerifyingKeyOf(stockKey)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ProofOf(stockProof, w)
		if err != nil {
			t.Fatal(err)
		}
		bySnarkjs(t, "gnark on "+id.String(), vk, p)
	}
}

// bySnarkjs has snarkjs verify a proof, and refuse it with another signal.
func bySnarkjs(t *testing.T, what string, vk *VerifyingKey, p *Proof) {
	dir := t.TempDir()
	for name, write := range map[string]func() ([]byte, error){"vk": vk.JSON, "proof": p.JSON, "public": p.PublicJSON} {
		b, err := write()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() (string, error) {
		cmd := exec.Command("snarkjs", "groth16", "verify", "vk", "public", "proof")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := verify(); err != nil {
		t.Errorf("%s: snarkjs: %v\n%s", what, err, out)
	}
	if len(p.Public) == 0 {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, "public"), []byte(`["36","5"]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := verify(); err == nil {
		t.Errorf("%s: snarkjs verifies with another signal\n%s", what, out)
	}
}
