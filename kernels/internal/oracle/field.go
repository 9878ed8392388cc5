package oracle

import "math/big"

// Elem is an element of a Field: one coefficient, or two of a + b u.
type Elem []*big.Int

// Field is Fp, or Fp[u] with u^2 = NonResidue when Degree is 2.
type Field struct {
	P          *big.Int
	Degree     int
	NonResidue int64
}

func (f Field) each(op func(i int) *big.Int) Elem {
	e := make(Elem, f.Degree)
	for i := range e {
		e[i] = op(i)
		e[i].Mod(e[i], f.P)
	}
	return e
}

// Zero returns 0.
func (f Field) Zero() Elem { return f.each(func(int) *big.Int { return new(big.Int) }) }

// One returns 1.
func (f Field) One() Elem {
	return f.each(func(i int) *big.Int { return big.NewInt(int64(1 - i)) })
}

// Add returns a + b.
func (f Field) Add(a, b Elem) Elem {
	return f.each(func(i int) *big.Int { return new(big.Int).Add(a[i], b[i]) })
}

// Sub returns a - b.
func (f Field) Sub(a, b Elem) Elem {
	return f.each(func(i int) *big.Int { return new(big.Int).Sub(a[i], b[i]) })
}

// Scale returns k a for an integer k.
func (f Field) Scale(a Elem, k int64) Elem {
	return f.each(func(i int) *big.Int { return new(big.Int).Mul(a[i], big.NewInt(k)) })
}

// Mul returns a b.
func (f Field) Mul(a, b Elem) Elem {
	if f.Degree == 1 {
		return f.each(func(int) *big.Int { return new(big.Int).Mul(a[0], b[0]) })
	}
	return f.each(func(i int) *big.Int {
		if i == 0 {
			t := new(big.Int).Mul(a[1], b[1])
			t.Mul(t, big.NewInt(f.NonResidue))
			return t.Add(t, new(big.Int).Mul(a[0], b[0]))
		}
		t := new(big.Int).Mul(a[0], b[1])
		return t.Add(t, new(big.Int).Mul(a[1], b[0]))
	})
}

// Inv returns 1/a, and 0 for 0.
func (f Field) Inv(a Elem) Elem {
	if f.IsZero(a) {
		return f.Zero()
	}
	if f.Degree == 1 {
		return Elem{new(big.Int).ModInverse(a[0], f.P)}
	}
	conjugate := Elem{a[0], new(big.Int).Neg(a[1])}
	norm := f.Mul(a, conjugate)[0]
	n := new(big.Int).ModInverse(norm, f.P)
	return f.Mul(conjugate, Elem{n, new(big.Int)})
}

// IsZero reports whether a is 0 modulo p.
func (f Field) IsZero(a Elem) bool { return f.Equal(a, f.Zero()) }

// Equal compares residues.
func (f Field) Equal(a, b Elem) bool {
	for _, x := range f.Sub(a, b) {
		if x.Sign() != 0 {
			return false
		}
	}
	return true
}
