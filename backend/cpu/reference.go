package cpu

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// adder is what double-and-add needs of a Jacobian type.
type adder[P, J any] interface {
	*J
	AddMixed(*P) *J
	AddAssign(*J) *J
	DoubleAssign() *J
}

// reference is the table of groups for NewReference.
func reference(c backend.Curve, g backend.Group) kernel {
	size, r := c.ScalarBytes(), layout.CurveID(c).ScalarField()
	return [...][2]kernel{
		backend.BN254: {
			doubleAndAdd[bn254.G1Affine, bn254.G1Jac, *bn254.G1Affine, *bn254.G1Jac]{size, r},
			doubleAndAdd[bn254.G2Affine, bn254.G2Jac, *bn254.G2Affine, *bn254.G2Jac]{size, r},
		},
		backend.BLS12377: {
			doubleAndAdd[bls12377.G1Affine, bls12377.G1Jac, *bls12377.G1Affine, *bls12377.G1Jac]{size, r},
			doubleAndAdd[bls12377.G2Affine, bls12377.G2Jac, *bls12377.G2Affine, *bls12377.G2Jac]{size, r},
		},
		backend.BLS12381: {
			doubleAndAdd[bls12381.G1Affine, bls12381.G1Jac, *bls12381.G1Affine, *bls12381.G1Jac]{size, r},
			doubleAndAdd[bls12381.G2Affine, bls12381.G2Jac, *bls12381.G2Affine, *bls12381.G2Jac]{size, r},
		},
		backend.BW6761: {
			doubleAndAdd[bw6761.G1Affine, bw6761.G1Jac, *bw6761.G1Affine, *bw6761.G1Jac]{size, r},
			doubleAndAdd[bw6761.G2Affine, bw6761.G2Jac, *bw6761.G2Affine, *bw6761.G2Jac]{size, r},
		},
	}[c][g-backend.G1]
}

// doubleAndAdd is the reference kernel: scalars are numbers of math/big, points
// are added one at a time by the group's own formulas. r is the order and
// scalarBytes the size of a scalar.
type doubleAndAdd[P, J any, PP affine[P, J], PJ adder[P, J]] struct {
	scalarBytes int
	r           *big.Int
}

func (k doubleAndAdd[P, J, PP, PJ]) newSum() sum {
	return &doubleAndAddSum[P, J, PP, PJ]{doubleAndAdd: k}
}

func (k doubleAndAdd[P, J, PP, PJ]) firstOffCurve(points []byte) (int, error) {
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

type doubleAndAddSum[P, J any, PP affine[P, J], PJ adder[P, J]] struct {
	doubleAndAdd[P, J, PP, PJ]
	total[P, J, PP]
}

func (t *doubleAndAddSum[P, J, PP, PJ]) add(points, scalars []byte) error {
	p, err := layout.View[P](points)
	if err != nil {
		return err
	}
	for i := range p {
		k := t.number(scalars[i*t.scalarBytes : (i+1)*t.scalarBytes])
		var product J
		for bit := k.BitLen() - 1; bit >= 0; bit-- {
			PJ(&product).DoubleAssign()
			if k.Bit(bit) == 1 {
				PJ(&product).AddMixed(&p[i])
			}
		}
		PJ(&t.at).AddAssign(&product)
	}
	return nil
}

// number is the value of a scalar in Montgomery form: b/R mod r, b
// little-endian, R = 2^(8 len(b)).
func (k doubleAndAdd[P, J, PP, PJ]) number(b []byte) *big.Int {
	v := new(big.Int)
	for i := len(b) - 1; i >= 0; i-- {
		v.Lsh(v, 8).Add(v, big.NewInt(int64(b[i])))
	}
	radix := new(big.Int).Lsh(big.NewInt(1), uint(8*len(b)))
	v.Mul(v, radix.ModInverse(radix, k.r))
	return v.Mod(v, k.r)
}
