package groth16_test

import (
	"errors"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bn254stock "github.com/consensys/gnark/backend/groth16/bn254"
	cs "github.com/consensys/gnark/constraint/bn254"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// TestAccelerator is a prover of somebody else's, from the paper, which has all sums
// and the quotient computed by an accelerator: gnark's verifier takes its proof.
func TestAccelerator(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("cubic"))
	pk := b.pk.(*bn254stock.ProvingKey)
	w := b.witness(t, 3)
	f := faulty.Backends{Elsewhere: true}
	for name, e := range map[string]*engine.Engine{
		"no engine":    nil,
		"this process": newEngine(t, engine.Config{Threshold: 1}),
		"vectors":      newEngine(t, engine.Config{Open: f.Open, Fallbacks: []string{engine.NoFallback}, Threshold: 1}),
	} {
		t.Run(name, func(t *testing.T) {
			a, err := groth16.NewAccelerator[bn254.G1Affine, bn254.G2Affine, fr.Element](e, pk)
			if err != nil {
				t.Fatal(err)
			}
			solved, err := b.ccs.Solve(w)
			if err != nil {
				t.Fatal(err)
			}
			s := solved.(*cs.R1CSSolution)
			values := func(infinite []bool) (v []fr.Element) {
				for i := range s.W {
					if !infinite[i] {
						v = append(v, s.W[i])
					}
				}
				return v
			}
			g1 := func(points []bn254.G1Affine, scalars []fr.Element) (sum bn254.G1Affine) {
				t.Helper()
				if sum, err = a.MultiExpG1(points, scalars); err != nil {
					t.Fatal(err)
				}
				return sum
			}
			h, err := a.ComputeH(s.A, s.B, s.C)
			if err != nil || len(h) != int(pk.Domain.Cardinality) || !h[len(h)-1].IsZero() {
				t.Fatalf("%d coefficients, %v", len(h), err)
			}
			b2, err := a.MultiExpG2(pk.G2.B, values(pk.InfinityB))
			if err != nil {
				t.Fatal(err)
			}
			// No blinding: r = s = 0. Who hides nothing needs none.
			var proof bn254stock.Proof
			sumA, sumK, sumZ := g1(pk.G1.A, values(pk.InfinityA)), g1(pk.G1.K, s.W[b.ccs.GetNbPublicVariables():]), g1(pk.G1.Z, h[:len(h)-1])
			proof.Ar.Add(&pk.G1.Alpha, &sumA)
			proof.Bs.Add(&pk.G2.Beta, &b2)
			proof.Krs.Add(&sumK, &sumZ)
			b.verify(t, &proof, w)

			if name == "vectors" && f.Taken.Load() == 0 {
				t.Error("the quotient was not computed on the backend")
			}
			if _, err := a.ComputeH(make([]fr.Element, len(h)+1), nil, nil); !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("more values than the domain: %v", err)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if n := f.Held(); n != 0 {
		t.Errorf("%d bases and spaces are left", n)
	}
	if _, err := groth16.NewAccelerator[bn254.G2Affine, bn254.G2Affine, fr.Element](nil, pk); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("other types: %v", err)
	}
	if _, err := groth16.NewAccelerator[bn254.G1Affine, bn254.G2Affine, big.Int](nil, nil); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("no key: %v", err)
	}
}
