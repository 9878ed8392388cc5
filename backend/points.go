package backend

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// The steps over points, and how points are encoded. Points of a space are affine, in
// gnark-crypto's memory layout, with infinity as zeros. Steps other than CheckPoints take
// points of the group of order r; what they make of others is undefined, nothing worse.
//
// A step may take a time that depends on its scalars.

// PointElements lists the points of every group of every curve.
func PointElements() []Element {
	var all []Element
	for _, g := range CurveGroups() {
		all = append(all, PointOf(g.Curve, g.Group))
	}
	return all
}

// Encoding is how elements are written in bytes.
type Encoding uint8

// The numbers are part of the plugin protocol.
const (
	AsInSpaces   Encoding = 0 // as spaces hold them
	Compressed   Encoding = 1 // points, as gnark-crypto's method Bytes has them
	Uncompressed Encoding = 2 // points, as gnark-crypto's method RawBytes has them
)

// Bytes returns the size of an element of a valid kind.
func (c Encoding) Bytes(e Element) int {
	if c == Compressed {
		return e.Bytes() / 2
	}
	return e.Bytes()
}

// check says what is wrong with an encoding of an element.
func (c Encoding) check(e Element) error {
	switch {
	case c > Uncompressed:
		return fmt.Errorf("there is no encoding %d", c)
	case c != AsInSpaces && e.Kind != Points:
		return fmt.Errorf("%v have no encoding %d", e, c)
	}
	return nil
}

// of returns what an answer of some elements is: words where it is encoded.
func (c Encoding) of(e Elements) Elements {
	if c == AsInSpaces || !e.Valid() {
		return e
	}
	return Elements{Word(), e.Count * (c.Bytes(e.Element) / Word().Bytes())}
}

// MultiplyPoints sets Dst[j] to the sum over i below Terms of
// Scalars[j Terms + i] * Src[j Terms + i].
//
// Src and Scalars are repeated when they are shorter than the Dst.Count * Terms products,
// which they must divide: one point in Src is a fixed base, Terms points are a table for
// every row, one scalar is for all points. Without Scalars, whose Range is zero then,
// every scalar is one. With one term Dst may be Src.
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

// PointArgs is the most ranges in Plus and Minus of AddPoints.
const PointArgs = 64

// AddPoints sets Dst[i] to the sum of the points i of Plus, less those of Minus. A range
// that is shorter than Dst, and divides it, is repeated. One of them may be Dst.
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

// CheckPoints answers how many points of Src are not valid and which is the first;
// CheckedPoints reads the answer. A valid point has coordinates below q and is on the
// curve, and with Subgroup it is in the group of order r. Infinity is valid.
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

// CheckedPoints reads the answer to CheckPoints: how many points are not valid, and the
// index of the first of them in Src, -1 when there is none.
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

// CheckedAnswer returns an answer to CheckPoints. Without bad points first does not count.
func CheckedAnswer(bad, first int) []byte {
	if bad == 0 {
		first = 0
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(bad)), uint64(first))
}

// same does what inside does, for a range with the elements of another, which is right.
func (c *checker) same(what string, r, other Range) error {
	if err := c.inside(what, r, 0); err != nil {
		return err
	}
	if e, want := c.in.element(r.Space), c.in.element(other.Space); e != want {
		return fmt.Errorf("%s: the elements of its space are %v, %v are wanted", what, e, want)
	}
	return nil
}

// repeats wants a range whose elements, again and again, are n.
func repeats(what string, r Range, n int) error {
	if n > 0 && (r.Count == 0 || n%r.Count != 0) {
		return fmt.Errorf("%s: %d elements are not repeated to %d", what, r.Count, n)
	}
	return nil
}

// toPoint wants the place of one point of an element, or none.
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

// transformed wants a range of what transforms are over: scalars or points.
func (c *checker) transformed(what string, r Range) error {
	if err := c.inside(what, r, 0); err != nil {
		return err
	}
	if c.in.element(r.Space).Kind == Words {
		return fmt.Errorf("%s: the elements of its space are words, scalars or points are wanted", what)
	}
	return nil
}
