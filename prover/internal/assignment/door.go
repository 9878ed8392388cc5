package assignment

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/backend"
)

// callHint calls a hint. A panic of it, and an output that it makes nil, are errors that name it.
func callHint(name string, f solver.Hint, q *big.Int, in, out []*big.Int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: hint %s panicked: %v", backend.ErrInvalidInput, name, p)
		}
	}()
	if err := f(q, in, out); err != nil {
		return err
	}
	if i := slices.Index(out, nil); i >= 0 {
		return fmt.Errorf("%w: hint %s answers nil for output %d of %d", backend.ErrInvalidInput, name, i, len(out))
	}
	return nil
}

// Guarded returns an option for gnark's solver after which no hint of the system can make it panic.
// gnark's solver reads the outputs of a hint that failed too, and gives their pointers to the next
// hint: so each call has pointers that are its own.
func Guarded(sys *constraint.System) solver.Option {
	return func(cfg *solver.Config) error {
		cfg.HintFunctions = maps.Clone(cfg.HintFunctions)
		for id, name := range sys.MHintsDependencies {
			f, ok := cfg.HintFunctions[id]
			if !ok || inGnarksSolver(f, name) {
				continue
			}
			cfg.HintFunctions[id] = func(q *big.Int, in, out []*big.Int) error {
				own := slices.Clone(out)
				err := callHint(name, f, q, slices.Clone(in), own)
				for i, v := range own {
					if v != nil {
						out[i].Set(v)
					}
				}
				return err
			}
		}
		return nil
	}
}

// inGnarksSolver reports whether gnark's solver has code for a hint that it finds by the function's
// name, and does not call the function. Such a hint stays as it is: the code has other errors.
func inGnarksSolver(f solver.Hint, name string) bool {
	if solver.GetHintName(f) != name {
		return false
	}
	switch library[name].way {
	case wayBits, wayLimbs, wayCount, wayQuotients:
		return true
	}
	return false
}
