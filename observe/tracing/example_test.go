package tracing_test

import (
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/observe/tracing"
)

// A call is traced: a span for it, and one for each of its phases. A program that
// runs for long gives its provider an exporter to a collector.
func Example() {
	ctx := context.Background()
	kept := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(kept))
	e, err := pippin.New(ctx, engine.Config{Backend: "cpu", Observer: tracing.Observer(provider)})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	_, _, g, _ := bn254.Generators()
	bases, err := msm.BN254G1.Load(ctx, e, []bn254.G1Affine{g})
	if err != nil {
		log.Fatal(err)
	}
	defer bases.Close()
	kept.Reset()
	if _, err := bases.MSM(ctx, []fr.Element{fr.NewElement(7)}); err != nil {
		log.Fatal(err)
	}
	for _, s := range kept.GetSpans() {
		fmt.Println(s.Name)
	}
	// Output:
	// pippin.msm
	// pippin.check
	// pippin.call
}
