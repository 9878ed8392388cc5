package msmplan

import (
	"math"
	"math/big"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// halfOrders returns half the order of each curve's scalars.
var halfOrders = sync.OnceValue(func() map[backend.Curve]*big.Int {
	m := make(map[backend.Curve]*big.Int)
	for _, c := range backend.Curves() {
		m[c] = new(big.Int).Rsh(c.ScalarField(), 1)
	}
	return m
})

// halfOrderBits returns the logarithm of half the order of each curve's scalars.
var halfOrderBits = sync.OnceValue(func() map[backend.Curve]float64 {
	m := make(map[backend.Curve]float64)
	for c, half := range halfOrders() {
		f, _ := new(big.Float).SetInt(half).Float64()
		m[c] = math.Log2(f)
	}
	return m
})

// Windows returns how many signed digits of c bits a scalar up to (r-1)/2 has. The last
// one takes what is left and a carry, and must not exceed 2^(c-1).
func Windows(curve backend.Curve, c int) int {
	half := halfOrders()[curve]
	for w := 1; ; w++ {
		top := new(big.Int).Rsh(half, uint(c*(w-1)))
		top.Add(top, big.NewInt(1))
		if top.BitLen() <= 30 && top.Int64() <= 1<<(c-1) {
			return w
		}
	}
}
