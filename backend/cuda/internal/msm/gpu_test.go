//go:build cuda

package msm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

var (
	sizes   = flag.String("sizes", "", "sizes of TestTimes, such as 2^20,2^22")
	groups  = flag.String("groups", cudatest.AllGroups, "groups of TestTimes")
	sets    = flag.String("sets", "random", "sets of points of TestTimes, such as random,equal")
	dists   = flag.String("dists", "uniform", "distributions of TestTimes")
	window  = flag.String("windows", "", "windows that TestTimes tries beside the plan's, such as 15,16")
	levels  = flag.String("levels", "", "levels of the reduction that TestTimes tries beside the plan's: first/other, such as 3/2,4/2")
	over    = flag.String("overlap", "", "sizes from which TestTimes tries to hide the copy, as logarithms, such as 20")
	pairs   = flag.String("pairs", "", "levels of pairs that TestTimes tries beside the plan's choice, 0 for none, such as 0,3")
	running = flag.String("affine", "", "levels of affine additions one entry after the other that "+
		"TestTimes tries beside the plan's choice, 0 for none, such as 0,4")
	quads = flag.Float64("quads", -1, "what TestTimes takes an addition by four threads for, in "+
		"additions by one: 0 has none, a negative number is the table's")
	inTurn = flag.Bool("in-turn", false, "TestTimes tries to have nothing run beside the accumulation")
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of random inputs")
	most   = flag.String("multiples", "1", "the most multiples of a base that TestTimes has made, such as 1,1000")
	memory = flag.Int64("memory", 0, "bytes of device memory to use")
)

// plansOf has the plans that computers have computed by since their last forget.
var plansOf = make(map[*Computer][]*msmplan.Plan)

// forget forgets a computer's plans, including those that it would use again.
func forget(c *Computer) {
	delete(plansOf, c)
	c.plans.Clear()
}

// open opens the device, or skips the test if there is none. Both are closed when the test ends.
func open(t testing.TB, o device.Options) (*device.Device, *Computer) {
	t.Helper()
	if o.Memory == 0 {
		o.Memory = *memory
	}
	d, err := device.Open(0, o)
	cudatest.Opened(t, err)
	c, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	c.planned = func(p *msmplan.Plan) { plansOf[c] = append(plansOf[c], p) }
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return d, c
}

// judge computes one MSM and compares it with the discrete logarithms.
func judge(t *testing.T, c *Computer, p *fixtures.Points, bases *Bases, scalars []byte) {
	t.Helper()
	got, err := c.Compute(t.Context(), one(bases, scalars))
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Expected(0, scalars)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got[0], want) {
		t.Errorf("%v %v, %d scalars, seed %d: wrong", bases.Curve, bases.Group, len(scalars)/bases.Curve.ScalarBytes(), *seed)
	}
}

// one returns a call with one job, over the bases from the first on.
func one(bases *Bases, scalars []byte) []Job {
	j := &backend.Job{Count: len(scalars) / bases.Curve.ScalarBytes(), Input: backend.Input{Bytes: scalars}}
	return []Job{{Job: j, Source: j, Bases: bases}}
}

// TestTimes prints times from pinned host scalars to the affine point, and checks every answer.
func TestTimes(t *testing.T) {
	if *sizes == "" {
		t.Skip("no -sizes given")
	}
	phases := make(map[string]time.Duration)
	d, c := open(t, device.Options{Trace: cudatest.Phases(phases)})
	var ns []int
	for _, s := range strings.Split(*sizes, ",") {
		k, err := strconv.Atoi(strings.TrimPrefix(s, "2^"))
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, 1<<k)
	}
	of := slices.DeleteFunc(fixtures.Sets(), func(set fixtures.Set) bool {
		return !slices.Contains(strings.Split(*sets, ","), set.String())
	})
	cudatest.EachGroup(t, *groups, func(t *testing.T, curve backend.Curve, group backend.Group) {
		host, err := d.Driver().AllocHost(int64(slices.Max(ns) * curve.ScalarBytes()))
		if err != nil {
			t.Fatal(err)
		}
		defer host.Free()
		for _, set := range of {
			p, err := fixtures.New(fixtures.Key{Curve: curve, Group: group, Set: set, Seed: *seed})
			if err != nil {
				t.Fatal(err)
			}
			points, err := p.Bytes(slices.Max(ns))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range ns {
				for _, m := range strings.Split(*most, ",") {
					multiples, err := strconv.Atoi(m)
					if err != nil {
						t.Fatal(err)
					}
					times(t, c, p, points[:n*p.Size()], multiples, host.Bytes(), phases)
				}
			}
		}
	})
}

// times prints the times of MSMs over points for every try, and checks every answer.
func times(t *testing.T, c *Computer, p *fixtures.Points, points []byte, multiples int, host []byte, phases map[string]time.Duration) {
	for _, try := range tries() {
		c.tune = func(u *msmplan.Params) {
			if *quads >= 0 {
				u.Quad = *quads
			}
			if try != nil {
				try(u)
			}
		}
		forget(c)
		timesOf(t, c, p, points, multiples, host, phases)
	}
}

func timesOf(t *testing.T, c *Computer, p *fixtures.Points, points []byte, multiples int, host []byte, phases map[string]time.Duration) {
	curve, group, n := p.Key().Curve, p.Key().Group, len(points)/p.Size()
	source := backend.Bases{Curve: curve, Group: group, Count: n, Bytes: points, Hints: backend.Hints{Multiples: 1}}
	bases, err := c.Load(t.Context(), &source, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer bases.Free()
	start := time.Now()
	if multiples != 1 {
		if err := c.prepareNow(t.Context(), bases, backend.Hints{Multiples: multiples}); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%v %v 2^%d: %+v in %.2f ms\n", curve, group, log2(n), bases.table, ms(time.Since(start)))
	}
	for _, name := range strings.Split(*dists, ",") {
		dist, err := fixtures.ParseDistribution(name)
		if err != nil {
			t.Fatal(err)
		}
		scalars := host[:n*curve.ScalarBytes()]
		if err := fixtures.FillScalars(scalars, curve, dist, *seed, 0); err != nil {
			t.Fatal(err)
		}
		judge(t, c, p, bases, scalars)
		var times []time.Duration
		for range 5 {
			start := time.Now()
			if _, err := c.Compute(t.Context(), one(bases, scalars)); err != nil {
				t.Fatal(err)
			}
			times = append(times, time.Since(start))
		}
		slices.Sort(times)
		for _, used := range plansOf[c][len(plansOf[c])-1:] {
			fmt.Printf("%v %v 2^%d %v %v: min %.2f median %.2f ms; c=%d windows=%d sets=%d chunks=%v levels=%d "+
				"affine=%v piece=%d reduction=%d/%d %d MiB cost=%.4g;", curve, group, log2(n), p.Key().Set, dist,
				ms(times[0]), ms(times[2]), used.Width, used.Windows, used.Sets, used.Chunks, used.Levels,
				used.Affine, used.Piece, used.Params.FirstLevel, used.Params.Level, used.Need()>>20, used.Cost())
		}
		for _, k := range slices.Sorted(maps.Keys(phases)) {
			fmt.Printf(" %s %.2f", k, ms(phases[k]))
		}
		fmt.Println()
	}
}

// tries returns the changes of the tuning that the flags ask for, beginning with no change.
func tries() []func(*msmplan.Params) {
	all := []func(*msmplan.Params){nil}
	for _, w := range strings.Split(*window, ",") {
		if k, err := strconv.Atoi(w); err == nil {
			all = append(all, func(u *msmplan.Params) { u.Window = k })
		}
	}
	if *inTurn {
		all = append(all, func(u *msmplan.Params) { u.InTurn = true })
	}
	for _, k := range strings.Split(*pairs, ",") {
		switch k, err := strconv.Atoi(k); {
		case err != nil:
		case k == 0:
			all = append(all, func(u *msmplan.Params) { u.Pair = 0 })
		default:
			all = append(all, func(u *msmplan.Params) { u.Pair, u.Invert, u.PairLevels = min(u.Pair, 0.6), 0, k })
		}
	}
	for _, k := range strings.Split(*running, ",") {
		switch k, err := strconv.Atoi(k); {
		case err != nil:
		case k == 0:
			all = append(all, func(u *msmplan.Params) { u.Affine = 0 })
		default:
			all = append(all, func(u *msmplan.Params) { u.Affine, u.Pair, u.AffineLevels = 0.66, 0, k })
		}
	}
	if k, err := strconv.Atoi(*over); err == nil {
		all = append(all, func(u *msmplan.Params) { u.Overlap = 1 << k })
	}
	for _, l := range strings.Split(*levels, ",") {
		var first, other int
		if n, _ := fmt.Sscanf(l, "%d/%d", &first, &other); n == 2 {
			all = append(all, func(u *msmplan.Params) { u.FirstLevel, u.Level = first, other })
		}
	}
	return all
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func log2(n int) (k int) {
	for n > 1 {
		n, k = n/2, k+1
	}
	return k
}
