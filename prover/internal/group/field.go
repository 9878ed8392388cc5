package group

import (
	"context"
	"crypto/rand"
	"hash"
	"io"
	"math"
	"math/big"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// Field computes with scalars. Its functions are safe for concurrent use.
type Field[S any] struct {
	// Bytes is the length of an encoded scalar.
	Bytes int

	modulus   []byte // little-endian
	mul       func(z, a, b *S)
	neg       func(z, a *S)
	inverse   func(z, a *S)
	addTo     func(sum, x *S)
	sub       func(z, a, b *S)
	one       func(z *S)
	toBig     func(*S, *big.Int)
	fromBig   func(*S, *big.Int)
	fromBytes func(*S, []byte)
	marshal   func(*S) []byte

	vecMul   func(dst, a, b []S)
	vecSub   func(dst, a, b []S)
	vecScale func(dst, a []S, k *S)

	butterfly func(a, b *S) // a, b = a+b, a-b

	hash        func(msg, dst []byte, count int) ([]S, error)
	hashToField func(dst []byte) hash.Hash
}

// newField binds the types of one scalar field: V is gnark-crypto's vector,
// butterfly, hashTo and hashToField its functions fr.Butterfly, fr.Hash and
// hash_to_field.New.
func newField[S any, V ~[]S, PS curves.Scalar[S], PV curves.Vector[S, V]](
	modulus *big.Int,
	butterfly func(a, b *S),
	hashTo func(msg, dst []byte, count int) ([]S, error),
	hashToField func(dst []byte) hash.Hash,
) *Field[S] {
	size := (modulus.BitLen() + 7) / 8
	low := modulus.FillBytes(make([]byte, size))
	slices.Reverse(low)
	return &Field[S]{
		Bytes:     size,
		modulus:   low,
		mul:       func(z, a, b *S) { PS(z).Mul(a, b) },
		neg:       func(z, a *S) { PS(z).Neg(a) },
		inverse:   func(z, a *S) { PS(z).Inverse(a) },
		addTo:     func(sum, x *S) { PS(sum).Add(sum, x) },
		sub:       func(z, a, b *S) { PS(z).Sub(a, b) },
		one:       func(z *S) { PS(z).SetOne() },
		toBig:     func(s *S, b *big.Int) { PS(s).BigInt(b) },
		fromBig:   func(s *S, b *big.Int) { PS(s).SetBigInt(b) },
		fromBytes: func(s *S, b []byte) { PS(s).SetBytes(b) },
		marshal:   func(s *S) []byte { return PS(s).Marshal() },

		vecMul:   func(dst, a, b []S) { d := V(dst); PV(&d).Mul(a, b) },
		vecSub:   func(dst, a, b []S) { d := V(dst); PV(&d).Sub(a, b) },
		vecScale: func(dst, a []S, k *S) { d := V(dst); PV(&d).ScalarMul(a, k) },

		butterfly: butterfly,

		hash:        hashTo,
		hashToField: hashToField,
	}
}

// Random fills v with uniform scalars from crypto/rand. gnark-crypto's
// SetRandom takes the same bytes, in the same way, through a buffer of its own
// that would stay in memory.
func (f *Field[S]) Random(v []S) error {
	spare := 8*f.Bytes - f.bits()
	for i := range v {
		b := layout.Bytes(v[i : i+1])[:f.Bytes] // limbs, least significant first
		for {
			if _, err := io.ReadFull(rand.Reader, b); err != nil {
				return err
			}
			b[f.Bytes-1] &= 0xff >> spare
			if f.below(b) {
				break
			}
		}
	}
	return nil
}

// bits returns the length of the modulus in bits.
func (f *Field[S]) bits() int {
	return 8*(f.Bytes-1) + bits.Len8(f.modulus[f.Bytes-1])
}

// below reports whether b, little-endian, is below the modulus.
func (f *Field[S]) below(b []byte) bool {
	for i := f.Bytes - 1; i >= 0; i-- {
		if b[i] != f.modulus[i] {
			return b[i] < f.modulus[i]
		}
	}
	return false
}

// Mul sets z to a*b.
func (f *Field[S]) Mul(z, a, b *S) { f.mul(z, a, b) }

// Neg sets z to -a.
func (f *Field[S]) Neg(z, a *S) { f.neg(z, a) }

// Big returns s as a number from 0 to r-1.
func (f *Field[S]) Big(s *S) *big.Int {
	var b big.Int
	f.toBig(s, &b)
	return &b
}

// WipeInt clears the memory of a number.
func WipeInt(b *big.Int) {
	words := b.Bits()
	clear(words[:cap(words)])
	b.SetInt64(0)
}

// Index returns s as an index, or -1 when it is too large for one.
func (f *Field[S]) Index(s *S) int {
	b := f.Big(s)
	if !b.IsInt64() || b.Int64() > math.MaxInt {
		return -1
	}
	return int(b.Int64())
}

// FromBytes returns the big-endian number in b, modulo r.
func (f *Field[S]) FromBytes(b []byte) (s S) { f.fromBytes(&s, b); return s }

// Marshal returns s in Bytes bytes, big-endian.
func (f *Field[S]) Marshal(s *S) []byte { return f.marshal(s) }

// Hash makes count scalars from a message, as gnark-crypto's fr.Hash does.
func (f *Field[S]) Hash(msg, dst []byte, count int) ([]S, error) { return f.hash(msg, dst, count) }

// HashToField returns a new hasher of bytes to one scalar (RFC 9380).
func (f *Field[S]) HashToField(dst []byte) hash.Hash { return f.hashToField(dst) }

// InverseOfPowerMinusOne returns 1/(g^n - 1) for n of at least 1, and 0 when g^n is 1.
func (f *Field[S]) InverseOfPowerMinusOne(g S, n int) S {
	return f.Inverse(f.Minus(f.Power(g, n), f.One()))
}

// One returns 1.
func (f *Field[S]) One() (z S) { f.one(&z); return z }

// Number returns n, not negative, as a scalar.
func (f *Field[S]) Number(n int) (z S) { f.fromBig(&z, big.NewInt(int64(n))); return z }

// Sum adds up all terms.
func (f *Field[S]) Sum(terms ...S) (z S) {
	for i := range terms {
		f.addTo(&z, &terms[i])
	}
	return z
}

// Minus returns a - b.
func (f *Field[S]) Minus(a, b S) (z S) { f.sub(&z, &a, &b); return z }

// Product multiplies all factors.
func (f *Field[S]) Product(factors ...S) S {
	z := f.One()
	for i := range factors {
		f.mul(&z, &z, &factors[i])
	}
	return z
}

// Inverse returns 1/a, and 0 for 0.
func (f *Field[S]) Inverse(a S) (z S) { f.inverse(&z, &a); return z }

// Power returns a^n for n of at least 0.
func (f *Field[S]) Power(a S, n int) S {
	if n == 0 {
		return f.One()
	}
	var z S
	f.power(&z, &a, n)
	return z
}

// AddScaledInto adds k*b[i] to a[i] for all of b.
func (f *Field[S]) AddScaledInto(a, b []S, k S) {
	merge.Parallel(len(b), func(lo, hi int) {
		t := make([]S, 1)
		defer clear(t)
		for i := lo; i < hi; i++ {
			f.mul(&t[0], &b[i], &k)
			f.addTo(&a[i], &t[0])
		}
	})
}

// Eval returns the value of the polynomial p, coefficients in ascending order, at z.
func (f *Field[S]) Eval(p []S, z S) S {
	c := f.cut(p, &z, 0)
	defer clear(c.carry)
	return c.carry[0]
}

// Horner divides the polynomial p, coefficients in ascending order, by X-z in
// place: afterwards p[1:] is the quotient, and the remainder p(z) is returned.
func (f *Field[S]) Horner(p []S, z S) (value S) {
	if len(p) == 0 {
		return value
	}
	c := f.cut(p, &z, 1)
	defer clear(c.carry)
	c.each(0, func(i int, part []S) {
		run := &c.carry[i+1]
		for k := len(part) - 1; k >= 0; k-- {
			f.mul(run, run, &z)
			f.addTo(&part[k], run)
			*run = part[k]
		}
	})
	return p[0]
}

// cuts is a polynomial in parts of equal size, but for the last. carry[i] is
// the value at z of the polynomial whose coefficients begin with part i's; there
// is one behind the last part, 0.
type cuts[S any] struct {
	p     []S
	size  int
	carry []S
}

// leastPart is the number of coefficients that a goroutine is worth: about a
// tenth of a millisecond.
const leastPart = 1 << 12

// cut makes a part for every processor, and sets carry[from] and what follows.
func (f *Field[S]) cut(p []S, z *S, from int) *cuts[S] {
	n := max(1, min(runtime.GOMAXPROCS(0), len(p)/leastPart))
	c := &cuts[S]{p, (len(p) + n - 1) / n, make([]S, n+1)}
	c.each(from, func(i int, part []S) {
		run := &c.carry[i]
		for k := len(part) - 1; k >= 0; k-- {
			f.mul(run, run, z)
			f.addTo(run, &part[k])
		}
	})
	if n == 1 {
		return c
	}
	t := make([]S, 2)
	defer clear(t)
	f.power(&t[0], z, c.size)
	for i := n - 2; i >= from; i-- {
		f.mul(&t[1], &t[0], &c.carry[i+1])
		f.addTo(&c.carry[i], &t[1])
	}
	return c
}

// each runs f on the parts from number from on, at the same time.
func (c *cuts[S]) each(from int, f func(i int, part []S)) {
	var wg sync.WaitGroup
	for i := from; i < len(c.carry)-1; i++ {
		wg.Go(func() { f(i, c.p[i*c.size:min((i+1)*c.size, len(c.p))]) })
	}
	wg.Wait()
}

// power sets x, which is not z, to z^n for n of at least 1.
func (f *Field[S]) power(x, z *S, n int) {
	*x = *z
	for i := bits.Len(uint(n)) - 2; i >= 0; i-- {
		f.mul(x, x, x)
		if n>>i&1 == 1 {
			f.mul(x, x, z)
		}
	}
}

// Selection has, for each scalar of an MSM, the elements of a slice whose sum it is.
type Selection struct {
	// From has one element for each scalar; nil is all elements in order.
	From []uint32
	// Classes, when set, has the elements whose sum each scalar is.
	Classes *merge.Classes
}

// All reports whether the scalars are the slice itself.
func (s *Selection) All() bool { return s.From == nil && s.Classes == nil }

// Part reports whether the scalars are a part of the slice, and where it begins. From ascends.
func (s *Selection) Part() (lo int, ok bool) {
	switch n := len(s.From); {
	case s.Classes != nil || n == 0:
		return 0, s.All()
	default:
		lo = int(s.From[0])
		return lo, int(s.From[n-1])-lo == n-1
	}
}

// Len returns how many scalars are selected of n elements.
func (s *Selection) Len(n int) int {
	switch {
	case s.Classes != nil:
		return s.Classes.Len()
	case s.From != nil:
		return len(s.From)
	}
	return n
}

// Representatives returns the bases of selected scalars: one point of every class, or points itself if
// there are no classes.
func Representatives[P any](points []P, s *Selection) []P {
	if s.Classes == nil {
		return points
	}
	r := make([]P, s.Classes.Len())
	for i := range r {
		r[i] = points[s.Classes.Members(i)[0]]
	}
	return r
}

// Select writes the selected scalars of src, until ctx ends. A selection by both fields
// looks the classes' members up in From.
func (f *Field[S]) Select(ctx context.Context, dst, src []S, s *Selection) error {
	const part = 1 << 12
	at := func(i uint32) *S { return &src[i] }
	if s.From != nil {
		at = func(i uint32) *S { return &src[s.From[i]] }
	}
	if s.Classes == nil {
		return merge.Until(ctx, len(dst), part, func(lo, hi int) {
			if s.From == nil {
				copy(dst[lo:hi], src[lo:hi])
				return
			}
			to := dst[lo:hi]
			for i, from := range s.From[lo:hi] {
				to[i] = src[from]
			}
		})
	}
	type piece struct {
		class int
		sum   S
	}
	total := s.Classes.Total()
	var mu sync.Mutex
	cut := make([]piece, 0, 2*(total/part+1)) // sums of incomplete classes: the first and last of a part
	defer func() { clear(cut) }()
	if err := merge.Until(ctx, total, part, func(lo, hi int) {
		s.Classes.Walk(lo, hi, func(class int, members []uint32, whole bool) {
			sum := &dst[class]
			if !whole {
				mu.Lock()
				cut = append(cut, piece{class: class})
				sum = &cut[len(cut)-1].sum
				mu.Unlock()
			}
			*sum = *at(members[0])
			for _, i := range members[1:] {
				f.addTo(sum, at(i))
			}
		})
	}); err != nil {
		return err
	}
	joined := map[int]bool{}
	for i := range cut {
		p := &cut[i]
		if !joined[p.class] {
			joined[p.class] = true
			dst[p.class] = p.sum
		} else {
			f.addTo(&dst[p.class], &p.sum)
		}
	}
	return nil
}
