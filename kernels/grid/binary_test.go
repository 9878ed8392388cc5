//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	"github.com/pippin-zk/pippin/kernels/grid/number"
)

// sparse are the exponents of NTL's default polynomials, but for n and 0, as
// BuildSparseIrred of NTL 11.5 gives them.
var sparse = map[int][]int{
	32: {7, 3, 2}, 64: {4, 3, 1}, 96: {10, 9, 6}, 128: {7, 2, 1}, 192: {7, 2, 1},
	256: {10, 5, 2}, 512: {8, 5, 2}, 1024: {19, 6, 1}, 2048: {19, 14, 13},
}

// binaryProduct multiplies a and b in GF(2^n), bit by bit.
func binaryProduct(n int, a, b *big.Int) *big.Int {
	t, x := new(big.Int), new(big.Int)
	for i := range n {
		if b.Bit(i) == 1 {
			t.Xor(t, x.Lsh(a, uint(i)))
		}
	}
	f := new(big.Int).SetBit(big.NewInt(1), n, 1)
	for _, k := range sparse[n] {
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
	es := []*big.Int{ones, big.NewInt(0), big.NewInt(1), new(big.Int).SetBit(new(big.Int), n-1, 1), big.NewInt(2)}
	for len(es) < count {
		es = append(es, integer(filled(n/32, func(int) uint32 { return r.Uint32() })))
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
