//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/pippin-zk/pippin/kernels/grid/number"
)

// moduli returns odd numbers of at most so many bits, the extremes among them.
func moduli(r *rand.Rand, bits int) []*big.Int {
	high := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	return []*big.Int{
		new(big.Int).Sub(high, big.NewInt(1)),
		new(big.Int).SetBit(integer(filled(bits/32, func(int) uint32 { return r.Uint32() })), 0, 1),
		new(big.Int).SetBit(big.NewInt(1), bits-1, 1), // 2^(bits-1) + 1
		new(big.Int).SetBit(integer(filled(bits/64, func(int) uint32 { return r.Uint32() })), 0, 1),
		big.NewInt(3),
	}
}

// TestPowers compares powers with big.Int: each width and number of threads, moduli of
// all lengths, bases that are 0, 1 and p-1, more numbers than the grid takes at a time;
// with a modulus and an exponent each, and with one for all.
func TestPowers(t *testing.T) {
	d := open(t)
	for _, c := range []struct{ bits, threads, samples, exponentWords int }{
		{1024, 1, 20, 2}, {1536, 2, 16, 1}, {2048, 4, 10, 1}, {3072, 4, 16, 1}, {4096, 4, 20, 1},
	} {
		t.Run(fmt.Sprintf("%d by %d", c.bits, c.threads), func(t *testing.T) {
			d := &device{t, d.Device, d.stream}
			r := rand.New(rand.NewPCG(uint64(c.bits), uint64(c.threads)))
			k, ok := number.ForModulus(fmt.Sprint(c.bits), fmt.Sprint(c.threads))
			if !ok {
				t.Fatal("no kernels")
			}
			one := number.ForCommon().PowerOne
			words := c.bits / 32
			ps := moduli(r, c.bits)
			for len(ps) < 128/c.threads+3 {
				ps = append(ps, ps[r.IntN(3)])
			}
			n := len(ps)
			var xs, es []*big.Int
			for i, p := range ps {
				x := integer(filled(words, func(int) uint32 { return r.Uint32() }))
				switch i {
				case 0:
					x = new(big.Int).Sub(p, big.NewInt(1))
				case 1:
					x = new(big.Int)
				}
				xs = append(xs, x.Mod(x, p))
				es = append(es, integer(filled(c.exponentWords, func(int) uint32 { return r.Uint32() })))
			}
			es[2] = new(big.Int)
			x, p := d.words(n*words, packed(xs, words)...), d.words(n*words, packed(ps, words)...)
			e := d.words(n*c.exponentWords, packed(es, c.exponentWords)...)
			ones := d.words(n * words)
			launch(d, one, (n+one.Threads-1)/one.Threads, 1, number.PowerOne{
				P: at(p), One: at(ones), N: n, Length: words, Bits: number.PowerSampleBits * c.threads * c.samples,
			})
			table := d.words(k.Power.Threads * number.PowerEntries * c.samples * 2)
			for _, shared := range []bool{false, true} {
				z := d.words(n*words + 1)
				call := number.Power{
					X: at(x), E: at(e), P: at(p), One: at(ones), R: at(z), N: n, ExponentWords: c.exponentWords,
					ExponentStep: c.exponentWords, ModulusStep: words, Table: at(table),
				}
				if shared {
					call.N, call.ExponentStep, call.ModulusStep = 1, 0, 0
				}
				launch(d, k.Power, 1, 1, call)
				got := d.read(z)
				for i := range call.N {
					if y := integer(got[i*words : (i+1)*words]); y.Cmp(new(big.Int).Exp(xs[i], es[i], ps[i])) != 0 {
						t.Errorf("shared %v: number %d of %d is wrong", shared, i, n)
					}
				}
				if w := got[call.N*words]; w != 0x55555555 {
					t.Errorf("what is behind the last number is %#x", w)
				}
			}
		})
	}
}
