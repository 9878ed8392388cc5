package mpcsetup

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/consensys/gnark/backend/groth16"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/prover/internal/keyfile"
	"github.com/pippin-zk/pippin/prover/internal/programs"
)

// phase2 points to the fields of a gnark Phase2.
type phase2[P1, P2, U any] struct {
	delta1    *P1
	z, pkk    *[]P1
	sigmaCKK  *[][]P1 // a commitment's basis times its sigma
	delta2    *P2
	sigma     *[]P2
	proof     *U // of delta
	proofs    *[]U
	challenge *[]byte
	all       io.WriterTo
}

// mostCommitments is how many commitments the numbers of their proofs allow.
const mostCommitments = math.MaxUint8

// ReadPhase2 reads what WriteTo of gnark's Phase2 has written. It checks as ReadPhase1 does.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) ReadPhase2(ctx context.Context, e *engine.Engine, from io.Reader) (*Q, error) {
	q := new(Q)
	p := c.phase2(q)
	err := on(ctx, e, func(e *engine.Engine) (err error) {
		r := keyfile.New(ctx, e, from, keyfile.PieceBytes)
		defer r.End()
		n := int(binary.BigEndian.Uint16(r.Bytes("number of commitments", 2)))
		if n > mostCommitments {
			r.Refuse("number of commitments: %d, at most %d are possible", n, mostCommitments)
		}
		if r.Err() != nil {
			return r.Err()
		}
		r.Form()
		*p.delta1 = keyfile.Alone(r, c.g1.Group, "G1.Delta", 1)[0]
		*p.pkk = keyfile.Points(r, c.g1.Group, "G1.PKK")
		*p.z = keyfile.Points(r, c.g1.Group, "G1.Z")
		*p.delta2 = keyfile.Alone(r, c.g2.Group, "G2.Delta", 1)[0]
		*p.sigmaCKK, *p.sigma, *p.proofs = make([][]P1, n), make([]P2, n), make([]U, n)
		for i := range *p.sigmaCKK {
			(*p.sigmaCKK)[i] = keyfile.Points(r, c.g1.Group, fmt.Sprintf("G1.SigmaCKK[%d]", i))
		}
		for i := range *p.sigma {
			(*p.sigma)[i] = keyfile.Alone(r, c.g2.Group, fmt.Sprintf("G2.Sigma[%d]", i), 1)[0]
		}
		if err := r.End(); err != nil {
			return err
		}
		if err := readProof(from, p.proof); err != nil {
			return err
		}
		for i := range *p.proofs {
			if err := readProof(from, &(*p.proofs)[i]); err != nil {
				return err
			}
		}
		*p.challenge, err = readChallenge(from)
		return err
	})
	if err != nil {
		return nil, err
	}
	return q, nil
}

// consistent checks the lengths of a phase's vectors.
func (p *phase2[P1, P2, U]) consistent() error {
	n := len(*p.sigma)
	if len(*p.sigmaCKK) != n || len(*p.proofs) != n || n > mostCommitments {
		return fmt.Errorf("%w: %d, %d and %d parts for commitments, at most %d are possible",
			backend.ErrInvalidInput, len(*p.sigmaCKK), n, len(*p.proofs), mostCommitments)
	}
	return nil
}

// ContributePhase2 does what gnark's Phase2.Contribute does: it multiplies delta and the sigmas by
// random numbers, and proves that it knows these. After an error q is unchanged. The package's
// documentation says what becomes of the numbers.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) ContributePhase2(ctx context.Context, e *engine.Engine, q *Q, opts ...Option) error {
	p := c.phase2(q)
	if err := p.consistent(); err != nil {
		return err
	}
	return on(ctx, e, func(e *engine.Engine) error {
		challenge, err := hashOf(p.all)
		if err != nil {
			return err
		}
		x := make([]S, 1+len(*p.sigma))
		defer clear(x)
		proofs := make([]U, len(x))
		for i := range x {
			if err := c.draw(x[i : i+1]); err != nil {
				return err
			}
			if proofs[i], err = c.prove(&x[i], challenge, byte(ofDelta+i)); err != nil {
				return err
			}
		}
		if err := c.multiply(ctx, e, &p, &p, x, opts); err != nil {
			return err
		}
		*p.proof, *p.proofs, *p.challenge = proofs[0], proofs[1:], challenge
		return nil
	})
}

// multiply sets the points of a phase to those of another, with delta and the sigmas multiplied by
// x.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) multiply(ctx context.Context, e *engine.Engine,
	to, p *phase2[P1, P2, U], x []S, opts []Option) error {
	inverse := make([]S, 1)
	defer clear(inverse)
	c.fr.InverseTo(&inverse[0], &x[0])
	var all []programs.Program
	delta1 := scaled(&all, e, c.g1, []P1{*p.delta1}, x[:1])
	delta2 := scaled(&all, e, c.g2, []P2{*p.delta2}, x[:1])
	z := scaled(&all, e, c.g1, *p.z, inverse)
	pkk := scaled(&all, e, c.g1, *p.pkk, inverse)
	sigmaCKK, sigma := make([][]P1, len(*p.sigma)), make([]P2, len(*p.sigma))
	sigmas := make([][]P2, len(sigma))
	for i := range sigma {
		sigmaCKK[i] = scaled(&all, e, c.g1, (*p.sigmaCKK)[i], x[1+i:2+i])
		sigmas[i] = scaled(&all, e, c.g2, (*p.sigma)[i:i+1], x[1+i:2+i])
	}
	if err := run(ctx, e, opts, all); err != nil {
		return err
	}
	for i := range sigma {
		sigma[i] = sigmas[i][0]
	}
	*to.delta1, *to.delta2, *to.z, *to.pkk, *to.sigmaCKK, *to.sigma = delta1[0], delta2[0], z, pkk, sigmaCKK, sigma
	return nil
}

// VerifyPhase2Step does what gnark's Phase2.Verify does: it checks that next is a contribution to
// q, which must be correct. If not, the error is backend.ErrInvalidInput. It sets the challenge of
// next if next has none, as gnark does.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) VerifyPhase2Step(ctx context.Context, e *engine.Engine, q, next *Q, opts ...Option) error {
	p, n := c.phase2(q), c.phase2(next)
	if err := n.consistent(); err != nil {
		return err
	}
	return on(ctx, e, func(e *engine.Engine) error {
		challenge, err := hashOf(p.all)
		if err != nil {
			return err
		}
		if err := follows(*n.challenge, challenge); err != nil {
			return err
		}
		before, after := slices.Concat([][]P1{*p.z, *p.pkk}, *p.sigmaCKK), slices.Concat([][]P1{*n.z, *n.pkk}, *n.sigmaCKK)
		same := func(a, b []P1) bool { return len(a) == len(b) }
		if !slices.EqualFunc(before, after, same) || len(*p.sigma) != len(*n.sigma) {
			return fmt.Errorf("%w: a contribution of other numbers of points than the one before it", backend.ErrInvalidInput)
		}
		// For each vector it is enough to check one sum with random factors.
		longest := 0
		for _, v := range before {
			longest = max(longest, len(v))
		}
		by, err := c.random(ctx, longest)
		if err != nil {
			return err
		}
		var all []programs.Program
		sums := make([]update[P1], len(before))
		for k := range before {
			all = append(all, summed(e, c.g1, before[k], by, &sums[k].before), summed(e, c.g1, after[k], by, &sums[k].after))
		}
		if err := run(ctx, e, opts, all); err != nil {
			return err
		}
		for i := range *p.sigma {
			if err := c.verify(&(*n.proofs)[i], challenge, byte(ofSigma+i),
				[]update[P1]{sums[2+i]}, []update[P2]{{(*p.sigma)[i], (*n.sigma)[i]}}); err != nil {
				return wrong(fmt.Sprintf("sigma[%d]", i), err)
			}
		}
		// Z and PKK are divided by delta.
		if err := c.verify(n.proof, challenge, ofDelta, []update[P1]{
			{*p.delta1, *n.delta1}, {sums[0].after, sums[0].before}, {sums[1].after, sums[1].before},
		}, []update[P2]{{*p.delta2, *n.delta2}}); err != nil {
			return wrong("delta", err)
		}
		*n.challenge = challenge
		return nil
	})
}

// SealPhase2 returns the keys of a circuit: it multiplies the numbers of the last contribution by
// those that a beacon gives, as gnark's Phase2.Seal does. q is unchanged. The keys share memory
// with evaluations and commons.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) SealPhase2(ctx context.Context, e *engine.Engine, q *Q,
	commons *C, evaluations *E, beacon []byte, opts ...Option) (pk groth16.ProvingKey, vk groth16.VerifyingKey, err error) {
	p := c.phase2(q)
	if err := p.consistent(); err != nil {
		return nil, nil, err
	}
	err = on(ctx, e, func(e *engine.Engine) error {
		h, err := hashOf(p.all)
		if err != nil {
			return err
		}
		sealed := new(Q)
		to := c.phase2(sealed)
		if err := c.multiply(ctx, e, &to, &p, c.beacon(h, []byte("Groth16 MPC Setup - Phase2"), beacon, 1+len(*p.sigma)), opts); err != nil {
			return err
		}
		pk, vk, err = c.keys(commons, evaluations, sealed)
		return err
	})
	return pk, vk, err
}

// VerifyPhase2 does what gnark's VerifyPhase2 does: it checks all contributions for a circuit, in
// their order, and seals the last. OnPoints reports the beginning, each contribution and the seal.
func (c *Ceremony[P1, P2, S, U, C, Q, E, R]) VerifyPhase2(ctx context.Context, e *engine.Engine,
	r1cs *R, commons *C, beacon []byte, contributions []*Q, opts ...Option) (pk groth16.ProvingKey, vk groth16.VerifyingKey, err error) {
	err = on(ctx, e, func(e *engine.Engine) error {
		q, evaluations, err := c.InitializePhase2(ctx, e, r1cs, commons, opts...)
		if err != nil {
			return err
		}
		for i, next := range contributions {
			if err := c.VerifyPhase2Step(ctx, e, q, next, opts...); err != nil {
				return fmt.Errorf("contribution %d: %w", i, err)
			}
			q = next
		}
		pk, vk, err = c.SealPhase2(ctx, e, q, commons, evaluations, beacon, opts...)
		return err
	})
	return pk, vk, err
}
