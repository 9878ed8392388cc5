package assignment

import (
	"testing"
	"testing/synctest"
	"time"

	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// TestRoomIsBounded: memory that is given back is kept up to a bound, the last in any case,
// and for a time.
func TestRoomIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Over[fr254.Element]()
		s.most = 100 * 4 * 32
		give := func(n int) {
			v := &Solution[fr254.Element]{Wires: make([]fr254.Element, n)}
			for i := range v.Sides {
				v.Sides[i] = make([]fr254.Element, n)
			}
			s.Free(v)
		}
		want := func(solutions, elements int) {
			t.Helper()
			if len(s.room) != solutions || s.size != elements*4*32 {
				t.Fatalf("%d solutions of %d bytes are kept, want %d of %d elements", len(s.room), s.size, solutions, elements)
			}
		}
		give(40)
		give(50)
		want(2, 90)
		give(30)
		want(2, 80)
		give(1000)
		want(1, 1000)
		if s.taken(30, 30) != nil || s.taken(1000, 1000) == nil {
			t.Error("the last one is not there")
		}
		want(0, 0)
		give(60)
		time.Sleep(keepFor)
		synctest.Wait()
		want(0, 0)
	})
}

// TestLentMemory: a solution is in the memory that was lent, and is not kept when it is given back. The wires of a
// long one are the solver's. Where nothing is lent the solver has memory.
func TestLentMemory(t *testing.T) {
	s := Over[fr254.Element]()
	w, sides := make([]fr254.Element, 5), make([]fr254.Element, 9)
	lend := func(wires, all int) (_, _ []fr254.Element) {
		if wires != len(w) || all != len(sides) {
			t.Errorf("%d wires and %d elements of sides are asked for", wires, all)
		}
		return w, sides
	}
	v, lent := s.take(lend, 5, 3, 4)
	if !v.Lent || v.OwnWires || &lent[0] != &w[0] || &v.Wires[0] != &w[0] {
		t.Error("the wires are elsewhere")
	}
	for i, side := range v.Sides {
		if &side[0] != &sides[3*i] || len(side) != 3 || cap(side) != 3 {
			t.Errorf("side %d is elsewhere, or has %d of %d elements", i, len(side), cap(side))
		}
	}
	if s.Free(v); len(s.room) != 0 {
		t.Error("lent memory is kept")
	}
	w = make([]fr254.Element, mostInPlace/32+1)
	v, lent = s.take(lend, len(w), 3, 4)
	if !v.Lent || !v.OwnWires || &lent[0] != &w[0] || &v.Wires[0] == &w[0] || len(v.Wires) != len(w) || &v.Sides[1][0] != &sides[3] {
		t.Error("long wires are solved where they are lent, or sides are elsewhere")
	}
	kept := &v.Wires[0]
	s.Free(v)
	if v, _ = s.take(lend, len(w), 3, 4); &v.Wires[0] != kept || len(s.room) != 0 {
		t.Error("the wires of a copied solution are not kept")
	}
	v, lent = s.take(func(int, int) (_, _ []fr254.Element) { return nil, nil }, 5, 3, 4)
	if lent != nil || v.Lent || len(v.Wires) != 5 || len(v.Sides[2]) != 3 || cap(v.Sides[2]) != 4 {
		t.Errorf("without lent memory: %v", v)
	}
	if s.Free(v); len(s.room) != 1 {
		t.Error("the solver's own memory is not kept")
	}
}
