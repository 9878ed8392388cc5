package curves

import (
	"bytes"
	"math/big"
	"reflect"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/eisenstein"
	"github.com/pippin-zk/pippin/internal/layout"
)

func TestCheck(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
	for _, c := range backend.Curves() {
		other := &basics[c%4+1]
		for what, wrong := range map[string]basic{
			"moduli": {other.id, basics[c].g1, basics[c].g2, basics[c].two},
			"G1":     {basics[c].id, other.g1, basics[c].g2, basics[c].two},
			"G2":     {basics[c].id, basics[c].g1, other.g2, basics[c].two},
			"scalar": {basics[c].id, basics[c].g1, basics[c].g2, other.two},
		} {
			if err := wrong.check(c); err == nil {
				t.Errorf("%v passes with the %s of another curve", c, what)
			}
		}
	}
}

// TestWithID: a curve is found by its number, and one that the table lacks is not.
func TestWithID(t *testing.T) {
	for _, c := range backend.Curves() {
		if found, ok := WithID(ID(c)); !ok || found != c {
			t.Errorf("%v: %v, %t", c, found, ok)
		}
	}
	if found, ok := WithID(ecc.BW6_633); ok {
		t.Errorf("%v", found)
	}
}

// checkZero checks a point that has X = 0.
func checkZero[P any](c backend.Curve, g backend.Group, p P) error {
	return checkPoint(c, g, layout.Bytes([]P{p}), reflect.TypeFor[P](), make([]byte, 128))
}

func TestCheckSeesWrongLayouts(t *testing.T) {
	type swapped struct{ Y, X [4]uint64 }
	var good struct{ X, Y [4]uint64 }
	var goodG2 struct{ X, Y [8]uint64 }
	var swappedG2 struct{ X, Y struct{ A1, A0 [4]uint64 } }
	if err := checkZero(backend.BN254, backend.G1, good); err != nil {
		t.Fatalf("a right layout is refused: %v", err)
	}
	if checkZero(backend.BN254, backend.G1, swapped{}) == nil {
		t.Error("Y before X is accepted")
	}
	if checkZero(backend.BLS12381, backend.G1, good) == nil || checkZero(backend.BN254, backend.G1, goodG2) == nil {
		t.Error("wrong sizes are accepted")
	}
	if checkZero(backend.BN254, backend.G2, swappedG2) == nil {
		t.Error("A1 before A0 is accepted")
	}
	if good.X[0] = 1; checkZero(backend.BN254, backend.G1, good) == nil {
		t.Error("another X is accepted")
	}
	two := fr.NewElement(2)
	if err := checkScalar(backend.BN254, layout.Bytes(two[:])); err != nil {
		t.Errorf("a right scalar is refused: %v", err)
	}
	if checkScalar(backend.BN254, layout.Bytes([]uint64{2, 0, 0, 0})) == nil {
		t.Error("scalars outside Montgomery form are accepted")
	}
	if inMontgomery(layout.Bytes([]uint64{0, 1}), big.NewInt(1), big.NewInt(1<<40+15)) {
		t.Error("a wrong residue is accepted")
	}
}

// times returns k times the generator.
func times(g Group, k int64) Sums {
	s := g.Sums(1)
	s.Set(0, g.Generator(), 0)
	s.Multiply(0, big.NewInt(k))
	return s
}

// TestSums computes small multiples of the generators in every way that there is.
func TestSums(t *testing.T) {
	for _, of := range backend.CurveGroups() {
		g, f := GroupOf(of.Curve, of.Group), Of(of.Curve).Fr
		want := func(k int64) []byte { return times(g, k).Point(0) }
		s := g.Sums(3) // 0, 0, 0
		is := func(what string, k ...int64) {
			t.Helper()
			all := g.New(3)
			s.Affine(all)
			for i := range k {
				b := all.Part(i, i+1).Bytes()
				if !bytes.Equal(b, want(k[i])) || !bytes.Equal(b, s.Point(i)) {
					t.Errorf("%v %v, %s: sum %d is not %d", of.Curve, of.Group, what, i, k[i])
				}
			}
		}
		is("new", 0, 0, 0)
		few, err := g.Points(bytes.Join([][]byte{want(2), want(5)}, nil))
		if err != nil {
			t.Fatal(err)
		}
		s.Set(0, few, 1)
		s.Add(1, few, 0)
		s.Add(1, few, 1)
		s.Subtract(2, few, 1)
		is("points", 5, 7, -5)
		s.AddSum(0, s, 1)
		s.SubtractSum(1, s, 2)
		s.Double(2)
		is("sums", 12, 12, -10)
		s.SetSum(2, s, 0)
		s.Multiply(2, big.NewInt(3))
		is("products", 12, 12, 36)
		again, err := g.SumsIn(bytesOf(s))
		if err != nil {
			t.Fatal(err)
		}
		again.Part(1, 2).Clear()
		is("the same memory", 12, 0, 36)
		scalars := f.New(2)
		scalars.SetNumber(0, 10)
		scalars.SetInt(1, big.NewInt(-3))
		if err := s.MSM(1, few, scalars, 1); err != nil {
			t.Fatal(err)
		}
		is("an MSM", 12, 5, 36)
		if err := s.MSM(1, few, scalars.Part(0, 1), 1); err == nil {
			t.Errorf("%v %v: an MSM of two points and one scalar", of.Curve, of.Group)
		}
	}
}

// bytesOf returns the memory of sums.
func bytesOf(s Sums) []byte { return s.(interface{ bytes() []byte }).bytes() }

func (s *sums[P, J, S, PP, PJ]) bytes() []byte { return layout.Bytes(s.at) }

// TestPoints encodes and decodes points, and asks whether they are on the curve.
func TestPoints(t *testing.T) {
	for _, of := range backend.CurveGroups() {
		g, e := GroupOf(of.Curve, of.Group), backend.PointOf(of.Curve, of.Group)
		p := g.Generator()
		if !p.OnCurve(0) || !p.InSubgroup(0) {
			t.Errorf("%v: the generator is not in the group", e)
		}
		for _, as := range []backend.Encoding{backend.Compressed, backend.Uncompressed} {
			b, back := make([]byte, as.Bytes(e)), g.New(2)
			p.Encode(0, b, as)
			if err := back.Decode(1, b); err != nil || !bytes.Equal(back.Part(1, 2).Bytes(), p.Bytes()) {
				t.Errorf("%v: an encoding is not decoded: %v", e, err)
			}
			if err := back.Decode(1, append(b, 0)); err == nil {
				t.Errorf("%v: a byte behind a point", e)
			}
		}
		off := g.New(2)
		copy(off.Bytes()[e.Bytes():], p.Bytes())
		off.Bytes()[e.Bytes()]++
		if off.OnCurve(1) || off.Len() != 2 {
			t.Errorf("%v: another X is on the curve", e)
		}
		if _, err := g.Points(make([]byte, e.Bytes()+8)); err == nil {
			t.Errorf("%v: half a point", e)
		}
	}
}

// TestElements compares with math/big.
func TestElements(t *testing.T) {
	for _, c := range backend.Curves() {
		f, r := Of(c).Fr, c.ScalarField()
		e := f.New(4)
		e.SetNumber(0, 7)
		e.SetInt(1, big.NewInt(-1))
		e.Mul(2, 0, 1)
		e.Inverse(3, 0)
		e.Power(0, 0, big.NewInt(5))
		again, err := f.Elements(e.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []*big.Int{big.NewInt(16807), big.NewInt(-1), big.NewInt(-7), new(big.Int).ModInverse(big.NewInt(7), r)} {
			if got := again.Part(i, i+1).Int(0, new(big.Int)); got.Cmp(want.Mod(want, r)) != 0 {
				t.Errorf("%v: element %d is %v, not %v", c, i, got, want)
			}
		}
		w, err := f.Root(8)
		if err != nil {
			t.Fatal(err)
		}
		if w.Power(0, 0, big.NewInt(4)); w.Int(0, new(big.Int)).Cmp(new(big.Int).Sub(r, big.NewInt(1))) != 0 {
			t.Errorf("%v: the root of order 8 has another", c)
		}
		if _, err := f.Root(1 << 62); err == nil {
			t.Errorf("%v: a root of order 2^62", c)
		}
	}
}

// TestRotate: a sum is multiplied by 1 + lambda.
func TestRotate(t *testing.T) {
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		of, err := eisenstein.Of(c.ScalarField())
		if err != nil {
			t.Fatal(err)
		}
		g := GroupOf(c, backend.G1)
		s := g.Sums(2)
		s.Set(0, g.Generator(), 0)
		s.Multiply(0, big.NewInt(12345))
		s.SetSum(1, s, 0)
		s.Rotate(0)
		s.Multiply(1, new(big.Int).Add(of.Lambda, big.NewInt(1)))
		if !bytes.Equal(s.Point(0), s.Point(1)) {
			t.Errorf("%v: rotated by something else", c)
		}
	}
}
