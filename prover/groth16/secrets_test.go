package groth16_test

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/heaptest"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// counter is a reader of bytes that keeps none of them.
type counter uint64

func (c *counter) Read(b []byte) (int, error) {
	for i := range b {
		*c = *c*6364136223846793005 + 1442695040888963407
		b[i] = byte(*c >> 56)
	}
	return len(b), nil
}

// TestBlindingIsWiped: r and s are gone from memory after a proof, in Montgomery form and as
// numbers. Whoever has them and the proof can check a guess of the witness.
func TestBlindingIsWiped(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("random of 60"))
	w := b.witness(t, 3)
	p, err := groth16.NewProver(nil, b.ccs, b.pk, groth16.MergeScalars(groth16.MergeAlways))
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

	var rs [2]fr.Element
	withReader(&redrawn, func() {
		rs[0].MustSetRandom()
		rs[1].MustSetRandom()
	})
	if drawn != redrawn {
		t.Fatal("the proof did not draw r and s only")
	}
	var numbers [2]*big.Int
	secrets := map[string][]byte{}
	for i, name := range []string{"r", "s"} {
		secrets[name] = bytes.Clone(layout.Bytes(rs[i : i+1]))
		numbers[i] = rs[i].BigInt(new(big.Int))
		secrets[name+" as a number"] = layout.Bytes(numbers[i].Bits())
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
}
