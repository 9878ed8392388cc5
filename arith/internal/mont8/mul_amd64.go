//go:build !purego

package mont8

import "golang.org/x/sys/cpu"

var available = cpu.X86.HasAVX512F && cpu.X86.HasAVX512IFMA

// mul sets z to x y / R modulo m, below 2 m as x and y are, in eight lanes. z is neither.
func mul(z, x, y []uint64, p *Powers) {
	n := Lanes * p.n
	mulIFMA(&z[:n][0], &x[:n][0], &y[:n][0], &p.m[:p.n][0], p.n, p.k0)
}

// mulIFMA does what mul does, for n >= 2 digits.
//
//go:noescape
func mulIFMA(z, x, y, m *uint64, n int, k0 uint64)
