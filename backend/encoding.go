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
// A program is the number of its steps, then the steps. A step is its number in stepTypes,
// then its fields in the order in which its visit names them:
//
//	count, place, order, operation  an unsigned varint of encoding/binary, at most 2^40
//	id                              an unsigned varint
//	stride, rotation, argument      a varint of encoding/binary, which may be negative
//	yes or no                       a byte, 1 or 0
//	bytes                           their number, and the bytes
//	list                            the number of its items, and the items
//	range                           space, offset, count
//
// What may be long is not in it: the bytes of an Input, its Ready, and the indices of
// WriteIndices. Every program has one encoding: a varint has no byte more than it needs,
// and nothing follows the last step.

// stepTypes has a step of each type at its number. A number is never used for another.
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
}

// stepNumbers is stepTypes the other way round.
var stepNumbers = func() map[reflect.Type]int {
	numbers := make(map[reflect.Type]int, len(stepTypes))
	for n, s := range stepTypes[1:] {
		numbers[reflect.TypeOf(s)] = n + 1
	}
	return numbers
}()

// mostNumber bounds what an encoding counts, so that nothing overflows.
const mostNumber = 1 << 40

// leastBytes is what a step, or an item of a list, takes in an encoding at least.
const leastBytes = 2

// EncodeSteps encodes a valid program, but for the bytes of its inputs and its indices.
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

// CountSteps returns how many steps an encoding says that it has. It decodes none.
func CountSteps(b []byte) (int, error) {
	c := &codec{b: b, decodes: true}
	n := 0
	c.length(&n)
	return n, c.error()
}

// DecodeSteps decodes a program, which may be anybody's; Check has not seen it. It refuses
// what EncodeSteps does not make as ErrInvalidInput. It allocates in proportion to b: at
// most 512 bytes for each step that CountSteps counts, and 24 for each byte.
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

// codec encodes fields, or decodes them. A nil one does nothing.
type codec struct {
	b       []byte // what is encoded, or what is left to decode
	decodes bool
	err     error // the first; nothing is left to decode then
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

// step decodes a step.
func (c *codec) step() Step {
	n := 0
	if c.number(&n); n == 0 || n >= len(stepTypes) {
		c.fail("there is no step of number %d", n)
		return nil
	}
	return stepTypes[n].visit(visitor{codec: c})
}

// id visits any number.
func (c *codec) id(n *uint64) {
	switch {
	case c == nil:
	case c.decodes:
		*n = c.varint()
	default:
		c.b = binary.AppendUvarint(c.b, *n)
	}
}

// varint decodes a number that has no byte more than it needs.
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

// number visits what is counted.
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

// length visits the number of steps or of the items of a list, for which there is room.
func (c *codec) length(n *int) {
	if c.number(n); c.decodes && *n > len(c.b)/leastBytes {
		c.fail("%d items in %d bytes", *n, len(c.b))
		*n = 0
	}
}

// signed visits any number that may be negative.
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

// small visits a number of a byte.
func (c *codec) small(n *uint8) {
	v := int(*n)
	if c.number(&v); v > math.MaxUint8 {
		c.fail("the number %d is out of range", v)
	}
	*n = uint8(v)
}

// flag visits what is or is not.
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

// bytes visits bytes, which are copied when they are decoded.
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
