package resident

import (
	"context"
	"errors"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/vector"
)

// Bases are some of a key's points. Their scalars are sums of values; Sel says of which.
type Bases[P, S any] struct {
	Points []P // the key's own, or one for each class
	Sel    group.Selection
	Hints  []msm.Hint
	Table  *Table[P, S] // nil until LoadBases
}

// Random is the hint for bases whose scalars look random, as a quotient's do.
var Random = []msm.Hint{msm.Uniform()}

// LoadBases loads bases of both groups at the same time, as LoadBeside does. After an error it frees
// those that were loaded.
func LoadBases[P1, P2 any, S comparable](ctx context.Context, f *vector.Field[S], e *engine.Engine, elements int,
	g1 *group.Ops[P1, S], in1 []*Bases[P1, S], g2 *group.Ops[P2, S], in2 *Bases[P2, S]) error {
	loads := []func(context.Context) error{func(ctx context.Context) error { return in2.load(ctx, e, g2) }}
	for _, b := range in1 {
		loads = append(loads, func(ctx context.Context) error { return b.load(ctx, e, g1) })
	}
	if err := LoadBeside(ctx, f, e, elements, loads...); err != nil {
		return errors.Join(err, CloseBases(in1, in2))
	}
	return nil
}

func (b *Bases[P, S]) load(ctx context.Context, e *engine.Engine, g *group.Ops[P, S]) (err error) {
	b.Table, err = Load(ctx, e, g, b.Points, b.Hints...)
	return err
}

// CloseBases waits for the MSMs in flight and frees what LoadBases has loaded.
func CloseBases[P1, P2, S any](in1 []*Bases[P1, S], in2 *Bases[P2, S]) error {
	errs := []error{in2.Table.Close()}
	for _, b := range in1 {
		errs = append(errs, b.Table.Close())
	}
	return errors.Join(errs...)
}

// Pick returns the scalars of an MSM: sums of selected values, valid until m.Free, or the values
// themselves if none are added up or left out.
func Pick[P, S any](ctx context.Context, m *Memory, e *engine.Engine, g *group.Ops[P, S], f *group.Field[S],
	sel *group.Selection, values []S) ([]S, error) {
	if sel.All() {
		return values, nil
	}
	s := Scalars(ctx, m, e, g, sel.Len(len(values)))
	return s, f.Select(ctx, s, values, sel)
}

// Commit adds to a program the sum over the points of a table, which may be none.
func Commit[P any, S comparable](p *vector.Program[S], t *Table[P, S], v vector.Vector[S]) *vector.Answer[P] {
	if t.Len() == 0 {
		return &vector.Answer[P]{} // infinity
	}
	return vector.Commit(p, t.Bases(), v.Slice(0, t.Len()))
}

// IndexElements returns how many elements the tables of WriteIndices take.
func IndexElements[S comparable](f *vector.Field[S], tables ...[]uint32) (n int) {
	for _, from := range tables {
		n += f.IndexElements(len(from))
	}
	return n
}

// WriteIndices makes tables in a session, and adds to a program that they are written. An empty one
// is not.
func WriteIndices[S comparable](p *vector.Program[S], s *vector.Session[S], tables ...[]uint32) (all []vector.Indices[S]) {
	for _, from := range tables {
		x := s.NewIndices(len(from))
		if len(from) > 0 {
			p.WriteIndices(x, from)
		}
		all = append(all, x)
	}
	return all
}
