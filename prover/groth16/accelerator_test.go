package groth16_test

import (
	"errors"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/consensys/gnark-crypto/ecc"
	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fft377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/fft"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fft381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	bw6761 "github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	fft761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/fft"
	bn254stock "github.com/consensys/gnark/backend/groth16/bn254"
	cs "github.com/consensys/gnark/constraint/bn254"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// released is gnark's interface of accelerators for Groth16 as of v0.16.4. D is gnark's type of a
// curve's domains.
type released[P1, P2, S, D any] interface {
	MultiExpG1(bases []P1, scalars []S) (P1, error)
	MultiExpG2(bases []P2, scalars []S) (P2, error)
	ComputeH(a, b, c []S, domain *D) ([]S, error)
}

var (
	_ released[bn254.G1Affine, bn254.G2Affine, fr.Element, fft.Domain]             = (*groth16.BN254Accelerator)(nil)
	_ released[bls12377.G1Affine, bls12377.G2Affine, fr377.Element, fft377.Domain] = (*groth16.BLS12377Accelerator)(nil)
	_ released[bls12381.G1Affine, bls12381.G2Affine, fr381.Element, fft381.Domain] = (*groth16.BLS12381Accelerator)(nil)
	_ released[bw6761.G1Affine, bw6761.G2Affine, fr761.Element, fft761.Domain]     = (*groth16.BW6761Accelerator)(nil)
)

// TestAccelerator writes another prover from the paper. An accelerator computes all of its sums and
// the quotient, at the same time as those of gnark's prover. gnark's verifier accepts its proof.
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
			a, err := groth16.NewBN254Accelerator(e, pk)
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
			// In memory each slice is followed by the next one.
			all := slices.Concat(s.A, s.B, s.C)
			n := len(s.A)
			// No blinding: r = s = 0, since the test hides nothing.
			var proof bn254stock.Proof
			var sumA, sumK, sumZ bn254.G1Affine
			var b2 bn254.G2Affine
			var sums errgroup.Group
			sums.Go(func() (err error) { sumA, err = a.MultiExpG1(pk.G1.A, values(pk.InfinityA)); return err })
			sums.Go(func() (err error) { sumK, err = a.MultiExpG1(pk.G1.K, s.W[b.ccs.GetNbPublicVariables():]); return err })
			sums.Go(func() (err error) { b2, err = a.MultiExpG2(pk.G2.B, values(pk.InfinityB)); return err })
			h, err := a.ComputeH(all[:n], all[n:2*n], all[2*n:], &pk.Domain)
			if err != nil || len(h) != int(pk.Domain.Cardinality) || !h[len(h)-1].IsZero() {
				t.Fatalf("%d coefficients, %v", len(h), err)
			}
			sums.Go(func() (err error) { sumZ, err = a.MultiExpG1(pk.G1.Z[:len(h)-1], h[:len(h)-1]); return err })
			if err := sums.Wait(); err != nil {
				t.Fatal(err)
			}
			proof.Ar.Add(&pk.G1.Alpha, &sumA)
			proof.Bs.Add(&pk.G2.Beta, &b2)
			proof.Krs.Add(&sumK, &sumZ)
			b.verify(t, &proof, w)

			if name == "vectors" && f.Taken.Load() == 0 {
				t.Error("the quotient was not computed on the backend")
			}
			if _, err := a.ComputeH(nil, nil, nil, fft.NewDomain(2*uint64(len(h)))); !errors.Is(err, backend.ErrInvalidInput) {
				t.Errorf("another domain: %v", err)
			}
			if _, err := a.ComputeH(make([]fr.Element, len(h)+1), nil, nil, &pk.Domain); !errors.Is(err, backend.ErrInvalidInput) {
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
	if _, err := groth16.NewBN254Accelerator(nil, nil); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("no key: %v", err)
	}
}

// TestAcceleratorHasTheKey: all slices of a key over which gnark's prover computes sums, and parts
// of them, are resident. No call sends points.
func TestAcceleratorHasTheKey(t *testing.T) {
	b := build(t, ecc.BN254, samples.ByName("commitments"))
	pk := b.pk.(*bn254stock.ProvingKey)
	var f faulty.Backends
	a, err := groth16.NewBN254Accelerator(newEngine(t, engine.Config{Open: f.Open, Fallbacks: []string{engine.NoFallback}, Threshold: 1}), pk)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	loaded := f.Loads.Load()
	slicesG1 := [][]bn254.G1Affine{pk.G1.A, pk.G1.B, pk.G1.K, pk.G1.Z}
	for _, k := range pk.CommitmentKeys {
		slicesG1 = append(slicesG1, k.Basis, k.BasisExpSigma)
	}
	if len(slicesG1) < 6 {
		t.Fatal("the key has no commitments")
	}
	for i, points := range slicesG1 {
		for _, part := range [][]bn254.G1Affine{points, points[:len(points)-1], points[1:]} {
			if _, err := a.MultiExpG1(part, make([]fr.Element, len(part))); err != nil {
				t.Fatal(i, err)
			}
		}
	}
	if _, err := a.MultiExpG2(pk.G2.B, make([]fr.Element, len(pk.G2.B))); err != nil {
		t.Fatal(err)
	}
	if n := f.Loads.Load(); n != loaded {
		t.Errorf("%d bases were loaded by sums", n-loaded)
	}
	other := slices.Clone(pk.G1.A)
	if _, err := a.MultiExpG1(other, make([]fr.Element, len(other))); err != nil {
		t.Fatal(err)
	}
	if n := f.Loads.Load(); n == loaded {
		t.Error("points of no key were taken for the key's")
	}
}
