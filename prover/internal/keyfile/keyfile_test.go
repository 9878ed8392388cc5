package keyfile_test

import (
	"bytes"
	"errors"
	"io"
	"math/big"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// TestPieces reads points some at a time.
func TestPieces(t *testing.T) {
	e, end, err := resident.Or(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	_, _, g, _ := bn254.Generators()
	for _, n := range []int{0, 1, 4, 5, 6, 13, 20} {
		points := make([]bn254.G1Affine, n)
		for i := range points {
			var s fr.Element
			s.SetUint64(uint64(i)) // the first is infinity
			points[i].ScalarMultiplication(&g, s.BigInt(new(big.Int)))
		}
		var b bytes.Buffer
		enc := bn254.NewEncoder(&b)
		if err := enc.Encode(&g); err != nil {
			t.Fatal(err)
		}
		if err := enc.Encode(points); err != nil {
			t.Fatal(err)
		}
		read := func(b []byte) ([]bn254.G1Affine, error) {
			r := keyfile.New(t.Context(), e, bytes.NewReader(b), 5*64)
			r.Form()
			keyfile.Alone(r, msm.BN254G1, "G", 1)
			got := keyfile.Points(r, msm.BN254G1, "P")
			return got, r.End()
		}
		got, err := read(b.Bytes())
		if err != nil || !slices.Equal(got, points) {
			t.Errorf("%d points, 5 at a time, are not those that were written: %v", n, err)
		}
		if n < 13 {
			continue
		}
		bad := slices.Clone(b.Bytes())
		bad[32+4+12*32] = 0xff // x is not below q
		wants(t, "P[12]", errOf(read(bad)), backend.ErrInvalidInput)
		wants(t, "P[12]", errOf(read(b.Bytes()[:32+4+12*32+7])), io.ErrUnexpectedEOF)
	}
}

func errOf(_ []bn254.G1Affine, err error) error { return err }

func wants(t *testing.T, place string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || !bytes.Contains([]byte(err.Error()), []byte(place+":")) {
		t.Errorf("%v, want %v at %s", err, want, place)
	}
}
