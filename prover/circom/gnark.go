package circom

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark/backend/groth16"
	gnark381 "github.com/consensys/gnark/backend/groth16/bls12-381"
	gnark254 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/consensys/gnark/backend/witness"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Gnark returns the key as gnark's, which verifies with groth16.Verify and writes a contract with
// ExportSolidity.
func (vk *VerifyingKey) Gnark() (groth16.VerifyingKey, error) {
	c, err := vk.check()
	if err != nil {
		return nil, err
	}
	if c == backend.BN254 {
		m, err := keyMemory[bn254.G1Affine, bn254.G2Affine](vk, c)
		if err != nil {
			return nil, err
		}
		to := new(gnark254.VerifyingKey)
		to.G1.Alpha, to.G1.K = m.alpha, m.ic
		to.G2.Beta, to.G2.Gamma, to.G2.Delta = m.beta, m.gamma, m.delta
		return to, to.Precompute()
	}
	m, err := keyMemory[bls12381.G1Affine, bls12381.G2Affine](vk, c)
	if err != nil {
		return nil, err
	}
	to := new(gnark381.VerifyingKey)
	to.G1.Alpha, to.G1.K = m.alpha, m.ic
	to.G2.Beta, to.G2.Gamma, to.G2.Delta = m.beta, m.gamma, m.delta
	return to, to.Precompute()
}

// VerifyingKeyOf returns one of gnark's keys, so that snarkjs can verify with it. A key on another
// curve than BN254 and BLS12-381, and one of a circuit with commitments, are
// backend.ErrUnsupported.
func VerifyingKeyOf(vk groth16.VerifyingKey) (*VerifyingKey, error) {
	switch vk := vk.(type) {
	case *gnark254.VerifyingKey:
		if len(vk.CommitmentKeys) > 0 {
			return nil, errCommitments
		}
		return (&keyIn[bn254.G1Affine, bn254.G2Affine]{vk.G1.Alpha, vk.G2.Beta, vk.G2.Gamma, vk.G2.Delta, vk.G1.K}).key(backend.BN254)
	case *gnark381.VerifyingKey:
		if len(vk.CommitmentKeys) > 0 {
			return nil, errCommitments
		}
		return (&keyIn[bls12381.G1Affine, bls12381.G2Affine]{vk.G1.Alpha, vk.G2.Beta, vk.G2.Gamma, vk.G2.Delta, vk.G1.K}).key(backend.BLS12381)
	}
	return nil, fmt.Errorf("%w: a verifying key of type %T", backend.ErrUnsupported, vk)
}

// errCommitments says why a proof of gnark's has no snarkjs form.
var errCommitments = fmt.Errorf("%w: snarkjs has no commitments, and this circuit makes one: "+
	"api.Commit, or what stands on it, such as range checks and lookups", backend.ErrUnsupported)

// Gnark returns the proof as gnark's, with its public signals as a public witness.
func (p *Proof) Gnark() (groth16.Proof, witness.Witness, error) {
	c, err := p.check()
	if err != nil {
		return nil, nil, err
	}
	public, err := publicWitness(c, p.Public)
	if err != nil {
		return nil, nil, err
	}
	if c == backend.BN254 {
		m, err := proofMemory[bn254.G1Affine, bn254.G2Affine](p, c)
		if err != nil {
			return nil, nil, err
		}
		return &gnark254.Proof{Ar: m.a, Bs: m.b, Krs: m.c}, public, nil
	}
	m, err := proofMemory[bls12381.G1Affine, bls12381.G2Affine](p, c)
	if err != nil {
		return nil, nil, err
	}
	return &gnark381.Proof{Ar: m.a, Bs: m.b, Krs: m.c}, public, nil
}

// ProofOf returns one of gnark's proofs with its public signals, so that snarkjs can verify it. Of
// a full witness it takes the public part. Proofs on other curves, and with commitments, are
// backend.ErrUnsupported.
func ProofOf(proof groth16.Proof, w witness.Witness) (*Proof, error) {
	switch p := proof.(type) {
	case *gnark254.Proof:
		if len(p.Commitments) > 0 {
			return nil, errCommitments
		}
		return (&proofIn[bn254.G1Affine, bn254.G2Affine]{p.Ar, p.Krs, p.Bs}).proof(backend.BN254, w)
	case *gnark381.Proof:
		if len(p.Commitments) > 0 {
			return nil, errCommitments
		}
		return (&proofIn[bls12381.G1Affine, bls12381.G2Affine]{p.Ar, p.Krs, p.Bs}).proof(backend.BLS12381, w)
	}
	return nil, fmt.Errorf("%w: a proof of type %T", backend.ErrUnsupported, proof)
}

// keyIn is a key on gnark-crypto's types.
type keyIn[P1, P2 any] struct {
	alpha              P1
	beta, gamma, delta P2
	ic                 []P1
}

// keyMemory returns a key on gnark-crypto's types. A point that is not in its group is an error.
func keyMemory[P1, P2 any](vk *VerifyingKey, c backend.Curve) (*keyIn[P1, P2], error) {
	var r placed
	k := &keyIn[P1, P2]{
		alpha: into[P1](&r, "alpha", &vk.Alpha, c),
		beta:  into[P2](&r, "beta", &vk.Beta, c), gamma: into[P2](&r, "gamma", &vk.Gamma, c), delta: into[P2](&r, "delta", &vk.Delta, c),
	}
	for i := range vk.IC {
		k.ic = append(k.ic, into[P1](&r, fmt.Sprintf("IC[%d]", i), &vk.IC[i], c))
	}
	return k, r.err
}

// key returns the key as numbers.
func (k *keyIn[P1, P2]) key(c backend.Curve) (*VerifyingKey, error) {
	var r placed
	vk := &VerifyingKey{
		Curve: curves.ID(c), Alpha: from(&r, g1Of, c, k.alpha),
		Beta: from(&r, g2Of, c, k.beta), Gamma: from(&r, g2Of, c, k.gamma), Delta: from(&r, g2Of, c, k.delta),
	}
	for _, p := range k.ic {
		vk.IC = append(vk.IC, from(&r, g1Of, c, p))
	}
	return vk, r.err
}

// proofIn is a proof on gnark-crypto's types.
type proofIn[P1, P2 any] struct {
	a, c P1
	b    P2
}

// proofMemory returns a proof on gnark-crypto's types. A point that is not in its group is an
// error.
func proofMemory[P1, P2 any](p *Proof, c backend.Curve) (*proofIn[P1, P2], error) {
	var r placed
	return &proofIn[P1, P2]{a: into[P1](&r, "A", &p.A, c), c: into[P1](&r, "C", &p.C, c), b: into[P2](&r, "B", &p.B, c)}, r.err
}

// proof returns the proof as numbers.
func (p *proofIn[P1, P2]) proof(c backend.Curve, w witness.Witness) (*Proof, error) {
	public, err := publicOf(w, c)
	if err != nil {
		return nil, err
	}
	var r placed
	return &Proof{Curve: curves.ID(c), A: from(&r, g1Of, c, p.a), B: from(&r, g2Of, c, p.b), C: from(&r, g1Of, c, p.c), Public: public}, r.err
}

// placed keeps the first error of several points.
type placed struct{ err error }

// into returns a point as gnark-crypto's type.
func into[P any](r *placed, place string, p interface {
	memory(backend.Curve) ([]byte, error)
}, c backend.Curve) (to P) {
	b, err := p.memory(c)
	if err == nil {
		var v []P
		if v, err = layout.View[P](b); err == nil {
			return v[0]
		}
	}
	if r.err == nil {
		r.err = refuse("%s: %w", place, err)
	}
	return to
}

// from returns a point of gnark-crypto's type as numbers.
func from[P, Q any](r *placed, as func(backend.Curve, []byte) (Q, error), c backend.Curve, p P) Q {
	q, err := as(c, layout.Bytes([]P{p}))
	if err != nil && r.err == nil {
		r.err = err
	}
	return q
}

// publicWitness returns public signals as gnark's public witness.
func publicWitness(c backend.Curve, public []*big.Int) (witness.Witness, error) {
	if err := checkPublic(c, public); err != nil {
		return nil, err
	}
	w, err := witness.New(c.ScalarField())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	values := make(chan any, len(public))
	for _, v := range public {
		values <- v
	}
	close(values)
	return w, w.Fill(len(public), 0, values)
}

// publicOf returns the public signals of one of gnark's witnesses.
func publicOf(w witness.Witness, c backend.Curve) ([]*big.Int, error) {
	if w == nil {
		return nil, refuse("no witness: it has the public signals")
	}
	public, err := w.Public()
	if err != nil {
		return nil, refuse("public signals: %w", err)
	}
	switch v := public.Vector().(type) {
	case fr254.Vector:
		if c == backend.BN254 {
			return plain(v), nil
		}
	case fr381.Vector:
		if c == backend.BLS12381 {
			return plain(v), nil
		}
	}
	return nil, refuse("a witness of %T with a proof on %s", public.Vector(), c)
}

// plain returns elements as numbers.
func plain[S any, PS coordinate[S]](v []S) []*big.Int {
	all := make([]*big.Int, len(v))
	for i := range v {
		all[i] = PS(&v[i]).BigInt(new(big.Int))
	}
	return all
}
