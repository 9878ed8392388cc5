package kzg_test

import (
	"errors"
	"fmt"
	"testing"

	gnark "github.com/consensys/gnark-crypto/ecc/bn254/kzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// openings wants the values and proofs of random polynomials to be what the secret of a key
// says, on one curve.
var openings = map[string]func(t *testing.T, e *engine.Engine, c kzg.Cosets, matrix bool, polynomials ...int){}

// TestOpenings: proofs are the quotients by long division at the secret.
func TestOpenings(t *testing.T) {
	if len(openings) != len(backend.Curves()) {
		t.Fatalf("%d curves", len(openings))
	}
	for curve, check := range openings {
		for _, c := range []kzg.Cosets{
			{Coefficients: 16, Domain: 32, Size: 4}, {Coefficients: 8, Domain: 8, Size: 1}, {Coefficients: 8, Domain: 8, Size: 4},
			{Coefficients: 8, Domain: 64, Size: 2}, {Coefficients: 2, Domain: 4, Size: 1},
		} {
			if testing.Short() && curve != "bn254" {
				continue // the algorithm is written once for all
			}
			for _, matrix := range []bool{false, true} {
				t.Run(fmt.Sprint(curve, c, matrix), func(t *testing.T) {
					n := c.Coefficients
					check(t, nil, c, matrix, n)
					check(t, nil, c, matrix, n, 0, n-1, c.Size, 1)
				})
			}
		}
	}
}

func TestCosetsAreChecked(t *testing.T) {
	for _, c := range []kzg.Cosets{
		{}, {Coefficients: 8, Domain: 8, Size: 3}, {Coefficients: 8, Domain: 16, Size: 8}, {Coefficients: 8, Domain: 4, Size: 2},
		{Coefficients: -8, Domain: 8, Size: 2}, {Coefficients: 8, Domain: 1 << 40, Size: 2},
	} {
		if _, err := kzg.LoadMultiproofsBN254(t.Context(), nil, gnark.ProvingKey{}, c); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
