package main

import (
	"errors"
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr/hash_to_field"
	groth16 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/consensys/gnark/backend/witness"
	"github.com/consensys/gnark/constraint"
	cs "github.com/consensys/gnark/constraint/bn254"
	"github.com/consensys/gnark/constraint/solver"
	gnarkcs "github.com/consensys/gnark/frontend/cs"
)

// A commit is what solving asks of the proving key: the Pedersen commitment
// with key number i to values.
type commit func(i int, values []fr.Element) (bn254.G1Affine, error)

// solved is a solved constraint system as the scalars of a proof's MSMs.
type solved struct {
	a []fr.Element // wires with a point in pk.G1.A
	b []fr.Element // wires with a point in pk.G1.B, the same in pk.G2.B
	k []fr.Element // private wires that no Pedersen commitment holds
	z []fr.Element // the quotient's coefficients, in pk.G1.Z's order

	// One entry for each Pedersen commitment of the circuit.
	committed   [][]fr.Element   // the wires committed to
	commitments []bn254.G1Affine // the commitments
	challenges  []fr.Element     // what each commitment was hashed to
}

// solve computes all wires and sorts them. Circuits with lookups or range
// checks ask for Pedersen commitments on the way: a commitment is hashed to a
// challenge, which is a wire of the circuit.
func solve(system *cs.R1CS, pk *groth16.ProvingKey, full witness.Witness, commit commit) (*solved, error) {
	info, ok := system.CommitmentInfo.(constraint.Groth16Commitments)
	if !ok {
		return nil, errors.New("the constraint system is not one for Groth16")
	}
	s := &solved{
		committed:   make([][]fr.Element, len(info)),
		commitments: make([]bn254.G1Affine, len(info)),
		challenges:  make([]fr.Element, len(info)),
	}
	// gnark calls this for every commitment with the commitment's number, the
	// values that the verifier knows as well, and the private values.
	hint := func(_ *big.Int, in, out []*big.Int) error {
		i := int(in[0].Int64())
		known := len(info[i].PublicAndCommitmentCommitted)
		public, private := in[1:1+known], in[1+known:]
		s.committed[i] = make([]fr.Element, len(private))
		for j, v := range private {
			s.committed[i][j].SetBigInt(v)
		}
		var err error
		if s.commitments[i], err = commit(i, s.committed[i]); err != nil {
			return fmt.Errorf("commitment %d: %w", i, err)
		}
		h := hash_to_field.New([]byte(constraint.CommitmentDst))
		h.Write(constraint.SerializeCommitment(s.commitments[i].Marshal(), public, fr.Bytes))
		s.challenges[i].SetBytes(h.Sum(nil))
		s.challenges[i].BigInt(out[0])
		return nil
	}
	placeholder := solver.GetHintID(gnarkcs.Bsb22CommitmentComputePlaceholder)
	solution, err := system.Solve(full, solver.OverrideHint(placeholder, hint))
	if err != nil {
		return nil, err
	}
	r1cs, ok := solution.(*cs.R1CSSolution)
	if !ok {
		return nil, fmt.Errorf("the solver answered a %T", solution)
	}

	s.a = without(r1cs.W, pk.InfinityA)
	s.b = without(r1cs.W, pk.InfinityB)
	s.k = privateWires(system, info, r1cs.W)
	s.z, err = quotient(&pk.Domain, r1cs.A, r1cs.B, r1cs.C)
	return s, err
}

// without is the wires that are not marked: those whose points are at
// infinity have no place in the key.
func without(wires []fr.Element, marked []bool) []fr.Element {
	kept := make([]fr.Element, 0, len(wires))
	for i, w := range wires {
		if !marked[i] {
			kept = append(kept, w)
		}
	}
	return kept
}

// privateWires is the wires that only pk.G1.K answers for: not the public
// ones, nor those inside a commitment, nor the challenges, which the verifier
// treats as public.
func privateWires(system *cs.R1CS, info constraint.Groth16Commitments, wires []fr.Element) []fr.Element {
	public := system.GetNbPublicVariables()
	elsewhere := make([]bool, len(wires)-public)
	for _, c := range info {
		elsewhere[c.CommitmentIndex-public] = true
		for _, wire := range c.PrivateCommitted {
			elsewhere[wire-public] = true
		}
	}
	return without(wires[public:], elsewhere)
}

// quotient is h = (a*b - c) / (X^n - 1), where the polynomials a, b and c take
// the given values on the n-th roots of unity. On a coset g of these roots
// X^n - 1 is the constant g^n - 1, so that the division is a multiplication.
// The coefficients come in bit-reversed order, which is that of pk.G1.Z, and
// without the last, which is zero for a satisfied system. a, b and c may be
// overwritten.
//
// Source: Groth, On the Size of Pairing-Based Non-Interactive Arguments,
// ePrint 2016/260, section 3.2.
func quotient(domain *fft.Domain, a, b, c []fr.Element) ([]fr.Element, error) {
	n := int(domain.Cardinality)
	on := func(values []fr.Element) []fr.Element { // from the roots to the coset
		all := make([]fr.Element, n)
		copy(all, values)
		domain.FFTInverse(all, fft.DIF)
		domain.FFT(all, fft.DIT, fft.OnCoset())
		return all
	}
	h, bs, cs := fr.Vector(on(a)), fr.Vector(on(b)), fr.Vector(on(c))

	one, scale := fr.One(), fr.Element{}
	scale.Exp(domain.FrMultiplicativeGen, new(big.Int).SetUint64(domain.Cardinality))
	scale.Sub(&scale, &one).Inverse(&scale)

	h.Mul(h, bs)
	h.Sub(h, cs)
	h.ScalarMul(h, &scale)
	domain.FFTInverse(h, fft.DIF, fft.OnCoset())
	if !h[n-1].IsZero() {
		return nil, errors.New("the wires do not satisfy the constraints: a*b - c is no multiple of X^n - 1")
	}
	return h[:n-1], nil
}
