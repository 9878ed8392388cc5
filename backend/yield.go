package backend

import "context"

// yieldKey is the key under which WithYield stores its function in a context.
type yieldKey struct{}

// WithYield returns a context whose computations call wait between their parts, from any goroutine.
// Whoever shares one backend among several callers lets others use the device there. wait returns
// nil when the computation may go on, or why ctx has ended.
func WithYield(ctx context.Context, wait func(ctx context.Context) error) context.Context {
	return context.WithValue(ctx, yieldKey{}, wait)
}

// Yield lets other calls run. A backend calls it between the parts of a long computation, while it
// holds nothing that another call would wait for. Yield waits as WithYield demands, and returns
// Ended.
func Yield(ctx context.Context) error {
	if ctx.Err() == nil {
		if wait, ok := ctx.Value(yieldKey{}).(func(context.Context) error); ok {
			return wait(ctx)
		}
	}
	return Ended(ctx)
}
