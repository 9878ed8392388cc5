package randprog

import (
	"math"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// WrongPoints returns steps each of which is invalid input where there are these:
//
//	space 1  16 points of e
//	space 2  16 scalars of its curve
//	space 3  16 points of the other group
//	bases 1  8 points of e
func WrongPoints(e backend.Element) []backend.Step {
	a, b, over := span(1, 0, 8), span(1, 8, 8), span(1, 4, 8)
	scalars, other := span(2, 0, 8), span(3, 0, 8)
	bytes := func(n int) backend.Input { return backend.Input{Bytes: make([]byte, n)} }
	with := func(change func(*backend.MultiplyPoints)) backend.Step {
		s := backend.MultiplyPoints{Dst: a, Src: b, Scalars: scalars}
		change(&s)
		return s
	}
	return []backend.Step{
		backend.MultiplyPoints{},
		with(func(s *backend.MultiplyPoints) { s.Dst = scalars }),
		with(func(s *backend.MultiplyPoints) { s.Src = other }),
		with(func(s *backend.MultiplyPoints) { s.Src = scalars }),
		with(func(s *backend.MultiplyPoints) { s.Src = over }),
		with(func(s *backend.MultiplyPoints) { s.Src = span(1, 8, 9) }),
		with(func(s *backend.MultiplyPoints) { s.Src = span(1, 8, 3) }),
		with(func(s *backend.MultiplyPoints) { s.Src = span(1, 8, 0) }),
		with(func(s *backend.MultiplyPoints) { s.Scalars = b }),
		with(func(s *backend.MultiplyPoints) { s.Scalars = span(2, 0, 3) }),
		with(func(s *backend.MultiplyPoints) { s.Scalars = span(2, 16, 0) }),
		with(func(s *backend.MultiplyPoints) { s.Scalars = span(unknown, 0, 8) }),
		with(func(s *backend.MultiplyPoints) { s.Terms = -1 }),
		with(func(s *backend.MultiplyPoints) { s.Terms = math.MaxInt }),
		with(func(s *backend.MultiplyPoints) { s.Terms = backend.MaxCount/8 + 1 }),
		backend.MultiplyPoints{Dst: span(1, 0, 4), Src: span(1, 0, 8), Terms: 2},
		backend.AddPoints{},
		backend.AddPoints{Dst: scalars, Plus: []backend.Range{scalars}},
		backend.AddPoints{Dst: a, Plus: []backend.Range{other}},
		backend.AddPoints{Dst: a, Plus: []backend.Range{b}, Minus: []backend.Range{scalars}},
		backend.AddPoints{Dst: a, Minus: []backend.Range{over}},
		backend.AddPoints{Dst: a, Minus: []backend.Range{span(1, 8, 5)}},
		backend.AddPoints{Dst: a, Minus: []backend.Range{span(1, 16, 0)}},
		backend.AddPoints{Dst: a, Plus: slices.Repeat([]backend.Range{b}, backend.PointArgs), Minus: []backend.Range{b}},
		backend.CheckPoints{},
		backend.CheckPoints{Src: scalars},
		backend.CheckPoints{Src: span(1, 0, 17)},
		backend.Transform{Dst: a, Src: scalars},
		backend.Transform{Dst: scalars, Src: a},
		backend.Transform{Dst: a, Src: other},
		backend.Transform{Dst: span(1, 0, 7), Src: span(1, 0, 7)},
		backend.Transform{Dst: a, Src: over},
		backend.Transform{Dst: a, Src: b, Shift: make([]byte, e.Curve.ScalarBytes())},
		backend.Invert{Dst: a, Src: a},
		backend.Gather{Dst: a, Src: b, Index: span(2, 0, backend.IndexElements(e.Curve, 8))},
		backend.Write{Dst: a, Input: bytes(8*e.Bytes() - 1)},
		backend.Write{Dst: a, Input: bytes(8 * e.Bytes()), Encoding: backend.Compressed},
		backend.Write{Dst: a, Input: bytes(4 * e.Bytes()), Encoding: backend.Uncompressed},
		backend.Write{Dst: a, Input: bytes(8 * e.Bytes()), Encoding: 3},
		backend.Write{Dst: scalars, Input: bytes(8 * e.Curve.ScalarBytes()), Encoding: backend.Uncompressed},
		backend.Read{Src: a, Encoding: 3},
		backend.Read{Src: scalars, Encoding: backend.Compressed},
		backend.Job{Bases: 1, Count: 8, Src: scalars, Dst: a},
		backend.Job{Bases: 1, Count: 8, Src: scalars, Dst: span(3, 0, 1)},
		backend.Job{Bases: 1, Count: 8, Src: scalars, Dst: span(2, 9, 1)},
		backend.Job{Bases: 1, Count: 8, Src: scalars, Dst: span(1, 16, 1)},
		backend.Job{Bases: 1, Count: 8, Src: scalars, Dst: span(unknown, 0, 1)},
	}
}
