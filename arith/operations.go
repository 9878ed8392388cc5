package arith

import (
	"context"

	"github.com/pippin-zk/pippin/backend"
)

// width returns the width of numbers, 1 of none. What is wrong with them is told later.
func width(n *Numbers) int {
	if n == nil {
		return 1
	}
	return n.Width
}

// plain computes an operation without carries.
func (c *Calculator) plain(ctx context.Context, op backend.NumberOp, degree, width, count int, a, b, m *Numbers) (*Numbers, error) {
	out, _, err := c.compute(ctx, op, degree, width, count, false, a, b, m)
	return out, err
}

// Resize returns a with another width in bits: with zeros above, or modulo 2^bits,
// bits rounded up to words.
func (c *Calculator) Resize(ctx context.Context, a *Numbers, bits int) (*Numbers, error) {
	if bits < 1 {
		return nil, invalid("numbers of %d bits", bits)
	}
	return c.plain(ctx, backend.NumResize, 0, widthOf(bits), 0, a, nil, nil)
}

// Add returns a + b modulo 2^(32 Width), and the carries, numbers of one word.
// Widths are up to 2^28 words.
func (c *Calculator) Add(ctx context.Context, a, b *Numbers) (sum, carries *Numbers, err error) {
	return c.compute(ctx, backend.NumAdd, 0, width(a), 0, true, a, b, nil)
}

// Sub returns a - b modulo 2^(32 Width), and the borrows.
func (c *Calculator) Sub(ctx context.Context, a, b *Numbers) (difference, borrows *Numbers, err error) {
	return c.compute(ctx, backend.NumSub, 0, width(a), 0, true, a, b, nil)
}

// Compare returns -1, 0 or 1 for each element: a below b, equal, or above.
func (c *Calculator) Compare(ctx context.Context, a, b *Numbers) ([]int, error) {
	own := *c
	own.into = nil
	n, err := own.plain(ctx, backend.NumCompare, 0, 1, 0, a, b, nil)
	if err != nil {
		return nil, err
	}
	signs := make([]int, n.Len())
	for i, w := range n.Words {
		signs[i] = int(int32(w))
	}
	return signs, nil
}

// Mul returns a b, exactly, as wide as both together.
func (c *Calculator) Mul(ctx context.Context, a, b *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumMul, 0, width(a)+width(b), 0, a, b, nil)
}

// Sqr returns a^2, exactly, twice as wide.
func (c *Calculator) Sqr(ctx context.Context, a *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumSqr, 0, 2*width(a), 0, a, nil, nil)
}

// AddMod returns a + b modulo m, with a and b below m.
func (c *Calculator) AddMod(ctx context.Context, a, b, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumAddMod, 0, width(m), 0, a, b, m)
}

// SubMod returns a - b modulo m, with a and b below m.
func (c *Calculator) SubMod(ctx context.Context, a, b, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumSubMod, 0, width(m), 0, a, b, m)
}

// Reduce returns a modulo m, a of up to 131,072 bits, m odd.
func (c *Calculator) Reduce(ctx context.Context, a, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumReduce, 0, width(m), 0, a, nil, m)
}

// MulMod returns a b modulo m, with a and b below m, which is odd.
func (c *Calculator) MulMod(ctx context.Context, a, b, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumMulMod, 0, width(m), 0, a, b, m)
}

// MontMul returns a b / R modulo m, with R = 2^(32 Width).
func (c *Calculator) MontMul(ctx context.Context, a, b, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumMontMul, 0, width(m), 0, a, b, m)
}

// MontSqr returns a^2 / R modulo m.
func (c *Calculator) MontSqr(ctx context.Context, a, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumMontSqr, 0, width(m), 0, a, nil, m)
}

// ToMont returns a R modulo m.
func (c *Calculator) ToMont(ctx context.Context, a, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumToMont, 0, width(m), 0, a, nil, m)
}

// FromMont returns a / R modulo m.
func (c *Calculator) FromMont(ctx context.Context, a, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumFromMont, 0, width(m), 0, a, nil, m)
}

// ExpMod returns a^e modulo m, with a below m, which is odd, and e of any width.
func (c *Calculator) ExpMod(ctx context.Context, a, e, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumExpMod, 0, width(m), 0, a, e, m)
}

// ExpModShort returns a^e modulo m for a public exponent from 1 on, such as RSA's 65537, of
// which the time depends: by a square a bit and a product for each that is 1, where ExpMod
// takes 54 products for any exponent of 32 bits.
func (c *Calculator) ExpModShort(ctx context.Context, a *Numbers, e uint64, m *Numbers) (*Numbers, error) {
	if e == 0 {
		return nil, invalid("the exponent 0, from 1 on are possible")
	}
	x := &operation{c: c, op: backend.NumMontSqr, short: e, a: a, m: m}
	out, _, err := x.do(ctx, []backend.NumberOp{backend.NumToMont, backend.NumMontSqr, backend.NumMontMul, backend.NumFromMont},
		width(m), 0, false)
	return out, err
}

// InvMod returns 1/a modulo m, and 0 where there is none. m is odd.
func (c *Calculator) InvMod(ctx context.Context, a, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumInvMod, 0, width(m), 0, a, nil, m)
}

// GFAdd returns a + b in GF(2^n): bit i is the coefficient of x^i, and the polynomial
// is the sparsest irreducible one, as NTL's is and that of GCM for n = 128.
func (c *Calculator) GFAdd(ctx context.Context, n int, a, b *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumGFAdd, n, width(a), 0, a, b, nil)
}

// GFMul returns a b in GF(2^n).
func (c *Calculator) GFMul(ctx context.Context, n int, a, b *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumGFMul, n, width(a), 0, a, b, nil)
}

// GFSqr returns a^2 in GF(2^n).
func (c *Calculator) GFSqr(ctx context.Context, n int, a *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumGFSqr, n, width(a), 0, a, nil, nil)
}

// GFInv returns 1/a in GF(2^n), and 0 for 0.
func (c *Calculator) GFInv(ctx context.Context, n int, a *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumGFInv, n, width(a), 0, a, nil, nil)
}

// Sum returns the sum of all of a, one number of some bits, rounded up to words,
// modulo 2^bits; at least as wide as a.
func (c *Calculator) Sum(ctx context.Context, a *Numbers, bits int) (*Numbers, error) {
	if bits < 1 || widthOf(bits) < width(a) {
		return nil, invalid("a sum of %d bits of numbers of %d", bits, 32*width(a))
	}
	return c.plain(ctx, backend.NumSum, 0, widthOf(bits), 1, a, nil, nil)
}

// Dot returns the sum of all a[i] b[i], one number of some bits, rounded up to words,
// modulo 2^bits; at least as wide as a and b together.
func (c *Calculator) Dot(ctx context.Context, a, b *Numbers, bits int) (*Numbers, error) {
	if bits < 1 || widthOf(bits) < width(a)+width(b) {
		return nil, invalid("a sum of %d bits of products of %d", bits, 32*(width(a)+width(b)))
	}
	return c.plain(ctx, backend.NumDot, 0, widthOf(bits), 1, a, b, nil)
}

// DotMod returns the sum of all a[i] b[i] modulo the one number of m, which is odd.
func (c *Calculator) DotMod(ctx context.Context, a, b, m *Numbers) (*Numbers, error) {
	return c.plain(ctx, backend.NumDotMod, 0, width(m), 1, a, b, m)
}

// PowerSums returns count numbers, the sums of all a[i]^k modulo the one number of m,
// which is odd, for k from 1 to count.
func (c *Calculator) PowerSums(ctx context.Context, a, m *Numbers, count int) (*Numbers, error) {
	if count < 1 || count > backend.MaxPowers {
		return nil, invalid("%d sums of powers, from 1 to %d are possible", count, backend.MaxPowers)
	}
	return c.plain(ctx, backend.NumPowerSums, 0, width(m), count, a, nil, m)
}
