package solve_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
	_ "github.com/consensys/gnark/std/rangecheck" // whose hints are asked for by name
	"github.com/rs/zerolog"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// system is a circuit over BN254's scalar field for both solvers, with a witness.
type system struct {
	solve.System[fr254.Element]
	ccs *cs254.R1CS
	w   witness.Witness
}

func newSystem(t *testing.T, circuit, assigned frontend.Circuit) system {
	t.Helper()
	ccs, err := frontend.Compile(ecc.BN254.ScalarField(), r1cs.NewBuilder[constraint.U64], circuit)
	if err != nil {
		t.Fatal(err)
	}
	w, err := frontend.NewWitness(assigned, ecc.BN254.ScalarField())
	if err != nil {
		t.Fatal(err)
	}
	r1cs := ccs.(*cs254.R1CS)
	s := system{ccs: r1cs, w: w, System: over254(r1cs)}
	s.Gnark = func(b []constraint.Blueprint, w witness.Witness, opts ...solver.Option) (*assignment.Solution[fr254.Element], error) {
		other := *r1cs
		other.Blueprints = b
		_, err := other.Solve(w, opts...)
		return nil, err
	}
	return s
}

// run solves by System.Run, with a fixed answer to commitments.
func (s system) run(t *testing.T, opts ...solver.Option) error {
	_, err := s.Run(t.Context(), s.w, slices.Concat(samples.Fixed(s.MHintsDependencies), opts), func([]fr254.Element) (fr254.Element, error) {
		return *new(fr254.Element).SetBigInt(samples.Answer), nil
	})
	return err
}

// TestWrongWitnessIsToldByGnark: what is wrong with a lookup is told in the words of
// gnark's solver, not in those of the hint: a value that is not in the table, and a
// table with the same row twice.
func TestWrongWitnessIsToldByGnark(t *testing.T) {
	logger.Disable()
	hints := solver.GetRegisteredHints()
	i := slices.IndexFunc(hints, func(h solver.Hint) bool {
		return strings.HasSuffix(solver.GetHintName(h), "internal/logderivarg.countHint")
	})
	for _, in := range [][]frontend.Variable{{2, 1, 3, 4, 5}, {2, 1, 3, 3, 3}} {
		s := newSystem(t, samples.CallOf(hints[i], 2, len(in)), &samples.Call{In: in})
		_, want := s.ccs.Solve(s.w)
		if want == nil {
			t.Fatal("gnark's solver finds nothing wrong")
		}
		if err := s.run(t); err == nil || err.Error() != want.Error() {
			t.Errorf("%v, gnark's solver says %v", err, want)
		}
	}
}

// loud prints.
type loud struct {
	X, Y frontend.Variable
}

func (c *loud) Define(api frontend.API) error {
	z := api.Mul(c.X, c.Y)
	api.Println("a product and sums:", z, api.Add(c.X, c.Y, z, 3), api.Sub(5, api.Mul(c.X, 7)), 12, "and", api.Neg(c.Y))
	api.AssertIsDifferent(z, 1)
	api.Println(api.Inverse(z), api.IsZero(c.X))
	return nil
}

// TestPrintsWhatGnarkPrints: a circuit that prints is solved by our solver, and the
// lines are those of gnark's.
func TestPrintsWhatGnarkPrints(t *testing.T) {
	logger.Disable()
	s := newSystem(t, &loud{}, &loud{X: 3, Y: new(big.Int).Lsh(big.NewInt(1), 200)})
	lines := func(text *bytes.Buffer) (lines []map[string]any) {
		for d := json.NewDecoder(text); d.More(); {
			var line map[string]any
			if err := d.Decode(&line); err != nil {
				t.Fatal(err)
			}
			if line["message"] != "constraint system solver done" {
				lines = append(lines, line)
			}
		}
		return lines
	}
	var ours, gnarks bytes.Buffer
	before := solve.LeftToGnark()
	if err := s.run(t, solver.WithLogger(zerolog.New(&ours))); err != nil {
		t.Fatal(err)
	}
	if solve.LeftToGnark() != before {
		t.Error("gnark's solver was asked")
	}
	if _, err := s.ccs.Solve(s.w, solver.WithLogger(zerolog.New(&gnarks))); err != nil {
		t.Fatal(err)
	}
	got, want := lines(&ours), lines(&gnarks)
	if len(want) != 2 || len(got) != len(want) {
		t.Fatalf("%d lines, gnark prints %d", len(got), len(want))
	}
	for i := range want {
		if got[i]["message"] != want[i]["message"] || got[i]["caller"] != want[i]["caller"] || got[i]["level"] != want[i]["level"] {
			t.Errorf("%v, gnark prints %v", got[i], want[i])
		}
	}
}

// TestDefectIsAWarning: a system of which all instructions are listed twice makes our solver
// fail by a fault of its own. That is counted, and a warning the first time.
func TestDefectIsAWarning(t *testing.T) {
	var text bytes.Buffer
	logger.Set(zerolog.New(&text))
	defer logger.Disable()
	s := newSystem(t, &loud{}, &loud{X: 3, Y: 4})
	broken := s.ccs.System
	broken.Levels = slices.Concat(broken.Levels, broken.Levels)
	var asked atomic.Int32
	s.System.System.System = &broken
	s.Gnark = func([]constraint.Blueprint, witness.Witness, ...solver.Option) (*assignment.Solution[fr254.Element], error) {
		asked.Add(1)
		return nil, nil
	}
	before := solve.Defects()
	for range 2 {
		if err := s.run(t); err != nil {
			t.Fatal(err)
		}
	}
	if n := solve.Defects() - before; n != 2 || asked.Load() != 2 {
		t.Errorf("%d defects of 2, gnark's solver was asked %d times", n, asked.Load())
	}
	if n := bytes.Count(text.Bytes(), []byte(`"level":"warn"`)); n != 1 {
		t.Errorf("%d warnings: %s", n, text.String())
	}
}
