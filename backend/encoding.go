package backend

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
)

// The encoding of programs, which the plugin protocol carries.
//
// A program is the number of its steps, then the steps. A step is its number in stepTypes, then its
// fields in the order in which its visit names them:
//
//	count, place, order, operation  an unsigned varint of encoding/binary, at most 2^40
//	id                              an unsigned varint
//	stride, rotation, argument      a varint of encoding/binary, which may be negative
//	yes or no                       a byte, 1 or 0
//	bytes                           their number, and the bytes
//	list                            the number of its items, and the items
//	range                           space, offset, count
//
// Long parts are left out: the bytes of an Input, its Ready, and the indices of WriteIndices. Every
// program has exactly one encoding: a varint has as few bytes as possible, and nothing follows the
// last step.

// stepTypes has a step of each type at its number. The number of a removed type is not used again.
var stepTypes = [...]Step{
	1:  Write{},
	2:  WriteIndices{},
	3:  Read{},
	4:  Gather{},
	5:  Transform{},
	6:  Map{},
	7:  Powers{},
	8:  Invert{},
	9:  Products{},
	10: Evaluate{},
	11: Divide{},
	12: Job{},
	13: Compute{},
	14: MultiplyPoints{},
	15: AddPoints{},
	16: CheckPoints{},
	17: SparseProduct{},
}

// stepNumbers is the inverse of stepTypes.
var stepNumbers = func() map[reflect.Type]int {
	numbers := make(map[reflect.Type]int, len(stepTypes))
	for n, s := range stepTypes[1:] {
		numbers[reflect.TypeOf(s)] = n + 1
	}
	return numbers
}()

// mostNumber bounds every count in an encoding, so that no sum or product overflows.
const mostNumber = 1 << 40

// leastBytes is the least that a step, or an item of a list, takes in an encoding.
const leastBytes = 2

// EncodeSteps encodes a valid program, without the bytes of its inputs and without its indices.
func EncodeSteps(steps []Step) []byte {
	c := &codec{b: make([]byte, 0, 16+32*len(steps))}
	n := len(steps)
	c.number(&n)
	for _, s := range steps {
		number := stepNumbers[reflect.TypeOf(s)]
		c.number(&number)
		visit(s, visitor{codec: c})
	}
	return c.b
}

// CountSteps returns how many steps an encoding claims to have. It decodes none of them.
func CountSteps(b []byte) (int, error) {
	c := &codec{b: b, decodes: true}
	n := 0
	c.length(&n)
	return n, c.error()
}

// DecodeSteps decodes a program that may come from anybody; call Check on the result. It refuses
// whatever EncodeSteps would not have written with ErrInvalidInput. It allocates in proportion to
// b: at most 512 bytes for each step that CountSteps counts, and 24 for each byte.
func DecodeSteps(b []byte) ([]Step, error) {
	c := &codec{b: b, decodes: true}
	n := 0
	c.length(&n)
	steps := make([]Step, 0, n)
	for i := range n {
		s := c.step()
		if c.err != nil {
			return nil, fmt.Errorf("step %d: %w", i, c.error())
		}
		steps = append(steps, s)
	}
	if len(c.b) > 0 {
		c.fail("%d bytes after the last step", len(c.b))
	}
	if c.err != nil {
		return nil, c.error()
	}
	return steps, nil
}

// codec encodes or decodes fields. A nil codec does nothing.
type codec struct {
	b       []byte // the bytes encoded so far, or those left to decode
	decodes bool
	err     error // the first error; after it nothing is left to decode
}

func (c *codec) fail(format string, a ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, a...)
	}
	c.b = nil
}

func (c *codec) error() error {
	if c.err == nil {
		return nil
	}
	return fmt.Errorf("%w: no encoding of a program: %w", ErrInvalidInput, c.err)
}

// step decodes one step.
func (c *codec) step() Step {
	n := 0
	if c.number(&n); n == 0 || n >= len(stepTypes) {
		c.fail("there is no step of number %d", n)
		return nil
	}
	return stepTypes[n].visit(visitor{codec: c})
}

// id visits an unsigned number without a bound.
func (c *codec) id(n *uint64) {
	switch {
	case c == nil:
	case c.decodes:
		*n = c.varint()
	default:
		c.b = binary.AppendUvarint(c.b, *n)
	}
}

// varint decodes an unsigned varint, and refuses one with more bytes than needed.
func (c *codec) varint() uint64 {
	v, n := binary.Uvarint(c.b)
	switch {
	case n == 0:
		c.fail("it ends too early")
	case n < 0 || n > 1 && c.b[n-1] == 0:
		c.fail("a number has too many bytes")
	default:
		c.b = c.b[n:]
		return v
	}
	return 0
}

// number visits a count, a place or the like.
func (c *codec) number(n *int) {
	switch {
	case c == nil:
	case c.decodes:
		v := c.varint()
		if v > mostNumber {
			c.fail("the number %d is out of range", v)
			v = 0
		}
		*n = int(v)
	default:
		c.b = binary.AppendUvarint(c.b, uint64(*n))
	}
}

// length visits the number of steps or of items of a list. It refuses one for which too few bytes
// are left.
func (c *codec) length(n *int) {
	if c.number(n); c.decodes && *n > len(c.b)/leastBytes {
		c.fail("%d items in %d bytes", *n, len(c.b))
		*n = 0
	}
}

// signed visits a number that may be negative.
func (c *codec) signed(n *int) {
	switch {
	case c == nil:
	case c.decodes:
		v := c.varint()
		*n = int(int64(v>>1) ^ -int64(v&1))
	default:
		c.b = binary.AppendVarint(c.b, int64(*n))
	}
}

// small visits a number that takes one byte.
func (c *codec) small(n *uint8) {
	v := int(*n)
	if c.number(&v); v > math.MaxUint8 {
		c.fail("the number %d is out of range", v)
	}
	*n = uint8(v)
}

// flag visits a yes or no.
func (c *codec) flag(is *bool) {
	v := 0
	if *is {
		v = 1
	}
	if c.number(&v); v > 1 {
		c.fail("%d is neither yes nor no", v)
	}
	*is = v == 1
}

// bytes visits bytes. Decoded ones are a copy.
func (c *codec) bytes(b *[]byte) {
	if c == nil {
		return
	}
	n := len(*b)
	c.number(&n)
	switch {
	case !c.decodes:
		c.b = append(c.b, *b...)
	case n > len(c.b):
		c.fail("%d bytes of %d", n, len(c.b))
	case n > 0:
		*b, c.b = bytes.Clone(c.b[:n]), c.b[n:]
	}
}

// span visits a range.
func (c *codec) span(r *Range) {
	if c == nil {
		return
	}
	c.id((*uint64)(&r.Space))
	c.number(&r.Offset)
	c.number(&r.Count)
}
