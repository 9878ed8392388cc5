package msmplan

import (
	"testing"

	"github.com/pippin-zk/pippin/backend"
)

// TestUnitPlans: digits modulo six units are planned on BN254 G1 from 2^23 points on, for bases
// whose scalars look random, where a card's table has their time; and nowhere else.
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
		_, units := p.Radix()
		if units != (p.Form() == Units) || units && in.Multiples.Rows != p.Windows {
			t.Errorf("2^%d: form %q, %d rows, %d windows", logN, p.Form(), in.Multiples.Rows, p.Windows)
		}
		return units
	}
	as := func(*Input) {}
	for logN := 16; logN <= 26; logN++ {
		if got := planned(backend.BN254, backend.G1, logN, as); got != (logN >= 23) {
			t.Errorf("2^%d: %v", logN, got)
		}
		if planned(backend.BN254, backend.G1, logN, func(in *Input) { in.Uniform = false }) {
			t.Errorf("2^%d: without the hint", logN)
		}
		if planned(backend.BN254, backend.G1, logN, func(in *Input) { in.Params.Units = 0 }) {
			t.Errorf("2^%d: by a table that has no time for them", logN)
		}
	}
	for _, of := range backend.CurveGroups() {
		if (of.Curve != backend.BN254 || of.Group != backend.G1) && planned(of.Curve, of.Group, 24, as) {
			t.Errorf("%v %v has them", of.Curve, of.Group)
		}
	}
	// MSMs over many of the bases use the same table, and those over few the bases themselves.
	in := inputOf(backend.BN254, backend.G1, 1<<23, 130<<30)
	in.Uniform = true
	m := ChooseMultiples(in, 0, in.Memory/2)
	for _, n := range []int{1, 1000, 1 << 20, 1<<22 + 1} {
		some := inputOf(backend.BN254, backend.G1, n, 130<<30)
		some.Multiples = m
		p, err := New(some)
		if err != nil {
			t.Fatal(err)
		}
		if checkPlan(t, p); t.Failed() {
			t.Fatalf("%+v", p)
		}
		if _, units := p.Radix(); !units && (p.Skip != 0 || p.Form() != Plain) || units && p.RowStride() != 1<<23 {
			t.Errorf("%d of the bases: form %q, %d skipped", n, p.Form(), p.Skip)
		} else if units != (n >= 1<<20) {
			t.Errorf("%d of the bases: digits modulo six units is %v", n, units)
		}
	}
}
