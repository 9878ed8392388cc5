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
	ctx    context.Context
	mem    *Memory
	engine *engine.Engine
	curve  backend.Curve
	free   func()
}

// NewLoan returns a loan of nothing so far. Scalars of the curve are elements S.
func NewLoan[S any](ctx context.Context, m *Memory, e *engine.Engine, c backend.Curve) *Loan[S] {
	return &Loan[S]{ctx, m, e, c, func() {}}
}

// Lend returns so many zero elements for wires, or nil, as assignment.System.Lend does: if the backend has no such
// memory, or none left, or if too much would be lent.
func (l *Loan[S]) Lend(wires int) []S {
	bytes := int64(wires * l.curve.ScalarBytes())
	if bytes > MostLent/4 {
		return nil
	}
	if LentNow.Add(bytes) > MostLent {
		LentNow.Add(-bytes)
		return nil
	}
	l.mem.Add(func() { LentNow.Add(-bytes) })
	b, err := l.engine.Alloc(l.ctx, int(bytes))
	if err != nil || b == nil {
		return nil
	}
	l.free = sync.OnceFunc(b.Free)
	l.mem.Add(l.free)
	s, err := layout.View[S](b.Bytes())
	if err != nil {
		return nil
	}
	return s
}

// Free wipes what was lent, and gives it back. Nothing may use it any more.
func (l *Loan[S]) Free() { l.free() }
