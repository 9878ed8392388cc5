package groth16

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// where says whether the engine's backend computes the quotient, and takes the scalars of the sums
// from the witness, or whether this process does.
type where int

const (
	// whereAuto chooses the backend if it is in another process and has vectors. In this process
	// the transforms are the same, and a session would only copy the values.
	whereAuto where = iota
	whereBackend
	whereHere
)

// onBackend reports whether w chooses the engine's backend.
func (w where) onBackend(e *engine.Engine, c backend.Curve) bool {
	return w == whereBackend || w == whereAuto && resident.Elsewhere(e, c)
}

// onBackend reports whether the engine's backend computes the quotient, and whether the sums over
// wires take their scalars from a witness in its memory.
func (p *prover[P1, P2, S]) onBackend() (quotient, wires bool) {
	on := p.where.onBackend(p.engine, p.vectors.Curve())
	return on && p.z.Sel.All(), on && p.chosen()
}

// sessions are the sessions of a proof's programs, which run at the same time. A proof decides once
// where its programs run: by the time it is solved, the engine's backend may be another.
type sessions[S comparable] struct {
	quotient, wires *resident.Ahead[S] // nil if this process computes it
	started         <-chan struct{}    // closed when the sums over wires are there; nil before they begin
	beside          *errgroup.Group    // the proof waits for it at its end; the first error ends the proof's context
	cancel          func()             // ends the proof's context
}

// open opens the sessions of a proof in the background. It returns the proof's context.
func (p *prover[P1, P2, S]) open(ctx context.Context) (context.Context, *sessions[S]) {
	own := new(sessions[S])
	ctx, own.cancel = context.WithCancel(ctx)
	own.beside, ctx = errgroup.WithContext(ctx)
	quotient, wires := p.onBackend()
	if p.stream != nil { // the stream has separate sessions
		quotient, wires = false, false
	}
	if quotient {
		own.quotient = resident.OpenAhead(ctx, p.vectors, p.engine, p.quotientElements())
	}
	if wires {
		own.wires = resident.OpenAhead(ctx, p.vectors, p.engine, p.wireElements())
	}
	return ctx, own
}

// start runs f in the background. The channel is closed when f calls ready. If f returns an error
// after that, it is ignored: all that f still does then is to close a session.
func (own *sessions[S]) start(f func(ready func()) error) (ready <-chan struct{}) {
	done := make(chan struct{})
	own.beside.Go(func() error {
		err := f(sync.OnceFunc(func() { close(done) }))
		select {
		case <-done:
			return nil
		default:
			return err
		}
	})
	return done
}

// until waits until all that was started is ready. If anything fails, it waits for everything in
// the background and returns the first error.
func (own *sessions[S]) until(ctx context.Context, started ...<-chan struct{}) error {
	for _, ready := range started {
		select {
		case <-ready:
		case <-ctx.Done():
			return cmp.Or(own.beside.Wait(), backend.Ended(ctx))
		}
	}
	return nil
}

// close waits for everything in the background, and closes the sessions that were not used.
func (own *sessions[S]) close() {
	_ = own.beside.Wait() // if it is not nil, the proof has returned it
	own.cancel()
	own.quotient.Close()
	own.wires.Close()
}

// sumOverZ computes the sum over Z. Its scalars are the coefficients of the quotient, which never
// leave the backend. It calls ready with the sum before it closes the session.
func (p *prover[P1, P2, S]) sumOverZ(ctx context.Context, session *resident.Ahead[S], sol *solution[S], ready func(z P1)) error {
	_, err := session.Repeat(ctx, func(ctx context.Context, s *vector.Session[S]) error {
		program := s.Program()
		h := p.quotientsOn(s, program, sol)
		sum := vector.Commit(program, p.z.Table.Bases(), h.Slice(0, p.domain.Size-1))
		if err := program.Run(ctx); err != nil {
			return err
		}
		ready(sum.Get())
		return nil
	})
	return err
}

// quotientsOn adds to a program what quotient computes for each solution. The session must
// have quotientElements for each. The returned vector has the coefficients of one solution after
// those of another. Their order is that which a transform from natural order leaves, and that of
// Z's points.
func (p *prover[P1, P2, S]) quotientsOn(s *vector.Session[S], program *vector.Program[S], sols ...*solution[S]) vector.Vector[S] {
	n, k, shift := p.domain.Size, len(sols), p.domain.Shift
	a, b, c := s.New(k*n), s.New(k*n), s.New(k*n)
	write := func(to vector.Vector[S], side func(*solution[S]) []S) {
		for i, sol := range sols {
			v := side(sol)
			program.Write(to.Slice(i*n, i*n+len(v)), v)
		}
	}
	fromValues := vector.Transform[S]{Inverse: true, To: backend.Reversed, Batch: k}
	toCoset := vector.Transform[S]{From: backend.Reversed, Shift: shift, Batch: k}
	for _, v := range []struct {
		to   vector.Vector[S]
		side func(*solution[S]) []S
	}{{a, func(sol *solution[S]) []S { return sol.a }}, {b, func(sol *solution[S]) []S { return sol.b }}} {
		write(v.to, v.side)
		program.Transform(v.to, v.to, fromValues)
		program.Transform(v.to, v.to, toCoset)
	}
	program.Mul(a, a, b)
	program.Transform(a, a, vector.Transform[S]{Inverse: true, To: backend.Reversed, Shift: shift, Batch: k})
	write(c, func(sol *solution[S]) []S { return sol.c })
	program.Transform(c, c, fromValues)
	program.Map(a, a.Expr().Sub(c.Expr()).Scale(p.fr.InverseOfPowerMinusOne(shift, n)))
	return a
}

// startWires starts sumsOverWires in the background. own.started is closed when the sums are there. retract
// ends them, and returns when nothing reads the wires any more; the sums can then be started with others.
func (p *prover[P1, P2, S]) startWires(ctx context.Context, own *sessions[S], of pending[P1, P2, S]) (retract func()) {
	at, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	session := own.wires
	own.started = own.start(func(ready func()) error {
		defer close(ended)
		defer cancel()
		err := p.sumsOverWires(at, session, of, ready)
		if at.Err() != nil && ctx.Err() == nil {
			return nil // retracted
		}
		return err
	})
	return func() {
		cancel()
		<-ended
		session.Close()
		own.started, own.wires = nil, resident.OpenAhead(ctx, p.vectors, p.engine, p.wireElements())
	}
}

// choice has tables of the wires for which A, B and K have points and that commitments commit to, in a
// backend's memory. An empty table means all wires, of which Commit takes as many as there are points.
type choice[S comparable] struct {
	a, b, k vector.Indices[S]
	know    []vector.Indices[S] // for each commitment
}

// chosen reports whether all scalars except Z's are values of the witness as they are: no bases are
// merged, and no equal scalars.
func (p *prover[P1, P2, S]) chosen() bool {
	plain := func(b resident.Bases[P1, S]) bool { return b.Sel.Classes == nil }
	return p.scalars != resident.Always && plain(p.a) && plain(p.b) && plain(p.k) &&
		!slices.ContainsFunc(p.know, func(b resident.Bases[P1, S]) bool { return !plain(b) })
}

// mostChosen returns the most values that a sum over wires takes.
func (k *key[P1, P2, S]) mostChosen() (most int) {
	for _, from := range k.chosenWires() {
		most = max(most, len(from))
	}
	return most
}

// chosenWires returns the lists of wires that the tables of a choice have.
func (k *key[P1, P2, S]) chosenWires() [][]uint32 {
	all := [][]uint32{k.a.Sel.From, k.b.Sel.From, k.k.Sel.From}
	for i := range k.know {
		all = append(all, k.know[i].Sel.From)
	}
	return all
}

// wireElements returns how many elements the session of sumsOverWires has.
func (k *key[P1, P2, S]) wireElements() int { return k.shape.wires + k.mostChosen() }

// quotientElements returns how many elements the session of the quotient has.
func (k *key[P1, P2, S]) quotientElements() int { return 3 * k.domain.Size }

// choiceElements returns how many elements the session of loadChoice has.
func (k *key[P1, P2, S]) choiceElements() int {
	return resident.IndexElements(k.vectors, k.chosenWires()...)
}

// elements returns how many elements the sessions of a proof have together.
func (k *key[P1, P2, S]) elements() int {
	return k.quotientElements() + k.wireElements() + k.choiceElements()
}

// pending is a proof whose circuit is solved, and where its sums go.
type pending[P1, P2 any, S comparable] struct {
	sol *solution[S]
	out *sums[P1, P2]
}

// sumsOverWires computes the sums over A, B in both groups, K, and the commitments' bases for the
// proofs of knowledge. The backend gets the witness once, and each sum takes its scalars from it.
// sumsOverWires calls ready when they are there, before it closes the session.
func (p *prover[P1, P2, S]) sumsOverWires(ctx context.Context, session *resident.Ahead[S], of pending[P1, P2, S], ready func()) error {
	_, err := session.Repeat(ctx, func(ctx context.Context, s *vector.Session[S]) (err error) {
		c, release, err := p.choice.Beside(ctx, s, p.loadChoice)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		program := s.Program()
		put := p.wiresOn(s, program, c, of)
		if err := program.Run(ctx); err != nil {
			return err
		}
		put()
		ready() // so it is not repeated any more
		return nil
	})
	return err
}

// wiresOn adds to a program the sums of some proofs that sumsOverWires computes of one. Those over the same
// points follow one another, so that a backend may compute them as one. The session has wireElements for each
// proof. Call put when the program has run.
func (p *prover[P1, P2, S]) wiresOn(s *vector.Session[S], program *vector.Program[S], c *choice[S], of ...pending[P1, P2, S]) (put func()) {
	wires, most := p.shape.wires, p.mostChosen()
	all, some := s.New(len(of)*wires), s.New(len(of)*most)
	at := func(v vector.Vector[S], i, n int) vector.Vector[S] { return v.Slice(i*n, (i+1)*n) }
	for i, o := range of {
		program.Write(at(all, i, wires), o.sol.w)
	}
	take := func(x vector.Indices[S]) (values []vector.Vector[S]) {
		for i := range of {
			w := at(all, i, wires)
			if n := x.Len(); n > 0 {
				v := at(some, i, n)
				program.Gather(v, w, x)
				w = v
			}
			values = append(values, w)
		}
		return values
	}
	var puts []func()
	a := take(c.a)
	puts = append(puts, commitAll(program, p.a.Table, a, func(i int) *P1 { return &of[i].out.A }))
	b := take(c.b)
	puts = append(puts, commitAll(program, p.b.Table, b, func(i int) *P1 { return &of[i].out.B }))
	puts = append(puts, commitAll(program, p.b2.Table, b, func(i int) *P2 { return &of[i].out.B2 }))
	k := take(c.k)
	puts = append(puts, commitAll(program, p.k.Table, k, func(i int) *P1 { return &of[i].out.K }))
	for j := range p.know {
		puts = append(puts, commitAll(program, p.know[j].Table, take(c.know[j]), func(i int) *P1 { return &of[i].out.knowledge[j] }))
	}
	return func() {
		for _, put := range puts {
			put()
		}
	}
}

// commitAll adds to a program the sums of some vectors over the points of a table. put puts them where they go.
func commitAll[P any, S comparable](program *vector.Program[S], t *resident.Table[P, S], of []vector.Vector[S],
	to func(i int) *P) (put func()) {
	var answers []*vector.Answer[P]
	for _, v := range of {
		answers = append(answers, resident.Commit(program, t, v))
	}
	return func() {
		for i, a := range answers {
			*to(i) = a.Get()
		}
	}
}

// loadChoice writes the tables to a new session beside another.
func (p *prover[P1, P2, S]) loadChoice(ctx context.Context, beside *vector.Session[S]) (*vector.Session[S], *choice[S], error) {
	s, err := beside.Beside(ctx, p.choiceElements())
	if err != nil {
		return nil, nil, err
	}
	// The program runs in the other session, so that Repeat sees its failure.
	program := beside.Program()
	x := resident.WriteIndices(program, s, p.chosenWires()...)
	if err := program.Run(ctx); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, &choice[S]{x[0], x[1], x[2], x[3:]}, nil
}
