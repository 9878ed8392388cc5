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
		s.most = 100 * 32
		give := func(n int) {
			s.Give(make([]fr254.Element, n))
		}
		want := func(solutions, elements int) {
			t.Helper()
			if len(s.room) != solutions || s.size != elements*32 {
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
		if s.taken(30) != nil || s.taken(1000) == nil {
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
	w := make([]fr254.Element, 5)
	lend := func(wires int) []fr254.Element {
		if wires != len(w) {
			t.Errorf("%d wires are asked for", wires)
		}
		return w
	}
	v, lent := s.take(lend, 5)
	if !v.Lent || v.OwnWires || &lent[0] != &w[0] || &v.Wires[0] != &w[0] {
		t.Error("the wires are elsewhere")
	}
	if s.Free(v); len(s.room) != 0 {
		t.Error("lent memory is kept")
	}
	w = make([]fr254.Element, mostInPlace/32+1)
	v, lent = s.take(lend, len(w))
	if !v.Lent || !v.OwnWires || &lent[0] != &w[0] || &v.Wires[0] == &w[0] || len(v.Wires) != len(w) {
		t.Error("long wires are solved where they are lent")
	}
	kept := &v.Wires[0]
	kept.SetOne()
	s.Free(v)
	if v, _ = s.take(lend, len(w)); &v.Wires[0] != kept || len(s.room) != 0 || !kept.IsZero() {
		t.Error("the wires of a copied solution are not kept, or not wiped")
	}
	v, lent = s.take(func(int) []fr254.Element { return nil }, 5)
	if lent != nil || v.Lent || len(v.Wires) != 5 {
		t.Errorf("without lent memory: %v", v)
	}
	if s.Free(v); len(s.room) != 1 {
		t.Error("the solver's own memory is not kept")
	}
}

// TestWorkersAreWiped: what a worker has of constraints and divisions is overwritten.
func TestWorkersAreWiped(t *testing.T) {
	var w worker[fr254.Element, *fr254.Element]
	one := fr254.One()
	w.open = append(w.open, [3]fr254.Element{one, one, one})
	open, prefix := w.open, []fr254.Element{one}
	w.open, w.prefix, w.dividends = w.open[:0], prefix[:0], []fr254.Element{one}
	w.sides[2], w.factors.rest[1], w.scaled = one, one, one
	dividends := w.dividends
	w.wipe()
	for _, v := range []fr254.Element{open[0][0], open[0][2], prefix[0], dividends[0], w.sides[2], w.factors.rest[1], w.scaled} {
		if !v.IsZero() {
			t.Error("something is left")
		}
	}
}
