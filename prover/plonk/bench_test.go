package plonk_test

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	stock "github.com/consensys/gnark/backend/plonk"

	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// BenchmarkProve proves a circuit of about 2^15 rows with gnark and with a Prover
// in this process.
func BenchmarkProve(b *testing.B) {
	c := build(b, ecc.BN254, samples.Random("random of 30000", 3, 26000))
	w := c.witness(b, 3)
	b.Run("gnark", func(b *testing.B) {
		for b.Loop() {
			if _, err := stock.Prove(c.ccs, c.pk, w); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pippin", func(b *testing.B) {
		p, err := plonk.NewProver(nil, c.ccs, c.pk)
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		if _, err := p.Prove(b.Context(), w); err != nil { // brings the polynomials
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := p.Prove(b.Context(), w); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			p, err := plonk.NewProver(nil, c.ccs, c.pk)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := p.Prove(b.Context(), w); err != nil {
				b.Fatal(err)
			}
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Logf("%d constraints", c.ccs.GetNbConstraints())
}
