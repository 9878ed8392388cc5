package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// loads counts the sets of bases that an engine loads. It is the engine's observer.
type loads atomic.Int64

func (n *loads) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	if p.Kind == engine.PhaseLoad {
		(*atomic.Int64)(n).Add(1)
	}
	return ctx, func(error) {}
}

// Proves reports whether proofs are asked for: the environment names a backend. Without a name a program
// proves as gnark does.
func (r *Runtime) Proves() bool { return r.asks }

// Ask has answer compute what a call of gnark's would. It returns false where gnark is to compute: the size,
// in constraints, is below the threshold, the input is not for pippin, or there was a failure and the
// runtime is not strict. An error is the call's: gnark's own, as that of a wrong witness, or a strict
// runtime's.
func (r *Runtime) Ask(what string, curve backend.Curve, size int, answer func(context.Context, *engine.Engine) error) (bool, error) {
	if size < r.o.Threshold {
		return false, nil
	}
	e, err := r.open()
	if err != nil {
		return false, r.failure(err)
	}
	start, before := time.Now(), r.loads.Load()
	err = answer(context.Background(), e.Engine)
	switch {
	case errors.Is(err, backend.ErrInvalidInput):
		return false, nil // gnark says what is wrong, or knows more
	case err != nil && isFailure(err):
		r.report("failure of "+what, fmt.Sprintf("%s: %v", what, err))
		return false, r.failure(err)
	case err != nil:
		return false, err
	}
	l := line{Call: call(what), Curve: curve.String(), Size: size, Backend: e.Backend()}
	if strings.HasSuffix(what, ".Prove") {
		l.Bases = resident
		if r.loads.Load() != before {
			l.Bases = loaded
		}
	}
	l.MS = milliseconds(start)
	r.write(l)
	return true, nil
}

// isFailure reports whether an error is a backend's, and not of what was asked.
func isFailure(err error) bool {
	return slices.ContainsFunc([]error{
		backend.ErrClosed, backend.ErrUnsupported, backend.ErrOutOfMemory, backend.ErrInternal, backend.ErrUnavailable, backend.ErrGone,
	}, func(sentinel error) bool { return errors.Is(err, sentinel) })
}
