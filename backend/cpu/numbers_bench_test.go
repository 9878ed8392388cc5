package cpu

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"testing"
)

// BenchmarkResidues compares products and powers by a modulus with math/big's, which do
// not take the same time for all values.
func BenchmarkResidues(b *testing.B) {
	for _, width := range []int{256, 512, 1024, 2048, 3072, 4096} {
		number := func() *big.Int {
			v, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), uint(width)))
			if err != nil {
				b.Fatal(err)
			}
			return v
		}
		mod := number()
		mod.SetBit(mod, width-1, 1).SetBit(mod, 0, 1)
		p, q := number(), number()
		p.Mod(p, mod)
		q.Mod(q, mod)
		bytes := func(v *big.Int) []byte {
			out := make([]byte, width/8)
			put(out, v)
			return out
		}
		k, err := newModulus(bytes(mod), true, true)
		if err != nil {
			b.Fatal(err)
		}
		k.divides()
		x, y, z, t := make([]uint64, k.n), make([]uint64, k.n), make([]uint64, k.n), make([]uint64, 20*k.n)
		load(x, bytes(p))
		load(y, bytes(q))
		e := bytes(q)
		b.Run(fmt.Sprint("mulmod/", width, "/here"), func(b *testing.B) {
			for b.Loop() {
				k.product(z, x, y, t)
			}
		})
		b.Run(fmt.Sprint("mulmod/", width, "/big"), func(b *testing.B) {
			var v, quotient big.Int
			for b.Loop() {
				v.Mul(p, q)
				quotient.QuoRem(&v, mod, &v)
			}
		})
		b.Run(fmt.Sprint("expmod/", width, "/here"), func(b *testing.B) {
			for b.Loop() {
				k.exp(b.Context(), z, x, e, t)
			}
		})
		b.Run(fmt.Sprint("expmod/", width, "/big"), func(b *testing.B) {
			var v big.Int
			for b.Loop() {
				v.Exp(p, q, mod)
			}
		})
	}
}
