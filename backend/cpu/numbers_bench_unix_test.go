//go:build unix

package cpu

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// BenchmarkResidues times operations on residues beside math/big: with secret operands, and with
// public ones if those are computed differently. For figures of one core: -cpu 1.
func BenchmarkResidues(b *testing.B) {
	for _, c := range []struct {
		op   backend.NumberOp
		bits []int
	}{
		{backend.NumMulMod, []int{256, 512, 1024, 2048, 4096}},
		{backend.NumExpMod, []int{256, 512, 1024, 2048, 3072, 4096}},
		{backend.NumInvMod, []int{256, 2048}},
		{backend.NumReduce, []int{512, 2048}},
		{backend.NumDotMod, []int{512, 2048}},
	} {
		for _, bits := range c.bits {
			for _, way := range []string{"secret", "public", "big"} {
				if way == "public" && c.op != backend.NumInvMod && c.op != backend.NumDotMod {
					continue
				}
				b.Run(fmt.Sprintf("%v/%d/%s", c.op, bits, way), func(b *testing.B) { benchResidues(b, c.op, bits, way) })
			}
		}
	}
}

func benchResidues(b *testing.B, op backend.NumberOp, bits int, way string) {
	n := max(2, 1<<21/bits)
	if op == backend.NumExpMod {
		n = max(2, 1<<30/(bits*bits*bits))
	}
	words := bits / 32
	rng := rand.New(rand.NewPCG(1, 2))
	o := &operation{Compute: backend.Compute{Op: op, Public: way == "public"}}
	o.M = backend.Batch{Words: words, Count: 1}
	o.m = randprog.Bytes(rng, 4*words)
	o.m[0] |= 1
	o.m[len(o.m)-1] |= 0x80
	m := whole(o.m)
	operand := func(w int) (backend.Batch, []byte, []*big.Int) {
		all := randprog.Bytes(rng, 4*w*n)
		numbers := []*big.Int{}
		for i := range n {
			at := all[4*w*i : 4*w*(i+1)]
			if w == words {
				at[len(at)-1] &= 0x7f // below the modulus
			}
			numbers = append(numbers, whole(at))
		}
		return backend.Batch{Words: w, Count: n}, all, numbers
	}
	var x, y []*big.Int
	width := words
	if op == backend.NumReduce {
		width = 2 * words
	}
	o.A, o.a, x = operand(width)
	if op == backend.NumMulMod || op == backend.NumExpMod || op == backend.NumDotMod {
		o.B, o.b, y = operand(words)
	}
	o.Dst = backend.Batch{Words: words, Count: n}
	if op == backend.NumDotMod {
		o.Dst.Count = 1
	}

	o.dst = make([]byte, 4*words*o.Dst.Count)
	z, q, sum := new(big.Int), new(big.Int), new(big.Int)
	b.ResetTimer()
	start := processorTime(b)
	for range b.N {
		if way != "big" {
			if err := fastNumbers(b.Context(), o); err != nil {
				b.Fatal(err)
			}
			continue
		}
		for i := range n {
			switch op {
			case backend.NumMulMod:
				q.QuoRem(z.Mul(x[i], y[i]), m, z)
			case backend.NumExpMod:
				z.Exp(x[i], y[i], m)
			case backend.NumInvMod:
				z.ModInverse(x[i], m)
			case backend.NumReduce:
				q.QuoRem(x[i], m, z)
			case backend.NumDotMod:
				sum.Add(sum, z.Mul(x[i], y[i]))
			}
		}
	}
	b.ReportMetric(float64(processorTime(b)-start)/float64(b.N)/float64(n), "cpu-ns/element")
}

// BenchmarkFields times products in GF(2^n) as a program computes them. scripts/bench-ntl
// times NTL's.
func BenchmarkFields(b *testing.B) {
	for _, n := range []int{32, 64, 96, 128, 192, 256, 512, 1024, 2048} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			words, count := n/32, max(2, 1<<17/n)
			rng := rand.New(rand.NewPCG(3, 4))
			all := backend.Batch{Words: words, Count: count}
			random := func() []byte { return randprog.Bytes(rng, 4*words*count) }
			o := &operation{Compute: backend.Compute{Op: backend.NumGFMul, Dst: all, A: all, B: all, Degree: n},
				dst: random(), a: random(), b: random()}
			start := processorTime(b)
			for range b.N {
				if err := fastNumbers(b.Context(), o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(processorTime(b)-start)/float64(b.N)/float64(count), "cpu-ns/element")
		})
	}
}

// processorTime returns the processor time of this process in nanoseconds.
func processorTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
