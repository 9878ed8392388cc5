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

// Written is the range that a step writes, but for carries; of no elements when it
// writes none.
func Written(s backend.Step) backend.Range {
	switch s := s.(type) {
	case backend.Write:
		return s.Dst
	case backend.WriteIndices:
		return s.Dst
	case backend.Gather:
		return s.Dst
	case backend.Transform:
		return s.Dst
	case backend.Map:
		return s.Dst.Range
	case backend.Powers:
		return s.Dst
	case backend.Invert:
		return s.Dst
	case backend.Products:
		return s.Dst
	case backend.Divide:
		return s.Dst
	case backend.Compute:
		return s.Dst.Range()
	}
	return backend.Range{}
}
