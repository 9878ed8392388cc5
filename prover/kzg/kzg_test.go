package kzg_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"math/big"
	"reflect"
	"testing"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
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
// lengths, and the same errors.
func compare[P, S, O, B any](t *testing.T, k *kzg.Key[P, S, O, B], s stock[P, S, O, B]) {
	t.Helper()
	ctx, n := t.Context(), k.Len()
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
		c, err = k.Committer(ctx).Commit(p)
		same("the Committer's commitment", c, err, want, wantErr)
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
	_, err = k.Committer(ctx).Commit(long)
	wantError(t, "Committer", err, s.size)
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
	if _, err = k.Committer(cancelled).Commit(polynomials[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Committer: %v", err)
	}
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) || !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// engines are both ways to compute.
func engines(t *testing.T) map[string]*engine.Engine {
	e, err := pippin.New(t.Context(), engine.Config{CheckInput: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return map[string]*engine.Engine{"engine": e, "no engine": nil}
}

// srsSize is enough for several buckets, and small.
const srsSize = 80

// each compares the key of an SRS of n points with gnark-crypto, on one curve.
var each = map[string]func(t *testing.T, e *engine.Engine, n int, secret *big.Int){}

func TestEqualsGnarkCrypto(t *testing.T) {
	if len(each) != len(backend.Curves()) {
		t.Fatalf("%d curves", len(each))
	}
	for name, e := range engines(t) {
		// The second secret makes a key whose points repeat: G, tG, -G, -tG.
		for secret, alpha := range map[string]*big.Int{"random": big.NewInt(123456789), "repeating": big.NewInt(-1)} {
			for curve, compare := range each {
				if testing.Short() && curve != "bn254" {
					continue // the algorithm is written once for all
				}
				t.Run(name+"/"+secret+"/"+curve, func(t *testing.T) { compare(t, e, srsSize, alpha) })
			}
		}
	}
}

// setups compares keys that the engine makes with gnark-crypto's, on one curve.
var setups = map[string]func(t *testing.T, e *engine.Engine, n int, secret *big.Int){}

func TestKeysEqualGnarkCrypto(t *testing.T) {
	if len(setups) != len(backend.Curves()) {
		t.Fatalf("%d curves", len(setups))
	}
	for name, e := range engines(t) {
		for curve, compare := range setups {
			for _, alpha := range []int64{123456789, 0, 1, -1} {
				t.Run(name+"/"+curve, func(t *testing.T) { compare(t, e, 64, big.NewInt(alpha)) })
			}
		}
	}
}
