package randprog

import (
	"math/big"
	"math/rand/v2"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/fixtures"
)

// Numbers makes a program of operations on numbers, whose operands are in its one
// space before it runs.
type Numbers struct {
	*Reader
	Program
	last backend.Batch // whole numbers that a step has made
}

// Numbers begins a program without steps.
func (r *Reader) Numbers() *Numbers {
	return &Numbers{Reader: r, Program: Program{Element: backend.Word(), Spaces: [][]byte{nil}}}
}

// Random adds up to 6 steps of some operations.
func (p *Numbers) Random(ops []backend.NumberOp) *Program {
	for range 1 + p.Below(6) {
		words := 1 + p.Below(9)
		if p.Below(8) == 0 {
			words = 1 + p.below(70)
		}
		p.Step(ops[p.Below(len(ops))], words, p.Below(4))
	}
	return &p.Program
}

// Step adds a step on numbers of some words, with operands that are right: extreme ones are likely, and so is one
// for all elements.
func (p *Numbers) Step(op backend.NumberOp, words, count int) {
	s := backend.Compute{Op: op, Public: p.Below(2) == 1}
	switch op {
	case backend.NumResize:
		s.A = p.any(words, count)
		s.Dst = p.room(1+p.below(2*words), count)
	case backend.NumAdd, backend.NumSub:
		s.A, s.B = p.any(words, count), p.any(words, count)
		s.Dst = p.result(&s, words, count)
		if p.Below(3) > 0 {
			s.Carry = p.room(1, count)
		}
	case backend.NumCompare:
		s.A, s.B = p.any(words, count), p.any(words, count)
		if p.Below(3) == 0 {
			s.B = p.copied(s.A)
		}
		s.Dst = p.room(1, count)
	case backend.NumMul:
		s.A, s.B = p.any(words, count), p.any(p.another(words), count)
		s.Dst = p.room(s.A.Words+s.B.Words, count)
	case backend.NumSqr:
		s.A = p.any(words, count)
		s.Dst = p.room(2*words, count)
	case backend.NumGFAdd, backend.NumGFMul, backend.NumGFSqr, backend.NumGFInv:
		words = min(words, backend.MaxDegree/32)
		s.Degree = 32 * words
		if less := p.Below(31); words < 9 { // the polynomials of others take time to find
			s.Degree -= less
		}
		most := new(big.Int).Lsh(big.NewInt(1), uint(s.Degree))
		element := func(int, int) *big.Int { return p.lessThan(most) }
		s.A = p.operand(words, count, element)
		if op == backend.NumGFAdd || op == backend.NumGFMul {
			s.B = p.operand(words, count, element)
		}
		s.Dst = p.result(&s, words, count)
	case backend.NumSum:
		s.A = p.numbers(words, count, p.whole)
		s.Dst = p.room(words+p.Below(3), 1)
	case backend.NumDot:
		s.A, s.B = p.numbers(words, count, p.whole), p.numbers(p.another(words), count, p.whole)
		s.Dst = p.room(s.A.Words+s.B.Words+p.Below(2), 1)
	default:
		p.residues(&s, words, count)
	}
	switch op {
	case backend.NumResize, backend.NumAdd, backend.NumSub, backend.NumMul, backend.NumSqr:
		p.last = s.Dst
	}
	p.Steps = append(p.Steps, s)
}

// residues fills in an operation on residues.
func (p *Numbers) residues(s *backend.Compute, words, count int) {
	var moduli []*big.Int
	modulus := func(int, int) *big.Int {
		m := p.whole(0, words)
		if s.Op != backend.NumAddMod && s.Op != backend.NumSubMod {
			m.SetBit(m, 0, 1)
		}
		if m.BitLen() <= 1 {
			m.SetInt64(3)
		}
		moduli = append(moduli, m)
		return m
	}
	below := func(i, _ int) *big.Int { return p.lessThan(moduli[min(i, len(moduli)-1)]) }
	over := s.Op == backend.NumDotMod || s.Op == backend.NumPowerSums
	if over {
		s.M = p.numbers(words, 1, modulus)
	} else {
		s.M = p.operand(words, count, modulus)
	}
	if len(moduli) == 0 { // of no elements
		below = func(int, int) *big.Int { return new(big.Int) }
	}
	// One operand for all elements is below the one modulus that it then has.
	operand := p.numbers
	if !over && s.M.Count == 1 {
		operand = p.operand
	}
	switch s.Op {
	case backend.NumReduce:
		s.A = p.any(1+p.below(2*words), count)
		s.Dst = p.room(words, count)
		return
	case backend.NumExpMod:
		s.A = operand(words, count, below)
		s.B = p.any(1+p.Below(2), count)
		s.Dst = p.result(s, words, count)
		return
	case backend.NumPowerSums:
		s.A = operand(words, count, below)
		s.Dst = p.room(words, 1+p.Below(5))
		return
	case backend.NumDotMod:
		s.A, s.B = operand(words, count, below), operand(words, count, below)
		s.Dst = p.room(words, 1)
		return
	case backend.NumAddMod, backend.NumSubMod, backend.NumMulMod, backend.NumMontMul:
		s.B = operand(words, count, below)
	}
	s.A = operand(words, count, below)
	s.Dst = p.result(s, words, count)
}

// numbers puts count numbers of some words into the space; with value they are made,
// for an element and a width.
func (p *Numbers) numbers(words, count int, value func(i, words int) *big.Int) backend.Batch {
	b := backend.Batch{Space: 1, Offset: len(p.Spaces[0]) / 4, Words: words, Count: count}
	for i := range count {
		p.Spaces[0] = append(p.Spaces[0], fixtures.Raw(value(i, words), 4*words)...)
	}
	return b
}

// another returns a width for the second operand of a product: at most one word more than the first's.
func (p *Numbers) another(words int) int { return min(1+p.below(words+1), backend.MaxNumber) }

// operand returns numbers, or one for all elements.
func (p *Numbers) operand(words, count int, value func(i, words int) *big.Int) backend.Batch {
	if p.Below(4) == 0 {
		count = 1
	}
	return p.numbers(words, count, value)
}

// any returns an operand that may be any number, also what a step has made.
func (p *Numbers) any(words, count int) backend.Batch {
	if p.last.Words == words && p.last.Count == count && p.Below(2) == 1 {
		return p.last
	}
	return p.operand(words, count, p.whole)
}

// copied returns a copy of a batch.
func (p *Numbers) copied(b backend.Batch) backend.Batch {
	r := b.Range()
	own := p.Spaces[0][4*r.Offset : 4*(r.Offset+r.Count)]
	b.Offset = len(p.Spaces[0]) / 4
	p.Spaces[0] = append(p.Spaces[0], own...)
	return b
}

// room returns memory for count numbers, with something in it.
func (p *Numbers) room(words, count int) backend.Batch {
	return p.numbers(words, count, p.whole)
}

// result returns room, or the place of an operand.
func (p *Numbers) result(s *backend.Compute, words, count int) backend.Batch {
	for _, b := range []backend.Batch{s.A, s.B} {
		if b.Count == count && b.Words == words && p.Below(4) == 0 {
			return b
		}
	}
	return p.room(words, count)
}

// whole returns a number of some words.
func (p *Numbers) whole(_, words int) *big.Int {
	return p.lessThan(new(big.Int).Lsh(big.NewInt(1), uint(32*words)))
}

// lessThan returns a number below a limit above 0, with extreme ones likely.
func (p *Numbers) lessThan(limit *big.Int) *big.Int {
	v, one := new(big.Int), big.NewInt(1)
	n := limit.BitLen()
	switch p.Below(8) {
	case 0: // zero
	case 1:
		v.SetInt64(int64(p.Next()))
	case 2:
		v.Sub(limit, big.NewInt(1+int64(p.Next())%3))
	case 3:
		v.Lsh(one, uint(p.below(n)))
	case 4:
		v.Sub(v.Lsh(one, uint(p.below(n))), one)
	case 5: // runs of ones and zeros
		run := 1 + p.Below(200)
		for i := n - 1; i >= 0; i-- {
			v.SetBit(v, i, uint(i/run%2))
		}
	default:
		rng := rand.New(rand.NewPCG(uint64(p.Next()), uint64(p.Next())))
		v.SetBytes(Bytes(rng, (n+7)/8+2))
	}
	return v.Mod(v, limit)
}
