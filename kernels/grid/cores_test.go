package grid_test

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// corePart is the most words of a number that a core adds at a time: with both
// operands and the sum they are in its cache when the carry that enters is known to
// go through all of them.
const corePart = 1 << 13

// sumOnCores sets z = a + b on all cores, numbers of so many words that follow one
// another: what long addition on a card is compared with. Longer numbers are added in
// parts, as if nothing entered them; carries then go from part to part, and parts that
// one enters are increased.
func sumOnCores(z, a, b []uint64, length int) {
	part := min(length, corePart)
	each := (length + part - 1) / part
	type state struct{ leaves, hands, enters bool }
	states := make([]state, len(a)/length*each)
	of := func(k int) []uint64 { // z's words of part k
		from := k/each*length + k%each*part
		return z[from:min(from+part, (k/each+1)*length)]
	}
	onCores(len(states), func(k int) {
		from := k/each*length + k%each*part
		to := from + len(of(k))
		states[k].leaves = addWords(z[from:to], a[from:to], b[from:to]) != 0
		states[k].hands = each > 1 && !slices.ContainsFunc(z[from:to], func(w uint64) bool { return w != 1<<64-1 })
	})
	if each == 1 {
		return
	}
	carry := false
	for k := range states {
		carry = carry && k%each != 0
		states[k].enters = carry
		carry = states[k].leaves || states[k].hands && carry
	}
	onCores(len(states), func(k int) {
		if !states[k].enters {
			return
		}
		w := of(k)
		for i := range w {
			if w[i]++; w[i] != 0 {
				return
			}
		}
	})
}

// addWords sets z = a + b and returns the carry.
func addWords(z, a, b []uint64) (carry uint64) {
	n := len(z)
	a, b = a[:n], b[:n]
	i := 0
	for ; i+8 <= n; i += 8 {
		x, y, s := (*[8]uint64)(a[i:]), (*[8]uint64)(b[i:]), (*[8]uint64)(z[i:])
		s[0], carry = bits.Add64(x[0], y[0], carry)
		s[1], carry = bits.Add64(x[1], y[1], carry)
		s[2], carry = bits.Add64(x[2], y[2], carry)
		s[3], carry = bits.Add64(x[3], y[3], carry)
		s[4], carry = bits.Add64(x[4], y[4], carry)
		s[5], carry = bits.Add64(x[5], y[5], carry)
		s[6], carry = bits.Add64(x[6], y[6], carry)
		s[7], carry = bits.Add64(x[7], y[7], carry)
	}
	for ; i < n; i++ {
		z[i], carry = bits.Add64(a[i], b[i], carry)
	}
	return carry
}

// onCores calls f for 0 to n-1, each core for some that follow one another.
func onCores(n int, f func(k int)) {
	cores := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for c := range cores {
		all.Go(func() {
			for k := c * n / cores; k < (c+1)*n/cores; k++ {
				f(k)
			}
		})
	}
	all.Wait()
}

// TestSumOnCores compares with math/big: numbers shorter and longer than a part, whose
// carries go far.
func TestSumOnCores(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	words := func(n int, f func(i int) uint64) []uint64 {
		w := make([]uint64, n)
		for i := range w {
			w[i] = f(i)
		}
		return w
	}
	number := func(w []uint64) *big.Int {
		var b []byte
		for _, v := range slices.Backward(w) {
			b = binary.BigEndian.AppendUint64(b, v)
		}
		return new(big.Int).SetBytes(b)
	}
	random := func(int) uint64 { return r.Uint64() }
	ones := func(int) uint64 { return 1<<64 - 1 }
	one := func(i int) uint64 { return uint64(1 / (i + 1)) }
	for _, length := range []int{1, 9, 32, corePart, 3*corePart + 5} {
		for name, of := range map[string][2]func(int) uint64{
			"random": {random, random}, "all ones and one": {ones, one}, "all ones": {ones, ones},
			"runs": {func(i int) uint64 { return -uint64(i / 3000 % 2) }, one},
		} {
			const count = 3
			a, b := words(count*length, of[0]), words(count*length, of[1])
			z := make([]uint64, len(a))
			sumOnCores(z, a, b, length)
			for i := range count {
				from, to := i*length, (i+1)*length
				want := number(a[from:to])
				want.Add(want, number(b[from:to]))
				if want.SetBit(want, 64*length, 0).Cmp(number(z[from:to])) != 0 {
					t.Errorf("%s, %d words: number %d is wrong", name, length, i)
				}
			}
		}
	}
}
