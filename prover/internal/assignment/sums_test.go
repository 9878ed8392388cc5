package assignment

import (
	"math/big"
	"math/rand/v2"
	"testing"

	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	"github.com/pippin-zk/pippin/internal/curves"
)

// TestSums: sums of terms with small coefficients, negative ones and such that are no
// small integers among them, and integers up to the largest sum that is allowed, are what
// math/big says. So are those with the wire that is 1 in a rank-1 system, and not in a sparse one.
func TestSums(t *testing.T) {
	sums[fr254.Element](t, fr254.Modulus())
	sums[fr381.Element](t, fr381.Modulus())
	sums[fr377.Element](t, fr377.Modulus())
	sums[fr761.Element](t, fr761.Modulus())
}

func sums[S limbs, PS curves.Scalar[S]](t *testing.T, q *big.Int) {
	t.Helper()
	r := rand.New(rand.NewPCG(8, uint64(q.BitLen())))
	words := make([]S, 1)
	random := func() *big.Int {
		v := new(big.Int)
		for range len(words[0]) {
			v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(r.Uint64()))
		}
		switch r.IntN(8) {
		case 0:
			v.SetInt64(0)
		case 1:
			v.SetInt64(-1)
		case 2:
			v.SetInt64(1)
		}
		return v.Mod(v, q)
	}
	reducer := newReducer[S](q)

	// Multiples of the modulus, and integers next to them, are where a quotient can be
	// wrong.
	limit := new(big.Int).Lsh(q, maxWeight)
	for i := range 20000 {
		v := new(big.Int).Mul(q, big.NewInt(r.Int64N(1<<maxWeight)))
		switch i % 4 {
		case 0:
			v.Add(v, random())
		case 1:
			v.Add(v, big.NewInt(int64(r.IntN(3)-1)))
		case 2:
			v.Sub(limit, big.NewInt(1+r.Int64N(5)))
		}
		if v.Sign() < 0 || v.Cmp(limit) >= 0 {
			continue
		}
		var a wide
		for k, rest := 0, new(big.Int).Set(v); rest.Sign() > 0; k++ {
			a[k] = new(big.Int).And(rest, new(big.Int).SetUint64(^uint64(0))).Uint64()
			rest.Rsh(rest, 64)
		}
		if reducer.reduce(&words[0], &a); words[0] != wordsOf[S](new(big.Int).Mod(v, q)) {
			t.Fatalf("%v modulo %v is not %v", v, q, words[0])
		}
	}

	coefficients := make([]S, 40)
	integers := make([]*big.Int, len(coefficients))
	for i := range integers {
		switch {
		case i < 5: // as gnark's tables begin
			integers[i] = big.NewInt([]int64{0, 1, 2, -1, -2}[i])
		case i < 30:
			integers[i] = big.NewInt((1 << r.IntN(30)) - r.Int64N(3))
			if i%2 == 0 {
				integers[i].Neg(integers[i])
			}
		default:
			integers[i] = random()
		}
		PS(&coefficients[i]).SetBigInt(integers[i])
	}
	w := &worker[S, PS]{run: &run[S, PS]{reducer: reducer, coefficients: coefficients, scales: scalesOf[S, PS](&reducer, coefficients)}}
	small := 0
	for _, k := range w.scales {
		if k != 0 {
			small++
		}
	}
	if small < 20 || w.scales[1] != 1 || w.scales[3] != -1 {
		t.Errorf("%d coefficients are small: %v", small, w.scales)
	}
	values := make([]*big.Int, 50)
	w.values = make([]S, len(values))
	for i := range values {
		values[i] = random()
		PS(&w.values[i]).SetBigInt(values[i])
	}
	out := make([]S, 3)
	for range 3000 {
		n := r.IntN(60)
		w.sparse = r.IntN(4) == 0
		// The first wire of a rank-1 system is 1.
		if values[one] = random(); !w.sparse {
			values[one] = big.NewInt(1)
		}
		PS(&w.values[one]).SetBigInt(values[one])
		want := new(big.Int)
		terms := make([]uint32, 0, 2*n+1)
		terms = append(terms, uint32(n))
		constants := r.IntN(2) == 0
		for range n {
			c, v := r.IntN(len(coefficients)), r.IntN(len(values))
			if constants && r.IntN(5) == 0 {
				terms = append(terms, uint32(c), constant)
				want.Add(want, integers[c])
				continue
			}
			terms = append(terms, uint32(c), uint32(v))
			want.Add(want, new(big.Int).Mul(integers[c], values[v]))
		}
		PS(&out[0]).SetBigInt(want.Mod(want, q))
		if _, err := w.sum(&out[1], terms); err != nil || out[1] != out[0] {
			t.Fatalf("a sum of %d terms: %v", n, err)
		}
		if constants || w.sparse {
			continue
		}
		if open, err := w.addUp(&out[2], terms[1:]); err != nil || open >= 0 || n > 0 && out[2] != out[0] {
			t.Fatalf("%d terms: %v, open %d", n, err, open)
		}
	}
}
