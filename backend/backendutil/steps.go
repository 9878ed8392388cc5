package backendutil

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/pippin-zk/pippin/backend"
)

// SpaceBytes is the memory of a space. A count that no memory could hold is
// backend.ErrOutOfMemory, one below zero and an unknown curve ErrInvalidInput.
func SpaceBytes(curve backend.Curve, count int) (int64, error) {
	if curve != backend.Words && !curve.Valid() || count < 0 {
		return 0, fmt.Errorf("%w: a space of %d elements of %v", backend.ErrInvalidInput, count, curve)
	}
	if size := int64(curve.ScalarBytes()); int64(count) <= math.MaxInt64/size {
		return int64(count) * size, nil
	}
	return 0, fmt.Errorf("%w: a space of %d elements of %v", backend.ErrOutOfMemory, count, curve)
}

// CheckSteps validates a program as the contract of backend.Vectors has it, as
// far as that is possible without the elements: spaces and bases that exist and are
// of one curve, ranges inside them that overlap only where they may, lengths,
// orders and counts that fit, constants below r and code that a stack can run.
// What is wrong is ErrInvalidInput and names the step. bases and spaces answer
// for an id, or false when there is none.
func CheckSteps(steps []backend.Step, bases func(backend.BasesID) (Loaded, bool), spaces func(backend.SpaceID) (Loaded, bool)) error {
	c := checker{bases: bases, spaces: spaces}
	for i, s := range steps {
		if err := c.step(s); err != nil {
			return InStep(i, s, fmt.Errorf("%w: %w", backend.ErrInvalidInput, err))
		}
	}
	return nil
}

// InStep says in which step of a program err happened, unless the caller ended it.
func InStep(i int, s backend.Step, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("step %d (%s): %w", i, Kind(s), err)
}

// Kind is the name of a step's type, such as "Map", or "Compute expmod".
func Kind(s backend.Step) string {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", s), "backend.")
	if s, ok := s.(backend.Compute); ok {
		kind += " " + s.Op.String()
	}
	return kind
}

// Places is o with Stride and Rotate from 0 to below its Count. CheckSteps has
// found nothing wrong with it.
func Places(o backend.Operand) backend.Operand {
	if o.Count == 0 {
		o.Stride, o.Rotate = 0, 0
		return o
	}
	o.Stride = ((o.Stride % o.Count) + o.Count) % o.Count
	o.Rotate = ((o.Rotate % o.Count) + o.Count) % o.Count
	return o
}

// checker checks the steps of one program.
type checker struct {
	bases  func(backend.BasesID) (Loaded, bool)
	spaces func(backend.SpaceID) (Loaded, bool)
	known  bool          // false before the first space
	curve  backend.Curve // of the program, or Words
}

func (c *checker) step(s backend.Step) error {
	switch s := s.(type) {
	case backend.Write:
		return c.write(s)
	case backend.Read:
		return c.inside("Src", s.Src)
	case backend.Compute:
		return c.compute(s)
	}
	if err := c.overField(s); err != nil {
		return err
	}
	if c.curve == backend.Words {
		return errors.New("the elements of its spaces are words, those of a curve's scalar field are wanted")
	}
	return nil
}

// overField checks a step over elements of a curve's scalar field.
func (c *checker) overField(s backend.Step) error {
	switch s := s.(type) {
	case backend.WriteIndices:
		return c.writeIndices(s)
	case backend.Gather:
		return c.gather(s)
	case backend.Transform:
		return c.transform(s)
	case backend.Map:
		return c.mapped(s)
	case backend.Powers:
		return first(c.inside("Dst", s.Dst), c.element("First", s.First), c.element("Ratio", s.Ratio))
	case backend.Invert:
		return first(c.inside("Dst", s.Dst), c.inside("Src", s.Src), c.inPlace(s.Dst, s.Src))
	case backend.Products:
		return first(c.inside("Dst", s.Dst), c.inside("Src", s.Src), c.inPlace(s.Dst, s.Src))
	case backend.Evaluate:
		return c.evaluate(s)
	case backend.Divide:
		return c.divide(s)
	case backend.Commit:
		return c.commit(s)
	}
	return errors.New("no step of package backend")
}

// first is the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// use makes curve that of the program.
func (c *checker) use(what string, curve backend.Curve) error {
	if c.known && c.curve != curve {
		return fmt.Errorf("%s is of %v, an earlier step of %v", what, curve, c.curve)
	}
	c.known, c.curve = true, curve
	return nil
}

// inside wants a range within its space.
func (c *checker) inside(what string, r backend.Range) error {
	s, ok := c.spaces(r.Space)
	if !ok {
		return fmt.Errorf("%s: there is no space %d", what, r.Space)
	}
	if r.Offset < 0 || r.Count < 0 || r.Offset > s.Count || r.Count > s.Count-r.Offset {
		return fmt.Errorf("%s: range of %d from %d in a space of %d", what, r.Count, r.Offset, s.Count)
	}
	return c.use(what, s.Curve)
}

// apart wants ranges, which are inside their spaces, that do not overlap.
func apart(what string, a, b backend.Range) error {
	if a.Space == b.Space && a.Count > 0 && b.Count > 0 && a.Offset < b.Offset+b.Count && b.Offset < a.Offset+a.Count {
		return fmt.Errorf("%s: %d elements from %d and %d from %d overlap", what, a.Count, a.Offset, b.Count, b.Offset)
	}
	return nil
}

// inPlace wants ranges of one length that are the same or apart.
func (c *checker) inPlace(dst, src backend.Range) error {
	if dst.Count != src.Count {
		return fmt.Errorf("%d elements from %d", dst.Count, src.Count)
	}
	if dst == src {
		return nil
	}
	return apart("Dst and Src", dst, src)
}

// element wants one element below r.
func (c *checker) element(what string, b []byte) error {
	if want := c.curve.ScalarBytes(); len(b) != want {
		return fmt.Errorf("%s: an element of %v in %d bytes, want %d", what, c.curve, len(b), want)
	}
	if !fields[c.curve].has(b) {
		return fmt.Errorf("%s is not below the order of %v", what, c.curve)
	}
	return nil
}

func order(what string, o backend.Order) error {
	if o != backend.Natural && o != backend.Reversed {
		return fmt.Errorf("%s: there is no order %d", what, o)
	}
	return nil
}

// powerOfTwo tells whether n is one.
func powerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }

func (c *checker) write(s backend.Write) error {
	if err := c.inside("Dst", s.Dst); err != nil {
		return err
	}
	if have, size := len(s.Bytes), c.curve.ScalarBytes(); have%size != 0 || have/size != s.Dst.Count {
		return fmt.Errorf("%d bytes for %d elements of %v, %d bytes each", have, s.Dst.Count, c.curve, size)
	}
	return nil
}

func (c *checker) writeIndices(s backend.WriteIndices) error {
	if err := c.inside("Dst", s.Dst); err != nil {
		return err
	}
	return c.indices("Dst", s.Dst, len(s.Indices))
}

// indices wants a range for n indices.
func (c *checker) indices(what string, r backend.Range, n int) error {
	if want := backend.IndexElements(c.curve, n); r.Count != want {
		return fmt.Errorf("%s: %d elements for %d indices, want %d", what, r.Count, n, want)
	}
	return nil
}

func (c *checker) gather(s backend.Gather) error {
	if err := first(c.inside("Dst", s.Dst), c.inside("Src", s.Src), c.inside("Index", s.Index)); err != nil {
		return err
	}
	return first(c.indices("Index", s.Index, s.Dst.Count), apart("Dst and Src", s.Dst, s.Src), apart("Dst and Index", s.Dst, s.Index))
}

func (c *checker) transform(s backend.Transform) error {
	if err := first(c.inside("Dst", s.Dst), c.inside("Src", s.Src), order("From", s.From), order("To", s.To)); err != nil {
		return err
	}
	batch := max(s.Batch, 1)
	n := s.Dst.Count / batch
	switch {
	case s.Batch < 0:
		return fmt.Errorf("%d vectors", s.Batch)
	case s.Dst.Count%batch != 0 || !powerOfTwo(n):
		return fmt.Errorf("in Dst, %d elements are not %d vectors of a power of two", s.Dst.Count, batch)
	case bits.TrailingZeros(uint(n)) > fields[c.curve].twoAdicity:
		return fmt.Errorf("%d elements: %v has transforms of at most 2^%d", n, c.curve, fields[c.curve].twoAdicity)
	case s.From == backend.Reversed && s.To == backend.Reversed:
		return errors.New("from reversed to reversed")
	case s.Src.Count%batch != 0:
		return fmt.Errorf("in Src, %d elements are not %d vectors", s.Src.Count, batch)
	case s.Src.Count != s.Dst.Count && (s.Inverse || s.From != backend.Natural || s.Src.Count == 0 || s.Src.Count > s.Dst.Count):
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
	if err := c.element("Shift", s.Shift); err != nil {
		return err
	}
	for _, b := range s.Shift {
		if b != 0 {
			return nil
		}
	}
	return errors.New("the Shift is zero")
}

func (c *checker) mapped(s backend.Map) error {
	if s.Count < 0 {
		return fmt.Errorf("the Count is %d", s.Count)
	}
	if len(s.Args) > backend.MapArgs || len(s.Code) > backend.MapCodes {
		return fmt.Errorf("%d operands and %d operations, at most %d and %d are possible", len(s.Args), len(s.Code),
			backend.MapArgs, backend.MapCodes)
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
		if Places(a) != Places(s.Dst) {
			if err := apart("Dst and "+what, s.Dst.Range, a.Range); err != nil {
				return err
			}
		}
	}
	size := c.curve.ScalarBytes()
	constants := len(s.Constants) / size
	if len(s.Constants)%size != 0 || constants > backend.MapConstants {
		return fmt.Errorf("%d bytes of constants of %v: at most %d of %d bytes are possible", len(s.Constants), c.curve,
			backend.MapConstants, size)
	}
	for k := range constants {
		if err := c.element(fmt.Sprintf("constant %d", k), s.Constants[k*size:(k+1)*size]); err != nil {
			return err
		}
	}
	return code(s.Code, len(s.Args), constants)
}

// operand wants a range with a place for each of count elements.
func (c *checker) operand(what string, o backend.Operand, count int) error {
	if err := first(c.inside(what, o.Range), order(what, o.Order)); err != nil {
		return err
	}
	if o.Count == 0 && count > 0 {
		return fmt.Errorf("%s: no elements for %d", what, count)
	}
	if o.Order == backend.Reversed && o.Count > 0 && !powerOfTwo(o.Count) {
		return fmt.Errorf("%s: %d reversed elements are no power of two", what, o.Count)
	}
	return nil
}

// distinct wants other places for each of the first count elements.
func distinct(dst backend.Operand, count int) error {
	if count <= 1 {
		return nil
	}
	a, b := dst.Count, Places(dst).Stride
	for b != 0 {
		a, b = b, a%b
	}
	if count > dst.Count/a { // the order of Stride modulo Dst.Count
		return fmt.Errorf("in Dst, places of %d elements are the same, with stride %d in %d", count, dst.Stride, dst.Count)
	}
	return nil
}

// code wants operations that a stack can run and that leave one element.
func code(ops []backend.MapCode, args, constants int) error {
	depth := 0
	for k, op := range ops {
		need, grows := 1, 0 // elements that it takes, and by how many there are more then
		below := depth      // bound of an argument, which those have that push
		switch op.Op {
		case backend.MapLoad:
			need, below, grows = 0, args, 1
		case backend.MapConst:
			need, below, grows = 0, constants, 1
		case backend.MapCopy:
			grows = 1
		case backend.MapAdd, backend.MapSub, backend.MapMul:
			need, grows = 2, -1
		case backend.MapSquare, backend.MapDouble, backend.MapNeg:
		default:
			return fmt.Errorf("operation %d: there is no operation %d", k, op.Op)
		}
		if depth < need {
			return fmt.Errorf("operation %d: %d elements on the stack, takes %d", k, depth, need)
		}
		if grows > 0 && (op.Arg < 0 || op.Arg >= below) {
			return fmt.Errorf("operation %d: argument %d, must be below %d", k, op.Arg, below)
		}
		if depth += grows; depth > backend.MapStack {
			return fmt.Errorf("operation %d: more than %d elements on the stack", k, backend.MapStack)
		}
	}
	if depth != 1 {
		return fmt.Errorf("%d elements left on the stack, want one", depth)
	}
	return nil
}

func (c *checker) evaluate(s backend.Evaluate) error {
	if len(s.Src) == 0 {
		return errors.New("no polynomial")
	}
	for k, r := range s.Src {
		what := fmt.Sprintf("Src[%d]", k)
		if err := c.inside(what, r); err != nil {
			return err
		}
		if s.Order == backend.Reversed && !powerOfTwo(r.Count) {
			return fmt.Errorf("%s: %d reversed elements are no power of two", what, r.Count)
		}
	}
	return first(order("Order", s.Order), c.element("Point", s.Point))
}

func (c *checker) divide(s backend.Divide) error {
	if err := first(c.inside("Dst", s.Dst), c.inside("Src", s.Src), c.element("Point", s.Point)); err != nil {
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

func (c *checker) commit(s backend.Commit) error {
	if err := c.inside("Src", s.Src); err != nil {
		return err
	}
	b, ok := c.bases(s.Bases)
	if !ok {
		return fmt.Errorf("bases %d are not loaded", s.Bases)
	}
	if s.Offset < 0 || s.Offset > b.Count || s.Src.Count > b.Count-s.Offset {
		return fmt.Errorf("range of %d from %d in %d bases", s.Src.Count, s.Offset, b.Count)
	}
	return c.use("Bases", b.Curve)
}
