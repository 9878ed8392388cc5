package arith

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"sync"
	"sync/atomic"

	"filippo.io/bigmod"

	"github.com/pippin-zk/pippin/arith/internal/mont8"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// signed checks powers of a by the public exponent of their key, in this process and in
// constant time but for the lengths of the primes and the exponent.
type signed struct {
	a     *Numbers
	k     CRT
	m     *bigmod.Modulus // P Q
	eight *mont8.Powers   // or nil
}

// newSigned wants a key whose modulus is possible, and numbers below it.
func newSigned(ctx context.Context, a *Numbers, k CRT) (*signed, error) {
	if k.E < 3 || k.E%2 == 0 {
		return nil, fmt.Errorf("%w: the key's public exponent E is %d, an odd one from 3 on is wanted", backend.ErrInvalidInput, k.E)
	}
	for name, n := range map[string]*Numbers{"P": k.P, "Q": k.Q} {
		if n.Words[0]&1 == 0 {
			return nil, fmt.Errorf("%w: %s of the key is even", backend.ErrInvalidInput, name)
		}
	}
	p, q := k.P.Bytes(0), k.Q.Bytes(0)
	defer clear(p)
	defer clear(q)
	m, err := bigmod.NewModulusProduct(p, q)
	if err != nil {
		return nil, fmt.Errorf("%w: the key's P Q: %w", backend.ErrInvalidInput, err)
	}
	s := &signed{a: a, k: k, m: m}
	if a.Len() >= mont8.Lanes {
		s.eight = mont8.New(new(big.Int).SetBytes(m.Nat().Bytes(m)), k.E, a.Width)
	}
	wrong, err := s.first(ctx, func(lo, hi int, _ *mont8.Work) int {
		for ; lo < hi; lo++ {
			if _, ok := s.residue(a, lo); !ok {
				break
			}
		}
		return lo
	})
	if err != nil {
		return nil, err
	}
	if wrong < a.Len() {
		return nil, fmt.Errorf("%w: element %d: A is not below P Q", backend.ErrInvalidInput, wrong)
	}
	return s, nil
}

// first returns the first element that is wrong, or how many there are. do looks at those from
// lo on below hi and returns the first of them that is wrong, or hi; it is called on all
// processors.
func (s *signed) first(ctx context.Context, do func(lo, hi int, w *mont8.Work) int) (int, error) {
	n := s.a.Len()
	var next, wrong atomic.Int64
	wrong.Store(int64(n))
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n+mont8.Lanes-1)/mont8.Lanes) {
		workers.Go(func() {
			var w *mont8.Work
			if s.eight != nil {
				w = s.eight.Work()
				defer w.Wipe()
			}
			for ctx.Err() == nil {
				lo := next.Add(mont8.Lanes) - mont8.Lanes
				if lo >= wrong.Load() {
					return
				}
				hi := min(lo+mont8.Lanes, int64(n))
				i := int64(do(int(lo), int(hi), w))
				for least := wrong.Load(); i < hi && i < least && !wrong.CompareAndSwap(least, i); least = wrong.Load() {
				}
			}
		})
	}
	workers.Wait()
	return int(wrong.Load()), backend.Ended(ctx)
}

// residue returns number i if it is below the modulus.
func (s *signed) residue(n *Numbers, i int) (*bigmod.Nat, bool) {
	b := n.Bytes(i)
	defer clear(b)
	return residue(b, s.m)
}

// residue returns big-endian bytes as a number below m, or false.
func residue(b []byte, m *bigmod.Modulus) (*bigmod.Nat, bool) {
	over := max(len(b)-m.Size(), 0)
	var above byte
	for _, v := range b[:over] {
		above |= v
	}
	if above != 0 {
		return nil, false
	}
	x, err := bigmod.NewNat().SetBytes(b[over:], m)
	return x, err == nil
}

// holds reports whether power^E is a.
func (s *signed) holds(power, a *bigmod.Nat) bool {
	return bigmod.NewNat().ExpShortVarTime(power, uint(s.k.E), s.m).Equal(a) == 1
}

// refused makes of a backend's error what the call answers: a key and operands that are
// right are no invalid input. newSigned has looked at the operands, so that else it is the key.
func (s *signed) refused(err error) error {
	if !errors.Is(err, backend.ErrInvalidInput) {
		return err
	}
	two := bigmod.NewNat().SetUint(2).ExpandFor(s.m)
	if power, ok := s.power(two); ok && s.holds(power, two) {
		return fmt.Errorf("%w: right operands are refused: %v", engine.ErrWrongAnswer, err)
	}
	return s.badKey()
}

// badKey is the error of a key whose numbers are each possible.
func (s *signed) badKey() error {
	return fmt.Errorf("%w: the key's numbers and its public exponent %d do not belong together", backend.ErrInvalidInput, s.k.E)
}

// right checks all powers. An error wraps engine.ErrWrongAnswer, or backend.ErrInvalidInput
// when the key is what is wrong.
func (s *signed) right(ctx context.Context, powers *Numbers) error {
	i, err := s.first(ctx, func(lo, hi int, w *mont8.Work) int {
		if w != nil && hi-lo == mont8.Lanes && s.eight.Are(w, s.a.part(lo, hi).Words, powers.part(lo, hi).Words) {
			return hi
		}
		for ; lo < hi; lo++ {
			a, _ := s.residue(s.a, lo)
			if x, ok := s.residue(powers, lo); !ok || !s.holds(x, a) {
				break
			}
		}
		return lo
	})
	if err != nil {
		return err
	}
	if i == powers.Len() {
		return nil
	}
	a, _ := s.residue(s.a, i)
	if power, ok := s.power(a); !ok || !s.holds(power, a) {
		return s.badKey()
	}
	return fmt.Errorf("%w: element %d of ExpModCRT", engine.ErrWrongAnswer, i)
}

// power returns a to the power of d, computed here; false when the key has a number that
// is not below its modulus.
func (s *signed) power(a *bigmod.Nat) (*bigmod.Nat, bool) {
	half := func(prime, exponent *Numbers) (*bigmod.Modulus, *bigmod.Nat) {
		p, e := prime.Bytes(0), exponent.Bytes(0)
		defer clear(p)
		defer clear(e)
		m, err := bigmod.NewModulus(p)
		if err != nil {
			return nil, nil
		}
		return m, bigmod.NewNat().Exp(bigmod.NewNat().Mod(a, m), e, m)
	}
	p, m1 := half(s.k.P, s.k.DP)
	q, m2 := half(s.k.Q, s.k.DQ)
	if p == nil || q == nil {
		return nil, false
	}
	inverse := s.k.QInv.Bytes(0)
	defer clear(inverse)
	h, ok := residue(inverse, p)
	if !ok {
		return nil, false
	}
	h.Mul(m1.Sub(bigmod.NewNat().Mod(m2, p), p), p)
	// m2 + Q h, which is below P Q.
	x := bigmod.NewNat().Mod(q.Nat(), s.m)
	x.Mul(bigmod.NewNat().Mod(h, s.m), s.m)
	return x.Add(bigmod.NewNat().Mod(m2, s.m), s.m), true
}
