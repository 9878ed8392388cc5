package cli

import (
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/units"
)

// What the help says of most measurements' flags.
const (
	BackendHelp = "cpu, cuda, plugin:NAME, plugin:PATH"
	anyBackend  = "cpu, reference, cuda, cuda:0-1, plugin:NAME, plugin:PATH"
	AfterWarmUp = "timed runs, after one to warm up"
)

// benchCommand makes the command that times MSMs, with those of other measurements and of
// records below it.
func (a *App) benchCommand() *cobra.Command {
	c := a.Measures(&cobra.Command{Use: "bench", Short: "Time MSMs of one or more backends, in alternating runs"}, msmMeasurement())
	for _, m := range []struct {
		use, short string
		Measurement
	}{
		{"points", "Time steps over points: fixed base, Lagrange form, checks, decompression", pointMeasurement()},
		{"ntt", "Time number-theoretic transforms of vectors over the curves' scalar fields", transformMeasurement()},
		{"rsa", "Time batches of RSA signatures beside crypto/rsa and OpenSSL", rsaMeasurement()},
		{"peers", "Time other libraries' MSMs and transforms in turns with pippin's", peerMeasurement()},
	} {
		c.AddCommand(a.Measures(&cobra.Command{Use: m.use, Short: m.short}, m.Measurement))
	}
	c.AddCommand(a.benchNumbersCommand(), a.compareCommand())
	a.addParts(c, "bench")
	return c
}

func msmMeasurement() Measurement {
	w := &bench.MSM{}
	return Measurement{
		Long: `Time MSMs through the typed API, as a prover calls it, from host scalars to the
affine point. Bases are random multiples of the generator, loaded beforehand and
kept in files between runs. Of several backends, every round has one MSM on each.`,
		Example: `  msm bench --size 2^16 --curve all --backend cpu --check
  msm bench --size 2^16,2^18,2^20 --backend cpu,plugin:cpu --path both --plot msm.svg
  msm bench --size 2^26 --backend cuda --format json --out record.json`,
		Of: w, Backends: anyBackend, Count: "timed runs, after those of --warmup", Seed: "chooses points and scalars",
		Cached: true, gobench: true, plot: func(d *Drawing) drawer { return d.MSMs }, drawn: "time against size",
		less: "choose a smaller --size or fewer backends", Phases: &w.Phases,
		Flags: func(s *Settings) {
			Numbers(s, &w.Sizes, "size", "2^16", "points: 1000000, 2^20, 1<<20, 1Mi", units.ParseSize)
			Choice(s, &w.Curves, "curve", "bn254", backend.Curves(), backend.ParseCurve, "")
			Choice(s, &w.Groups, "group", "g1", backend.Groups(), backend.ParseGroup, "")
			Choice(s, &w.Distributions, "distribution", "uniform", fixtures.Distributions(), fixtures.ParseDistribution, "scalars: ")
			Value(s, &w.Paths, "path", "copy", "where a plugin's scalars are: copy (a Go slice), arena (shared memory), both", parsePaths)
			Completes(s.Command, "path", pathNames)
			Value(s, &w.Until, "until", "",
				"go on after --count runs until all medians are known to this share, such as 1%, at 95 % confidence",
				func(text string) (float64, error) { return parsePercent("until", text) })
			Value(s, &w.Warmup, "warmup", "1", "runs of each backend and input that are not timed, before the others", parseWarmup)
			flags := s.Flags()
			flags.DurationVar(&w.Within, "within", time.Minute, "how long --until may go on for each input")
			flags.IntVar(&w.BackToBack, "back-to-back", 0,
				"also time that many runs in a row without a pause, --count times (20 when no number is given)")
			flags.Lookup("back-to-back").NoOptDefVal = "20"
			flags.IntVar(&w.Callers, "callers", 0, "how many callers share the runs of --back-to-back, at the same time")
			flags.BoolVar(&w.Batch, "batch", false, "each row of --back-to-back is one batch, of MSMs with scalars of their own")
			flags.IntVar(&w.Multiples, "multiples", 8192,
				"how many multiples of each base backends may make beforehand, itself included: 1 is none")
			flags.BoolVar(&w.Uniform, "uniform", false,
				"say to backends that scalars look random, so that they may prepare for that")
			flags.BoolVar(&w.Phases, "phases", false,
				"also record what a GPU took for each phase of the same runs, which timing them delays by some 0.2 ms")
			flags.BoolVar(&w.Check, "check", false,
				"compare every answer with the one known from discrete logarithms, and those with double-and-add")
		},
	}
}

// parseWarmup reads a number above 0: 0 would be the workload's default.
func parseWarmup(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, usageError{fmt.Errorf("--warmup %s: want a number above 0", text)}
	}
	return n, nil
}

func pointMeasurement() Measurement {
	w := &bench.Points{}
	return Measurement{
		Long: `Time steps of programs over points: multiples of one point, the inverse transform,
whether points are in the group, and points from compressed bytes. Points and scalars
are in the backend's memory, encodings in the caller's. Every answer is compared with
gnark-crypto's: all points of checks and encodings, a sample of products.`,
		Example: `  msm bench points --curve bn254 --group g1 --size 2^16 --backend cpu
  msm bench points --step fixed-base,lagrange --curve all --group g1 --size 2^20 --backend cuda --stock`,
		Of: w, Backends: BackendHelp, Count: AfterWarmUp, Seed: "chooses the base and the scalars",
		Flags: func(s *Settings) {
			Choice(s, &w.Steps, "step", "all", bench.PointSteps(), named("step", bench.PointSteps()), "")
			Choice(s, &w.Curves, "curve", "bn254", backend.Curves(), backend.ParseCurve, "")
			Choice(s, &w.Groups, "group", "g1", backend.Groups(), backend.ParseGroup, "")
			Numbers(s, &w.Sizes, "size", "2^16", "points, powers of two", units.ParseSize)
			s.Flags().BoolVar(&w.Stock, "stock", false, "time gnark-crypto's own functions as well, once, on all processors")
		},
	}
}

func transformMeasurement() Measurement {
	w := &bench.Transforms{}
	return Measurement{
		Long: `Time number-theoretic transforms of vectors over the curves' scalar fields, in the
backend's memory: from natural to bit-reversed order, back by the inverse, both on a coset
too, and from natural to natural order. Every element of every answer is compared with
gnark-crypto's, whose time on the CPU is shown beside.`,
		Example: `  msm bench ntt --curve bn254 --size 2^20 --backend cuda
  msm bench ntt --way forward,inverse --curve all --size 2^10,2^20,2^24 --batch 4 --backend cuda --format json`,
		Of: w, Backends: BackendHelp, Count: AfterWarmUp, Seed: "chooses the elements",
		Flags: func(s *Settings) {
			Choice(s, &w.Ways, "way", "all", bench.TransformWays(), named("way", bench.TransformWays()), "")
			Choice(s, &w.Curves, "curve", "bn254", backend.Curves(), backend.ParseCurve, "")
			Numbers(s, &w.Sizes, "size", "2^16", "elements of a vector, powers of two", units.ParseSize)
			s.Flags().IntVar(&w.Batch, "batch", 1, "vectors that are transformed together")
		},
	}
}

func rsaMeasurement() Measurement {
	w := &bench.RSA{}
	return Measurement{
		Long: `Time RSA signatures by the Chinese remainder theorem, in batches of one key, by
arith.Calculator.ExpModCRT, which checks each: signatures a second, and the latency of a
batch. crypto/rsa signs the same digests on all processors, and "openssl speed" runs once
a width where the program is there. Every signature is verified afterwards.`,
		Example: `  msm bench rsa --bits 2048 --batch 1,16,256 --backend cpu
  msm bench rsa --bits 2048,3072,4096 --batch 1,256,4096,16384,65536 --backend cuda --out rsa.json`,
		Of: w, Backends: BackendHelp, Count: "timed batches, after one to warm up",
		Flags: func(s *Settings) {
			Numbers(s, &w.Bits, "bits", "2048", "widths of the modulus", strconv.Atoi)
			Numbers(s, &w.Batches, "batch", "1,16,256", "signatures of a batch", units.ParseSize)
			s.Flags().IntVar(&w.InFlight, "in-flight", 1, "batches at a time")
			help := `the program, left out where it is not there; "" leaves it out`
			Value(s, &w.OpenSSL, "openssl", "openssl", help, func(name string) (string, error) {
				path, _ := exec.LookPath(name)
				return path, nil
			})
		},
	}
}

func peerMeasurement() Measurement {
	w := &bench.Peers{}
	return Measurement{
		Long: `Time the MSMs, transforms and modular powers of other libraries, by programs that
bench/peers/build makes, in turns with a backend's: the same points, the same uniform
scalars, the same numbers, the same card.
Every answer is compared, of MSMs with known discrete logarithms. What a time has in it
is in the record. A program that fails is left out, with a note.

The backend keeps multiples of points on the card: leave the libraries room there with
PIPPIN_GPU_MEMORY, such as 40GiB of 80.`,
		Example: `  bench/peers/build peers
  PIPPIN_GPU_MEMORY=40GiB msm bench peers --programs peers --curve bn254 --size 2^20,2^22 --format json --out peers.json`,
		Of: w, Backends: "cuda, plugin:NAME, plugin:PATH, cpu", otherwise: "cuda", one: true,
		Count: "timed runs of each program, after one to warm up", Seed: "chooses points and scalars", Cached: true,
		Flags: func(s *Settings) {
			s.Flags().StringVar(&w.Programs, "programs", "peers", "folder that bench/peers/build made")
			s.Flags().StringSliceVar(&w.Only, "only", nil, "programs of it, such as sppark-bn254-g1"+Several+"; all without it")
			Choice(s, &w.Curves, "curve", "all", backend.Curves(), backend.ParseCurve, "")
			Numbers(s, &w.Sizes, "size", "2^20,2^22", "points and elements, powers of two", units.ParseSize)
			Numbers(s, &w.Batches, "batch", "2^14,2^16", "numbers of a batch of modular powers", units.ParseSize)
			s.Flags().DurationVar(&w.Patience, "patience", 2*time.Minute, "time that a program has until it is ready, and for each answer")
		},
	}
}
