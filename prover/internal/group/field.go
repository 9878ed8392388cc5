package group

import (
	"hash"
	"math/big"
	"sync"

	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// Field computes with scalars. Its functions are safe for concurrent use.
type Field[S any] struct {
	// Bytes is the length of an encoded scalar.
	Bytes int

	random    func() (S, error)
	mul       func(a, b *S) S
	neg       func(*S) S
	inverse   func(*S) S
	toBig     func(*S, *big.Int)
	fromBig   func(*S, *big.Int)
	fromBytes func(*S, []byte)
	marshal   func(*S) []byte
	addTo     func(sum *S, x *S)
	subOne    func(*S) S

	vecMul   func(dst, a, b []S)
	vecSub   func(dst, a, b []S)
	vecScale func(dst, a []S, k *S)

	hash        func(msg, dst []byte, count int) ([]S, error)
	hashToField func(dst []byte) hash.Hash
}

type element[S any] interface {
	*S
	SetRandom() (*S, error)
	SetBigInt(*big.Int) *S
	SetBytes([]byte) *S
	SetOne() *S
	BigInt(*big.Int) *big.Int
	Marshal() []byte
	Mul(*S, *S) *S
	Add(*S, *S) *S
	Sub(*S, *S) *S
	Neg(*S) *S
	Inverse(*S) *S
}

type vector[S, V any] interface {
	*V
	Mul(V, V)
	Sub(V, V)
	ScalarMul(V, *S)
}

// newField binds the types of one scalar field: V is gnark-crypto's vector,
// hashTo and hashToField its functions fr.Hash and hash_to_field.New.
func newField[S any, V ~[]S, PS element[S], PV vector[S, V]](
	bytes int,
	hashTo func(msg, dst []byte, count int) ([]S, error),
	hashToField func(dst []byte) hash.Hash,
) *Field[S] {
	return &Field[S]{
		Bytes:     bytes,
		random:    func() (s S, err error) { _, err = PS(&s).SetRandom(); return s, err },
		mul:       func(a, b *S) (s S) { PS(&s).Mul(a, b); return s },
		neg:       func(a *S) (s S) { PS(&s).Neg(a); return s },
		inverse:   func(a *S) (s S) { PS(&s).Inverse(a); return s },
		toBig:     func(s *S, b *big.Int) { PS(s).BigInt(b) },
		fromBig:   func(s *S, b *big.Int) { PS(s).SetBigInt(b) },
		fromBytes: func(s *S, b []byte) { PS(s).SetBytes(b) },
		marshal:   func(s *S) []byte { return PS(s).Marshal() },
		addTo:     func(sum, x *S) { PS(sum).Add(sum, x) },
		subOne:    func(a *S) (s S) { PS(&s).SetOne(); PS(&s).Sub(a, &s); return s },
		vecMul:    func(dst, a, b []S) { d := V(dst); PV(&d).Mul(a, b) },
		vecSub:    func(dst, a, b []S) { d := V(dst); PV(&d).Sub(a, b) },
		vecScale:  func(dst, a []S, k *S) { d := V(dst); PV(&d).ScalarMul(a, k) },

		hash:        hashTo,
		hashToField: hashToField,
	}
}

// Random is a uniform scalar from crypto/rand.
func (f *Field[S]) Random() (S, error) { return f.random() }

// Mul is a*b.
func (f *Field[S]) Mul(a, b S) S { return f.mul(&a, &b) }

// Neg is -a.
func (f *Field[S]) Neg(a S) S { return f.neg(&a) }

// Add is a+b.
func (f *Field[S]) Add(a, b S) S { f.addTo(&a, &b); return a }

// Sub is a-b.
func (f *Field[S]) Sub(a, b S) S { m := f.neg(&b); f.addTo(&a, &m); return a }

// Big is s as a number from 0 to r-1.
func (f *Field[S]) Big(s S) *big.Int {
	var b big.Int
	f.toBig(&s, &b)
	return &b
}

// FromBigInto sets a[i] to b[i] modulo r.
func (f *Field[S]) FromBigInto(a []S, b []*big.Int) {
	merge.Parallel(len(a), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f.fromBig(&a[i], b[i])
		}
	})
}

// FromBytes is the big-endian number in b, modulo r.
func (f *Field[S]) FromBytes(b []byte) (s S) { f.fromBytes(&s, b); return s }

// Marshal is s in Bytes bytes, big-endian.
func (f *Field[S]) Marshal(s S) []byte { return f.marshal(&s) }

// Hash is gnark-crypto's fr.Hash: count scalars from a message.
func (f *Field[S]) Hash(msg, dst []byte, count int) ([]S, error) { return f.hash(msg, dst, count) }

// HashToField is a new hasher of bytes to one scalar (RFC 9380).
func (f *Field[S]) HashToField(dst []byte) hash.Hash { return f.hashToField(dst) }

// InverseOfPowerMinusOne is 1/(g^n - 1) for n a power of two, and 0 when
// g^n is 1.
func (f *Field[S]) InverseOfPowerMinusOne(g S, n int) S {
	for ; n > 1; n /= 2 {
		g = f.mul(&g, &g)
	}
	g = f.subOne(&g)
	return f.inverse(&g)
}

// MulInto sets a[i] to a[i]*b[i].
func (f *Field[S]) MulInto(a, b []S) {
	merge.Parallel(len(a), func(lo, hi int) { f.vecMul(a[lo:hi], a[lo:hi], b[lo:hi]) })
}

// SubScaleInto sets a[i] to (a[i]-b[i])*k.
func (f *Field[S]) SubScaleInto(a, b []S, k S) {
	merge.Parallel(len(a), func(lo, hi int) {
		f.vecSub(a[lo:hi], a[lo:hi], b[lo:hi])
		f.vecScale(a[lo:hi], a[lo:hi], &k)
	})
}

// AddScaledInto adds k*b[i] to a[i] for all of b.
func (f *Field[S]) AddScaledInto(a, b []S, k S) {
	merge.Parallel(len(b), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			t := f.mul(&b[i], &k)
			f.addTo(&a[i], &t)
		}
	})
}

// Eval is the value of the polynomial p, coefficients in ascending order, at z.
func (f *Field[S]) Eval(p []S, z S) S {
	var run S
	for i := len(p) - 1; i >= 0; i-- {
		run = f.mul(&run, &z)
		f.addTo(&run, &p[i])
	}
	return run
}

// Horner divides the polynomial p, coefficients in ascending order, by X-z in
// place: afterwards p[1:] is the quotient, and the remainder p(z) is returned.
func (f *Field[S]) Horner(p []S, z S) S {
	var run S
	for i := len(p) - 1; i >= 0; i-- {
		run = f.mul(&run, &z)
		f.addTo(&run, &p[i])
		p[i] = run
	}
	return run
}

// Selection says which elements of a slice each scalar of an MSM is the sum
// of.
type Selection struct {
	// From has one element for each scalar; nil is all elements in order.
	From []uint32
	// Classes, when set, has the elements whose sum each scalar is.
	Classes *merge.Classes
}

// All tells whether the scalars are the slice itself.
func (s *Selection) All() bool { return s.From == nil && s.Classes == nil }

// Len is the number of scalars selected of n elements.
func (s *Selection) Len(n int) int {
	switch {
	case s.Classes != nil:
		return s.Classes.Len()
	case s.From != nil:
		return len(s.From)
	}
	return n
}

// Select writes the selected scalars of src. A selection by both fields looks
// the classes' members up in From.
func (f *Field[S]) Select(dst, src []S, s *Selection) {
	at := func(i uint32) *S { return &src[i] }
	if s.From != nil {
		at = func(i uint32) *S { return &src[s.From[i]] }
	}
	if s.Classes == nil {
		merge.Parallel(len(dst), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				dst[i] = *at(uint32(i))
			}
		})
		return
	}
	const part = 1 << 12
	type piece struct {
		class int
		sum   S
	}
	var mu sync.Mutex
	var cut []piece
	_ = each((s.Classes.Total()+part-1)/part, func(k int) error {
		s.Classes.Walk(k*part, (k+1)*part, func(class int, members []uint32, whole bool) {
			sum := *at(members[0])
			for _, i := range members[1:] {
				f.addTo(&sum, at(i))
			}
			if whole {
				dst[class] = sum
				return
			}
			mu.Lock()
			defer mu.Unlock()
			cut = append(cut, piece{class, sum})
		})
		return nil
	})
	joined := map[int]bool{}
	for _, p := range cut {
		if !joined[p.class] {
			joined[p.class] = true
			dst[p.class] = p.sum
		} else {
			f.addTo(&dst[p.class], &p.sum)
		}
	}
}

// Domain is a multiplicative subgroup of Fr with its transforms, in place and
// on all processors. Coefficients stand in bit-reversed order.
type Domain[S any] struct {
	// Size is the number of elements, a power of two.
	Size int
	// Shift is the coset's representative.
	Shift S

	fromValues, toCoset, fromCoset func([]S)
}

type transformer[S, D, O any] interface {
	FFT([]S, D, ...O)
	FFTInverse([]S, D, ...O)
}

// NewDomain binds a domain of gnark-crypto; dit, dif and onCoset are its
// package's values of these names.
func NewDomain[S, D, O any](t transformer[S, D, O], size uint64, shift S, dit, dif D, onCoset O) *Domain[S] {
	return &Domain[S]{
		Size:       int(size),
		Shift:      shift,
		fromValues: func(a []S) { t.FFTInverse(a, dif) },
		toCoset:    func(a []S) { t.FFT(a, dit, onCoset) },
		fromCoset:  func(a []S) { t.FFTInverse(a, dif, onCoset) },
	}
}

// FromValues turns values on the subgroup into coefficients.
func (d *Domain[S]) FromValues(a []S) { d.fromValues(a) }

// ToCoset turns coefficients into values on the coset.
func (d *Domain[S]) ToCoset(a []S) { d.toCoset(a) }

// FromCoset turns values on the coset into coefficients.
func (d *Domain[S]) FromCoset(a []S) { d.fromCoset(a) }
