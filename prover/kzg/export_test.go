package kzg

// ByMatrix has polynomials computed by a matrix instead of transforms, or not, so many in a program.
func ByMatrix[P, S any](m *Multiproofs[P, S], on bool, most int) {
	m.direct, m.most = func() bool { return on }, most
}
