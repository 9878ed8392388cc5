package backend

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
)

// MaxCount bounds the bases of one id and the scalars of one job: 2^28.
const MaxCount = 1 << 28

// Bases describes points to load: Count points of Curve.PointBytes(Group) bytes each. Exactly one
// of Bytes, File and Pieces is set and gives the points.
type Bases struct {
	Curve Curve
	Group Group
	Count int

	// Bytes is the points in memory, aligned to 8 bytes.
	Bytes []byte
	// File holds the points from FileOffset on. A backend reads it with ReadAt, or maps it, and
	// does not close it.
	File       *os.File
	FileOffset int64
	// Pieces yields the bytes of the points in order, cut anywhere. A piece is valid until the next
	// one is asked for. An error ends the load and becomes its error.
	Pieces iter.Seq2[[]byte, error]

	// Memo remembers the digest of the points. With nil it is computed whenever it is asked for.
	Memo *Memo

	Hints Hints
}

// Hints say how bases will be used. The zero value lets the backend choose.
type Hints struct {
	// Check refuses bases with a coordinate not below q or off the curve.
	Check bool
	// Multiples is how many precomputed multiples the backend may hold for each base, itself
	// included. 1 forbids them. More are made before LoadBases returns, as far as they pay and
	// there is memory. With 0 the backend chooses, and may make them later, beside calls.
	Multiples int
	// Uniform says that the scalars of most MSMs look random, as those of a quotient or an opening
	// do, and that the bases are in the subgroup of order r: the backend may then choose what is
	// slower for small scalars. Answers are the same.
	Uniform bool
}

// Elements returns the kind and the number of the points.
func (b *Bases) Elements() Elements { return Elements{PointOf(b.Curve, b.Group), b.Count} }

// Size returns the length of the points in bytes.
func (b *Bases) Size() int64 { return int64(b.Count) * int64(b.Curve.PointBytes(b.Group)) }

// Validate checks everything that can be checked without reading the points.
func (b *Bases) Validate() error {
	if !b.Curve.Valid() || !b.Group.Valid() {
		return fmt.Errorf("%w: bases of %v %v", ErrInvalidInput, b.Curve, b.Group)
	}
	if b.Count < 0 || b.Count > MaxCount {
		return fmt.Errorf("%w: %d bases (0 to %d are possible)", ErrInvalidInput, b.Count, MaxCount)
	}
	if b.Hints.Multiples < 0 {
		return fmt.Errorf("%w: %d multiples per base", ErrInvalidInput, b.Hints.Multiples)
	}
	switch {
	case b.File != nil && b.Bytes == nil && b.Pieces == nil:
		st, err := b.File.Stat()
		if err != nil {
			return fmt.Errorf("%w: bases file: %w", ErrInvalidInput, err)
		}
		if b.FileOffset < 0 || st.Size()-b.FileOffset < b.Size() {
			return fmt.Errorf("%w: file %s has %d bytes, %d bases from offset %d need %d more", ErrInvalidInput,
				b.File.Name(), st.Size(), b.Count, b.FileOffset, b.Size())
		}
	case b.File == nil && b.Pieces == nil:
		if int64(len(b.Bytes)) != b.Size() {
			return fmt.Errorf("%w: %d bytes for %d bases of %v %v, want %d", ErrInvalidInput,
				len(b.Bytes), b.Count, b.Curve, b.Group, b.Size())
		}
	case b.File == nil && b.Bytes == nil:
	default:
		return fmt.Errorf("%w: bases from more than one source", ErrInvalidInput)
	}
	return nil
}

// pieceSize bounds what All reads from a file at a time: 4 MiB.
const pieceSize = 4 << 20

// All yields the bytes of the source that is set, in order: exactly Size bytes, or an error.
func (b *Bases) All() iter.Seq2[[]byte, error] {
	switch {
	case b.Pieces != nil:
		return b.counted
	case b.File != nil:
		return b.fromFile
	}
	return func(yield func([]byte, error) bool) {
		if len(b.Bytes) > 0 {
			yield(b.Bytes, nil)
		}
	}
}

// Read copies the points of the source that is set to dst, which has Size bytes. It looks at ctx
// between pieces.
func (b *Bases) Read(ctx context.Context, dst []byte) error {
	at := 0
	for p, err := range b.All() {
		if err != nil {
			return err
		}
		if err := Ended(ctx); err != nil {
			return err
		}
		at += copy(dst[at:], p)
	}
	return nil
}

func (b *Bases) counted(yield func([]byte, error) bool) {
	left := b.Size()
	for p, err := range b.Pieces {
		if err == nil && int64(len(p)) > left {
			err = fmt.Errorf("%w: more than the %d bytes of %d bases", ErrInvalidInput, b.Size(), b.Count)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		left -= int64(len(p))
		if !yield(p, nil) {
			return
		}
	}
	if left > 0 {
		yield(nil, fmt.Errorf("%w: bases end %d bytes early", ErrInvalidInput, left))
	}
}

func (b *Bases) fromFile(yield func([]byte, error) bool) {
	buf := make([]byte, min(pieceSize, b.Size()))
	for at, size := int64(0), b.Size(); at < size; {
		p := buf[:min(int64(len(buf)), size-at)]
		if _, err := io.ReadFull(io.NewSectionReader(b.File, b.FileOffset+at, int64(len(p))), p); err != nil {
			yield(nil, fmt.Errorf("%w: reading bases: %w", ErrInvalidInput, err))
			return
		}
		if at += int64(len(p)); !yield(p, nil) {
			return
		}
	}
}
