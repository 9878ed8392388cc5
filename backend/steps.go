package backend

import (
	"errors"
	"fmt"
	"math/bits"
)

// The steps over scalars, each with what it touches, answers and wants.

// Order is where the elements of a vector of n = 2^k lie.
type Order int

const (
	Natural  Order = iota // element i at place i
	Reversed              // element i at the place that i's k bits in reverse make
)

func (o Order) check(what string) error {
	if o != Natural && o != Reversed {
		return fmt.Errorf("%s: there is no order %d", what, o)
	}
	return nil
}

// WriteIndices puts a table for Gather to Dst, 4 bytes an index: Dst.Count is
// IndexElements of their number. As elements they are meaningless.
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

// IndexElements returns how many elements of a curve's scalar field n indices take.
func IndexElements(curve Curve, n int) int {
	return (4*n + curve.ScalarBytes() - 1) / curve.ScalarBytes()
}

// indices wants a range for n indices.
func (c *checker) indices(what string, r Range, n int) error {
	if want := IndexElements(c.curve, n); r.Count != want {
		return fmt.Errorf("%s: %d elements for %d indices, want %d", what, r.Count, n, want)
	}
	return nil
}

// Gather sets Dst[i] = Src[index i of Index], indices as WriteIndices wrote
// them. One that is not below Src.Count is ErrInvalidInput.
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

// Transform is a number-theoretic transform of n = Dst.Count / Batch elements, a
// power of two, for each of Batch vectors that follow one another: with w the
// root of unity of gnark-crypto's fft.Domain of that size, coefficients c become
// X_j = sum over k of c_k (Shift w^j)^k, and Inverse is the way back, divided by
// n. From is the order of Src and To that of Dst: not both Reversed.
//
// Src may be Dst. A forward transform from natural order may have Src.Count / Batch
// from 1 to below n: the coefficients missing are zero.
//
// Dst and Src are scalars, or points, for which products are those of points by scalars.
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

// Places returns o with Stride and Rotate from 0 to below its Count. Check has found
// nothing wrong with it.
func (o Operand) Places() Operand {
	if o.Count == 0 {
		o.Stride, o.Rotate = 0, 0
		return o
	}
	o.Stride = ((o.Stride % o.Count) + o.Count) % o.Count
	o.Rotate = ((o.Rotate % o.Count) + o.Count) % o.Count
	return o
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

// code visits operations, which only an encoding has a use for.
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

// operand wants a range with a place for each of count elements.
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

// distinct wants other places for each of the first count elements.
func distinct(dst Operand, count int) error {
	if count <= 1 {
		return nil
	}
	a, b := dst.Count, dst.Places().Stride
	for b != 0 {
		a, b = b, a%b
	}
	if count > dst.Count/a { // the order of Stride modulo Dst.Count
		return fmt.Errorf("in Dst, places of %d elements are the same, with stride %d in %d", count, dst.Stride, dst.Count)
	}
	return nil
}

// code wants operations that a stack can run and that leave one element.
func code(ops []MapCode, args, constants int) error {
	depth := 0
	for k, op := range ops {
		need, grows := 1, 0 // elements that it takes, and by how many there are more then
		below := depth      // bound of an argument, which those have that push
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

// Invert sets Dst[i] = 1/Src[i], 0 where that is 0. Src may be Dst.
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

// Products sets Dst[i] to the product of Src[0] to Src[i] or, when Exclusive, to
// Src[i-1], Dst[0] = 1; it answers the product of all. Src may be Dst.
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

// Evaluate answers the value at Point of each of the polynomials Src, one or more,
// given by coefficients in Order, an element each; Reversed, their counts are
// powers of two.
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

// Divide sets Dst, of Src.Count - 1 coefficients, to the quotient of the
// polynomial Src by X - Point, both in natural order, and answers the remainder,
// which is the value at Point. Dst may be the first part of Src.
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
