package assignment_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/frontend/cs/scs"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// TestRows: each side of a sparse row is solved whatever the coefficients are, which gnark's
// frontends do not ask for: they give the wire in question the coefficient -1.
func TestRows(t *testing.T) {
	s := everyCurve()[0]
	r := rand.New(rand.NewPCG(32, 32))
	number := func() fr254.Element {
		return *new(fr254.Element).SetBigInt(number(r, ecc.BN254.ScalarField()))
	}
	solved := 0
	for round := range 200 {
		c := cs254.NewSparseR1CS(20)
		generic := c.AddBlueprint(&constraint.BlueprintGenericSparseR1C[constraint.U64]{})
		coefficient := func() uint32 {
			v := number()
			switch r.IntN(6) {
			case 0:
				return constraint.CoeffIdZero
			case 1:
				return constraint.CoeffIdOne
			case 2:
				return constraint.CoeffIdMinusOne
			}
			var e constraint.U64
			copy(e[:], v[:])
			return c.AddCoeff(e)
		}
		c.AddPublicVariable("a")
		c.AddPublicVariable("b")
		c.AddSecretVariable("c")
		wires := []uint32{0, 1, 2}
		for range 1 + r.IntN(12) {
			wire := uint32(c.AddInternalVariable())
			sides := [3]uint32{wires[r.IntN(len(wires))], wires[r.IntN(len(wires))], wires[r.IntN(len(wires))]}
			sides[r.IntN(3)] = wire
			wires = append(wires, wire)
			c.AddSparseR1C(constraint.SparseR1C{
				XA: sides[0], XB: sides[1], XC: sides[2],
				QL: coefficient(), QR: coefficient(), QO: coefficient(), QM: coefficient(), QC: coefficient(),
			}, generic)
		}
		w, err := witness.New(ecc.BN254.ScalarField())
		if err != nil {
			t.Fatal(err)
		}
		values := make(chan any, 3)
		for range 3 {
			values <- number()
		}
		close(values)
		if err := w.Fill(2, 1, values); err != nil {
			t.Fatal(err)
		}
		want, err := s.gnark(c, w)
		got, ours := s.ours(t.Context(), c, w)
		switch {
		case err != nil && ours == nil:
			t.Errorf("system %d: gnark says %v, ours has a solution", round, err)
		case err != nil:
		case ours != nil:
			t.Errorf("system %d: %v", round, ours)
		default:
			solved++
			if err := got.differs(want); err != nil {
				t.Errorf("system %d: %v", round, err)
			}
		}
	}
	if solved < 50 {
		t.Errorf("%d systems of 200 have solutions", solved)
	}
}

// TestCommitmentBeforeItsWire: the row of a commitment sets no wire. Where it comes before
// the one that does, which no frontend makes, gnark's solver has to decide.
func TestCommitmentBeforeItsWire(t *testing.T) {
	s := everyCurve()[0]
	for what, first := range map[string]constraint.CommitmentConstraint{"a row": constraint.NOT, "a commitment": constraint.COMMITTED} {
		c := cs254.NewSparseR1CS(20)
		generic := c.AddBlueprint(&constraint.BlueprintGenericSparseR1C[constraint.U64]{})
		a, b := uint32(c.AddPublicVariable("a")), uint32(c.AddSecretVariable("b"))
		wire := uint32(c.AddInternalVariable())
		c.AddSparseR1C(constraint.SparseR1C{XA: wire, QL: constraint.CoeffIdMinusOne, QC: constraint.CoeffIdOne, Commitment: first}, generic)
		c.AddSparseR1C(constraint.SparseR1C{XA: a, XB: b, XC: wire, QM: constraint.CoeffIdOne, QO: constraint.CoeffIdMinusOne}, generic)
		w := witnessOf(t, s.id, &tiny{1, 1})
		for _, by := range []string{"gnark's levels", "a schedule"} {
			_, err := s.ours(t.Context(), c, w)
			if first == constraint.NOT && err != nil || first != constraint.NOT && !errors.Is(err, assignment.ErrDefect) {
				t.Errorf("%s that comes first, by %s: %v", what, by, err)
			}
			assignment.AwaitSchedules()
		}
	}
}

// tiny is a witness of two numbers.
type tiny struct {
	A frontend.Variable `gnark:",public"`
	B frontend.Variable
}

func (c *tiny) Define(frontend.API) error { return nil }

// TestColumns: the wires that stand in the rows of a sparse system make gnark's L, R and O, and these make the wires
// again, and are wiped.
func TestColumns(t *testing.T) {
	id := ecc.BN254
	for _, s := range samples.On(id) {
		circuit, full := s.Circuit(), s.Assign(id.ScalarField(), 3)
		c, err := frontend.Compile(id.ScalarField(), scs.NewBuilder, circuit, frontend.IgnoreUnconstrainedInputs())
		if err != nil {
			t.Fatal(err)
		}
		system := c.(*cs254.SparseR1CS)
		solved, err := c.Solve(witnessOf(t, id, full), append(samples.Fixed(system.MHintsDependencies), samples.Hints)...)
		if err != nil {
			t.Fatal(err)
		}
		of := solved.(*cs254.SparseR1CSSolution)
		columns := [3][]fr254.Element{of.L, of.R, of.O}
		want := [3][]fr254.Element{slices.Clone(of.L), slices.Clone(of.R), slices.Clone(of.O)}
		sol := assignment.OfColumns(&system.System, columns)
		got := samples.Columns(&system.System, sol.Wires, assignment.Columns)
		for i := range want {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: column %d is not gnark's", s.Name, i)
			}
			if slices.ContainsFunc(columns[i], func(e fr254.Element) bool { return !e.IsZero() }) {
				t.Errorf("%s: column %d is not wiped", s.Name, i)
			}
		}
	}
}

// giants has constraints that are so long that all processors add up their sides.
type giants struct {
	Many []frontend.Variable
	X    frontend.Variable
	Sum  frontend.Variable `gnark:",public"`
}

func (c *giants) Define(api frontend.API) error {
	sum := frontend.Variable(0)
	for range 8 {
		all := api.Add(c.Many[0], c.Many[1], c.Many[2:]...)
		sum = api.Add(sum, api.Mul(all, c.X), api.DivUnchecked(c.X, all), api.DivUnchecked(all, c.X))
	}
	api.AssertIsEqual(api.Mul(sum, c.X), c.Sum)
	return nil
}

// TestLongConstraints: products and quotients of sums that are work for all processors are gnark's, and a product that
// does not hold is seen.
func TestLongConstraints(t *testing.T) {
	s := everyCurve()[0]
	circuit := &giants{Many: make([]frontend.Variable, 9000)}
	c := compile(t, s.id, r1cs.NewBuilder[constraint.U64], circuit)
	full := &giants{Many: make([]frontend.Variable, len(circuit.Many)), X: 3}
	var all, x, sum, part fr254.Element
	x.SetUint64(3)
	for i := range full.Many {
		full.Many[i] = i + 1
		all.Add(&all, part.SetUint64(uint64(i+1)))
	}
	for range 8 {
		for _, v := range []*fr254.Element{part.Mul(&all, &x), new(fr254.Element).Div(&x, &all), new(fr254.Element).Div(&all, &x)} {
			sum.Add(&sum, v)
		}
	}
	sum.Mul(&sum, &x)
	full.Sum = sum
	both(t, s, c, witnessOf(t, s.id, full))
	full.Sum = x
	if _, err := s.ours(t.Context(), c, witnessOf(t, s.id, full)); !errors.Is(err, assignment.ErrUnsatisfied) {
		t.Errorf("a wrong sum: %v", err)
	}
}
