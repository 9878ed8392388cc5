package circom

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
	"github.com/pippin-zk/pippin/prover/internal/blinding"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/matrices"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// key is a proving key as proofs need it.
type key[P1, P2 any, S comparable] struct {
	*curve[P1, P2, S]
	verifier     *verifier[P1, P2, S]
	blinding     blinding.Key[P1, P2, S]
	wires        int
	domain       int
	rows         int // of the matrices, up to the last that is not empty
	matrices     *matrices.Pair[S]
	shift        S // the coset on which the quotient is evaluated begins with it
	domainOf     func() *group.Domain[S]
	merging      resident.Merging      // of scalars
	engine       *engine.Engine        // the engine that has the points
	a, b1, cs, h resident.Bases[P1, S] // cs begins with the wire private
	b2           resident.Bases[P2, S] // with b1's selection
}

// pieceBytes is the size of the points that are read or checked together.
const pieceBytes = 4 << 20

// piecesAtATime is how many pieces of a section are read or checked at a time.
const piecesAtATime = 4

// pieces calls do for parts of n elements of some bytes each, until ctx ends or one fails.
func pieces(ctx context.Context, n, bytes int, do func(ctx context.Context, lo, hi int) error) error {
	doing, ctx := errgroup.WithContext(ctx)
	doing.SetLimit(piecesAtATime)
	size := pieceBytes / bytes
	for lo := 0; lo < n; lo += size {
		doing.Go(func() error {
			if err := backend.Ended(ctx); err != nil {
				return err
			}
			return do(ctx, lo, min(lo+size, n))
		})
	}
	return doing.Wait()
}

// readPoints reads the points of a section.
func readPoints[P any](ctx context.Context, from *file.Points) ([]P, error) {
	all := make([]P, from.Count)
	return all, pieces(ctx, len(all), from.Bytes(), func(_ context.Context, lo, hi int) error {
		return from.Read(layout.Bytes(all[lo:hi]), lo)
	})
}

// check has an engine look whether points are in their group; no engine looks at none. They are those
// of a section with the indices at, or all of it.
func check[P, S any](ctx context.Context, e *engine.Engine, ops *group.Ops[P, S], points []P, from *file.Points, at []uint32) error {
	if e == nil {
		return nil
	}
	element := backend.PointOf(ops.Group.Curve(), ops.Group.Group())
	return pieces(ctx, len(points), element.Bytes(), func(ctx context.Context, lo, hi int) error {
		bad, err := outside(ctx, e, element, layout.Bytes(points[lo:hi]))
		if err != nil || bad < 0 {
			return err
		}
		if bad += lo; at != nil {
			bad = int(at[bad])
		}
		return from.Refuse(bad, "is not in the group")
	})
}

// outside returns the index of the first point that is not in the subgroup of order r, or -1.
func outside(ctx context.Context, e *engine.Engine, element backend.Element, points []byte) (bad int, err error) {
	space := engine.Space{Elements: backend.Elements{Element: element, Count: len(points) / element.Bytes()}}
	_, err = e.Repeat(ctx, space, func(ctx context.Context, s *engine.Session) error {
		all := backend.Range{Space: s.Space(), Count: space.Count}
		out, err := s.Run(ctx, []backend.Step{
			backend.Write{Dst: all, Input: backend.Input{Bytes: points}},
			backend.CheckPoints{Src: all, Subgroup: true},
		})
		if err != nil {
			return err
		}
		count, first, err := backend.CheckedPoints(out[1])
		if bad = -1; count > 0 {
			bad = first
		}
		return err
	})
	return bad, err
}

// finite moves the points of some columns that are not all at infinity to the front. It returns
// which they were, or nil if these are all.
func finite(n int, zero func(i int) bool, move func(to, from int)) []uint32 {
	at := make([]uint32, 0, n)
	for i := range n {
		if !zero(i) {
			move(len(at), i)
			at = append(at, uint32(i))
		}
	}
	if len(at) == n {
		return nil
	}
	return at
}

// infinite returns a function that reports whether a point is at infinity, which is zeros.
func infinite[P any](points []P) func(i int) bool {
	zero := layout.Bytes(make([]P, 1))
	all := layout.Bytes(points)
	return func(i int) bool { return bytes.Equal(all[i*len(zero):(i+1)*len(zero)], zero) }
}

// shrink returns the first n points, in memory for no more if many are left out.
func shrink[P any](points []P, n int) []P {
	if n > len(points)*3/4 {
		return points[:n]
	}
	return append(make([]P, 0, n), points[:n]...)
}

// readKey reads a key's points and entries, and merges equal bases. It loads nothing. Points are
// checked on an engine.
func (c *curve[P1, P2, S]) readKey(ctx context.Context, e *engine.Engine, o *keyOptions, f *file.Key) (*key[P1, P2, S], error) {
	v, err := c.verifierOf(f)
	if err != nil {
		return nil, err
	}
	step, err := c.step(f.Domain)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	k := &key[P1, P2, S]{curve: c, verifier: v, wires: f.Wires, merging: o.mergeScalars}
	k.shift = c.root(log2(f.Domain) + 1)
	k.domainOf = onceDomain(c, f.Domain, k.shift)
	k.blinding = blinding.Key[P1, P2, S]{G1: c.g1, G2: c.g2, Fr: c.fr,
		Alpha: v.alpha, Beta: point[P1](f.Beta1), Delta: point[P1](f.Delta1), Beta2: v.beta, Delta2: v.delta}
	if err := k.header(f); err != nil {
		return nil, err
	}
	r := reader[P1, P2, S]{k, e, o.mergeBases}
	if o.unchecked {
		r.e = nil
	}
	reading, all := errgroup.WithContext(ctx)
	reading.Go(func() error {
		entries, err := f.Entries(all)
		if err == nil {
			k.domain, k.rows, k.matrices = f.Domain, entries.Rows, c.matricesOf(step, entries)
		}
		return err
	})
	reading.Go(func() error { return r.readG1(all, &k.a, &f.A) })
	reading.Go(func() error { return r.readG1(all, &k.cs, &f.C) })
	reading.Go(func() error { return r.readB(all, f) })
	reading.Go(func() error {
		h, err := readPoints[P1](all, &f.H)
		if err != nil {
			return err
		}
		k.h.Points, k.h.Hints = inOrder(h, step), resident.Random
		return check(all, r.e, k.g1, h, &f.H, nil)
	})
	return k, reading.Wait()
}

// reader reads a key's points.
type reader[P1, P2 any, S comparable] struct {
	*key[P1, P2, S]
	e     *engine.Engine // checks points; nil for none
	merge resident.Merging
}

// readG1 reads points whose scalars are values of wires. It leaves out those at infinity and merges
// equal ones.
func (r *reader[P1, P2, S]) readG1(ctx context.Context, b *resident.Bases[P1, S], from *file.Points) error {
	all, err := readPoints[P1](ctx, from)
	if err != nil {
		return err
	}
	b.Sel.From = finite(len(all), infinite(all), func(to, from int) { all[to] = all[from] })
	all = shrink(all, b.Sel.Len(len(all)))
	if err := check(ctx, r.e, r.g1, all, from, b.Sel.From); err != nil {
		return err
	}
	b.Sel.Classes, err = r.merge.Classes(ctx, len(all), resident.Columns(all))
	b.Points = group.Representatives(all, &b.Sel)
	return err
}

// readB reads B in both groups. It has the same scalars in both, so a wire is left out if both of
// its points are at infinity, and bases are merged if they are equal in both.
func (r *reader[P1, P2, S]) readB(ctx context.Context, f *file.Key) error {
	b1, err := readPoints[P1](ctx, &f.B1)
	if err != nil {
		return err
	}
	b2, err := readPoints[P2](ctx, &f.B2)
	if err != nil {
		return err
	}
	none1, none2 := infinite(b1), infinite(b2)
	sel := group.Selection{From: finite(len(b1), func(i int) bool { return none1(i) && none2(i) }, func(to, from int) {
		b1[to], b2[to] = b1[from], b2[from]
	})}
	n := sel.Len(len(b1))
	b1, b2 = shrink(b1, n), shrink(b2, n)
	if err := check(ctx, r.e, r.g1, b1, &f.B1, sel.From); err != nil {
		return err
	}
	if err := check(ctx, r.e, r.g2, b2, &f.B2, sel.From); err != nil {
		return err
	}
	if sel.Classes, err = r.merge.Classes(ctx, n, resident.Columns(b1), resident.Columns(b2)); err != nil {
		return err
	}
	r.b1.Sel = sel
	r.b1.Points, r.b2.Points = group.Representatives(b1, &sel), group.Representatives(b2, &sel)
	return nil
}

// inOrder returns snarkjs's points of H in the order of gnark-crypto's domain.
func inOrder[P any](h []P, step int) []P {
	if step == 1 {
		return h
	}
	out := make([]P, len(h))
	merge.Parallel(len(h), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i*step&(len(h)-1)] = h[i]
		}
	})
	return out
}

// header checks the header's points that no verifying key has.
func (k *key[P1, P2, S]) header(f *file.Key) error {
	for _, p := range []struct {
		name  string
		bytes []byte
	}{{"beta1", f.Beta1}, {"delta1", f.Delta1}} {
		if err := inGroup(f.Curve, backend.G1, p.bytes); err != nil {
			return fmt.Errorf("%w: zkey: section 2: %s: %w", backend.ErrInvalidInput, p.name, err)
		}
	}
	return nil
}

// point returns the point that lies in b, in memory layout.
func point[P any](b []byte) P {
	p := make([]P, 1)
	copy(layout.Bytes(p), b)
	return p[0]
}

// errOutside is a point that is not in its group.
var errOutside = errors.New("not in the group")

// inGroup returns an error if points in memory layout are not below q or not in the subgroup of order r.
func inGroup(c backend.Curve, g backend.Group, b []byte) error {
	if layout.FirstNotBelow(b, layout.BaseField(c)) >= 0 {
		return errors.New("a coordinate is not below q")
	}
	p := curves.GroupOf(c, g).New(len(b) / c.PointBytes(g))
	copy(p.Bytes(), b)
	for i := range p.Len() {
		if !p.InSubgroup(i) {
			return errOutside
		}
	}
	return nil
}

// load reads a key and loads it into an engine.
func (c *curve[P1, P2, S]) load(ctx context.Context, e *engine.Engine, o *keyOptions, f *file.Key) (scheme, error) {
	if o.mergeBases == MergeAuto && c.onBackend(e) {
		plain := *o
		plain.mergeBases = MergeNever // a backend takes the values of wires as they are, and adds none up
		o = &plain
	}
	k, err := c.readKey(ctx, e, o, f)
	if err != nil {
		return nil, err
	}
	return k.in(ctx, e)
}

// in returns the key with all of its points loaded into an engine, at the same time. Close frees
// them.
func (k *key[P1, P2, S]) in(ctx context.Context, e *engine.Engine) (scheme, error) {
	loaded := *k
	loaded.engine = e
	err := resident.LoadBases(ctx, k.vectors, e, k.elements()+k.tableElements(), k.g1, loaded.inG1(), k.g2, &loaded.b2)
	if err != nil {
		return nil, err
	}
	return newProver(&loaded), nil
}

// inG1 returns all bases except b2.
func (k *key[P1, P2, S]) inG1() []*resident.Bases[P1, S] {
	return []*resident.Bases[P1, S]{&k.a, &k.b1, &k.cs, &k.h}
}

// Close waits for the proofs in flight and frees the loaded points.
func (k *key[P1, P2, S]) Close() error { return resident.CloseBases(k.inG1(), &k.b2) }

// private returns the first wire that is neither the 1 nor public.
func (k *key[P1, P2, S]) private() int { return len(k.verifier.ic) }

// constraints returns the number of constraints. A row for each public signal and the 1 follows
// them.
func (k *key[P1, P2, S]) constraints() int { return max(0, k.rows-k.private()) }

// fresh reports whether delta is the generator, as before the first contribution.
func (k *key[P1, P2, S]) fresh() bool {
	g := k.g1.Generator()
	return bytes.Equal(layout.Bytes([]P1{g}), layout.Bytes([]P1{k.blinding.Delta}))
}
