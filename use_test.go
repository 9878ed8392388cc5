package pippin_test

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	pedersenkeys "github.com/consensys/gnark-crypto/ecc/bn254/fr/pedersen"
	kzgkeys "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
	stock16 "github.com/consensys/gnark/backend/groth16"
	stockplonk "github.com/consensys/gnark/backend/plonk"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/test/unsafekzg"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/inuse"
	"github.com/pippin-zk/pippin/prover/groth16"
	"github.com/pippin-zk/pippin/prover/kzg"
	"github.com/pippin-zk/pippin/prover/pedersen"
	"github.com/pippin-zk/pippin/prover/plonk"
)

type squared struct {
	X frontend.Variable
	Y frontend.Variable `gnark:",public"`
}

func (c *squared) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.X, c.X), c.Y)
	return nil
}

// TestUse: one call gives all provers an engine, until another one is in use; a prover's own Use
// counts before it.
func TestUse(t *testing.T) {
	defer inuse.Set(nil)
	ctx := t.Context()
	w, err := frontend.NewWitness(&squared{3, 9}, ecc.BN254.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	r, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder, &squared{})
	if err != nil {
		t.Fatal(err)
	}
	pk, _, err := stock16.Setup(r)
	if err != nil {
		t.Fatal(err)
	}
	s, err := frontend.Compile(ecc.BN254.ScalarField(), scs.NewBuilder, &squared{})
	if err != nil {
		t.Fatal(err)
	}
	srs, lagrange, err := unsafekzg.NewSRS(s)
	if err != nil {
		t.Fatal(err)
	}
	ppk, _, err := stockplonk.Setup(s, srs, lagrange)
	if err != nil {
		t.Fatal(err)
	}
	proves16 := func() error { _, err := groth16.Prove(r, pk, w); return err }
	ways := map[string]func() error{
		"Groth16": proves16,
		"PLONK":   func() error { _, err := plonk.Prove(s, ppk, w); return err },
		"KZG": func() error {
			k, err := kzg.LoadBN254(ctx, nil, kzgkeys.ProvingKey{G1: srs.(*kzgkeys.SRS).Pk.G1})
			if err != nil {
				return err
			}
			defer k.Close()
			_, err = k.Commit(ctx, []fr.Element{fr.NewElement(5)})
			return err
		},
		"Pedersen": func() error {
			_, _, g, _ := bn254.Generators()
			k, err := pedersen.LoadBN254(ctx, nil, pedersenkeys.ProvingKey{Basis: []bn254.G1Affine{g}, BasisExpSigma: []bn254.G1Affine{g}})
			if err != nil {
				return err
			}
			defer k.Close()
			_, err = k.Commit(ctx, []fr.Element{fr.NewElement(5)})
			return err
		},
	}
	// on fails unless f computes on the engine.
	on := func(e *engine.Engine, name string, f func() error) {
		t.Helper()
		before := e.Stats().Answered
		if err := f(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e.Stats().Answered == before {
			t.Errorf("%s computes on another engine", name)
		}
	}
	use := func() *engine.Engine {
		e, err := pippin.Use(ctx, engine.Config{Backend: "cpu", Fallbacks: []string{engine.NoFallback}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	first := use()
	for name, f := range ways {
		on(first, name, f)
	}
	second := use()
	if n := first.Stats().Bases; n != 0 {
		t.Errorf("%d sets of bases are still loaded where nothing computes any more", n)
	}
	for name, f := range ways {
		on(second, name, f)
	}
	groth16.Use(first)
	on(first, "Groth16 with its own engine", proves16)
	if third := use(); third.Stats().Bases != 0 || first.Stats().Bases == 0 {
		t.Error("Groth16's own engine is given up")
	} else {
		groth16.Use(nil)
		on(third, "Groth16 without its own engine", proves16)
	}
	if _, err := pippin.Use(ctx, engine.Config{Backend: "none such"}); err == nil {
		t.Error("a backend that is not there is used")
	}
	on(inuse.Engine(), "Groth16 after a Use that failed", proves16)
}
