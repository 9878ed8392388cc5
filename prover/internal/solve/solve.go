// Package solve solves constraint systems for provers that share them, by our own
// solver or gnark's, and has the hash functions that users give them.
package solve

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"
	"github.com/consensys/gnark/logger"
	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// System is a constraint system and the ways to solve it.
type System[S any] struct {
	assignment.System[S]
	// Engine, if it is not nil, hears of phases.
	Engine *engine.Engine
	// Solver is our own.
	Solver *assignment.Solver[S]
	// Inputs are a witness's values, or false for one over another field.
	Inputs func(witness.Witness) ([]S, bool)
	// Gnark is gnark's solver, for the system with other blueprints of the same
	// meaning.
	Gnark func([]constraint.Blueprint, witness.Witness, ...solver.Option) (*assignment.Solution[S], error)
}

// turn serialises gnark's solvers of circuits with blueprints that cannot be copied: a constraint
// system may serve several provers.
var turn = semaphore.NewWeighted(1)

// Run solves for one witness; commit is what the circuit's commitments call. What our
// own solver does not decide gnark's does: blueprints of users, and witnesses with which a
// constraint does not hold, of which it says what is wrong. Hints are called twice then.
// That is a phase of its own, one for defects of our solver, which are a warning too, once in
// a process. The caller wipes the solution, and gives it back.
func (s System[S]) Run(ctx context.Context, w witness.Witness, opts []solver.Option,
	commit assignment.Commit[S]) (*assignment.Solution[S], error) {
	opts = append(slices.Clone(opts), solver.OverrideHint(solver.GetHintID(cs.Bsb22CommitmentComputePlaceholder), s.Solver.Hint(commit)))
	cfg, err := solver.NewConfig(opts...)
	log := logger.Logger()
	why := engine.PhaseSolveGnark
	if inputs, ok := s.Inputs(w); ok && err == nil {
		start := time.Now()
		if _, ok := versions.Compared(); !ok {
			warnHints.Do(func() {
				log.Warn().Str("gnark", versions.Gnark()).Msg("the hints of this version of gnark have not " +
					"been compared with pippin's, so that gnark's are called: solving takes longer")
			})
		}
		sol, err := s.Solver.Solve(ctx, s.System, inputs, cfg, commit)
		if err == nil {
			// As gnark's solver says it.
			log.Debug().Int("nbConstraints", s.NbConstraints).Dur("took", time.Since(start)).Msg("constraint system solver done")
			s.Solver.Print(s.System, sol.Wires, cfg.Logger)
		}
		if !errors.Is(err, assignment.ErrUndecided) {
			return sol, err
		}
		log.Debug().Err(err).Msg("gnark's solver is asked")
		if errors.Is(err, assignment.ErrDefect) {
			why = engine.PhaseSolveDefect
			defects.Add(1)
			warnDefect.Do(func() {
				log.Warn().Err(err).Msg("a defect of pippin's solver: gnark's solves in its place, which takes longer")
			})
		}
	}
	ctx, end := s.Engine.Observe(ctx, engine.Phase{Kind: why})
	sol, err := s.gnark(ctx, w, opts)
	end(err)
	if err == nil {
		leftToGnark.Add(1)
	}
	return sol, err
}

var (
	leftToGnark, defects  atomic.Int64
	warnDefect, warnHints sync.Once
)

// Defects returns how often our solver failed by a fault of its own.
func Defects() int64 { return defects.Load() }

// LeftToGnark returns how many solutions were found by gnark's solver and not by ours.
func LeftToGnark() int64 { return leftToGnark.Load() }

// gnark has gnark's solver solve, and leaves the system alone so that others may solve it at the
// same time. That solver keeps no state in a system, except in blueprints that are
// constraint.BlueprintStateful: two solvers at once would see each other's values there. Those of
// gnark's library can be copied, so that each solver has its own, which is wiped. For any other
// one solvers take turns; only that wait ends with the context.
//
// No witness can make gnark's solver end the process: hints are guarded, and one task solves in
// one goroutine, where a panic is an error.
func (s System[S]) gnark(ctx context.Context, w witness.Witness, opts []solver.Option) (*assignment.Solution[S], error) {
	own := assignment.Own(s.Blueprints)
	defer own.Wipe()
	if own.Shared {
		if err := turn.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		defer turn.Release(1)
	}
	return s.guarded(own.List, w, opts)
}

// guarded calls gnark's solver in a goroutine that a hint may end. A panic is an error.
func (s System[S]) guarded(b []constraint.Blueprint, w witness.Witness, opts []solver.Option) (sol *assignment.Solution[S], err error) {
	var exit assignment.Exit
	opts = append(opts, assignment.Guarded(s.System.System, &exit), solver.WithNbTasks(1))
	returned, over := false, make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			if p := recover(); p != nil {
				sol, err, returned = nil, fmt.Errorf("%w: gnark's solver panicked: %v", backend.ErrInvalidInput, p), true
			}
		}()
		sol, err = s.Gnark(b, w, opts...)
		returned = true
	}()
	<-over
	if !returned {
		return nil, exit.Err()
	}
	return sol, err
}

// Hashing is held around hash functions that the user gave: options of several
// provers, of the prover and of the verifier, may have one and the same.
var Hashing sync.Mutex

// Challenge hashes what b encodes to a scalar, encoded in at most size bytes.
// It is safe for concurrent use.
type Challenge func(b []byte, size int) []byte

// ChallengeBy returns a challenge by a hash function, which others may use too when
// they hold the lock.
func ChallengeBy(h hash.Hash, lock sync.Locker) Challenge {
	return func(b []byte, size int) []byte {
		lock.Lock()
		defer lock.Unlock()
		h.Write(b) // never fails, says hash.Hash
		sum := h.Sum(nil)
		h.Reset()
		return sum[:min(size, h.Size())]
	}
}
