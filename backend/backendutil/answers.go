package backendutil

import "github.com/pippin-zk/pippin/backend"

// AnswerBytes is the length of what a valid step over spaces of a curve answers,
// 0 for nothing; group is that of a Commit's bases.
func AnswerBytes(s backend.Step, curve backend.Curve, group backend.Group) int {
	switch s := s.(type) {
	case backend.Read:
		return s.Src.Count * curve.ScalarBytes()
	case backend.Products, backend.Divide:
		return curve.ScalarBytes()
	case backend.Evaluate:
		return len(s.Src) * curve.ScalarBytes()
	case backend.Commit:
		return curve.PointBytes(group)
	}
	return 0
}
