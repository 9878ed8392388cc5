package solve_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/samples"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// crowd is more hints than gnark's solver calls by one goroutine in a level.
const crowd = 60

// calls calls a hint with X, X+1, ..
type calls struct {
	X     frontend.Variable
	f     solver.Hint
	times int
	// unequal adds a constraint that does not hold if X is 0.
	unequal bool
}

func (c *calls) Define(api frontend.API) error {
	if c.unequal {
		api.AssertIsDifferent(api.Mul(c.X, c.X), 0)
	}
	for i := range c.times {
		out, err := api.Compiler().NewHint(c.f, 2, api.Add(c.X, i))
		if err != nil {
			return err
		}
		api.AssertIsEqual(api.Mul(out[0], out[1], c.X), api.Mul(out[0], c.X, out[1]))
	}
	return nil
}

var errHint = errors.New("no answer today")

// The hints of TestNoWitnessEndsTheProcess.
func answersNil(_ *big.Int, _, out []*big.Int) error { out[1] = nil; return nil }
func failsNil(_ *big.Int, _, out []*big.Int) error   { out[0] = nil; return errHint }
func panics(_ *big.Int, _, _ []*big.Int) error       { panic("not in my table") }

func exits(_ *big.Int, _, _ []*big.Int) error { runtime.Goexit(); return nil }

// answersInput gives its input's pointer as both outputs.
func answersInput(_ *big.Int, in, out []*big.Int) error {
	out[0], out[1] = in[0], in[0]
	return nil
}

func init() { solver.RegisterHint(answersNil, failsNil, panics, exits, answersInput) }

// TestNoWitnessEndsTheProcess: what a hint does wrong is an error that names it, whether our solver
// calls it or gnark's, which solves by several goroutines if it may. That is not counted as a
// defect of ours. In this process, so that a panic of another goroutine is seen.
func TestNoWitnessEndsTheProcess(t *testing.T) {
	logger.Disable()
	for _, times := range []int{1, crowd} {
		for _, c := range []struct {
			name              string
			circuit, assigned frontend.Circuit
			hint              string // in the error
			invalid           bool
		}{
			{"modulus 0", &samples.Modular{Products: times}, samples.ModularBy(0), "std/math/emulated.", true},
			{"modulus 97", &samples.Modular{Products: times}, samples.ModularBy(97), "", false},
			{"nil", &calls{f: answersNil, times: times}, &calls{X: 7}, "answersNil", true},
			{"nil and an error", &calls{f: failsNil, times: times}, &calls{X: 7}, errHint.Error(), false},
			{"panic", &calls{f: panics, times: times}, &calls{X: 7}, "panics", true},
			{"exit", &calls{f: exits, times: times}, &calls{X: 7}, "exits ended its goroutine", true},
			{"panic, unsatisfied", &calls{f: panics, times: times, unequal: true}, &calls{X: 0}, "", false},
			{"nil, unsatisfied", &calls{f: answersNil, times: times, unequal: true}, &calls{X: 0}, "", false},
			{"nil and an error, unsatisfied", &calls{f: failsNil, times: times, unequal: true}, &calls{X: 0}, "", false},
			{"the input", &calls{f: answersInput, times: times}, &calls{X: 7}, "", false},
		} {
			t.Run(fmt.Sprint(c.name, " ", times), func(t *testing.T) {
				s := newSystem(t, c.circuit, c.assigned)
				before := solve.Defects()
				err := s.run(t)
				if n := solve.Defects() - before; n != 0 {
					t.Errorf("%d defects are counted", n)
				}
				right := c.name == "modulus 97" || c.name == "the input"
				if right != (err == nil) || err != nil && !strings.Contains(err.Error(), c.hint) {
					t.Fatalf("%v, which should name %q", err, c.hint)
				}
				if !strings.Contains(c.name, "unsatisfied") && errors.Is(err, backend.ErrInvalidInput) != c.invalid {
					t.Errorf("%v is the caller's fault: %v", err, !c.invalid)
				}
			})
		}
	}
}

// foreign is a blueprint that our solver does not know. No instruction is of it.
type foreign struct {
	constraint.BlueprintGenericHint
}

// addForeign leaves a system to gnark's solver.
func (s *system) addForeign() { s.ccs.Blueprints = append(s.ccs.Blueprints, &foreign{}) }

// TestGnarksSolverIsGuarded: gnark's solver alone, for a system that ours does not know, calls the
// same hints.
func TestGnarksSolverIsGuarded(t *testing.T) {
	logger.Disable()
	for _, times := range []int{1, crowd} {
		for _, c := range []struct {
			f    solver.Hint
			want string // in the error
		}{{answersNil, "answersNil"}, {failsNil, errHint.Error()}, {panics, "panics"}, {answersInput, ""}} {
			s := newSystem(t, &calls{f: c.f, times: times}, &calls{X: 7})
			s.addForeign()
			if err := s.run(t); (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d calls: %v, which should name %q", times, err, c.want)
			}
		}
	}
	s := newSystem(t, &calls{f: answersInput, times: crowd}, &calls{X: 7})
	s.addForeign()
	s.ccs.CallData[s.ccs.Instructions[0].StartCallData+5] = 1 << 30 // a wire
	if err := s.run(t); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("%v for a system at which gnark's solver panics", err)
	}
}

// TestGnarksSolverIsLeft: a hint that ends the goroutine of gnark's solver is named, and nobody waits for it.
func TestGnarksSolverIsLeft(t *testing.T) {
	logger.Disable()
	for _, times := range []int{1, crowd} {
		s := newSystem(t, &calls{f: exits, times: times}, &calls{X: 7})
		s.addForeign()
		err := s.run(t)
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "exits ended its goroutine") {
			t.Errorf("%d calls: %v", times, err)
		}
	}
}

// keeping is a blueprint of a user that keeps values. No instruction is of it, but gnark's solver
// resets it before it solves.
type keeping struct {
	foreign
	reset func()
}

func (k *keeping) Solve(constraint.Solver[constraint.U64], constraint.Instruction) error { return nil }
func (k *keeping) Reset()                                                                { k.reset() }

// TestTurns: gnark's solvers of systems with blueprints that keep values take turns, and who waits
// for his obeys his context.
func TestTurns(t *testing.T) {
	logger.Disable()
	s := newSystem(t, &calls{f: answersInput, times: 1}, &calls{X: 7})
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	s.ccs.Blueprints = append(s.ccs.Blueprints, &keeping{reset: func() {
		began <- struct{}{}
		select {
		case <-goOn:
		case <-time.After(10 * time.Second):
		}
	}})
	first := make(chan error, 1)
	go func() { first <- s.run(t) }()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Run(ctx, s.w, nil, func([]fr254.Element) (e fr254.Element, err error) { return e, nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits for his turn has the error %v", err)
	}
	close(goOn)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
