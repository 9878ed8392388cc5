package backend

import (
	"fmt"
	"strings"
)

// Batch is Count numbers of Words words each. They follow one another in a space of words from the
// word Offset on. A number's words are little-endian, the lowest first. How a backend lays them out
// in its own memory is up to it.
//
// As an operand of a step whose Dst has another Count, a batch of one number stands for that many
// equal ones.
type Batch struct {
	Space        SpaceID
	Offset       int // words
	Words, Count int
}

// Range returns the words of the batch. Their count must fit an int.
func (b Batch) Range() Range {
	return Range{Space: b.Space, Offset: b.Offset, Count: b.Words * b.Count}
}

// Compute is one operation on batches, either element by element or over all elements. NumberOp
// says what it computes and which fields it uses; the others are zero.
//
// Operands have Dst.Count numbers or one. Dst may be A or B itself if the operation writes as many
// words as that has and is not over all elements. Otherwise the ranges that it writes overlap no
// other.
//
// Compute looks at the values. An even modulus, an operand not below its modulus and an element
// outside of its field are ErrInvalidInput, with the number of the element and the reason.
type Compute struct {
	Op    NumberOp
	Dst   Batch
	A, B  Batch
	M     Batch // moduli
	Carry Batch // one word is written for each element: 1 for a carry or borrow, or 0
	// Degree is the n of GF(2^n), from 2 to MaxDegree. Elements have (n+31)/32 words, and bit i is
	// the coefficient of x^i. They are reduced by x^n + x^k + 1 with the least k for which it is
	// irreducible. If there is none, they are reduced by x^n + x^c + x^b + x^a + 1 with the least
	// c, then b, then a.
	Degree int
	// Public says that time and addresses may reveal the values of all operands, so that a backend
	// may take a faster way. The answers are the same.
	Public bool
}

// NumberOp says what Compute computes. Below, w is Dst.Words and R = 2^(32w).
//
// Operations on residues and on GF(2^n) hide the values of A and B unless Public is set: neither
// time nor addresses depend on them. So exponents may be secret, and elements to be inverted.
// Moduli, widths and counts are not hidden, nor is whether an input is wrong.
type NumberOp int

// The numbers are part of the plugin protocol.
const (
	// Whole numbers. A and B have w words unless the line says otherwise.
	NumResize  NumberOp = 1 // A modulo R, A of any width: a copy, longer or shorter
	NumAdd     NumberOp = 2 // A + B modulo R; Carry is optional
	NumSub     NumberOp = 3 // A - B modulo R; Carry, the borrow, is optional
	NumCompare NumberOp = 4 // w = 1: 0 for A = B, 1 for A > B, 2^32-1 for A < B; A, B of one width
	NumMul     NumberOp = 5 // A * B, exactly: w is the sum of their widths
	NumSqr     NumberOp = 6 // A^2, exactly: w is twice A's width

	// Residues. Unless the line says otherwise, M has w words and is odd and above 1, and A and B
	// are below it and have w words. For NumAddMod and NumSubMod M only has to be above 0.
	NumAddMod   NumberOp = 7
	NumSubMod   NumberOp = 8
	NumReduce   NumberOp = 9  // A modulo M, A of any width and value
	NumMulMod   NumberOp = 10 // A B modulo M
	NumMontMul  NumberOp = 11 // A B / R modulo M
	NumMontSqr  NumberOp = 12 // A^2 / R modulo M
	NumToMont   NumberOp = 13 // A R modulo M
	NumFromMont NumberOp = 14 // A / R modulo M
	NumExpMod   NumberOp = 15 // A^B modulo M, B of any width and value; x^0 is 1
	NumInvMod   NumberOp = 16 // 1/A modulo M, or 0 if there is none

	// Elements of GF(2^Degree).
	NumGFAdd NumberOp = 17
	NumGFMul NumberOp = 18
	NumGFSqr NumberOp = 19
	NumGFInv NumberOp = 20 // 0 for 0

	// Over all elements i of A and B, which have one count. Dst is one number, except for
	// NumPowerSums.
	NumSum       NumberOp = 21 // sum of A[i] modulo R; w is at least A's width
	NumDot       NumberOp = 22 // sum of A[i] B[i] modulo R; w is at least the sum of their widths
	NumDotMod    NumberOp = 23 // sum of A[i] B[i] modulo M, one modulus
	NumPowerSums NumberOp = 24 // Dst[k] = sum of A[i]^(k+1) modulo M, one modulus; at most MaxPowers
)

// Bounds of Compute.
const (
	// MaxNumber is the most words of an operand: 65,536 bits. NumReduce reduces numbers of twice
	// that. MaxLong is the most if numbers are only copied, compared, added, subtracted or summed.
	MaxNumber = 1 << 11
	MaxLong   = 1 << 28
	MaxDegree = 1 << 11
	MaxPowers = 1 << 8
)

// numberOps has the names of operations, as used on command lines and in records.
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

// String returns the name used on command lines and in records, such as "expmod".
func (op NumberOp) String() string {
	if !op.Valid() {
		return fmt.Sprintf("operation(%d)", int(op))
	}
	return numberOps[op]
}

// ParseNumberOp reads an operation's name. It ignores case.
func ParseNumberOp(s string) (NumberOp, error) {
	for _, op := range NumberOps() {
		if strings.EqualFold(s, op.String()) {
			return op, nil
		}
	}
	return 0, fmt.Errorf("%w: there is no operation %q, but %s", ErrInvalidInput, s, strings.Join(numberOps[NumResize:], ", "))
}
