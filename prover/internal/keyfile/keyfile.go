// Package keyfile reads the parts of gnark's key files. Points are decompressed and
// checked on an engine, some pieces of them at a time. What is read is not trusted: memory
// is taken as bytes arrive, not by the lengths that they claim, and errors name the place.
package keyfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sort"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/keyparts"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
)

// PieceBytes is the size in memory of the points that are decoded together.
const PieceBytes = 16 << 20

// InFlight is how many pieces are decoded at a time at most. Each takes up to three times
// PieceBytes in this process, its encoding and copies of its points on the way to the key,
// and PieceBytes where the engine computes.
const InFlight = 8

// ahead bounds the memory of points: at most so many times what has arrived.
const ahead = 8

// Reader reads a key. After an error its functions return zeros. One goroutine uses it,
// until End. It reads no byte behind the key.
type Reader struct {
	ctx   context.Context
	e     *engine.Engine
	from  io.Reader
	watch *keyparts.Watch
	piece int // bytes of points
	dump  bool
	alone backend.Encoding // of single points

	place   int            // how many pieces have been read
	buffers chan *buffer   // for encodings, one for each piece that may be in flight
	pieces  sync.WaitGroup // in flight

	mu     sync.Mutex
	err    error
	failed int // the place of err: the first in the file counts
}

// buffer has the encoding of a piece.
type buffer struct {
	bytes []byte
	free  func()
}

// New returns a reader that checks points on an engine, some of so many bytes in memory at
// a time. It tells a keyparts.Watch of the context. Call End.
func New(ctx context.Context, e *engine.Engine, from io.Reader, piece int) *Reader {
	r := &Reader{ctx: ctx, e: e, from: from, watch: keyparts.From(ctx), piece: piece}
	n := min(InFlight, runtime.GOMAXPROCS(0)+1)
	r.buffers = make(chan *buffer, n)
	for range n {
		r.buffers <- new(buffer)
	}
	return r
}

// End waits for the pieces that are being decoded, and returns the first error in the
// file's order. What was read is valid when there is none. That of an outline is
// keyparts.ErrOutline at least. Ending twice is no error.
func (r *Reader) End() error {
	r.pieces.Wait()
	for range cap(r.buffers) {
		b := <-r.buffers
		if b.free != nil {
			b.free()
		}
		r.buffers <- new(buffer)
	}
	if err := r.Err(); err != nil || !r.watch.Outline {
		return err
	}
	return keyparts.ErrOutline
}

// Err returns the first error so far. One about the key wraps backend.ErrInvalidInput.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// fail records an error at a place, unless there was one before it in the file.
func (r *Reader) fail(place int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil || place < r.failed {
		r.err, r.failed = err, place
	}
}

// Dump reports whether the key is a dump: slices of points are in memory layout, behind
// all else.
func (r *Reader) Dump() bool { return r.dump }

// Outline reports whether points are left out.
func (r *Reader) Outline() bool { return r.watch.Outline }

// Refuse records that the key is wrong, unless there was an error before.
func (r *Reader) Refuse(format string, args ...any) { r.fail(r.place, refusal(format, args...)) }

// refusal says what is wrong with a key.
func refusal(format string, args ...any) error {
	return fmt.Errorf("%w: the key's %w", backend.ErrInvalidInput, fmt.Errorf(format, args...))
}

// Bytes reads n bytes, which are few.
func (r *Reader) Bytes(what string, n int) []byte {
	b := make([]byte, n)
	if r.Err() != nil {
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
	if got := r.Bytes(what, len(want)); r.Err() == nil && !bytes.Equal(got, want) {
		r.Refuse("%s: not gnark's", what)
	}
}

// Follows reads bytes that follow from points, which an outline does not have.
func (r *Reader) Follows(what string, want []byte) {
	if r.watch.Outline {
		r.Bytes(what, len(want))
		return
	}
	r.Expect(what, want)
}

// ended records that reading what is named failed.
func (r *Reader) ended(err error, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		r.Refuse("%s: %w", what, io.ErrUnexpectedEOF)
		return
	}
	r.fail(r.place, fmt.Errorf("the key's %s: %w", what, err))
}

// Uint32 reads a number, big-endian.
func (r *Reader) Uint32(what string) uint32 { return binary.BigEndian.Uint32(r.Bytes(what, 4)) }

// Uint64 reads a number, big-endian.
func (r *Reader) Uint64(what string) uint64 { return binary.BigEndian.Uint64(r.Bytes(what, 8)) }

// Start reads the marker of a dump, if there is one, and the size of the domain.
func (r *Reader) Start() (domain uint64) {
	first := r.Bytes("first bytes", 8)
	if r.Err() == nil && binary.LittleEndian.Uint64(first) == keyparts.Marker {
		r.dump = true
		first = r.Bytes("Domain", 8)
	}
	return binary.BigEndian.Uint64(first)
}

// Marker reads the marker of a dump.
func (r *Reader) Marker() {
	if first := r.Bytes("marker", 8); r.Err() == nil && binary.LittleEndian.Uint64(first) != keyparts.Marker {
		r.Refuse("marker: not that of a dump from a little-endian machine")
	}
	r.dump = true
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

// AnyForm has the form of the points that follow found out by the next Points: it may be another than
// that of the points before.
func (r *Reader) AnyForm() { r.alone = backend.AsInSpaces }

// Bools reads n bytes of 0 or 1.
func (r *Reader) Bools(what string, n uint64) []bool {
	const piece = 1 << 20
	all := make([]bool, 0, min(n, piece))
	for at := uint64(0); at < n && r.Err() == nil; at += piece {
		for i, b := range r.Bytes(what, int(min(piece, n-at))) {
			if b > 1 {
				r.Refuse("%s[%d]: %d is no bool", what, at+uint64(i), b)
			}
			all = append(all, b == 1)
		}
	}
	return all
}

// Alone reads points that stand alone, and waits for them.
func Alone[P, S any](r *Reader, g *msm.Group[P, S], what string, n int) []P {
	all, wait := points(r, g, what, uint64(n), r.alone)
	wait()
	if r.Err() != nil {
		return make([]P, n)
	}
	return all
}

// Points reads the length of a slice of points, and the points. When no point was read
// before, the first of them tells the form. The points are there after End.
func Points[P, S any](r *Reader, g *msm.Group[P, S], what string) []P {
	var all []P
	if r.dump {
		all, _ = points(r, g, what, binary.LittleEndian.Uint64(r.Bytes(what, 8)), backend.AsInSpaces)
		return all
	}
	n := r.Uint32(what)
	if n > 0 && r.alone == backend.AsInSpaces {
		r.Form()
	}
	all, _ = points(r, g, what, uint64(n), r.alone)
	return all
}

// Some reads n points without their number in front. They are there after End, and fewer
// after an error.
func Some[P, S any](r *Reader, g *msm.Group[P, S], what string, n uint64) []P {
	all, _ := points(r, g, what, n, r.alone)
	return all
}

// points reads points, and has them decoded and checked, until wait. After an error they are
// fewer than n.
func points[P, S any](r *Reader, g *msm.Group[P, S], what string, n uint64, as backend.Encoding) (all []P, wait func()) {
	element := backend.PointOf(g.Curve(), g.Group())
	size, piece := as.Bytes(element), uint64(max(r.piece/element.Bytes(), 1))
	all = []P{}
	if n > math.MaxInt64/uint64(size) {
		r.Refuse("%s: %d points", what, n)
	}
	defer func() {
		if r.watch.Part != nil && r.Err() == nil {
			r.watch.Part(keyparts.Part{Name: what, Element: element, Encoding: as, Points: len(all), Bytes: int64(len(all) * size)})
		}
	}()
	if r.watch.Outline {
		return outline[P](r, what, n, size), func() {}
	}
	var own sync.WaitGroup // the pieces of these points
	for at := uint64(0); at < n && r.Err() == nil; at = uint64(len(all)) {
		count := int(min(n-at, piece))
		b := r.read(count*size, func(k int) string { return fmt.Sprintf("%s[%d]", what, at+uint64(k/size)) })
		if b == nil {
			break
		}
		if int(at)+count > cap(all) {
			own.Wait() // the pieces move
			grown := make([]P, at, min(n, ahead*(at+uint64(count))))
			copy(grown, all)
			all = grown
		}
		all = all[:int(at)+count]
		place, dst := r.place, all[at:]
		r.place++
		own.Add(1)
		r.pieces.Go(func() {
			defer own.Done()
			defer func() { r.buffers <- b }()
			bad, why, err := decode(r, g, dst, b.bytes[:count*size], as)
			switch {
			case err != nil:
				r.fail(place, fmt.Errorf("the key's %s: %w", what, err))
			case bad >= 0:
				r.fail(place, refusal("%s[%d]: %s", what, at+uint64(bad), why))
			}
		})
	}
	return all, own.Wait
}

// outline reads over points of a size. What it returns is not them.
func outline[P any](r *Reader, what string, n uint64, size int) []P {
	if r.Err() != nil {
		return nil
	}
	k, err := io.CopyN(io.Discard, r.from, int64(n)*int64(size))
	if err != nil {
		r.ended(err, "%s[%d]", what, k/int64(size))
		return nil
	}
	return make([]P, n) // all of it unused
}

// read reads n bytes into a buffer, which the caller gives back; nil after an error, where
// place names what the byte k is of.
func (r *Reader) read(n int, place func(k int) string) *buffer {
	b := <-r.buffers
	if len(b.bytes) < n {
		if b.free != nil {
			b.free()
		}
		*b = r.buffer(n)
	}
	if k, err := io.ReadFull(r.from, b.bytes[:n]); err != nil {
		r.ended(err, "%s", place(k))
		r.buffers <- b
		return nil
	}
	return b
}

// buffer takes memory of n bytes, where the engine reads it if it has such memory.
func (r *Reader) buffer(n int) buffer {
	const small = 64 << 10 // is copied sooner
	if n < small {
		return buffer{bytes: make([]byte, n)}
	}
	if shared, err := r.e.Alloc(r.ctx, n); err == nil && shared != nil {
		return buffer{shared.Bytes(), shared.Free}
	}
	return buffer{bytes: make([]byte, n)}
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
