package mont8

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestPowers compares with math/big: right powers, and one wrong in every way.
func TestPowers(t *testing.T) {
	if !available {
		t.Skip("this processor has no products of 52 bits in AVX-512")
	}
	rng := rand.New(rand.NewPCG(3, 8))
	random := func(below *big.Int) *big.Int {
		x := new(big.Int)
		for x.BitLen() < below.BitLen()+64 {
			x.Add(x.Lsh(x, 64), new(big.Int).SetUint64(rng.Uint64()))
		}
		return x.Mod(x, below)
	}
	for _, bits := range []int{33, 64, 100, 102, 103, 104, 128, 512, 1024, 1050, 2047, 2048, 3072, 4096, 16384, 25990} {
		width := (bits + 31) / 32
		top := new(big.Int).Lsh(big.NewInt(1), uint(bits))
		// The highest modulus of so many bits, the lowest, and others; wider numbers too.
		for i, m := range []*big.Int{new(big.Int).Sub(top, big.NewInt(1)),
			new(big.Int).SetBit(new(big.Int).Rsh(top, 1), 0, 1), random(top), random(top)} {
			m.SetBit(m, 0, 1)
			w := width + i%3
			for _, e := range []uint32{1, 2, 3, 17, 65537, 1<<32 - 1} {
				if bits > 5000 && e > 17 {
					continue
				}
				p := New(m, e, w)
				if p == nil {
					t.Fatalf("no powers modulo numbers of %d bits", bits)
				}
				work := p.Work()
				x, powers := make([]uint32, Lanes*w), make([]uint32, Lanes*w)
				set := func(n []uint32, v *big.Int) {
					for k := range n {
						n[k] = uint32(new(big.Int).Rsh(v, uint(32*k)).Uint64())
					}
				}
				for lane := range Lanes {
					v := random(m)
					switch lane {
					case 1:
						v = new(big.Int)
					case 2:
						v = new(big.Int).Sub(m, big.NewInt(1))
					case 3:
						v = new(big.Int).Mod(new(big.Int).SetUint64(1<<53+1), m)
					}
					set(x[lane*w:(lane+1)*w], v)
					set(powers[lane*w:(lane+1)*w], new(big.Int).Exp(v, big.NewInt(int64(e)), m))
				}
				if !p.Are(work, powers, x) {
					t.Fatalf("%x: right powers to %d are refused", m, e)
				}
				lane := rng.IntN(Lanes)
				for _, n := range [][]uint32{x, powers} { // a wrong bit
					k, bit := lane*w+rng.IntN(w), rng.IntN(32)
					n[k] ^= 1 << bit
					if p.Are(work, powers, x) && !(e%2 == 0 || e > 1 && bits < 40) {
						t.Errorf("%x: wrong powers to %d are taken", m, e)
					}
					n[k] ^= 1 << bit
				}
				set(x[lane*w:(lane+1)*w], m) // zero, but not below m
				set(powers[lane*w:(lane+1)*w], new(big.Int))
				if p.Are(work, powers, x) {
					t.Errorf("%x: a number that is not below the modulus is taken", m)
				}
				set(x[lane*w:(lane+1)*w], new(big.Int)) // m for zero
				set(powers[lane*w:(lane+1)*w], m)
				if p.Are(work, powers, x) {
					t.Errorf("%x: a power that is not below the modulus is taken", m)
				}
				work.Wipe()
			}
		}
	}
	for _, m := range []*big.Int{big.NewInt(12), new(big.Int).Lsh(big.NewInt(1), 70), big.NewInt(-7)} {
		if New(m, 3, 2) != nil {
			t.Errorf("powers modulo %v", m)
		}
	}
	if New(big.NewInt(7), 0, 2) != nil || New(big.NewInt(7), 3, 900) != nil {
		t.Error("powers to 0, or of 28,800 bits")
	}
}

func BenchmarkPowers(b *testing.B) {
	if !available {
		b.Skip("this processor has no products of 52 bits in AVX-512")
	}
	m := new(big.Int).Lsh(big.NewInt(1), 2048)
	p := New(m.Sub(m, big.NewInt(1)), 65537, 64)
	w, x := p.Work(), make([]uint32, Lanes*64)
	for range b.N {
		p.Are(w, x, x)
	}
}
