package resident

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// MostLent bounds the bytes that backends lend for the solutions of all proofs at a time; one gets a
// quarter at most. Other solutions are in Go's memory, and are copied to where the backend reads them.
var MostLent int64 = 1 << 30

// LentNow is how many bytes backends lend now.
var LentNow atomic.Int64

// Loan is memory for the solution of one proof that its backend reads without a copy. What is not freed
// before is when the proof's Memory is.
type Loan[S any] struct {
	ctx          context.Context
	mem          *Memory
	engine       *engine.Engine
	curve        backend.Curve
	wires, sides func()
}

// NewLoan returns a loan of nothing so far. Scalars of the curve are elements S.
func NewLoan[S any](ctx context.Context, m *Memory, e *engine.Engine, c backend.Curve) *Loan[S] {
	nothing := func() {}
	return &Loan[S]{ctx, m, e, c, nothing, nothing}
}

// Lend returns so many zero elements for wires and for sides, or nil, as assignment.System.Lend does: if the
// backend has no such memory, or none left, or if too much would be lent.
func (l *Loan[S]) Lend(wires, sides int) (w, s []S) {
	bytes := int64((wires + sides) * l.curve.ScalarBytes())
	if bytes > MostLent/4 {
		return nil, nil
	}
	if LentNow.Add(bytes) > MostLent {
		LentNow.Add(-bytes)
		return nil, nil
	}
	l.mem.Add(func() { LentNow.Add(-bytes) })
	w, s = l.scalars(wires, &l.wires), l.scalars(sides, &l.sides)
	if w == nil && wires > 0 || s == nil && sides > 0 {
		return nil, nil
	}
	return w, s
}

// FreeWires wipes the memory for wires, and gives it back. Nothing may use it any more.
func (l *Loan[S]) FreeWires() { l.wires() }

// FreeSides does the same for the sides.
func (l *Loan[S]) FreeSides() { l.sides() }

// scalars returns n zero elements of the backend, which free wipes and gives back, or nil.
func (l *Loan[S]) scalars(n int, free *func()) []S {
	if n == 0 {
		return nil
	}
	b, err := l.engine.Alloc(l.ctx, n*l.curve.ScalarBytes())
	if err != nil || b == nil {
		return nil
	}
	*free = sync.OnceFunc(b.Free)
	l.mem.Add(*free)
	s, err := layout.View[S](b.Bytes())
	if err != nil {
		return nil
	}
	return s
}
