package backend

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// The steps over scalars: what each touches, answers and demands.

// Order says at which places the elements of a vector of n = 2^k lie.
type Order int

const (
	Natural  Order = iota // element i at place i
	Reversed              // element i at the place with the k bits of i reversed
)

func (o Order) check(what string) error {
	if o != Natural && o != Reversed {
		return fmt.Errorf("%s: there is no order %d", what, o)
	}
	return nil
}

// WriteIndices writes a table for Gather or SparseProduct to Dst, 4 bytes an index. Dst.Count must be
// IndexElements of their number. Read as elements, the table is meaningless.
type WriteIndices struct {
	Dst     Range
	Indices []uint32
}

func (s WriteIndices) visit(v visitor) Step {
	v.writes(&s.Dst)
	return s
}

func (s WriteIndices) answer(Memory) Elements { return Elements{} }

func (s WriteIndices) check(c *checker) error {
	if err := c.scalars("Dst", s.Dst); err != nil {
		return err
	}
	return c.indices("Dst", s.Dst, len(s.Indices))
}

// IndexElements returns how many elements of a curve's scalar field a table of n indices takes.
func IndexElements(curve Curve, n int) int {
	return (4*n + curve.ScalarBytes() - 1) / curve.ScalarBytes()
}

// indices checks a range for a table of n indices.
func (c *checker) indices(what string, r Range, n int) error {
	if want := IndexElements(c.curve, n); r.Count != want {
		return fmt.Errorf("%s: %d elements for %d indices, want %d", what, r.Count, n, want)
	}
	return nil
}

// Gather sets Dst[i] = Src[index i of Index]. WriteIndices has written Index. An index not below
// Src.Count is ErrInvalidInput.
type Gather struct{ Dst, Src, Index Range }

func (s Gather) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.reads(&s.Src, &s.Index)
	v.refuses()
	return s
}

func (s Gather) answer(Memory) Elements { return Elements{} }

func (s Gather) check(c *checker) error {
	if err := first(c.scalars("Dst", s.Dst), c.scalars("Src", s.Src), c.scalars("Index", s.Index)); err != nil {
		return err
	}
	return first(c.indices("Index", s.Index, s.Dst.Count), apart("Dst and Src", s.Dst, s.Src), apart("Dst and Index", s.Dst, s.Index))
}

// SparseProduct sets Dst to the product of a sparse matrix and the vector Src. The matrix is Entries
// entries in the order of their rows, in three tables of that length that WriteIndices has written.
// Entry k adds f Src[index k of Columns] to Dst[index k of Rows]. Its factor f is 1 if index k of
// Factors is 0, -1 if that is 1, and otherwise that element of Values counted from 2: real matrices
// have few different factors, and most are 1 or -1, which need no product. Entries may have the same
// place. Rows without an entry are zero.
//
// A row below the one before it, and an index beyond Dst, Src or Values, is ErrInvalidInput: the
// tables lie in spaces, which any step may overwrite, so every entry is checked when it is used. The
// time is in proportion to Dst.Count + Entries, however long single rows are.
type SparseProduct struct {
	Dst, Src               Range
	Entries                int
	Rows, Columns, Factors Range
	Values                 Range // a zero Range if all factors are 1 or -1
}

// The indices of factors that are no element of Values, and that of the first that is one.
const (
	FactorOne      = 0
	FactorMinusOne = 1
	FactorValue    = 2
)

func (s SparseProduct) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.reads(&s.Src)
	v.number(&s.Entries)
	v.reads(&s.Rows, &s.Columns, &s.Factors)
	v.optional(&s.Values, false)
	v.refuses()
	return s
}

func (s SparseProduct) answer(Memory) Elements { return Elements{} }

func (s SparseProduct) check(c *checker) error {
	if s.Entries < 0 || s.Entries > math.MaxUint32 {
		return fmt.Errorf("%d entries, fewer than 2^32 are possible", s.Entries)
	}
	if err := first(c.scalars("Dst", s.Dst), c.scalars("Src", s.Src), apart("Dst and Src", s.Dst, s.Src)); err != nil {
		return err
	}
	for _, t := range []struct {
		what string
		Range
	}{{"Rows", s.Rows}, {"Columns", s.Columns}, {"Factors", s.Factors}} {
		if err := first(c.scalars(t.what, t.Range), c.indices(t.what, t.Range, s.Entries), apart("Dst and "+t.what, s.Dst, t.Range)); err != nil {
			return err
		}
	}
	if s.Values == (Range{}) {
		return nil
	}
	return first(c.scalars("Values", s.Values), apart("Dst and Values", s.Dst, s.Values))
}

// Transform is a number-theoretic transform of Batch vectors that follow one another. Each has
// n = Dst.Count / Batch elements, a power of two. With the root of unity w of gnark-crypto's
// fft.Domain of that size, coefficients c become X_j = sum over k of c_k (Shift w^j)^k. Inverse
// computes the coefficients from X; it divides by n. From is the order of Src and To that of Dst;
// they may not both be Reversed.
//
// Src may be Dst. In a forward transform from natural order Src may have fewer coefficients,
// Src.Count / Batch from 1 to n-1: the missing ones are zero.
//
// Dst and Src are scalars, or points. Products of points are scalars times points.
type Transform struct {
	Dst, Src Range
	Batch    int // 0 is 1
	Inverse  bool
	From, To Order
	Shift    []byte // an element, not zero; nil is 1
}

func (s Transform) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.reads(&s.Src)
	v.number(&s.Batch)
	v.flag(&s.Inverse)
	v.number((*int)(&s.From))
	v.number((*int)(&s.To))
	v.bytes(&s.Shift)
	return s
}

func (s Transform) answer(Memory) Elements { return Elements{} }

func (s Transform) check(c *checker) error {
	if err := first(c.transformed("Dst", s.Dst), c.same("Src", s.Src, s.Dst), s.From.check("From"), s.To.check("To")); err != nil {
		return err
	}
	batch := max(s.Batch, 1)
	n := s.Dst.Count / batch
	switch {
	case s.Batch < 0:
		return fmt.Errorf("%d vectors", s.Batch)
	case s.Dst.Count%batch != 0 || !isPowerOfTwo(n):
		return fmt.Errorf("in Dst, %d elements are not %d vectors of a power of two", s.Dst.Count, batch)
	case bits.TrailingZeros(uint(n)) > c.curve.TwoAdicity():
		return fmt.Errorf("%d elements: %v has transforms of at most 2^%d", n, c.curve, c.curve.TwoAdicity())
	case s.From == Reversed && s.To == Reversed:
		return errors.New("from reversed to reversed")
	case s.Src.Count%batch != 0:
		return fmt.Errorf("in Src, %d elements are not %d vectors", s.Src.Count, batch)
	case s.Src.Count != s.Dst.Count && (s.Inverse || s.From != Natural || s.Src.Count == 0 || s.Src.Count > s.Dst.Count):
		return fmt.Errorf("%d elements from %d", s.Dst.Count, s.Src.Count)
	}
	if s.Dst != s.Src {
		if err := apart("Dst and Src", s.Dst, s.Src); err != nil {
			return err
		}
	}
	if len(s.Shift) == 0 {
		return nil
	}
	if err := c.scalar("Shift", s.Shift); err != nil {
		return err
	}
	for _, b := range s.Shift {
		if b != 0 {
			return nil
		}
	}
	return errors.New("the Shift is zero")
}

func isPowerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }

// Operand is a sequence of elements that Map reads or writes. They lie in a vector of
// m = Range.Count: element i of the sequence has the place Stride*i + Rotate modulo m. With Order
// Reversed, m is a power of two, and the bits of that place are reversed.
//
// So Stride 1 is the vector itself, repeated if it is shorter than the Map. Stride 0 is one element
// for all i. Rotate 1 begins with the next element.
type Operand struct {
	Range
	Stride, Rotate int
	Order          Order
}

// Places returns o with Stride and Rotate reduced to 0 .. Count-1. Check must have found nothing
// wrong with it.
func (o Operand) Places() Operand {
	if o.Count == 0 {
		o.Stride, o.Rotate = 0, 0
		return o
	}
	o.Stride = ((o.Stride % o.Count) + o.Count) % o.Count
	o.Rotate = ((o.Rotate % o.Count) + o.Count) % o.Count
	return o
}

// Map computes an expression for each i below Count. Code runs on a stack that is empty at first,
// has at most MapStack elements, and is left with one: Dst's element i. An operand of Args may be
// Dst's range if it has the same places; otherwise the two must not overlap. Dst's places must be
// distinct.
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

// MapOp says what a MapCode does.
type MapOp int

const (
	MapLoad   MapOp = iota // push the element of Args[Arg]
	MapConst               // push Constants[Arg]
	MapCopy                // push a copy of the element Arg places below the top
	MapAdd                 // replace a, b (b is the top) by a + b
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

func (s Map) visit(v visitor) Step {
	v.number(&s.Count)
	v.operand(&s.Dst, true)
	s.Args = copied(v, s.Args)
	for k := range s.Args {
		v.operand(&s.Args[k], false)
	}
	v.bytes(&s.Constants)
	v.code(&s.Code)
	return s
}

func (v visitor) operand(o *Operand, writes bool) {
	v.touch(&o.Range, writes)
	v.signed(&o.Stride)
	v.signed(&o.Rotate)
	v.number((*int)(&o.Order))
}

// code visits operations. Only a codec needs them.
func (v visitor) code(all *[]MapCode) {
	if v.codec == nil {
		return
	}
	*all = copied(v, *all)
	for k := range *all {
		v.number((*int)(&(*all)[k].Op))
		v.signed(&(*all)[k].Arg)
	}
}

func (s Map) answer(Memory) Elements { return Elements{} }

func (s Map) check(c *checker) error {
	if s.Count < 0 {
		return fmt.Errorf("the Count is %d", s.Count)
	}
	if len(s.Args) > MapArgs || len(s.Code) > MapCodes {
		return fmt.Errorf("%d operands and %d operations, at most %d and %d are possible", len(s.Args), len(s.Code),
			MapArgs, MapCodes)
	}
	if err := c.operand("Dst", s.Dst, s.Count); err != nil {
		return err
	}
	if err := distinct(s.Dst, s.Count); err != nil {
		return err
	}
	for k, a := range s.Args {
		what := fmt.Sprintf("Args[%d]", k)
		if err := c.operand(what, a, s.Count); err != nil {
			return err
		}
		if a.Places() != s.Dst.Places() {
			if err := apart("Dst and "+what, s.Dst.Range, a.Range); err != nil {
				return err
			}
		}
	}
	size := c.curve.ScalarBytes()
	constants := len(s.Constants) / size
	if len(s.Constants)%size != 0 || constants > MapConstants {
		return fmt.Errorf("%d bytes of constants of %v: at most %d of %d bytes are possible", len(s.Constants), c.curve,
			MapConstants, size)
	}
	for k := range constants {
		if err := c.scalar(fmt.Sprintf("constant %d", k), s.Constants[k*size:(k+1)*size]); err != nil {
			return err
		}
	}
	return code(s.Code, len(s.Args), constants)
}

// operand checks an operand for count elements.
func (c *checker) operand(what string, o Operand, count int) error {
	if err := first(c.scalars(what, o.Range), o.Order.check(what)); err != nil {
		return err
	}
	if o.Count == 0 && count > 0 {
		return fmt.Errorf("%s: no elements for %d", what, count)
	}
	if o.Order == Reversed && o.Count > 0 && !isPowerOfTwo(o.Count) {
		return fmt.Errorf("%s: %d reversed elements are no power of two", what, o.Count)
	}
	return nil
}

// distinct checks that the first count elements have different places.
func distinct(dst Operand, count int) error {
	if count <= 1 {
		return nil
	}
	a, b := dst.Count, dst.Places().Stride
	for b != 0 {
		a, b = b, a%b
	}
	if count > dst.Count/a { // this is the order of Stride modulo Dst.Count
		return fmt.Errorf("in Dst, places of %d elements are the same, with stride %d in %d", count, dst.Stride, dst.Count)
	}
	return nil
}

// code checks that a stack can run the operations and is left with one element.
func code(ops []MapCode, args, constants int) error {
	depth := 0
	for k, op := range ops {
		need, grows := 1, 0 // elements that it takes, and how many more there are after it
		below := depth      // bound of the argument of an operation that pushes
		switch op.Op {
		case MapLoad:
			need, below, grows = 0, args, 1
		case MapConst:
			need, below, grows = 0, constants, 1
		case MapCopy:
			grows = 1
		case MapAdd, MapSub, MapMul:
			need, grows = 2, -1
		case MapSquare, MapDouble, MapNeg:
		default:
			return fmt.Errorf("operation %d: there is no operation %d", k, op.Op)
		}
		if depth < need {
			return fmt.Errorf("operation %d: %d elements on the stack, takes %d", k, depth, need)
		}
		if grows > 0 && (op.Arg < 0 || op.Arg >= below) {
			return fmt.Errorf("operation %d: argument %d, must be below %d", k, op.Arg, below)
		}
		if depth += grows; depth > MapStack {
			return fmt.Errorf("operation %d: more than %d elements on the stack", k, MapStack)
		}
	}
	if depth != 1 {
		return fmt.Errorf("%d elements left on the stack, want one", depth)
	}
	return nil
}

// Powers sets Dst[i] = First * Ratio^i.
type Powers struct {
	Dst          Range
	First, Ratio []byte
}

func (s Powers) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.bytes(&s.First)
	v.bytes(&s.Ratio)
	return s
}

func (s Powers) answer(Memory) Elements { return Elements{} }

func (s Powers) check(c *checker) error {
	return first(c.scalars("Dst", s.Dst), c.scalar("First", s.First), c.scalar("Ratio", s.Ratio))
}

// Invert sets Dst[i] = 1/Src[i], or 0 if that is 0. Src may be Dst.
type Invert struct{ Dst, Src Range }

func (s Invert) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.reads(&s.Src)
	return s
}

func (s Invert) answer(Memory) Elements { return Elements{} }

func (s Invert) check(c *checker) error {
	return first(c.scalars("Dst", s.Dst), c.scalars("Src", s.Src), c.inPlace(s.Dst, s.Src))
}

// Products sets Dst[i] to the product of Src[0] to Src[i]. With Exclusive it is the product up to
// Src[i-1], and Dst[0] = 1. It answers the product of all elements. Src may be Dst.
type Products struct {
	Dst, Src  Range
	Exclusive bool
}

func (s Products) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.reads(&s.Src)
	v.flag(&s.Exclusive)
	return s
}

func (s Products) answer(in Memory) Elements { return Elements{in.element(s.Src.Space), 1} }

func (s Products) check(c *checker) error {
	return first(c.scalars("Dst", s.Dst), c.scalars("Src", s.Src), c.inPlace(s.Dst, s.Src))
}

// Evaluate answers the value at Point of each polynomial of Src, one element each. Src has at least
// one polynomial, each by its coefficients in Order. With Reversed their counts are powers of two.
type Evaluate struct {
	Src   []Range
	Order Order
	Point []byte
}

func (s Evaluate) visit(v visitor) Step {
	s.Src = copied(v, s.Src)
	for k := range s.Src {
		v.reads(&s.Src[k])
	}
	v.number((*int)(&s.Order))
	v.bytes(&s.Point)
	return s
}

func (s Evaluate) answer(in Memory) Elements {
	if len(s.Src) == 0 {
		return Elements{}
	}
	return Elements{in.element(s.Src[0].Space), len(s.Src)}
}

func (s Evaluate) check(c *checker) error {
	if len(s.Src) == 0 {
		return errors.New("no polynomial")
	}
	for k, r := range s.Src {
		what := fmt.Sprintf("Src[%d]", k)
		if err := c.scalars(what, r); err != nil {
			return err
		}
		if s.Order == Reversed && !isPowerOfTwo(r.Count) {
			return fmt.Errorf("%s: %d reversed elements are no power of two", what, r.Count)
		}
	}
	return first(s.Order.check("Order"), c.scalar("Point", s.Point))
}

// Divide divides the polynomial Src by X - Point. It sets Dst to the quotient, whose coefficients
// are Src.Count - 1, and answers the remainder, which is the value at Point. Both are in natural
// order. Dst may be the first part of Src.
type Divide struct {
	Dst, Src Range
	Point    []byte
}

func (s Divide) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.reads(&s.Src)
	v.bytes(&s.Point)
	return s
}

func (s Divide) answer(in Memory) Elements { return Elements{in.element(s.Src.Space), 1} }

func (s Divide) check(c *checker) error {
	if err := first(c.scalars("Dst", s.Dst), c.scalars("Src", s.Src), c.scalar("Point", s.Point)); err != nil {
		return err
	}
	if s.Src.Count == 0 || s.Dst.Count != s.Src.Count-1 {
		return fmt.Errorf("%d coefficients of the quotient of %d", s.Dst.Count, s.Src.Count)
	}
	if s.Dst.Space == s.Src.Space && s.Dst.Offset == s.Src.Offset {
		return nil
	}
	return apart("Dst and Src", s.Dst, s.Src)
}
