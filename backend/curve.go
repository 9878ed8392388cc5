package backend

import (
	"fmt"
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

// curves has the sizes: bytes of an Fp and an Fr element, Fp elements in one
// coordinate of a G2 point, bits of r. Source: gnark-crypto v0.21.0, checked
// by internal/layout at start.
var curves = [...]struct {
	name                 string
	fp, fr, twist, rBits int
}{
	Words:    {name: "words", fr: 4}, // no curve
	BN254:    {"bn254", 32, 32, 2, 254},
	BLS12377: {"bls12-377", 48, 32, 2, 253},
	BLS12381: {"bls12-381", 48, 32, 2, 255},
	BW6761:   {"bw6-761", 96, 48, 1, 377},
}

// Valid tells whether c is one of Curves.
func (c Curve) Valid() bool { return c >= BN254 && int(c) < len(curves) }

// Valid tells whether g is G1 or G2.
func (g Group) Valid() bool { return g == G1 || g == G2 }

// FieldBytes is the size of an element of the base field Fp.
func (c Curve) FieldBytes() int { return curves[c].fp }

// ScalarBytes is the size of an element of the scalar field Fr, or a word.
func (c Curve) ScalarBytes() int { return curves[c].fr }

// ScalarBits is the bit length of r, the order of both groups.
func (c Curve) ScalarBits() int { return curves[c].rBits }

// PointBytes is the size of an affine point of the group.
func (c Curve) PointBytes(g Group) int {
	if g == G2 {
		return 2 * curves[c].twist * curves[c].fp
	}
	return 2 * curves[c].fp
}

// String is the name on command lines and in records, such as "bls12-377".
func (c Curve) String() string {
	if int(c) >= len(curves) {
		return fmt.Sprintf("curve(%d)", uint8(c))
	}
	return curves[c].name
}

// String is "g1" or "g2".
func (g Group) String() string {
	if !g.Valid() {
		return fmt.Sprintf("group(%d)", uint8(g))
	}
	return [...]string{G1: "g1", G2: "g2"}[g]
}

// ParseCurve reads a curve's name; case, '-' and '_' do not matter.
func ParseCurve(s string) (Curve, error) {
	plain := strings.NewReplacer("-", "", "_", "")
	for _, c := range Curves() {
		if strings.EqualFold(plain.Replace(s), plain.Replace(c.String())) {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%w: unknown curve %q (bn254, bls12-377, bls12-381, bw6-761)", ErrInvalidInput, s)
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
