package arith

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/extent"
)

// Session is memory for batches in one opened backend, and programs over them. It is
// lost with that backend: then Run fails with backend.ErrGone. Safe for concurrent use,
// but what programs at the same time write and others use is undefined.
type Session struct {
	core *engine.Session
	room *extent.Room // words
}

// Batch is a number of numbers of one width in a session's memory, on which a Program
// computes side by side.
type Batch struct {
	s     *Session
	id    uint64 // in the session's room
	batch backend.Batch
}

// Words returns how many words of a session's memory a batch of count numbers takes, of
// as many bits each. Batches take whole 16 bytes, which a card reads at a time. For numbers
// that cannot be, of no bits or more than there is memory, it returns math.MaxInt.
func Words(bits, count int) int {
	if possible(bits, count) != nil {
		return math.MaxInt
	}
	return roomFor(widthOf(bits) * count)
}

// roomFor returns what a batch of so many words takes.
func roomFor(words int) int { return (words + 3) &^ 3 }

// widthOf returns how many words bits take, of which there is at least one.
func widthOf(bits int) int { return (bits-1)/32 + 1 }

// possible returns an error for numbers of no bits, and for more than there can be.
func possible(bits, count int) error {
	if bits < 1 || count < 0 || count > math.MaxInt/4/widthOf(bits) {
		return invalid("%d numbers of %d bits", count, bits)
	}
	return nil
}

// Open opens a session on the engine's first backend that is ready, has all operations
// and the room. words is the memory for all batches that there are at a time. Close the
// session.
func Open(ctx context.Context, e *engine.Engine, words int) (*Session, error) {
	core, err := e.OpenSession(ctx, space(words, backend.NumberOps()))
	if err != nil {
		return nil, err
	}
	return newSession(core), nil
}

// Repeat calls run with a session, and again with another one when the session's backend
// failed: [engine.Engine.Repeat] says when, and what its errors are. run begins from its
// inputs each time. by is the backend of the last session.
func Repeat(ctx context.Context, e *engine.Engine, words int, run func(context.Context, *Session) error) (by string, err error) {
	return repeatWith(ctx, e, words, backend.NumberOps(), run)
}

// repeatWith does what Repeat does, on a backend that has these operations.
func repeatWith(ctx context.Context, e *engine.Engine, words int, ops []backend.NumberOp,
	run func(context.Context, *Session) error) (by string, err error) {
	return e.Repeat(ctx, space(words, ops), func(ctx context.Context, core *engine.Session) error {
		return run(ctx, newSession(core))
	})
}

func space(words int, ops []backend.NumberOp) engine.Space {
	return engine.Space{Elements: backend.Elements{Element: backend.Word(), Count: words}, Numbers: ops}
}

func newSession(core *engine.Session) *Session {
	return &Session{core: core, room: extent.New(core.Len())}
}

// Backend returns the name of the session's backend.
func (s *Session) Backend() string { return s.core.Backend() }

// Err returns why the session takes no more programs, nil while it does.
func (s *Session) Err() error { return s.core.Err() }

// Close wipes the memory of all batches and gives it back. Closing twice is no error.
func (s *Session) Close() error { return s.core.Close() }

// New returns a batch of count numbers of as many words as bits take, until Free or the
// end of the session. They are zero when the memory was never used, else what it held.
// Without so many words in a row the error wraps backend.ErrOutOfMemory.
func (s *Session) New(bits, count int) (*Batch, error) {
	if err := possible(bits, count); err != nil {
		return nil, fmt.Errorf("a batch: %w", err)
	}
	if err := s.core.Err(); errors.Is(err, backend.ErrClosed) { // of a lost session Run tells, for Repeat
		return nil, fmt.Errorf("a batch: %w", err)
	}
	width := widthOf(bits)
	id, part, err := s.room.Take(roomFor(width * count))
	if err != nil {
		return nil, fmt.Errorf("a batch: %w", err)
	}
	return &Batch{s, id, backend.Batch{Space: s.core.Space(), Offset: part.Offset, Words: width, Count: count}}, nil
}

// Free gives the memory of a batch back to its session, for other batches; it is wiped
// with the session only. Programs must not use the batch any more. Freeing twice does
// nothing.
func (b *Batch) Free() {
	r := b.batch.Range()
	b.s.room.Give(b.id, extent.Part{Offset: r.Offset, Count: roomFor(r.Count)})
}

// first returns the first n numbers of the batch.
func (b *Batch) first(n int) *Batch {
	part := *b
	part.batch.Count = n
	return &part
}

// Len returns how many numbers there are.
func (b *Batch) Len() int { return b.batch.Count }

// Width returns how many words of 32 bits each number has.
func (b *Batch) Width() int { return b.batch.Words }

// Program is steps over the batches of a session, which Run sends as one request.
type Program struct {
	s     *Session
	steps []backend.Step
	reads []*read
	err   error

	// What must not be freed before Run.
	batches []*Batch
	numbers []*Numbers

	public bool
}

// fail has Run return an error.
func (p *Program) fail(err error) { p.err = errors.Join(p.err, err) }

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

// WriteWhen writes numbers that are still being made, as Write does: ready returns when
// the first n words are there.
func (p *Program) WriteWhen(dst *Batch, n *Numbers, ready func(ctx context.Context, words int) error) {
	if err := n.valid("a write"); err != nil {
		p.fail(err)
		return
	}
	if !p.ok(dst) {
		return
	}
	if n.Width != dst.Width() || n.Len() != dst.Len() {
		p.fail(invalid("%d numbers of %d words for a batch of %d of %d", n.Len(), n.Width, dst.Len(), dst.Width()))
		return
	}
	p.numbers = append(p.numbers, n)
	p.steps = append(p.steps, backend.Write{Dst: dst.batch.Range(), Input: backend.Input{Bytes: n.bytes(0, n.Len()), Ready: ready}})
}

// Read returns numbers that Run sets to those of src.
func (p *Program) Read(src *Batch) *Numbers {
	if !p.ok(src) {
		return Make(1, 0)
	}
	to := Make(32*src.Width(), src.Len())
	p.readTo(to, src)
	return to
}

// readTo does what Read does, to numbers of the same width and length.
func (p *Program) readTo(to *Numbers, src *Batch) {
	p.reads = append(p.reads, &read{step: len(p.steps), to: to})
	p.numbers = append(p.numbers, to)
	p.steps = append(p.steps, backend.Read{Src: src.batch.Range()})
}

// ok notes an error unless a batch is there for programs of the session, and that it is used.
func (p *Program) ok(b *Batch) bool {
	var err error
	switch {
	case b == nil:
		err = invalid("no batch")
	case b.s != p.s:
		err = invalid("a batch of another session")
	default:
		err = b.freed()
	}
	if err != nil {
		p.fail(err)
		return false
	}
	p.batches = append(p.batches, b)
	return true
}

// freed returns an error if the batch was freed: its place may have another one's numbers.
func (b *Batch) freed() error {
	if b.s.room.Has(b.id) {
		return nil
	}
	return invalid("the batch of %d numbers was freed", b.Len())
}

// Reset empties the program, for other steps, whose operands are secret.
func (p *Program) Reset() { *p = Program{s: p.s} }

// Public sets whether the values of the operands of later steps may show in the time that
// these take, as Options.Public does for a Calculator. They are secret at first.
func (p *Program) Public(may bool) { p.public = may }

// operands of a step; those that an operation does not take are nil.
type operands struct {
	A, B, M, Carry *Batch
	Degree         int
}

// do adds an operation.
func (p *Program) do(op backend.NumberOp, dst *Batch, o operands) {
	of := func(b *Batch) backend.Batch {
		if b == nil || !p.ok(b) {
			return backend.Batch{}
		}
		return b.batch
	}
	r, shapes := rules[op], [3]*shape{}
	for i, b := range []struct {
		of   *Batch
		used bool
	}{{o.A, true}, {o.B, r.b}, {o.M, r.m}} {
		if b.used {
			if !p.ok(b.of) {
				return
			}
			shapes[i] = &shape{b.of.Width(), b.of.Len()}
		}
	}
	if !p.ok(dst) {
		return
	}
	if _, err := r.elements(o.Degree, shapes[0], shapes[1], shapes[2]); err != nil {
		p.fail(fmt.Errorf("%v: %w", op, err))
		return
	}
	p.steps = append(p.steps, backend.Compute{
		Op: op, Dst: of(dst), A: of(o.A), B: of(o.B), M: of(o.M), Carry: of(o.Carry), Degree: o.Degree, Public: p.public,
	})
}

// Run runs the steps. It may run again: writes then take what their numbers hold, and reads
// set the same numbers. An error names the first step that is wrong or fails; what the
// steps were to write is undefined then.
func (p *Program) Run(ctx context.Context) error {
	if p.err != nil || len(p.steps) == 0 {
		return p.err
	}
	if err := p.freed(); err != nil {
		return err
	}
	answers, err := p.s.core.Run(ctx, p.steps)
	if err != nil {
		return err
	}
	for _, r := range p.reads {
		copy(r.to.bytes(0, r.to.Len()), answers[r.step])
		clear(answers[r.step])
	}
	return nil
}

// freed returns an error if a batch or numbers of a step were freed after it was added.
func (p *Program) freed() error {
	for _, b := range p.batches {
		if err := b.freed(); err != nil {
			return fmt.Errorf("before Run: %w", err)
		}
	}
	for _, n := range p.numbers {
		if err := n.valid("before Run"); err != nil {
			return err
		}
	}
	return nil
}
