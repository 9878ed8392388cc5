package backend

import "context"

// Vectors is a capability: memory for vectors of elements of a curve's scalar
// field where the backend computes, and programs over it, so that between two
// answers that the caller must see nothing crosses.
//
// It is also what batches of plain numbers are computed by, in spaces of Words; a
// backend may have either, as its Capabilities say.
//
// Elements are canonical, in Montgomery form, as scalars are. All methods may be
// called concurrently, with the errors and the rules of Backend. What programs
// that run at the same time write and others touch is undefined, nothing worse;
// so are the ranges that a program was to write when it fails or is cancelled.
type Vectors interface {
	// NewSpace takes memory for count elements of the scalar field of a curve, or
	// for count Words, all of them zero.
	NewSpace(ctx context.Context, curve Curve, count int) (SpaceID, error)

	// FreeSpace wipes a space and gives it back when the programs that use it
	// have ended; no new one may. When ctx ends first, that happens later.
	FreeSpace(ctx context.Context, id SpaceID) error

	// Run runs the steps in order. Answer i is what step i answers, nil for a
	// step that answers nothing. One failing step fails the program; its error
	// says which. Nothing is written before all steps are known to be valid.
	Run(ctx context.Context, steps []Step) ([][]byte, error)
}

// SpaceID names a space within the backend that returned it. Never zero.
type SpaceID uint64

// Range is Count elements of a space from Offset on: a vector.
type Range struct {
	Space         SpaceID
	Offset, Count int
}

// Step is one of the types below or Compute. All spaces of a program, and the bases
// of Commit, are of one curve or all are of Words, over which there are Write, Read
// and Compute. Ranges of one step must not overlap where one of
// them is written, but for a range that is written at the very place where it
// is read, where the step says so.
type Step interface{ step() }

// Order is where the elements of a vector of n = 2^k lie.
type Order int

const (
	Natural  Order = iota // element i at place i
	Reversed              // element i at the place that i's k bits in reverse make
)

// Write copies Bytes, len Dst.Count * ScalarBytes, to Dst. Ready and Check are
// those of Job, and memory of an Allocator is recognised.
type Write struct {
	Dst   Range
	Bytes []byte
	Ready func(ctx context.Context, n int) error
	Check bool
}

// WriteIndices puts a table for Gather to Dst, 4 bytes an index: Dst.Count is
// IndexElements of their number. As elements they are meaningless.
type WriteIndices struct {
	Dst     Range
	Indices []uint32
}

// Read answers the elements of Src.
type Read struct{ Src Range }

// Gather sets Dst[i] = Src[index i of Index], indices as WriteIndices wrote
// them. One that is not below Src.Count is ErrInvalidInput.
type Gather struct{ Dst, Src, Index Range }

// Transform is a number-theoretic transform of n = Dst.Count / Batch elements, a
// power of two, for each of Batch vectors that follow one another: with w the
// root of unity of gnark-crypto's fft.Domain of that size, coefficients c become
// X_j = sum over k of c_k (Shift w^j)^k, and Inverse is the way back, divided by
// n. From is the order of Src and To that of Dst: not both Reversed.
//
// Src may be Dst. A forward transform from natural order may have Src.Count / Batch
// from 1 to below n: the coefficients missing are zero.
type Transform struct {
	Dst, Src Range
	Batch    int // 0 is 1
	Inverse  bool
	From, To Order
	Shift    []byte // an element, not zero; nil is 1
}

// Operand is the sequence of elements of a vector of m = Range.Count that Map
// reads or writes: element i has the place Stride*i + Rotate modulo m, and with
// Order Reversed, where m is a power of two, these bits reversed.
//
// So Stride 1 is the vector itself, again and again when it is shorter than the
// Map; Stride 0 one element; Rotate 1 the next one.
type Operand struct {
	Range
	Stride, Rotate int
	Order          Order
}

// Map computes an expression for each i below Count: Dst's element i is what Code
// leaves on a stack that is empty before, at most MapStack deep and has one
// element after. An operand of Args may be Dst's range when it has Dst's places;
// otherwise they must not overlap. Dst's places must be distinct.
type Map struct {
	Count     int
	Dst       Operand
	Args      []Operand
	Constants []byte // elements
	Code      []MapCode
}

// MapCode is an operation on the stack, with its argument.
type MapCode struct {
	Op  MapOp
	Arg int
}

// MapOp is what a MapCode does.
type MapOp int

const (
	MapLoad   MapOp = iota // push the element of Args[Arg]
	MapConst               // push Constants[Arg]
	MapCopy                // push the element Arg places below the top
	MapAdd                 // replace a, b (the top) by a + b
	MapSub                 // a - b
	MapMul                 // a b
	MapSquare              // replace a by a^2
	MapDouble              // 2 a
	MapNeg                 // -a
)

// Bounds of a Map.
const (
	MapStack     = 8
	MapArgs      = 64
	MapConstants = 256
	MapCodes     = 512
)

// Powers sets Dst[i] = First * Ratio^i.
type Powers struct {
	Dst          Range
	First, Ratio []byte
}

// Invert sets Dst[i] = 1/Src[i], 0 where that is 0. Src may be Dst.
type Invert struct{ Dst, Src Range }

// Products sets Dst[i] to the product of Src[0] to Src[i] or, when Exclusive, to
// Src[i-1], Dst[0] = 1; it answers the product of all. Src may be Dst.
type Products struct {
	Dst, Src  Range
	Exclusive bool
}

// Evaluate answers the value at Point of each of the polynomials Src, one or more,
// given by coefficients in Order, an element each; Reversed, their counts are
// powers of two.
type Evaluate struct {
	Src   []Range
	Order Order
	Point []byte
}

// Divide sets Dst, of Src.Count - 1 coefficients, to the quotient of the
// polynomial Src by X - Point, both in natural order, and answers the remainder,
// which is the value at Point. Dst may be the first part of Src.
type Divide struct {
	Dst, Src Range
	Point    []byte
}

// Commit answers the sum over k of Src[k] * bases[Offset+k], as MSM does.
type Commit struct {
	Bases  BasesID
	Offset int
	Src    Range
}

func (Write) step()        {}
func (WriteIndices) step() {}
func (Read) step()         {}
func (Gather) step()       {}
func (Transform) step()    {}
func (Map) step()          {}
func (Powers) step()       {}
func (Invert) step()       {}
func (Products) step()     {}
func (Evaluate) step()     {}
func (Divide) step()       {}
func (Commit) step()       {}

// IndexElements is how many elements of a curve's scalar field n indices take.
func IndexElements(curve Curve, n int) int {
	return (4*n + curve.ScalarBytes() - 1) / curve.ScalarBytes()
}
