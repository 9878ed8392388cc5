package groth16

import (
	"context"
	"errors"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/solve"
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

// onBackend reports whether the engine's backend computes the quotient and the sum over Z, and whether the
// sums over wires take their scalars from the same wires in its memory.
func (p *prover[P1, P2, S]) onBackend() (quotient, wires bool) {
	on := p.where.onBackend(p.engine, p.vectors.Curve())
	return on && p.z.Sel.All(), on && p.chosen()
}

// tables are what proofs need in a backend's memory beside the points: the wires for which A, B and K have
// points and that commitments commit to, of which an empty table means all, and the matrices. Of all
// wires Commit takes as many as there are points.
type tables[S comparable] struct {
	a, b, k  vector.Indices[S]
	know     []vector.Indices[S] // for each commitment
	matrices [2]vector.Matrix[S]
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

// chosenWires returns the lists of wires that tables have.
func (k *key[P1, P2, S]) chosenWires() [][]uint32 {
	all := [][]uint32{k.a.Sel.From, k.b.Sel.From, k.k.Sel.From}
	for i := range k.know {
		all = append(all, k.know[i].Sel.From)
	}
	return all
}

// proofElements returns how many elements the session of a proof has.
func (k *key[P1, P2, S]) proofElements() int {
	return k.shape.wires + k.mostChosen() + 3*k.domain.Size
}

// elements returns how many elements a proof and the tables have together.
func (k *key[P1, P2, S]) elements() int {
	return k.proofElements() + resident.IndexElements(k.vectors, k.chosenWires()...) + k.matrixElements
}

// pending is a proof whose wires have values, and where its sums go.
type pending[P1, P2 any, S comparable] struct {
	sys   *solve.System[S]
	wires []S
	out   *sums[P1, P2]
}

// compute returns what computes, by one program, the sums of some proofs that onBackend says.
func (p *prover[P1, P2, S]) compute(of ...pending[P1, P2, S]) func(context.Context, *vector.Session[S]) error {
	return func(ctx context.Context, s *vector.Session[S]) (err error) {
		on, release, err := p.tables.Beside(ctx, s, p.loadTables(of[0].sys))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		program := s.Program()
		put := p.sumsOn(s, program, on, of)
		if err := program.Run(ctx); err != nil {
			return err
		}
		put()
		return nil
	}
}

// sumsOn adds to a program the sums of some proofs. The backend gets the wires once, and each sum takes its scalars
// from them. Sums over the same points follow one another, so that a backend may compute them as one. The session has
// proofElements for each proof. Call put when the program has run.
func (p *prover[P1, P2, S]) sumsOn(s *vector.Session[S], program *vector.Program[S], on *tables[S], of []pending[P1, P2, S]) (put func()) {
	n, proofs := p.domain.Size, len(of)
	w, some := pieces(s.New(proofs*p.shape.wires), proofs), s.New(proofs*p.mostChosen())
	for i, o := range of {
		program.Write(w[i], o.wires)
	}
	var puts []func()
	if p.chosen() {
		puts = p.overWires(program, on, of, w, some)
	}
	a, b, c := s.New(proofs*n), s.New(proofs*n), s.New(proofs*n)
	for side, v := range []vector.Vector[S]{a, b} {
		for i, to := range pieces(v, proofs) {
			program.SparseProduct(to, on.matrices[side], w[i])
		}
	}
	program.Mul(c, a, b)
	p.divide(program, a, b, c, proofs)
	h := pieces(a, proofs)
	for i := range h {
		h[i] = h[i].Slice(0, n-1)
	}
	puts = append(puts, commitAll(program, p.z.Table, h, func(i int) *P1 { return &of[i].out.Z }))
	return func() {
		for _, put := range puts {
			put()
		}
	}
}

// pieces cuts a vector into n vectors of one length.
func pieces[S comparable](v vector.Vector[S], n int) []vector.Vector[S] {
	all, each := make([]vector.Vector[S], n), v.Len()/n
	for i := range all {
		all[i] = v.Slice(i*each, (i+1)*each)
	}
	return all
}

// overWires adds to a program the sums over A, B in both groups, K, and the commitments' bases for the proofs of
// knowledge. It overwrites some.
func (p *prover[P1, P2, S]) overWires(program *vector.Program[S], on *tables[S], of []pending[P1, P2, S],
	wires []vector.Vector[S], some vector.Vector[S]) (puts []func()) {
	take := func(x vector.Indices[S]) []vector.Vector[S] {
		if x.Len() == 0 {
			return wires
		}
		values := pieces(some.Slice(0, len(of)*x.Len()), len(of))
		for i, v := range values {
			program.Gather(v, wires[i], x)
		}
		return values
	}
	a := take(on.a)
	puts = append(puts, commitAll(program, p.a.Table, a, func(i int) *P1 { return &of[i].out.A }))
	b := take(on.b)
	puts = append(puts, commitAll(program, p.b.Table, b, func(i int) *P1 { return &of[i].out.B }))
	puts = append(puts, commitAll(program, p.b2.Table, b, func(i int) *P2 { return &of[i].out.B2 }))
	k := take(on.k)
	puts = append(puts, commitAll(program, p.k.Table, k, func(i int) *P1 { return &of[i].out.K }))
	for j := range p.know {
		puts = append(puts, commitAll(program, p.know[j].Table, take(on.know[j]), func(i int) *P1 { return &of[i].out.knowledge[j] }))
	}
	return puts
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

// divide adds to a program what quotient does with the values of A, B and C of some proofs, those of one after those
// of another. The coefficients come to a, in the order that a transform from natural order leaves, which is that of
// Z's points.
func (p *prover[P1, P2, S]) divide(program *vector.Program[S], a, b, c vector.Vector[S], proofs int) {
	n, shift := p.domain.Size, p.domain.Shift
	fromValues := vector.Transform[S]{Inverse: true, To: backend.Reversed, Batch: proofs}
	toCoset := vector.Transform[S]{From: backend.Reversed, Shift: shift, Batch: proofs}
	for _, v := range []vector.Vector[S]{a, b} {
		program.Transform(v, v, fromValues)
		program.Transform(v, v, toCoset)
	}
	program.Mul(a, a, b)
	program.Transform(a, a, vector.Transform[S]{Inverse: true, To: backend.Reversed, Shift: shift, Batch: proofs})
	program.Transform(c, c, fromValues)
	program.Map(a, a.Expr().Sub(c.Expr()).Scale(p.fr.InverseOfPowerMinusOne(shift, n)))
}

// loadTables returns what writes the tables for a constraint system to a new session beside another.
func (p *prover[P1, P2, S]) loadTables(sys *solve.System[S]) func(context.Context,
	*vector.Session[S]) (*vector.Session[S], *tables[S], error) {
	return func(ctx context.Context, beside *vector.Session[S]) (*vector.Session[S], *tables[S], error) {
		pair, err := p.matricesOf(ctx, sys)
		if err != nil {
			return nil, nil, err
		}
		s, x, matrices, err := pair.Load(ctx, p.vectors, beside, p.chosenWires()...)
		if err != nil {
			return nil, nil, err
		}
		return s, &tables[S]{x[0], x[1], x[2], x[3:], matrices}, nil
	}
}
