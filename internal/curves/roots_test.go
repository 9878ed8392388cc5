package curves

import (
	"math/big"
	"testing"

	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
)

// TestRoots: roots of unity of every order are gnark-crypto's, and there is no other order.
func TestRoots(t *testing.T) {
	sameRoots(t, backend.BN254, fr254.Generator)
	sameRoots(t, backend.BLS12377, fr377.Generator)
	sameRoots(t, backend.BLS12381, fr381.Generator)
	sameRoots(t, backend.BW6761, fr761.Generator)
}

func sameRoots[S any, PS Scalar[S]](t *testing.T, c backend.Curve, generator func(uint64) (S, error)) {
	t.Helper()
	for log := range 60 {
		want, wantErr := generator(1 << log)
		got, err := Of(c).Fr.Root(1 << log)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%v, order 2^%d: %v, gnark-crypto says %v", c, log, err, wantErr)
		} else if err == nil {
			if want := PS(&want).BigInt(new(big.Int)); got.Int(0, new(big.Int)).Cmp(want) != 0 {
				t.Errorf("%v: another root of order 2^%d", c, log)
			}
		}
	}
}
