package groth16

import "context"

// Overlap has the transforms run beside the witness's MSMs, or after them.
func Overlap(on bool) Option {
	return func(o *options) {
		o.overlap = overlapNever
		if on {
			o.overlap = overlapAlways
		}
	}
}

// TakeTurn waits for the turn that solvers of circuits with GKR take.
func TakeTurn() (release func()) {
	_ = turn.Acquire(context.Background(), 1)
	return func() { turn.Release(1) }
}
