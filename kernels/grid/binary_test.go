//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/gf2"
	"github.com/pippin-zk/pippin/kernels"
	"github.com/pippin-zk/pippin/kernels/grid/number"
)

// sparse are the exponents of NTL's default polynomials, but for n and 0, as
// BuildSparseIrred of NTL 11.5 gives them.
var sparse = map[int][]int{
	32: {7, 3, 2}, 64: {4, 3, 1}, 96: {10, 9, 6}, 128: {7, 2, 1}, 192: {7, 2, 1},
	256: {10, 5, 2}, 512: {8, 5, 2}, 1024: {19, 6, 1}, 2048: {19, 14, 13},
}

// binaryProduct multiplies a and b in GF(2^n) of the map, bit by bit.
func binaryProduct(n int, a, b *big.Int) *big.Int { return productModulo(n, sparse[n], a, b) }

// productModulo multiplies a and b modulo x^n + 1 and the powers of taps, bit by bit.
func productModulo(n int, taps []int, a, b *big.Int) *big.Int {
	t, x := new(big.Int), new(big.Int)
	for i := range n {
		if b.Bit(i) == 1 {
			t.Xor(t, x.Lsh(a, uint(i)))
		}
	}
	f := new(big.Int).SetBit(big.NewInt(1), n, 1)
	for _, k := range taps {
		f.SetBit(f, k, 1)
	}
	for i := 2*n - 2; i >= n; i-- {
		if t.Bit(i) == 1 {
			t.Xor(t, x.Lsh(f, uint(i-n)))
		}
	}
	return t
}

// binaryElements returns count elements of GF(2^n), the extremes among them.
func binaryElements(r *rand.Rand, n, count int) []*big.Int {
	ones := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(n)), big.NewInt(1))
	es := []*big.Int{new(big.Int).Set(ones), big.NewInt(0), big.NewInt(1), new(big.Int).SetBit(new(big.Int), n-1, 1), big.NewInt(2)}
	for len(es) < count {
		e := integer(filled((n+31)/32, func(int) uint32 { return r.Uint32() }))
		es = append(es, e.And(e, ones))
	}
	return es[:count]
}

// packed writes each element as so many words.
func packed(es []*big.Int, words int) (w []uint32) {
	for _, e := range es {
		w = append(w, wordsOf(e, words)...)
	}
	return w
}

// shared launches a kernel with dynamic shared memory.
func shared[P kernels.Params](d *device, k kernels.Kernel[P], blocks, bytes int, p P) {
	d.Helper()
	rows(d, k, blocks, 1, bytes, p)
}

// rows launches a kernel with dynamic shared memory on x by y blocks.
func rows[P kernels.Params](d *device, k kernels.Kernel[P], x, y, bytes int, p P) {
	d.Helper()
	f := function(d, k.Entry)
	d.must(f.SetMaxDynamicShared(bytes))
	launchShaped(d, f, driver.Launch{Grid: driver.Dim{X: x, Y: y}, Block: driver.Dim{X: k.Threads}, Shared: bytes}, p)
}

// stagedRow returns the bytes of shared memory that a block takes for one element a
// thread. Elements of GF(2^n) are staged from n = least on; below, it is 0.
func stagedRow(n, least int) int {
	if n < least {
		return 0
	}
	return 4 * number.BinaryThreads * (n/32 + number.BinaryPad)
}

// TestShortFields compares products, squares and inverses in GF(2^n) with the definition,
// for every n up to 256, with polynomials whose tails are short and as long as they may be.
// What is no element is refused by its number.
func TestShortFields(t *testing.T) {
	d := open(t)
	const count = 11
	for n := 2; n <= 256; n++ {
		r := rand.New(rand.NewPCG(uint64(n), 2))
		words := (n + 31) / 32
		k, ok := number.ForShort(fmt.Sprintf("w%d", words))
		if !ok {
			t.Fatal("no kernels")
		}
		taps := gf2.New(n).Taps()
		if 2*taps[0] > n+1 || taps[0] >= 64*((words+3)/4) {
			t.Fatalf("n = %d: a polynomial with x^%d", n, taps[0])
		}
		tails := [][]int{taps}
		if longest := min((n+1)/2, 64*((words+3)/4)-1); n%5 == 0 { // not of a field: products only
			tails = append(tails, []int{longest})
		}
		as, bs := binaryElements(r, n, count), binaryElements(r, n, count)
		slices.Reverse(bs[:5])
		bs[0].Set(as[0])
		a, b := d.words(words*count, packed(as, words)...), d.words(words*count, packed(bs, words)...)
		for _, taps := range tails {
			tail := [2]uint64{1}
			for _, k := range taps {
				tail[k/64] |= 1 << (k % 64)
			}
			// compute returns the answers of one block to `of` elements, with b's first for all where one is.
			compute := func(op, of int, b kernels.Pointer, one bool) []*big.Int {
				t.Helper()
				z, bad := d.words(words*count+1), d.words(number.NumberReasons,
					filled(number.NumberReasons, func(int) uint32 { return number.NumberNoElement })...)
				step := words
				if one {
					step = 0
				}
				launch(d, k.ShortBinary, 1, 1, number.ShortBinary{
					Op: op, A: at(a), AStep: words, B: b, BStep: step, R: at(z), Degree: n, Tail0: int(tail[0]), Tail1: int(tail[1]), N: of, Bad: at(bad),
				})
				got := d.read(z)
				if got[words*of] != 0x55555555 {
					t.Errorf("n = %d: what is behind the last number is %#x", n, got[words*of])
				}
				if noted := d.read(bad); slices.ContainsFunc(noted[:number.NumberReasons], func(i uint32) bool { return i != number.NumberNoElement }) {
					t.Errorf("n = %d: refused: %v", n, noted)
				}
				var zs []*big.Int
				for i := range of {
					zs = append(zs, integer(got[i*words:(i+1)*words]))
				}
				return zs
			}
			same := func(what string, got []*big.Int, want func(i int) *big.Int) {
				t.Helper()
				for i := range got {
					if w := want(i); got[i].Cmp(w) != 0 {
						t.Errorf("n = %d, %v: %s: number %d is %x, want %x", n, taps, what, i, got[i], w)
					}
				}
			}
			for _, of := range []int{count, count - 1} {
				same("products", compute(number.NumberBinaryMul, of, at(b), false), func(i int) *big.Int {
					return productModulo(n, taps, as[i], bs[i])
				})
			}
			same("products by one", compute(number.NumberBinaryMul, count, at(b), true), func(i int) *big.Int {
				return productModulo(n, taps, as[i], bs[0])
			})
			same("squares", compute(number.NumberBinarySqr, count, 0, false), func(i int) *big.Int { return productModulo(n, taps, as[i], as[i]) })
			if len(tails) == 1 {
				inverses := compute(number.NumberBinaryInverse, count, 0, false)
				for i, x := range inverses {
					if p := productModulo(n, taps, x, as[i]); as[i].Sign() == 0 && x.Sign() != 0 || as[i].Sign() != 0 && p.Cmp(big.NewInt(1)) != 0 {
						t.Errorf("n = %d: number %d times its inverse is %x", n, i, p)
					}
				}
			}
		}
		if n%32 == 0 {
			continue
		}
		a, b = d.words(words*count, packed(as, words)...), d.words(words*count, packed(bs, words)...)
		wrong := packed(as, words)
		wrong[8*words-1] |= 1 << (n % 32)
		bad := d.words(number.NumberReasons, filled(number.NumberReasons, func(int) uint32 { return number.NumberNoElement })...)
		launch(d, k.ShortBinary, 1, 1, number.ShortBinary{
			Op: number.NumberBinaryMul, A: at(a), AStep: words, B: at(d.words(words*count, wrong...)), BStep: words, R: at(d.words(words * count)),
			Degree: n, Tail0: 3, N: count, Bad: at(bad),
		})
		if noted := d.read(bad); noted[number.NumberBNotBelow] != 7 || noted[number.NumberANotBelow] != number.NumberNoElement {
			t.Errorf("n = %d: refused %v, want element 7 of B", n, noted)
		}
	}
}

// TestBinaryFields compares products, squares, inverses and sums in GF(2^n) with
// the definition, for all n, and counts that leave threads and blocks without work.
func TestBinaryFields(t *testing.T) {
	d := open(t)
	for n := range sparse {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			d := &device{t, d.Device, d.stream}
			r := rand.New(rand.NewPCG(uint64(n), 1))
			k, ok := number.ForBinary(fmt.Sprint(n))
			if !ok {
				t.Fatal("no kernels")
			}
			words := n / 32
			count := 135
			if n >= 1024 {
				count = 37
			}
			as, bs := binaryElements(r, n, count), binaryElements(r, n, count)
			slices.Reverse(bs[:5])
			bs[0].Set(as[0])
			var products, squares []*big.Int
			for i := range as {
				products = append(products, binaryProduct(n, as[i], bs[i]))
				squares = append(squares, binaryProduct(n, as[i], as[i]))
			}
			a, b := d.words(words*count, packed(as, words)...), d.words(words*count, packed(bs, words)...)
			z := d.words(words*count + 1)
			row := stagedRow(n, number.BinaryStaged)
			// For each number of threads, so that the loop over elements is taken too.
			for _, blocks := range []int{1, 2} {
				shared(d, k.BinaryMul, blocks, 2*row, number.BinaryMul{A: at(a), B: at(b), R: at(z), N: count})
				got := d.read(z)
				if want := packed(products, words); !slices.Equal(got[:len(want)], want) {
					t.Errorf("products are wrong from number %d", firstDifference(want, got)/words)
				}
				shared(d, k.BinarySqr, blocks, stagedRow(n, number.BinarySquares), number.BinarySqr{A: at(a), R: at(z), N: count})
				if want, got := packed(squares, words), d.read(z); !slices.Equal(got[:len(want)], want) {
					t.Errorf("squares are wrong from number %d", firstDifference(want, got)/words)
				}
				if last := d.read(z)[words*count]; last != 0x55555555 {
					t.Errorf("what is behind the last number is %#x", last)
				}
			}
			few := min(count, 40)
			if n >= 1024 {
				few = 6
			}
			shared(d, k.BinaryInverse, 1, 3*row, number.BinaryInverse{A: at(a), R: at(z), N: few})
			for i := range few {
				x := integer(d.read(z)[i*words : (i+1)*words])
				if p := binaryProduct(n, x, as[i]); as[i].Sign() == 0 && x.Sign() != 0 || as[i].Sign() != 0 && p.Cmp(big.NewInt(1)) != 0 {
					t.Errorf("number %d times its inverse is %x", i, p)
				}
			}
		})
	}
}
