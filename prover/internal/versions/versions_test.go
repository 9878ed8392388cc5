package versions

import (
	"runtime/debug"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/field/koalabear"
	"github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	cskoala "github.com/consensys/gnark/constraint/koalabear"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
)

type square struct{ X, Y frontend.Variable }

func (c *square) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.X, c.X), c.Y)
	return nil
}

// TestIsBatchInverse: gnark's builders give every system this blueprint, from v0.15 on. The one
// over small fields is another.
func TestIsBatchInverse(t *testing.T) {
	large, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder[constraint.U64], &square{})
	if err != nil {
		t.Fatal(err)
	}
	small, err := frontend.CompileGeneric(koalabear.Modulus(), r1cs.NewBuilder[constraint.U32], &square{})
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	if Gnark() >= "0.15.0" {
		want = 1
	}
	for _, c := range []struct {
		name       string
		blueprints []constraint.Blueprint
		want       int
	}{
		{"a large field", large.(*cs254.R1CS).Blueprints, want},
		{"a small field", small.(*cskoala.R1CS).Blueprints, 0},
		{"others", []constraint.Blueprint{nil, &constraint.BlueprintGenericHint{}, byValue{}, &BlueprintBatchInverse[constraint.U64]{}}, 0},
	} {
		found := 0
		for _, b := range c.blueprints {
			if IsBatchInverse(b) {
				found++
			}
		}
		if found != c.want {
			t.Errorf("%s: %d of %d blueprints, want %d", c.name, found, len(c.blueprints), c.want)
		}
	}
}

// byValue is a blueprint that is no pointer, BlueprintBatchInverse one of gnark's name.
type byValue struct{ constraint.Blueprint }

type BlueprintBatchInverse[E constraint.Element] struct{ constraint.Blueprint }

// TestAsksForIcicle finds the option by its name, wherever it stands.
func TestAsksForIcicle(t *testing.T) {
	other := backend.WithSolverOptions()
	for _, c := range []struct {
		opts []backend.ProverOption
		want bool
	}{
		{nil, false}, {[]backend.ProverOption{other}, false},
		{[]backend.ProverOption{other, backend.WithIcicleAcceleration()}, true},
	} {
		if AsksForIcicle(c.opts) != c.want {
			t.Errorf("%d options: not %v", len(c.opts), c.want)
		}
	}
}

// TestCompared: the version of the tests is one that was compared, unless a module stands in its place.
func TestCompared(t *testing.T) {
	if _, ok := Compared(); !ok {
		t.Errorf("the hints of gnark %s have not been compared: run the tests of prover/internal/assignment, and list it", Gnark())
	}
}

// TestReplaced: a fork and a folder are not gnark, another version of it is.
func TestReplaced(t *testing.T) {
	gnark := debug.Module{Path: module, Version: "v0.14.0"}
	for _, c := range []struct {
		by   *debug.Module
		want bool
	}{
		{nil, false}, {&debug.Module{Path: module, Version: "v0.13.0"}, false},
		{&debug.Module{Path: "github.com/someone/gnark", Version: "v0.14.0"}, true}, {&debug.Module{Path: "../gnark"}, true},
	} {
		of := gnark
		of.Replace = c.by
		other := debug.Module{Path: module + "-crypto", Replace: &debug.Module{Path: "../gnark-crypto"}}
		if replaced([]*debug.Module{&other, &of}) != c.want {
			t.Errorf("replaced by %+v: not %v", c.by, c.want)
		}
	}
}
