package point

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	kernel "github.com/pippin-zk/pippin/kernels/grid/point"
)

// TestFacts checks the facts of every group by computing what the kernels compute: halves of
// scalars are short and give the scalar, the endomorphism multiplies by lambda, the digits of the
// check for the subgroup are a multiple of r, roots are roots, and points satisfy the equation with b.
func TestFacts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, g := range backend.CurveGroups() {
		e := backend.PointOf(g.Curve, g.Group)
		t.Run(e.String(), func(t *testing.T) {
			f, err := factsOf(e)
			if err != nil {
				t.Fatal(err)
			}
			q, r := e.Curve.BaseField(), e.Curve.ScalarField()
			lambda := cubeRoot(r)
			size := e.Curve.ScalarBytes()
			word := func(k int) *big.Int { return number(f.bytes[f.lattice+k*size:][:size]) }
			signed := func(v *big.Int) *big.Int {
				v = new(big.Int).Mod(v, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
				if v.Bit(8*size-1) == 1 {
					v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
				}
				return v
			}
			most := 0
			for i := range 2000 {
				k := new(big.Int)
				for range size / 4 {
					k.Or(k.Lsh(k, 32), big.NewInt(int64(rng.Uint32())))
				}
				switch k.Mod(k, r); i {
				case 0:
					k.SetInt64(0)
				case 1:
					k.Sub(r, big.NewInt(1))
				}
				rounded := func(factor *big.Int) *big.Int {
					v := new(big.Int).Mul(k, factor)
					v.Rsh(v, uint(8*size+32))
					return v.Rsh(v.Add(v, big.NewInt(1<<31)), 32)
				}
				u, v := rounded(word(0)), rounded(word(1))
				times := func(x *big.Int, k int) *big.Int { return new(big.Int).Mul(x, word(k)) }
				k1 := signed(new(big.Int).Sub(k, new(big.Int).Add(times(u, 2), times(v, 4))))
				k2 := signed(new(big.Int).Neg(new(big.Int).Add(times(u, 3), times(v, 5))))
				sum := new(big.Int).Add(k1, new(big.Int).Mul(lambda, k2))
				if sum.Sub(sum, k).Mod(sum, r).Sign() != 0 {
					t.Fatalf("%v is not %v and %v times lambda", k, k1, k2)
				}
				most = max(most, k1.BitLen(), k2.BitLen())
			}
			// Digits are at most half a window, and the last one gives no carry.
			if f.places(kernel.WindowBits)*kernel.WindowBits < most+1 || f.nafs < most+1 || f.nafs > e.Curve.ScalarBits()/2+3 {
				t.Errorf("%d windows and %d places for halves of %d bits", f.places(kernel.WindowBits), f.nafs, most)
			}

			// x of lambda P is beta times x of P, in Montgomery form.
			fp := e.Curve.FieldBytes()
			radix := new(big.Int).Lsh(big.NewInt(1), uint(8*fp))
			beta := number(f.bytes[f.beta:][:fp])
			beta.Mod(beta.Mul(beta, new(big.Int).ModInverse(radix, q)), q)
			at := func(k *big.Int) []byte { return multiple(e, k) }
			for range 3 {
				k := big.NewInt(rng.Int64())
				p, lp := at(k), at(new(big.Int).Mul(k, lambda))
				for i := 0; i < len(p); i += fp {
					want := number(p[i : i+fp])
					if i < len(p)/2 {
						want.Mod(want.Mul(want, beta), q)
					}
					if number(lp[i:i+fp]).Cmp(want) != 0 {
						t.Fatal("the endomorphism does not multiply by lambda")
					}
				}
			}

			if prime(e) != (f.checks == 0) {
				t.Errorf("%d digits to check", f.checks)
			}
			if f.checks > 0 {
				a, b := new(big.Int), new(big.Int)
				for i := f.checks - 1; i >= 0; i-- {
					a.Add(a.Lsh(a, 1), big.NewInt(int64(int8(f.bytes[f.check+2*i]))))
					b.Add(b.Lsh(b, 1), big.NewInt(int64(int8(f.bytes[f.check+2*i+1]))))
				}
				if norm(a, b).Cmp(r) != 0 {
					t.Errorf("%v + lambda %v has another norm than r", a, b)
				}
				if a.Add(a, b.Mul(b, lambda)).Mod(a, r).Sign() != 0 {
					t.Error("what is to be infinity is no multiple of r")
				}
			}

			exponent := new(big.Int)
			for i, d := range slices.Backward(f.bytes[f.power:][:f.powers]) {
				exponent.Add(exponent.Lsh(exponent, 1), big.NewInt(int64(d)))
				if d != 0 && (d > 15 || d%2 == 0) {
					t.Fatalf("digit %d is %d", i, d)
				}
			}
			odd := exponent.Add(exponent.Lsh(exponent, 1), big.NewInt(1))
			if new(big.Int).Lsh(odd, uint(f.twos)).Cmp(new(big.Int).Sub(q, big.NewInt(1))) != 0 {
				t.Error("the exponent of roots is wrong")
			}
			one := new(big.Int).Mod(radix, q)
			if half := number(f.bytes[f.roots:][:fp]); half.Mod(half.Lsh(half, 1), q).Cmp(one) != 0 {
				t.Error("1/2 is wrong")
			}
			root := number(f.bytes[f.roots+fp:][:fp])
			root.Mod(root.Mul(root, new(big.Int).ModInverse(radix, q)), q)
			order := new(big.Int).Lsh(big.NewInt(1), uint(f.twos-1))
			if root.Exp(root, order, q).Add(root, big.NewInt(1)).Cmp(q) != 0 {
				t.Error("the root of unity has another order")
			}
			// y^2 - x^3 of every point is b.
			for i, b := range coefficient(e, at(big.NewInt(rng.Int64())), new(big.Int).ModInverse(radix, q)) {
				got := number(f.bytes[f.roots+(2+i)*fp:][:fp])
				if b.Mod(b.Mul(b, radix), q).Cmp(got) != 0 {
					t.Errorf("part %d of b is %v", i, got)
				}
			}
		})
	}
}
