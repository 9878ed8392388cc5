package backend

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Curve is one of the four curves that gnark's provers support.
type Curve uint8

// The numbers are part of the plugin protocol.
const (
	BN254    Curve = 1
	BLS12377 Curve = 2
	BLS12381 Curve = 3
	BW6761   Curve = 4
)

// Curves lists every curve, in the order of their numbers.
func Curves() []Curve { return []Curve{BN254, BLS12377, BLS12381, BW6761} }

// Group is the curve over Fp (G1) or its twist (G2).
type Group uint8

// The numbers are part of the plugin protocol.
const (
	G1 Group = 1
	G2 Group = 2
)

// Groups lists both groups.
func Groups() []Group { return []Group{G1, G2} }

// curve holds the facts of a curve. All code that needs a number of a curve reads it here.
type curve struct {
	name  string
	q, r  *big.Int // the moduli of the base field and of the scalar field; r is the order of both groups
	twist int      // Fp elements in one coordinate of a G2 point

	fp, fr     int    // bytes of an element of Fp and of Fr
	order      []byte // r as the bytes of an element
	twoAdicity int    // of r - 1
}

// curves is indexed by Curve. Source: gnark-crypto v0.21.0. internal/curves compares the table with
// it when a program starts.
var curves = [...]curve{
	BN254: newCurve("bn254", 2,
		"30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47",
		"30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"),
	BLS12377: newCurve("bls12-377", 2,
		"01ae3a4617c510eac63b05c06ca1493b1a22d9f300f5138f1ef3622fba094800170b5d44300000008508c00000000001",
		"12ab655e9a2ca55660b44d1e5c37b00159aa76fed00000010a11800000000001"),
	BLS12381: newCurve("bls12-381", 2,
		"1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab",
		"73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"),
	BW6761: newCurve("bw6-761", 1,
		"0122e824fb83ce0ad187c94004faff3eb926186a81d14688528275ef8087be41707ba638e584e91903cebaff25b42304"+
			"8689c8ed12f9fd9071dcd3dc73ebff2e98a116c25667a8f8160cf8aeeaf0a437e6913e6870000082f49d00000000008b",
		"01ae3a4617c510eac63b05c06ca1493b1a22d9f300f5138f1ef3622fba094800170b5d44300000008508c00000000001"),
}

// newCurve computes the facts that follow from the moduli, which are in hexadecimal.
func newCurve(name string, twist int, q, r string) curve {
	c := curve{name: name, q: new(big.Int), r: new(big.Int), twist: twist}
	c.q.SetString(q, 16)
	c.r.SetString(r, 16)
	bytes := func(modulus *big.Int) int { return (modulus.BitLen() + 63) / 64 * 8 }
	c.fp, c.fr = bytes(c.q), bytes(c.r)
	c.order = c.r.FillBytes(make([]byte, c.fr))
	slices.Reverse(c.order)
	c.twoAdicity = int(new(big.Int).Sub(c.r, big.NewInt(1)).TrailingZeroBits())
	return c
}

// Valid reports whether c is one of Curves.
func (c Curve) Valid() bool { return c >= BN254 && int(c) < len(curves) }

// Valid reports whether g is G1 or G2.
func (g Group) Valid() bool { return g == G1 || g == G2 }

// FieldBytes returns the size of an element of the base field Fp.
func (c Curve) FieldBytes() int { return curves[c].fp }

// ScalarBytes returns the size of an element of the scalar field Fr.
func (c Curve) ScalarBytes() int { return curves[c].fr }

// ScalarBits returns the bit length of r, the order of both groups.
func (c Curve) ScalarBits() int { return curves[c].r.BitLen() }

// BaseField returns q, the modulus of the base field.
func (c Curve) BaseField() *big.Int { return new(big.Int).Set(curves[c].q) }

// ScalarField returns r, the modulus of the scalar field.
func (c Curve) ScalarField() *big.Int { return new(big.Int).Set(curves[c].r) }

// TwoAdicity returns the k for which the longest transforms over the scalar field have 2^k
// elements.
func (c Curve) TwoAdicity() int { return curves[c].twoAdicity }

// has reports whether e, the bytes of an element, is below r.
func (c Curve) has(e []byte) bool {
	order := curves[c].order
	for i := len(order) - 1; i >= 0; i-- {
		if e[i] != order[i] {
			return e[i] < order[i]
		}
	}
	return false
}

// PointBytes returns the size of an affine point of the group.
func (c Curve) PointBytes(g Group) int {
	if g == G2 {
		return 2 * curves[c].twist * curves[c].fp
	}
	return 2 * curves[c].fp
}

// String returns the name used on command lines and in records, such as "bls12-377".
func (c Curve) String() string {
	if !c.Valid() {
		return fmt.Sprintf("curve(%d)", uint8(c))
	}
	return curves[c].name
}

// String returns "g1" or "g2".
func (g Group) String() string {
	if !g.Valid() {
		return fmt.Sprintf("group(%d)", uint8(g))
	}
	return [...]string{G1: "g1", G2: "g2"}[g]
}

// ParseCurve reads a curve's name. It ignores case, '-' and '_'.
func ParseCurve(s string) (Curve, error) {
	plain := strings.NewReplacer("-", "", "_", "")
	var known []string
	for _, c := range Curves() {
		if strings.EqualFold(plain.Replace(s), plain.Replace(c.String())) {
			return c, nil
		}
		known = append(known, c.String())
	}
	return 0, fmt.Errorf("%w: unknown curve %q (%s)", ErrInvalidInput, s, strings.Join(known, ", "))
}

// ParseGroup reads "g1" or "g2" in either case.
func ParseGroup(s string) (Group, error) {
	for _, g := range Groups() {
		if strings.EqualFold(s, g.String()) {
			return g, nil
		}
	}
	return 0, fmt.Errorf("%w: unknown group %q (g1, g2)", ErrInvalidInput, s)
}
