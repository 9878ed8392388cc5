package wire

import (
	"google.golang.org/protobuf/encoding/protowire"
	wireformat "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// What a decoded request takes in memory, with what the server makes of it: bytes of
// one message or one element of a list, of one byte of packed numbers, and of one step
// and one byte of a program, which backend.DecodeSteps promises.
const (
	partBytes    = 256
	packedBytes  = 16
	stepBytes    = 1024
	programBytes = 24

	// MaxWeight is the most that Weigh returns for a program.
	MaxWeight = (1+programBytes)*MaxMessage + stepBytes*MaxSteps + partBytes*MaxParts
)

// Weigh bounds the bytes of memory that decoding b as a message of m's type takes. It
// reads the wire format and decodes nothing, so that a list of a million empty
// messages costs nobody a million messages. More than MaxParts messages and elements
// of lists, or a program of more than MaxSteps steps, are refused.
func Weigh(m wireformat.Message, b []byte) (int64, error) {
	s := scale{left: MaxParts, bytes: int64(len(b))}
	if err := s.message(m.ProtoReflect().Descriptor(), b); err != nil {
		return 0, err
	}
	return s.bytes, nil
}

// program is the field of a request with an encoded program.
var program = (*proto.RunRequest)(nil).ProtoReflect().Descriptor().Fields().ByName("program")

// scale adds up what one request takes.
type scale struct {
	left  int // parts that it may still have
	bytes int64
}

func (s *scale) part() error {
	if s.left--; s.left < 0 {
		return Refused("a request of more than %d parts", MaxParts)
	}
	s.bytes += partBytes
	return nil
}

// message weighs a message of a type. Types do not contain themselves, so the depth is
// bounded.
func (s *scale) message(d protoreflect.MessageDescriptor, b []byte) error {
	if err := s.part(); err != nil {
		return err
	}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return Refused("a request that cannot be read: %v", protowire.ParseError(n))
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return Refused("a request that cannot be read: %v", protowire.ParseError(n))
		}
		value := b[:n]
		b = b[n:]
		f := d.Fields().ByNumber(number)
		if f == nil {
			continue // it is kept as it is
		}
		if err := s.field(f, kind, value); err != nil {
			return err
		}
	}
	return nil
}

func (s *scale) field(f protoreflect.FieldDescriptor, kind protowire.Type, value []byte) error {
	if kind != protowire.BytesType {
		if f.IsList() {
			s.bytes += packedBytes * int64(len(value))
		}
		return nil
	}
	inner, _ := protowire.ConsumeBytes(value)
	switch {
	case f.Kind() == protoreflect.MessageKind:
		return s.message(f.Message(), inner)
	case f == program:
		return s.program(inner)
	case f.Kind() == protoreflect.BytesKind || f.Kind() == protoreflect.StringKind:
		if f.IsList() {
			return s.part()
		}
	default: // packed
		s.bytes += packedBytes * int64(len(inner))
	}
	return nil
}

// program weighs an encoded program.
func (s *scale) program(b []byte) error {
	steps, err := backend.CountSteps(b)
	if err != nil {
		return Refused("a program that cannot be read: %v", err)
	}
	if steps > MaxSteps {
		return Refused("%d steps in a program, more than %d", steps, MaxSteps)
	}
	s.bytes += stepBytes*int64(steps) + programBytes*int64(len(b))
	return nil
}
