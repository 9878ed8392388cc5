package groth16

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"
)

// TestFirstErrorOfWhatIsBeside: a failure ends everything else that was started, and the others'
// errors are not the proof's. A failure after the results are ready ends nothing.
func TestFirstErrorOfWhatIsBeside(t *testing.T) {
	begin := func() (context.Context, *sessions[int]) {
		own := new(sessions[int])
		ctx, cancel := context.WithCancel(t.Context())
		own.cancel = cancel
		own.beside, ctx = errgroup.WithContext(ctx)
		t.Cleanup(own.close)
		return ctx, own
	}
	wrong := errors.New("wrong")

	ctx, own := begin()
	other := own.start(func(func()) error { <-ctx.Done(); return ctx.Err() })
	fails := own.start(func(func()) error { return wrong })
	if err := own.until(ctx, other, fails); err != wrong {
		t.Error(err)
	}

	ctx, own = begin()
	first := own.start(func(ready func()) error { ready(); return wrong })
	if err := errors.Join(own.until(ctx, first), own.until(ctx, own.start(func(ready func()) error { ready(); return nil })),
		ctx.Err()); err != nil {
		t.Error(err)
	}

	ctx, own = begin()
	stays := own.start(func(ready func()) error { <-ctx.Done(); return nil })
	own.cancel()
	if err := own.until(ctx, stays); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
