package vector

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/extent"
)

// Vector is a vector in a session's memory, or part of one. It is a name: copies
// of it are the same vector. The zero value is no vector; what is wrong with one
// shows in Err, and in Run of the programs that use it.
type Vector[E comparable] struct {
	s             *Session[E]
	id            uint64 // of the vector that New returned
	offset, count int
	err           error
}

// Len returns the number of elements.
func (v Vector[E]) Len() int { return v.count }

// Err returns why it is no vector, nil if it is one.
func (v Vector[E]) Err() error {
	switch {
	case v.err != nil:
		return v.err
	case v.s == nil:
		return errNone
	case !v.s.room.Has(v.id):
		return fmt.Errorf("%w: the vector of %d elements was freed", backend.ErrInvalidInput, v.count)
	}
	return nil
}

var errNone = fmt.Errorf("%w: a vector that was not made by Session.New", backend.ErrInvalidInput)

// Slice returns elements i up to but not including j of v, as Go's slices do.
func (v Vector[E]) Slice(i, j int) Vector[E] {
	if v.err == nil && (i < 0 || j < i || j > v.count) {
		v.err = fmt.Errorf("%w: [%d:%d] of a vector of %d elements", backend.ErrInvalidInput, i, j, v.count)
	}
	if v.err == nil {
		v.offset, v.count = v.offset+i, j-i
	}
	return v
}

// Free gives the memory of a vector of New back to its session, for other vectors;
// it is wiped with the session only. Programs must not use v, nor parts of it, any
// more. Freeing a part, or twice, does nothing.
func (v Vector[E]) Free() {
	if v.s != nil && v.err == nil {
		v.s.room.Give(v.id, extent.Part{Offset: v.offset, Count: v.count})
	}
}

// overlaps reports whether two vectors have an element together.
func (v Vector[E]) overlaps(other Vector[E]) bool {
	return v.s == other.s && max(v.offset, other.offset) < min(v.offset+v.count, other.offset+other.count)
}

func (v Vector[E]) span() backend.Range {
	return backend.Range{Space: v.s.core.Space(), Offset: v.offset, Count: v.count}
}

// View is an order in which Map takes or puts the elements of a vector of n
// elements: element i is v[stride*i + rotate mod n], and with bits reversed
// v[the reverse of that]. A view has no end: it is the vector again and again.
type View[E comparable] struct {
	v              Vector[E]
	stride, rotate int
	order          backend.Order
}

// View returns the elements of v as they are.
func (v Vector[E]) View() View[E] { return View[E]{v: v, stride: 1} }

// Every returns each stride-th element of v; with 0 its first, always.
func (v Vector[E]) Every(stride int) View[E] { return v.View().Every(stride) }

// Rotate returns v from element k on; k may be negative.
func (v Vector[E]) Rotate(k int) View[E] { return v.View().Rotate(k) }

// Reversed returns v, of a power of two elements, with the bits of indices reversed.
func (v Vector[E]) Reversed() View[E] { return v.View().Reversed() }

// Expr returns the elements of v as an expression.
func (v Vector[E]) Expr() Expr[E] { return v.View().Expr() }

// Every returns each stride-th element of w, counted from its first.
func (w View[E]) Every(stride int) View[E] {
	w.stride = w.wrap(w.wrap(w.stride) * w.wrap(stride))
	return w
}

// Rotate returns w from element k on: its k-th is the first.
func (w View[E]) Rotate(k int) View[E] {
	w.rotate = w.wrap(w.rotate + w.wrap(w.wrap(k)*w.wrap(w.stride)))
	return w
}

// wrap returns a place modulo the length of the vector.
func (w View[E]) wrap(place int) int {
	if w.v.count == 0 {
		return 0
	}
	return place % w.v.count
}

// Reversed returns w with the bits of places reversed; twice, it is w.
func (w View[E]) Reversed() View[E] {
	if w.order == backend.Natural {
		w.order = backend.Reversed
	} else {
		w.order = backend.Natural
	}
	return w
}

// Expr returns the elements of w as an expression.
func (w View[E]) Expr() Expr[E] { return Expr[E]{&node[E]{op: backend.MapLoad, view: w}} }

func (w View[E]) operand() backend.Operand {
	return backend.Operand{Range: w.v.span(), Stride: w.stride, Rotate: w.rotate, Order: w.order}
}

// Indices is a table for Program.Gather in a session's memory.
type Indices[E comparable] struct {
	v     Vector[E]
	count int
}

// NewIndices returns a table of n indices, which takes as much memory as a vector of
// IndexElements(n).
func (s *Session[E]) NewIndices(n int) Indices[E] {
	if n < 0 {
		return Indices[E]{v: s.New(n)}
	}
	return Indices[E]{v: s.New(s.f.IndexElements(n)), count: n}
}

// IndexElements returns how many elements' memory n indices take.
func (f *Field[E]) IndexElements(n int) int { return backend.IndexElements(f.curve, n) }

// Len returns the number of indices.
func (x Indices[E]) Len() int { return x.count }

// Free gives the memory back, as Vector.Free does.
func (x Indices[E]) Free() { x.v.Free() }
