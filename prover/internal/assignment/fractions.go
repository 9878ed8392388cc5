package assignment

import (
	"errors"
	"math/big"

	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/prover/internal/group"
	"github.com/pippin-zk/pippin/prover/internal/lattice"
)

// Hints of gnark that look for short vectors of a lattice take half of a solver's time when
// a circuit verifies one signature. Here are quicker ways to the same vectors.

// errOther is what our hints say to inputs that are not as gnark's circuits have them.
var errOther = errors.New("other inputs than gnark's circuits have")

// either calls gnark's hint for inputs that ours refuses.
func either(ours, gnarks solver.Hint) solver.Hint {
	return func(q *big.Int, in, out []*big.Int) error {
		err := ours(q, in, out)
		if errors.Is(err, errOther) {
			return gnarks(q, in, out)
		}
		return err
	}
}

// fraction writes -s as (x + lambda y) / (z + lambda t) modulo an emulated modulus: its
// inputs are s and lambda, its outputs which of the four numbers are negative, and the
// numbers.
func fraction(_ *big.Int, in, out []*big.Int) error {
	e, ok := emulatedInputs(in, 2, 4, 4)
	if !ok || len(out) != 4+4*e.limbs {
		return errOther
	}
	defer group.WipeInt(e.inputs[0])
	k := e.inputs[0]
	v, ok := lattice.RationalReconstructExt(k.Neg(k), e.modulus, e.inputs[1])
	if !ok {
		return errOther
	}
	var numbers [4]*big.Int
	for i := range numbers {
		numbers[i] = new(big.Int)
	}
	signed(v[:], numbers[:], out[:4])
	for i, x := range numbers {
		if !e.split(x, out[4+i*e.limbs:][:e.limbs]) {
			return errOther
		}
	}
	return nil
}

// emulated is how gnark's package std/math/emulated passes numbers of another field to
// a hint: in limbs of so many bits. That package cannot be imported here, since gnark's
// own tests prove with this one.
type emulated struct {
	limbs   int
	bits    uint
	modulus *big.Int
	inputs  []*big.Int
}

// emulatedInputs reads what precedes an emulated field's hint: the numbers of native
// inputs and outputs, of inputs and outputs of the field, and of a second field, which
// has to be absent; the number of limbs and their bits, the modulus, and the inputs,
// each after its number of limbs. ok is false for other shapes.
func emulatedInputs(in []*big.Int, inputs, native, outputs int64) (e *emulated, ok bool) {
	take := func() (v int64, ok bool) {
		if len(in) == 0 || !in[0].IsInt64() {
			return 0, false
		}
		v, in = in[0].Int64(), in[1:]
		return v, true
	}
	for _, want := range []int64{0, native, inputs, outputs, 0, 0} {
		if v, ok := take(); !ok || v != want {
			return nil, false
		}
	}
	limbs, ok := take()
	bits, ok2 := take()
	if !ok || !ok2 || limbs < 1 || limbs > 1<<10 || bits < 1 || bits > 1<<10 {
		return nil, false
	}
	e = &emulated{limbs: int(limbs), bits: uint(bits)}
	number := func(limbs int64) (*big.Int, bool) {
		if limbs < 0 || limbs > int64(len(in)) {
			return nil, false
		}
		x := new(big.Int)
		for i := limbs - 1; i >= 0; i-- {
			x.Lsh(x, e.bits)
			x.Add(x, in[i])
		}
		in = in[limbs:]
		return x, true
	}
	if e.modulus, ok = number(limbs); !ok {
		return nil, false
	}
	for range inputs {
		limbs, ok := take()
		if !ok {
			return nil, false
		}
		x, ok := number(limbs)
		if !ok {
			return nil, false
		}
		e.inputs = append(e.inputs, x)
	}
	return e, len(in) == 0
}

// split cuts a number into limbs; ok is false when it needs more.
func (e *emulated) split(x *big.Int, out []*big.Int) (ok bool) {
	mask := new(big.Int).Lsh(big.NewInt(1), e.bits)
	mask.Sub(mask, big.NewInt(1))
	for _, limb := range out {
		limb.And(x, mask)
		x.Rsh(x, e.bits)
	}
	return x.Sign() == 0
}

// fractions3 writes two scalars as x1 / z and x2 / z: its inputs are the scalars and
// the modulus, its outputs the three numbers, and which of them are negative.
func fractions3(_ *big.Int, in, out []*big.Int) error {
	if len(in) != 3 || len(out) != 6 || in[0].Sign() == 0 && in[1].Sign() == 0 {
		return errOther
	}
	v, ok := lattice.MultiRationalReconstruct(in[0], in[1], in[2])
	if !ok {
		return errOther
	}
	signed(v[:], out[:3], out[3:])
	return nil
}

// fractions6 writes two scalars as (x1 + lambda y1) / (z + lambda t) and
// (x2 + lambda y2) / (z + lambda t): its inputs are the scalars, the modulus and
// lambda, its outputs the six numbers, and which of them are negative.
func fractions6(_ *big.Int, in, out []*big.Int) error {
	if len(in) != 4 || len(out) != 12 || in[0].Sign() == 0 && in[1].Sign() == 0 {
		return errOther
	}
	v, ok := lattice.MultiRationalReconstructExt(in[0], in[1], in[2], in[3])
	if !ok {
		return errOther
	}
	signed(v[:], out[:6], out[6:])
	return nil
}

// signed tells numbers as what they are without their signs, and 1 for a negative one.
func signed(v, out, negative []*big.Int) {
	for i, x := range v {
		negative[i].SetInt64(0)
		if x.Sign() < 0 {
			negative[i].SetInt64(1)
		}
		out[i].Abs(x)
	}
}
