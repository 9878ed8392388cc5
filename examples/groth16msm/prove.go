package main

import (
	"context"
	"errors"
	"math/big"
	"time"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	groth16 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/consensys/gnark/backend/witness"
	cs "github.com/consensys/gnark/constraint/bn254"

	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
)

// sums is the answers of a proof's MSMs, each named after its bases.
type sums struct {
	a, b1, k, z bn254.G1Affine
	b2          bn254.G2Affine
	knowledge   []bn254.G1Affine // one for each commitment
}

// onEngine computes all MSMs of a proof as one batch: the backend may overlap
// them, and the scalars that two of them share cross to it once.
func onEngine(ctx context.Context, engine *engine.Engine, key *residentKey, s *solved) (*sums, error) {
	batch := msm.NewBatch(engine)
	a := key.a.Add(batch, s.a)
	b1 := key.b1.Add(batch, s.b)
	b2 := key.b2.Add(batch, s.b)
	k := key.k.Add(batch, s.k)
	z := key.z.Add(batch, s.z)
	var knowledge []*g1Answer
	for i, c := range key.commitments {
		knowledge = append(knowledge, c.knowledge.Add(batch, s.committed[i]))
	}
	if err := batch.Run(ctx); err != nil {
		return nil, err
	}
	out := &sums{a: a.Point(), b1: b1.Point(), b2: b2.Point(), k: k.Point(), z: z.Point()}
	for _, p := range knowledge {
		out.knowledge = append(out.knowledge, p.Point())
	}
	return out, nil
}

// onGnarkCrypto computes the same with gnark-crypto alone.
func onGnarkCrypto(pk *groth16.ProvingKey, s *solved) (*sums, error) {
	var failed error
	g1 := func(points []bn254.G1Affine, scalars []fr.Element) (sum bn254.G1Affine) {
		_, err := sum.MultiExp(points, scalars, ecc.MultiExpConfig{})
		failed = errors.Join(failed, err)
		return sum
	}
	out := &sums{a: g1(pk.G1.A, s.a), b1: g1(pk.G1.B, s.b), k: g1(pk.G1.K, s.k), z: g1(pk.G1.Z, s.z)}
	_, err := out.b2.MultiExp(pk.G2.B, s.b, ecc.MultiExpConfig{})
	failed = errors.Join(failed, err)
	for i := range pk.CommitmentKeys {
		out.knowledge = append(out.knowledge, g1(pk.CommitmentKeys[i].BasisExpSigma, s.committed[i]))
	}
	return out, failed
}

// different names the MSMs whose answers are not those of want.
func (got *sums) different(want *sums) (names []string) {
	check := func(name string, equal bool) {
		if !equal {
			names = append(names, name)
		}
	}
	check("A", got.a.Equal(&want.a))
	check("B1", got.b1.Equal(&want.b1))
	check("B2", got.b2.Equal(&want.b2))
	check("K", got.k.Equal(&want.k))
	check("Z", got.z.Equal(&want.z))
	equal := len(got.knowledge) == len(want.knowledge)
	for i := 0; equal && i < len(want.knowledge); i++ {
		equal = got.knowledge[i].Equal(&want.knowledge[i])
	}
	check("proof of knowledge", equal)
	return names
}

// assemble makes the proof from the MSMs and the two blinding factors:
//
//	Ar  = alpha + A + r*delta
//	Bs  = beta + B + s*delta           (in G2; in G1 the same for Krs)
//	Krs = K + Z + s*Ar + r*Bs - r*s*delta
//
// Source: Groth, ePrint 2016/260, section 3.2. The proofs of knowledge of the
// Pedersen commitments are folded into one with powers of a challenge.
func assemble(pk *groth16.ProvingKey, sol *solved, m *sums, r, s fr.Element) (*groth16.Proof, error) {
	var rs fr.Element
	rs.Mul(&r, &s).Neg(&rs)
	delta := bn254.BatchScalarMultiplicationG1(&pk.G1.Delta, []fr.Element{r, s, rs})

	p := &groth16.Proof{Commitments: sol.commitments}
	p.Ar = total(pk.G1.Alpha, m.a, delta[0])
	bs1 := total(pk.G1.Beta, m.b1, delta[1])

	var rInt, sInt big.Int
	var sAr, rBs1 bn254.G1Affine
	sAr.ScalarMultiplication(&p.Ar, s.BigInt(&sInt))
	rBs1.ScalarMultiplication(&bs1, r.BigInt(&rInt))
	p.Krs = total(m.k, m.z, sAr, rBs1, delta[2])

	p.Bs.ScalarMultiplication(&pk.G2.Delta, &sInt)
	p.Bs.Add(&p.Bs, &pk.G2.Beta)
	p.Bs.Add(&p.Bs, &m.b2)

	if len(m.knowledge) == 0 {
		return p, nil
	}
	var hashed []byte
	for i := range sol.challenges {
		hashed = append(hashed, sol.challenges[i].Marshal()...)
	}
	fold, err := fr.Hash(hashed, []byte("G16-BSB22"), 1) // the name that gnark's verifier uses
	if err != nil {
		return nil, err
	}
	_, err = p.CommitmentPok.Fold(m.knowledge, fold[0], ecc.MultiExpConfig{})
	return p, err
}

func total(points ...bn254.G1Affine) bn254.G1Affine {
	var sum bn254.G1Jac
	for i := range points {
		sum.AddMixed(&points[i])
	}
	var out bn254.G1Affine
	out.FromJacobian(&sum)
	return out
}

// A result is a proof with what led to it.
type result struct {
	proof       *groth16.Proof
	solved      *solved
	sums        *sums
	solve, msms time.Duration // solve includes the Pedersen commitments' MSMs
}

// prove is a Groth16 prover whose every MSM runs on the engine. r and s hide
// the witness: a real prover draws them at random for each proof.
func prove(ctx context.Context, engine *engine.Engine, key *residentKey, system *cs.R1CS, pk *groth16.ProvingKey, full witness.Witness, r, s fr.Element) (*result, error) {
	start := time.Now()
	sol, err := solve(system, pk, full, func(i int, values []fr.Element) (bn254.G1Affine, error) {
		return key.commitments[i].commit.MSM(ctx, values)
	})
	if err != nil {
		return nil, err
	}
	res := &result{solved: sol, solve: time.Since(start)}
	start = time.Now()
	if res.sums, err = onEngine(ctx, engine, key, sol); err != nil {
		return nil, err
	}
	res.msms = time.Since(start)
	res.proof, err = assemble(pk, sol, res.sums, r, s)
	return res, err
}
