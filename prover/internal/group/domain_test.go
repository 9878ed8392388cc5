package group

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	fft377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/fft"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	fft761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/fft"

	"github.com/pippin-zk/pippin/prover/internal/merge"
)

func domainOf(n int, opts ...fft.DomainOption) *Domain[fr.Element] {
	d := fft.NewDomain(uint64(n), opts...)
	part := func(n int) *fft.Domain { return fft.NewDomain(uint64(n)) }
	return NewDomain(BN254Fr, d, d.Cardinality, d.FrMultiplicativeGen, part, fft.DIT, fft.DIF, fft.WithNbTasks(1))
}

// TestQuotient compares with gnark-crypto's transforms: A B - C has to be H times
// X^n - 1 at a random point, for domains of one piece and of many.
func TestQuotient(t *testing.T) {
	for _, n := range []int{1, 2, 4, 256, 512, 1024, leastCut / 2, leastCut, 8 * leastCut} {
		testQuotient(t, BN254Fr, domainOf(n), fft.NewDomain(uint64(n)), fft.DIF)
	}
	n := 2 * leastCut
	testQuotient(t, BN254Fr, domainOf(n, fft.WithoutPrecompute()), fft.NewDomain(uint64(n)), fft.DIF)
	d377, d761 := fft377.NewDomain(uint64(n)), fft761.NewDomain(uint64(n))
	testQuotient(t, BLS12377Fr, NewDomain(BLS12377Fr, d377, uint64(n), d377.FrMultiplicativeGen,
		func(n int) *fft377.Domain { return fft377.NewDomain(uint64(n)) }, fft377.DIT, fft377.DIF, fft377.WithNbTasks(1)), d377, fft377.DIF)
	testQuotient(t, BW6761Fr, NewDomain(BW6761Fr, d761, uint64(n), d761.FrMultiplicativeGen,
		func(n int) *fft761.Domain { return fft761.NewDomain(uint64(n)) }, fft761.DIT, fft761.DIF, fft761.WithNbTasks(1)), d761, fft761.DIF)
}

func testQuotient[S comparable, D, O any](t *testing.T, f *Field[S], d *Domain[S], by transforms[S, D, O], dif D) {
	t.Helper()
	n := d.Size
	if cut := len(d.roots) > 0; cut != (d.piece < n) {
		t.Fatalf("%d elements: pieces of %d after %d steps", n, d.piece, len(d.roots))
	}
	v := [3][]S{}
	values := [3]S{}
	z := make([]S, 1)
	if err := f.Random(z); err != nil {
		t.Fatal(err)
	}
	for i := range v {
		if v[i] = make([]S, n); i < 2 {
			if err := f.Random(v[i]); err != nil {
				t.Fatal(err)
			}
		} else {
			f.vecMul(v[2], v[0], v[1])
		}
		coefficients := append([]S(nil), v[i]...)
		by.FFTInverse(coefficients, dif)
		merge.BitReverse(coefficients)
		values[i] = f.Eval(coefficients, z[0])
	}
	if err := d.Quotient(t.Context(), v[0], v[1], v[2]); err != nil {
		t.Fatal(err)
	}
	merge.BitReverse(v[0])
	got := f.Product(f.Eval(v[0], z[0]), f.Minus(f.Power(z[0], n), f.One()))
	if want := f.Minus(f.Product(values[0], values[1]), values[2]); got != want {
		t.Errorf("%d elements: H (X^n - 1) is not A B - C", n)
	}
}

// TestOnCoset compares with gnark-crypto's transforms: A B - C at every place of the coset, for
// domains of one piece and of many.
func TestOnCoset(t *testing.T) {
	for _, n := range []int{2, 4, 512, leastCut / 2, leastCut, 4 * leastCut} {
		d, by := domainOf(n), fft.NewDomain(uint64(n))
		var v, want [3]fr.Vector
		for i := range v {
			v[i] = make(fr.Vector, n)
			if err := BN254Fr.Random(v[i]); err != nil {
				t.Fatal(err)
			}
			want[i] = append(want[i], v[i]...)
			by.FFTInverse(want[i], fft.DIF)
			by.FFT(want[i], fft.DIT, fft.OnCoset())
		}
		want[0].Mul(want[0], want[1])
		want[0].Sub(want[0], want[2])
		if err := d.OnCoset(t.Context(), v[0], v[1], v[2]); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v[0], want[0]) {
			t.Errorf("%d elements: other values", n)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.OnCoset(ended, v[0], v[1], v[2]); !errors.Is(err, context.Canceled) {
			t.Errorf("%d elements: %v", n, err)
		}
	}
}

// TestCancelledQuotientWentOn through all seven transforms: each was one call of
// gnark-crypto. Now no piece begins after the context ended, and none is long.
func TestCancelledQuotientWentOn(t *testing.T) {
	const n = 1 << 17
	for _, after := range []int64{1, 20, 5*n/mostPiece + 1} {
		d := domainOf(n)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var pieces, late atomic.Int64
		counted := func(transform func([]fr.Element)) func([]fr.Element) {
			return func(v []fr.Element) {
				if len(v) > mostPiece {
					t.Errorf("a transform of %d elements", len(v))
				}
				if ctx.Err() != nil {
					late.Add(1)
				}
				if pieces.Add(1) == after {
					cancel()
				}
				transform(v)
			}
		}
		d.interpolate, d.evaluate = counted(d.interpolate), counted(d.evaluate)
		vectors := make(fr.Vector, 3*n)
		if err := d.Quotient(ctx, vectors[:n], vectors[n:2*n], vectors[2*n:]); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		// Each processor may be in a piece, whose two transforms are not far apart.
		if most := int64(2 * runtime.GOMAXPROCS(0)); late.Load() > most {
			t.Errorf("%d transforms of pieces began after the context ended", late.Load())
		}
	}
}
