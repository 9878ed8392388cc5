package arith

import (
	"context"
	"errors"
	"fmt"

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
// The key and a are secret: neither shows in the time or the addresses of what this
// process does, but for the lengths of P and Q in bits, nor in those of the CPU backend.
// Other backends say in docs/numbers.md what they promise of moduli, which P and Q are.
func (c *Calculator) ExpModCRT(ctx context.Context, a *Numbers, k CRT) (*Numbers, error) {
	secrets := []*Numbers{k.P, k.Q, k.DP, k.DQ, k.QInv}
	for i, n := range secrets {
		if err := n.valid("a number of the key"); err != nil {
			return nil, err
		}
		if n.Len() != 1 || n.Width != k.P.Width {
			return nil, fmt.Errorf("%w: number %d of the key is %d numbers of %d words, want one of %d as P has", backend.ErrInvalidInput, i, n.Len(), n.Width, k.P.Width)
		}
	}
	if err := a.valid("A"); err != nil {
		return nil, err
	}
	if a.Width != 2*k.P.Width {
		return nil, fmt.Errorf("%w: A has %d words, want %d, twice as many as P", backend.ErrInvalidInput, a.Width, 2*k.P.Width)
	}
	check, err := newSigned(a, k)
	if err != nil {
		return nil, err
	}
	var out *Numbers
	public, err := FromBytes(32*a.Width, check.m.Nat().Bytes(check.m))
	if err != nil {
		return nil, err
	}
	// Two batches as wide as A and three of half the width; P Q, Q and the key.
	words := a.Len()*(2*a.Width+3*k.P.Width) + 2*a.Width + len(secrets)*k.P.Width
	_, err = Repeat(ctx, c.e, words, crtOperations, func(ctx context.Context, s *Session) error {
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
		run.Do(backend.NumReduce, m1, Operands{A: whole, M: p})
		run.Do(backend.NumExpMod, m1, Operands{A: m1, B: dp, M: p})
		run.Do(backend.NumReduce, m2, Operands{A: whole, M: q})
		run.Do(backend.NumExpMod, m2, Operands{A: m2, B: dq, M: q})
		// m2 + q ((m1 - m2) / q modulo p), which is below p q: by residues, which take the
		// same time for all values.
		run.Do(backend.NumReduce, t, Operands{A: m2, M: p})
		run.Do(backend.NumSubMod, m1, Operands{A: m1, B: t, M: p})
		run.Do(backend.NumMulMod, m1, Operands{A: m1, B: inverse, M: p})
		run.Do(backend.NumResize, whole, Operands{A: m1})
		run.Do(backend.NumResize, factor, Operands{A: q})
		run.Do(backend.NumMulMod, whole, Operands{A: whole, B: factor, M: modulus})
		run.Do(backend.NumResize, wide, Operands{A: m2})
		run.Do(backend.NumAddMod, whole, Operands{A: whole, B: wide, M: modulus})
		out = run.Read(whole)
		if err := run.Run(ctx); err != nil {
			return check.refused(err)
		}
		return check.right(ctx, out)
	})
	if err != nil {
		if out != nil {
			clear(out.Words)
		}
		return nil, err
	}
	return out, nil
}
