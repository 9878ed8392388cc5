package circom_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/circom"
)

var (
	backendName = flag.String("backend", "cpu", "backend of the engine in the benchmark and in TestProofs")
	size        = flag.Int("constraints", 1<<14, "constraints of the circuit in the benchmark")
)

// BenchmarkProve measures verified proofs from a witness in memory, and how long the key takes to load.
func BenchmarkProve(b *testing.B) {
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		b.Run(c.String(), func(b *testing.B) {
			e, err := pippin.New(b.Context(), engine.Config{Backend: *backendName})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			built := buildOn(b, e, c, fmt.Sprintf("bits of %d", *size))
			begin := time.Now()
			k, err := circom.ParseKey(built.key, circom.WithEngine(e))
			if err != nil {
				b.Fatal(err)
			}
			defer k.Close()
			took := time.Since(begin)
			b.Logf("%d constraints, %d wires, a domain of %d", k.NbConstraints(), k.NbWires(), k.DomainSize())
			w := built.of(b)
			for b.Loop() {
				if _, err := k.Prove(b.Context(), w); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(took.Milliseconds()), "load-ms")
		})
	}
}
