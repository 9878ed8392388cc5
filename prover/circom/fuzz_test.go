package circom_test

import (
	"errors"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/circom"
)

// FuzzProve proves with damaged keys and witnesses. Each is refused, or its proof does not verify,
// or it is right.
func FuzzProve(f *testing.F) {
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		b := build(f, c, "product")
		f.Add(b.key, b.witness)
	}
	f.Fuzz(func(t *testing.T, zkey, wtns []byte) {
		err := prove(t, nil, zkey, wtns, true)
		if err != nil && !errors.Is(err, backend.ErrInvalidInput) && !errors.Is(err, circom.ErrNotVerified) {
			t.Error(err)
		}
	})
}
