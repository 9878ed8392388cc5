// Package arith computes with batches of plain numbers where a backend computes:
// whole numbers, residues, elements of GF(2^n), from 32 to 65,536 bits, and sums of
// numbers of up to 2^28 words.
//
//	c := arith.On(e, arith.Options{})
//	powers, err := c.ExpMod(ctx, bases, exponents, moduli)
//
// Each operation of a Calculator is one call of the engine: it waits, is repeated
// when its backend dies, and goes to the next backend as a call of MSM does. A batch
// of one number stands for as many equal ones: a modulus that all have is given once.
//
// What is computed in several steps can stay where the backend is: a Session has
// Batches, and a Program of steps over them is one request. docs/numbers.md says more.
//
// What the values of operands are shows neither in the time nor in the addresses of
// operations on residues and on GF(2^n), but for the moduli: exponents and what is
// inverted may be secret. Options.Public gives that up for speed. ExpModCRT says what is
// secret of an RSA key. Nothing hides whole numbers. Copies of operands that this package
// makes are wiped; what it answers is the caller's.
//
// Errors wrap those of package backend and name the element and the reason: an even
// modulus, an operand that is not below its modulus, widths that do not fit.
package arith
