package tuning

import (
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/record"
)

// foundFor is what tuning found for sizes of a group, with pieces of such lengths.
func foundFor(t *testing.T, c backend.Curve, g backend.Group, pieces map[int]int) (all []Found) {
	t.Helper()
	of, err := msmplan.TuningFor("NVIDIA H200", "", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for n, piece := range pieces {
		costs := of.Costs(c, g, n)
		costs.Piece = piece
		all = append(all, Found{Curve: c, Group: g, N: n, Costs: costs})
	}
	slices.SortFunc(all, func(a, b Found) int { return a.N - b.N })
	return all
}

// TestTable: a size stands for those up to the middle between it and the next, equal
// ones are one, and other groups of the table stay.
func TestTable(t *testing.T) {
	own := Table(nil, "NVIDIA H200", foundFor(t, backend.BN254, backend.G1, map[int]int{1 << 10: 16, 1 << 14: 32}))
	own = Table(own, "NVIDIA H200", append(foundFor(t, backend.BN254, backend.G2, map[int]int{1 << 10: 64, 1 << 12: 64, 1 << 16: 32}),
		foundFor(t, backend.BW6761, backend.G1, map[int]int{1 << 10: 128})...))
	text, err := own.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	read, err := msmplan.ParseTable(text)
	if err != nil {
		t.Fatal(err)
	}
	of, err := msmplan.TuningFor("NVIDIA H200", "", 0, read)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		curve backend.Curve
		group backend.Group
		n     int
		piece int
	}{
		{backend.BN254, backend.G1, 1, 16}, {backend.BN254, backend.G1, 1 << 12, 16},
		{backend.BN254, backend.G1, 1<<12 + 1, 32}, {backend.BN254, backend.G1, 1 << 20, 32},
		{backend.BN254, backend.G2, 1, 64}, {backend.BN254, backend.G2, 1 << 14, 64},
		{backend.BN254, backend.G2, 1<<14 + 1, 32}, {backend.BW6761, backend.G1, 1 << 20, 128},
	} {
		if got := of.Costs(c.curve, c.group, c.n).Piece; got != c.piece {
			t.Errorf("%+v: pieces of %d", c, got)
		}
	}
	if len(read.Groups) != 5 {
		t.Errorf("%d lines, want 5: two sizes alike are one", len(read.Groups))
	}
	// Measured again, a group's costs are all new.
	again := Table(read, "NVIDIA H200", foundFor(t, backend.BN254, backend.G2, map[int]int{1 << 10: 256}))
	if len(again.Groups) != 4 {
		t.Errorf("%d lines, want 4", len(again.Groups))
	}
}

// TestFaster: a gain below a hundredth, or within the noise, is none.
func TestFaster(t *testing.T) {
	for _, c := range []struct {
		now, trial record.Times
		want       bool
	}{
		{record.Times{Median: 100}, record.Times{Median: 98}, true},
		{record.Times{Median: 100}, record.Times{Median: 99.5}, false},
		{record.Times{Median: 100, Spread: 0.03}, record.Times{Median: 98}, false},
		{record.Times{Median: 100}, record.Times{Median: 98, Spread: 0.03}, false},
		{record.Times{Median: 100}, record.Times{Median: 101}, false},
	} {
		if r := (compared{c.now, c.trial}); r.faster() != c.want {
			t.Errorf("%+v", r)
		}
	}
}

// TestChanges: every change is one for some group, and there are tables of it.
func TestChanges(t *testing.T) {
	for _, change := range changes {
		different := 0
		for _, of := range backend.CurveGroups() {
			found := foundFor(t, of.Curve, of.Group, map[int]int{1 << 16: 128})
			// Tables need not have affine sums and sums by four threads, which changes take
			// away or add.
			before, with, without := found[0].Costs, found[0].Costs, found[0].Costs
			with.Affine, with.Step, with.Quad = 0.5, 1, 0.5
			without.Affine, without.Step, without.Quad = 0, 0, 0
			changed, added := with, without
			change.to(&found[0].Costs)
			change.to(&changed)
			change.to(&added)
			if found[0].Costs != before || changed != with || added != without {
				different++
			}
			if _, err := Table(nil, "NVIDIA H200", found).Bytes(); err != nil {
				t.Errorf("%s: %v", change.name, err)
			}
		}
		if different == 0 {
			t.Errorf("%s changes nothing", change.name)
		}
	}
}
