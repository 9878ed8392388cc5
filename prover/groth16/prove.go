package groth16

import (
	"cmp"
	"context"
	"errors"
	"time"

	gnark "github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/blinding"
	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/proving"
	"github.com/pippin-zk/pippin/prover/internal/resident"
	"github.com/pippin-zk/pippin/vector"
)

// prover is a proving.Scheme with its types as parameters.
type prover[P1, P2 any, S comparable] struct {
	*key[P1, P2, S]
	overlap overlap
	where   where
	choice  *resident.Vectors[*vector.Session[S], *choice[S]]
	stream  *stream[P1, P2, S] // the stream to which its proofs belong, or nil
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
	return &prover[P1, P2, S]{key: k, overlap: o, where: at, choice: resident.NewVectors[*vector.Session[S], *choice[S]]()}
}

// Close waits for the proofs in flight and frees what is resident.
func (p *prover[P1, P2, S]) Close() error {
	return errors.Join(p.choice.Close(), p.key.Close())
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
	ctx, own := p.open(ctx)
	defer own.close()

	sys.Engine = p.engine
	loan := resident.NewLoan[S](ctx, &mem, p.engine, p.vectors.Curve())
	if quotient, wires := p.onBackend(); quotient && wires {
		sys.Lend = loan.Lend
	}
	if own.wires != nil {
		sys.Settled = func(w []S) (retract func()) {
			return p.startWires(ctx, own, pending[P1, P2, S]{&solution[S]{w: w}, total})
		}
	}
	solving, end := p.engine.Observe(ctx, engine.Phase{Kind: engine.PhaseSolve})
	solved, err := sys.Run(solving, w, cfg.SolverOpts, p.commitment(solving, cfg, com))
	end(err)
	if err != nil {
		return nil, cmp.Or(own.beside.Wait(), err) // sums that fail end the proof's context, and the solver by it
	}
	sol := solutionOf(sys.Solver, solved, loan)
	mem.Add(sol.wipe)
	since := time.Now()
	if err := p.blinding.Draw(blind); err != nil {
		return nil, err
	}
	masked := make(chan struct{})
	own.beside.Go(func() error {
		defer close(masked)
		p.blinding.Mask(blind)
		return nil
	})
	hashes := p.hashes(sol.w)
	if p.stream != nil {
		err = p.stream.msms(pending[P1, P2, S]{sol, total})
	} else {
		err = p.msms(ctx, &mem, own, sol, total)
	}
	if err != nil {
		return nil, err
	}
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

// msms computes all sums over the key's points. On a backend with vectors these are two programs:
// one over the wires, which our solver has begun, and one that ends with the sum over Z. Elsewhere they
// are one batch, or two if the quotient is computed beside the first. It closes sessions while the proof
// goes on.
func (p *prover[P1, P2, S]) msms(ctx context.Context, mem *resident.Memory, own *sessions[S],
	sol *solution[S], out *sums[P1, P2]) (err error) {
	defer func() {
		if err != nil {
			own.cancel()
			_ = own.beside.Wait() // this function wipes sol when it returns
		}
	}()
	batch := resident.NewBatch(p.engine)
	addZ := func(h []S) {
		merging := p.scalars
		if merging == resident.Auto {
			merging = resident.Never // the coefficients of H are all different
		}
		p.add(ctx, batch, mem, &p.z, h, merging, &out.Z)
	}
	var h []S
	var started []<-chan struct{}
	quotientOn, wiresOn := own.quotient != nil, own.wires != nil
	transforms := !quotientOn && p.overlap.on(p.engine)
	switch {
	case quotientOn:
		started = append(started, own.start(func(ready func()) error {
			return p.sumOverZ(ctx, own.quotient, sol, func(z P1) {
				out.Z = z
				own.beside.Go(func() error { sol.wipeFactors(); return nil })
				ready()
			})
		}))
	case transforms:
		started = append(started, own.start(func(ready func()) (err error) {
			if h, err = p.quotient(ctx, p.workspace(ctx, mem, sol), sol); err == nil {
				ready()
			}
			return err
		}))
	default:
		if h, err = p.quotient(ctx, p.workspace(ctx, mem, sol), sol); err != nil {
			return err
		}
		addZ(h)
	}
	if wiresOn {
		if own.started == nil {
			p.startWires(ctx, own, pending[P1, P2, S]{sol, out})
		}
		if err := own.until(ctx, own.started); err != nil {
			return err
		}
		own.beside.Go(func() error { sol.wipeWires(); return nil })
	} else {
		p.add(ctx, batch, mem, &p.a, sol.w, p.scalars, &out.A)
		b, err := p.pick(ctx, mem, &p.b, sol.w)
		if err != nil {
			batch.Fail(err)
		}
		resident.Add(ctx, batch, p.b.Table, b, p.scalars, &out.B)
		resident.Add(ctx, batch, p.b2.Table, b, p.scalars, &out.B2)
		p.add(ctx, batch, mem, &p.k, sol.w, p.scalars, &out.K)
		for i := range p.know {
			p.add(ctx, batch, mem, &p.know[i], sol.w, p.scalars, &out.knowledge[i])
		}
		started = append(started, own.start(func(ready func()) error {
			err := batch.Run(ctx)
			if err == nil {
				ready()
			}
			return err
		}))
	}
	if err := own.until(ctx, started...); err != nil || !transforms {
		return err
	}
	batch = resident.NewBatch(p.engine)
	addZ(h)
	return batch.Run(ctx)
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

// workspace returns the values of A in memory that the backend reads without a copy, padded with
// zeros to the domain's size.
func (p *prover[P1, P2, S]) workspace(ctx context.Context, mem *resident.Memory, sol *solution[S]) []S {
	if p.engine.Info().InProcess {
		sol.a = padded(sol.a, p.domain.Size)
		return sol.a
	}
	a := resident.Scalars(ctx, mem, p.engine, p.g1, p.domain.Size)
	copy(a, sol.a)
	return a
}

// quotient computes the n-1 coefficients of H = (A*B-C)/(X^n-1). a has the values of A, and gets
// the result. It overwrites the solution's memory too. When ctx ends it returns ctx's error.
func (p *prover[P1, P2, S]) quotient(ctx context.Context, a []S, sol *solution[S]) ([]S, error) {
	n := p.domain.Size
	sol.b, sol.c = padded(sol.b, n), padded(sol.c, n)
	return a[:n-1], p.domain.Quotient(ctx, a, sol.b, sol.c)
}

// padded returns v padded with zeros to length n. If it needs new memory, it wipes v.
func padded[S any](v []S, n int) []S {
	if cap(v) < n {
		longer := make([]S, n)
		copy(longer, v)
		clear(v)
		return longer
	}
	was := len(v)
	v = v[:n]
	clear(v[was:])
	return v
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
