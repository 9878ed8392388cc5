package groth16

import (
	"context"
	"fmt"
	"slices"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/blinding"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/proving"
	"github.com/pippin-zk/pippin/prover/internal/resident"
)

// parts is a gnark proving key with its types as parameters. Its slices share memory with the key.
type parts[P1, P2, S any] struct {
	alpha, beta, delta P1
	beta2, delta2      P2
	a, b, k, z         []P1
	b2                 []P2
	infiniteA          []bool // wires without a point in a
	infiniteB          []bool // wires without points in b and b2
	pedersen           []pedersen[P1]
	size               int // of the domain
	domain             func() *group.Domain[S]
}

// pedersen is the key of one commitment.
type pedersen[P1 any] struct{ basis, sigma []P1 }

// shape is what a proof needs to know of a constraint system.
type shape struct {
	wires, public int
	constraints   int
	commitments   constraint.Groth16Commitments
}

// shapeOf returns the shape of an R1CS.
func shapeOf(ccs constraint.ConstraintSystem) (shape, error) {
	if ccs == nil {
		return shape{}, fmt.Errorf("%w: no constraint system", backend.ErrInvalidInput)
	}
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

// equal reports whether a key for one shape is also for the other.
func (s *shape) equal(o *shape) bool {
	return s.wires == o.wires && s.public == o.public && s.constraints == o.constraints &&
		slices.EqualFunc(s.commitments, o.commitments, func(c, d constraint.Groth16Commitment) bool {
			return c.CommitmentIndex == d.CommitmentIndex && slices.Equal(c.PrivateCommitted, d.PrivateCommitted) &&
				slices.Equal(c.PublicAndCommitmentCommitted, d.PublicAndCommitmentCommitted)
		})
}

// private lists the wires for which K has points: all but the public wires, the committed wires and
// the commitments.
func (s *shape) private() []uint32 { return falses(s.elsewhere(), s.public) }

// committed lists the private wires that a commitment commits to.
func (s *shape) committed(i int) []uint32 {
	wires := s.commitments[i].PrivateCommitted
	list := make([]uint32, len(wires))
	for k, w := range wires {
		list[k] = uint32(w)
	}
	return list
}

// elsewhere says for which wires K has no point. It leaves out the public ones.
func (s *shape) elsewhere() []bool {
	elsewhere := make([]bool, s.wires)
	for _, c := range s.commitments {
		elsewhere[c.CommitmentIndex] = true
		for _, w := range c.PrivateCommitted {
			elsewhere[w] = true
		}
	}
	return elsewhere
}

// countFalses returns how many values of v are false.
func countFalses(v []bool) (n int) {
	for _, b := range v {
		if !b {
			n++
		}
	}
	return n
}

// falses lists the indices, beginning with from, at which v is false. The list is not nil, because
// nil would mean all. A processor cannot predict which wires of a large key are false, so there is
// no branch on v: each index is written, and the next one overwrites it unless it counts.
func falses(v []bool, from int) []uint32 {
	at, n := make([]uint32, countFalses(v[from:])+1), 0
	for i, b := range v[from:] {
		at[n] = uint32(from + i)
		if !b {
			n++
		}
	}
	return at[:n]
}

// check refuses a key that does not belong to the shape.
func (p *parts[P1, P2, S]) check(s *shape) error {
	inB := countFalses(p.infiniteB)
	counts := []proving.Count{
		{What: "wires in InfinityA", Got: len(p.infiniteA), Want: s.wires},
		{What: "wires in InfinityB", Got: len(p.infiniteB), Want: s.wires},
		{What: "points in G1.A", Got: len(p.a), Want: countFalses(p.infiniteA)},
		{What: "points in G1.B", Got: len(p.b), Want: inB},
		{What: "points in G2.B", Got: len(p.b2), Want: inB},
		{What: "points in G1.K", Got: len(p.k), Want: countFalses(s.elsewhere()[s.public:])},
		{What: "points in G1.Z", Got: len(p.z), Want: p.size - 1},
		{What: "elements in its domain", Got: p.size, Want: s.constraints, OrMore: true},
		{What: "commitment keys", Got: len(p.pedersen), Want: len(s.commitments)},
	}
	for i := range min(len(p.pedersen), len(s.commitments)) {
		for _, points := range [][]P1{p.pedersen[i].basis, p.pedersen[i].sigma} {
			counts = append(counts, proving.Count{
				What: fmt.Sprintf("points in commitment key %d", i), Got: len(points), Want: len(s.commitments[i].PrivateCommitted),
			})
		}
	}
	return proving.CheckCounts(counts...)
}

// key is a proving key as proofs need it.
type key[P1, P2 any, S comparable] struct {
	*curve[P1, P2, S]
	scalars resident.Merging

	blinding blinding.Key[P1, P2, S]
	domain   *group.Domain[S]
	shape    shape
	// matrixElements is the memory on a backend, if that is elsewhere, of the system's matrices A and B.
	matrixElements int

	engine       *engine.Engine // the engine that has the points
	a, b, k, z   resident.Bases[P1, S]
	b2           resident.Bases[P2, S]   // with b's selection
	commit, know []resident.Bases[P1, S] // for each commitment, and its proof of knowledge
}

// newKey merges equal bases if the options say so. It loads nothing.
func newKey[P1, P2 any, S comparable](ctx context.Context, c *curve[P1, P2, S], o *options,
	p *parts[P1, P2, S], s shape) (_ *key[P1, P2, S], err error) {
	k := &key[P1, P2, S]{
		curve: c, scalars: o.mergeScalars,
		blinding: blinding.Key[P1, P2, S]{G1: c.g1, G2: c.g2, Fr: c.fr,
			Alpha: p.alpha, Beta: p.beta, Delta: p.delta, Beta2: p.beta2, Delta2: p.delta2},
		domain: p.domain(), shape: s,
	}
	// selection merges n points, whose scalars are the values of the wires from.
	selection := func(from []uint32, n int, columns ...merge.Column) (sel group.Selection) {
		if len(from) < s.wires {
			sel.From = from // nil means all of them, in order
		}
		if err == nil {
			sel.Classes, err = o.mergeBases.Classes(ctx, n, columns...)
		}
		return sel
	}
	one := func(points []P1, from []uint32) (b resident.Bases[P1, S]) {
		b.Sel = selection(from, len(points), resident.Columns(points))
		b.Points = group.Representatives(points, &b.Sel)
		return b
	}
	k.a = one(p.a, falses(p.infiniteA, 0))
	k.k = one(p.k, s.private())
	k.z = one(p.z, nil)
	k.z.Hints = resident.Random
	for i, ped := range p.pedersen {
		k.commit = append(k.commit, one(ped.basis, nil))
		k.know = append(k.know, one(ped.sigma, s.committed(i)))
	}
	// B has the same scalars in both groups, so bases are merged only if they are equal in both.
	k.b.Sel = selection(falses(p.infiniteB, 0), len(p.b), resident.Columns(p.b), resident.Columns(p.b2))
	k.b.Points, k.b2.Points = group.Representatives(p.b, &k.b.Sel), group.Representatives(p.b2, &k.b.Sel)
	return k, err
}

// in returns the key with all of its points loaded into an engine, at the same time. Close frees
// them.
func (k *key[P1, P2, S]) in(ctx context.Context, e *engine.Engine) (*key[P1, P2, S], error) {
	loaded := *k
	loaded.engine = e
	loaded.commit, loaded.know = slices.Clone(k.commit), slices.Clone(k.know)
	err := resident.LoadBases(ctx, k.vectors, e, k.elements(), k.g1, loaded.inG1(), k.g2, &loaded.b2)
	if err != nil {
		return nil, err
	}
	return &loaded, nil
}

// inG1 returns all bases except b2.
func (k *key[P1, P2, S]) inG1() []*resident.Bases[P1, S] {
	all := []*resident.Bases[P1, S]{&k.a, &k.b, &k.k, &k.z}
	for i := range k.commit {
		all = append(all, &k.commit[i], &k.know[i])
	}
	return all
}

// CheckKey looks whether all points are in the group of order r.
func (k *key[P1, P2, S]) CheckKey(ctx context.Context) error {
	check := func(what string, points []P1) func() error {
		return func() error { return resident.CheckPoints(ctx, k.engine, k.g1, what, points) }
	}
	all := []func() error{
		check("G1.Alpha, Beta and Delta", []P1{k.blinding.Alpha, k.blinding.Beta, k.blinding.Delta}),
		check("G1.A", k.a.Points), check("G1.B", k.b.Points), check("G1.K", k.k.Points), check("G1.Z", k.z.Points),
		func() error {
			return resident.CheckPoints(ctx, k.engine, k.g2, "G2.Beta and Delta", []P2{k.blinding.Beta2, k.blinding.Delta2})
		},
		func() error { return resident.CheckPoints(ctx, k.engine, k.g2, "G2.B", k.b2.Points) },
	}
	for i := range k.commit {
		all = append(all, check(fmt.Sprintf("CommitmentKeys[%d].Basis", i), k.commit[i].Points),
			check(fmt.Sprintf("CommitmentKeys[%d].BasisExpSigma", i), k.know[i].Points))
	}
	for _, f := range all {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the proofs in flight and frees the loaded points.
func (k *key[P1, P2, S]) Close() error { return resident.CloseBases(k.inG1(), &k.b2) }
