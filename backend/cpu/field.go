package cpu

import (
	"context"
	"iter"
	"math/bits"
	"sync"
	"sync/atomic"
	"weak"

	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	fft377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr/fft"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fft381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	fft254 "github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"
	fft761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr/fft"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// fields make New's arithmetic of each curve's scalar field.
var fields = [...]func() arithmetic{
	backend.BN254: newField[fr254.Element, fr254.Vector](fft254.NewDomain,
		fft254.WithoutPrecompute, fft254.DIF, fft254.DIT, fft254.WithNbTasks),
	backend.BLS12377: newField[fr377.Element, fr377.Vector](fft377.NewDomain,
		fft377.WithoutPrecompute, fft377.DIF, fft377.DIT, fft377.WithNbTasks),
	backend.BLS12381: newField[fr381.Element, fr381.Vector](fft381.NewDomain,
		fft381.WithoutPrecompute, fft381.DIF, fft381.DIT, fft381.WithNbTasks),
	backend.BW6761: newField[fr761.Element, fr761.Vector](fft761.NewDomain,
		fft761.WithoutPrecompute, fft761.DIF, fft761.DIT, fft761.WithNbTasks),
}

// fastFields returns New's arithmetic of each curve's scalar field.
func fastFields() func(backend.Curve) arithmetic {
	var made [len(fields)]arithmetic
	for c, field := range fields {
		if field != nil {
			made[c] = field()
		}
	}
	return func(c backend.Curve) arithmetic { return made[c] }
}

// vectors is arithmetic with gnark-crypto's vectors and transforms.
type vectors[E any, V ~[]E, PE curves.Element[E], PV curves.Vector[E, V]] struct{ domains *domains[E] }

// newField returns what makes the arithmetic of a field for a backend. Backends of one process
// share the tables of transforms.
func newField[E any, V ~[]E, PE curves.Element[E], PV curves.Vector[E, V], D, O, P, T any, PT domain[E, D, O, T]](
	newDomain func(uint64, ...P) *T, withoutTables func() P, dif, dit D, tasks func(int) O,
) func() arithmetic {
	tables := &shared[T]{make: func(n int) *T { return newDomain(uint64(n)) }}
	return func() arithmetic {
		return vectors[E, V, PE, PV]{&domains[E]{make: func(n int) butterflies[E] {
			if n > mostTables {
				return onDomain(PT(newDomain(uint64(n), withoutTables())), dif, dit, tasks)
			}
			return onDomain(PT(tables.of(n)), dif, dit, tasks)
		}}}
	}
}

// domain is gnark-crypto's type fft.Domain.
type domain[E, D, O, T any] interface {
	*T
	curves.Transforms[E, D, O]
}

// shared has the domains that backends of this process keep, one for each power of two.
type shared[T any] struct {
	make func(n int) *T
	kept [1 + logMostTables]struct {
		mu sync.Mutex // held while the domain is made, which may take seconds
		d  weak.Pointer[T]
	}
}

// of returns the domain of n elements. It makes one if no backend has it.
func (s *shared[T]) of(n int) *T {
	kept := &s.kept[bits.TrailingZeros(uint(n))]
	kept.mu.Lock()
	defer kept.mu.Unlock()
	d := kept.d.Value()
	if d == nil {
		d = s.make(n)
		kept.d = weak.Make(d)
	}
	return d
}

// A worker computes in blocks that fit into the first cache, and takes a grain of a few blocks at a
// time.
const (
	logBlock = 9
	block    = 1 << logBlock
	grain    = 16 * block
)

// view returns memory as a vector. Its alignment and length are right: see arithmetic.
func (f vectors[E, V, PE, PV]) view(b []byte) V {
	v, err := layout.View[E](b)
	if err != nil {
		panic(err)
	}
	return v
}

// copied copies elements at any address into new memory.
func (f vectors[E, V, PE, PV]) copied(b []byte) V {
	v := make(V, len(b)/len(layout.Bytes(make([]E, 1))))
	copy(layout.Bytes(v), b)
	return v
}

// element returns one element at any address.
func (f vectors[E, V, PE, PV]) element(b []byte) E { return f.copied(b)[0] }

func (f vectors[E, V, PE, PV]) one() (one E) {
	PE(&one).SetOne()
	return one
}

func (f vectors[E, V, PE, PV]) gather(ctx context.Context, dst, src []byte, index []uint32) (int, error) {
	to, from := f.view(dst), f.view(src)
	var bad atomic.Int64 // index + 1, or 0
	err := each(ctx, len(to), grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			for i, k := range index[lo:hi] {
				if int64(k) >= int64(len(from)) {
					bad.Store(int64(k) + 1)
					return
				}
				to[lo+i] = from[k]
			}
		}
	})
	return int(bad.Load()) - 1, err
}

// powers are z^0 to z^(n-1) of an element z, in natural order or, if n is a power of two, reversed.
// The power at place b*block+i is factor(b) * low[i].
type powers[E any, V ~[]E, PE curves.Element[E]] struct {
	low     V
	squares []E // z^(2^k)
	shift   int // 64 minus the bits of the number of a block, to reverse them
	reverse bool
}

func (f vectors[E, V, PE, PV]) powersOf(z E, n int, o backend.Order) *powers[E, V, PE] {
	logN := bits.Len(uint(max(n, 1) - 1))
	logLow := min(logN, logBlock)
	p := &powers[E, V, PE]{low: make(V, 1<<logLow), squares: make([]E, logN+1), shift: 64 - (logN - logLow), reverse: o == backend.Reversed}
	for k := range p.squares {
		p.squares[k] = z
		PE(&z).Square(&z)
	}
	of := p.squares // low has the powers of of[0]
	if p.reverse {
		of = of[logN-logLow:]
	}
	p.low[0] = f.one()
	for k := range logLow {
		upper := p.low[1<<k : 2<<k]
		PV(&upper).ScalarMul(p.low[:1<<k], &of[k])
	}
	if p.reverse {
		swapReversed(p.low, len(p.low), 0, len(p.low))
	}
	return p
}

// factor returns z to the least exponent of block b.
func (p *powers[E, V, PE]) factor(b int) (z E) {
	e := uint64(b) << logBlock
	if p.reverse {
		e = bits.Reverse64(uint64(b)) >> p.shift
	}
	PE(&z).SetOne()
	for ; e != 0; e &= e - 1 {
		PE(&z).Mul(&z, &p.squares[bits.TrailingZeros64(e)])
	}
	return z
}

func (f vectors[E, V, PE, PV]) powers(ctx context.Context, dst, first, ratio []byte) error {
	to, start := f.view(dst), f.element(first)
	p := f.powersOf(f.element(ratio), len(to), backend.Natural)
	return each(ctx, len(to), grain, func(parts iter.Seq2[int, int]) {
		for lo, hi := range parts {
			for ; lo < hi; lo += block {
				part, z := to[lo:min(lo+block, hi)], p.factor(lo/block)
				PE(&z).Mul(&z, &start)
				PV(&part).ScalarMul(p.low[:len(part)], &z)
			}
		}
	})
}
