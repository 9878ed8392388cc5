package local

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Affine is gnark-crypto's type of a point P with J its Jacobian form.
type Affine[P, J any] interface {
	*P
	IsOnCurve() bool
	FromJacobian(*J) *P
}

// jacobian is gnark-crypto's type of a point in Jacobian form; S is the type
// of scalars.
type jacobian[P, J, S any] interface {
	*J
	AddAssign(*J) *J
	MultiExp([]P, []S, ecc.MultiExpConfig) (*J, error)
}

// Fast returns the table of groups on gnark-crypto's MultiExp. An MSM uses at most tasks
// goroutines, and never more than 1024; 0 lets gnark-crypto choose.
func Fast(tasks int) func(backend.Curve, backend.Group) Kernel {
	config := ecc.MultiExpConfig{NbTasks: min(max(tasks, 0), maxTasks)}
	table := [...][2]Kernel{
		backend.BN254: {
			multiExp[bn254.G1Affine, bn254.G1Jac, fr254.Element, *bn254.G1Affine, *bn254.G1Jac]{config},
			multiExp[bn254.G2Affine, bn254.G2Jac, fr254.Element, *bn254.G2Affine, *bn254.G2Jac]{config},
		},
		backend.BLS12377: {
			multiExp[bls12377.G1Affine, bls12377.G1Jac, fr377.Element, *bls12377.G1Affine, *bls12377.G1Jac]{config},
			multiExp[bls12377.G2Affine, bls12377.G2Jac, fr377.Element, *bls12377.G2Affine, *bls12377.G2Jac]{config},
		},
		backend.BLS12381: {
			multiExp[bls12381.G1Affine, bls12381.G1Jac, fr381.Element, *bls12381.G1Affine, *bls12381.G1Jac]{config},
			multiExp[bls12381.G2Affine, bls12381.G2Jac, fr381.Element, *bls12381.G2Affine, *bls12381.G2Jac]{config},
		},
		backend.BW6761: {
			multiExp[bw6761.G1Affine, bw6761.G1Jac, fr761.Element, *bw6761.G1Affine, *bw6761.G1Jac]{config},
			multiExp[bw6761.G2Affine, bw6761.G2Jac, fr761.Element, *bw6761.G2Affine, *bw6761.G2Jac]{config},
		},
	}
	return func(c backend.Curve, g backend.Group) Kernel { return table[c][g-backend.G1] }
}

const maxTasks = 1024 // gnark-crypto's own limit

// multiExp is the kernel on gnark-crypto's MultiExp.
type multiExp[P, J, S any, PP Affine[P, J], PJ jacobian[P, J, S]] struct{ config ecc.MultiExpConfig }

func (m multiExp[P, J, S, PP, PJ]) NewSum() Sum {
	return &multiExpSum[P, J, S, PP, PJ]{config: m.config}
}

func (m multiExp[P, J, S, PP, PJ]) FirstOffCurve(points []byte) (int, error) {
	p, err := layout.View[P](points)
	if err != nil {
		return 0, err
	}
	return first(len(p), func(i int) bool { return !PP(&p[i]).IsOnCurve() }), nil
}

// Total is a sum in Jacobian form; the zero value is infinity.
type Total[P, J any, PP Affine[P, J]] struct{ At J }

func (t *Total[P, J, PP]) Affine() []byte {
	p := make([]P, 1)
	PP(&p[0]).FromJacobian(&t.At)
	return layout.Bytes(p)
}

type multiExpSum[P, J, S any, PP Affine[P, J], PJ jacobian[P, J, S]] struct {
	Total[P, J, PP]
	config ecc.MultiExpConfig
}

func (t *multiExpSum[P, J, S, PP, PJ]) Add(points, scalars []byte) error {
	p, err := layout.View[P](points)
	if err != nil {
		return err
	}
	s, err := layout.View[S](scalars)
	if err != nil {
		return err
	}
	var part J
	if _, err := PJ(&part).MultiExp(p, s, t.config); err != nil {
		return fmt.Errorf("%w: gnark-crypto: %w", backend.ErrInternal, err)
	}
	PJ(&t.At).AddAssign(&part)
	return nil
}
