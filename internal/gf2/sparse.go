package gf2

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
)

// known has the polynomials of degrees that are used often: the search takes a
// second at 2048.
var known = map[int][]int{
	32: {7, 3, 2}, 64: {4, 3, 1}, 96: {10, 9, 6}, 128: {7, 2, 1}, 163: {7, 6, 3}, 192: {7, 2, 1}, 233: {74}, 256: {10, 5, 2},
	283: {12, 7, 5}, 409: {87}, 512: {8, 5, 2}, 571: {10, 5, 2}, 1024: {19, 6, 1}, 2048: {19, 14, 13},
}

// Sparse finds the irreducible polynomial x^n + x^k + 1 with the least k or, where there
// is none, x^n + x^c + x^b + x^a + 1 with the least c, then b, then a. It returns the
// exponents without n and 0, the largest first. n must be at least 2.
func Sparse(n int) []int {
	taps, _ := sparse(context.Background(), n) // nothing ends the search
	return taps
}

// sparse does what Sparse does, until ctx ends.
func sparse(ctx context.Context, n int) ([]int, error) {
	if taps, ok := known[n]; ok {
		return taps, nil
	}
	return search(ctx, n)
}

// search does what sparse does, without the table.
func search(ctx context.Context, n int) ([]int, error) {
	if n%8 != 0 { // by Swan's theorem there is none then
		for k := 1; k <= n/2 && ctx.Err() == nil; k++ { // one with n-k is irreducible too
			if taps := []int{k}; irreducible(n, taps) {
				return taps, nil
			}
		}
	}
	for c := 3; c < n; c++ {
		for b := 2; b < c; b++ {
			for a := 1; a < b; a++ {
				if err := ctx.Err(); err != nil {
					return nil, err // a trial takes some milliseconds
				}
				if taps := []int{c, b, a}; irreducible(n, taps) {
					return taps, nil
				}
			}
		}
	}
	return nil, fmt.Errorf("no sparse irreducible polynomial of degree %d", n) // none is known for which this happens
}

// irreducible reports whether x^n + .. + 1, with an odd number of taps, is irreducible:
// whether it divides x^(2^n) - x and has no factor in common with x^(2^(n/p)) - x for any
// prime p that divides n.
func irreducible(n int, taps []int) bool {
	if smallFactor(n, taps) {
		return false
	}
	f := field(n, taps)
	scratch := make([]uint64, f.Scratch())
	x := make([]uint64, f.Limbs())
	x[0] = 2
	var at []int // powers to look at
	for p, m := 2, n; m > 1; p++ {
		if m%p == 0 {
			at = append(at, n/p)
			for m%p == 0 {
				m /= p
			}
		}
	}
	power := slices.Clone(x)
	var seen [][]uint64
	for i := 1; i <= n; i++ {
		f.Sqr(power, power, scratch)
		if slices.Contains(at, i) {
			seen = append(seen, slices.Clone(power))
		}
	}
	if !slices.Equal(power, x) {
		return false
	}
	whole := make([]uint64, f.n/64+1)
	for _, e := range append(slices.Clone(taps), 0, n) {
		whole[e/64] |= 1 << (e % 64)
	}
	for _, s := range seen {
		s[0] ^= 2
		if degree(gcd(whole, s)) > 0 {
			return false
		}
	}
	return true
}

// smallFactor reports whether the polynomial has a factor of degree 2 to 6, below n. A
// factor of degree d divides x^(2^d-1) - 1, modulo which exponents are small. With an odd
// number of taps there is no factor of degree 1.
func smallFactor(n int, taps []int) bool {
	for d := 2; d <= 6 && d < n; d++ {
		order := 1<<d - 1
		rest := uint64(1)
		for _, e := range append([]int{n}, taps...) {
			rest ^= 1 << (e % order)
		}
		if degree(gcd([]uint64{1 | 1<<order}, []uint64{rest})) > 0 {
			return true
		}
	}
	return false
}

// gcd returns the greatest common divisor of two polynomials.
func gcd(a, b []uint64) []uint64 {
	a, b = slices.Clone(a), slices.Clone(b)
	for {
		da, db := degree(a), degree(b)
		if db < 0 {
			return a
		}
		if da < db {
			a, b = b, a
			continue
		}
		xorShifted(a, b, da-db)
	}
}

// degree returns the degree of a polynomial, -1 for 0.
func degree(p []uint64) int {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0 {
			return 64*i + bits.Len64(p[i]) - 1
		}
	}
	return -1
}
