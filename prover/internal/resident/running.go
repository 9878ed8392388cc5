package resident

import (
	"context"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/vector"
)

// Running is a proof's programs in a session that is opened ahead. They run beside whoever waits for them,
// from when all wires have values. It belongs to one goroutine.
type Running[S comparable] struct {
	ctx      context.Context
	field    *vector.Field[S]
	engine   *engine.Engine
	elements int

	session *Ahead[S]
	cancel  context.CancelFunc
	at      context.Context // what cancel ends
	ready   chan struct{}   // closed when the programs have run; nil before they are started
	done    chan struct{}   // closed when their session is closed too

	// Until ready or done is closed these are the programs'.
	by     string
	err    error
	thrown any // by what the caller gave, such as a hash function
}

// NewRunning opens a session of so many elements for a proof, as OpenAhead does. Call End, which does nothing to nil.
func NewRunning[S comparable](ctx context.Context, f *vector.Field[S], e *engine.Engine, elements int) *Running[S] {
	r := &Running[S]{ctx: ctx, field: f, engine: e, elements: elements}
	r.open()
	return r
}

func (r *Running[S]) open() {
	r.at, r.cancel = context.WithCancel(r.ctx)
	r.session = OpenAhead(r.at, r.field, r.engine, r.elements)
	r.ready, r.done, r.thrown = nil, nil, nil
}

// Start starts the programs, which run has run, again in another session if the backend dies.
func (r *Running[S]) Start(run func(context.Context, *vector.Session[S]) error) {
	r.ready, r.done = make(chan struct{}), make(chan struct{})
	r.err = fmt.Errorf("%w: a function that the prover was given ended its goroutine", backend.ErrInvalidInput) // unless Repeat returns
	go func() {
		defer close(r.done)
		defer func() { r.thrown = recover() }()
		_, err := r.session.Repeat(r.at, func(ctx context.Context, s *vector.Session[S]) error {
			if err := run(ctx, s); err != nil {
				return err
			}
			r.by = s.Backend()
			close(r.ready) // run's last: what is left is to close the session
			return nil
		})
		r.err = err
	}()
}

// Started reports whether the programs are started.
func (r *Running[S]) Started() bool { return r.done != nil }

// Wait waits for the programs, and returns the backend on which they ran. It does not wait until their session is
// closed. It panics if run did.
func (r *Running[S]) Wait() (by string, err error) {
	select {
	case <-r.ready:
		return r.by, nil
	case <-r.done:
	}
	select {
	case <-r.ready:
		return r.by, nil
	default:
	}
	if r.thrown != nil {
		panic(r.thrown)
	}
	return "", r.err
}

// End ends the programs, and returns when nothing reads their inputs any more. When they have run it waits until their
// session is closed.
func (r *Running[S]) End() {
	if r == nil {
		return
	}
	if r.done != nil {
		select {
		case <-r.ready:
		default:
			r.cancel()
		}
		<-r.done
	}
	r.cancel()
	r.session.Close()
}

// Retract ends the programs, as End does. They can be started again.
func (r *Running[S]) Retract() {
	r.End()
	r.open()
}
