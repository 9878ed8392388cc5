package circom

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/blinding"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// prover is a scheme with its types as parameters.
type prover[P1, P2 any, S comparable] struct {
	*key[P1, P2, S]
	tables *resident.Vectors[*vector.Session[S], *tables[S]]
}

// newProver returns the prover of a loaded key.
func newProver[P1, P2 any, S comparable](k *key[P1, P2, S]) *prover[P1, P2, S] {
	return &prover[P1, P2, S]{key: k, tables: resident.NewVectors[*vector.Session[S], *tables[S]]()}
}

// Close waits for the proofs in flight and frees what is resident.
func (p *prover[P1, P2, S]) Close() error { return errors.Join(p.tables.Close(), p.key.Close()) }

// verify verifies a proof with the key's own verifying key.
func (p *prover[P1, P2, S]) verify(proof *Proof) error { return p.verifier.verify(proof) }

// verifyingKey returns the verifying key.
func (p *prover[P1, P2, S]) verifyingKey() *VerifyingKey { return p.verifier.verifyingKey() }

// log2 returns the logarithm of a power of two.
func log2(n int) int { return bits.TrailingZeros(uint(n)) }

// onceDomain returns a function that makes the transforms of this process when they are first
// needed: their tables take memory and time, and a backend with vectors needs none.
func onceDomain[P1, P2 any, S comparable](c *curve[P1, P2, S], size int, shift S) func() *group.Domain[S] {
	return sync.OnceValue(func() *group.Domain[S] { return c.domain(size, shift) })
}

// onBackend reports whether an engine's backend computes programs over vectors in another process.
func (c *curve[P1, P2, S]) onBackend(e *engine.Engine) bool {
	return resident.Elsewhere(e, c.vectors.Curve())
}

// plain reports whether all scalars over wires are values of the witness as they are.
func (p *prover[P1, P2, S]) plain() bool {
	return p.merging != MergeAlways && p.a.Sel.Classes == nil && p.b1.Sel.Classes == nil && p.cs.Sel.Classes == nil
}

// prove makes a proof. It wipes everything secret before it returns.
func (p *prover[P1, P2, S]) prove(ctx context.Context, values []byte) (*Proof, error) {
	total, blind := new(blinding.Sums[P1, P2]), new(blinding.Blinding[P1, P2, S])
	var mem resident.Memory
	defer mem.Free()
	mem.Add(func() { *total, *blind = blinding.Sums[P1, P2]{}, blinding.Blinding[P1, P2, S]{} })
	if err := p.blinding.Draw(blind); err != nil {
		return nil, err
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { p.blinding.Mask(blind) })

	var session *resident.Ahead[S]
	if p.plain() && p.onBackend(p.engine) {
		session = resident.OpenAhead(ctx, p.vectors, p.engine, p.elements())
		defer session.Close()
	}
	wires := resident.Scalars(ctx, &mem, p.engine, p.g1, p.wires)
	if err := p.take(ctx, wires, values); err != nil {
		return nil, err
	}
	public := p.public(layout.Bytes(wires)) // of the copy, which nobody changes
	var err error
	if session != nil {
		_, err = session.Repeat(ctx, func(ctx context.Context, s *vector.Session[S]) error { return p.sumsIn(ctx, s, wires, total) })
	} else {
		err = p.sumsHere(ctx, &mem, wires, total)
	}
	if err != nil {
		return nil, err
	}
	beside.Wait()
	proof := p.proof(p.blinding.Join(total, blind))
	proof.Public = public
	return proof, nil
}

// take copies the values of a witness, until ctx ends, and refuses what no witness has.
func (p *prover[P1, P2, S]) take(ctx context.Context, wires []S, values []byte) error {
	to, r := layout.Bytes(wires), layout.ScalarField(p.vectors.Curve())
	const part = 1 << 12
	var mu sync.Mutex
	wrong := len(wires)
	if err := merge.Until(ctx, len(wires), part, func(lo, hi int) {
		b := to[lo*valueBytes : hi*valueBytes]
		copy(b, values[lo*valueBytes:])
		if i := layout.FirstNotBelow(b, r); i >= 0 {
			mu.Lock()
			wrong = min(wrong, lo+i)
			mu.Unlock()
		}
	}); err != nil {
		return err
	}
	if wrong < len(wires) {
		return fmt.Errorf("%w: wtns: the value of wire %d is not below r", backend.ErrInvalidInput, wrong)
	}
	if littleEndian(to[:valueBytes]).Cmp(big.NewInt(1)) != 0 {
		return fmt.Errorf("%w: wtns: the value of wire 0 is not 1", backend.ErrInvalidInput)
	}
	return nil
}

// public returns the public signals of a witness.
func (p *prover[P1, P2, S]) public(values []byte) []*big.Int {
	public := make([]*big.Int, len(p.verifier.ic)-1)
	for i := range public {
		public[i] = littleEndian(values[(i+1)*valueBytes : (i+2)*valueBytes])
	}
	return public
}

// r returns R, which turns plain values into Montgomery form, as an element.
func (p *prover[P1, P2, S]) r() (r S) {
	p.fr.SetBig(&r, new(big.Int).Lsh(big.NewInt(1), 8*valueBytes))
	return r
}

// sumsHere computes all sums in one batch, after the quotient, which this process computes.
func (p *prover[P1, P2, S]) sumsHere(ctx context.Context, mem *resident.Memory, wires []S, out *blinding.Sums[P1, P2]) error {
	r := p.r()
	if err := p.fr.Scale(ctx, wires, &r); err != nil {
		return err
	}
	n := p.domain
	h := resident.Scalars(ctx, mem, p.engine, p.g1, n)
	b, c := make([]S, n), make([]S, n)
	defer merge.Wipe(b, c)
	if err := p.matrices.Products(ctx, h, b, c, wires); err != nil {
		return err
	}
	if err := p.domainOf().OnCoset(ctx, h, b, c); err != nil {
		return err
	}
	batch := resident.NewBatch(p.engine)
	merging := p.merging
	if merging == MergeAuto {
		merging = MergeNever // the quotient's values are all different
	}
	resident.Add(ctx, batch, p.h.Table, h, merging, &out.Z)
	scalars := func(sel *group.Selection, of []S) []S {
		picked, err := resident.Pick(ctx, mem, p.engine, p.g1, p.fr, sel, of)
		if err != nil {
			batch.Fail(err)
		}
		return picked
	}
	resident.Add(ctx, batch, p.a.Table, scalars(&p.a.Sel, wires), p.merging, &out.A)
	ofB := scalars(&p.b1.Sel, wires)
	resident.Add(ctx, batch, p.b1.Table, ofB, p.merging, &out.B)
	resident.Add(ctx, batch, p.b2.Table, ofB, p.merging, &out.B2)
	resident.Add(ctx, batch, p.cs.Table, scalars(&p.cs.Sel, wires[p.private():]), p.merging, &out.K)
	return batch.Run(ctx)
}

// tables are what proofs need in a backend's memory beside the points: the wires for which A, B and C
// have points, of which an empty table means all, and the matrices.
type tables[S comparable] struct {
	a, b, c  vector.Indices[S]
	matrices [2]vector.Matrix[S]
}

// mostChosen returns the most values that a sum over some of the wires takes.
func (k *key[P1, P2, S]) mostChosen() int {
	return max(len(k.a.Sel.From), len(k.b1.Sel.From), len(k.cs.Sel.From))
}

// elements returns how many elements the session of a proof has.
func (k *key[P1, P2, S]) elements() int {
	return k.wires + k.mostChosen() + 3*k.domain
}

// chosen returns the wires for which A, B and C have points.
func (k *key[P1, P2, S]) chosen() [][]uint32 {
	return [][]uint32{k.a.Sel.From, k.b1.Sel.From, k.cs.Sel.From}
}

// tableElements returns how many elements the session of the tables has.
func (k *key[P1, P2, S]) tableElements() int {
	return resident.IndexElements(k.vectors, k.chosen()...) + k.matrices.Elements(k.vectors)
}

// sumsIn computes all sums by one program in a session: those over the wires, whose plain values it
// is given, and that over H, whose scalars never leave the backend.
func (p *prover[P1, P2, S]) sumsIn(ctx context.Context, s *vector.Session[S], wires []S, out *blinding.Sums[P1, P2]) (err error) {
	on, release, err := p.tables.Beside(ctx, s, p.loadTables)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	n := p.domain
	w, some := s.New(p.wires), s.New(p.mostChosen())
	x, y, z := s.New(n), s.New(n), s.New(n)
	program := s.Program()
	program.Write(w, wires)
	program.Scale(w, w, p.r())
	take := func(from vector.Vector[S], chosen vector.Indices[S]) vector.Vector[S] {
		if chosen.Len() == 0 {
			return from
		}
		v := some.Slice(0, chosen.Len())
		program.Gather(v, from, chosen)
		return v
	}
	sumA := resident.Commit(program, p.a.Table, take(w, on.a))
	ofB := take(w, on.b)
	sumB1, sumB2 := resident.Commit(program, p.b1.Table, ofB), resident.Commit(program, p.b2.Table, ofB)
	sumC := resident.Commit(program, p.cs.Table, take(w.Slice(p.private(), p.wires), on.c))
	program.SparseProduct(x, on.matrices[0], w)
	program.SparseProduct(y, on.matrices[1], w)
	program.Mul(z, x, y)
	for _, v := range []vector.Vector[S]{x, y, z} {
		program.Transform(v, v, vector.Transform[S]{Inverse: true, To: backend.Reversed})
		program.Transform(v, v, vector.Transform[S]{From: backend.Reversed, Shift: p.shift})
	}
	program.Map(x, x.Expr().Mul(y.Expr()).Sub(z.Expr()))
	sumH := resident.Commit(program, p.h.Table, x)
	if err := program.Run(ctx); err != nil {
		return err
	}
	*out = blinding.Sums[P1, P2]{A: sumA.Get(), B: sumB1.Get(), B2: sumB2.Get(), K: sumC.Get(), Z: sumH.Get()}
	return nil
}

// loadTables writes the tables to a new session beside another.
func (p *prover[P1, P2, S]) loadTables(ctx context.Context, beside *vector.Session[S]) (*vector.Session[S], *tables[S], error) {
	s, x, matrices, err := p.matrices.Load(ctx, p.vectors, beside, p.chosen()...)
	if err != nil {
		return nil, nil, err
	}
	return s, &tables[S]{x[0], x[1], x[2], matrices}, nil
}

// proof returns a proof of three points.
func (p *prover[P1, P2, S]) proof(a P1, b P2, c P1) *Proof {
	on := p.vectors.Curve()
	return &Proof{
		Curve: p.id(),
		A:     g1Of(on, layout.Bytes([]P1{a})),
		B:     g2Of(on, layout.Bytes([]P2{b})),
		C:     g1Of(on, layout.Bytes([]P1{c})),
	}
}
