package bench_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
)

// Two backends are measured in turns, and every answer is compared with the one that is
// known.
func ExampleMeasure() {
	cache, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(cache)
	runs, _, err := bench.Measure(context.Background(), &bench.MSM{
		Common:        bench.Common{Open: pippin.Opener(pippin.Options{}), Backends: []string{"cpu", "reference"}, Count: 3, CacheDir: cache},
		Curves:        []backend.Curve{backend.BN254},
		Groups:        []backend.Group{backend.G1},
		Sizes:         []int{20},
		Distributions: []fixtures.Distribution{fixtures.Uniform},
		Paths:         []report.Path{report.Copy},
		Check:         true,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range runs {
		fmt.Println(r.Backend, r.N, r.Count, r.Checked, r.Median > 0)
	}
	// Output:
	// cpu 20 3 true true
	// reference 20 3 true true
}
