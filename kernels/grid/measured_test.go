//go:build cuda && measured && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pippin-zk/pippin/kernels"
	"github.com/pippin-zk/pippin/kernels/grid/measured"
	"github.com/pippin-zk/pippin/kernels/grid/number"
)

// TestSliced compares seed 001's products, in both forms, with the definition: for all
// n, and counts that leave lanes and warps without work, or give them more.
func TestSliced(t *testing.T) {
	d := open(t)
	for n := range sparse {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			d := &device{t, d.Device, d.stream}
			r := rand.New(rand.NewPCG(uint64(n), 2))
			k, ok := measured.ForBinary(fmt.Sprint(n))
			if !ok {
				t.Fatal("no kernels")
			}
			words := n / 32
			count := 2*128 + 37
			if n >= 512 {
				count = 33 // the host has the warps' steps in turn
			}
			as, bs := binaryElements(r, n, count), binaryElements(r, n, count)
			slices.Reverse(bs[:5])
			bs[0].Set(as[0])
			var want []uint32
			for i := range as {
				want = append(want, wordsOf(binaryProduct(n, as[i], bs[i]), words)...)
			}
			a, b := d.words(words*count, packed(as, words)...), d.words(words*count, packed(bs, words)...)
			check := func(form string, run func(p measured.SlicedRegisters)) {
				z := d.words(words*count + 1)
				run(measured.SlicedRegisters{A: at(a), B: at(b), R: at(z), N: count})
				got := d.read(z)
				if i := firstDifference(want, got); i >= 0 {
					t.Errorf("%s: wrong from number %d", form, i/words)
				}
				if got[words*count] != 0x55555555 {
					t.Errorf("%s: what is behind the last number is %#x", form, got[words*count])
				}
			}
			bytes := 16 * n * k.SlicedShared.Threads / 32
			check("registers", func(p measured.SlicedRegisters) { shared(d, k.SlicedRegisters, 2, bytes, p) })
			check("shared", func(p measured.SlicedRegisters) {
				shared(d, kernels.Kernel[measured.SlicedRegisters]{Entry: k.SlicedShared.Entry}, 1, bytes, p)
			})
		})
	}
}

// TestLongReference compares the seed's method with big.Int.
func TestLongReference(t *testing.T) {
	d := open(t)
	k := measured.ForCommon()
	r := rand.New(rand.NewPCG(3, 2))
	for _, words := range []int{1, 4, 63, 64, 1000, 2047, number.LongReferenceWords} {
		const count = 3
		for what, x := range longOperands(r, count*words) {
			out, sum := d.words(count), d.words(count*words)
			launch(d, k.LongReference, count, 1, measured.LongReference{
				A: at(d.words(count*words, x[0]...)), B: at(d.words(count*words, x[1]...)), R: at(sum), Length: words, Carries: at(out)})
			got, carries := d.read(sum), d.read(out)
			for i := range count {
				a, b := integer(x[0][i*words:(i+1)*words]), integer(x[1][i*words:(i+1)*words])
				want := wordsOf(a.Add(a, b), words+1)
				if !slices.Equal(append(got[i*words:(i+1)*words:(i+1)*words], carries[i]), want) {
					t.Errorf("%d words, %s: number %d is wrong", words, what, i)
				}
			}
		}
	}
}
