package cpu

import (
	"math/big"

	"github.com/pippin-zk/pippin/backend"
)

// open reports whether math/big computes an operation on residues. It does if operands are public
// and it is faster than the code that hides them: for remainders of long numbers and for many
// moduli.
func (o *operation) open() bool {
	switch o.Op {
	case backend.NumReduce:
		return o.Public && (o.M.Count > 1 || o.A.Words > 2*o.M.Words)
	case backend.NumInvMod:
		return o.Public
	}
	return false
}

// setPublic prepares a modulus for math/big.
func (f *fixed) setPublic(b []byte) error {
	if f.words == nil {
		f.words, f.public = make([]big.Word, wordsOf(len(b))), new(big.Int)
	}
	f.public.SetBits(wordsInto(f.words, b))
	switch {
	case f.public.Bit(0) == 0:
		return errEven
	case f.public.BitLen() == 1:
		return errOne
	}
	return nil
}

// publicResidue computes element i of an operation on residues with math/big.
func (w *worker) publicResidue(i int, dst, a []byte) error {
	if err := w.ownModulus(i); err != nil {
		return err
	}
	x := w.value(&w.p, 0, a)
	switch {
	case w.Op == backend.NumReduce:
		w.quotient.QuoRem(x, w.k.public, &w.r)
	case x.Cmp(w.k.public) >= 0:
		return wrong(i, "A is not below the modulus")
	case w.r.ModInverse(x, w.k.public) == nil:
		w.r.SetInt64(0)
	}
	put(dst, &w.r)
	return nil
}
