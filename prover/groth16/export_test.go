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

// MostMultiples has one program of a set-up compute at most n products, until the function
// returned is called.
func MostMultiples(n int) (restore func()) {
	was := mostMultiples
	mostMultiples = n
	return func() { mostMultiples = was }
}
