package cpu

import (
	"context"
	"math/big"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/gf2"
)

// referenceNumbers computes operations on numbers by definition, in math/big.
func referenceNumbers(ctx context.Context, o *operation) error {
	of := func(memory []byte, b backend.Batch, i int) *big.Int {
		if memory == nil {
			return nil
		}
		return whole(number(memory, b, i))
	}
	switch o.Op {
	case backend.NumSum, backend.NumDot, backend.NumDotMod, backend.NumPowerSums:
		if o.m != nil {
			if err := residues(0, of(o.m, o.M, 0), true); err != nil {
				return err
			}
		}
		sums := make([]*big.Int, o.Dst.Count)
		for k := range sums {
			sums[k] = new(big.Int)
		}
		for i := range o.A.Count {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			a, b, m := of(o.a, o.A, i), of(o.b, o.B, i), of(o.m, o.M, i)
			if m != nil {
				if err := residues(i, m, true, a, b); err != nil {
					return err
				}
			}
			for k, sum := range sums {
				term := a
				switch o.Op {
				case backend.NumDot, backend.NumDotMod:
					term = new(big.Int).Mul(a, b)
				case backend.NumPowerSums:
					term = new(big.Int).Exp(a, big.NewInt(int64(k+1)), m)
				}
				sum.Add(sum, term)
			}
		}
		for k, sum := range sums {
			if o.m != nil {
				sum.Mod(sum, of(o.m, o.M, 0))
			}
			put(number(o.dst, o.Dst, k), sum)
		}
		return nil
	}
	for i := range o.Dst.Count {
		if err := backend.Ended(ctx); err != nil {
			return err
		}
		v, carry, err := o.defined(i, of(o.a, o.A, i), of(o.b, o.B, i), of(o.m, o.M, i))
		if err != nil {
			return err
		}
		put(number(o.dst, o.Dst, i), v)
		if o.carry != nil {
			put(number(o.carry, o.Carry, i), carry)
		}
	}
	return nil
}

// residues checks that m is a valid modulus, odd if odd is set, and that the operands are below it.
// The last operand may be nil.
func residues(i int, m *big.Int, odd bool, operands ...*big.Int) error {
	switch {
	case !odd && m.Sign() == 0:
		return wrong(i, "the modulus is 0")
	case odd && m.Bit(0) == 0:
		return wrong(i, "the modulus is even")
	case odd && m.BitLen() == 1:
		return wrong(i, "the modulus is not above 1")
	}
	for k, v := range operands {
		if v != nil && v.Cmp(m) >= 0 {
			return wrong(i, "%c is not below the modulus", 'A'+k)
		}
	}
	return nil
}

// defined computes element i of an operation that works element by element.
func (o *operation) defined(i int, a, b, m *big.Int) (v, carry *big.Int, err error) {
	width := uint(32 * o.Dst.Words)
	radix := new(big.Int).Lsh(big.NewInt(1), width)
	v, carry = new(big.Int), new(big.Int)
	switch o.Op {
	case backend.NumResize:
		return a, nil, nil // put writes the words that fit
	case backend.NumAdd:
		v.Add(a, b)
		return v, carry.Rsh(v, width), nil
	case backend.NumSub:
		if v.Sub(a, b); v.Sign() < 0 {
			carry.SetInt64(1)
			v.Add(v, radix)
		}
		return v, carry, nil
	case backend.NumCompare:
		return v.And(big.NewInt(int64(a.Cmp(b))), big.NewInt(1<<32-1)), nil, nil
	case backend.NumMul:
		return v.Mul(a, b), nil, nil
	case backend.NumSqr:
		return v.Mul(a, a), nil, nil
	}
	if o.Degree > 0 {
		v, err = o.inField(i, a, b)
		return v, nil, err
	}
	odd := o.Op != backend.NumAddMod && o.Op != backend.NumSubMod
	switch o.Op {
	case backend.NumReduce:
		err = residues(i, m, odd)
	case backend.NumExpMod:
		err = residues(i, m, odd, a)
	default:
		err = residues(i, m, odd, a, b)
	}
	if err != nil {
		return nil, nil, err
	}
	switch o.Op {
	case backend.NumReduce:
		v = a
	case backend.NumAddMod:
		v.Add(a, b)
	case backend.NumSubMod:
		v.Sub(a, b)
	case backend.NumMulMod:
		v.Mul(a, b)
	case backend.NumMontMul:
		v.Mul(v.Mul(a, b), new(big.Int).ModInverse(radix, m))
	case backend.NumMontSqr:
		v.Mul(v.Mul(a, a), new(big.Int).ModInverse(radix, m))
	case backend.NumToMont:
		v.Mul(a, radix)
	case backend.NumFromMont:
		v.Mul(a, new(big.Int).ModInverse(radix, m))
	case backend.NumExpMod:
		v.Exp(a, b, m)
	case backend.NumInvMod:
		if v.ModInverse(a, m) == nil {
			v = new(big.Int)
		}
	}
	return v.Mod(v, m), nil, nil
}

// inField computes element i of an operation on polynomials over GF(2). The bits of a number are
// the coefficients.
func (o *operation) inField(i int, a, b *big.Int) (*big.Int, error) {
	n := o.Degree
	for k, v := range []*big.Int{a, b} {
		if v != nil && v.BitLen() > n {
			return nil, wrong(i, "%c has bits from x^%d on: it is no element of GF(2^%d)", 'A'+k, n, n)
		}
	}
	p := new(big.Int).SetBit(big.NewInt(1), n, 1)
	for _, t := range gf2.New(n).Taps() {
		p.SetBit(p, t, 1)
	}
	mul := func(a, b *big.Int) *big.Int {
		v := new(big.Int)
		for k := range b.BitLen() {
			if b.Bit(k) == 1 {
				v.Xor(v, new(big.Int).Lsh(a, uint(k)))
			}
		}
		for v.BitLen() > n {
			v.Xor(v, new(big.Int).Lsh(p, uint(v.BitLen()-1-n)))
		}
		return v
	}
	switch o.Op {
	case backend.NumGFAdd:
		return new(big.Int).Xor(a, b), nil
	case backend.NumGFMul:
		return mul(a, b), nil
	case backend.NumGFSqr:
		return mul(a, a), nil
	}
	// The inverse by Euclid's algorithm. In each pair, the second times a is the first modulo p.
	if a.Sign() == 0 {
		return a, nil
	}
	r, s := [2]*big.Int{p, new(big.Int).Set(a)}, [2]*big.Int{new(big.Int), big.NewInt(1)}
	for r[1].BitLen() > 1 {
		if r[0].BitLen() < r[1].BitLen() {
			r[0], r[1], s[0], s[1] = r[1], r[0], s[1], s[0]
			continue
		}
		shift := uint(r[0].BitLen() - r[1].BitLen())
		r[0] = new(big.Int).Xor(r[0], new(big.Int).Lsh(r[1], shift))
		s[0] = new(big.Int).Xor(s[0], new(big.Int).Lsh(s[1], shift))
		if r[0].BitLen() < r[1].BitLen() {
			r[0], r[1], s[0], s[1] = r[1], r[0], s[1], s[0]
		}
	}
	return mul(s[1], big.NewInt(1)), nil
}
