package groth16

import (
	"context"
	"errors"
	"fmt"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// parts is a gnark proving key with its types as parameters. Slices are the
// key's own.
type parts[P1, P2, S any] struct {
	alpha, beta, delta P1
	beta2, delta2      P2
	a, b, k, z         []P1
	b2                 []P2
	infiniteA          []bool // wires whose point is not in a
	infiniteB          []bool // wires whose points are not in b and b2
	pedersen           []pedersen[P1]
	domain             *group.Domain[S]
}

// pedersen is the key of one commitment.
type pedersen[P1 any] struct{ basis, sigma []P1 }

// shape is what a proof needs to know of a constraint system.
type shape struct {
	wires, public int
	constraints   int
	commitments   constraint.Groth16Commitments
}

func shapeOf(ccs constraint.ConstraintSystem) (shape, error) {
	c, ok := ccs.GetCommitments().(constraint.Groth16Commitments)
	if !ok {
		return shape{}, fmt.Errorf("%w: the constraint system is not an R1CS", backend.ErrInvalidInput)
	}
	public := ccs.GetNbPublicVariables()
	return shape{
		wires:       public + ccs.GetNbSecretVariables() + ccs.GetNbInternalVariables(),
		public:      public,
		constraints: ccs.GetNbConstraints(),
		commitments: c,
	}, nil
}

// own lists the wires that K has points for: all but the public and committed
// wires and the commitments.
func (s *shape) own() []uint32 {
	elsewhere := make([]bool, s.wires)
	for _, c := range s.commitments {
		elsewhere[c.CommitmentIndex] = true
		for _, w := range c.PrivateCommitted {
			elsewhere[w] = true
		}
	}
	return falses(elsewhere, s.public)
}

// falses lists the places, from one on, where v is false.
func falses(v []bool, from int) []uint32 {
	at := []uint32{} // not nil, which would mean all
	for i := from; i < len(v); i++ {
		if !v[i] {
			at = append(at, uint32(i))
		}
	}
	return at
}

// check refuses a key that is not for the shape.
func (p *parts[P1, P2, S]) check(s *shape) error {
	own := len(s.own())
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"wires in InfinityA", len(p.infiniteA), s.wires},
		{"wires in InfinityB", len(p.infiniteB), s.wires},
		{"points in G1.A", len(p.a), len(falses(p.infiniteA, 0))},
		{"points in G1.B", len(p.b), len(falses(p.infiniteB, 0))},
		{"points in G2.B", len(p.b2), len(falses(p.infiniteB, 0))},
		{"points in G1.K", len(p.k), own},
		{"points in G1.Z", len(p.z), p.domain.Size - 1},
		{"commitment keys", len(p.pedersen), len(s.commitments)},
	} {
		if c.got != c.want {
			return errShape(c.what, c.got, c.want)
		}
	}
	for i, k := range p.pedersen {
		want := len(s.commitments[i].PrivateCommitted)
		for _, got := range []int{len(k.basis), len(k.sigma)} {
			if got != want {
				return errShape(fmt.Sprintf("points in commitment key %d", i), got, want)
			}
		}
	}
	return nil
}

func errShape(what string, got, want int) error {
	return fmt.Errorf("%w: the key has %d %s, the constraint system needs %d: it is for another circuit", backend.ErrInvalidInput, got, what, want)
}

// bases is some of a key's points as they are loaded, and which sums of which
// values their scalars are.
type bases[P, J, S any] struct {
	table *resident.Table[P, J, S]
	sel   group.Selection
}

func (b *bases[P, J, S]) Close() error { return b.table.Close() }

// key is a proving key on an engine.
type key[P1, J1, P2, J2, S any] struct {
	*curve[P1, J1, P2, J2, S]
	engine  *msm.Engine
	scalars resident.Merging

	alpha, beta, delta P1
	beta2, delta2      P2
	domain             *group.Domain[S]
	shape              shape

	a, b, k, z   bases[P1, J1, S]
	b2           *resident.Table[P2, J2, S] // with b's selection
	commit, know []bases[P1, J1, S]         // one of each for a commitment
}

// load registers a key's points.
func load[P1, J1, P2, J2, S any](ctx context.Context, c *curve[P1, J1, P2, J2, S], e *msm.Engine, o *options, p *parts[P1, P2, S], s shape) (_ *key[P1, J1, P2, J2, S], err error) {
	if err := p.check(&s); err != nil {
		return nil, err
	}
	k := &key[P1, J1, P2, J2, S]{
		curve: c, engine: e, scalars: o.mergeScalars,
		alpha: p.alpha, beta: p.beta, delta: p.delta, beta2: p.beta2, delta2: p.delta2,
		domain: p.domain, shape: s,
	}
	defer func() {
		if err != nil {
			k.close()
		}
	}()
	one := func(to *bases[P1, J1, S], points []P1, from []uint32, wires int) {
		if err != nil {
			return
		}
		to.sel = group.Selection{From: from, Classes: o.mergeBases.Classes(len(points), resident.Columns(points))}
		if len(from) == wires {
			to.sel.From = nil // all of them, in order
		}
		if to.sel.Classes != nil {
			points = representatives(points, &to.sel)
		}
		to.table, err = resident.Load(ctx, e, c.g1, points)
	}
	one(&k.a, p.a, falses(p.infiniteA, 0), s.wires)
	one(&k.k, p.k, s.own(), s.wires)
	one(&k.z, p.z, nil, 0)
	k.commit = make([]bases[P1, J1, S], len(p.pedersen))
	k.know = make([]bases[P1, J1, S], len(p.pedersen))
	for i, ped := range p.pedersen {
		one(&k.commit[i], ped.basis, nil, 0)
		one(&k.know[i], ped.sigma, nil, 0)
	}
	if err != nil {
		return nil, err
	}
	// B in both groups takes the same scalars, so bases are merged only where
	// they are equal in both.
	k.b.sel = group.Selection{From: falses(p.infiniteB, 0)}
	if len(p.b) == s.wires {
		k.b.sel.From = nil
	}
	b, b2 := p.b, p.b2
	k.b.sel.Classes = o.mergeBases.Classes(len(b), resident.Columns(b), resident.Columns(b2))
	if k.b.sel.Classes != nil {
		b, b2 = representatives(b, &k.b.sel), representatives(b2, &k.b.sel)
	}
	if k.b.table, err = resident.Load(ctx, e, c.g1, b); err != nil {
		return nil, err
	}
	k.b2, err = resident.Load(ctx, e, c.g2, b2)
	return k, err
}

// representatives is one point of every class.
func representatives[P any](points []P, sel *group.Selection) []P {
	r := make([]P, sel.Classes.Len())
	for i := range r {
		r[i] = points[sel.Classes.Members(i)[0]]
	}
	return r
}

// close frees the key's points after the proofs in flight.
func (k *key[P1, J1, P2, J2, S]) close() error {
	errs := []error{k.a.Close(), k.b.Close(), k.k.Close(), k.z.Close(), k.b2.Close()}
	for i := range k.commit {
		errs = append(errs, k.commit[i].Close(), k.know[i].Close())
	}
	return errors.Join(errs...)
}
