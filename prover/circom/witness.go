package circom

import (
	"fmt"
	"io"
	"math/big"
	"os"

	"github.com/consensys/gnark-crypto/ecc"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/circom/internal/file"
)

// Witness is the values of all wires of a circuit, which are secret. Copies of it share them. Wipe
// overwrites them when no proof needs them any more. The zero value is no witness.
type Witness struct {
	curve  backend.Curve
	values []byte // wire after wire, 32 bytes each, little-endian, not in Montgomery form
}

// valueBytes is the size of a value in a witness, on both curves.
const valueBytes = 32

// OpenWitness reads a .wtns file, which may be a pipe. See ReadWitness.
func OpenWitness(path string) (Witness, error) {
	f, err := os.Open(path)
	if err != nil {
		return Witness{}, err
	}
	defer f.Close()
	w, err := ReadWitness(f)
	if err != nil {
		return Witness{}, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

// ReadWitness reads a .wtns file until its end. The reader may be a pipe into which the witness is
// still being written. A file that is damaged or on an unknown curve is backend.ErrInvalidInput.
func ReadWitness(from io.Reader) (Witness, error) {
	b, err := file.ReadAll(from)
	if err != nil {
		return Witness{}, err
	}
	w, err := ParseWitness(b)
	if err != nil {
		clear(b)
	}
	return w, err
}

// ParseWitness takes the bytes of a .wtns file. The witness has its values in their memory, so they
// must not change while it is used, and Wipe overwrites them there.
func ParseWitness(b []byte) (Witness, error) {
	c, values, err := file.Witness(b)
	return Witness{c, values}, err
}

// WitnessOf returns a witness of elements: the value of each wire, beginning with wire 0, which is
// 1. It copies them.
func WitnessOf[E fr254.Element | fr381.Element](values []E) Witness {
	var c backend.Curve
	limbs := make([][valueBytes / 8]uint64, len(values))
	switch v := any(values).(type) {
	case []fr254.Element:
		c = backend.BN254
		for i := range v {
			limbs[i] = v[i].Bits()
		}
	case []fr381.Element:
		c = backend.BLS12381
		for i := range v {
			limbs[i] = v[i].Bits()
		}
	}
	return Witness{c, layout.Bytes(limbs)}
}

// Curve returns the curve over whose scalar field the values are.
func (w Witness) Curve() ecc.ID {
	if !w.curve.Valid() {
		return ecc.UNKNOWN
	}
	return curves.ID(w.curve)
}

// Len returns the number of wires.
func (w Witness) Len() int { return len(w.values) / valueBytes }

// Public returns the first n signals: the public ones of a circuit that has n. They are fewer in a
// witness that is too short.
func (w Witness) Public(n int) []*big.Int {
	public := make([]*big.Int, max(0, min(n, w.Len()-1)))
	for i := range public {
		public[i] = littleEndian(w.values[(i+1)*valueBytes : (i+2)*valueBytes])
	}
	return public
}

// MarshalBinary returns the witness as a .wtns file, which is as secret as the witness.
func (w Witness) MarshalBinary() ([]byte, error) {
	if !w.curve.Valid() {
		return nil, errNoWitness
	}
	return file.WitnessFile(w.curve, w.values), nil
}

// WitnessBytes returns the size of the .wtns file of a number of wires, as MarshalBinary and circom's
// calculators write it.
func WitnessBytes(wires int) int { return file.WitnessBytes(wires) }

// errNoWitness is about the zero value.
var errNoWitness = fmt.Errorf("%w: no witness", backend.ErrInvalidInput)

// fits refuses a witness that cannot be of a circuit on a curve with a number of wires.
func fits(on ecc.ID, wires int, w Witness) error {
	switch {
	case !w.curve.Valid():
		return errNoWitness
	case w.Curve() != on:
		return fmt.Errorf("%w: different wtns curve: the key is on %v, the witness on %v", backend.ErrInvalidInput, on, w.Curve())
	case w.Len() != wires:
		return fmt.Errorf("%w: Invalid witness length. Circuit: %d, witness: %d", backend.ErrInvalidInput, wires, w.Len())
	}
	return nil
}

// Wipe overwrites the values.
func (w Witness) Wipe() { clear(w.values) }
