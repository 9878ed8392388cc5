package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/units"
)

// What the help says of most measurements' flags.
const (
	backendHelp  = "cpu, cuda, plugin:NAME, plugin:PATH"
	anyBackend   = "cpu, reference, cuda, cuda:0-1, plugin:NAME, plugin:PATH"
	afterWarmUp  = "timed runs, after one to warm up"
	ownSetupHelp = "make keys that are not kept yet on the first backend, in place of by gnark"
	keepHelp     = "read keys from files, and write those that are set up"
)

// benchCommand makes the command that times MSMs, with those of other measurements and of
// records below it.
func (a *app) benchCommand() *cobra.Command {
	c := a.measureCommand(msmMeasurement())
	for _, m := range []measurement{proofMeasurement(), setupMeasurement(), ceremonyMeasurement(), coldMeasurement(),
		pointMeasurement(), transformMeasurement(), cellMeasurement(), rsaMeasurement(), peerMeasurement()} {
		c.AddCommand(a.measureCommand(m))
	}
	c.AddCommand(a.benchNumbersCommand(), a.compareCommand(), a.plotCommand())
	return c
}

func msmMeasurement() measurement {
	w := &bench.MSM{}
	return measurement{
		use: "bench", short: "Time MSMs of one or more backends, in alternating runs",
		long: `Time MSMs through the typed API, as a prover calls it, from host scalars to the
affine point. Bases are random multiples of the generator, loaded beforehand and
kept in files between runs. Of several backends, every round has one MSM on each.`,
		example: `  msm bench --size 2^16 --curve all --backend cpu --check
  msm bench --size 2^16,2^18,2^20 --backend cpu,plugin:cpu --path both --plot msm.svg
  msm bench --size 2^26 --backend cuda --format json --out record.json`,
		of: w, backends: anyBackend, count: "timed runs, after those of --warmup", seed: "chooses points and scalars",
		cached: true, gobench: true, plot: report.WritePlot, drawn: "time against size",
		less: "choose a smaller --size or fewer backends", phases: &w.Phases,
		flags: func(s *settings) {
			numbers(s, &w.Sizes, "size", "2^16", "points: 1000000, 2^20, 1<<20, 1Mi", units.ParseSize)
			choice(s, &w.Curves, "curve", "bn254", backend.Curves(), backend.ParseCurve, "")
			choice(s, &w.Groups, "group", "g1", backend.Groups(), backend.ParseGroup, "")
			choice(s, &w.Distributions, "distribution", "uniform", fixtures.Distributions(), fixtures.ParseDistribution, "scalars: ")
			value(s, &w.Paths, "path", "copy", "where a plugin's scalars are: copy (a Go slice), arena (shared memory), both", parsePaths)
			completes(s.Command, "path", pathNames)
			value(s, &w.Until, "until", "",
				"go on after --count runs until all medians are known to this share, such as 1%, at 95 % confidence",
				func(text string) (float64, error) { return parsePercent("until", text) })
			value(s, &w.Warmup, "warmup", "1", "runs of each backend and input that are not timed, before the others", parseWarmup)
			flags := s.Flags()
			flags.DurationVar(&w.Within, "within", time.Minute, "how long --until may go on for each input")
			flags.IntVar(&w.BackToBack, "back-to-back", 0,
				"also time that many runs in a row without a pause, --count times (20 when no number is given)")
			flags.Lookup("back-to-back").NoOptDefVal = "20"
			flags.IntVar(&w.Callers, "callers", 0, "how many callers share the runs of --back-to-back, at the same time")
			flags.BoolVar(&w.Batch, "batch", false, "each row of --back-to-back is one batch, of MSMs with scalars of their own")
			flags.IntVar(&w.Multiples, "multiples", 512,
				"how many multiples of each base backends may make beforehand, itself included: 1 is none")
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

// statementFlags adds the flags that say which circuits, on which curves.
func statementFlags(s *settings, w *bench.Statements) {
	systems := texts(proofsystem.Systems())
	value(s, &w.System, "system", string(proofsystem.Groth16), strings.Join(systems, ", "), func(text string) (proofsystem.System, error) {
		return proofsystem.System(text), oneOf("system", text, systems...)
	})
	completes(s.Command, "system", proofsystem.Systems())
	choice(s, &w.Circuits, "circuit", "mimc", circuits.Names(), circuits.Parse, "")
	help := names(backend.Curves()) + " (default bn254, and the only one that recursion has)"
	value(s, &w.Curves, "curve", "", help, func(text string) ([]backend.Curve, error) {
		if text == "" {
			return nil, nil
		}
		return parseCurves(text)
	})
	completes(s.Command, "curve", backend.Curves(), "all")
	s.Flags().IntVar(&w.Hashes, "hashes", 256, "length of the chain of hashes that the circuit mimc is")
	s.Flags().IntVar(&w.Squares, "squares", 1<<16, "constraints of the circuit squares")
}

// keptKeyFlags adds the flags that say where keys come from.
func keptKeyFlags(s *settings, w *bench.Statements) {
	s.Flags().BoolVar(&w.OwnSetup, "own-setup", false, ownSetupHelp)
	keep := s.Flags().Bool("keep", true, keepHelp)
	s.read = append(s.read, func() error { w.NoKeep = !*keep; return nil })
}

func proofMeasurement() measurement {
	w := &bench.Proofs{}
	return measurement{
		use: "prove", short: "Time proofs of one or more backends and of gnark, in alternating runs",
		long: `Time Groth16 or PLONK proofs by gnark's own prover and by pippin's on every backend, with
the same key and witness. Every round has one proof by gnark and one on each
backend, in turns; all of them are verified, outside of the time. Keys are set up when a
circuit is proved for the first time, which can take minutes, and kept in files.`,
		example: `  msm bench prove --circuit mimc --hashes 100
  msm bench prove --circuit ecdsa,sha256-2k --backend cpu,cuda --format json --out record.json
  msm bench prove --circuit recursion --backend cuda
  msm bench prove --system plonk --circuit ecdsa --backend cpu,cuda
  msm bench prove --circuit squares --squares 16777216 --backend cuda --own-setup --keep=false --stock=false`,
		of: w, backends: backendHelp, count: "timed proofs, after one to warm up", cached: true,
		flags: func(s *settings) {
			statementFlags(s, &w.Statements)
			keptKeyFlags(s, &w.Statements)
			help := "Groth16's merging of equal bases and scalars: auto (where it pays), never" + several
			value(s, &w.Merge, "merge", "auto", help, func(text string) ([]report.Merge, error) {
				return parseList("merge", text, report.Merges(), report.ParseMerge)
			})
			completes(s.Command, "merge", report.Merges())
			s.Flags().IntVar(&w.InFlight, "in-flight", 0, "also a stream of proofs, that many at a time; 0 is none")
			stock := s.Flags().Bool("stock", true, "prove by gnark as well, in the same rounds")
			cold := s.Flags().Bool("cold", false, "")
			_ = s.Flags().MarkHidden("cold")
			s.read = append(s.read, func() error {
				if w.NoStock = !*stock; *cold {
					return usageError{errors.New("first proofs, with keys from files, have a command: msm bench cold")}
				}
				return nil
			})
		},
	}
}

func setupMeasurement() measurement {
	w := &bench.Setup{}
	return measurement{
		use: "setup", short: "Time how long the keys of circuits take to make on one or more backends",
		long: `Time Groth16 or PLONK set-ups by pippin on every backend, from the constraint system to
both keys. With every key gnark makes a proof and verifies it, outside of the time. The
KZG setup that PLONK needs is made once, before the clock starts. No key is kept.`,
		example: `  msm bench setup --circuit mimc --hashes 100 --stock
  msm bench setup --system plonk --circuit ecdsa --backend cpu,cuda --count 5
  msm bench setup --circuit sha256-2k --backend cuda --stock --format json --out setup.json`,
		of: w, backends: backendHelp, count: "timed set-ups, after one to warm up",
		flags: func(s *settings) {
			statementFlags(s, &w.Statements)
			s.Flags().BoolVar(&w.Stock, "stock", false, "time gnark's own set-up as well, once")
		},
	}
}

func coldMeasurement() measurement {
	w := &bench.Cold{}
	return measurement{
		use: "cold", short: "Time first proofs, from a proving key in a file or from the program's start",
		long: `Time the first proof on every backend, from opening the file of a compressed proving
key: the key is read and checked on the backend, loaded, and proved with. The bytes of the
file are in the page cache; constraint system and witness are in memory. Every run reads
the key again, and gnark verifies every proof, outside of the time.

With --start there is one run, from this program's start on: it reads the constraint system
from its file and opens the backend too. A run without --start keeps what it needs.`,
		example: `  msm bench cold --circuit mimc --hashes 100 --stock
  msm bench cold --circuit mimc --hashes 100 --start
  msm bench cold --circuit sha256-2k --backend cuda --own-setup --stock --format json --out cold.json`,
		of: w, backends: backendHelp, count: "timed first proofs", cached: true,
		flags: func(s *settings) {
			statementFlags(s, &w.Statements)
			keptKeyFlags(s, &w.Statements)
			s.Flags().BoolVar(&w.Stock, "stock", false, "time gnark's own reader and prover as well, once")
			s.Flags().BoolVar(&w.Start, "start", false,
				"once, from this program's start on: one circuit, curve and backend, with a key that is kept")
		},
	}
}

func ceremonyMeasurement() measurement {
	w := &bench.Ceremony{}
	return measurement{
		use: "ceremony", short: "Time the parts of a ceremony for Groth16's keys (gnark's mpcsetup)",
		long: `Time the parts of a ceremony for Groth16's keys on BN254, phases 1 and 2: contributions, the
way through a file, verifications, seals, and the beginning for a circuit of squares. With
the keys gnark makes a proof and verifies it, outside of the time.`,
		example: `  msm bench ceremony --size 2^12 --stock
  msm bench ceremony --size 2^20 --backend cuda --count 3 --format json --out FILE`,
		of: w, backends: backendHelp, count: afterWarmUp,
		flags: func(s *settings) {
			numbers(s, &w.Sizes, "size", "2^12", "sizes of the domain, powers of two", units.ParseSize)
			s.Flags().BoolVar(&w.Stock, "stock", false, "time gnark's own as well, once")
		},
	}
}

func pointMeasurement() measurement {
	w := &bench.Points{}
	return measurement{
		use: "points", short: "Time steps over points: fixed base, Lagrange form, checks, decompression",
		long: `Time steps of programs over points: multiples of one point, the inverse transform,
whether points are in the group, and points from compressed bytes. Points and scalars
are in the backend's memory, encodings in the caller's. Every answer is compared with
gnark-crypto's: all points of checks and encodings, a sample of products.`,
		example: `  msm bench points --curve bn254 --group g1 --size 2^16 --backend cpu
  msm bench points --step fixed-base,lagrange --curve all --group g1 --size 2^20 --backend cuda --stock`,
		of: w, backends: backendHelp, count: afterWarmUp, seed: "chooses the base and the scalars",
		flags: func(s *settings) {
			choice(s, &w.Steps, "step", "all", bench.PointSteps(), named("step", bench.PointSteps()), "")
			choice(s, &w.Curves, "curve", "bn254", backend.Curves(), backend.ParseCurve, "")
			choice(s, &w.Groups, "group", "g1", backend.Groups(), backend.ParseGroup, "")
			numbers(s, &w.Sizes, "size", "2^16", "points, powers of two", units.ParseSize)
			s.Flags().BoolVar(&w.Stock, "stock", false, "time gnark-crypto's own functions as well, once, on all processors")
		},
	}
}

func transformMeasurement() measurement {
	w := &bench.Transforms{}
	return measurement{
		use: "ntt", short: "Time number-theoretic transforms of vectors over the curves' scalar fields",
		long: `Time number-theoretic transforms of vectors over the curves' scalar fields, in the
backend's memory: from natural to bit-reversed order, back by the inverse, both on a coset
too, and from natural to natural order. Every element of every answer is compared with
gnark-crypto's, whose time on the CPU is shown beside.`,
		example: `  msm bench ntt --curve bn254 --size 2^20 --backend cuda
  msm bench ntt --way forward,inverse --curve all --size 2^10,2^20,2^24 --batch 4 --backend cuda --format json`,
		of: w, backends: backendHelp, count: afterWarmUp, seed: "chooses the elements",
		flags: func(s *settings) {
			choice(s, &w.Ways, "way", "all", bench.TransformWays(), named("way", bench.TransformWays()), "")
			choice(s, &w.Curves, "curve", "bn254", backend.Curves(), backend.ParseCurve, "")
			numbers(s, &w.Sizes, "size", "2^16", "elements of a vector, powers of two", units.ParseSize)
			s.Flags().IntVar(&w.Batch, "batch", 1, "vectors that are transformed together")
		},
	}
}

func cellMeasurement() measurement {
	w := &bench.Cells{}
	return measurement{
		use: "cells", short: "Time EIP-7594's cells and KZG proofs of blobs",
		long: `Time the cells and KZG proofs of blobs by EIP-7594 (PeerDAS), a call for all blobs:
blobs, cells and proofs are bytes in this process, tables are loaded before. go-eth-kzg
computes the same once, on all processors, and every answer is compared with its own, as
are recovered blobs and a commitment outside of the time.
The setup is made of a secret that everybody knows.`,
		example: `  msm bench cells --blobs 1,4 --backend cpu
  msm bench cells --blobs 1,64 --backend cuda --format json --out FILE`,
		of: w, backends: backendHelp, count: afterWarmUp, seed: "chooses the blobs and the secret of the setup",
		phases: &w.Phases,
		flags: func(s *settings) {
			numbers(s, &w.Blobs, "blobs", "1,64", "blobs of a call", strconv.Atoi)
			s.Flags().BoolVar(&w.Phases, "phases", false, "show what spaces, programs and the steps on a card take")
		},
	}
}

func rsaMeasurement() measurement {
	w := &bench.RSA{}
	return measurement{
		use: "rsa", short: "Time batches of RSA signatures beside crypto/rsa and OpenSSL",
		long: `Time RSA signatures by the Chinese remainder theorem, in batches of one key, by
arith.Calculator.ExpModCRT, which checks each: signatures a second, and the latency of a
batch. crypto/rsa signs the same digests on all processors, and "openssl speed" runs once
a width where the program is there. Every signature is verified afterwards.`,
		example: `  msm bench rsa --bits 2048 --batch 1,16,256 --backend cpu
  msm bench rsa --bits 2048,3072,4096 --batch 1,256,4096,16384,65536 --backend cuda --out rsa.json`,
		of: w, backends: backendHelp, count: "timed batches, after one to warm up",
		flags: func(s *settings) {
			numbers(s, &w.Bits, "bits", "2048", "widths of the modulus", strconv.Atoi)
			numbers(s, &w.Batches, "batch", "1,16,256", "signatures of a batch", units.ParseSize)
			s.Flags().IntVar(&w.InFlight, "in-flight", 1, "batches at a time")
			help := `the program, left out where it is not there; "" leaves it out`
			value(s, &w.OpenSSL, "openssl", "openssl", help, func(name string) (string, error) {
				path, _ := exec.LookPath(name)
				return path, nil
			})
		},
	}
}

func peerMeasurement() measurement {
	w := &bench.Peers{}
	return measurement{
		use: "peers", short: "Time other libraries' MSMs and transforms in turns with pippin's",
		long: `Time the MSMs and transforms of other libraries, by programs that bench/peers/build makes,
in turns with a backend's: the same points, the same uniform scalars, the same card.
Every answer is compared, of MSMs with known discrete logarithms. What a time has in it
is in the record. A program that fails is left out, with a note.

The backend keeps multiples of points on the card: leave the libraries room there with
PIPPIN_GPU_MEMORY, such as 40GiB of 80.`,
		example: `  bench/peers/build peers
  PIPPIN_GPU_MEMORY=40GiB msm bench peers --programs peers --curve bn254 --size 2^20,2^22 --format json --out peers.json`,
		of: w, backends: "cuda, plugin:NAME, plugin:PATH, cpu", otherwise: "cuda", one: true,
		count: "timed runs of each program, after one to warm up", seed: "chooses points and scalars", cached: true,
		flags: func(s *settings) {
			s.Flags().StringVar(&w.Programs, "programs", "peers", "folder that bench/peers/build made")
			s.Flags().StringSliceVar(&w.Only, "only", nil, "programs of it, such as sppark-bn254-g1"+several+"; all without it")
			choice(s, &w.Curves, "curve", "all", backend.Curves(), backend.ParseCurve, "")
			numbers(s, &w.Sizes, "size", "2^20,2^22", "points and elements, powers of two", units.ParseSize)
			s.Flags().DurationVar(&w.Patience, "patience", 2*time.Minute, "time that a program has until it is ready, and for each answer")
		},
	}
}
