package backend

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Programs is a capability. Spaces are memory of elements where the backend computes, and programs
// compute on spaces. So nothing crosses between two answers that the caller must see.
// Capabilities.Elements lists the elements that spaces may have.
//
// Elements of a curve are canonical and in Montgomery form, as scalars are. All methods may be
// called concurrently, with the errors and the rules of Backend. If two programs run at the same
// time and one writes what the other touches, that range becomes undefined, and nothing worse
// happens. If a program fails or is cancelled, the ranges that it was to write become undefined
// too.
type Programs interface {
	// NewSpace takes memory for count elements, all of them zero.
	NewSpace(ctx context.Context, e Element, count int) (SpaceID, error)

	// FreeSpace waits for the programs that use a space, wipes it and gives it back; no new program
	// may use it. If ctx ends first, it returns and that happens later.
	FreeSpace(ctx context.Context, id SpaceID) error

	// Run runs the steps in order. Answer i is that of step i, and nil if the step has none. If a
	// step fails, the program fails, and the error names the step. Nothing is written before all
	// steps are known to be valid.
	Run(ctx context.Context, steps []Step) ([][]byte, error)
}

// SpaceID identifies a space within the backend that returned it. It is never zero.
type SpaceID uint64

// Range is a vector: Count elements of a space from Offset on.
type Range struct {
	Space         SpaceID
	Offset, Count int
}

// overlaps reports whether two ranges have an element in common.
func (r Range) overlaps(other Range) bool {
	return r.Space == other.Space && r.Count > 0 && other.Count > 0 &&
		r.Offset < other.Offset+other.Count && other.Offset < r.Offset+r.Count
}

// Step is one of Write, Read, Job, the steps over scalars (steps.go) and over points (points.go),
// and Compute, which is over words. A step describes itself: Accesses, Answer, Check and
// EncodeSteps ask it. Only code that computes steps needs to switch over their types.
//
// The spaces of a program have scalars and points of one curve, or all of them have words. A range
// that a step writes must not overlap its other ranges. Some steps allow it to be exactly the range
// that they read, and say so.
type Step interface {
	// visit calls v for every field, and returns the step with the changes that v made. The order
	// of the calls is the order of the encoding.
	visit(v visitor) Step
	// answer returns the elements of the step's answer, none for most steps.
	answer(in Memory) Elements
	// check returns what is wrong with the step.
	check(c *checker) error
}

// Access is a range that a step touches.
type Access struct {
	Range
	// Bases is set if the range is one of bases. Then Range.Space is zero.
	Bases BasesID
	// Writes says that the step writes the range; otherwise it reads it. A range that it reads and
	// writes is listed twice.
	Writes bool
}

// visitor goes over the fields of a step: visit names each of them once. It either sees ranges and
// inputs, and may change ids and inputs, or it has a codec that encodes or decodes all fields.
// Whatever is nil does nothing.
type visitor struct {
	access func(*Access)
	input  func(in *Input, count int)
	values *bool // set to true if the values of elements decide whether the step fails
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

// optional visits a range that is unused unless it names a space.
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

// given visits an input of count elements. Its bytes are not a field.
func (v visitor) given(in *Input, count int) {
	if v.input != nil {
		changed := *in // a copy made only here: otherwise every step would escape to the heap
		v.input(&changed, count)
		*in = changed
	}
}

// refuses records that the values of elements decide whether the step fails.
func (v visitor) refuses() {
	if v.values != nil {
		*v.values = true
	}
}

// copied returns a copy of a list for a visitor to go over. A visitor that decodes gets as many
// items as the encoding has. An item takes at least two bytes, which bounds their number.
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

// visit shows v a step and returns it as v changed it. A value that is no step is returned as it
// is.
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

// Renamed returns a step with other ids. A nil function changes none.
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

// WithInput calls f with a step's input, if it has one, and the number of its elements. It returns
// the step with the input that f has changed.
func WithInput(s Step, f func(in *Input, count int)) Step { return visit(s, visitor{input: f}) }

// MayRefuse reports whether the values of elements decide if a step fails. Such a step may return
// ErrInvalidInput although Check has found nothing wrong.
func MayRefuse(s Step) (may bool) {
	visit(s, visitor{values: &may})
	return may
}

// Memory says what ids name. Its functions return false for ids that name nothing.
type Memory struct {
	Bases func(BasesID) (Elements, bool)
	Space func(SpaceID) (Elements, bool)
}

// element returns the element of a space that exists.
func (k Memory) element(id SpaceID) Element {
	e, _ := k.Space(id)
	return e.Element
}

// Answer returns the elements of a step's answer: none if it has no answer or is wrong.
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

// AnswerBytes returns the length of a step's answer.
func AnswerBytes(s Step, in Memory) int {
	answer := Answer(s, in)
	if answer.Count == 0 {
		return 0
	}
	return answer.Count * answer.Bytes()
}

// Check validates a program as far as that is possible without the values of elements. Spaces and
// bases must exist and fit together. Ranges must lie inside them, and overlap only if the step
// allows it. Lengths, orders and counts must fit. Constants must be below r, and a stack must be
// able to run the code. An error is ErrInvalidInput and names the step.
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

// isStep reports whether the type of s is one of stepTypes. A pointer to one is none, nor is a type
// that embeds one.
func isStep(s Step) bool {
	_, ok := stepNumbers[reflect.TypeOf(s)]
	return ok
}

// InStep adds to err the step of a program in which it happened, unless the caller ended the
// program.
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
	at    int   // number of the step being checked
	known bool  // false until the first space
	curve Curve // of the program's spaces; 0 for words
}

// use requires that the program is over the curve of e.
func (c *checker) use(what string, e Element) error {
	if c.known && c.curve != e.Curve {
		return fmt.Errorf("%s: %v, with an earlier step over %v", what, e, c.curve)
	}
	c.known, c.curve = true, e.Curve
	return nil
}

// inside checks that a range lies within its space and that its elements are of a kind; 0 is any
// kind.
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

// within checks that a range lies within something that has count elements.
func (c *checker) within(what string, r Range, count int) error {
	if r.Offset < 0 || r.Count < 0 || r.Offset > count || r.Count > count-r.Offset {
		return fmt.Errorf("%s: range of %d from %d of %d", what, r.Count, r.Offset, count)
	}
	return nil
}

// scalars does what inside does, for scalars.
func (c *checker) scalars(what string, r Range) error { return c.inside(what, r, Scalars) }

// apart checks that two ranges do not overlap. They lie inside their spaces.
func apart(what string, a, b Range) error {
	if a.overlaps(b) {
		return fmt.Errorf("%s: %d elements from %d and %d from %d overlap", what, a.Count, a.Offset, b.Count, b.Offset)
	}
	return nil
}

// inPlace checks that two ranges have one length and are either the same or apart.
func (c *checker) inPlace(dst, src Range) error {
	if dst.Count != src.Count {
		return fmt.Errorf("%d elements from %d", dst.Count, src.Count)
	}
	if dst == src {
		return nil
	}
	return apart("Dst and Src", dst, src)
}

// scalar checks that b is one scalar below r.
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
