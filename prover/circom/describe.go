package circom

import (
	"bytes"
	"io"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
)

// Description is what a .zkey file says of its circuit.
type Description struct {
	Curve   ecc.ID
	Wires   int // wire 0, which is 1, included: the length of a witness
	Public  int // public signals, outputs included
	Domain  int // a power of two, above the number of constraints
	Entries int // of the matrices A and B together
	// Contributed is whether anybody has contributed to the key. Without, it convinces nobody.
	Contributed  bool
	VerifyingKey *VerifyingKey
}

// Fits returns an error that wraps backend.ErrInvalidInput if a witness cannot be of the key's
// circuit: it has another length, or is on another curve.
func (d *Description) Fits(w Witness) error { return fits(d.Curve, d.Wires, w) }

// DescribeKey reads a .zkey file of some size, but neither its entries nor the points that only a
// prover needs: it takes as long for any circuit. The lengths of all sections must fit, and the
// points of the verifying key be in their groups.
func DescribeKey(from io.ReaderAt, size int64) (*Description, error) {
	f, err := file.OpenKey(from, size)
	if err != nil {
		return nil, err
	}
	vk, err := verifyingKeyOf(f)
	if err != nil {
		return nil, err
	}
	generator := curves.GroupOf(f.Curve, backend.G1).Generator().Bytes()
	return &Description{
		Curve: vk.Curve, Wires: f.Wires, Public: f.Public, Domain: f.Domain, Entries: f.EntryCount(),
		Contributed: !bytes.Equal(f.Delta1, generator), VerifyingKey: vk,
	}, nil
}

// verifyingKeyOf reads the verifying key of a proving key.
func verifyingKeyOf(f *file.Key) (*VerifyingKey, error) {
	ic := make([]byte, f.IC.Count*f.Curve.PointBytes(backend.G1))
	if err := f.IC.Read(ic, 0); err != nil {
		return nil, err
	}
	vk := &VerifyingKey{Curve: curves.ID(f.Curve)}
	for len(ic) > 0 {
		n := f.Curve.PointBytes(backend.G1)
		if inGroup(f.Curve, backend.G1, ic[:n]) != nil {
			return nil, f.IC.Refuse(len(vk.IC), "is not in the group")
		}
		vk.IC = append(vk.IC, g1Of(f.Curve, ic[:n]))
		ic = ic[n:]
	}
	if err := checkHeader(f); err != nil {
		return nil, err
	}
	vk.Alpha = g1Of(f.Curve, f.Alpha1)
	vk.Beta, vk.Gamma, vk.Delta = g2Of(f.Curve, f.Beta2), g2Of(f.Curve, f.Gamma2), g2Of(f.Curve, f.Delta2)
	return vk, nil
}
