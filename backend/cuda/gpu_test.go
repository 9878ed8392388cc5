//go:build cuda

package cuda

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/fixtures"
)

var (
	sizes  = flag.String("sizes", "", "sizes of TestTimes, such as 2^20,2^22")
	groups = flag.String("groups", "bn254/g1,bls12-377/g1,bls12-381/g1,bw6-761/g1,bn254/g2,bls12-377/g2,bls12-381/g2,bw6-761/g2", "groups of TestLarge and TestTimes")
	dists  = flag.String("dists", "uniform", "distributions of TestTimes")
	window = flag.String("windows", "", "windows that TestTimes tries beside the plan's, such as 15,16")
	levels = flag.String("levels", "", "levels of the reduction that TestTimes tries beside the plan's: first/other, such as 3/2,4/2")
	over   = flag.String("overlap", "", "sizes from which TestTimes tries to hide the copy, as logarithms, such as 20")
	seed   = flag.Uint64("seed", uint64(time.Now().UnixNano()), "seed of random inputs")
	cases  = flag.Int("cases", 200, "cases of TestDifference")
	full   = flag.Bool("full", false, "the full conformance suite")
	most   = flag.Int("most", 1<<17, "the largest size of TestRight")
	memory = flag.Int64("memory", 0, "bytes of device memory to use")
)

// open opens the device, or skips the test where there is none. A machine that
// is said to have one, by PIPPIN_GPU=1, must have one.
func open(t testing.TB, o Options) *Backend {
	t.Helper()
	if o.Memory == 0 {
		o.Memory = *memory
	}
	b, err := Open(o)
	if errors.Is(err, backend.ErrUnavailable) && os.Getenv("PIPPIN_GPU") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestConformance(t *testing.T) {
	open(t, Options{}).Close()
	onGPU(t)
	backendtest.Run(t, func(t testing.TB) backend.Backend { return open(t, Options{}) }, backendtest.Options{Full: *full, Seed: *seed})
}

// eachGroup runs a test for every group of the flag.
func eachGroup(t *testing.T, f func(t *testing.T, c backend.Curve, g backend.Group)) {
	for _, name := range strings.Split(*groups, ",") {
		curve, group, _ := strings.Cut(name, "/")
		c, err := backend.ParseCurve(curve)
		if err != nil {
			t.Fatal(err)
		}
		g, err := backend.ParseGroup(group)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { f(t, c, g) })
	}
}

// judge computes one MSM and compares it with the discrete logarithms.
func judge(t *testing.T, b backend.Backend, p *fixtures.Points, id backend.BasesID, offset int, scalars []byte, what string) {
	t.Helper()
	n := len(scalars) / p.Key().Curve.ScalarBytes()
	got, err := b.MSM(context.Background(), []backend.Job{{Bases: id, Offset: offset, Count: n, Scalars: scalars}})
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

// onGPU skips a test that takes too long on the fake driver.
func onGPU(t *testing.T) {
	if os.Getenv("FAKECUDA_KERNELS") != "" && !*full {
		t.Skip("-full runs this test on the fake driver")
	}
}

// TestRight compares with discrete logarithms over all sets of points and all
// distributions, at sizes around those where the code changes its way.
func TestRight(t *testing.T) {
	onGPU(t)
	b := open(t, Options{})
	defer b.Close()
	eachGroup(t, func(t *testing.T, c backend.Curve, g backend.Group) {
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

// TestDifference compares with gnark-crypto on random small batches.
func TestDifference(t *testing.T) {
	onGPU(t)
	b := open(t, Options{})
	defer b.Close()
	c := cpu.New(cpu.Options{})
	defer c.Close()
	backendtest.Difference(t, b, c, *seed, *cases)
}

// TestTimes prints times from pinned host scalars to the affine point, and
// checks every answer.
func TestTimes(t *testing.T) {
	if *sizes == "" {
		t.Skip("no -sizes given")
	}
	b := open(t, Options{})
	defer b.Close()
	phases := make(map[string]time.Duration)
	b.trace = func(m map[string]time.Duration) {
		clear(phases)
		for k, v := range m {
			phases[k] = v
		}
	}
	var ns []int
	for _, s := range strings.Split(*sizes, ",") {
		k, err := strconv.Atoi(strings.TrimPrefix(s, "2^"))
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, 1<<k)
	}
	eachGroup(t, func(t *testing.T, c backend.Curve, g backend.Group) {
		p, err := fixtures.NewPoints(c, g, *seed)
		if err != nil {
			t.Fatal(err)
		}
		most := slices.Max(ns)
		start := time.Now()
		id, err := b.LoadBases(t.Context(), backend.Bases{Curve: c, Group: g, Count: most, Pieces: pieces(p, most)})
		if err != nil {
			t.Fatal(err)
		}
		defer b.FreeBases(context.Background(), id)
		fmt.Printf("%v %v: loaded %d in %v\n", c, g, most, time.Since(start).Round(time.Millisecond))
		host, err := b.dev.AllocHost(int64(most * c.ScalarBytes()))
		if err != nil {
			t.Fatal(err)
		}
		defer host.Free()
		for _, n := range ns {
			for _, name := range strings.Split(*dists, ",") {
				d, err := fixtures.ParseDistribution(name)
				if err != nil {
					t.Fatal(err)
				}
				scalars := host.Bytes()[:n*c.ScalarBytes()]
				if err := fixtures.FillScalars(scalars, c, d, *seed, 0); err != nil {
					t.Fatal(err)
				}
				tries := []func(*tuning){nil}
				for _, w := range strings.Split(*window, ",") {
					if k, err := strconv.Atoi(w); err == nil {
						tries = append(tries, func(u *tuning) { u.window = k })
					}
				}
				if k, err := strconv.Atoi(*over); err == nil {
					tries = append(tries, func(u *tuning) { u.overlap = 1 << k })
				}
				for _, l := range strings.Split(*levels, ",") {
					var first, other int
					if n, _ := fmt.Sscanf(l, "%d/%d", &first, &other); n == 2 {
						tries = append(tries, func(u *tuning) { u.firstLevel, u.level = first, other })
					}
				}
				for _, try := range tries {
					b.tune = try
					clear(b.plans)
					judge(t, b, p, id, 0, scalars, fmt.Sprintf("%v %d", d, n))
					var times []time.Duration
					for range 5 {
						start := time.Now()
						if _, err := b.MSM(t.Context(), []backend.Job{{Bases: id, Count: n, Scalars: scalars}}); err != nil {
							t.Fatal(err)
						}
						times = append(times, time.Since(start))
					}
					slices.Sort(times)
					var used *plan
					for _, p := range b.plans {
						used = p
					}
					fmt.Printf("%v %v 2^%d %v: min %.2f median %.2f ms; c=%d windows=%d chunks=%d piece=%d levels=%d/%d %d MiB;", c, g, log2(n), d,
						ms(times[0]), ms(times[2]), used.width, used.windows, len(used.chunks), used.piece, used.tuning.firstLevel, used.tuning.level, used.need()>>20)
					var names []string
					for k := range phases {
						names = append(names, k)
					}
					sort.Strings(names)
					for _, k := range names {
						fmt.Printf(" %s %.2f", k, ms(phases[k]))
					}
					fmt.Println()
				}
				b.tune = nil
			}
		}
	})
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func log2(n int) (k int) {
	for n > 1 {
		n, k = n/2, k+1
	}
	return k
}

// pieces yields points as they are made.
func pieces(p *fixtures.Points, n int) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		const part = 1 << 20
		buf, err := p.Bytes(min(part, n))
		if err != nil {
			yield(nil, err)
			return
		}
		for at := 0; at < n; at += part {
			b := buf[:min(part, n-at)*p.Size()]
			if err := p.Fill(b, at); err != nil || !yield(b, nil) {
				if err != nil {
					yield(nil, err)
				}
				return
			}
		}
	}
}
