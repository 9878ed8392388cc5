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
		k := keyIn[bn254.G1Affine, bn254.G2Affine]{vk.G1.Alpha, vk.G2.Beta, vk.G2.Gamma, vk.G2.Delta, vk.G1.K}
		return k.key(backend.BN254), nil
	case *gnark381.VerifyingKey:
		if len(vk.CommitmentKeys) > 0 {
			return nil, errCommitments
		}
		k := keyIn[bls12381.G1Affine, bls12381.G2Affine]{vk.G1.Alpha, vk.G2.Beta, vk.G2.Gamma, vk.G2.Delta, vk.G1.K}
		return k.key(backend.BLS12381), nil
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
	r := &placed{curve: c}
	k := &keyIn[P1, P2]{
		alpha: into1[P1](r, "alpha", vk.Alpha),
		beta:  into2[P2](r, "beta", vk.Beta),
		gamma: into2[P2](r, "gamma", vk.Gamma),
		delta: into2[P2](r, "delta", vk.Delta),
	}
	for i := range vk.IC {
		k.ic = append(k.ic, into1[P1](r, fmt.Sprintf("IC[%d]", i), vk.IC[i]))
	}
	return k, r.err
}

// key returns the key as numbers.
func (k *keyIn[P1, P2]) key(c backend.Curve) *VerifyingKey {
	vk := &VerifyingKey{
		Curve: curves.ID(c), Alpha: g1Of(c, bytesOf(k.alpha)),
		Beta: g2Of(c, bytesOf(k.beta)), Gamma: g2Of(c, bytesOf(k.gamma)), Delta: g2Of(c, bytesOf(k.delta)),
	}
	for _, p := range k.ic {
		vk.IC = append(vk.IC, g1Of(c, bytesOf(p)))
	}
	return vk
}

// proofIn is a proof on gnark-crypto's types.
type proofIn[P1, P2 any] struct {
	a, c P1
	b    P2
}

// proofMemory returns a proof on gnark-crypto's types. A point that is not in its group is an
// error.
func proofMemory[P1, P2 any](p *Proof, c backend.Curve) (*proofIn[P1, P2], error) {
	r := &placed{curve: c}
	in := &proofIn[P1, P2]{a: into1[P1](r, "A", p.A), c: into1[P1](r, "C", p.C), b: into2[P2](r, "B", p.B)}
	return in, r.err
}

// proof returns the proof as numbers.
func (p *proofIn[P1, P2]) proof(c backend.Curve, w witness.Witness) (*Proof, error) {
	public, err := publicOf(w, c)
	if err != nil {
		return nil, err
	}
	return &Proof{Curve: curves.ID(c), A: g1Of(c, bytesOf(p.a)), B: g2Of(c, bytesOf(p.b)), C: g1Of(c, bytesOf(p.c)), Public: public}, nil
}

// placed makes points of gnark-crypto's types, and keeps the first error.
type placed struct {
	curve backend.Curve
	err   error
}

func into1[P1 any](r *placed, name string, p G1) P1 {
	return point[P1](r.bytes(backend.G1, name, p.coordinates()))
}

func into2[P2 any](r *placed, name string, p G2) P2 {
	return point[P2](r.bytes(backend.G2, name, p.coordinates()))
}

// bytes returns a point in memory layout.
func (r *placed) bytes(g backend.Group, name string, coordinates []*big.Int) []byte {
	b, err := groupBytes(r.curve, g, coordinates)
	if err != nil && r.err == nil {
		r.err = refuse("%s: %w", name, err)
	}
	return b
}

// bytesOf returns the memory of a point of gnark-crypto's type.
func bytesOf[P any](p P) []byte { return layout.Bytes([]P{p}) }

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
