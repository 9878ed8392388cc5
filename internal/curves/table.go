// Package curves has what the project uses of gnark-crypto's four curves, once: one table of
// them in two parts, and constraints for generic code on their types.
//
// The table hides types: points and scalars are memory, as backends have them, and
// Points, Sums and Elements compute with what lies there. A call costs a few nanoseconds beside
// the arithmetic of a point; loops over elements of a field are better generic, over whole
// vectors. Constraints have what those loops need.
//
// The first part of the table (ID, WithID, Check, MSMsOf) is what a program with nothing but MSMs is
// linked with. The second (Of, GroupOf) is made when it is first asked for, so that it is not.
//
// All this takes what gnark-crypto has since v0.12.1, so that programs with that can be woven.
package curves

import (
	"io"
	"math/big"
	"slices"
	"sync"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	fr377 "github.com/consensys/gnark-crypto/ecc/bls12-377/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	fp381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	fr381 "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	fp254 "github.com/consensys/gnark-crypto/ecc/bn254/fp"
	fr254 "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"
	fr761 "github.com/consensys/gnark-crypto/ecc/bw6-761/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/eisenstein"
)

// basic is what every program is linked with.
type basic struct {
	id     ecc.ID
	g1, g2 MSMs
	two    func() []byte // the scalar 2
}

// basics is the first part of the table, by our numbers. Backend's own table has the facts that
// need no arithmetic.
var basics = [...]basic{
	backend.BN254: {ecc.BN254, newMSMs(first(bn254.Generators), (*bn254.G1Jac).MultiExp),
		newMSMs(second(bn254.Generators), (*bn254.G2Jac).MultiExp), two[fr254.Element]},
	backend.BLS12377: {ecc.BLS12_377, newMSMs(first(bls12377.Generators), (*bls12377.G1Jac).MultiExp),
		newMSMs(second(bls12377.Generators), (*bls12377.G2Jac).MultiExp), two[fr377.Element]},
	backend.BLS12381: {ecc.BLS12_381, newMSMs(first(bls12381.Generators), (*bls12381.G1Jac).MultiExp),
		newMSMs(second(bls12381.Generators), (*bls12381.G2Jac).MultiExp), two[fr381.Element]},
	backend.BW6761: {ecc.BW6_761, newMSMs(first(bw6761.Generators), (*bw6761.G1Jac).MultiExp),
		newMSMs(second(bw6761.Generators), (*bw6761.G2Jac).MultiExp), two[fr761.Element]},
}

// Curve is gnark-crypto's arithmetic of one curve. Nothing changes it.
type Curve struct {
	NonResidue int64 // u^2, for the u of Fp2 = Fp[u]; 0 where G2 is over Fp
	G1, G2     Group
	Fr         Field
}

// rest is the second part of the table, which fill makes.
var (
	rest [len(basics)]Curve
	fill sync.Once
)

// Of returns a curve, which must be valid.
func Of(c backend.Curve) *Curve {
	fill.Do(func() { rest = newRest() })
	return &rest[c]
}

// newRest is a function, not a variable, so that it is linked only where something calls it.
func newRest() [len(basics)]Curve {
	return [...]Curve{
		backend.BN254: {
			-1,
			newGroup(first(bn254.Generators), (*bn254.G1Jac).MultiExp, (*bn254.G1Affine).Bytes,
				(*bn254.G1Affine).RawBytes, decoder254, bn254.BatchJacobianToAffineG1, rotate254),
			newGroup(second(bn254.Generators), (*bn254.G2Jac).MultiExp, (*bn254.G2Affine).Bytes, (*bn254.G2Affine).RawBytes, decoder254, nil, nil),
			newField[fr254.Element](fr254.Modulus(), 5),
		},
		backend.BLS12377: {
			-5,
			newGroup(first(bls12377.Generators), (*bls12377.G1Jac).MultiExp, (*bls12377.G1Affine).Bytes,
				(*bls12377.G1Affine).RawBytes, decoder377, bls12377.BatchJacobianToAffineG1, nil),
			newGroup(second(bls12377.Generators), (*bls12377.G2Jac).MultiExp, (*bls12377.G2Affine).Bytes,
				(*bls12377.G2Affine).RawBytes, decoder377, nil, nil),
			newField[fr377.Element](fr377.Modulus(), 22),
		},
		backend.BLS12381: {
			-1,
			newGroup(first(bls12381.Generators), (*bls12381.G1Jac).MultiExp, (*bls12381.G1Affine).Bytes,
				(*bls12381.G1Affine).RawBytes, decoder381, bls12381.BatchJacobianToAffineG1, rotate381),
			newGroup(second(bls12381.Generators), (*bls12381.G2Jac).MultiExp, (*bls12381.G2Affine).Bytes,
				(*bls12381.G2Affine).RawBytes, decoder381, nil, nil),
			newField[fr381.Element](fr381.Modulus(), 7),
		},
		backend.BW6761: {
			0,
			newGroup(first(bw6761.Generators), (*bw6761.G1Jac).MultiExp, (*bw6761.G1Affine).Bytes,
				(*bw6761.G1Affine).RawBytes, decoder761, bw6761.BatchJacobianToAffineG1, nil),
			newGroup(second(bw6761.Generators), (*bw6761.G2Jac).MultiExp, (*bw6761.G2Affine).Bytes, (*bw6761.G2Affine).RawBytes, decoder761,
				nil, nil),
			newField[fr761.Element](fr761.Modulus(), 15),
		},
	}
}

// decoder254 and those below make decoders of points that do not check their group.
func decoder254(r io.Reader) decoder { return bn254.NewDecoder(r, bn254.NoSubgroupChecks()) }
func decoder377(r io.Reader) decoder { return bls12377.NewDecoder(r, bls12377.NoSubgroupChecks()) }
func decoder381(r io.Reader) decoder { return bls12381.NewDecoder(r, bls12381.NoSubgroupChecks()) }
func decoder761(r io.Reader) decoder { return bw6761.NewDecoder(r, bw6761.NoSubgroupChecks()) }

// rotate254 and rotate381 multiply a point of G1 by 1 + w = -w^2.
func rotate254(p *bn254.G1Jac)    { rotate(&p.X, &p.Y, beta254()) }
func rotate381(p *bls12381.G1Jac) { rotate(&p.X, &p.Y, beta381()) }

func rotate[E any, P Element[E]](x, y, beta P) {
	x.Mul(x, beta)
	x.Mul(x, beta)
	y.Neg(y)
}

// beta254 and beta381 are what w of package eisenstein is on points of G1: it takes x to beta x.
var beta254 = sync.OnceValue(func() *fp254.Element {
	_, _, g, _ := bn254.Generators()
	return rotation(backend.BN254, &g.X, func(lambda *big.Int) *fp254.Element {
		return &new(bn254.G1Affine).ScalarMultiplication(&g, lambda).X
	})
})

var beta381 = sync.OnceValue(func() *fp381.Element {
	_, _, g, _ := bls12381.Generators()
	return rotation(backend.BLS12381, &g.X, func(lambda *big.Int) *fp381.Element {
		return &new(bls12381.G1Affine).ScalarMultiplication(&g, lambda).X
	})
})

// rotation returns the cube root of 1 by which x becomes that of lambda times its point.
func rotation[E any, P interface {
	Element[E]
	SetBigInt(*big.Int) *E
}](c backend.Curve, x P, multiple func(lambda *big.Int) *E) *E {
	of, err := eisenstein.Of(c.ScalarField())
	if err != nil {
		panic(err) // a test calls it
	}
	root, rotated := P(new(E)), P(new(E))
	root.SetBigInt(eisenstein.CubeRoot(ID(c).BaseField()))
	if rotated.Mul(x, root); !rotated.Equal(multiple(of.Lambda)) {
		root.Square(root)
	}
	return root
}

// Beta returns what w of package eisenstein takes x of a point of G1 to, divided by x, and false for
// curves that have no digits modulo six units.
func Beta(c backend.Curve) (beta *big.Int, ok bool) {
	switch c {
	case backend.BN254:
		return beta254().BigInt(new(big.Int)), true
	case backend.BLS12381:
		return beta381().BigInt(new(big.Int)), true
	}
	return nil, false
}

// first takes the generator of G1 from gnark-crypto's function Generators.
func first[J1, J2, P1, P2 any](generators func() (J1, J2, P1, P2)) func() P1 {
	return func() P1 { _, _, p, _ := generators(); return p }
}

// second takes the generator of G2.
func second[J1, J2, P1, P2 any](generators func() (J1, J2, P1, P2)) func() P2 {
	return func() P2 { _, _, _, p := generators(); return p }
}

// ID returns gnark-crypto's number of a curve, which must be valid.
func ID(c backend.Curve) ecc.ID { return basics[c].id }

// WithID returns the curve with a number of gnark-crypto's, false if it is none of these.
func WithID(id ecc.ID) (backend.Curve, bool) {
	all := backend.Curves()
	i := slices.IndexFunc(all, func(c backend.Curve) bool { return ID(c) == id })
	if i < 0 {
		return 0, false
	}
	return all[i], true
}

// MSMsOf returns the MSMs of a group; both must be valid.
func MSMsOf(c backend.Curve, g backend.Group) MSMs {
	if g == backend.G2 {
		return basics[c].g2
	}
	return basics[c].g1
}

// GroupOf returns a group of a curve; both must be valid.
func GroupOf(c backend.Curve, g backend.Group) Group {
	if g == backend.G2 {
		return Of(c).G2
	}
	return Of(c).G1
}

// Generator returns the coordinates of gnark-crypto's generator of a group: of each the numbers
// of Fp that it is made of.
func Generator(c backend.Curve, g backend.Group) (x, y []*big.Int) {
	b := make([]byte, backend.Uncompressed.Bytes(backend.PointOf(c, g)))
	GroupOf(c, g).Generator().Encode(0, b, backend.Uncompressed)
	var all []*big.Int
	for part := range slices.Chunk(b, c.FieldBytes()) {
		all = append(all, new(big.Int).SetBytes(part))
	}
	x, y = all[:len(all)/2], all[len(all)/2:]
	slices.Reverse(x) // an encoding has the last part first
	slices.Reverse(y)
	return x, y
}
