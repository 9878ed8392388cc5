package cpu_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
)

var benchLog = flag.Int("log", 20, "benchmarks: logarithm of the size")

// BenchmarkMSM compares a plain call of MultiExp on BN254 with the same through
// the backend, and shows what chunks cost (-log 24 for the default chunk).
func BenchmarkMSM(b *testing.B) {
	n := 1 << *benchLog
	p, err := fixtures.NewPoints(backend.BN254, backend.G1, 1)
	if err != nil {
		b.Fatal(err)
	}
	points, err := p.Bytes(n)
	if err != nil {
		b.Fatal(err)
	}
	scalars, err := fixtures.Scalars(backend.BN254, fixtures.Uniform, 1, n)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("direct", func(b *testing.B) {
		pv, err := layout.View[bn254.G1Affine](points)
		if err != nil {
			b.Fatal(err)
		}
		sv, err := layout.View[fr.Element](scalars)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := new(bn254.G1Affine).MultiExp(pv, sv, ecc.MultiExpConfig{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, chunk := range []int{0, n, n / 4} {
		b.Run(fmt.Sprintf("backend/chunk=%d", chunk), func(b *testing.B) {
			be := cpu.New(cpu.Options{Chunk: chunk})
			defer be.Close()
			id, err := be.LoadBases(b.Context(), backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: points})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := be.MSM(b.Context(), []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: scalars}}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
