package oracle

import (
	"math/big"
	"testing"

	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	"github.com/consensys/gnark-crypto/ecc/bn254"
)

// TestAgainstGnark compares multiples of the generators over Fp, over Fp2 with
// u^2 = -1 and with u^2 = -5.
func TestAgainstGnark(t *testing.T) {
	groups := Groups()
	g := groups["bn254_g1"]
	_, _, g1, _ := bn254.Generators()
	_, _, _, g2 := bls12377.Generators()
	_, _, _, bn2 := bn254.Generators()
	for _, k := range []int64{0, 1, 2, 3, 5, 1<<62 - 1} {
		n := big.NewInt(k)
		n.Mul(n, n)
		var want bn254.G1Affine
		want.ScalarMultiplication(&g1, n)
		check(t, g.Curve, g.Mul(g.Generator, n), want.IsInfinity(), elem(&want.X), elem(&want.Y))

		var want2 bls12377.G2Affine
		want2.ScalarMultiplication(&g2, n)
		h := groups["bls12_377_g2"]
		check(t, h.Curve, h.Mul(h.Generator, n), want2.IsInfinity(),
			elem(&want2.X.A0, &want2.X.A1), elem(&want2.Y.A0, &want2.Y.A1))

		var want3 bn254.G2Affine
		want3.ScalarMultiplication(&bn2, n)
		h = groups["bn254_g2"]
		check(t, h.Curve, h.Mul(h.Generator, n), want3.IsInfinity(),
			elem(&want3.X.A0, &want3.X.A1), elem(&want3.Y.A0, &want3.Y.A1))
	}
}

func check(t *testing.T, c Curve, got Point, infinity bool, x, y Elem) {
	t.Helper()
	want := Point{x, y}
	if infinity {
		want = Point{}
	}
	if !c.Equal(got, want) || !c.OnCurve(got) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestOrder checks that every generator has the order r.
func TestOrder(t *testing.T) {
	for name, g := range Groups() {
		if !g.OnCurve(g.Generator) || !g.Mul(g.Generator, g.Order).Infinity() {
			t.Errorf("%s: the generator does not have order r", name)
		}
	}
}

func TestWords(t *testing.T) {
	x, _ := new(big.Int).SetString("123456789abcdef0fedcba98", 16)
	w := Words(x, 4)
	if w[0] != 0xfedcba98 || w[1] != 0x9abcdef0 || w[2] != 0x12345678 || w[3] != 0 {
		t.Errorf("words %x", w)
	}
	if Int(w).Cmp(x) != 0 {
		t.Errorf("%x", Int(w))
	}
	if Signed(big.NewInt(0xffffffff), 32).Int64() != -1 || Unsigned(big.NewInt(-1), 32).Int64() != 0xffffffff {
		t.Error("two's complement")
	}
	p := big.NewInt(1000003)
	r := Redc(new(big.Int).Mul(big.NewInt(777), Pow2(32)), p, 32)
	if r.Mod(r, p).Int64() != 777 {
		t.Errorf("Redc: %v", r)
	}
}

type coordinate interface{ BigInt(*big.Int) *big.Int }

func elem(xs ...coordinate) Elem {
	e := make(Elem, len(xs))
	for i, x := range xs {
		e[i] = x.BigInt(new(big.Int))
	}
	return e
}
