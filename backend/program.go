package backend

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Programs is a capability: spaces, which are memory of elements where the backend
// computes, and programs over them, so that between two answers that the caller must
// see nothing crosses. Capabilities.Elements lists the elements that spaces have.
//
// Elements of a curve are canonical, in Montgomery form, as scalars are. All methods
// may be called concurrently, with the errors and the rules of Backend. What programs
// that run at the same time write and others touch is undefined, nothing worse;
// so are the ranges that a program was to write when it fails or is cancelled.
type Programs interface {
	// NewSpace takes memory for count elements, all of them zero.
	NewSpace(ctx context.Context, e Element, count int) (SpaceID, error)

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

// overlaps reports whether two ranges have an element in common.
func (r Range) overlaps(other Range) bool {
	return r.Space == other.Space && r.Count > 0 && other.Count > 0 &&
		r.Offset < other.Offset+other.Count && other.Offset < r.Offset+r.Count
}

// Step is one of Write, Read, Job, of the steps over scalars (steps.go), of those over
// points (points.go) and Compute, which is over words. A step describes itself:
// Accesses, Answer, Check and EncodeSteps ask it. Who computes steps switches over their
// types; nobody else needs to.
//
// The spaces of a program are of scalars and points of one curve, or all of words. Two
// ranges of a step must not overlap if the step writes one of them. Where the step says
// so, a range that it writes may be the very one that it reads.
type Step interface {
	// visit calls v for every field, and returns the step with what v has changed. The
	// order of the calls is that of the encoding.
	visit(v visitor) Step
	// answer returns what the step answers; nothing for most.
	answer(in Memory) Elements
	// check says what is wrong with the step.
	check(c *checker) error
}

// Access is a range that a step touches.
type Access struct {
	Range
	// Bases is set when the range is one of bases. Then Range.Space is zero.
	Bases BasesID
	// Writes tells that the step writes the range; else it reads it. One that it
	// reads and writes is listed twice.
	Writes bool
}

// visitor goes over the fields of a step, each of which visit names once. It sees the
// ranges and the inputs, and may change ids and inputs, or it has a codec, which encodes
// or decodes the fields. What is nil does nothing.
type visitor struct {
	access func(*Access)
	input  func(in *Input, count int)
	values *bool // is set when the values of elements decide whether the step fails
	*codec
}

// touch visits a range.
func (v visitor) touch(r *Range, writes bool) {
	if v.access != nil {
		a := Access{Range: *r, Writes: writes}
		v.access(&a)
		r.Space = a.Space
	}
	v.span(r)
}

func (v visitor) reads(ranges ...*Range) {
	for _, r := range ranges {
		v.touch(r, false)
	}
}

func (v visitor) writes(r *Range) { v.touch(r, true) }

// optional visits a range that is touched only where it names a space.
func (v visitor) optional(r *Range, writes bool) {
	if r.Space == 0 {
		v.access = nil
	}
	v.touch(r, writes)
}

// bases visits a range of bases.
func (v visitor) bases(id *BasesID, offset, count *int) {
	if v.access != nil {
		a := Access{Range: Range{Offset: *offset, Count: *count}, Bases: *id}
		v.access(&a)
		*id = a.Bases
	}
	v.id((*uint64)(id))
	v.number(offset)
	v.number(count)
}

// given visits an input of count elements, whose bytes are no field.
func (v visitor) given(in *Input, count int) {
	if v.input != nil {
		changed := *in // so that no step escapes to memory because some have inputs
		v.input(&changed, count)
		*in = changed
	}
}

// refuses tells that the values of elements decide whether the step fails.
func (v visitor) refuses() {
	if v.values != nil {
		*v.values = true
	}
}

// copied returns a copy of a list for a visitor to go over; one that decodes gets as many
// items as there are, none of which takes less than two bytes.
func copied[T any](v visitor, list []T) []T {
	if v.codec == nil {
		return slices.Clone(list)
	}
	n := len(list)
	if v.length(&n); v.decodes && n > 0 {
		return make([]T, n)
	}
	return list
}

// visit shows v a step and returns what v makes of it. What is no step stays as it is.
func visit(s Step, v visitor) Step {
	if !isStep(s) {
		return s
	}
	return s.visit(v)
}

// Accesses lists the ranges that a step touches.
func Accesses(s Step) (all []Access) {
	visit(s, visitor{access: func(a *Access) { all = append(all, *a) }})
	return all
}

// Writes reports whether a step writes one of the elements of a range.
func Writes(s Step, r Range) bool {
	for _, a := range Accesses(s) {
		if a.Writes && a.overlaps(r) {
			return true
		}
	}
	return false
}

// Renamed returns a step with other ids; a function that is nil changes none.
func Renamed(s Step, space func(SpaceID) SpaceID, bases func(BasesID) BasesID) Step {
	return visit(s, visitor{access: func(a *Access) {
		switch {
		case a.Bases != 0 && bases != nil:
			a.Bases = bases(a.Bases)
		case a.Bases == 0 && space != nil:
			a.Space = space(a.Space)
		}
	}})
}

// WithInput calls f with a step's input, if it has one, and how many elements that is,
// and returns the step with what f has made of it.
func WithInput(s Step, f func(in *Input, count int)) Step { return visit(s, visitor{input: f}) }

// MayRefuse reports whether the values of elements decide if a step fails, so that it may
// be ErrInvalidInput although Check has found nothing wrong.
func MayRefuse(s Step) (may bool) {
	visit(s, visitor{values: &may})
	return may
}

// Memory tells what ids name, or false where they name nothing.
type Memory struct {
	Bases func(BasesID) (Elements, bool)
	Space func(SpaceID) (Elements, bool)
}

// element returns the element of a space that is there.
func (k Memory) element(id SpaceID) Element {
	e, _ := k.Space(id)
	return e.Element
}

// Answer returns what a step answers; no elements for nothing and for what is wrong.
func Answer(s Step, in Memory) Elements {
	if !isStep(s) {
		return Elements{}
	}
	answer := s.answer(in)
	if _, err := answer.Size(); err != nil {
		return Elements{}
	}
	return answer
}

// AnswerBytes returns the length of what a step answers.
func AnswerBytes(s Step, in Memory) int {
	answer := Answer(s, in)
	if answer.Count == 0 {
		return 0
	}
	return answer.Count * answer.Bytes()
}

// Check validates a program as far as that is possible without its elements. Spaces and
// bases must exist and fit together; ranges must lie inside them and overlap only where
// they may; lengths, orders and counts must fit; constants must be below r; a stack must be
// able to run the code. What is wrong is ErrInvalidInput, and names the step.
func Check(steps []Step, in Memory) error {
	c := checker{in: in, steps: steps}
	for i, s := range steps {
		c.at = i
		err := errNoStep
		if isStep(s) {
			err = s.check(&c)
		}
		if err != nil {
			return InStep(i, s, fmt.Errorf("%w: %w", ErrInvalidInput, err))
		}
	}
	return nil
}

var errNoStep = errors.New("no step of package backend")

// isStep reports whether s is of one of stepTypes: not a pointer to one, nor of a type
// that has one inside.
func isStep(s Step) bool {
	_, ok := stepNumbers[reflect.TypeOf(s)]
	return ok
}

// InStep says in which step of a program err happened, unless the caller ended it.
func InStep(i int, s Step, err error) error {
	if err == nil || isEnd(err) {
		return err
	}
	return fmt.Errorf("step %d (%s): %w", i, StepName(s), err)
}

// StepName returns the name of a step's type, such as "Map", or "Compute expmod".
func StepName(s Step) string {
	if s, ok := s.(Compute); ok {
		return "Compute " + s.Op.String()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", s), "backend.")
}

// checker checks the steps of one program.
type checker struct {
	in    Memory
	steps []Step
	at    int   // the step that is checked
	known bool  // false before the first space
	curve Curve // of the program's spaces; 0 for words
}

// use makes a curve that of the program.
func (c *checker) use(what string, e Element) error {
	if c.known && c.curve != e.Curve {
		return fmt.Errorf("%s: %v, with an earlier step over %v", what, e, c.curve)
	}
	c.known, c.curve = true, e.Curve
	return nil
}

// inside wants a range within its space, whose elements are of a kind; 0 is any.
func (c *checker) inside(what string, r Range, kind Kind) error {
	s, ok := c.in.Space(r.Space)
	if !ok {
		return fmt.Errorf("%s: there is no space %d", what, r.Space)
	}
	if err := c.within(what, r, s.Count); err != nil {
		return err
	}
	if kind != 0 && s.Kind != kind {
		return fmt.Errorf("%s: the elements of its space are %v, %v are wanted", what, s.Element, kind)
	}
	return c.use(what, s.Element)
}

// within wants a range of something that has count elements.
func (c *checker) within(what string, r Range, count int) error {
	if r.Offset < 0 || r.Count < 0 || r.Offset > count || r.Count > count-r.Offset {
		return fmt.Errorf("%s: range of %d from %d of %d", what, r.Count, r.Offset, count)
	}
	return nil
}

// scalars calls inside for a range of scalars.
func (c *checker) scalars(what string, r Range) error { return c.inside(what, r, Scalars) }

// apart wants ranges, which are inside their spaces, that do not overlap.
func apart(what string, a, b Range) error {
	if a.overlaps(b) {
		return fmt.Errorf("%s: %d elements from %d and %d from %d overlap", what, a.Count, a.Offset, b.Count, b.Offset)
	}
	return nil
}

// inPlace wants ranges of one length that are the same or apart.
func (c *checker) inPlace(dst, src Range) error {
	if dst.Count != src.Count {
		return fmt.Errorf("%d elements from %d", dst.Count, src.Count)
	}
	if dst == src {
		return nil
	}
	return apart("Dst and Src", dst, src)
}

// scalar wants one scalar below r.
func (c *checker) scalar(what string, b []byte) error {
	if want := c.curve.ScalarBytes(); len(b) != want {
		return fmt.Errorf("%s: a scalar of %v in %d bytes, want %d", what, c.curve, len(b), want)
	}
	if !c.curve.has(b) {
		return fmt.Errorf("%s is not below the order of %v", what, c.curve)
	}
	return nil
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
