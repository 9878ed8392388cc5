package kzg_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"math/big"
	"reflect"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	kzg377 "github.com/consensys/gnark-crypto/ecc/bls12-377/kzg"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	kzg381 "github.com/consensys/gnark-crypto/ecc/bls12-381/kzg"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	kzg254 "github.com/consensys/gnark-crypto/ecc/bn254/kzg"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	kzg761 "github.com/consensys/gnark-crypto/ecc/bw6-761/kzg"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// stock is gnark-crypto's side of the comparison.
type stock[P, S, O, B any] struct {
	commit func([]S) (P, error)
	open   func([]S, S) (O, error)
	batch  func([][]S, []P, S, hash.Hash, ...[]byte) (B, error)
	// verify checks what our side made.
	verify  func(P, O, S) error
	batchOK func([]P, B, S, hash.Hash, ...[]byte) error
	size    error // of a polynomial that is too long
	count   error // of digests that are not as many as polynomials
	random  func(int) []S
}

// compare wants the same answers of both sides for polynomials of many
// lengths, and the same errors. The key has n points.
func compare[P, J, S, O, B any](t *testing.T, n int, k *kzg.Key[P, J, S, O, B], s stock[P, S, O, B]) {
	t.Helper()
	ctx := t.Context()
	defer k.Close()
	point := s.random(1)[0]
	same := func(what string, got any, err error, want any, wantErr error) {
		t.Helper()
		if err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s differs from gnark-crypto's: %v, %v; want %v, %v", what, got, err, want, wantErr)
		}
	}
	var polynomials [][]S
	var digests []P
	for _, size := range []int{n - 7, 0, 1, 2, n, n - 1} {
		p := s.random(size)
		before := append([]S{}, p...)
		c, err := k.Commit(ctx, p, 1)
		want, wantErr := s.commit(p)
		same("commitment", c, err, want, wantErr)
		o, err := k.Open(ctx, p, point)
		wantO, wantErr := s.open(p, point)
		same("opening", o, err, wantO, wantErr)
		if !reflect.DeepEqual(p, append([]S{}, before...)) && size > 0 {
			t.Errorf("a polynomial of %d coefficients was changed", size)
		}
		if err := s.verify(c, o, point); err != nil {
			t.Errorf("opening of %d coefficients: %v", size, err)
		}
		polynomials, digests = append(polynomials, p), append(digests, c)
	}
	for count := 1; count <= len(polynomials); count++ {
		data := [][]byte{[]byte("some"), []byte("data")}[:count%3]
		b, err := k.BatchOpenSinglePoint(ctx, polynomials[:count], digests[:count], point, sha256.New(), data...)
		want, wantErr := s.batch(polynomials[:count], digests[:count], point, sha256.New(), data...)
		same("batch opening", b, err, want, wantErr)
		if err := s.batchOK(digests[:count], b, point, sha256.New(), data...); err != nil {
			t.Errorf("batch opening of %d: %v", count, err)
		}
	}

	long := s.random(n + 1)
	_, err := k.Commit(ctx, long)
	wantError(t, "Commit", err, s.size)
	_, err = k.Open(ctx, long, point)
	wantError(t, "Open", err, s.size)
	_, err = k.BatchOpenSinglePoint(ctx, [][]S{long}, digests[:1], point, sha256.New())
	wantError(t, "BatchOpenSinglePoint", err, s.size)
	_, err = k.BatchOpenSinglePoint(ctx, polynomials, digests[:1], point, sha256.New())
	wantError(t, "BatchOpenSinglePoint", err, s.count)
	_, err = k.BatchOpenSinglePoint(ctx, nil, nil, point, sha256.New())
	wantError(t, "BatchOpenSinglePoint of nothing", err, backend.ErrInvalidInput)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = k.Commit(cancelled, polynomials[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// engines are both ways to compute.
func engines(t *testing.T) map[string]*msm.Engine {
	e, err := pippin.New(t.Context(), msm.Config{CheckInput: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return map[string]*msm.Engine{"engine": e, "no engine": nil}
}

// srsSize is enough for several buckets, and small.
const srsSize = 80

func TestEqualsGnarkCrypto(t *testing.T) {
	for name, e := range engines(t) {
		// The second secret makes a key whose points repeat: G, tG, -G, -tG.
		for secret, alpha := range map[string]*big.Int{"random": big.NewInt(123456789), "repeating": big.NewInt(-1)} {
			t.Run(name+"/"+secret+"/bn254", func(t *testing.T) {
				srs, err := kzg254.NewSRS(srsSize, alpha)
				if err != nil {
					t.Fatal(err)
				}
				k, err := kzg.LoadBN254(t.Context(), e, srs.Pk)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, srsSize, k, stock[bn254.G1Affine, fr254.Element, kzg254.OpeningProof, kzg254.BatchOpeningProof]{
					commit: func(p []fr254.Element) (bn254.G1Affine, error) { return kzg254.Commit(p, srs.Pk) },
					open: func(p []fr254.Element, z fr254.Element) (kzg254.OpeningProof, error) {
						return kzg254.Open(p, z, srs.Pk)
					},
					batch: func(p [][]fr254.Element, d []bn254.G1Affine, z fr254.Element, h hash.Hash, data ...[]byte) (kzg254.BatchOpeningProof, error) {
						return kzg254.BatchOpenSinglePoint(p, d, z, h, srs.Pk, data...)
					},
					verify: func(d bn254.G1Affine, o kzg254.OpeningProof, z fr254.Element) error {
						return kzg254.Verify(&d, &o, z, srs.Vk)
					},
					batchOK: func(d []bn254.G1Affine, b kzg254.BatchOpeningProof, z fr254.Element, h hash.Hash, data ...[]byte) error {
						return kzg254.BatchVerifySinglePoint(d, &b, z, h, srs.Vk, data...)
					},
					size: kzg254.ErrInvalidPolynomialSize, count: kzg254.ErrInvalidNbDigests,
					random: func(n int) []fr254.Element {
						v := make(fr254.Vector, n)
						v.MustSetRandom()
						return v
					},
				})
			})
			t.Run(name+"/"+secret+"/bls12-377", func(t *testing.T) {
				srs, err := kzg377.NewSRS(srsSize, alpha)
				if err != nil {
					t.Fatal(err)
				}
				k, err := kzg.LoadBLS12377(t.Context(), e, srs.Pk)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, srsSize, k, stock[bls12377.G1Affine, fr377.Element, kzg377.OpeningProof, kzg377.BatchOpeningProof]{
					commit: func(p []fr377.Element) (bls12377.G1Affine, error) { return kzg377.Commit(p, srs.Pk) },
					open: func(p []fr377.Element, z fr377.Element) (kzg377.OpeningProof, error) {
						return kzg377.Open(p, z, srs.Pk)
					},
					batch: func(p [][]fr377.Element, d []bls12377.G1Affine, z fr377.Element, h hash.Hash, data ...[]byte) (kzg377.BatchOpeningProof, error) {
						return kzg377.BatchOpenSinglePoint(p, d, z, h, srs.Pk, data...)
					},
					verify: func(d bls12377.G1Affine, o kzg377.OpeningProof, z fr377.Element) error {
						return kzg377.Verify(&d, &o, z, srs.Vk)
					},
					batchOK: func(d []bls12377.G1Affine, b kzg377.BatchOpeningProof, z fr377.Element, h hash.Hash, data ...[]byte) error {
						return kzg377.BatchVerifySinglePoint(d, &b, z, h, srs.Vk, data...)
					},
					size: kzg377.ErrInvalidPolynomialSize, count: kzg377.ErrInvalidNbDigests,
					random: func(n int) []fr377.Element {
						v := make(fr377.Vector, n)
						v.MustSetRandom()
						return v
					},
				})
			})
			t.Run(name+"/"+secret+"/bls12-381", func(t *testing.T) {
				srs, err := kzg381.NewSRS(srsSize, alpha)
				if err != nil {
					t.Fatal(err)
				}
				k, err := kzg.LoadBLS12381(t.Context(), e, srs.Pk)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, srsSize, k, stock[bls12381.G1Affine, fr381.Element, kzg381.OpeningProof, kzg381.BatchOpeningProof]{
					commit: func(p []fr381.Element) (bls12381.G1Affine, error) { return kzg381.Commit(p, srs.Pk) },
					open: func(p []fr381.Element, z fr381.Element) (kzg381.OpeningProof, error) {
						return kzg381.Open(p, z, srs.Pk)
					},
					batch: func(p [][]fr381.Element, d []bls12381.G1Affine, z fr381.Element, h hash.Hash, data ...[]byte) (kzg381.BatchOpeningProof, error) {
						return kzg381.BatchOpenSinglePoint(p, d, z, h, srs.Pk, data...)
					},
					verify: func(d bls12381.G1Affine, o kzg381.OpeningProof, z fr381.Element) error {
						return kzg381.Verify(&d, &o, z, srs.Vk)
					},
					batchOK: func(d []bls12381.G1Affine, b kzg381.BatchOpeningProof, z fr381.Element, h hash.Hash, data ...[]byte) error {
						return kzg381.BatchVerifySinglePoint(d, &b, z, h, srs.Vk, data...)
					},
					size: kzg381.ErrInvalidPolynomialSize, count: kzg381.ErrInvalidNbDigests,
					random: func(n int) []fr381.Element {
						v := make(fr381.Vector, n)
						v.MustSetRandom()
						return v
					},
				})
			})
			t.Run(name+"/"+secret+"/bw6-761", func(t *testing.T) {
				srs, err := kzg761.NewSRS(srsSize, alpha)
				if err != nil {
					t.Fatal(err)
				}
				k, err := kzg.LoadBW6761(t.Context(), e, srs.Pk)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, srsSize, k, stock[bw6761.G1Affine, fr761.Element, kzg761.OpeningProof, kzg761.BatchOpeningProof]{
					commit: func(p []fr761.Element) (bw6761.G1Affine, error) { return kzg761.Commit(p, srs.Pk) },
					open: func(p []fr761.Element, z fr761.Element) (kzg761.OpeningProof, error) {
						return kzg761.Open(p, z, srs.Pk)
					},
					batch: func(p [][]fr761.Element, d []bw6761.G1Affine, z fr761.Element, h hash.Hash, data ...[]byte) (kzg761.BatchOpeningProof, error) {
						return kzg761.BatchOpenSinglePoint(p, d, z, h, srs.Pk, data...)
					},
					verify: func(d bw6761.G1Affine, o kzg761.OpeningProof, z fr761.Element) error {
						return kzg761.Verify(&d, &o, z, srs.Vk)
					},
					batchOK: func(d []bw6761.G1Affine, b kzg761.BatchOpeningProof, z fr761.Element, h hash.Hash, data ...[]byte) error {
						return kzg761.BatchVerifySinglePoint(d, &b, z, h, srs.Vk, data...)
					},
					size: kzg761.ErrInvalidPolynomialSize, count: kzg761.ErrInvalidNbDigests,
					random: func(n int) []fr761.Element {
						v := make(fr761.Vector, n)
						v.MustSetRandom()
						return v
					},
				})
			})
		}
	}
}
