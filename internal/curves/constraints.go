package curves

import "math/big"

// Element is an element of a field: of the coordinates' (Fp or Fp2) or the scalars'.
type Element[E any] interface {
	*E
	Add(a, b *E) *E
	Sub(a, b *E) *E
	Mul(a, b *E) *E
	Square(a *E) *E
	Neg(a *E) *E
	Inverse(a *E) *E
	SetOne() *E
	IsZero() bool
	Equal(a *E) bool
}

// Scalar is an element of the scalar field.
type Scalar[S any] interface {
	Element[S]
	SetUint64(uint64) *S
	SetBigInt(*big.Int) *S
	BigInt(*big.Int) *big.Int
	SetBytes([]byte) *S
	Marshal() []byte
	Exp(S, *big.Int) *S
	String() string
}

// Vector is a vector V of elements E. Its operations are faster than those of elements
// where the processor has AVX-512.
type Vector[E, V any] interface {
	*V
	Add(a, b V)
	Sub(a, b V)
	Mul(a, b V)
	ScalarMul(a V, b *E)
	InnerProduct(b V) E
}

// Transforms is an fft.Domain of elements E. D is the type of its decimation, O that of its
// options.
type Transforms[E, D, O any] interface {
	FFT(a []E, decimation D, options ...O)
	FFTInverse(a []E, decimation D, options ...O)
}

// Tables has the powers of a domain's generator, or of its inverse, for each step of a transform.
type Tables[E any] interface {
	Twiddles() ([][]E, error)
	TwiddlesInv() ([][]E, error)
}

// Point is an affine point.
type Point[P any] interface {
	*P
	Add(a, b *P) *P
	Neg(a *P) *P
	Equal(a *P) bool
	IsInfinity() bool
	IsOnCurve() bool
	IsInSubGroup() bool
	Marshal() []byte
	SetBytes([]byte) (int, error)
}

// Affine is an affine point, of which J is the type in Jacobian coordinates.
type Affine[P, J any] interface {
	Point[P]
	FromJacobian(*J) *P
}

// Jacobian is a point in Jacobian coordinates, of which P is the affine type.
type Jacobian[P, J any] interface {
	*J
	FromAffine(*P) *J
	AddMixed(*P) *J
	AddAssign(*J) *J
	SubAssign(*J) *J
	DoubleAssign() *J
	ScalarMultiplication(*J, *big.Int) *J
}
