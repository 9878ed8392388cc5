// Package observe joins observers of an engine. What measures and traces with
// them is in the packages below it, metrics for Prometheus and tracing for
// OpenTelemetry: a program links only what it imports.
package observe

import (
	"context"

	"github.com/pippin-zk/pippin/engine"
)

// All returns an observer that tells each of these, in order, nil ones left out.
// Phases end in the opposite order.
func All(observers ...engine.Observer) engine.Observer {
	var a all
	for _, o := range observers {
		if o != nil {
			a = append(a, o)
		}
	}
	switch len(a) {
	case 0:
		return nil
	case 1:
		return a[0]
	}
	return a
}

type all []engine.Observer

func (a all) Begin(ctx context.Context, p engine.Phase) (context.Context, func(error)) {
	ends := make([]func(error), len(a))
	for i, o := range a {
		ctx, ends[len(a)-1-i] = o.Begin(ctx, p)
	}
	return ctx, func(err error) {
		for _, end := range ends {
			end(err)
		}
	}
}
