//go:build cuda

package cuda

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/fixtures"
)

var (
	groups   = flag.String("groups", cudatest.AllGroups, "groups of TestRight")
	onCurves = flag.String("curves", "bn254,bls12-377,bls12-381,bw6-761", "curves of TestEveryStep")
	seed     = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of random inputs")
	cases    = flag.Int("cases", 200, "cases of each kind of TestDifference")
	within   = flag.Duration("within", time.Hour, "TestDifference begins no case after this time")
	full     = flag.Bool("full", false, "the full conformance suite")
	most     = flag.Int("most", 1<<17, "the largest size of TestRight")
	memory   = flag.Int64("memory", 0, "bytes of device memory to use")
)

// open opens the device. It skips the test if there is none.
func open(t testing.TB, o Options) *Backend {
	t.Helper()
	if o.Memory == 0 {
		o.Memory = *memory
	}
	b, err := Open(o)
	cudatest.Opened(t, err)
	return b
}

func TestConformance(t *testing.T) {
	open(t, Options{}).Close()
	onGPU(t)
	backendtest.Run(t, func(t testing.TB) backend.Backend { return open(t, Options{}) }, backendtest.Options{Full: *full, Seed: *seed})
}

// judge computes one MSM and compares it with the discrete logarithms.
func judge(t *testing.T, b backend.Backend, p *fixtures.Points, id backend.BasesID, offset int, scalars []byte, what string) {
	t.Helper()
	n := len(scalars) / p.Key().Curve.ScalarBytes()
	got, err := b.MSM(context.Background(), []backend.Job{{Bases: id, Offset: offset, Count: n, Input: backend.Input{Bytes: scalars}}})
	if err != nil {
		t.Fatalf("%s, seed %d: %v", what, *seed, err)
	}
	want, err := p.Expected(offset, scalars)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[0], want) {
		t.Errorf("%s, seed %d: wrong", what, *seed)
	}
}

// onGPU skips a test that takes too long with the fake driver.
func onGPU(t *testing.T) {
	t.Helper()
	if cudatest.Slow() && !*full {
		t.Skip("-full runs this test on the fake driver")
	}
}

// TestRight compares MSMs with discrete logarithms, for all sets of points and all distributions,
// at sizes near which the code changes its way.
func TestRight(t *testing.T) {
	onGPU(t)
	b := open(t, Options{})
	defer b.Close()
	cudatest.EachGroup(t, *groups, func(t *testing.T, c backend.Curve, g backend.Group) {
		count := *most + 3
		for _, set := range fixtures.Sets() {
			p, err := fixtures.New(fixtures.Key{Curve: c, Group: g, Set: set, Seed: *seed})
			if err != nil {
				t.Fatal(err)
			}
			points, err := p.Bytes(count)
			if err != nil {
				t.Fatal(err)
			}
			id, err := b.LoadBases(t.Context(), backend.Bases{Curve: c, Group: g, Count: count, Bytes: points, Hints: backend.Hints{Check: true}})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range fixtures.Distributions() {
				for _, n := range []int{1, 2, 33, 1000, 4097, *most} {
					if n > *most || set != fixtures.Random && n < min(1000, *most) {
						continue
					}
					scalars, err := fixtures.Scalars(c, d, *seed+uint64(n), n)
					if err != nil {
						t.Fatal(err)
					}
					judge(t, b, p, id, 3, scalars, fmt.Sprintf("%v %v %d", set, d, n))
				}
			}
			if err := b.FreeBases(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestDifference compares random small batches with gnark-crypto. scripts/card runs it in several
// processes.
func TestDifference(t *testing.T) {
	onGPU(t)
	b := open(t, Options{})
	defer b.Close()
	c := cpu.New(cpu.Options{})
	defer c.Close()
	ctx, end := context.WithTimeout(t.Context(), *within)
	defer end()
	start := time.Now()
	n := backendtest.DifferenceUntil(t, ctx, b, c, *seed, *cases)
	t.Logf("%d cases in %.1f s, none differs", n, time.Since(start).Seconds())
}
