package groth16

// InSteps has the transforms run after the witness's MSMs, not beside them.
func InSteps() Option { return func(o *options) { o.inSteps = true } }
