package assignment_test

import (
	"bytes"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/backend/groth16"
	"github.com/consensys/gnark/constraint"
	cs254 "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/std/gkrapi/gkr"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// powers asserts Y = 2 X^3 in each instance of GKR, and asks GKR for X^2 and X. After it comes
// another GKR of the answers, whose instances have one input and none that GKR pads.
type powers struct{ X, Y []frontend.Variable }

func (c *powers) Define(api frontend.API) error {
	first, err := samples.NewGKR(api)
	if err != nil {
		return err
	}
	x := first.NewInput()
	square := first.Mul(x, x)
	out := first.Mul(square, first.Add(x, x))
	cubes, err := samples.Compile(first)
	if err != nil {
		return err
	}
	second, err := samples.NewGKR(api)
	if err != nil {
		return err
	}
	in := second.NewInput()
	sum := second.Add(in, in)
	sums, err := samples.Compile(second)
	if err != nil {
		return err
	}
	for i := range c.X {
		o, err := cubes.AddInstance(map[gkr.Variable]frontend.Variable{x: api.Add(c.X[i], 0)})
		if err != nil {
			return err
		}
		api.AssertIsEqual(o[out], c.Y[i])
		api.AssertIsEqual(api.Add(cubes.GetValue(square, i), cubes.GetValue(x, i)), api.Mul(c.X[i], api.Add(c.X[i], 1)))
		if o, err = sums.AddInstance(map[gkr.Variable]frontend.Variable{in: api.Mul(o[out], 3)}); err != nil {
			return err
		}
		api.AssertIsEqual(o[sum], api.Mul(c.Y[i], 6))
	}
	return nil
}

func powersOf(n int, first int64) (circuit, assigned *powers) {
	circuit, assigned = &powers{make([]frontend.Variable, n), make([]frontend.Variable, n)}, &powers{}
	for i := range int64(n) {
		x := big.NewInt(first + i)
		y := new(big.Int).Exp(x, big.NewInt(3), nil)
		assigned.X, assigned.Y = append(assigned.X, x), append(assigned.Y, y.Lsh(y, 1))
	}
	return circuit, assigned
}

// needsGKR skips a test where gnark has GKR of another kind, which is left to its solver.
func needsGKR(t *testing.T) {
	if !samples.HasGKR() {
		t.Skip("this gnark has hints for GKR, and no blueprints")
	}
}

// TestGKR solves circuits with GKR as gnark does, bit for bit: of one instance, which has no proof,
// of instances that are padded, as compiled and as read from a file, several at a time; and refuses
// what does not hold.
func TestGKR(t *testing.T) {
	needsGKR(t)
	s := everyCurve()[0]
	for _, b := range builders {
		for _, n := range []int{1, 2, 3, 9} {
			t.Run(fmt.Sprint(b.name, " ", n), func(t *testing.T) {
				circuit, assigned := powersOf(n, 5)
				c := compile(t, s.id, b.make, circuit)
				both(t, s, c, witnessOf(t, s.id, assigned))
				read := fromFile(t, s.id, c)
				if versions.Gnark() == "0.15.0" && n > 1 {
					// It reads its own levels as other types than it wrote, and panics in its solver.
					if _, err := s.ours(t.Context(), read, witnessOf(t, s.id, assigned), same(c)...); err == nil {
						t.Error("a circuit of which gnark has lost the levels is solved")
					}
				} else {
					both(t, s, read, witnessOf(t, s.id, assigned))
					assignment.AwaitSchedules()
					both(t, s, read, witnessOf(t, s.id, assigned)) // by the schedule
				}
				assigned.Y[n-1] = 1
				if _, err := s.ours(t.Context(), c, witnessOf(t, s.id, assigned), same(c)...); err == nil {
					t.Error("a wrong witness is solved")
				}
				var all sync.WaitGroup
				for i := range int64(4) {
					all.Go(func() {
						_, assigned := powersOf(n, 1000*(i+1))
						got, err := s.ours(t.Context(), c, witnessOf(t, s.id, assigned), same(c)...)
						if err != nil {
							t.Error(err)
							return
						}
						circuit, again := powersOf(n, 1000*(i+1))
						alone := compile(t, s.id, b.make, circuit) // gnark's solver keeps values in it
						if want, err := s.gnark(alone, witnessOf(t, s.id, again), same(alone)...); err != nil || got.differs(want) != nil {
							t.Errorf("beside others: %v, %v", err, got.differs(want))
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// fromFile returns a system as it is read.
func fromFile(t *testing.T, id ecc.ID, c constraint.ConstraintSystem) constraint.ConstraintSystem {
	t.Helper()
	var text bytes.Buffer
	if _, err := c.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	read := groth16.NewCS(id)
	if c.(*cs254.R1CS).Type == constraint.SystemSparseR1CS {
		read = new(cs254.SparseR1CS)
	}
	if _, err := read.ReadFrom(&text); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestGKRKeepsNothing: what a run keeps of a witness is in its copies of the blueprints, and is wiped.
// Neither has the system anything.
func TestGKRKeepsNothing(t *testing.T) {
	needsGKR(t)
	s := everyCurve()[0]
	circuit, assigned := powersOf(3, 77)
	c := compile(t, s.id, builders[0].make, circuit)
	w := witnessOf(t, s.id, assigned)
	if _, err := s.ours(t.Context(), c, w, same(c)...); err != nil {
		t.Fatal(err)
	}
	system := c.(*cs254.R1CS)
	if n, nonzero := kept(system.Blueprints); nonzero != 0 {
		t.Errorf("the system has %d values, %d are not zero", n, nonzero)
	}
	cfg, err := solver.NewConfig(same(c)...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := assignment.SolvedBy(t.Context(), assignment.System[fr254.Element]{System: &system.System, Coefficients: system.Coefficients},
		[]fr254.Element(w.Vector().(fr254.Vector)), cfg,
		func([]fr254.Element) (e fr254.Element, err error) { return *e.SetBigInt(samples.Answer), nil })
	if err != nil {
		t.Fatal(err)
	}
	if n, nonzero := kept(list); n == 0 || nonzero != 0 {
		t.Errorf("of %d values in the run's copies %d are not zero after it", n, nonzero)
	}
	own := assignment.Own(system.Blueprints)
	if own.Shared {
		t.Error("runs have to take turns")
	}
	copied := *system
	copied.Blueprints = own.List
	if _, err := copied.Solve(w, same(c)...); err != nil {
		t.Fatal(err)
	}
	if _, nonzero := kept(own.List); nonzero == 0 {
		t.Fatal("gnark's solver keeps nothing: does this test look at the right place?")
	}
	if n, nonzero := kept(system.Blueprints); nonzero != 0 {
		t.Errorf("the system has %d values, %d are not zero", n, nonzero)
	}
	own.Wipe()
	if n, nonzero := kept(own.List); n == 0 || nonzero != 0 {
		t.Errorf("of %d values %d are not zero after Wipe", n, nonzero)
	}
}

// kept counts the values that GKR's blueprints have, and those that are not zero.
func kept(blueprints []constraint.Blueprint) (n, nonzero int) {
	for _, b := range blueprints {
		v := reflect.ValueOf(b)
		if !strings.Contains(v.Type().String(), "BlueprintSolve") {
			continue
		}
		f := v.Elem().FieldByName("assignments")
		for i := range f.Len() {
			for k := range f.Index(i).Len() {
				n++
				if !f.Index(i).Index(k).IsZero() {
					nonzero++
				}
			}
		}
	}
	return n, nonzero
}
