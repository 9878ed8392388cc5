package curves

import (
	"fmt"
	"math/big"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Field makes elements of one scalar field.
type Field interface {
	// Elements returns the elements that lie in b, whose memory they are. It is
	// ErrInvalidInput if b is no whole number of elements, or not aligned to 8 bytes.
	Elements(b []byte) (Elements, error)
	// New returns n elements, all of them 0.
	New(n int) Elements
	// Root returns gnark-crypto's root of unity of order n, a power of two, as one element.
	Root(n int) (Elements, error)
}

// Elements is elements of a scalar field, each named by its index. Different elements may be
// changed at the same time.
type Elements interface {
	Len() int
	// Bytes returns the memory of all elements.
	Bytes() []byte
	// Part returns the elements from lo on, below hi. They share memory.
	Part(lo, hi int) Elements
	SetNumber(i int, v uint64)
	// SetInt sets element i to v modulo the order.
	SetInt(i int, v *big.Int)
	// Int sets v to the value of element i, and returns v.
	Int(i int, v *big.Int) *big.Int
	// Mul sets element i to the product of elements a and b.
	Mul(i, a, b int)
	// Inverse sets element i to 1/a, and to 0 if a is 0.
	Inverse(i, a int)
	// Power sets element i to a^k.
	Power(i, a int, k *big.Int)
}

// field is a Field on gnark-crypto's type S.
type field[S any, PS Scalar[S]] struct {
	r         *big.Int
	primitive *big.Int
}

// newField returns the field with r elements. primitive generates its multiplicative group; it is
// the one of gnark-crypto's roots of unity, whose function fr.Generator v0.12.1 does not have.
func newField[S any, PS Scalar[S]](r *big.Int, primitive int64) Field {
	return field[S, PS]{r, big.NewInt(primitive)}
}

// elements is Elements on gnark-crypto's type S.
type elements[S any, PS Scalar[S]] struct{ at []S }

func (f field[S, PS]) Elements(b []byte) (Elements, error) {
	at, err := layout.View[S](b)
	return &elements[S, PS]{at}, err
}

func (f field[S, PS]) New(n int) Elements { return &elements[S, PS]{make([]S, n)} }

func (f field[S, PS]) Root(n int) (Elements, error) {
	e, rest := new(big.Int).Sub(f.r, big.NewInt(1)), new(big.Int)
	if e.QuoRem(e, big.NewInt(int64(n)), rest); rest.Sign() != 0 {
		return nil, fmt.Errorf("%w: no root of unity has the order %d", backend.ErrInternal, n)
	}
	w := make([]S, 1)
	PS(&w[0]).SetBigInt(e.Exp(f.primitive, e, f.r))
	return &elements[S, PS]{w}, nil
}

func (e *elements[S, PS]) Len() int { return len(e.at) }

func (e *elements[S, PS]) Bytes() []byte { return layout.Bytes(e.at) }

func (e *elements[S, PS]) Part(lo, hi int) Elements { return &elements[S, PS]{e.at[lo:hi]} }

func (e *elements[S, PS]) SetNumber(i int, v uint64) { PS(&e.at[i]).SetUint64(v) }

func (e *elements[S, PS]) SetInt(i int, v *big.Int) { PS(&e.at[i]).SetBigInt(v) }

func (e *elements[S, PS]) Int(i int, v *big.Int) *big.Int { return PS(&e.at[i]).BigInt(v) }

func (e *elements[S, PS]) Mul(i, a, b int) { PS(&e.at[i]).Mul(&e.at[a], &e.at[b]) }

func (e *elements[S, PS]) Inverse(i, a int) { PS(&e.at[i]).Inverse(&e.at[a]) }

func (e *elements[S, PS]) Power(i, a int, k *big.Int) { PS(&e.at[i]).Exp(e.at[a], k) }
