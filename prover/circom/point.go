package circom

import (
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/curves"
)

// What is wrong with a point.
var (
	errNumber = errors.New("a coordinate that is not below q")
	errCurve  = errors.New("not on the curve")
	errGroup  = errors.New("not in the subgroup of order r")
)

// curveOf returns the curve of gnark-crypto's number. snarkjs has two.
func curveOf(id ecc.ID) (backend.Curve, error) {
	for _, c := range []backend.Curve{backend.BN254, backend.BLS12381} {
		if curves.ID(c) == id {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%w: circom's Groth16 on the curve %s", backend.ErrUnsupported, id)
}

// numbers returns the coordinates as numbers of Fp.
func (p *G1) numbers() []*big.Int { return []*big.Int{p.X, p.Y} }
func (p *G2) numbers() []*big.Int { return []*big.Int{p.X[0], p.X[1], p.Y[0], p.Y[1]} }

func (p *G1) isInfinity() bool { return !slices.ContainsFunc(p.numbers(), notZero) }
func (p *G2) isInfinity() bool { return !slices.ContainsFunc(p.numbers(), notZero) }

func notZero(v *big.Int) bool { return v == nil || v.Sign() != 0 }

// memory returns a point of G1 as gnark-crypto has it in memory.
func (p *G1) memory(c backend.Curve) ([]byte, error) {
	return memoryOf(c, backend.G1, p.numbers(), p.isInfinity())
}

// memory returns a point of G2 as gnark-crypto has it in memory.
func (p *G2) memory(c backend.Curve) ([]byte, error) {
	return memoryOf(c, backend.G2, p.numbers(), p.isInfinity())
}

// memoryOf returns a point as gnark-crypto has it in memory. A point that is not in its group is an
// error.
func memoryOf(c backend.Curve, g backend.Group, numbers []*big.Int, infinity bool) ([]byte, error) {
	to := curves.GroupOf(c, g).New(1)
	if infinity {
		return to.Bytes(), nil
	}
	var b []byte
	q := c.BaseField()
	for _, v := range encoded(numbers) {
		if v == nil || v.Sign() < 0 || v.Cmp(q) >= 0 {
			return nil, errNumber
		}
		b = append(b, v.FillBytes(make([]byte, c.FieldBytes()))...)
	}
	if to.Decode(0, b) != nil || !to.OnCurve(0) {
		return nil, errCurve
	}
	if !to.InSubgroup(0) {
		return nil, errGroup
	}
	return to.Bytes(), nil
}

// g1Of returns a point of G1 that lies in gnark-crypto's memory.
func g1Of(c backend.Curve, memory []byte) (G1, error) {
	v, err := numbersOf(c, backend.G1, memory)
	if err != nil {
		return G1{}, err
	}
	return G1{X: v[0], Y: v[1]}, nil
}

// g2Of returns a point of G2 that lies in gnark-crypto's memory.
func g2Of(c backend.Curve, memory []byte) (G2, error) {
	v, err := numbersOf(c, backend.G2, memory)
	if err != nil {
		return G2{}, err
	}
	return G2{X: [2]*big.Int{v[0], v[1]}, Y: [2]*big.Int{v[2], v[3]}}, nil
}

// numbersOf returns the coordinates of a point that lies in gnark-crypto's memory.
func numbersOf(c backend.Curve, g backend.Group, memory []byte) ([]*big.Int, error) {
	p, err := curves.GroupOf(c, g).Points(memory)
	if err != nil {
		return nil, err
	}
	b := make([]byte, backend.Uncompressed.Bytes(backend.PointOf(c, g)))
	if !isZero(memory) { // the encoding of infinity has a mark
		p.Encode(0, b, backend.Uncompressed)
	}
	var all []*big.Int
	for part := range slices.Chunk(b, c.FieldBytes()) {
		all = append(all, new(big.Int).SetBytes(part))
	}
	return encoded(all), nil
}

// encoded changes between the order of numbers here and that of gnark-crypto's encodings, where
// c1 comes before c0.
func encoded(v []*big.Int) []*big.Int {
	if len(v) != 4 {
		return v
	}
	return []*big.Int{v[1], v[0], v[3], v[2]}
}

func isZero(b []byte) bool {
	return !slices.ContainsFunc(b, func(x byte) bool { return x != 0 })
}
