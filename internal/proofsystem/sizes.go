package proofsystem

import (
	"fmt"
	"math/bits"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// Sizes is what a proof computes where its key is resident.
type Sizes struct {
	// MSMs lists the sums over the key's points, in the order in which they are
	// computed. Those of no points are left out.
	MSMs []MSM
	// KeyVectors counts the scalars that stay where a backend computes as long as the
	// key, ProofVectors those of one proof. Both are 0 for Groth16, whose vectors
	// take less than its bases.
	KeyVectors, ProofVectors int
}

// MSM is one sum of a proof.
type MSM struct {
	Name   string // such as "A", "B in G2" or "quotient 0"
	Group  backend.Group
	Points int
	// Bases names what MSMs of the same name share: each takes the first points of
	// them. "" is bases of its own.
	Bases string
	// Uniform says that the scalars of all MSMs over these bases look random.
	Uniform bool
}

// groth16Points counts the points of a Groth16 key that MSMs take.
type groth16Points struct{ a, b, k, z, b2 int }

func (p groth16Points) sizes() *Sizes {
	s := &Sizes{}
	for _, m := range []MSM{
		{Name: "A", Group: backend.G1, Points: p.a}, {Name: "B", Group: backend.G1, Points: p.b}, {Name: "K", Group: backend.G1, Points: p.k},
		{Name: "Z", Group: backend.G1, Points: p.z, Uniform: true}, {Name: "B in G2", Group: backend.G2, Points: p.b2},
	} {
		if m.Points > 0 {
			s.MSMs = append(s.MSMs, m)
		}
	}
	return s
}

// gnark reads a constraint system of one proof system as one of the other without an
// error.
var errKind = fmt.Errorf("%w: a constraint system of another kind", backend.ErrInvalidInput)

// groth16SizesOf returns upper bounds: which wires have no point in A or B is known
// after the setup only.
func groth16SizesOf(ccs constraint.ConstraintSystem) (*Sizes, error) {
	if _, ok := ccs.GetCommitments().(constraint.Groth16Commitments); !ok {
		return nil, errKind
	}
	own := ccs.GetNbSecretVariables() + ccs.GetNbInternalVariables()
	wires := ccs.GetNbPublicVariables() + own
	domain := 1 << bits.Len(uint(max(ccs.GetNbConstraints(), 1)-1))
	return groth16Points{a: wires, b: wires, k: own, z: domain - 1, b2: wires}.sizes(), nil
}

func plonkSizesOf(ccs constraint.ConstraintSystem) (*Sizes, error) {
	commitments, ok := ccs.GetCommitments().(constraint.PlonkCommitments)
	if !ok {
		return nil, errKind
	}
	_, n := plonk.SRSSize(ccs)
	var committed []int
	for _, c := range commitments {
		committed = append(committed, len(c.Committed)+2) // two hide the others
	}
	return plonkSizes(n, ccs.GetNbConstraints()+ccs.GetNbPublicVariables(), committed), nil
}

// plonkSizes returns the commitments of a PLONK proof of n rows, so many of them used. Those of the circuit's own
// are to so many rows each.
func plonkSizes(n, used int, committed []int) *Sizes {
	s := &Sizes{}
	const lagrange, canonical = "lagrange", "canonical"
	add := func(name, bases string, points int) {
		s.MSMs = append(s.MSMs, MSM{Name: name, Group: backend.G1, Points: points, Bases: bases, Uniform: bases == canonical})
	}
	for i, rows := range committed {
		add(fmt.Sprintf("commitment %d", i), "", rows)
	}
	for _, wire := range []string{"L", "R", "O"} {
		add(wire, lagrange, used)
	}
	add("Z", lagrange, n)
	add("opening at zeta w", canonical, n+2)
	for i := range 3 {
		add(fmt.Sprintf("quotient %d", i), canonical, n+2)
	}
	add("opening at zeta", canonical, n+2)
	s.KeyVectors, s.ProofVectors = plonk.Elements(n, len(committed))
	return s
}
