// Package solve runs gnark's solver for provers that share constraint systems, and
// the hash functions that users give them.
package solve

import (
	"context"
	"hash"
	"slices"
	"sync"

	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"golang.org/x/sync/semaphore"
)

// System is a constraint system and how to solve it for a T.
type System[T any] struct {
	// Blueprints is the system's own slice.
	Blueprints []constraint.Blueprint
	// With is the system with other blueprints of the same meaning.
	With func([]constraint.Blueprint) System[T]
	// Solve is gnark's solver.
	Solve func(witness.Witness, ...solver.Option) (T, error)
}

// turn serialises the solvers of all circuits with GKR: a constraint system
// may serve several provers.
var turn = semaphore.NewWeighted(1)

// TakeTurn waits for the turn that solvers of circuits with GKR take.
func TakeTurn(ctx context.Context) (release func(), err error) {
	if err := turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { turn.Release(1) }, nil
}

// Run solves for one witness, and leaves the system alone so that others may
// solve it at the same time. gnark's solver keeps no state in a system, except
// in blueprints that are constraint.BlueprintStateful: two solvers at once would
// see each other's values there. Lookup tables, which nearly every such circuit
// has, are blueprints that can be copied, so that each solver gets its own. For
// any other stateful blueprint (GKR) solvers take turns; only that wait ends
// with the context.
func (s System[T]) Run(ctx context.Context, w witness.Witness, opts []solver.Option) (T, error) {
	own, turns := s.Blueprints, false
	for i, b := range s.Blueprints {
		switch b := b.(type) {
		case *constraint.BlueprintLookupHint[constraint.U64]:
			if &own[0] == &s.Blueprints[0] {
				own = slices.Clone(own)
			}
			// The entries are what solving needs; the rest of the type's state
			// is the solver's own, or was needed for compiling.
			own[i] = &constraint.BlueprintLookupHint[constraint.U64]{EntriesCalldata: b.EntriesCalldata}
		case constraint.BlueprintStateful[constraint.U64]:
			turns = true
		}
	}
	if turns {
		release, err := TakeTurn(ctx)
		if err != nil {
			var none T
			return none, err
		}
		defer release()
	}
	return s.With(own).Solve(w, opts...)
}

// Hashing is held around hash functions that the user gave: options of several
// provers, of the prover and of the verifier, may have one and the same.
var Hashing sync.Mutex

// Challenge hashes what b encodes to a scalar, encoded in at most size bytes.
// It is safe for concurrent use.
type Challenge func(b []byte, size int) []byte

// ChallengeBy is a challenge by a hash function, which others may use too when
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
