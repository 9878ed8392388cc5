//go:build !purego

package limbs

import (
	"slices"
	"testing"
)

// TestShortSquares runs the instructions for squares where Sqr does not.
func TestShortSquares(t *testing.T) {
	if !twoChains {
		t.Skip("this processor has no two carries")
	}
	for n := 1; n < 8; n++ {
		for range 200 {
			x, p, q := number(n), number(2*n), number(2*n)
			sqrADX(&p[0], &x[0], n)
			if sqrGeneric(q, x); !slices.Equal(p, q) {
				t.Fatalf("%x squared: %x, want %x", x, p, q)
			}
		}
	}
}
