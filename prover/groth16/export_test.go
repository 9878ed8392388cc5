package groth16

// Overlap has the transforms run beside the witness's MSMs, or after them.
func Overlap(on bool) Option {
	return func(o *options) {
		o.overlap = overlapNever
		if on {
			o.overlap = overlapAlways
		}
	}
}

// Quotient has the quotient computed on the engine's backend, or here.
func Quotient(onBackend bool) Option {
	return func(o *options) {
		o.where = whereHere
		if onBackend {
			o.where = whereBackend
		}
	}
}
