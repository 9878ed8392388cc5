package cpu_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
)

// BenchmarkVectors compares steps on BN254 with what gnark's provers call in gnark-crypto for the
// same purpose (-log is the logarithm of the size).
func BenchmarkVectors(b *testing.B) {
	n := 1 << *benchLog
	be := cpu.New(cpu.Options{}).(interface {
		backend.Backend
		backend.Programs
	})
	defer be.Close()
	id, err := be.NewSpace(b.Context(), backend.ScalarOf(backend.BN254), 4*n)
	if err != nil {
		b.Fatal(err)
	}
	at := func(k int) backend.Range { return backend.Range{Space: id, Offset: k * n, Count: n} }
	operand := func(k int) backend.Operand { return backend.Operand{Range: at(k), Stride: 1} }
	bytes, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, 1, 4*n)
	if err != nil {
		b.Fatal(err)
	}
	all, err := layout.View[fr.Element](bytes)
	if err != nil {
		b.Fatal(err)
	}
	v := [4][]fr.Element{all[:n], all[n : 2*n], all[2*n : 3*n], all[3*n:]}
	run := func(steps ...backend.Step) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := be.Run(b.Context(), steps); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	run(backend.Write{Dst: backend.Range{Space: id, Count: 4 * n}, Input: backend.Input{Bytes: bytes}})(b)
	domain := fft.NewDomain(uint64(n))
	shift := layout.Bytes([]fr.Element{domain.FrMultiplicativeGen})
	z := v[1][0]
	point := layout.Bytes([]fr.Element{z})
	load := func(k int) backend.MapCode { return backend.MapCode{Op: backend.MapLoad, Arg: k} }
	mul, sub := backend.MapCode{Op: backend.MapMul}, backend.MapCode{Op: backend.MapSub}
	for _, c := range []struct {
		name  string
		gnark func()
		step  backend.Step
	}{
		{"forward", func() { domain.FFT(v[0], fft.DIF) }, backend.Transform{Dst: at(0), Src: at(0), To: backend.Reversed}},
		{"inverse", func() { domain.FFTInverse(v[0], fft.DIT) }, backend.Transform{
			Dst: at(0), Src: at(0), From: backend.Reversed, Inverse: true,
		}},
		{"forward on a coset", func() { domain.FFT(v[0], fft.DIT, fft.OnCoset()) },
			backend.Transform{Dst: at(0), Src: at(0), From: backend.Reversed, Shift: shift}},
		{"inverse on a coset", func() { domain.FFTInverse(v[0], fft.DIF, fft.OnCoset()) },
			backend.Transform{Dst: at(0), Src: at(0), To: backend.Reversed, Inverse: true, Shift: shift}},
		//lint:ignore SA1019 all versions have it
		{"natural order", func() { domain.FFT(v[0], fft.DIF); fft.BitReverse(v[0]) }, backend.Transform{Dst: at(0), Src: at(0)}},
		{"map", func() {
			var wg sync.WaitGroup
			part := (n + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
			for lo := 0; lo < n; lo += part {
				wg.Go(func() {
					for i := lo; i < min(lo+part, n); i++ {
						v[0][i].Mul(&v[1][i], &v[2][i]).Sub(&v[0][i], &v[3][i]).Mul(&v[0][i], &z)
					}
				})
			}
			wg.Wait()
		}, backend.Map{Count: n, Dst: operand(0), Args: []backend.Operand{operand(1), operand(2), operand(3)}, Constants: point,
			Code: []backend.MapCode{load(0), load(1), mul, load(2), sub, {Op: backend.MapConst}, mul}}},
		{"powers", func() { fft.BuildExpTable(z, v[0]) }, backend.Powers{Dst: at(0), First: point, Ratio: point}},
		{"invert", func() { fr.BatchInvert(v[1]) }, backend.Invert{Dst: at(0), Src: at(1)}},
		{"products", func() {
			v[0][0] = v[1][0]
			for i := 1; i < n; i++ {
				v[0][i].Mul(&v[0][i-1], &v[1][i])
			}
		}, backend.Products{Dst: at(0), Src: at(1)}},
		{"evaluate", func() {
			var value fr.Element
			for i := n - 1; i >= 0; i-- {
				value.Mul(&value, &z).Add(&value, &v[1][i])
			}
		}, backend.Evaluate{Src: []backend.Range{at(1)}, Point: point}},
		{"divide", func() {
			value := v[1][n-1]
			for i := n - 2; i >= 0; i-- {
				v[0][i] = value
				value.Mul(&value, &z).Add(&value, &v[1][i])
			}
		}, backend.Divide{Dst: backend.Range{Space: id, Count: n - 1}, Src: at(1), Point: point}},
	} {
		b.Run(c.name+"/gnark-crypto", func(b *testing.B) {
			for b.Loop() {
				c.gnark()
			}
		})
		b.Run(c.name+"/backend", run(c.step))
	}
}
