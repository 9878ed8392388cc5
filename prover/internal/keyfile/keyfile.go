// Package keyfile reads the parts of gnark's key files. Points are decompressed and
// checked on an engine. What is read is not trusted: memory is taken as bytes arrive, not
// by the lengths that they claim, and errors name the place.
package keyfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
)

// Marker is how a dump begins, of gnark-crypto's utils/unsafe on a little-endian machine.
const Marker = 0xdeadbeef

// Piece is how many points are decoded together.
const Piece = 1 << 18

// Reader reads a key. After an error its functions return zeros; Err has the first one.
// It reads no byte behind the key.
type Reader struct {
	ctx   context.Context
	e     *engine.Engine
	from  io.Reader
	piece int // points
	dump  bool
	alone backend.Encoding // of single points
	err   error
}

// New returns a reader that checks points on an engine, some of piece at a time.
func New(ctx context.Context, e *engine.Engine, from io.Reader, piece int) *Reader {
	return &Reader{ctx: ctx, e: e, from: from, piece: piece}
}

// Err returns the first error. One about the key wraps backend.ErrInvalidInput.
func (r *Reader) Err() error { return r.err }

// Dump reports whether the key is a dump: slices of points are in memory layout, behind
// all else.
func (r *Reader) Dump() bool { return r.dump }

// Refuse records that the key is wrong, unless there was an error before.
func (r *Reader) Refuse(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: the key's %w", backend.ErrInvalidInput, fmt.Errorf(format, args...))
	}
}

// Bytes reads n bytes, which are few.
func (r *Reader) Bytes(what string, n int) []byte {
	b := make([]byte, n)
	if r.err != nil {
		return b
	}
	if _, err := io.ReadFull(r.from, b); err != nil {
		r.ended(err, "%s", what)
		clear(b)
	}
	return b
}

// Expect reads bytes of which all are known.
func (r *Reader) Expect(what string, want []byte) {
	if got := r.Bytes(what, len(want)); r.err == nil && !bytes.Equal(got, want) {
		r.Refuse("%s: not gnark's", what)
	}
}

// ended records that reading what is named failed.
func (r *Reader) ended(err error, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		r.Refuse("%s: %w", what, io.ErrUnexpectedEOF)
		return
	}
	if r.err == nil {
		r.err = fmt.Errorf("the key's %s: %w", what, err)
	}
}

// Uint32 reads a number, big-endian.
func (r *Reader) Uint32(what string) uint32 { return binary.BigEndian.Uint32(r.Bytes(what, 4)) }

// Uint64 reads a number, big-endian.
func (r *Reader) Uint64(what string) uint64 { return binary.BigEndian.Uint64(r.Bytes(what, 8)) }

// Start reads the marker of a dump, if there is one, and the size of the domain.
func (r *Reader) Start() (domain uint64) {
	first := r.Bytes("first bytes", 8)
	if r.err == nil && binary.LittleEndian.Uint64(first) == Marker {
		r.dump = true
		first = r.Bytes("Domain", 8)
	}
	return binary.BigEndian.Uint64(first)
}

// Form finds out from the first point, which is not infinity, whether points are
// compressed.
func (r *Reader) Form() {
	first := r.Bytes("first point", 1)
	r.alone = backend.Uncompressed
	// All of gnark-crypto's compressed points but BN254's infinity have the upper bit.
	if first[0]&0x80 != 0 {
		r.alone = backend.Compressed
	}
	if r.dump && r.alone == backend.Compressed {
		r.Refuse("first point: compressed in a dump")
	}
	r.from = io.MultiReader(bytes.NewReader(first), r.from)
}

// Bools reads n bytes of 0 or 1.
func (r *Reader) Bools(what string, n uint64) []bool {
	const piece = 1 << 20
	all := make([]bool, 0, min(n, piece))
	for at := uint64(0); at < n && r.err == nil; at += piece {
		for i, b := range r.Bytes(what, int(min(piece, n-at))) {
			if b > 1 {
				r.Refuse("%s[%d]: %d is no bool", what, at+uint64(i), b)
			}
			all = append(all, b == 1)
		}
	}
	return all
}

// Alone reads points that stand alone.
func Alone[P, S any](r *Reader, g *msm.Group[P, S], what string, n int) []P {
	all := points(r, g, what, uint64(n), r.alone)
	if len(all) != n {
		return make([]P, n) // after an error
	}
	return all
}

// Points reads the length of a slice of points, and the points. When no point was read
// before, the first of them tells the form.
func Points[P, S any](r *Reader, g *msm.Group[P, S], what string) []P {
	if r.dump {
		return points(r, g, what, binary.LittleEndian.Uint64(r.Bytes(what, 8)), backend.AsInSpaces)
	}
	n := r.Uint32(what)
	if n > 0 && r.alone == backend.AsInSpaces {
		r.Form()
	}
	return points(r, g, what, uint64(n), r.alone)
}

// points reads, decodes and checks points. The next piece is read meanwhile.
func points[P, S any](r *Reader, g *msm.Group[P, S], what string, n uint64, as backend.Encoding) []P {
	size := as.Bytes(backend.PointOf(g.Curve(), g.Group()))
	all := make([]P, 0, min(n, uint64(r.piece)))
	if r.err != nil {
		return all
	}
	var buffers [2][]byte
	type read struct {
		bytes []byte
		err   error
	}
	next := make(chan read, 1)
	start := func(at uint64) {
		b := &buffers[at/uint64(r.piece)%2]
		if *b == nil {
			*b = make([]byte, min(n-at, uint64(r.piece))*uint64(size))
		}
		to := (*b)[:min(n-at, uint64(r.piece))*uint64(size)]
		go func() {
			k, err := io.ReadFull(r.from, to)
			next <- read{to[:k], err}
		}()
	}
	if n > 0 {
		start(0)
	}
	for at := uint64(0); at < n; at = uint64(len(all)) {
		got := <-next
		if got.err != nil {
			r.ended(got.err, "%s[%d]", what, at+uint64(len(got.bytes)/size))
			return all
		}
		count := len(got.bytes) / size
		more := at+uint64(count) < n
		if more {
			start(at + uint64(count))
		}
		all = slices.Grow(all, count)[:len(all)+count]
		bad, why, err := decode(r, g, all[at:], got.bytes, as)
		if err != nil || bad >= 0 {
			if more {
				<-next // nothing reads when this returns
			}
			if err == nil {
				r.Refuse("%s[%d]: %s", what, at+uint64(bad), why)
			}
			if r.err == nil {
				r.err = fmt.Errorf("the key's %s: %w", what, err)
			}
			return all
		}
	}
	return all
}

// decode sets dst to the points that b encodes. It returns the index of the first that is
// not valid and what is wrong with it, and -1 when all are.
func decode[P, S any](r *Reader, g *msm.Group[P, S], dst []P, b []byte, as backend.Encoding) (bad int, why string, err error) {
	element := backend.PointOf(g.Curve(), g.Group())
	run := func(n int, steps func(all backend.Range) []backend.Step, took func([][]byte) error) error {
		space := engine.Space{Elements: backend.Elements{Element: element, Count: n}}
		_, err := r.e.Repeat(r.ctx, space, func(ctx context.Context, s *engine.Session) error {
			all := backend.Range{Space: s.Space(), Count: n}
			write := backend.Write{Dst: all, Input: backend.Input{Bytes: b[:n*as.Bytes(element)]}, Encoding: as}
			out, err := s.Run(ctx, append([]backend.Step{write}, steps(all)...))
			if err != nil {
				return err
			}
			return took(out)
		})
		return err
	}
	reasons := []string{"not on the curve", "not in the subgroup of order r"}
	bad = -1
	err = run(len(dst), func(all backend.Range) []backend.Step {
		return []backend.Step{backend.CheckPoints{Src: all}, backend.CheckPoints{Src: all, Subgroup: true}, backend.Read{Src: all}}
	}, func(out [][]byte) error {
		out = out[len(out)-3:]
		bad = -1
		for i, reason := range reasons {
			count, first, err := backend.CheckedPoints(out[i])
			if err != nil {
				return err
			}
			if count > 0 {
				bad, why = first, reason
				return nil
			}
		}
		copy(layout.Bytes(dst), out[2])
		return nil
	})
	if !errors.Is(err, backend.ErrInvalidInput) {
		return bad, why, err
	}
	// The error has the index in words only, and they are the backend's.
	bad = sort.Search(len(dst), func(i int) bool {
		return run(i+1, func(backend.Range) []backend.Step { return nil }, func([][]byte) error { return nil }) != nil
	})
	if cause := r.ctx.Err(); cause != nil || bad == len(dst) {
		return -1, "", errors.Join(err, cause)
	}
	return bad, "no encoding of a point on " + g.String(), nil
}
