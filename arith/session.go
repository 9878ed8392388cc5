package arith

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
)

// Session has batches in one opened backend, for programs over them. It is lost with
// that backend: then Run fails with backend.ErrGone. Safe for concurrent use, but what
// programs at the same time write and others use is undefined.
type Session struct {
	core *engine.Session

	mu      sync.Mutex
	batches map[*Batch]struct{}
}

// Batch is numbers in a session's memory.
type Batch struct {
	s     *Session
	core  *engine.Session // its own memory
	batch backend.Batch
}

// Open opens a session on the engine's first backend that is ready and has the
// operations. Close it.
func Open(ctx context.Context, e *engine.Engine, ops ...backend.NumberOp) (*Session, error) {
	core, err := e.OpenSession(ctx, engine.Space{Curve: backend.Words, Numbers: ops})
	if err != nil {
		return nil, err
	}
	return newSession(core), nil
}

// Repeat calls run with a session, which is closed afterwards, and again with another
// one when a program failed because of the session's backend. run begins from its
// inputs each time; its other errors are Repeat's own. by is the last backend.
func Repeat(ctx context.Context, e *engine.Engine, ops []backend.NumberOp, run func(context.Context, *Session) error) (by string, err error) {
	return e.Repeat(ctx, engine.Space{Curve: backend.Words, Numbers: ops}, func(ctx context.Context, core *engine.Session) error {
		s := newSession(core)
		err := run(ctx, s)
		return errors.Join(err, s.freeAll())
	})
}

func newSession(core *engine.Session) *Session {
	return &Session{core: core, batches: map[*Batch]struct{}{}}
}

// Backend is the name of the session's backend.
func (s *Session) Backend() string { return s.core.Backend() }

// Err is why the session takes no more programs, nil while it does.
func (s *Session) Err() error { return s.core.Err() }

// Close wipes the memory of all batches and gives it back. Closing twice is no error.
func (s *Session) Close() error { return errors.Join(s.freeAll(), s.core.Close()) }

func (s *Session) freeAll() (err error) {
	s.mu.Lock()
	all := s.batches
	s.batches = map[*Batch]struct{}{}
	s.mu.Unlock()
	for b := range all {
		err = errors.Join(err, b.core.Close())
	}
	return err
}

// New is count numbers of as many words as bits take, all zero, until Free or the end
// of the session.
func (s *Session) New(ctx context.Context, bits, count int) (*Batch, error) {
	width := (max(bits, 1) + 31) / 32
	if count < 0 || count > (1<<62)/width {
		return nil, fmt.Errorf("%w: a batch of %d numbers", backend.ErrInvalidInput, count)
	}
	core, err := s.core.Beside(ctx, width*count)
	if err != nil {
		return nil, err
	}
	b := &Batch{s: s, core: core, batch: backend.Batch{Space: core.Space(), Words: width, Count: count}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches[b] = struct{}{}
	return b, nil
}

// Free wipes the batch and gives its memory back.
func (b *Batch) Free() error {
	b.s.mu.Lock()
	delete(b.s.batches, b)
	b.s.mu.Unlock()
	return b.core.Close()
}

// Len is how many numbers there are, and Width how many words each has.
func (b *Batch) Len() int   { return b.batch.Count }
func (b *Batch) Width() int { return b.batch.Words }

// Program is steps over the batches of a session, which Run sends as one request.
type Program struct {
	s     *Session
	steps []backend.Step
	reads []*read
	err   error
}

// read is numbers that a step answers.
type read struct {
	step int
	to   *Numbers
}

// Program starts an empty program.
func (s *Session) Program() *Program { return &Program{s: s} }

// Write copies numbers to dst, of the same width and length. They must not change
// until Run returns; those of New are read where they are.
func (p *Program) Write(dst *Batch, n *Numbers) { p.WriteWhen(dst, n, nil) }

// WriteWhen is Write of numbers that are still being made: ready returns when the
// first n words are there.
func (p *Program) WriteWhen(dst *Batch, n *Numbers, ready func(ctx context.Context, words int) error) {
	if err := n.valid("a write"); err != nil {
		p.err = errors.Join(p.err, err)
		return
	}
	if n.Width != dst.Width() || n.Len() != dst.Len() {
		p.err = errors.Join(p.err, fmt.Errorf("%w: %d numbers of %d words for a batch of %d of %d", backend.ErrInvalidInput,
			n.Len(), n.Width, dst.Len(), dst.Width()))
		return
	}
	p.steps = append(p.steps, backend.Write{Dst: dst.batch.Range(), Bytes: n.bytes(0, n.Len()), Ready: ready})
}

// Read has Run set the numbers that it returns to those of src.
func (p *Program) Read(src *Batch) *Numbers {
	r := &read{step: len(p.steps), to: Make(32*src.Width(), src.Len())}
	p.steps, p.reads = append(p.steps, backend.Read{Src: src.batch.Range()}), append(p.reads, r)
	return r.to
}

// Operands of a step; those that an operation does not take are nil.
type Operands struct {
	A, B, M, Carry *Batch
	Degree         int
}

// Do adds an operation; backend.NumberOp says what each does and takes.
func (p *Program) Do(op backend.NumberOp, dst *Batch, o Operands) {
	of := func(b *Batch) backend.Batch {
		if b == nil {
			return backend.Batch{}
		}
		return b.batch
	}
	p.steps = append(p.steps, backend.Compute{
		Op: op, Dst: of(dst), A: of(o.A), B: of(o.B), M: of(o.M), Carry: of(o.Carry), Degree: o.Degree,
	})
}

// Run runs the steps and leaves the program empty. An error names the first step that
// is wrong or fails; what the steps were to write is undefined then.
func (p *Program) Run(ctx context.Context) error {
	steps, reads, err := p.steps, p.reads, p.err
	p.steps, p.reads, p.err = nil, nil, nil
	if err != nil || len(steps) == 0 {
		return err
	}
	answers, err := p.s.core.Run(ctx, steps)
	if err != nil {
		return err
	}
	for _, r := range reads {
		copy(r.to.bytes(0, r.to.Len()), answers[r.step])
		clear(answers[r.step])
	}
	return nil
}
