package backend

import (
	"fmt"
	"math"
)

// Kind says what the elements of a space are.
type Kind uint8

// The numbers are part of the plugin protocol.
const (
	Scalars Kind = 1 // of a curve's scalar field, canonical, in Montgomery form
	Words   Kind = 2 // of 32 bits, little-endian, which make batches of plain numbers
	Points  Kind = 3 // of a group of a curve, affine
)

// kinds holds the facts of each kind.
var kinds = [...]struct {
	name         string
	curve, group bool // whether such an element has them
	bytes        func(Element) int
}{
	Scalars: {"scalars", true, false, func(e Element) int { return e.Curve.ScalarBytes() }},
	Words:   {"words", false, false, func(Element) int { return 4 }},
	Points:  {"points", true, true, func(e Element) int { return e.Curve.PointBytes(e.Group) }},
}

// String returns the name, such as "scalars".
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kinds) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kinds[k].name
}

// Element says what an element is. Curve and Group are zero if its kind has none.
type Element struct {
	Kind  Kind
	Curve Curve
	Group Group
}

// ScalarOf returns the element for scalars of a curve.
func ScalarOf(c Curve) Element { return Element{Kind: Scalars, Curve: c} }

// Word returns the element for words of 32 bits.
func Word() Element { return Element{Kind: Words} }

// PointOf returns the element for affine points of a group.
func PointOf(c Curve, g Group) Element { return Element{Points, c, g} }

// SpaceElements lists the elements that every backend with programs has: scalars of every curve,
// and words. Some backends have those of PointElements too.
func SpaceElements() []Element {
	var all []Element
	for _, c := range Curves() {
		all = append(all, ScalarOf(c))
	}
	return append(all, Word())
}

// Valid reports whether such an element exists.
func (e Element) Valid() bool {
	if e.Kind == 0 || int(e.Kind) >= len(kinds) {
		return false
	}
	k := &kinds[e.Kind]
	return k.curve == (e.Curve != 0) && k.group == (e.Group != 0) &&
		(e.Curve == 0 || e.Curve.Valid()) && (e.Group == 0 || e.Group.Valid())
}

// Bytes returns the size of an element in memory. e must be valid.
func (e Element) Bytes() int { return kinds[e.Kind].bytes(e) }

// String returns the name, such as "scalars of bn254", "words" or "points of bn254 g1".
func (e Element) String() string {
	s := e.Kind.String()
	if e.Curve != 0 {
		s += " of " + e.Curve.String()
	}
	if e.Group != 0 {
		s += " " + e.Group.String()
	}
	return s
}

// Elements is Count elements of one kind: a space, bases, or the answer of a step.
type Elements struct {
	Element
	Count int
}

// Size returns the length in bytes. An invalid element or a negative count is ErrInvalidInput. A
// count that no memory could hold is ErrOutOfMemory.
func (e Elements) Size() (int64, error) {
	if !e.Valid() || e.Count < 0 {
		return 0, fmt.Errorf("%w: %d %v", ErrInvalidInput, e.Count, e.Element)
	}
	if size := int64(e.Bytes()); int64(e.Count) <= math.MaxInt64/size {
		return int64(e.Count) * size, nil
	}
	return 0, fmt.Errorf("%w: %d %v", ErrOutOfMemory, e.Count, e.Element)
}
