package assignment_test

import (
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/lookup/logderivlookup"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/samples"
)

// audit makes the schedule of a system over BN254 and looks at it.
func audit(t *testing.T, name string, c constraint.ConstraintSystem) assignment.Scheduled {
	t.Helper()
	cfg, err := solver.NewConfig(append(same(c), solver.WithHints(oddly))...)
	if err != nil {
		t.Fatal(err)
	}
	sys := c.(*cs254.R1CS) // sparse systems are of the same type
	s, err := assignment.Audit(assignment.System[fr254.Element]{System: &sys.System, Coefficients: sys.Coefficients}, cfg)
	if err != nil {
		t.Fatalf("%s: %v", name, err) // one shows enough
	}
	return s
}

// TestSchedules: a schedule solves each instruction once and after what it reads, in whatever
// order the crew does what it may. Nothing is awaited that cannot end, and hints of users stay
// in their levels.
func TestSchedules(t *testing.T) {
	for _, b := range builders {
		circuits := map[string]frontend.Circuit{
			"everything": everythingOf(30, false),
			"late hints": &lateNeighbours{make([]frontend.Variable, 20)},
			"late table": &lateTable{},
			"late lists": &lateLists{},
			"countdown":  &countdown{},
			"neighbours": &neighbours{make([]frontend.Variable, 50)},
			"a crowd":    &neighbours{make([]frontend.Variable, 51)}, // which gnark solves by several goroutines
		}
		for _, s := range samples.All {
			if s.Ours() {
				circuits[s.Name] = s.Circuit()
			}
		}
		for name, circuit := range circuits {
			audit(t, b.name+", "+name, compile(t, ecc.BN254, b.make, circuit))
		}
		var sum assignment.Scheduled
		for seed := range uint64(24) {
			circuit := drawCircuit(seed)
			circuit.steps = min(circuit.steps, 120) // larger ones take long and show no more
			c, err := frontend.Compile(ecc.BN254.ScalarField(), b.make, circuit)
			if err != nil {
				continue // an assertion on constants
			}
			s := audit(t, fmt.Sprint(b.name, ", drawn ", seed), c)
			sum.Steps, sum.Parts, sum.Checks, sum.Chained = sum.Steps+s.Steps, sum.Parts+s.Parts, sum.Checks+s.Checks, sum.Chained+s.Chained
		}
		t.Logf("%s: %+v", b.name, sum)
		if sum.Steps < 200 || sum.Parts < 100 || sum.Chained < 30 || sum.Checks < 1000 {
			t.Errorf("%s: the random circuits are too simple: %+v", b.name, sum)
		}
	}
}

// lateNeighbours has hints of a user whose outputs are needed some hundred levels later.
type lateNeighbours struct{ X []frontend.Variable }

func (c *lateNeighbours) Define(api frontend.API) error {
	var halves []frontend.Variable
	for _, x := range c.X {
		y, err := api.Compiler().NewHint(samples.HalfHint, 1, x)
		if err != nil {
			return err
		}
		halves = append(halves, y[0])
	}
	for i, x := range c.X {
		power := x
		for range 300 {
			power = api.Mul(power, x)
		}
		api.AssertIsDifferent(api.Mul(halves[i], power), 0)
	}
	return nil
}

// lateTable has a table and lookups, of whose entries and indices some are computed, and
// whose answers are needed some hundred levels later.
type lateTable struct{ X, Y frontend.Variable }

func (c *lateTable) Define(api frontend.API) error {
	table := logderivlookup.New(api)
	for i := range 6 {
		entry := api.Add(c.X, i)
		for range i * 20 {
			entry = api.Mul(entry, c.Y)
		}
		table.Insert(entry)
	}
	sum, power := frontend.Variable(0), c.X
	for i := range 6 {
		index := api.Add(c.Y, i)
		for range i * 30 {
			index = api.Mul(index, c.X)
		}
		sum = api.Add(sum, table.Lookup(api.IsZero(index))[0])
	}
	for range 400 {
		power = api.Mul(power, c.Y)
	}
	api.AssertIsDifferent(api.Mul(sum, power), 0)
	return nil
}

// lateLists has work for all processors whose outputs are needed some hundred levels later.
type lateLists struct{ X, Y frontend.Variable }

func (c *lateLists) Define(api frontend.API) error {
	var squares []frontend.Variable
	for i := range 8300 { // more than half the words of a giant constraint
		x := api.Add(c.X, i)
		squares = append(squares, api.Mul(x, x))
	}
	all := api.Add(0, 0, squares...)
	api.AssertIsEqual(api.Mul(c.Y, c.Y), all) // no wire is set, and it is long
	sum := api.Mul(all, c.Y)
	sum = api.Add(sum, 0, allInverse(api, squares[:2100])...)
	power := c.X
	for range 300 {
		power = api.Mul(power, c.Y)
	}
	api.AssertIsDifferent(api.Mul(sum, power), 0)
	return nil
}

// allInverse has one instruction with the versions of gnark that have one.
func allInverse(api frontend.API, of []frontend.Variable) (inverses []frontend.Variable) {
	if b, ok := api.(interface {
		BatchInvert([]frontend.Variable) []frontend.Variable
	}); ok {
		return b.BatchInvert(of)
	}
	for _, x := range of {
		inverses = append(inverses, api.Inverse(x))
	}
	return inverses
}

// countdown has products that wait, the first ones the longest.
type countdown struct{ X, Y frontend.Variable }

func (c *countdown) Define(api frontend.API) error {
	var products []frontend.Variable
	for i := range 30 {
		products = append(products, api.Mul(c.X, api.Add(c.Y, i)))
	}
	power := c.X
	for range 180 {
		power = api.Mul(power, c.Y)
	}
	for _, p := range slices.Backward(products) {
		power = api.Mul(power, p)
		for range 31 {
			power = api.Mul(power, c.Y)
		}
	}
	api.AssertIsDifferent(power, 0)
	return nil
}

// TestLateHintsOfUsersComeInTurn does what TestHintsOfUsersComeInTurn does, with hints that a
// schedule could put off.
func TestLateHintsOfUsersComeInTurn(t *testing.T) {
	s := everyCurve()[0]
	a := &lateNeighbours{}
	for i := range 20 {
		a.X = append(a.X, 2*i+2)
	}
	for _, b := range builders {
		c := compile(t, s.id, b.make, &lateNeighbours{make([]frontend.Variable, len(a.X))})
		w := witnessOf(t, s.id, a)
		var now atomic.Int32
		opt := solver.OverrideHint(solver.GetHintID(samples.HalfHint), func(q *big.Int, in, out []*big.Int) error {
			if now.Add(1) > 1 {
				t.Errorf("%s: two hints at the same time", b.name)
			}
			defer now.Add(-1)
			time.Sleep(time.Millisecond) // as long as another needs to come in
			return samples.HalfHint(q, in, out)
		})
		both(t, s, c, w, opt)
	}
}

// TestFactsOfAnotherSystem: a system in the variable of another one is solved by
// what is known of itself, and what is known goes with the variable.
func TestFactsOfAnotherSystem(t *testing.T) {
	s := everyCurve()[0]
	c := new(cs254.R1CS)
	for _, n := range []int{20, 15} {
		a := &lateNeighbours{}
		for k := range n {
			a.X = append(a.X, 2*k+2)
		}
		*c = *compile(t, s.id, builders[0].make, &lateNeighbours{make([]frontend.Variable, n)}).(*cs254.R1CS)
		both(t, s, c, witnessOf(t, s.id, a), solver.WithNbTasks(4))
	}
	remembered := assignment.Remembers(&c.System)
	if !remembered() {
		t.Error("nothing is known of a system that was solved")
	}
	runtime.KeepAlive(c)
	for range 1000 {
		if runtime.GC(); !remembered() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("what is known of a system stays when that has gone")
}
