package msm

import (
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

// Group ties gnark-crypto's types of one group together: P its affine points,
// J its Jacobian points, S its scalars. The eight groups are this package's
// variables; there are no others.
type Group[P, J, S any] struct {
	curve backend.Curve
	group backend.Group

	multiExp func(points []P, scalars []S, config ecc.MultiExpConfig) (J, error)
	affine   func(*J) P
	jacobian func(*P) J
	onCurve  func(*P) bool
	inGroup  func(*P) bool
	infinite func(*P) bool
	add      func(sum, j *J)
}

// The groups of the four curves that gnark's provers support.
var (
	BN254G1    = newGroup[bn254.G1Affine, bn254.G1Jac, fr254.Element](backend.BN254, backend.G1)
	BN254G2    = newGroup[bn254.G2Affine, bn254.G2Jac, fr254.Element](backend.BN254, backend.G2)
	BLS12377G1 = newGroup[bls12377.G1Affine, bls12377.G1Jac, fr377.Element](backend.BLS12377, backend.G1)
	BLS12377G2 = newGroup[bls12377.G2Affine, bls12377.G2Jac, fr377.Element](backend.BLS12377, backend.G2)
	BLS12381G1 = newGroup[bls12381.G1Affine, bls12381.G1Jac, fr381.Element](backend.BLS12381, backend.G1)
	BLS12381G2 = newGroup[bls12381.G2Affine, bls12381.G2Jac, fr381.Element](backend.BLS12381, backend.G2)
	BW6761G1   = newGroup[bw6761.G1Affine, bw6761.G1Jac, fr761.Element](backend.BW6761, backend.G1)
	BW6761G2   = newGroup[bw6761.G2Affine, bw6761.G2Jac, fr761.Element](backend.BW6761, backend.G2)
)

// affinePoint and jacobianPoint are what gnark-crypto's point types share.
type affinePoint[P, J any] interface {
	*P
	FromJacobian(*J) *P
	IsOnCurve() bool
	IsInSubGroup() bool
	IsInfinity() bool
}

type jacobianPoint[P, J, S any] interface {
	*J
	FromAffine(*P) *J
	AddAssign(*J) *J
	MultiExp([]P, []S, ecc.MultiExpConfig) (*J, error)
}

func newGroup[P, J, S any, AP affinePoint[P, J], JP jacobianPoint[P, J, S]](c backend.Curve, g backend.Group) *Group[P, J, S] {
	return &Group[P, J, S]{
		curve: c,
		group: g,
		multiExp: func(points []P, scalars []S, config ecc.MultiExpConfig) (J, error) {
			var j J
			_, err := JP(&j).MultiExp(points, scalars, config)
			return j, err
		},
		affine:   func(j *J) P { var p P; AP(&p).FromJacobian(j); return p },
		jacobian: func(p *P) J { var j J; JP(&j).FromAffine(p); return j },
		onCurve:  func(p *P) bool { return AP(p).IsOnCurve() },
		inGroup:  func(p *P) bool { return AP(p).IsInSubGroup() },
		infinite: func(p *P) bool { return AP(p).IsInfinity() },
		add:      func(sum, j *J) { JP(sum).AddAssign(j) },
	}
}

// Curve is the curve of the group.
func (g *Group[P, J, S]) Curve() backend.Curve { return g.curve }

// Group tells G1 from G2.
func (g *Group[P, J, S]) Group() backend.Group { return g.group }

// String is such as "bn254 g1".
func (g *Group[P, J, S]) String() string { return g.curve.String() + " " + g.group.String() }

// point copies an answer's bytes into a typed point.
func (g *Group[P, J, S]) point(b []byte) P {
	p := make([]P, 1)
	copy(layout.Bytes(p), b)
	return p[0]
}
