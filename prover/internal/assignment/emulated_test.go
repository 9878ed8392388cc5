package assignment

import (
	"math/big"
	"math/rand/v2"
	"testing"

	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	"github.com/consensys/gnark/constraint/solver"
	_ "github.com/consensys/gnark/std/math/emulated" // whose hints are asked for by name
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// TestEmulatedHints: products and polynomials of emulated numbers are what gnark's hints say
// of them, with limbs that are longer than 64 bits, signs, numbers of every length, and what
// gnark's hints refuse is left to them.
func TestEmulatedHints(t *testing.T) {
	emulatedHints[fr254.Element](t, fr254.Modulus())
	emulatedHints[fr377.Element](t, fr377.Modulus())
	emulatedHints[fr381.Element](t, fr381.Modulus())
	emulatedHints[fr761.Element](t, fr761.Modulus())
}

func emulatedHints[S limbs, PS curves.Scalar[S]](t *testing.T, q *big.Int) {
	t.Helper()
	rounds := 4000
	if testing.Short() {
		rounds = 500
	}
	var mul, poly solver.Hint
	for _, h := range solver.GetRegisteredHints() {
		switch library[solver.GetHintName(h)].way {
		case wayProduct:
			mul = h
		case wayPolynomial:
			poly = h
		}
	}
	if mul == nil || poly == nil {
		t.Fatal("gnark has no such hints")
	}
	r := rand.New(rand.NewPCG(11, uint64(q.BitLen())))
	c := &caller[S, PS]{run: &run[S, PS]{q: q, reducer: newReducer[S](q)}}
	c.run.count()
	c.worker = &worker[S, PS]{run: c.run}
	type counts struct{ done, left, refused int }
	var of [2]counts
	for i := range 2 * rounds {
		kind := i % 2
		in, outputs := drawProduct(r)
		hint, ours := mul, c.worker.emulatedProduct
		if kind == 1 {
			in, outputs = drawPolynomial(r)
			hint, ours = poly, c.worker.emulatedPolynomial
		}
		got, done, err := c.call(in, outputs, ours)
		if err != nil {
			t.Fatalf("hint %d%v: %v", kind, in, err)
		}
		want := make([]*big.Int, outputs)
		for k := range want {
			want[k] = new(big.Int)
		}
		refused := guardedHint(hint, q, in, want)
		switch {
		case refused && done:
			t.Fatalf("hint %d%v: ours says %v, gnark's refuses", kind, in, got)
		case refused:
			of[kind].refused++
		case !done:
			of[kind].left++
		default:
			of[kind].done++
			for k := range want {
				if want[k].Mod(want[k], q).Cmp(got[k]) != 0 {
					t.Fatalf("hint %d%v: output %d of %d is %v, gnark's is %v", kind, in, k, outputs, got[k], want[k])
				}
			}
		}
	}
	for kind, n := range of {
		t.Logf("hint %d: %d the same, %d left to gnark's, %d refused by both", kind, n.done, n.left, n.refused)
		if n.done < rounds/2 || n.refused == 0 || n.left == 0 {
			t.Errorf("hint %d: %+v", kind, n)
		}
	}
}

// guardedHint reports whether a hint fails or panics.
func guardedHint(h solver.Hint, q *big.Int, in, out []*big.Int) (refused bool) {
	defer func() {
		if recover() != nil {
			refused = true
		}
	}()
	return h(q, in, out) != nil
}

// caller calls our hints.
type caller[S limbs, PS curves.Scalar[S]] struct {
	run    *run[S, PS]
	worker *worker[S, PS]
}

func (c *caller[S, PS]) call(in []*big.Int, outputs int, f func(*call) (bool, error)) ([]*big.Int, bool, error) {
	c.run.coefficients = make([]S, len(in))
	c.run.values = make([]S, outputs)
	own := call{n: len(in), to: uint32(outputs)}
	for i, v := range in {
		PS(&c.run.coefficients[i]).SetBigInt(v)
		own.data = append(own.data, 1, uint32(i), constant)
	}
	for i := range c.run.values {
		forget(&c.run.values[i])
	}
	done, err := f(&own)
	out := make([]*big.Int, outputs)
	for i := range c.run.values {
		v := &c.run.values[i]
		if done == unknown(v) {
			panic("some outputs are set and some are not")
		}
		if done {
			out[i] = PS(v).BigInt(new(big.Int))
		}
	}
	return out, done, err
}

// drawLimb draws a limb of an emulated number.
func drawLimb(r *rand.Rand) *big.Int {
	v := new(big.Int).SetUint64(r.Uint64())
	switch r.IntN(8) {
	case 0:
		return v.SetInt64(int64(r.IntN(2)))
	case 1:
		return v.SetUint64(^uint64(0))
	case 2, 3, 4:
		return v.Rsh(v.Lsh(v, uint(r.IntN(30))).Add(v, new(big.Int).SetUint64(r.Uint64())), uint(r.IntN(30)))
	case 5:
		if r.IntN(20) == 0 {
			return v.Lsh(v, 110)
		}
	}
	return v
}

func drawLimbs(r *rand.Rand, n int) (v []*big.Int) {
	for range n {
		v = append(v, drawLimb(r))
	}
	return v
}

// drawModulus draws limbs of 64 bits, of which the highest are zero at times.
func drawModulus(r *rand.Rand, n int) (v []*big.Int) {
	zeros := n
	if r.IntN(4) == 0 {
		zeros = r.IntN(n + 1)
	}
	for i := range n {
		l := new(big.Int).SetUint64(r.Uint64())
		switch {
		case i >= zeros:
			l.SetUint64(0)
		case r.IntN(6) == 0:
			l.SetUint64(^uint64(0))
		case r.IntN(6) == 0:
			l.SetUint64(0)
		case r.IntN(6) == 0:
			l.SetUint64(1 << 63)
		}
		v = append(v, l)
	}
	return v
}

func ints(v ...int) (out []*big.Int) {
	for _, x := range v {
		out = append(out, big.NewInt(int64(x)))
	}
	return out
}

func drawProduct(r *rand.Rand) (in []*big.Int, outputs int) {
	sizes := []int{1, 2, 3, 4, 4, 4, 6, 12}
	nP := sizes[r.IntN(len(sizes))]
	nA, nB := 1+r.IntN(nP+1), 1+r.IntN(nP+1)
	nQuo := r.IntN(3) + max(0, nA+nB+1-r.IntN(nP+1))
	width := 64
	if r.IntN(50) == 0 {
		width = 32
	}
	p := drawModulus(r, nP)
	in = append(ints(width, nP, nA, nQuo), p...)
	in = append(append(in, drawLimbs(r, nA)...), drawLimbs(r, nB)...)
	return in, nQuo + nP + max(nA+nB-1, nQuo+nP-1) - 1
}

func drawPolynomial(r *rand.Rand) (in []*big.Int, outputs int) {
	sizes := []int{1, 2, 4, 4, 4, 6}
	nP := sizes[r.IntN(len(sizes))]
	terms, variables := 1+r.IntN(5), 1+r.IntN(4)
	nQuo, nRem := r.IntN(2*nP+5), nP
	has, _ := versions.Compared()
	if has.Remainder && r.IntN(6) == 0 {
		nRem = 0
	}
	carries := max(0, nQuo+nP-2)
	in = ints(64, nP, terms, variables, nQuo)
	if has.Remainder {
		in = append(in, ints(nRem)...)
	}
	in = append(in, ints(carries)...)
	outputs = nQuo + nRem + carries
	if has.Signs {
		outputs++
		for range terms {
			in = append(in, ints(r.IntN(2))...)
		}
	}
	zero := nRem == 0 && r.IntN(2) == 0 // a polynomial that is zero
	for range terms {
		left := 3 - r.IntN(2)
		for range variables {
			e := r.IntN(left + 1)
			left -= e
			in = append(in, ints(e)...)
		}
	}
	for range terms {
		k := r.IntN(1 << r.IntN(20))
		if zero {
			k = 0
		}
		in = append(in, ints(k)...)
	}
	in = append(in, drawModulus(r, nP)...)
	for range variables {
		n := 1 + r.IntN(nP+1)
		in = append(append(in, ints(n)...), drawLimbs(r, n)...)
	}
	return in, outputs
}
