package metrics_test

import (
	"context"
	"fmt"
	"log"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/observe/metrics"
)

// An engine is measured, and its metrics are gathered as Prometheus would.
// metrics.Serve answers for a program that runs for long.
func Example() {
	ctx := context.Background()
	m := metrics.New()
	e, err := pippin.New(ctx, m.Config(engine.Config{Backend: "cpu"}))
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	m.Watch(e)

	_, _, g, _ := bn254.Generators()
	bases, err := msm.BN254G1.Load(ctx, e, []bn254.G1Affine{g})
	if err != nil {
		log.Fatal(err)
	}
	defer bases.Close()
	for range 3 { // and loading is a call
		if _, err := bases.MSM(ctx, []fr.Element{fr.NewElement(7)}); err != nil {
			log.Fatal(err)
		}
	}
	families, err := metrics.Registry(m).Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "pippin_calls_total" {
			for _, c := range f.GetMetric() {
				fmt.Println(c.GetLabel()[0].GetValue(), c.GetCounter().GetValue())
			}
		}
	}
	// Output:
	// answered 4
	// canceled 0
	// failed 0
}
