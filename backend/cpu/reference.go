package cpu

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/layout"
)

// adder is what double-and-add needs of a Jacobian type.
type adder[P, J any] interface {
	*J
	AddMixed(*P) *J
	AddAssign(*J) *J
	DoubleAssign() *J
}

// reference returns the table of groups for NewReference.
func reference(c backend.Curve, g backend.Group) local.Kernel {
	f := numbersOf(c)
	return [...][2]local.Kernel{
		backend.BN254: {
			doubleAndAdd[bn254.G1Affine, bn254.G1Jac, *bn254.G1Affine, *bn254.G1Jac]{f},
			doubleAndAdd[bn254.G2Affine, bn254.G2Jac, *bn254.G2Affine, *bn254.G2Jac]{f},
		},
		backend.BLS12377: {
			doubleAndAdd[bls12377.G1Affine, bls12377.G1Jac, *bls12377.G1Affine, *bls12377.G1Jac]{f},
			doubleAndAdd[bls12377.G2Affine, bls12377.G2Jac, *bls12377.G2Affine, *bls12377.G2Jac]{f},
		},
		backend.BLS12381: {
			doubleAndAdd[bls12381.G1Affine, bls12381.G1Jac, *bls12381.G1Affine, *bls12381.G1Jac]{f},
			doubleAndAdd[bls12381.G2Affine, bls12381.G2Jac, *bls12381.G2Affine, *bls12381.G2Jac]{f},
		},
		backend.BW6761: {
			doubleAndAdd[bw6761.G1Affine, bw6761.G1Jac, *bw6761.G1Affine, *bw6761.G1Jac]{f},
			doubleAndAdd[bw6761.G2Affine, bw6761.G2Jac, *bw6761.G2Affine, *bw6761.G2Jac]{f},
		},
	}[c][g-backend.G1]
}

// doubleAndAdd is the reference kernel: scalars are numbers of math/big, points
// are added one at a time by the group's own formulas.
type doubleAndAdd[P, J any, PP local.Affine[P, J], PJ adder[P, J]] struct{ numbers }

func (k doubleAndAdd[P, J, PP, PJ]) NewSum() local.Sum {
	return &doubleAndAddSum[P, J, PP, PJ]{doubleAndAdd: k}
}

func (k doubleAndAdd[P, J, PP, PJ]) FirstOffCurve(points []byte) (int, error) {
	p, err := layout.View[P](points)
	if err != nil {
		return 0, err
	}
	for i := range p {
		if !PP(&p[i]).IsOnCurve() {
			return i, nil
		}
	}
	return -1, nil
}

type doubleAndAddSum[P, J any, PP local.Affine[P, J], PJ adder[P, J]] struct {
	doubleAndAdd[P, J, PP, PJ]
	local.Total[P, J, PP]
}

func (t *doubleAndAddSum[P, J, PP, PJ]) Add(points, scalars []byte) error {
	p, err := layout.View[P](points)
	if err != nil {
		return err
	}
	for i := range p {
		k := t.number(scalars[i*t.size : (i+1)*t.size])
		var product J
		for bit := k.BitLen() - 1; bit >= 0; bit-- {
			PJ(&product).DoubleAssign()
			if k.Bit(bit) == 1 {
				PJ(&product).AddMixed(&p[i])
			}
		}
		PJ(&t.At).AddAssign(&product)
	}
	return nil
}
