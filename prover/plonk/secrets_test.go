package plonk_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/heaptest"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// counter is a reader of bytes that keeps none of them, and numbers below every
// modulus.
type counter struct {
	mu   sync.Mutex
	next uint64
}

func (c *counter) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range b {
		c.next = c.next*6364136223846793005 + 1442695040888963407
		b[i] = byte(c.next >> 56)
	}
	b[len(b)-1] = 0
	return len(b), nil
}

// TestBlindingIsWiped wants what hides the witness gone from memory after a proof,
// in Montgomery form and as numbers: the nine coefficients, two for the quotient's
// parts, and two in each commitment.
func TestBlindingIsWiped(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("public commitment"))
	w := b.witness(t, 3)
	p, err := plonk.NewProver(nil, b.ccs, b.pk, plonk.WithProverOptions(statistical))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var drawn, redrawn counter
	withReader(&drawn, func() { _, err = p.Prove(t.Context(), w) })
	if err != nil {
		t.Fatal(err)
	}
	dump := heaptest.Dump(t)

	secrets := make([]fr.Element, 2+9+2)
	withReader(&redrawn, func() {
		for i := range secrets {
			secrets[i].MustSetRandom()
		}
	})
	if drawn.next != redrawn.next {
		t.Fatal("the proof did not draw as many numbers")
	}
	numbers := make([][]byte, len(secrets))
	for i := range secrets {
		plain := secrets[i].Bits()
		numbers[i] = bytes.Clone(layout.Bytes(plain[:]))
	}
	now := heaptest.Dump(t)
	for i := range secrets {
		for what, b := range map[string][]byte{"": layout.Bytes(secrets[i : i+1]), " as a number": numbers[i]} {
			if bytes.Contains(dump, b) {
				t.Errorf("number %d drawn%s is still in memory", i, what)
			}
			if !bytes.Contains(now, b) {
				t.Errorf("number %d drawn%s is not found where it is", i, what)
			}
		}
	}
}

// TestSolutionIsWiped wants a value that only the solution and what the circuit commits to have gone from memory after
// a proof, in Montgomery form.
func TestSolutionIsWiped(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	const x = 1_999_999_973
	w := b.witness(t, x)
	p, err := plonk.NewProver(nil, b.ccs, b.pk)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Prove(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	dump := heaptest.Dump(t)
	square := make([]fr.Element, 1)
	square[0].SetUint64(x)
	square[0].Square(&square[0])
	if bytes.Contains(dump, layout.Bytes(square)) {
		t.Error("x^2 is still in memory")
	}
	if !bytes.Contains(heaptest.Dump(t), layout.Bytes(square)) {
		t.Error("x^2 is not found where it is")
	}
}
