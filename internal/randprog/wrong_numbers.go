package randprog

import (
	"math"

	"github.com/pippin-zk/pippin/backend"
)

func batch(offset, words, count int) backend.Batch {
	return backend.Batch{Space: 1, Offset: offset, Words: words, Count: count}
}

// WrongNumbers returns steps of which each is invalid input where the space 1 has 64
// words.
func WrongNumbers() []backend.Step {
	a, b, dst, m := batch(0, 2, 4), batch(8, 2, 4), batch(16, 2, 4), batch(24, 2, 1)
	with := func(op backend.NumberOp, change func(*backend.Compute)) backend.Compute {
		s := backend.Compute{Op: op, Dst: dst, A: a, B: b}
		change(&s)
		return s
	}
	nothing := func(*backend.Compute) {}
	return []backend.Step{
		&backend.Compute{Op: backend.NumAdd, Dst: dst, A: a, B: b},
		backend.Compute{},
		with(0, nothing),
		with(-1, nothing),
		with(backend.NumPowerSums+1, nothing),
		with(math.MaxInt, nothing),
		with(backend.NumAdd, func(s *backend.Compute) { s.Dst.Space = unknown }),
		with(backend.NumAdd, func(s *backend.Compute) { s.A = backend.Batch{} }),
		with(backend.NumAdd, func(s *backend.Compute) { s.B.Words = 1 }),
		with(backend.NumAdd, func(s *backend.Compute) { s.B.Count = 3 }),
		with(backend.NumAdd, func(s *backend.Compute) { s.B.Offset = -1 }),
		with(backend.NumAdd, func(s *backend.Compute) { s.B.Offset = 57 }),
		with(backend.NumAdd, func(s *backend.Compute) { s.B.Offset = math.MaxInt }),
		with(backend.NumAdd, func(s *backend.Compute) { s.A.Count, s.B.Count, s.Dst.Count = math.MaxInt, math.MaxInt, math.MaxInt }),
		with(backend.NumAdd, func(s *backend.Compute) { s.A.Words, s.B.Words, s.Dst.Words = math.MaxInt, math.MaxInt, math.MaxInt }),
		with(backend.NumAdd, func(s *backend.Compute) { s.Dst = batch(1, 2, 4) }),
		with(backend.NumAdd, func(s *backend.Compute) { s.Carry = batch(16, 1, 4) }),
		with(backend.NumAdd, func(s *backend.Compute) { s.Carry = batch(32, 1, 3) }),
		with(backend.NumAdd, func(s *backend.Compute) { s.Degree = 64 }),
		with(backend.NumAdd, func(s *backend.Compute) { s.M = m }),
		with(backend.NumMul, nothing),
		with(backend.NumSqr, nothing),
		with(backend.NumCompare, nothing),
		with(backend.NumMulMod, nothing),
		with(backend.NumMulMod, func(s *backend.Compute) { s.M = batch(24, 1, 1) }),
		with(backend.NumMulMod, func(s *backend.Compute) { s.M = batch(24, 2, 3) }),
		with(backend.NumMulMod, func(s *backend.Compute) { s.M = dst }),
		with(backend.NumGFMul, nothing),
		with(backend.NumGFMul, func(s *backend.Compute) { s.Degree = 32 }),
		with(backend.NumGFMul, func(s *backend.Compute) { s.Degree = 65 }),
		with(backend.NumGFMul, func(s *backend.Compute) { s.Degree = -64 }),
		with(backend.NumGFMul, func(s *backend.Compute) { s.Degree = math.MaxInt }),
		with(backend.NumDot, nothing),
		with(backend.NumDotMod, func(s *backend.Compute) { s.M = m }),
		with(backend.NumPowerSums, func(s *backend.Compute) { s.M = m }),
		with(backend.NumSum, func(s *backend.Compute) { s.B = backend.Batch{} }),
		backend.Gather{Dst: span(1, 0, 1), Src: span(1, 1, 1), Index: span(1, 2, 1)},
		backend.Invert{Dst: span(1, 0, 1), Src: span(1, 0, 1)},
		backend.Write{Dst: span(1, 0, 4), Input: backend.Input{Bytes: make([]byte, 15)}},
		backend.Read{Src: span(1, 0, 65)},
	}
}
