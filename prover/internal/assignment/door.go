package assignment

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sync/atomic"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/backend"
)

// Exit is the hint that ended its goroutine (runtime.Goexit), as a test's FailNow does. Nothing can keep that
// goroutine, so that whoever waits for it looks here.
type Exit struct{ hint atomic.Pointer[string] }

// Err returns an error that names the hint.
func (e *Exit) Err() error {
	name := "of an unknown name"
	if hint := e.hint.Load(); hint != nil {
		name = *hint
	}
	return fmt.Errorf("%w: hint %s ended its goroutine (runtime.Goexit)", backend.ErrInvalidInput, name)
}

// callHint calls a hint. A panic of it, and an output that it makes nil, are errors that name it. If it ends its
// goroutine, exit has its name.
func callHint(name string, f solver.Hint, q *big.Int, in, out []*big.Int, exit *Exit) (err error) {
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: hint %s panicked: %v", backend.ErrInvalidInput, name, p)
		} else if !returned {
			hint := name
			exit.hint.Store(&hint)
		}
	}()
	err = f(q, in, out)
	returned = true
	if err != nil {
		return err
	}
	if i := slices.Index(out, nil); i >= 0 {
		return fmt.Errorf("%w: hint %s answers nil for output %d of %d", backend.ErrInvalidInput, name, i, len(out))
	}
	return nil
}

// Guarded returns an option for gnark's solver after which no hint of the system can make it panic.
// gnark's solver reads the outputs of a hint that failed too, and gives their pointers to the next
// hint: so each call has pointers that are its own. A hint that ends its goroutine is in exit.
func Guarded(sys *constraint.System, exit *Exit) solver.Option {
	return func(cfg *solver.Config) error {
		cfg.HintFunctions = maps.Clone(cfg.HintFunctions)
		for id, name := range sys.MHintsDependencies {
			f, ok := cfg.HintFunctions[id]
			if !ok || inGnarksSolver(f, name) {
				continue
			}
			cfg.HintFunctions[id] = func(q *big.Int, in, out []*big.Int) error {
				own := slices.Clone(out)
				err := callHint(name, f, q, slices.Clone(in), own, exit)
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
