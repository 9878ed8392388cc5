package msm

import (
	"github.com/consensys/gnark-crypto/ecc"
	bls12377 "github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bw6761 "github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// Group ties together gnark-crypto's types of one group: P are its affine points, S its scalars.
// The eight groups are variables of this package; there are no others.
type Group[P, S any] struct {
	curve backend.Curve
	group backend.Group

	multiExp func(sum *P, points []P, scalars []S, config ecc.MultiExpConfig) error
	add      func(sum, p *P)
	onCurve  func(*P) bool
	inGroup  func(*P) bool
	infinite func(*P) bool
}

// The groups of the four curves that gnark's provers support.
var (
	BN254G1    = newGroup[bn254.G1Affine, fr254.Element](backend.BN254, backend.G1)
	BN254G2    = newGroup[bn254.G2Affine, fr254.Element](backend.BN254, backend.G2)
	BLS12377G1 = newGroup[bls12377.G1Affine, fr377.Element](backend.BLS12377, backend.G1)
	BLS12377G2 = newGroup[bls12377.G2Affine, fr377.Element](backend.BLS12377, backend.G2)
	BLS12381G1 = newGroup[bls12381.G1Affine, fr381.Element](backend.BLS12381, backend.G1)
	BLS12381G2 = newGroup[bls12381.G2Affine, fr381.Element](backend.BLS12381, backend.G2)
	BW6761G1   = newGroup[bw6761.G1Affine, fr761.Element](backend.BW6761, backend.G1)
	BW6761G2   = newGroup[bw6761.G2Affine, fr761.Element](backend.BW6761, backend.G2)
)

type (
	// BN254G1Bases is bases in G1 of BN254, as BN254G1.Load returns them.
	BN254G1Bases = Bases[bn254.G1Affine, fr254.Element]
	// BN254G2Bases is bases in G2 of BN254, as BN254G2.Load returns them.
	BN254G2Bases = Bases[bn254.G2Affine, fr254.Element]
	// BLS12377G1Bases is bases in G1 of BLS12-377, as BLS12377G1.Load returns them.
	BLS12377G1Bases = Bases[bls12377.G1Affine, fr377.Element]
	// BLS12377G2Bases is bases in G2 of BLS12-377, as BLS12377G2.Load returns them.
	BLS12377G2Bases = Bases[bls12377.G2Affine, fr377.Element]
	// BLS12381G1Bases is bases in G1 of BLS12-381, as BLS12381G1.Load returns them.
	BLS12381G1Bases = Bases[bls12381.G1Affine, fr381.Element]
	// BLS12381G2Bases is bases in G2 of BLS12-381, as BLS12381G2.Load returns them.
	BLS12381G2Bases = Bases[bls12381.G2Affine, fr381.Element]
	// BW6761G1Bases is bases in G1 of BW6-761, as BW6761G1.Load returns them.
	BW6761G1Bases = Bases[bw6761.G1Affine, fr761.Element]
	// BW6761G2Bases is bases in G2 of BW6-761, as BW6761G2.Load returns them.
	BW6761G2Bases = Bases[bw6761.G2Affine, fr761.Element]
)

// affine is an affine point that has MSMs.
type affine[P, S any] interface {
	curves.Point[P]
	MultiExp([]P, []S, ecc.MultiExpConfig) (*P, error)
}

func newGroup[P, S any, AP affine[P, S]](c backend.Curve, g backend.Group) *Group[P, S] {
	return &Group[P, S]{
		curve: c,
		group: g,
		multiExp: func(sum *P, points []P, scalars []S, config ecc.MultiExpConfig) error {
			_, err := AP(sum).MultiExp(points, scalars, config)
			return err
		},
		add:      func(sum, p *P) { AP(sum).Add(sum, p) },
		onCurve:  func(p *P) bool { return AP(p).IsOnCurve() },
		inGroup:  func(p *P) bool { return AP(p).IsInSubGroup() },
		infinite: func(p *P) bool { return AP(p).IsInfinity() },
	}
}

// Curve returns the curve of the group.
func (g *Group[P, S]) Curve() backend.Curve { return g.curve }

// Group tells G1 from G2.
func (g *Group[P, S]) Group() backend.Group { return g.group }

// String returns a name such as "bn254 g1".
func (g *Group[P, S]) String() string { return g.curve.String() + " " + g.group.String() }

// point copies an answer's bytes into a typed point.
func (g *Group[P, S]) point(b []byte) P {
	p := make([]P, 1)
	copy(layout.Bytes(p), b)
	return p[0]
}
