package library

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/consensys/gnark"
	"github.com/consensys/gnark-crypto/ecc"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	edwards "github.com/consensys/gnark-crypto/ecc/twistededwards"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	cs377 "github.com/consensys/gnark/constraint/bls12-377"
	cs381 "github.com/consensys/gnark/constraint/bls12-381"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	cs761 "github.com/consensys/gnark/constraint/bw6-761"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// scripts/long solve-library is the test with all circuits on all curves, each in a process that
// may die and must not.
var (
	matrix       = flag.Bool("matrix", false, "TestLibrary with all circuits on four curves")
	matrixChild  = flag.String("matrix-child", "", "a circuit, a curve and a system: only that one")
	matrixRecord = flag.String("matrix-record", "", "file for a record of TestLibrary")
	matrixCommit = flag.String("matrix-commit", "", "pippin's commit, for the record")
	matrixCases  = flag.String("matrix-cases", "", "circuits of TestLibrary whose names begin so")
	matrixLimit  = flag.Duration("matrix-limit", 30*time.Minute, "most time for a circuit on a curve in a system")
)

// spoiledWitnesses is how many wrong witnesses a circuit gets.
const spoiledWitnesses = 10

// libraryRun is a circuit on a curve in the record.
type libraryRun struct {
	Op          string `json:"op"` // "solve-library"
	Circuit     string `json:"circuit"`
	Curve       string `json:"curve"`
	System      string `json:"system"`
	Constraints int    `json:"constraints"`
	Compiles    bool   `json:"compiles"`
	Same        int    `json:"same"`       // solutions that are gnark's, bit for bit
	Refused     int    `json:"refused"`    // witnesses, by both
	Panics      int    `json:"panics"`     // of gnark's solver, at witnesses that are wrong
	GivenBack   int    `json:"given_back"` // right witnesses that gnark's solver solved
	Seconds     int    `json:"seconds"`    // of everything, compiling included
	Late        bool   `json:"late"`       // it was ended by -matrix-limit
	// The most memory of the process while it solved the right witness, the system included; 0 is not known.
	PeakKiB      int64 `json:"peak_kib"`
	GnarkPeakKiB int64 `json:"gnark_peak_kib"` // while gnark's solver did
}

// is reports whether a run is of a circuit on a curve in a system.
func (r *libraryRun) is(circuit string, id ecc.ID, system string) bool {
	return r.Circuit == circuit && r.Curve == id.String() && r.System == system
}

// twoSolvers is both solvers of a system. They return the sides of a solution.
type twoSolvers struct {
	ours, gnarks func(witness.Witness) ([]byte, error)
	set          func(w witness.Witness, i int, v *big.Int)
	values       func(witness.Witness) int
}

func bothOf(t *testing.T, ccs constraint.ConstraintSystem) twoSolvers {
	switch c := ccs.(type) {
	case *cs254.R1CS:
		return bothOver[fr254.Element, *fr254.Element, fr254.Vector](assignment.Over[fr254.Element](), &c.System, c.Coefficients,
			func(b []constraint.Blueprint, w witness.Witness, o ...solver.Option) (any, error) {
				other := *c
				other.Blueprints = b
				return other.Solve(w, o...)
			})
	case *cs377.R1CS:
		return bothOver[fr377.Element, *fr377.Element, fr377.Vector](assignment.Over[fr377.Element](), &c.System, c.Coefficients,
			func(b []constraint.Blueprint, w witness.Witness, o ...solver.Option) (any, error) {
				other := *c
				other.Blueprints = b
				return other.Solve(w, o...)
			})
	case *cs381.R1CS:
		return bothOver[fr381.Element, *fr381.Element, fr381.Vector](assignment.Over[fr381.Element](), &c.System, c.Coefficients,
			func(b []constraint.Blueprint, w witness.Witness, o ...solver.Option) (any, error) {
				other := *c
				other.Blueprints = b
				return other.Solve(w, o...)
			})
	case *cs761.R1CS:
		return bothOver[fr761.Element, *fr761.Element, fr761.Vector](assignment.Over[fr761.Element](), &c.System, c.Coefficients,
			func(b []constraint.Blueprint, w witness.Witness, o ...solver.Option) (any, error) {
				other := *c
				other.Blueprints = b
				return other.Solve(w, o...)
			})
	}
	t.Fatalf("%T", ccs)
	return twoSolvers{}
}

// errPanic is a panic of gnark's solver.
var errPanic = errors.New("gnark's solver panicked")

// bothOver is bothOf over one field.
func bothOver[S comparable, PS curves.Scalar[S], V ~[]S](own *assignment.Solver[S], system *constraint.System, coefficients []S,
	gnarks func([]constraint.Blueprint, witness.Witness, ...solver.Option) (any, error)) twoSolvers {
	var e S
	fixedAnswer := *PS(&e).SetBigInt(samples.Answer)
	opts := samples.Fixed(system.MHintsDependencies)
	told := func(solution any, name string) []S {
		return []S(reflect.ValueOf(solution).Elem().FieldByName(name).Interface().(V))
	}
	columns := func(solution any) [3][]S {
		return [3][]S{told(solution, "L"), told(solution, "R"), told(solution, "O")}
	}
	sparse := system.Type == constraint.SystemSparseR1CS
	sys := solve.System[S]{
		System: assignment.System[S]{System: system, Coefficients: coefficients}, Solver: own,
		Inputs: func(w witness.Witness) ([]S, bool) { return w.Vector().(V), true },
		Gnark: func(b []constraint.Blueprint, w witness.Witness, o ...solver.Option) (*assignment.Solution[S], error) {
			s, err := gnarks(b, w, o...)
			if err != nil {
				return nil, err
			}
			if sparse {
				return assignment.OfColumns(system, columns(s)), nil
			}
			return &assignment.Solution[S]{Wires: told(s, "W")}, nil
		},
	}
	flat := func(all [3][]S) []byte {
		return slices.Concat(layout.Bytes(all[0]), layout.Bytes(all[1]), layout.Bytes(all[2]))
	}
	return twoSolvers{
		ours: func(w witness.Witness) ([]byte, error) {
			sol, err := sys.Run(context.Background(), w, opts, func([]S) (S, error) { return fixedAnswer, nil })
			if err != nil {
				return nil, err
			}
			if sparse {
				return flat(samples.Columns(system, sol.Wires, assignment.Columns)), nil
			}
			return layout.Bytes(sol.Wires), nil
		},
		gnarks: func(w witness.Witness) (out []byte, err error) {
			defer func() {
				if p := recover(); p != nil {
					out, err = nil, fmt.Errorf("%w: %v", errPanic, p)
				}
			}()
			s, err := gnarks(assignment.Own(system.Blueprints).List, w, append(slices.Clone(opts), solver.WithNbTasks(1))...)
			if err != nil {
				return nil, err
			}
			if sparse {
				return flat(columns(s)), nil
			}
			return layout.Bytes(told(s, "W")), nil
		},
		set:    func(w witness.Witness, i int, v *big.Int) { PS(&w.Vector().(V)[i]).SetBigInt(v) },
		values: func(w witness.Witness) int { return len(w.Vector().(V)) },
	}
}

// spoil changes a value of a witness to one that hints may not expect.
func (b *twoSolvers) spoil(w witness.Witness, q *big.Int, rng *rand.Rand) {
	v := new(big.Int).SetUint64(rng.Uint64())
	switch rng.IntN(5) {
	case 0:
		v.SetInt64(0)
	case 1:
		v.Sub(q, big.NewInt(1))
	case 2:
		v.Lsh(big.NewInt(1), 64)
	case 3:
		v.Lsh(v, uint(q.BitLen()-70))
	}
	b.set(w, rng.IntN(b.values(w)), v)
}

// solveCase solves a circuit by both solvers: the right witness, and spoiled ones.
func (c *libraryCase) solveCase(t *testing.T, id ecc.ID, system string, build frontend.NewBuilder) (r libraryRun) {
	r = libraryRun{Op: "solve-library", Circuit: c.name, Curve: id.String(), System: system}
	circuit, assigned := c.make(id)
	if circuit == nil {
		return r
	}
	ccs, err := compiled(id, build, circuit)
	if err != nil {
		t.Logf("%s, %v, %s does not compile: %v", c.name, id, system, err)
		return r
	}
	r.Compiles, r.Constraints = true, ccs.GetNbConstraints()
	both := bothOf(t, ccs)
	for i := range 1 + spoiledWitnesses {
		w, err := frontend.NewWitness(assigned, id.ScalarField())
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			both.spoil(w, id.ScalarField(), rand.New(rand.NewPCG(uint64(i), uint64(id))))
		}
		var want, got []byte
		var wrong error
		gnarks := func() { want, wrong = both.gnarks(w) }
		before := solve.LeftToGnark()
		ours := func() { got, err = both.ours(w) }
		if i == 0 && *matrixChild != "" {
			r.GnarkPeakKiB, r.PeakKiB = peakKiB(gnarks), peakKiB(ours)
		} else {
			gnarks()
			ours()
		}
		r.GivenBack += int(solve.LeftToGnark() - before)
		switch {
		case i == 0 && wrong != nil:
			t.Errorf("%s, %v, %s: the right witness is wrong: %v", c.name, id, system, wrong)
		case (err == nil) != (wrong == nil) || err == nil && !bytes.Equal(got, want):
			t.Errorf("%s, %v, %s, witness %d: %v, gnark says %v", c.name, id, system, i, err, wrong)
		case err == nil:
			r.Same++
		default:
			r.Refused++
			if errors.Is(wrong, errPanic) {
				r.Panics++
			}
		}
	}
	if r.GivenBack != 0 {
		t.Errorf("%s, %v, %s: %d solutions are gnark's solver's", c.name, id, system, r.GivenBack)
	}
	return r
}

// compiled compiles a circuit. A panic of gnark's is an error: a package that a curve has not.
func compiled(id ecc.ID, build frontend.NewBuilder, circuit frontend.Circuit) (ccs constraint.ConstraintSystem, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return frontend.Compile(id.ScalarField(), build, circuit, frontend.IgnoreUnconstrainedInputs())
}

// systems are the two kinds of constraint systems.
var systems = map[string]frontend.NewBuilder{"r1cs": r1cs.NewBuilder[constraint.U64], "scs": scs.NewBuilder[constraint.U64]}

// TestLibrary solves circuits of gnark's library: solutions are gnark's, none is given back to its
// solver, wrong witnesses are refused by both, and nothing panics. A part of it without -matrix.
func TestLibrary(t *testing.T) {
	logger.Disable()
	if *matrixChild != "" {
		of := strings.Split(*matrixChild, "|")
		c, id := caseNamed(t, of[0]), curveNamed(t, of[1])
		text, err := json.Marshal(c.solveCase(t, id, of[2], systems[of[2]]))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("RUN %s\n", text)
		return
	}
	if !*matrix {
		for i, c := range libraryCases() {
			if !c.long {
				for k, system := range []string{"r1cs", "scs"} {
					c.solveCase(t, libraryCurves[(i+k)%2], system, systems[system])
				}
			}
		}
		return
	}
	taken := libraryRecord{Machine: record.ThisMachine(*matrixCommit), Gnark: gnark.Version.String()}
	taken.Runs = taken.before(t)
	for _, c := range libraryCases() {
		if !strings.HasPrefix(c.name, *matrixCases) {
			continue
		}
		for _, id := range libraryCurves {
			for _, system := range []string{"r1cs", "scs"} {
				if slices.ContainsFunc(taken.Runs, func(r libraryRun) bool { return r.is(c.name, id, system) }) {
					continue
				}
				r, right := inChild(t, c.name, id, system)
				if right {
					taken.Runs = append(taken.Runs, r)
					taken.write(t)
				}
			}
		}
	}
}

// libraryRecord is the record of TestLibrary. It is written whenever a run has ended, and a test with a record
// that is there goes on where it ends.
type libraryRecord struct {
	Machine record.Machine `json:"machine"`
	Gnark   string         `json:"gnark"`
	Runs    []libraryRun   `json:"runs"`
}

// before returns the runs of a record that is there already. Those of another gnark, or that came to no end within
// less time than there is now, are made again.
func (l *libraryRecord) before(t *testing.T) []libraryRun {
	text, err := os.ReadFile(*matrixRecord)
	if *matrixRecord == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var old libraryRecord
	if err == nil {
		err = json.Unmarshal(text, &old)
	}
	if err != nil {
		t.Fatal(err)
	}
	if old.Gnark != l.Gnark {
		return nil
	}
	return slices.DeleteFunc(old.Runs, func(r libraryRun) bool {
		return r.Late && time.Duration(r.Seconds)*time.Second < *matrixLimit
	})
}

// write writes the record, if one was asked for.
func (l *libraryRecord) write(t *testing.T) {
	t.Helper()
	if *matrixRecord == "" {
		return
	}
	text, err := json.MarshalIndent(l, "", "  ")
	if err == nil {
		err = os.WriteFile(*matrixRecord+".new", append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.Rename(*matrixRecord+".new", *matrixRecord)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// libraryCurves are the curves of the provers; the first two are those of the short form.
var libraryCurves = []ecc.ID{ecc.BN254, ecc.BLS12_381, ecc.BLS12_377, ecc.BW6_761}

// inChild solves a circuit in another process, which must not die. It reports whether all was well; a run that takes
// longer than -matrix-limit says so and is no fault.
func inChild(t *testing.T, circuit string, id ecc.ID, system string) (r libraryRun, right bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *matrixLimit)
	defer cancel()
	began := time.Now()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestLibrary$", "-test.v", "-test.timeout=0", "-matrix-child="+
		strings.Join([]string{circuit, id.String(), system}, "|"))
	out, err := child.CombinedOutput()
	r = libraryRun{Op: "solve-library", Circuit: circuit, Curve: id.String(), System: system, Late: ctx.Err() != nil}
	if err != nil && !r.Late {
		t.Errorf("%s, %v, %s: %v\n%s", circuit, id, system, err, out[max(0, len(out)-3000):])
		return r, false
	}
	for line := range strings.Lines(string(out)) {
		if text, ok := strings.CutPrefix(line, "RUN "); ok {
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Error(err)
			}
		}
	}
	r.Seconds = int(time.Since(began).Seconds())
	t.Logf("%+v", r)
	return r, true
}

func caseNamed(t *testing.T, name string) *libraryCase {
	all := libraryCases()
	i := slices.IndexFunc(all, func(c libraryCase) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("no circuit %q", name)
	}
	return &all[i]
}

func curveNamed(t *testing.T, name string) ecc.ID {
	i := slices.IndexFunc(libraryCurves, func(id ecc.ID) bool { return id.String() == name })
	if i < 0 {
		t.Fatalf("no curve %q", name)
	}
	return libraryCurves[i]
}

func edwardsOf(id ecc.ID) (edwards.ID, error) {
	switch id {
	case ecc.BN254:
		return edwards.BN254, nil
	case ecc.BLS12_377:
		return edwards.BLS12_377, nil
	case ecc.BLS12_381:
		return edwards.BLS12_381, nil
	case ecc.BW6_761:
		return edwards.BW6_761, nil
	}
	return 0, errors.New("no such curve")
}
