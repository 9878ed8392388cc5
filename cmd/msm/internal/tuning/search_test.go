package tuning

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

// slow is a backend whose MSMs take a while longer.
type slow struct{ backend.Backend }

func (s slow) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	time.Sleep(50 * time.Millisecond)
	return s.Backend.MSM(ctx, jobs)
}

// TestSearch runs a search on the CPU, once with the present plans slow and once with
// those of every trial slow: it keeps a change in the one case, and none in the other.
func TestSearch(t *testing.T) {
	now, err := msmplan.TuningFor("NVIDIA H200", "", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for which, kept := range map[string]bool{"/now.json": true, "/trial.json": false} {
		t.Run(which[1:], func(t *testing.T) {
			opened := 0
			s := Search{
				Measure: bench.MSM{
					Common: bench.Common{Count: 3, Seed: 1, CacheDir: t.TempDir()},
					Sizes:  []int{64}, Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1},
					Distributions: []fixtures.Distribution{fixtures.Uniform}, Paths: []report.Path{report.Arena},
					Multiples: 1, Check: true,
				},
				Open: func(_ context.Context, environment ...string) (backend.Backend, error) {
					opened++
					b := backend.Backend(cpu.New(cpu.Options{}))
					if slices.ContainsFunc(environment, func(v string) bool { return strings.HasSuffix(v, which) }) {
						b = slow{b}
					}
					return b, nil
				},
				Oracle: func(context.Context, string) (backend.Backend, error) { return cpu.NewReference(), nil },
				Card:   "NVIDIA H200", Now: now, Memory: 64 << 30,
			}
			all, err := s.Run(t.Context())
			if err != nil || len(all) != 1 || Faster(all) != kept || opened == 0 {
				t.Fatalf("%v, %+v, %d backends opened", err, all, opened)
			}
			if f := all[0]; kept != (f.Costs != now.Costs(f.Curve, f.Group, f.N)) || kept && f.Best >= f.Now {
				t.Errorf("%+v", f)
			}
		})
	}
}
