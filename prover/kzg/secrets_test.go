package kzg_test

import (
	"bytes"
	"crypto/sha256"
	"math/big"
	"math/rand/v2"
	"testing"

	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
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

// TestBlobsAreWiped computes the cells of a blob and wants neither its elements nor its
// coefficients left in memory.
func TestBlobsAreWiped(t *testing.T) {
	c := cellProver(t)
	blob := randomBlob(rand.New(rand.NewPCG(3, 4)))
	if _, err := c.Compute(t.Context(), blob); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Commit(t.Context(), blob); err != nil {
		t.Fatal(err)
	}
	dump := heaptest.Dump(t)

	const n = len(kzg.Blob{}) / fr381.Bytes
	values, plain := make(fr381.Vector, n), make(fr381.Vector, n)
	for i := range values {
		if err := values[i].SetBytesCanonical(blob[i*fr381.Bytes : (i+1)*fr381.Bytes]); err != nil {
			t.Fatal(err)
		}
		plain[i] = values[i].Bits() // the limbs of what a space has
	}
	coefficients := append(fr381.Vector{}, plain...)
	fft.NewDomain(uint64(n)).FFTInverse(coefficients, fft.DIT)
	now := heaptest.Dump(t)
	for what, v := range map[string]fr381.Vector{"value": values, "number": plain, "coefficient": coefficients} {
		for i := 0; i < n; i += 509 {
			b := layout.Bytes(v[i : i+1])
			if bytes.Contains(dump, b) {
				t.Fatalf("%s %d is still in memory", what, i)
			}
			if i == 0 && !bytes.Contains(now, b) {
				t.Errorf("%s %d is not found where it is", what, i)
			}
		}
	}
}
