package vector

import (
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// Term is a vector with its coefficient in Program.Sum.
type Term[E comparable] struct {
	Vector Vector[E]
	By     E
}

// Times returns k v, as a term of a Sum.
func (v Vector[E]) Times(k E) Term[E] { return Term[E]{v, k} }

// Sum sets dst to a linear combination of vectors, each as if it were filled up with
// zeros to dst's length. dst may be one of them, and the first elements of it may be. What
// overlaps it otherwise is an error.
func (p *Program[E]) Sum(dst Vector[E], terms ...Term[E]) {
	ends := []int{dst.count}
	for _, t := range terms {
		if p.ok(dst, t.Vector) && t.Vector.count > dst.count {
			p.fail("a sum of %d elements in %d", t.Vector.count, dst.count)
		}
		// A part of the sum may overwrite what a later one reads.
		if p.err == nil && t.Vector.offset != dst.offset && dst.overlaps(t.Vector) {
			p.fail("a sum in %d elements from %d of %d from %d, which overlap", dst.count, dst.offset, t.Vector.count, t.Vector.offset)
		}
		ends = append(ends, t.Vector.count)
	}
	if !p.ok(dst) {
		return
	}
	// Between the ends of vectors each sum has the same terms.
	slices.Sort(ends)
	from := 0
	for _, to := range slices.Compact(ends) {
		if to > from {
			p.sumPart(dst, terms, from, to)
			from = to
		}
	}
}

// sumPart adds a Sum of the elements from one to before the other.
func (p *Program[E]) sumPart(dst Vector[E], terms []Term[E], from, to int) {
	part := dst.Slice(from, to)
	var own, others []Term[E]
	for _, t := range terms {
		if t.Vector.count < to || t.By == p.s.f.zero {
			continue
		}
		if t.Vector = t.Vector.Slice(from, to); t.Vector == part {
			own = append(own, t) // before it is written
		} else {
			others = append(others, t)
		}
	}
	if len(own) > backend.MapArgs {
		p.fail("a sum with %d times the vector that it sets", len(own))
		return
	}
	todo := append(own, others...)
	n := min(len(todo), backend.MapArgs)
	p.Map(part, p.combine(todo[:n]))
	for todo = todo[n:]; len(todo) > 0; todo = todo[n:] {
		n = min(len(todo), backend.MapArgs-1)
		p.Map(part, part.Expr().Add(p.combine(todo[:n])))
	}
}

// combine returns a sum as an expression.
func (p *Program[E]) combine(terms []Term[E]) (x Expr[E]) {
	for i, t := range terms {
		v := t.Vector.Expr()
		switch {
		case t.By == p.s.f.minusOne && i > 0:
			x = x.Sub(v)
			continue
		case t.By == p.s.f.minusOne:
			v = v.Neg()
		case t.By != p.s.f.one:
			v = v.Scale(t.By)
		}
		if x = x.Add(v); i == 0 {
			x = v
		}
	}
	return x
}
