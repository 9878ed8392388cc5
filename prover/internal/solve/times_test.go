package solve_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	cs761 "github.com/consensys/gnark/constraint/bw6-761"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

var (
	times  = flag.String("times", "", "numbers of processors, such as 1,2,4, to time our solver with")
	out    = flag.String("record", "", "file for a record of -times")
	commit = flag.String("commit", "", "pippin's commit, for the record")
	rounds = flag.Int("rounds", 9, "solutions timed with each number of processors")
	only   = flag.String("only", "", "circuits that are timed, such as groth16/ecdsa,plonk/sha256-2k, in place of all")
)

// timed is the solutions of one circuit by so many processors.
type timed struct {
	Op          string    `json:"op"`
	System      string    `json:"system"`
	Circuit     string    `json:"circuit"`
	Curve       string    `json:"curve"`
	Constraints int       `json:"constraints"`
	Tasks       int       `json:"tasks"` // processors
	Count       int       `json:"count"`
	MinMS       float64   `json:"min_ms"`
	MedianMS    float64   `json:"median_ms"`
	Samples     []float64 `json:"samples_ms"`
	CPUMS       float64   `json:"cpu_ms"`             // of all processors, the least of them
	FirstMS     float64   `json:"first_ms,omitempty"` // by gnark's levels, with a schedule being made beside, and new memory
	Checked     bool      `json:"checked"`
}

// TestTimes prints what solving circuits takes, each solution compared with gnark's, and
// writes a record.
func TestTimes(t *testing.T) {
	if *times == "" {
		t.Skip("no -times given")
	}
	logger.Disable()
	var processors []int
	for s := range strings.SplitSeq(*times, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		processors = append(processors, n)
	}
	machine := record.ThisMachine(*commit) // with all its processors
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var runs []timed
	for _, c := range []struct {
		circuit, system string
		curve           backend.Curve
	}{
		{"ecdsa", "groth16", backend.BN254}, {"sha256-2k", "groth16", backend.BN254}, {"recursion", "groth16", backend.BW6761},
		{"ecdsa", "plonk", backend.BN254}, {"sha256-2k", "plonk", backend.BN254},
	} {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), c.system+"/"+c.circuit) {
			continue
		}
		runtime.GOMAXPROCS(slices.Max(processors))
		stated, err := circuits.New(c.circuit, c.curve, 256, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		build := frontend.NewBuilder(r1cs.NewBuilder[constraint.U64])
		if c.system == "plonk" {
			build = scs.NewBuilder[constraint.U64]
		}
		field := c.curve.ScalarField()
		ccs, err := frontend.Compile(field, build, stated.Circuit)
		if err != nil {
			t.Fatal(err)
		}
		w, err := frontend.NewWitness(stated.Assignment, field)
		if err != nil {
			t.Fatal(err)
		}
		first := timed{Op: "solve", System: c.system, Circuit: c.circuit, Curve: c.curve.String(), Constraints: ccs.GetNbConstraints()}
		once := solution(t, ccs, w)
		first.FirstMS, _ = once()
		time.Sleep(time.Second) // until there is a schedule
		for i, n := range processors {
			runtime.GOMAXPROCS(n)
			r := first
			if i > 0 {
				r.FirstMS = 0
			}
			r.Tasks, r.Count, r.Checked = n, *rounds, true
			once()
			for range r.Count {
				runtime.GC()
				took, cpu := once()
				r.Samples = append(r.Samples, took)
				if r.CPUMS == 0 || cpu < r.CPUMS {
					r.CPUMS = cpu
				}
			}
			sorted := slices.Sorted(slices.Values(r.Samples))
			r.MinMS, r.MedianMS = sorted[0], sorted[len(sorted)/2]
			t.Logf("%s %s: %d processors: %.1f to %.1f ms, median %.1f, processors' time %.1f, first %.1f",
				r.System, r.Circuit, n, r.MinMS, sorted[len(sorted)-1], r.MedianMS, r.CPUMS, r.FirstMS)
			runs = append(runs, r)
		}
	}
	if *out == "" {
		return
	}
	text, err := json.MarshalIndent(map[string]any{"machine": machine, "gnark": gnark.Version.String(), "runs": runs}, "", "  ")
	if err == nil {
		err = os.WriteFile(*out, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func over254(ccs *cs254.R1CS) solve.System[fr254.Element] {
	return solve.System[fr254.Element]{
		System: assignment.System[fr254.Element]{System: &ccs.System, Coefficients: ccs.Coefficients}, Solver: assignment.Over[fr254.Element](),
		Inputs: func(w witness.Witness) ([]fr254.Element, bool) { return w.Vector().(fr254.Vector), true },
	}
}

// solution returns what solves once and says how many milliseconds that took, and how many
// of all processors. Each
// solution is compared with gnark's.
func solution(t *testing.T, ccs constraint.ConstraintSystem, w witness.Witness) func() (took, cpu float64) {
	switch ccs := ccs.(type) {
	case *cs254.R1CS:
		return solutionOf(t, over254(ccs), w, *new(fr254.Element).SetBigInt(samples.Answer),
			func(opts ...solver.Option) (s [4]fr254.Vector, err error) {
				sol, err := ccs.Solve(w, opts...)
				switch sol := sol.(type) {
				case *cs254.R1CSSolution:
					s[0] = sol.W
				case *cs254.SparseR1CSSolution:
					s = [4]fr254.Vector{nil, sol.L, sol.R, sol.O}
				}
				return s, err
			})
	case *cs761.R1CS:
		return solutionOf(t, solve.System[fr761.Element]{
			System: assignment.System[fr761.Element]{System: &ccs.System, Coefficients: ccs.Coefficients}, Solver: assignment.Over[fr761.Element](),
			Inputs: func(w witness.Witness) ([]fr761.Element, bool) { return w.Vector().(fr761.Vector), true },
		}, w, *new(fr761.Element).SetBigInt(samples.Answer), func(opts ...solver.Option) (s [4]fr761.Vector, err error) {
			sol, err := ccs.Solve(w, opts...)
			if sol, ok := sol.(*cs761.R1CSSolution); ok {
				s[0] = sol.W
			}
			return s, err
		})
	}
	t.Fatalf("%T", ccs)
	return nil
}

func solutionOf[S comparable, V ~[]S](t *testing.T, sys solve.System[S], w witness.Witness, answer S,
	gnark func(...solver.Option) ([4]V, error)) func() (took, cpu float64) {
	opts := samples.Fixed(sys.MHintsDependencies)
	want, err := gnark(opts...)
	if err != nil {
		t.Fatal(err)
	}
	before := solve.LeftToGnark()
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return func() (float64, float64) {
		start, cpu := time.Now(), samples.CPUTime()
		sol, err := sys.Run(context.Background(), w, opts, func([]S) (S, error) { return answer, nil })
		took := time.Since(start)
		cpu = samples.CPUTime() - cpu
		if err != nil || solve.LeftToGnark() != before {
			t.Fatal("not solved by our solver: ", err)
		}
		columns := samples.Columns(sys.System.System, sol.Wires, assignment.Columns)
		for i, told := range [][]S{sol.Wires, columns[0], columns[1], columns[2]} {
			if want[i] != nil && !slices.Equal(told, want[i]) {
				t.Fatal("not gnark's solution")
			}
		}
		sys.Solver.Free(sol)
		return ms(took), ms(cpu)
	}
}
