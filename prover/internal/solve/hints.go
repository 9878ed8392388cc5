package solve

import (
	"errors"
	"math/big"

	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/std/math/emulated"

	"github.com/pippin-zk/pippin/prover/internal/assignment"
	"github.com/pippin-zk/pippin/prover/internal/lattice"
)

const algebra = "github.com/consensys/gnark/std/algebra/"

// slow are hints of gnark that look for short vectors of a lattice, which takes half
// of a solver's time when a circuit verifies one signature; quick are our ways to the
// same vectors.
var slow = map[string]solver.Hint{
	algebra + "emulated/sw_emulated.rationalReconstructExt":           fraction,
	algebra + "emulated/sw_bn254.rationalReconstructExtG2":            fraction,
	algebra + "emulated/sw_bls12381.rationalReconstructExtG2":         fraction,
	algebra + "emulated/sw_bw6761.rationalReconstructExtG2":           fraction,
	algebra + "native/twistededwards.multiRationalReconstructHint":    fractions3,
	algebra + "native/twistededwards.multiRationalReconstructExtHint": fractions6,
}

// quicker replaces slow hints of a system by ours, where they are gnark's own.
func quicker(hints map[solver.HintID]solver.Hint, system map[solver.HintID]string) {
	for id, name := range system {
		quick, ok := slow[name]
		if !ok {
			continue
		}
		if f, ok := hints[id]; ok && assignment.Knows(f, name) {
			hints[id] = either(quick, f)
		}
	}
}

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
// inputs are s and lambda, its outputs the four numbers, and which of them are
// negative.
func fraction(q *big.Int, in, out []*big.Int) error {
	return emulated.UnwrapHintContext(q, in, out, func(c emulated.HintContext) error {
		moduli := c.EmulatedModuli()
		if len(moduli) != 1 {
			return errOther
		}
		_, negative := c.NativeInputsOutputs()
		in, out := c.InputsOutputs(moduli[0])
		if len(in) != 2 || len(out) != 4 || len(negative) != 4 {
			return errOther
		}
		k := new(big.Int).Neg(in[0])
		v, ok := lattice.RationalReconstructExt(k, moduli[0], in[1])
		if !ok {
			return errOther
		}
		signed(v[:], out, negative)
		return nil
	})
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
