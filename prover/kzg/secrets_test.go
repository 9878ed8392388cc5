package kzg_test

import (
	"bytes"
	"crypto/sha256"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	gnark "github.com/consensys/gnark-crypto/ecc/bn254/kzg"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/heaptest"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// TestQuotientsAreWiped opens polynomials and wants nothing of the quotients
// left in memory.
func TestQuotientsAreWiped(t *testing.T) {
	const n = 64
	srs, err := gnark.NewSRS(n, big.NewInt(12345))
	if err != nil {
		t.Fatal(err)
	}
	k, err := kzg.LoadBN254(t.Context(), nil, srs.Pk)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	p, z := make(fr.Vector, n), make(fr.Vector, 1)
	p.MustSetRandom()
	z.MustSetRandom()
	if _, err := k.Open(t.Context(), p, z[0]); err != nil {
		t.Fatal(err)
	}
	// Of one polynomial the folded one is that polynomial.
	if _, err := k.BatchOpenSinglePoint(t.Context(), [][]fr.Element{p}, make([]gnark.Digest, 1), z[0], sha256.New()); err != nil {
		t.Fatal(err)
	}
	dump := heaptest.Dump(t)

	quotient := make(fr.Vector, n) // p/(X-z), one place higher
	for i := n - 1; i >= 0; i-- {
		if i < n-1 {
			quotient[i].Mul(&quotient[i+1], &z[0])
		}
		quotient[i].Add(&quotient[i], &p[i])
	}
	now := heaptest.Dump(t)
	for i := 1; i < n-1; i++ { // the first is p(z), the last is p's last
		c := layout.Bytes(quotient[i : i+1])
		if bytes.Contains(dump, c) {
			t.Errorf("coefficient %d of the quotient is still in memory", i-1)
		}
		if !bytes.Contains(now, c) {
			t.Errorf("coefficient %d of the quotient is not found where it is", i-1)
		}
	}
}
