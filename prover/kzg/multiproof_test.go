package kzg_test

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	gnark "github.com/consensys/gnark-crypto/ecc/bn254/kzg"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/faulty"
	"github.com/pippin-zk/pippin/prover/kzg"
)

// TestOpenings: proofs are the quotients by long division at the secret.
func TestOpenings(t *testing.T) {
	for _, curve := range backend.Curves() {
		check := curveTests[curve].openings
		for i, c := range []kzg.Cosets{
			{Coefficients: 16, Domain: 32, Size: 4}, {Coefficients: 8, Domain: 8, Size: 1}, {Coefficients: 8, Domain: 8, Size: 4},
			{Coefficients: 8, Domain: 64, Size: 2}, {Coefficients: 2, Domain: 4, Size: 1},
		} {
			if curve != backend.BN254 && (i > 0 || testing.Short()) {
				continue // the algorithm is written once for all
			}
			for _, matrix := range []bool{false, true} {
				t.Run(fmt.Sprint(curve, c, matrix), func(t *testing.T) {
					n := c.Coefficients
					check(t, nil, c, matrix, n)
					check(t, nil, c, matrix, n, 0, n-1, c.Size, 1)
					check(t, nil, c, matrix, 1, n, c.Size, n)
				})
			}
		}
	}
}

// TestOpeningsElsewhere moves the table to other processes, where few polynomials are
// computed by a matrix, and has these die.
func TestOpeningsElsewhere(t *testing.T) {
	f := faulty.Backends{Elsewhere: true}
	e, err := engine.New(t.Context(), engine.Config{
		Open: f.Open, Backend: "first", Fallbacks: []string{engine.NoFallback}, RetryPause: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := kzg.Cosets{Coefficients: 16, Domain: 32, Size: 4}
	srs, err := gnark.NewSRS(16, big.NewInt(77))
	if err != nil {
		t.Fatal(err)
	}
	here, err := kzg.LoadMultiproofsBN254(t.Context(), nil, srs.Pk, c)
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	there, err := kzg.LoadMultiproofsBN254(t.Context(), e, srs.Pk, c)
	if err != nil {
		t.Fatal(err)
	}
	p := make(fr.Vector, 16)
	p.MustSetRandom()
	want, err := here.Open(t.Context(), p, p[:9])
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 { // the table is loaded once
		wg.Go(func() {
			if got, err := there.Open(t.Context(), p, p[:9]); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("side by side: %v", err)
			}
		})
	}
	wg.Wait()
	for i, moment := range []int64{0, 1, 2, 3} {
		if err := e.Use(t.Context(), fmt.Sprint("backend ", i)); err != nil {
			t.Fatal(err)
		}
		before := f.Taken.Load()
		f.Die.Store(moment) // never, when the table is loaded, when proofs are computed, never
		got, err := there.Open(t.Context(), p, p[:9])
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("moment %d: %v, proofs are equal: %v", moment, err, reflect.DeepEqual(got, want))
		}
		spaces := int64(4) // of the call and of the table
		if moment == 1 || moment == 2 {
			spaces *= 2
		}
		if n := f.Taken.Load() - before; n != spaces {
			t.Errorf("moment %d: %d spaces were taken, want %d", moment, n, spaces)
		}
		f.Die.Store(0)
	}
	before := f.Taken.Load()
	if got, err := there.Open(t.Context(), p, p[:9]); err != nil || !reflect.DeepEqual(got, want) || f.Taken.Load() != before {
		t.Errorf("again: %v, %d spaces were taken", err, f.Taken.Load()-before)
	}
	if err := errors.Join(there.Close(), there.Close()); err != nil {
		t.Error(err)
	}
	if _, err := there.Open(t.Context(), p); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if n := f.Held(); n != 0 {
		t.Errorf("%d spaces are left after Close", n)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if n := f.Held(); n != 0 {
		t.Errorf("%d spaces are left", n)
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
