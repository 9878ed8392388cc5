// Package file reads the files of circom and snarkjs: the container that they share, proving keys
// (.zkey) and witnesses (.wtns). It believes nothing that a file says. Each length is compared with
// the file's own before memory is taken, and errors name the place.
package file

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/pippin-zk/pippin/backend"
)

// Section is where the content of a section lies.
type Section struct{ Offset, Size int64 }

// sizes of the container's own parts in bytes.
const (
	headBytes    = 12 // magic, version, number of sections
	sectionBytes = 12 // type and length before each section
)

// mostSections bounds the sections of a file. snarkjs's largest files have 20.
const mostSections = 1 << 10

// latest is the last version of either kind of file that this package can read.
const latest = 2

// container is a file of sections. A section that is not there has offset 0.
type container struct {
	kind     string // such as "zkey"
	from     io.ReaderAt
	sections []Section // by type; those of other types are passed over
}

// refusal says what is wrong with a file.
func refusal(kind, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %w", backend.ErrInvalidInput, kind, fmt.Errorf(format, args...))
}

func (c *container) refuse(format string, args ...any) error { return refusal(c.kind, format, args...) }

// open finds the sections of a file of some size that begins with kind. types is the highest type of
// a section that the caller knows.
func open(from io.ReaderAt, size int64, kind string, types int) (*container, error) {
	c := &container{kind: kind, from: from, sections: make([]Section, types+1)}
	if size < headBytes {
		return nil, c.refuse("%d bytes are too few for a header", size)
	}
	head, err := c.read(0, headBytes)
	if err != nil {
		return nil, err
	}
	if string(head[:4]) != kind {
		return nil, c.refuse("not a %s file: it begins with %q", kind, head[:4])
	}
	if v := binary.LittleEndian.Uint32(head[4:]); v < 1 || v > latest {
		return nil, c.refuse("version %d, this program reads 1 to %d", v, latest)
	}
	count := int64(binary.LittleEndian.Uint32(head[8:]))
	if count > (size-headBytes)/sectionBytes {
		return nil, c.refuse("%d sections do not fit into %d bytes", count, size)
	}
	if count > mostSections {
		return nil, c.refuse("%d sections, %d are the most", count, mostSections)
	}
	return c, c.find(size, int(count))
}

// find sets where the sections lie.
func (c *container) find(size int64, count int) error {
	at := int64(headBytes)
	for range count {
		if size-at < sectionBytes {
			return c.refuse("a section begins at %d, the file ends at %d", at, size)
		}
		b, err := c.read(at, sectionBytes)
		if err != nil {
			return err
		}
		at += sectionBytes
		kind, length := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:])
		if length > uint64(size-at) {
			return c.refuse("section %d has %d bytes at %d, the file ends at %d", kind, length, at, size)
		}
		if kind < uint32(len(c.sections)) {
			if c.sections[kind].Offset != 0 {
				return c.refuse("section %d is there twice", kind)
			}
			c.sections[kind] = Section{at, int64(length)}
		}
		at += int64(length)
	}
	return nil
}

// need returns a section, which must be there with so many bytes.
func (c *container) need(kind int, size int64) (Section, error) {
	s := c.sections[kind]
	switch {
	case s.Offset == 0:
		return s, c.refuse("section %d is missing", kind)
	case s.Size != size:
		return s, c.refuse("section %d has %d bytes, should have %d", kind, s.Size, size)
	}
	return s, nil
}

// start returns the first n bytes of a section, which must be there and have as many.
func (c *container) start(kind, n int) ([]byte, error) {
	s := c.sections[kind]
	switch {
	case s.Offset == 0:
		return nil, c.refuse("section %d is missing", kind)
	case s.Size < int64(n):
		return nil, c.refuse("section %d has %d bytes, should have %d at least", kind, s.Size, n)
	}
	return c.read(s.Offset, n)
}

// read reads n bytes, which are few.
func (c *container) read(at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	return b, c.readTo(b, at)
}

// readTo fills b with the bytes from at on.
func (c *container) readTo(b []byte, at int64) error {
	n, err := c.from.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return c.refuse("the file ended at %d while it was read", at+int64(n))
	default:
		return fmt.Errorf("reading the %s at %d: %w", c.kind, at, err)
	}
}

// number returns a little-endian number.
func number(b []byte) int { return int(binary.LittleEndian.Uint32(b)) }
