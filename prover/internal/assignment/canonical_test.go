package assignment_test

import (
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
)

// root is a circuit for Y Y = X.
type root struct {
	X frontend.Variable `gnark:",public"`
	Y frontend.Variable
}

func (c *root) Define(api frontend.API) error {
	api.AssertIsEqual(api.Mul(c.Y, c.Y), c.X)
	return nil
}

// TestInputsNotCanonical: an input whose limbs are all ones once stood for a wire
// without a value, and was given the value that the constraints ask for.
func TestInputsNotCanonical(t *testing.T) {
	r1, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder[constraint.U64], &root{})
	if err != nil {
		t.Fatal(err)
	}
	sparse, err := frontend.Compile(ecc.BN254.ScalarField(), scs.NewBuilder[constraint.U64], &root{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := r1.(*cs254.R1CS), sparse.(*cs254.SparseR1CS)
	ones := fr254.Element{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	modulus := fr254.Element{4891460686036598785, 2896914383306846353, 13281191951274694749, 3486998266802970665}
	var two, four fr254.Element
	two.SetUint64(2)
	four.SetUint64(4)
	for name, sys := range map[string]assignment.System[fr254.Element]{
		"rank one": {System: &a.System, Coefficients: a.Coefficients},
		"sparse":   {System: &b.System, Coefficients: b.Coefficients},
	} {
		for what, inputs := range map[string][]fr254.Element{
			"a public input of all ones":    {ones, two},
			"a secret input of all ones":    {four, ones},
			"the modulus as a public input": {modulus, {}},
			"the modulus as a secret input": {{}, modulus},
			"only the highest limb of ones": {{0, 0, 0, ^uint64(0)}, two},
			"a little above the modulus":    {{0, 0, 0, modulus[3] + 1}, two},
		} {
			cfg, err := solver.NewConfig()
			if err != nil {
				t.Fatal(err)
			}
			own := assignment.Over[fr254.Element]()
			if _, err := own.Solve(t.Context(), sys, inputs, cfg, nil); !errors.Is(err, assignment.ErrNotCanonical) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		cfg, _ := solver.NewConfig()
		own := assignment.Over[fr254.Element]()
		if _, err := own.Solve(t.Context(), sys, []fr254.Element{four, two}, cfg, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
