package main

import (
	"fmt"
	"io"

	keys_bls12377 "github.com/consensys/gnark/backend/plonk/bls12-377"
	keys_bls12381 "github.com/consensys/gnark/backend/plonk/bls12-381"
	keys_bn254 "github.com/consensys/gnark/backend/plonk/bn254"
	keys_bw6761 "github.com/consensys/gnark/backend/plonk/bw6-761"
	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/plonk"
)

// plonkWork is the commitments of a PLONK proof, in the order in which they are
// computed, and its vectors: of n rows, so many of them used, with commitments of
// the circuit's own.
func plonkWork(c backend.Curve, n, used, commitments int) *proofWork {
	w := &proofWork{}
	add := func(what, table string, points int) {
		m := newWork(what, c, backend.G1, points)
		m.table = table
		w.msms = append(w.msms, m)
	}
	const lagrange, canonical = "lagrange", "canonical"
	for i := range commitments {
		add(fmt.Sprintf("commitment %d", i), lagrange, n)
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
	key, proof := plonk.Elements(n, commitments)
	w.ofKey, w.ofProof = int64(key)*int64(c.ScalarBytes()), int64(proof)*int64(c.ScalarBytes())
	return w
}

func plonkKey(r io.Reader, c backend.Curve) (*proofWork, error) {
	key := plonk.NewProvingKey(layout.CurveID(c))
	if _, err := key.UnsafeReadFrom(r); err != nil {
		return nil, err
	}
	var rows uint64
	var commitments int
	switch k := key.(type) {
	case *keys_bn254.ProvingKey:
		rows, commitments = k.Vk.Size, len(k.Vk.Qcp)
	case *keys_bls12377.ProvingKey:
		rows, commitments = k.Vk.Size, len(k.Vk.Qcp)
	case *keys_bls12381.ProvingKey:
		rows, commitments = k.Vk.Size, len(k.Vk.Qcp)
	case *keys_bw6761.ProvingKey:
		rows, commitments = k.Vk.Size, len(k.Vk.Qcp)
	default:
		return nil, fmt.Errorf("%w: keys of %v", backend.ErrUnsupported, c)
	}
	return plonkWork(c, int(rows), int(rows), commitments), nil
}

func plonkConstraints(r io.Reader, c backend.Curve) (*proofWork, error) {
	system := plonk.NewCS(layout.CurveID(c))
	if _, err := system.ReadFrom(r); err != nil {
		return nil, err
	}
	commitments, ok := system.GetCommitments().(constraint.PlonkCommitments)
	if !ok {
		return nil, errKind
	}
	_, n := plonk.SRSSize(system)
	return plonkWork(c, n, system.GetNbConstraints()+system.GetNbPublicVariables(), len(commitments)), nil
}
