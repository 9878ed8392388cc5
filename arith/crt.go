package arith

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// CRT is a private exponent d for a modulus P Q by the Chinese remainder theorem, as RSA
// keys have it: two odd primes, d modulo P-1 and Q-1, and 1/Q modulo P. Each is one
// number, all of one width; P Q has twice as many bits. All five are secret.
type CRT struct {
	P, Q, DP, DQ, QInv *Numbers
	// E is the public exponent, odd and from 3 on, with a^(d E) = a for every a.
	// ExpModCRT checks every answer by it.
	E uint32
}

// crtOperations are what ExpModCRT needs of a backend.
var crtOperations = []backend.NumberOp{backend.NumReduce, backend.NumExpMod, backend.NumSubMod, backend.NumMulMod,
	backend.NumResize, backend.NumAddMod}

// ExpModCRT returns a^d modulo P Q, with a below P Q and twice as wide as P, by one
// request of two powers of half the width: a quarter of ExpMod's products. The whole
// batch is on the backend at once.
//
// It answers nothing wrong: a power of which one half is wrong gives the key away
// (Boneh, DeMillo, Lipton 1997), so this process raises every answer to E and compares it
// with a. A backend with another result is not asked again, and the next one computes the
// batch; without one the error wraps engine.ErrWrongAnswer. A key whose numbers do not
// belong together is backend.ErrInvalidInput.
//
// The key and a are secret. Neither the time nor the addresses of what this process and the
// CPU backend do depend on them, but for the lengths of P and Q in bits. P and Q are moduli
// of operations: docs/numbers.md says what other backends promise of those.
func (c *Calculator) ExpModCRT(ctx context.Context, a *Numbers, k CRT) (*Numbers, error) {
	secrets := []*Numbers{k.P, k.Q, k.DP, k.DQ, k.QInv}
	for i, n := range secrets {
		if err := n.valid("a number of the key"); err != nil {
			return nil, err
		}
		if n.Len() != 1 || n.Width != k.P.Width {
			return nil, fmt.Errorf("%w: number %d of the key is %d numbers of %d words, want one of %d as P has",
				backend.ErrInvalidInput, i, n.Len(), n.Width, k.P.Width)
		}
	}
	if err := a.valid("A"); err != nil {
		return nil, err
	}
	if a.Width != 2*k.P.Width {
		return nil, fmt.Errorf("%w: A has %d words, want %d, twice as many as P", backend.ErrInvalidInput, a.Width, 2*k.P.Width)
	}
	if a.Width > backend.MaxNumber {
		return nil, invalid("A has %d bits, at most %d are possible", 32*a.Width, mostBits)
	}
	check, err := newSigned(ctx, a, k)
	if err != nil {
		return nil, err
	}
	out := c.into
	if out == nil {
		out = Make(32*a.Width, a.Len())
	} else if slices.ContainsFunc(append(secrets, a), out.overlaps) {
		return nil, invalid("the destination is A or a number of the key, or has words of one")
	} else if out.Width != a.Width || out.Len() != a.Len() {
		return nil, invalid("a destination of %d numbers of %d bits, want %d of %d", out.Len(), 32*out.Width, a.Len(), 32*a.Width)
	}
	public, err := FromBytes(32*a.Width, check.m.Nat().Bytes(check.m))
	if err != nil {
		return nil, err
	}
	// Two batches as wide as A and three of half the width; P Q, Q and the key.
	words := 2*roomFor(a.Len()*a.Width) + 3*roomFor(a.Len()*k.P.Width) + 2*roomFor(a.Width) + len(secrets)*roomFor(k.P.Width)
	_, err = repeatWith(ctx, c.e, words, crtOperations, func(ctx context.Context, s *Session) error {
		var wrong error
		batch := func(words, count int) *Batch {
			b, err := s.New(32*words, count)
			wrong = errors.Join(wrong, err)
			return b
		}
		n, half := a.Len(), k.P.Width
		whole, wide, factor, modulus := batch(2*half, n), batch(2*half, n), batch(2*half, 1), batch(2*half, 1)
		m1, m2, t := batch(half, n), batch(half, n), batch(half, n)
		key := make([]*Batch, len(secrets))
		for i := range key {
			key[i] = batch(half, 1)
		}
		if wrong != nil {
			return wrong
		}
		p, q, dp, dq, inverse := key[0], key[1], key[2], key[3], key[4]
		run := s.Program()
		run.Write(whole, a)
		run.Write(modulus, public)
		for i, b := range key {
			run.Write(b, secrets[i])
		}
		run.Reduce(m1, whole, p)
		run.ExpMod(m1, m1, dp, p)
		run.Reduce(m2, whole, q)
		run.ExpMod(m2, m2, dq, q)
		// m2 + q ((m1 - m2) / q modulo p), which is below p q: by residues, which take the
		// same time for all values.
		run.Reduce(t, m2, p)
		run.SubMod(m1, m1, t, p)
		run.MulMod(m1, m1, inverse, p)
		run.Resize(whole, m1)
		run.Resize(factor, q)
		run.MulMod(whole, whole, factor, modulus)
		run.Resize(wide, m2)
		run.AddMod(whole, whole, wide, modulus)
		run.readTo(out, whole)
		if err := run.Run(ctx); err != nil {
			return check.refused(err)
		}
		return check.right(ctx, out)
	})
	if err != nil {
		clear(out.Words)
		return nil, inWords(err, 0)
	}
	return out, nil
}
