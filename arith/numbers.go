package arith

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Numbers is a batch of equally wide numbers in memory: Width words of 32 bits each,
// the lowest first, one number after the other.
type Numbers struct {
	Width int
	Words []uint32
	buf   backend.Buffer // of New, where the backend shares it
}

// Make returns count numbers of as many words as bits take, all zero, in ordinary memory.
// Like make it panics for a count below zero or more than there can be, and for no bits.
func Make(bits, count int) *Numbers {
	if possible(bits, count) != nil {
		panic(fmt.Sprintf("arith: %d numbers of %d bits", count, bits))
	}
	width := widthOf(bits)
	return &Numbers{Width: width, Words: make([]uint32, width*count)}
}

// New does what Make does, in memory that the engine's preferred backend reads without a
// copy, where there is such memory. Free gives it back.
func New(ctx context.Context, e *engine.Engine, bits, count int) (*Numbers, error) {
	if err := possible(bits, count); err != nil {
		return nil, err
	}
	n := Make(bits, 0)
	size := 4 * n.Width * count
	buf, err := e.Alloc(ctx, size)
	if err != nil {
		return nil, err
	}
	if buf == nil || size == 0 {
		if buf != nil {
			buf.Free()
		}
		return Make(bits, count), nil
	}
	words, err := layout.View[uint32](buf.Bytes()[:size])
	if err != nil {
		buf.Free()
		return nil, err
	}
	n.Words, n.buf = words, buf
	return n, nil
}

// Free wipes the numbers, whose memory must not be used any more.
func (n *Numbers) Free() {
	clear(n.Words)
	if n.buf != nil {
		n.buf.Free()
		n.buf = nil
	}
	n.Words, n.Width = nil, 0
}

// FromBig returns numbers of some bits. No value may be longer than that, nor below zero.
// big.Int hides no values: for secrets there is FromBytes.
func FromBig(bits int, values ...*big.Int) (*Numbers, error) {
	if err := possible(bits, len(values)); err != nil {
		return nil, err
	}
	n := Make(bits, len(values))
	for i, v := range values {
		if v == nil || v.Sign() < 0 || v.BitLen() > bits {
			return nil, fmt.Errorf("%w: element %d is not from 0 to below 2^%d", backend.ErrInvalidInput, i, bits)
		}
		if err := n.Set(i, v); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// FromBytes returns numbers of some bits, rounded up to words, from big-endian bytes, as
// big.Int.Bytes and crypto/rsa have them. Only zeros may be above that width.
func FromBytes(bits int, values ...[]byte) (*Numbers, error) {
	if err := possible(bits, len(values)); err != nil {
		return nil, err
	}
	n := Make(bits, len(values))
	for i, v := range values {
		if err := n.SetBytes(i, v); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Len returns how many numbers there are.
func (n *Numbers) Len() int { return len(n.Words) / max(n.Width, 1) }

// At returns the words of number i.
func (n *Numbers) At(i int) []uint32 { return n.Words[i*n.Width : (i+1)*n.Width] }

// Set sets number i to v, which is from 0 to below 2^(32 Width).
func (n *Numbers) Set(i int, v *big.Int) error {
	const per = bits.UintSize / 32
	if v == nil || v.Sign() < 0 || v.BitLen() > 32*n.Width {
		return fmt.Errorf("%w: element %d is not from 0 to below 2^%d", backend.ErrInvalidInput, i, 32*n.Width)
	}
	words := v.Bits()
	for k := range n.At(i) {
		n.At(i)[k] = 0
		if k/per < len(words) {
			n.At(i)[k] = uint32(words[k/per] >> (32 * (k % per)))
		}
	}
	return nil
}

// SetBytes sets number i to big-endian bytes, in a time that does not depend on them. Only
// zeros may be above its width.
func (n *Numbers) SetBytes(i int, b []byte) error {
	words := n.At(i)
	over := max(len(b)-4*len(words), 0)
	var above byte
	for _, v := range b[:over] {
		above |= v
	}
	if above != 0 {
		return fmt.Errorf("%w: element %d is not below 2^%d", backend.ErrInvalidInput, i, 32*n.Width)
	}
	b = b[over:]
	for k := range words {
		if len(b) >= 4 {
			words[k] = binary.BigEndian.Uint32(b[len(b)-4:])
			b = b[:len(b)-4]
			continue
		}
		words[k] = 0
		for _, v := range b {
			words[k] = words[k]<<8 | uint32(v)
		}
		b = nil
	}
	return nil
}

// Bytes returns number i as 4 Width big-endian bytes, in a time that does not depend on
// its value.
func (n *Numbers) Bytes(i int) []byte { return n.AppendBytes(make([]byte, 0, 4*n.Width), i) }

// AppendBytes appends number i to b as Bytes returns it.
func (n *Numbers) AppendBytes(b []byte, i int) []byte {
	for _, w := range slices.Backward(n.At(i)) {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

// Big returns number i.
func (n *Numbers) Big(i int) *big.Int {
	const per = bits.UintSize / 32
	words := make([]big.Word, (n.Width+per-1)/per)
	for k, w := range n.At(i) {
		words[k/per] |= big.Word(w) << (32 * (k % per))
	}
	return new(big.Int).SetBits(words)
}

// valid wants whole numbers, and some bytes of them.
func (n *Numbers) valid(what string) error {
	if n == nil {
		return fmt.Errorf("%w: %s: no numbers", backend.ErrInvalidInput, what)
	}
	if n.Width == 0 && n.Words == nil {
		return fmt.Errorf("%w: %s: the numbers were freed", backend.ErrInvalidInput, what)
	}
	if n.Width < 1 || len(n.Words)%n.Width != 0 {
		return fmt.Errorf("%w: %s: %d words are no numbers of %d", backend.ErrInvalidInput, what, len(n.Words), n.Width)
	}
	return nil
}

// overlaps reports whether the two have a word of memory together.
func (n *Numbers) overlaps(other *Numbers) bool { return layout.Overlap(n.Words, other.Words) }

// part returns the numbers from lo to before hi, in the same memory.
func (n *Numbers) part(lo, hi int) *Numbers {
	return &Numbers{Width: n.Width, Words: n.Words[lo*n.Width : hi*n.Width]}
}

// bytes returns the words from number lo to before number hi, as they are in memory,
// which is little-endian on every system that Go has a plugin or a card on.
func (n *Numbers) bytes(lo, hi int) []byte { return layout.Bytes(n.Words[lo*n.Width : hi*n.Width]) }
