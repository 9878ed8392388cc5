package groth16

import (
	"context"
	"errors"
	"sync"
	"time"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/blinding"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/matrices"
	"github.com/pippin-zk/pippin/prover/internal/proving"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/prover/internal/solve"
	"github.com/pippin-zk/pippin/vector"
)

// prover is a proving.Scheme with its types as parameters.
type prover[P1, P2 any, S comparable] struct {
	*key[P1, P2, S]
	overlap overlap
	where   where
	tables  *resident.Vectors[*vector.Session[S], *tables[S]]
	here    *here[S]
	stream  *stream[P1, P2, S] // the stream to which its proofs belong, or nil
}

// here is the matrices where this process multiplies them.
type here[S comparable] struct {
	mu   sync.Mutex
	pair *matrices.Pair[S]
}

// matricesOf returns the matrices A and B of a constraint system, until ctx ends.
func (c *curve[P1, P2, S]) matricesOf(ctx context.Context, sys *solve.System[S]) (*matrices.Pair[S], error) {
	return matrices.Of(ctx, c.fr, c.vectors.Curve(), sys.Solver, &sys.System)
}

// matricesHere returns the matrices of a constraint system, or those of the one before.
func (p *prover[P1, P2, S]) matricesHere(ctx context.Context, sys *solve.System[S]) (_ *matrices.Pair[S], err error) {
	p.here.mu.Lock()
	defer p.here.mu.Unlock()
	if p.here.pair == nil {
		p.here.pair, err = p.matricesOf(ctx, sys)
	}
	return p.here.pair, err
}

func (p *prover[P1, P2, S]) In(ctx context.Context, e *engine.Engine) (scheme, error) {
	k, err := p.key.in(ctx, e)
	if err != nil {
		return nil, err
	}
	return newProver(k, p.overlap, p.where), nil
}

// newProver connects a loaded key with the way its proofs are computed.
func newProver[P1, P2 any, S comparable](k *key[P1, P2, S], o overlap, at where) *prover[P1, P2, S] {
	return &prover[P1, P2, S]{key: k, overlap: o, where: at, here: new(here[S]),
		tables: resident.NewVectors[*vector.Session[S], *tables[S]]()}
}

// Close waits for the proofs in flight and frees what is resident.
func (p *prover[P1, P2, S]) Close() error {
	return errors.Join(p.tables.Close(), p.key.Close())
}

// overlap says whether the transforms run beside the witness's MSMs.
type overlap int

const (
	// overlapAuto runs them beside the MSMs if these are computed by another process, where they
	// cost no time. In one process the transforms and the MSMs each keep all processors busy, and
	// one batch with all MSMs is fastest.
	overlapAuto overlap = iota
	overlapAlways
	overlapNever
)

// on reports whether the transforms run beside the witness's MSMs, which an engine computes.
func (o overlap) on(e *engine.Engine) bool {
	return o == overlapAlways || o == overlapAuto && !e.Info().InProcess
}

// sums are the results of a proof's MSMs, which are secret.
type sums[P1, P2 any] struct {
	blinding.Sums[P1, P2]
	knowledge []P1 // one for each commitment
}

// Prove solves the constraint system and makes a proof. It wipes everything secret before it
// returns.
func (p *prover[P1, P2, S]) Prove(ctx context.Context, ccs constraint.ConstraintSystem, w witness.Witness,
	cfg *gnark.ProverConfig) (Proof, error) {
	sys, err := p.systemOf(ccs)
	if err != nil {
		return nil, err
	}
	if _, err := proving.Inputs(sys, w); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := len(p.shape.commitments)
	com := make([]P1, n)
	total := &sums[P1, P2]{knowledge: make([]P1, n)}
	blind := new(blinding.Blinding[P1, P2, S])
	var mem resident.Memory
	defer mem.Free()
	mem.Add(func() {
		clear(total.knowledge)
		*total, *blind = sums[P1, P2]{}, blinding.Blinding[P1, P2, S]{}
	})
	var beside sync.WaitGroup
	defer beside.Wait()

	sys.Engine = p.engine
	of := pending[P1, P2, S]{sys: &sys, out: total}
	quotientOn, wiresOn := p.onBackend()
	loan := resident.NewLoan[S](ctx, &mem, p.engine, p.vectors.Curve())
	var run *resident.Running[S]
	if quotientOn {
		sys.Lend = loan.Lend
	}
	if quotientOn && p.stream == nil { // which has sessions of its own
		run = resident.NewRunning(ctx, p.vectors, p.engine, p.proofElements())
		defer run.End()
		sys.Settled = func(wires []S) (retract func()) {
			run.Start(p.compute(pending[P1, P2, S]{&sys, wires, total}))
			return run.Retract
		}
	}
	solving, end := p.engine.Observe(ctx, engine.Phase{Kind: engine.PhaseSolve})
	sol, err := sys.Run(solving, w, cfg.SolverOpts, p.commitment(solving, cfg, com))
	if end(err); err != nil {
		return nil, err
	}
	free := sync.OnceFunc(func() { sys.Solver.Free(sol) })
	mem.Add(free)
	of.wires = sol.Wires
	since := time.Now()
	if err := p.blinding.Draw(blind); err != nil {
		return nil, err
	}
	masked := make(chan struct{})
	beside.Go(func() {
		defer close(masked)
		p.blinding.Mask(blind)
	})
	hashes := p.hashes(sol.Wires)
	switch {
	case p.stream != nil:
		err = p.stream.sums(of)
	case quotientOn:
		if !run.Started() {
			run.Start(p.compute(of))
		} else if wiresOn && sol.OwnWires {
			beside.Go(free) // it is a copy that is read
		}
		if !wiresOn {
			err = p.overWiresHere(ctx, &mem, of)
		}
		if err == nil {
			_, err = run.Wait()
		}
	default:
		err = p.sumsHere(ctx, &mem, of)
	}
	if err != nil {
		return nil, err
	}
	beside.Go(free)
	beside.Go(loan.Free)
	<-masked
	pr := &proof[P1, P2]{commitments: com}
	pr.ar, pr.bs, pr.krs = p.blinding.Join(&total.Sums, blind)
	if pr.commitmentPok, err = p.fold(hashes, total.knowledge); err != nil {
		return nil, err
	}
	proof := p.proof(pr)
	proving.Log("groth16", proof.CurveID(), p.engine.Backend(), p.shape.constraints, since)
	return proof, nil
}

// sumsHere computes all sums of a proof whose quotient this process computes. They are one batch, or two if the quotient
// is computed beside the first.
func (p *prover[P1, P2, S]) sumsHere(ctx context.Context, mem *resident.Memory, of pending[P1, P2, S]) error {
	addZ := func(batch *resident.Batch, h []S) {
		merging := p.scalars
		if merging == resident.Auto {
			merging = resident.Never // the coefficients of H are all different
		}
		p.add(ctx, batch, mem, &p.z, h, merging, &of.out.Z)
	}
	if !p.overlap.on(p.engine) {
		h, err := p.quotient(ctx, mem, of)
		if err != nil {
			return err
		}
		batch := resident.NewBatch(p.engine)
		addZ(batch, h)
		p.addOverWires(ctx, batch, mem, of)
		return batch.Run(ctx)
	}
	both, within := errgroup.WithContext(ctx)
	var h []S
	both.Go(func() (err error) {
		h, err = p.quotient(within, mem, of)
		return err
	})
	both.Go(func() error { return p.overWiresHere(within, mem, of) })
	if err := both.Wait(); err != nil {
		return err
	}
	batch := resident.NewBatch(p.engine)
	addZ(batch, h)
	return batch.Run(ctx)
}

// overWiresHere computes the sums over wires whose scalars this process adds up or chooses.
func (p *prover[P1, P2, S]) overWiresHere(ctx context.Context, mem *resident.Memory, of pending[P1, P2, S]) error {
	batch := resident.NewBatch(p.engine)
	p.addOverWires(ctx, batch, mem, of)
	return batch.Run(ctx)
}

// addOverWires adds the sums over A, B in both groups, K, and the commitments' bases for the proofs of knowledge.
func (p *prover[P1, P2, S]) addOverWires(ctx context.Context, batch *resident.Batch, mem *resident.Memory, of pending[P1, P2, S]) {
	w, out := of.wires, of.out
	p.add(ctx, batch, mem, &p.a, w, p.scalars, &out.A)
	b, err := p.pick(ctx, mem, &p.b, w)
	if err != nil {
		batch.Fail(err)
	}
	resident.Add(ctx, batch, p.b.Table, b, p.scalars, &out.B)
	resident.Add(ctx, batch, p.b2.Table, b, p.scalars, &out.B2)
	p.add(ctx, batch, mem, &p.k, w, p.scalars, &out.K)
	for i := range p.know {
		p.add(ctx, batch, mem, &p.know[i], w, p.scalars, &out.knowledge[i])
	}
}

// add adds the MSM of selected values to a batch.
func (p *prover[P1, P2, S]) add(ctx context.Context, batch *resident.Batch, mem *resident.Memory,
	b *resident.Bases[P1, S], values []S, m Merging, out *P1) {
	scalars, err := p.pick(ctx, mem, b, values)
	if err != nil {
		batch.Fail(err)
		return
	}
	resident.Add(ctx, batch, b.Table, scalars, m, out)
}

// pick returns the scalars of an MSM: sums of selected values, or the values themselves if none are
// added up or left out.
func (p *prover[P1, P2, S]) pick(ctx context.Context, mem *resident.Memory, b *resident.Bases[P1, S], values []S) ([]S, error) {
	return resident.Pick(ctx, mem, p.engine, p.g1, p.fr, &b.Sel, values)
}

// sumOf computes one MSM.
func (p *prover[P1, P2, S]) sumOf(ctx context.Context, b *resident.Bases[P1, S], values []S, merging Merging, out *P1) error {
	var mem resident.Memory
	defer mem.Free()
	batch := resident.NewBatch(p.engine)
	p.add(ctx, batch, &mem, b, values, merging, out)
	return batch.Run(ctx)
}

// quotient computes the n-1 coefficients of H = (A*B-C)/(X^n-1), in memory that the backend reads without a copy. When
// ctx ends it returns ctx's error.
func (p *prover[P1, P2, S]) quotient(ctx context.Context, mem *resident.Memory, of pending[P1, P2, S]) ([]S, error) {
	pair, err := p.matricesHere(ctx, of.sys)
	if err != nil {
		return nil, err
	}
	n := p.domain.Size
	a := resident.Scalars(ctx, mem, p.engine, p.g1, n)
	by := of.sys.Solver // to make and clear this much memory anew takes as long as to fill it
	b, c := by.Take(n), by.Take(n)
	defer by.Give(b)
	defer by.Give(c)
	if err := pair.Products(ctx, a, b, c, of.wires); err != nil {
		return nil, err
	}
	return a[:n-1], p.domain.Quotient(ctx, a, b, c)
}

// foldingDst is the domain separator of the hash that folds the proofs of knowledge.
const foldingDst = "G16-BSB22"

// hashes returns the commitments' hashes, which are values of wires, one after the other.
func (p *prover[P1, P2, S]) hashes(wires []S) (b []byte) {
	for _, c := range p.shape.commitments {
		b = append(b, p.fr.Marshal(&wires[c.CommitmentIndex])...)
	}
	return b
}

// fold joins the proofs of knowledge of the commitments into one: it multiplies each by a power of
// a challenge and adds them up. The challenge is a hash of the commitments' hashes.
func (p *prover[P1, P2, S]) fold(hashes []byte, knowledge []P1) (sum P1, err error) {
	if len(knowledge) == 0 {
		return sum, nil
	}
	challenge, err := p.fr.Hash(hashes, []byte(foldingDst), 1)
	if err != nil {
		return sum, err
	}
	terms := make([]group.Term[P1], len(knowledge))
	power := challenge[0]
	for i, point := range knowledge {
		terms[i].Point = point
		if i > 0 {
			terms[i].K = p.fr.Big(&power)
			p.fr.Mul(&power, &power, &challenge[0])
		}
	}
	return p.g1.Sum(terms...), nil
}
