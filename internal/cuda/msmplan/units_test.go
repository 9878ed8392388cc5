package msmplan

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestUnitPlans: digits modulo six units are planned on G1 of BN254 and BLS12-381 from 2^23 points on, as
// long as there is memory, for bases whose scalars look random, where a card's table has their time; and
// nowhere else.
func TestUnitPlans(t *testing.T) {
	planned := func(c backend.Curve, g backend.Group, logN int, change func(*Input)) bool {
		t.Helper()
		in := inputOf(c, g, 1<<logN, 130<<30)
		in.Uniform = true
		change(&in)
		in.Multiples = ChooseMultiples(in, 0, in.Memory-8<<30)
		in.Memory -= in.TableBytes(in.Multiples)
		p, err := New(in)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, p)
		r, units := p.Radix()
		if units != (p.Form() == Units) || units && (in.Multiples.Rows != p.Windows || r.Scalar != c.ScalarBits()) {
			t.Errorf("%v 2^%d: form %q, %d rows, %d windows, %+v", c, logN, p.Form(), in.Multiples.Rows, p.Windows, r)
		}
		if units && p.Affine != (c == backend.BLS12381) {
			t.Errorf("%v 2^%d: affine sums: %v", c, logN, p.Affine)
		}
		return units
	}
	as := func(*Input) {}
	for curve, most := range map[backend.Curve]int{backend.BN254: 26, backend.BLS12381: 25} {
		for logN := 16; logN <= 26; logN++ {
			if got := planned(curve, backend.G1, logN, as); got != (logN >= 23 && logN <= most) {
				t.Errorf("%v 2^%d: %v", curve, logN, got)
			}
			if planned(curve, backend.G1, logN, func(in *Input) { in.Uniform = false }) {
				t.Errorf("%v 2^%d: without the hint", curve, logN)
			}
			if planned(curve, backend.G1, logN, func(in *Input) { in.Params.Units = 0 }) {
				t.Errorf("%v 2^%d: by a table that has no time for them", curve, logN)
			}
		}
	}
	if planned(backend.BLS12381, backend.G1, 24, func(in *Input) { in.Params.Affine = 0 }) {
		t.Error("planned on a card on which affine sums lose")
	}
	for _, of := range backend.CurveGroups() {
		has := of.Group == backend.G1 && (of.Curve == backend.BN254 || of.Curve == backend.BLS12381)
		if !has && planned(of.Curve, of.Group, 24, as) {
			t.Errorf("%v %v has them", of.Curve, of.Group)
		}
	}
	// MSMs over many of the bases use the same table, and those over few the bases themselves.
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		in := inputOf(c, backend.G1, 1<<23, 130<<30)
		in.Uniform = true
		m := ChooseMultiples(in, 0, in.Memory/2)
		for _, n := range []int{1, 1000, 1 << 20, 1<<22 + 1} {
			some := inputOf(c, backend.G1, n, 130<<30)
			some.Multiples = m
			p, err := New(some)
			if err != nil {
				t.Fatal(err)
			}
			if checkPlan(t, p); t.Failed() {
				t.Fatalf("%+v", p)
			}
			if _, units := p.Radix(); !units && (p.Skip != 0 || p.Form() != Plain) || units && p.RowStride() != 1<<23 {
				t.Errorf("%v, %d of the bases: form %q, %d skipped", c, n, p.Form(), p.Skip)
			} else if units != (n >= 1<<20) {
				t.Errorf("%v, %d of the bases: digits modulo six units is %v", c, n, units)
			}
		}
	}
}
