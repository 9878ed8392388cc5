package assignment_test

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// halves has two hints, of numbers that are computed.
type halves struct{ X frontend.Variable }

func (c *halves) Define(api frontend.API) error {
	x := api.Mul(c.X, c.X)
	for range 2 {
		y, err := api.Compiler().NewHint(samples.HalfHint, 1, api.Mul(x, 2))
		if err != nil {
			return err
		}
		api.AssertIsEqual(y[0], x)
	}
	return nil
}

// TestDefects: a system that no frontend made is for gnark's solver to judge, whatever is wrong
// with it: none has a solution here, and none ends the process.
func TestDefects(t *testing.T) {
	s := everyCurve()[0]
	// call returns where the outputs of a hint stand, [from, to).
	call := func(c *cs254.R1CS, nth int) []uint32 {
		for i := range c.Instructions {
			if _, ok := c.Blueprints[c.Instructions[i].BlueprintID].(*constraint.BlueprintGenericHint); ok {
				if nth--; nth < 0 {
					data := c.CallData[c.Instructions[i].StartCallData:]
					return data[data[0]-2 : data[0]]
				}
			}
		}
		t.Fatal("no such hint")
		return nil
	}
	for what, row := range map[string]struct {
		spoil func(c *cs254.R1CS)
		says  string
	}{
		"nothing":                       {func(*cs254.R1CS) {}, ""},
		"a wire that is solved twice":   {func(c *cs254.R1CS) { copy(call(c, 1), call(c, 0)) }, "solved twice"},
		"a wire that is read too early": {func(c *cs254.R1CS) { slices.Reverse(c.Levels) }, "before it is solved"},
		"a wire that nothing sets":      {func(c *cs254.R1CS) { c.NbInternalVariables++ }, "before it is solved"},
		"a wire that is not there":      {func(c *cs254.R1CS) { call(c, 1)[0], call(c, 1)[1] = 1<<20, 1<<20+1 }, "out of range"},
	} {
		for _, tasks := range []int{1, 4} {
			c := compile(t, s.id, builders[0].make, &halves{}).(*cs254.R1CS)
			row.spoil(c)
			_, err := s.ours(t.Context(), c, witnessOf(t, s.id, &halves{3}), append(same(c), solver.WithNbTasks(tasks))...)
			switch {
			case row.says == "" && err != nil:
				t.Errorf("%s: %v", what, err)
			case row.says != "" && (!errors.Is(err, assignment.ErrDefect) || !strings.Contains(err.Error(), row.says)):
				t.Errorf("%s: %v, want a defect: %s", what, err, row.says)
			}
		}
	}
}

// TestCommitAsHint: gnark's solver gets from a commit what our solver gets.
func TestCommitAsHint(t *testing.T) {
	own := errors.New("no commitment today")
	var got []fr254.Element
	commit := func(in []fr254.Element) (fr254.Element, error) {
		if got = in; len(in) == 0 {
			return fr254.Element{}, own
		}
		return *new(fr254.Element).SetUint64(77), nil
	}
	hint := assignment.Over[fr254.Element]().Hint(commit)
	q, out := ecc.BN254.ScalarField(), []*big.Int{new(big.Int)}
	if err := hint(q, []*big.Int{big.NewInt(5), big.NewInt(-1)}, out); err != nil || out[0].Int64() != 77 {
		t.Errorf("%v, %v", out[0], err)
	}
	var five, less fr254.Element
	five.SetUint64(5)
	less.SetInt64(-1)
	if !slices.Equal(got, []fr254.Element{five, less}) {
		t.Errorf("it was given %v", got)
	}
	if err := hint(q, nil, out); err != own {
		t.Errorf("a commit that fails: %v", err)
	}
	if err := hint(q, []*big.Int{big.NewInt(5)}, nil); err == nil {
		t.Error("a commitment without an output")
	}
}
