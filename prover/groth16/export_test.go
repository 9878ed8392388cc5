package groth16

// Overlap makes the transforms run beside the witness's MSMs, or after them.
func Overlap(on bool) Option {
	return func(o *options) {
		o.overlap = overlapNever
		if on {
			o.overlap = overlapAlways
		}
	}
}

// Quotient makes the engine's backend compute the quotient, or this process.
func Quotient(onBackend bool) Option {
	return func(o *options) {
		o.where = whereHere
		if onBackend {
			o.where = whereBackend
		}
	}
}

// MostMultiples lets one program of a set-up compute at most n products, until restore is called.
func MostMultiples(n int) (restore func()) {
	was := mostMultiples
	mostMultiples = n
	return func() { mostMultiples = was }
}

// MostLent bounds the bytes that backends lend for solutions, until restore is called.
func MostLent(n int64) (restore func()) {
	was := mostLent
	mostLent = n
	return func() { mostLent = was }
}

// LentNow returns how many bytes backends lend now.
func LentNow() int64 { return lentNow.Load() }
