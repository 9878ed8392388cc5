//go:build cuda

package cuda

import (
	"bytes"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/fixtures"
)

// TestEveryPhase launches every kernel of a group on little input: checked
// bases, one batch of skewed, ordinary and few scalars, more than one tile of the
// sort and an incomplete one, points that cancel and points at infinity.
// scripts/sanitize runs it under tools that make kernels slow.
func TestEveryPhase(t *testing.T) {
	onGPU(t)
	b := open(t, Options{})
	defer b.Close()
	cudatest.EachGroup(t, *groups, func(t *testing.T, c backend.Curve, g backend.Group) {
		var jobs []backend.Job
		var want [][]byte
		for _, in := range []struct {
			set  fixtures.Set
			dist fixtures.Distribution
			n    int
		}{{fixtures.Random, fixtures.Witness, 8195}, {fixtures.Alternating, fixtures.Uniform, 1000}, {fixtures.Infinities, fixtures.PlonkL, 33}} {
			p, err := fixtures.New(fixtures.Key{Curve: c, Group: g, Set: in.set, Seed: *seed})
			if err != nil {
				t.Fatal(err)
			}
			points, err := p.Bytes(in.n + 1)
			if err != nil {
				t.Fatal(err)
			}
			id, err := b.LoadBases(t.Context(), backend.Bases{Curve: c, Group: g, Count: in.n + 1, Bytes: points, Hints: backend.Hints{Check: true}})
			if err != nil {
				t.Fatal(err)
			}
			scalars, err := fixtures.Scalars(c, in.dist, *seed, in.n)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := p.Expected(1, scalars)
			if err != nil {
				t.Fatal(err)
			}
			jobs, want = append(jobs, backend.Job{Bases: id, Offset: 1, Count: in.n, Scalars: scalars}), append(want, answer)
		}
		got, err := b.MSM(t.Context(), jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("job %d, seed %d: wrong", i, *seed)
			}
		}
		for _, j := range jobs {
			if err := b.FreeBases(t.Context(), j.Bases); err != nil {
				t.Error(err)
			}
		}
	})
}
