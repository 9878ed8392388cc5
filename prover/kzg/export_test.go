package kzg

// ByMatrix has a few polynomials computed by a matrix instead of transforms, or not.
func ByMatrix[P, S any](m *Multiproofs[P, S], on bool) { m.direct = func() bool { return on } }
