package backend

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// The steps over points, and how points are encoded. Points of a space are affine, in
// gnark-crypto's memory layout, with infinity as zeros. All steps except CheckPoints take points of
// the group of order r. What they make of other points is undefined, but nothing worse happens.
//
// The time of a step may depend on its scalars.

// PointElements lists the points of every group of every curve.
func PointElements() []Element {
	var all []Element
	for _, g := range CurveGroups() {
		all = append(all, PointOf(g.Curve, g.Group))
	}
	return all
}

// Encoding says how elements are written in bytes.
type Encoding uint8

// The numbers are part of the plugin protocol.
const (
	AsInSpaces   Encoding = 0 // as spaces hold them
	Compressed   Encoding = 1 // points, as gnark-crypto's method Bytes writes them
	Uncompressed Encoding = 2 // points, as gnark-crypto's method RawBytes writes them
)

// Bytes returns the size of an encoded element. e must be valid.
func (c Encoding) Bytes(e Element) int {
	if c == Compressed {
		return e.Bytes() / 2
	}
	return e.Bytes()
}

// check returns an error if elements e have no such encoding.
func (c Encoding) check(e Element) error {
	switch {
	case c > Uncompressed:
		return fmt.Errorf("there is no encoding %d", c)
	case c != AsInSpaces && e.Kind != Points:
		return fmt.Errorf("%v have no encoding %d", e, c)
	}
	return nil
}

// of returns what an answer of elements e consists of: words if it is encoded.
func (c Encoding) of(e Elements) Elements {
	if c == AsInSpaces || !e.Valid() {
		return e
	}
	return Elements{Word(), e.Count * (c.Bytes(e.Element) / Word().Bytes())}
}

// MultiplyPoints sets Dst[j] to the sum over i below Terms of
// Scalars[j Terms + i] * Src[j Terms + i].
//
// If Src or Scalars are shorter than the Dst.Count * Terms products, they are repeated; their
// length must divide that number. One point in Src is a fixed base, Terms points are a table for
// every row, and one scalar is for all points. Without Scalars (a zero Range) every scalar is one.
// With one term Dst may be Src.
type MultiplyPoints struct {
	Dst, Src, Scalars Range
	Terms             int // 0 is 1
}

func (s MultiplyPoints) visit(v visitor) Step {
	v.writes(&s.Dst)
	v.reads(&s.Src)
	v.optional(&s.Scalars, false)
	v.number(&s.Terms)
	return s
}

func (s MultiplyPoints) answer(Memory) Elements { return Elements{} }

func (s MultiplyPoints) check(c *checker) error {
	if err := first(c.inside("Dst", s.Dst, Points), c.same("Src", s.Src, s.Dst)); err != nil {
		return err
	}
	over, all := bits.Mul64(uint64(s.Dst.Count), uint64(max(s.Terms, 1)))
	switch {
	case s.Terms < 0:
		return fmt.Errorf("%d terms", s.Terms)
	case over != 0 || all > MaxCount:
		return fmt.Errorf("%d sums of %d products, at most %d products are possible", s.Dst.Count, s.Terms, MaxCount)
	}
	if err := repeats("Src", s.Src, int(all)); err != nil {
		return err
	}
	if s.Scalars != (Range{}) {
		if err := first(c.scalars("Scalars", s.Scalars), repeats("Scalars", s.Scalars, int(all))); err != nil {
			return err
		}
	}
	if s.Terms <= 1 && s.Dst == s.Src {
		return nil
	}
	return apart("Dst and Src", s.Dst, s.Src)
}

// PointArgs is the most ranges that Plus and Minus of AddPoints may have.
const PointArgs = 64

// AddPoints sets Dst[i] to the sum of the points i of Plus, minus those of Minus. A range that is
// shorter than Dst is repeated; its length must divide that of Dst. One of the ranges may be Dst.
type AddPoints struct {
	Dst         Range
	Plus, Minus []Range
}

func (s AddPoints) visit(v visitor) Step {
	v.writes(&s.Dst)
	for _, all := range []*[]Range{&s.Plus, &s.Minus} {
		*all = copied(v, *all)
		for k := range *all {
			v.reads(&(*all)[k])
		}
	}
	return s
}

func (s AddPoints) answer(Memory) Elements { return Elements{} }

func (s AddPoints) check(c *checker) error {
	if err := c.inside("Dst", s.Dst, Points); err != nil {
		return err
	}
	if n := len(s.Plus) + len(s.Minus); n > PointArgs {
		return fmt.Errorf("%d ranges, at most %d are possible", n, PointArgs)
	}
	for k, r := range slices.Concat(s.Plus, s.Minus) {
		what := fmt.Sprintf("range %d", k)
		if err := first(c.same(what, r, s.Dst), repeats(what, r, s.Dst.Count)); err != nil {
			return err
		}
		if r != s.Dst {
			if err := apart("Dst and "+what, s.Dst, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckPoints answers how many points of Src are not valid and which is the first; CheckedPoints
// reads the answer. A valid point has coordinates below q and is on the curve; with Subgroup it
// must also be in the group of order r. Infinity is valid.
type CheckPoints struct {
	Src      Range
	Subgroup bool
}

func (s CheckPoints) visit(v visitor) Step {
	v.reads(&s.Src)
	v.flag(&s.Subgroup)
	return s
}

func (s CheckPoints) answer(Memory) Elements { return Elements{Word(), checkedBytes / Word().Bytes()} }

func (s CheckPoints) check(c *checker) error { return c.inside("Src", s.Src, Points) }

const checkedBytes = 16

// CheckedPoints reads the answer to CheckPoints: how many points are not valid, and the index of
// the first of them in Src, or -1 if there is none.
func CheckedPoints(answer []byte) (bad, first int, err error) {
	if len(answer) != checkedBytes {
		return 0, 0, fmt.Errorf("%w: %d bytes are no answer to CheckPoints", ErrInternal, len(answer))
	}
	bad, first = int(binary.LittleEndian.Uint64(answer)), int(binary.LittleEndian.Uint64(answer[8:]))
	if bad == 0 {
		first = -1
	}
	return bad, first, nil
}

// CheckedAnswer returns an answer to CheckPoints. If bad is 0, first is ignored.
func CheckedAnswer(bad, first int) []byte {
	if bad == 0 {
		first = 0
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(bad)), uint64(first))
}

// same does what inside does, for a range r whose elements must be those of other.
func (c *checker) same(what string, r, other Range) error {
	if err := c.inside(what, r, 0); err != nil {
		return err
	}
	if e, want := c.in.element(r.Space), c.in.element(other.Space); e != want {
		return fmt.Errorf("%s: the elements of its space are %v, %v are wanted", what, e, want)
	}
	return nil
}

// repeats checks that r, repeated a whole number of times, has n elements.
func repeats(what string, r Range, n int) error {
	if n > 0 && (r.Count == 0 || n%r.Count != 0) {
		return fmt.Errorf("%s: %d elements are not repeated to %d", what, r.Count, n)
	}
	return nil
}

// toPoint checks that r is one point of the element e, or names no space.
func (c *checker) toPoint(r Range, e Element) error {
	if r == (Range{}) {
		return nil
	}
	if err := c.inside("Dst", r, Points); err != nil {
		return err
	}
	if of := c.in.element(r.Space); of != e || r.Count != 1 {
		return fmt.Errorf("%d %v as Dst for one of %v", r.Count, of, e)
	}
	return nil
}

// transformed checks that a range has elements that transforms take: scalars or points.
func (c *checker) transformed(what string, r Range) error {
	if err := c.inside(what, r, 0); err != nil {
		return err
	}
	if c.in.element(r.Space).Kind == Words {
		return fmt.Errorf("%s: the elements of its space are words, scalars or points are wanted", what)
	}
	return nil
}
