package proving

import (
	"fmt"
	"sync"
	"time"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/solve"
)

// Count is how many of something a proving key has, and how many a constraint system
// needs.
type Count struct {
	What      string
	Got, Want int
	OrMore    bool // a key may have more
}

// CheckCounts returns an error for the first count that is not what is needed.
func CheckCounts(counts ...Count) error {
	for _, c := range counts {
		if c.Got < c.Want || c.Got > c.Want && !c.OrMore {
			return fmt.Errorf("%w: the key has %d %s, the constraint system needs %d: it is for another circuit",
				backend.ErrInvalidInput, c.Got, c.What, c.Want)
		}
	}
	return nil
}

// Inputs returns the values of a witness, which has to be over the system's field.
func Inputs[S any](s solve.System[S], w witness.Witness) ([]S, error) {
	if w == nil {
		return nil, fmt.Errorf("%w: %w: none given", backend.ErrInvalidInput, witness.ErrInvalidWitness)
	}
	values, ok := s.Inputs(w)
	if !ok {
		return nil, fmt.Errorf("%w: %w: it is over another curve's field (%T)", backend.ErrInvalidInput, witness.ErrInvalidWitness, w.Vector())
	}
	return values, nil
}

// Commitment returns the number of a commitment and the values that follow it in what a
// circuit calls commitments with. The constraint system lists so many commitments, the
// i-th of count(i) values.
func Commitment[S any](fr *group.Field[S], in []S, commitments int, count func(i int) int) (i int, values []S, err error) {
	i = -1
	if len(in) > 0 {
		i = fr.Index(&in[0])
	}
	if i < 0 || i >= commitments {
		return 0, nil, fmt.Errorf("%w: a commitment that the constraint system does not list", backend.ErrInvalidInput)
	}
	if want := count(i); len(in)-1 != want {
		return 0, nil, fmt.Errorf("%w: commitment %d of %d values, the constraint system lists %d", backend.ErrInvalidInput, i, len(in)-1, want)
	}
	return i, in[1:], nil
}

// Challenge returns the hash function for commitments: that of the options, or the
// field's with a domain separator.
func Challenge[S any](cfg *gnark.ProverConfig, fr *group.Field[S], dst string) solve.Challenge {
	if cfg.HashToFieldFn != nil {
		return solve.ChallengeBy(cfg.HashToFieldFn, &solve.Hashing)
	}
	return solve.ChallengeBy(fr.HashToField([]byte(dst)), new(sync.Mutex))
}

// Log writes what gnark's provers write to gnark's log at the end.
func Log(system string, curve fmt.Stringer, by string, constraints int, since time.Time) {
	log := logger.Logger()
	log.Debug().Str("curve", curve.String()).Str("acceleration", "pippin "+by).Int("nbConstraints", constraints).
		Str("backend", system).Dur("took", time.Since(since)).Msg("prover done")
}
