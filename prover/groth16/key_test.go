package groth16

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFalses compares lists of indices with their definition, for vectors of several lengths, empty
// ones too, with all, none and some of the values set.
func TestFalses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		for _, share := range []int{0, 1, 2, 3} { // true, of 3
			v := make([]bool, n)
			for i := range v {
				v[i] = r.IntN(3) < share
			}
			for from := range n + 1 {
				want := []uint32{}
				for i := from; i < n; i++ {
					if !v[i] {
						want = append(want, uint32(i))
					}
				}
				got := falses(v, from)
				if got == nil || !slices.Equal(got, want) {
					t.Fatalf("falses(%v, %d) = %v, want %v", v, from, got, want)
				}
				if got := countFalses(v[from:]); got != len(want) {
					t.Fatalf("countFalses(%v) = %d, want %d", v[from:], got, len(want))
				}
			}
		}
	}
}
