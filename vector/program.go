package vector

import (
	"context"
	"fmt"
	"runtime"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/msm"
)

// Program is steps over the vectors of a session, and of others that are together
// with it, that Run sends as one request. A method adds what it says, in order;
// what is wrong shows in Run. A program is used by one goroutine.
//
// Vectors that a step writes must not overlap those that it reads, unless they are
// the very same and the step says that they may be.
type Program[E comparable] struct {
	s     *Session[E]
	steps []backend.Step
	fill  []func([]byte) // with the answer of a step, where it has one
	held  []any          // keeps bases from being forgotten until Run
	used  []Vector[E]    // must not be freed before Run
	err   error
}

// Answer is the place of what a step answers.
type Answer[T any] struct{ v T }

// Get returns the answer after Program.Run returned nil; before, it returns zero.
func (a *Answer[T]) Get() T { return a.v }

// Program starts an empty program.
func (s *Session[E]) Program() *Program[E] { return &Program[E]{s: s} }

func (p *Program[E]) fail(format string, a ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: "+format, append([]any{backend.ErrInvalidInput}, a...)...)
	}
}

// ok reports whether a step can be added that uses these vectors.
func (p *Program[E]) ok(vs ...Vector[E]) bool {
	for _, v := range vs {
		if p.err != nil {
			break
		}
		if p.err = v.Err(); p.err == nil && v.s != p.s && !p.s.Together(v.s) {
			p.fail("a vector of a session on another backend")
		}
	}
	if p.err == nil {
		p.used = append(p.used, vs...)
	}
	return p.err == nil
}

// same does what ok does, for vectors of one length.
func (p *Program[E]) same(vs ...Vector[E]) bool {
	for _, v := range vs {
		if p.ok(v) && v.count != vs[0].count {
			p.fail("vectors of %d and %d elements", vs[0].count, v.count)
		}
	}
	return p.err == nil
}

func (p *Program[E]) add(step backend.Step, fill func([]byte)) {
	p.steps = append(p.steps, step)
	p.fill = append(p.fill, fill)
}

// all returns an answer's elements or points. They are b itself, unless that is not aligned for them: then
// it is wiped.
func all[T any](b []byte, n int) []T {
	if v, err := layout.View[T](b); err == nil && len(v) == n {
		return v
	}
	v := make([]T, n)
	copy(layout.Bytes(v), b)
	clear(b)
	return v
}

// one returns where an answer of one element or point goes. It wipes the answer.
func one[T any](a *Answer[T]) func([]byte) {
	return func(b []byte) {
		a.v = all[T](b, 1)[0]
		clear(b)
	}
}

// bytes returns an element as backends have it.
func bytes[E any](e E) []byte { return layout.Bytes([]E{e}) }

// Write copies src to dst, of the same length. src must not change until Run
// returns; scalars of msm's NewScalars are read where they are.
func (p *Program[E]) Write(dst Vector[E], src []E) { p.WriteWhen(dst, src, nil) }

// WriteWhen writes elements that are still being computed, as Write does: ready returns
// when the first n are there. It is called with n never decreasing, also while the steps
// before compute. Its error, or that of its context, is Run's.
func (p *Program[E]) WriteWhen(dst Vector[E], src []E, ready func(ctx context.Context, n int) error) {
	if p.ok(dst) {
		p.add(backend.Write{Dst: dst.span(), Input: backend.Input{Bytes: layout.Bytes(src), Ready: ready}}, nil)
	}
}

// Read answers the elements of src.
func (p *Program[E]) Read(src Vector[E]) *Answer[[]E] {
	a := &Answer[[]E]{}
	if p.ok(src) {
		p.add(backend.Read{Src: src.span()}, func(b []byte) { a.v = all[E](b, src.count) })
	}
	return a
}

// WriteIndices puts a table for Gather to dst, of the same length.
func (p *Program[E]) WriteIndices(dst Indices[E], indices []uint32) {
	if p.ok(dst.v) {
		if dst.count != len(indices) {
			p.fail("%d indices for a table of %d", len(indices), dst.count)
			return
		}
		p.add(backend.WriteIndices{Dst: dst.v.span(), Indices: indices}, nil)
	}
}

// Gather sets dst[i] = src[x[i]] for each of the table's indices, which are below
// src's length. dst has the length of the table.
func (p *Program[E]) Gather(dst, src Vector[E], x Indices[E]) {
	if p.ok(dst, src, x.v) {
		if dst.count != x.count {
			p.fail("%d elements by %d indices", dst.count, x.count)
			return
		}
		p.add(backend.Gather{Dst: dst.span(), Src: src.span(), Index: x.v.span()}, nil)
	}
}

// Transform says which number-theoretic transform: see Program.Transform.
type Transform[E comparable] struct {
	Inverse  bool
	From, To backend.Order // not both Reversed
	Shift    E             // of the coset; zero is 1
	Batch    int           // that many vectors, one after the other; 0 is 1
}

// Transform sets dst to the values of the polynomials with the coefficients src at
// Shift w^j, with w the root of unity of gnark-crypto's fft.Domain of that size,
// a power of two; Inverse is the way back. From is the order of src, To that of dst.
// src may be dst. From natural order src may be shorter than dst, which is as if it
// were filled up with zeros; with Batch, each of its vectors.
func (p *Program[E]) Transform(dst, src Vector[E], t Transform[E]) {
	if p.ok(dst, src) {
		step := backend.Transform{Dst: dst.span(), Src: src.span(), Batch: t.Batch, Inverse: t.Inverse, From: t.From, To: t.To}
		if t.Shift != p.s.f.zero {
			step.Shift = bytes(t.Shift)
		}
		p.add(step, nil)
	}
}

// Map sets dst[i] to element i of x. Vectors of x that are shorter than dst are
// used again and again. dst may be one of them, as it is.
func (p *Program[E]) Map(dst Vector[E], x Expr[E]) { p.MapTo(dst.View(), dst.count, x) }

// MapTo does what Map does, and puts the first n elements to the places of a view, which
// must be different ones.
func (p *Program[E]) MapTo(dst View[E], n int, x Expr[E]) {
	if !p.ok(dst.v) {
		return
	}
	c, err := compile(x)
	if err != nil {
		p.err = err
		return
	}
	for _, w := range c.views {
		p.ok(w.v)
	}
	if p.err == nil {
		p.add(c.step(dst.operand(), n), nil)
	}
}

// Fill sets every element of dst to e.
func (p *Program[E]) Fill(dst Vector[E], e E) { p.Map(dst, Const(e)) }

// Copy sets dst = src, of the same length.
func (p *Program[E]) Copy(dst, src Vector[E]) {
	if p.same(dst, src) {
		p.Map(dst, src.Expr())
	}
}

// Add sets dst = a + b, element by element. All have one length; dst may be a or b.
func (p *Program[E]) Add(dst, a, b Vector[E]) {
	if p.same(dst, a, b) {
		p.Map(dst, a.Expr().Add(b.Expr()))
	}
}

// Sub sets dst = a - b; see Add.
func (p *Program[E]) Sub(dst, a, b Vector[E]) {
	if p.same(dst, a, b) {
		p.Map(dst, a.Expr().Sub(b.Expr()))
	}
}

// Mul sets dst = a b; see Add.
func (p *Program[E]) Mul(dst, a, b Vector[E]) {
	if p.same(dst, a, b) {
		p.Map(dst, a.Expr().Mul(b.Expr()))
	}
}

// MulAdd sets dst = a b + c; see Add.
func (p *Program[E]) MulAdd(dst, a, b, c Vector[E]) {
	if p.same(dst, a, b, c) {
		p.Map(dst, a.Expr().Mul(b.Expr()).Add(c.Expr()))
	}
}

// Scale sets dst = k a; see Add.
func (p *Program[E]) Scale(dst, a Vector[E], k E) {
	if p.same(dst, a) {
		p.Map(dst, a.Expr().Scale(k))
	}
}

// Powers sets dst[i] = first ratio^i.
func (p *Program[E]) Powers(dst Vector[E], first, ratio E) {
	if p.ok(dst) {
		p.add(backend.Powers{Dst: dst.span(), First: bytes(first), Ratio: bytes(ratio)}, nil)
	}
}

// Invert sets dst[i] = 1/src[i], 0 where that is 0. dst may be src.
func (p *Program[E]) Invert(dst, src Vector[E]) {
	if p.ok(dst, src) {
		p.add(backend.Invert{Dst: dst.span(), Src: src.span()}, nil)
	}
}

// Products sets dst[i] = src[0] ... src[i] and answers the product of all. dst, of
// the same length, may be src.
func (p *Program[E]) Products(dst, src Vector[E]) *Answer[E] { return p.products(dst, src, false) }

// ProductsBefore does what Products does, with dst[i] = src[0] ... src[i-1], so that
// dst[0] = 1.
func (p *Program[E]) ProductsBefore(dst, src Vector[E]) *Answer[E] {
	return p.products(dst, src, true)
}

func (p *Program[E]) products(dst, src Vector[E], exclusive bool) *Answer[E] {
	a := &Answer[E]{}
	if p.ok(dst, src) {
		p.add(backend.Products{Dst: dst.span(), Src: src.span(), Exclusive: exclusive}, one(a))
	}
	return a
}

// Evaluate answers the value at point of each polynomial, one or more, given by
// their coefficients.
func (p *Program[E]) Evaluate(point E, polynomials ...Vector[E]) *Answer[[]E] {
	return p.EvaluateIn(backend.Natural, point, polynomials...)
}

// EvaluateIn does what Evaluate does, with coefficients in some order.
func (p *Program[E]) EvaluateIn(order backend.Order, point E, polynomials ...Vector[E]) *Answer[[]E] {
	a := &Answer[[]E]{}
	if p.ok(polynomials...) {
		step := backend.Evaluate{Order: order, Point: bytes(point)}
		for _, v := range polynomials {
			step.Src = append(step.Src, v.span())
		}
		p.add(step, func(b []byte) { a.v = all[E](b, len(step.Src)) })
	}
	return a
}

// Divide sets dst, which is one shorter than src, to the quotient of the polynomial
// src by X - point, and answers the remainder, src's value at point. dst may be the
// first part of src.
func (p *Program[E]) Divide(dst, src Vector[E], point E) *Answer[E] {
	a := &Answer[E]{}
	if p.ok(dst, src) {
		p.add(backend.Divide{Dst: dst.span(), Src: src.span(), Point: bytes(point)}, one(a))
	}
	return a
}

// Commit answers the sum of v[i] * base i, over as many of the bases as v has
// elements. The bases are of the session's engine; they are loaded into its backend
// if they are not there. Of steps that follow one another over the same bases, of vectors of one length, a
// backend may compute the sums together, which is faster where they are small.
func Commit[P any, E comparable](p *Program[E], bases *msm.Bases[P, E], v Vector[E]) *Answer[P] {
	a := &Answer[P]{}
	if !p.ok(v) {
		return a
	}
	if bases.Len() < v.count {
		p.fail("%d elements for %d bases of %v", v.count, bases.Len(), bases.Group())
		return a
	}
	core, offset := bases.Core()
	p.held = append(p.held, bases)
	p.add(engine.Commit{Bases: core, Job: backend.Job{Offset: offset, Count: v.count, Src: v.span()}}, one(a))
	return a
}

// Run runs the steps and sets their answers, and leaves the program empty, for
// others. An error is that of the first step that is wrong or fails: then no answer
// is set, and what the steps were to write is undefined. With backend.ErrGone in it
// the session is lost; see Field.Repeat.
func (p *Program[E]) Run(ctx context.Context) error {
	steps, fill, held, used, err := p.steps, p.fill, p.held, p.used, p.err
	*p = Program[E]{s: p.s}
	if err != nil || len(steps) == 0 {
		return err
	}
	for _, v := range used {
		if err := v.Err(); err != nil {
			return fmt.Errorf("before Run: %w", err)
		}
	}
	out, err := p.s.core.Run(ctx, steps)
	runtime.KeepAlive(held)
	runtime.KeepAlive(p.s)
	if err != nil {
		return err
	}
	for i, f := range fill {
		if f != nil {
			f(out[i])
		}
	}
	return nil
}
