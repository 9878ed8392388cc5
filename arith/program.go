package arith

import (
	"math/bits"

	"github.com/pippin-zk/pippin/backend"
)

// What follows adds a step each to a program. Calculator has the same operations and says
// more of each. dst may be a or b as they are, where it is as wide and the operation is not
// over all elements; a batch of one number stands for as many equal ones. What is wrong with
// a step Run tells.

// AddCarry sets dst to a + b modulo 2^bits, and carry, of 32 bits a number, to the carries.
func (p *Program) AddCarry(dst, carry, a, b *Batch) {
	p.do(backend.NumAdd, dst, operands{A: a, B: b, Carry: carry})
}

// SubBorrow sets dst to a - b modulo 2^bits, and borrow, of 32 bits a number, to the borrows.
func (p *Program) SubBorrow(dst, borrow, a, b *Batch) {
	p.do(backend.NumSub, dst, operands{A: a, B: b, Carry: borrow})
}

// Resize copies a to dst, with zeros above or modulo 2^bits of dst.
func (p *Program) Resize(dst, a *Batch) {
	p.do(backend.NumResize, dst, operands{A: a})
}

// Add sets dst to a + b modulo 2^bits.
func (p *Program) Add(dst, a, b *Batch) {
	p.do(backend.NumAdd, dst, operands{A: a, B: b})
}

// Sub sets dst to a - b modulo 2^bits.
func (p *Program) Sub(dst, a, b *Batch) {
	p.do(backend.NumSub, dst, operands{A: a, B: b})
}

// Compare sets dst, of 32 bits, to 0 for a = b, 1 for a above b and 2^32-1 for a below.
func (p *Program) Compare(dst, a, b *Batch) {
	p.do(backend.NumCompare, dst, operands{A: a, B: b})
}

// Mul sets dst, as wide as both together, to a b.
func (p *Program) Mul(dst, a, b *Batch) {
	p.do(backend.NumMul, dst, operands{A: a, B: b})
}

// Sqr sets dst, twice as wide, to a^2.
func (p *Program) Sqr(dst, a *Batch) {
	p.do(backend.NumSqr, dst, operands{A: a})
}

// AddMod sets dst to a + b modulo m.
func (p *Program) AddMod(dst, a, b, m *Batch) {
	p.do(backend.NumAddMod, dst, operands{A: a, B: b, M: m})
}

// SubMod sets dst to a - b modulo m.
func (p *Program) SubMod(dst, a, b, m *Batch) {
	p.do(backend.NumSubMod, dst, operands{A: a, B: b, M: m})
}

// Reduce sets dst to a modulo m, which is odd.
func (p *Program) Reduce(dst, a, m *Batch) {
	p.do(backend.NumReduce, dst, operands{A: a, M: m})
}

// MulMod sets dst to a b modulo m, which is odd.
func (p *Program) MulMod(dst, a, b, m *Batch) {
	p.do(backend.NumMulMod, dst, operands{A: a, B: b, M: m})
}

// MontMul sets dst to a b / R modulo m, R = 2^bits.
func (p *Program) MontMul(dst, a, b, m *Batch) {
	p.do(backend.NumMontMul, dst, operands{A: a, B: b, M: m})
}

// MontSqr sets dst to a^2 / R modulo m.
func (p *Program) MontSqr(dst, a, m *Batch) {
	p.do(backend.NumMontSqr, dst, operands{A: a, M: m})
}

// ToMont sets dst to a R modulo m.
func (p *Program) ToMont(dst, a, m *Batch) {
	p.do(backend.NumToMont, dst, operands{A: a, M: m})
}

// FromMont sets dst to a / R modulo m.
func (p *Program) FromMont(dst, a, m *Batch) {
	p.do(backend.NumFromMont, dst, operands{A: a, M: m})
}

// ExpMod sets dst to a^e modulo m.
func (p *Program) ExpMod(dst, a, e, m *Batch) {
	p.do(backend.NumExpMod, dst, operands{A: a, B: e, M: m})
}

// InvMod sets dst to 1/a modulo m, 0 where there is none.
func (p *Program) InvMod(dst, a, m *Batch) {
	p.do(backend.NumInvMod, dst, operands{A: a, M: m})
}

// GFAdd sets dst to a + b in GF(2^n).
func (p *Program) GFAdd(n int, dst, a, b *Batch) {
	p.do(backend.NumGFAdd, dst, operands{A: a, B: b, Degree: n})
}

// GFMul sets dst to a b in GF(2^n).
func (p *Program) GFMul(n int, dst, a, b *Batch) {
	p.do(backend.NumGFMul, dst, operands{A: a, B: b, Degree: n})
}

// GFSqr sets dst to a^2 in GF(2^n).
func (p *Program) GFSqr(n int, dst, a *Batch) {
	p.do(backend.NumGFSqr, dst, operands{A: a, Degree: n})
}

// GFInv sets dst to 1/a in GF(2^n), 0 for 0.
func (p *Program) GFInv(n int, dst, a *Batch) {
	p.do(backend.NumGFInv, dst, operands{A: a, Degree: n})
}

// Sum sets dst, one number, to the sum of all of a modulo 2^bits.
func (p *Program) Sum(dst, a *Batch) {
	p.do(backend.NumSum, dst, operands{A: a})
}

// Dot sets dst, one number, to the sum of all a[i] b[i] modulo 2^bits.
func (p *Program) Dot(dst, a, b *Batch) {
	p.do(backend.NumDot, dst, operands{A: a, B: b})
}

// DotMod sets dst, one number, to the sum of all a[i] b[i] modulo the one number of m.
func (p *Program) DotMod(dst, a, b, m *Batch) {
	p.do(backend.NumDotMod, dst, operands{A: a, B: b, M: m})
}

// PowerSums sets dst[k-1] to the sum of all a[i]^k modulo the one number of m.
func (p *Program) PowerSums(dst, a, m *Batch) {
	p.do(backend.NumPowerSums, dst, operands{A: a, M: m})
}

// ExpModShort sets dst to a^e modulo m, for a public exponent from 1 on; base and power are
// batches like dst, for what is computed on the way, and not one and the same.
func (p *Program) ExpModShort(dst, base, power, a *Batch, e uint64, m *Batch) {
	if e == 0 {
		p.fail(invalid("the exponent 0, from 1 on are possible"))
		return
	}
	if base != nil && power != nil && base.s == power.s && base.id == power.id {
		p.fail(invalid("the batches for the base and the power are one"))
		return
	}
	p.powers(dst, base, power, a, e, m)
}

// powers adds the steps of ExpModShort.
func (p *Program) powers(dst, base, power, a *Batch, e uint64, m *Batch) {
	p.ToMont(base, a, m)
	of := base
	for i := bits.Len64(e) - 2; i >= 0; i-- {
		p.MontSqr(power, of, m)
		if of = power; e>>i&1 == 1 {
			p.MontMul(power, power, base, m)
		}
	}
	p.FromMont(dst, of, m)
}
