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
