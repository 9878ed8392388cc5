package backend

import (
	"fmt"
	"strings"
)

// Batch is Count numbers of Words words each, in a space of words from the word
// Offset on, one after the other; a number's words are little-endian, the lowest
// first. How a backend lays them out in its own memory is its own affair.
//
// As an operand of a step whose Dst has another Count, a batch of one number
// stands for as many equal ones.
type Batch struct {
	Space        SpaceID
	Offset       int // words
	Words, Count int
}

// Range returns the words of the batch. Their number must fit an int.
func (b Batch) Range() Range {
	return Range{Space: b.Space, Offset: b.Offset, Count: b.Words * b.Count}
}

// Compute is one operation on batches, element by element or over all elements:
// NumberOp has the meaning and says which fields are used; the others are zero.
//
// Operands have Dst.Count numbers or one. Dst may be A or B as they are, where the
// operation writes as many words as these have and does not go over all elements;
// otherwise what is written overlaps nothing.
//
// Values are looked at: an even modulus, an operand that is not below its modulus
// or an element that is not in its field is ErrInvalidInput, with the number of the
// element and the reason.
type Compute struct {
	Op    NumberOp
	Dst   Batch
	A, B  Batch
	M     Batch // moduli
	Carry Batch // one word an element is written: 1 for a carry or borrow, or 0
	// Degree is n of GF(2^n), 2 to MaxDegree. Elements have (n+31)/32 words, and bit i is
	// the coefficient of x^i. They are reduced by x^n + x^k + 1 with the least k for
	// which that is irreducible. Where there is none, they are reduced by
	// x^n + x^c + x^b + x^a + 1 with the least c, then b, then a.
	Degree int
	// Public says that the values of all operands may show in the time and the addresses,
	// so that a backend may take a faster way. The answers are the same.
	Public bool
}

// NumberOp is what Compute does. Below, w is Dst.Words, and R = 2^(32w).
//
// Operations on residues and on GF(2^n) that are not Public hide the values of A and B:
// neither the time nor the addresses depend on them. So exponents, and what is inverted,
// may be secret. Moduli, widths and counts may show, and that an input is wrong.
type NumberOp int

// The numbers are part of the plugin protocol.
const (
	// Whole numbers. A and B have w words where nothing else is said.
	NumResize  NumberOp = 1 // A modulo R, A of any width: a copy, longer or shorter
	NumAdd     NumberOp = 2 // A + B modulo R; Carry is optional
	NumSub     NumberOp = 3 // A - B modulo R; Carry, the borrow, is optional
	NumCompare NumberOp = 4 // w = 1: 0 for A = B, 1 for A > B, 2^32-1 for A < B; A, B of one width
	NumMul     NumberOp = 5 // A * B, exactly: w is the sum of their widths
	NumSqr     NumberOp = 6 // A^2, exactly: w is twice A's width

	// Residues. M has w words and is odd and above 1, but for NumAddMod and
	// NumSubMod, where it is above 0; A and B are below it and have w words,
	// where nothing else is said.
	NumAddMod   NumberOp = 7
	NumSubMod   NumberOp = 8
	NumReduce   NumberOp = 9  // A modulo M, A of any width and value
	NumMulMod   NumberOp = 10 // A B modulo M
	NumMontMul  NumberOp = 11 // A B / R modulo M
	NumMontSqr  NumberOp = 12 // A^2 / R modulo M
	NumToMont   NumberOp = 13 // A R modulo M
	NumFromMont NumberOp = 14 // A / R modulo M
	NumExpMod   NumberOp = 15 // A^B modulo M, B of any width and value; x^0 is 1
	NumInvMod   NumberOp = 16 // 1/A modulo M, 0 where there is none

	// Elements of GF(2^Degree).
	NumGFAdd NumberOp = 17
	NumGFMul NumberOp = 18
	NumGFSqr NumberOp = 19
	NumGFInv NumberOp = 20 // 0 for 0

	// Over all elements i of A and B, which have one count, to the one number of
	// Dst, but for NumPowerSums.
	NumSum       NumberOp = 21 // sum of A[i] modulo R; w is at least A's width
	NumDot       NumberOp = 22 // sum of A[i] B[i] modulo R; w is at least the sum of their widths
	NumDotMod    NumberOp = 23 // sum of A[i] B[i] modulo M, one modulus
	NumPowerSums NumberOp = 24 // Dst[k] = sum of A[i]^(k+1) modulo M, one modulus; at most MaxPowers
)

// Bounds of Compute.
const (
	// MaxNumber is the most words of an operand, 65,536 bits, or twice that of what
	// NumReduce reduces; MaxLong where numbers are only copied, compared, added,
	// subtracted or summed.
	MaxNumber = 1 << 11
	MaxLong   = 1 << 28
	MaxDegree = 1 << 11
	MaxPowers = 1 << 8
)

// numberOps has the names of operations on command lines and in records.
var numberOps = [...]string{
	NumResize: "resize", NumAdd: "add", NumSub: "sub", NumCompare: "compare", NumMul: "mul", NumSqr: "sqr",
	NumAddMod: "addmod", NumSubMod: "submod", NumReduce: "reduce", NumMulMod: "mulmod",
	NumMontMul: "montmul", NumMontSqr: "montsqr", NumToMont: "tomont", NumFromMont: "frommont",
	NumExpMod: "expmod", NumInvMod: "invmod",
	NumGFAdd: "gfadd", NumGFMul: "gfmul", NumGFSqr: "gfsqr", NumGFInv: "gfinv",
	NumSum: "sum", NumDot: "dot", NumDotMod: "dotmod", NumPowerSums: "powersums",
}

// NumberOps lists every operation, in the order of their numbers.
func NumberOps() []NumberOp {
	all := make([]NumberOp, 0, len(numberOps))
	for op := NumResize; op.Valid(); op++ {
		all = append(all, op)
	}
	return all
}

// Valid reports whether op is one of NumberOps.
func (op NumberOp) Valid() bool { return op >= NumResize && int(op) < len(numberOps) }

// String returns the name on command lines and in records, such as "expmod".
func (op NumberOp) String() string {
	if !op.Valid() {
		return fmt.Sprintf("operation(%d)", int(op))
	}
	return numberOps[op]
}

// ParseNumberOp reads an operation's name; case does not matter.
func ParseNumberOp(s string) (NumberOp, error) {
	for _, op := range NumberOps() {
		if strings.EqualFold(s, op.String()) {
			return op, nil
		}
	}
	return 0, fmt.Errorf("%w: there is no operation %q, but %s", ErrInvalidInput, s, strings.Join(numberOps[NumResize:], ", "))
}
