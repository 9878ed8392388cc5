// Package sum has an MSM whose answer is known. Woven programs link it, whose MultiExp is pippin's: so the answer
// is found without one.
package sum

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
)

// points is how many there are: an MSM of them takes a card less than a millisecond.
const points = 1 << 10

const curve = backend.BN254

// Known is the MSM.
func Known() engine.Known {
	return engine.Known{Name: "MSM", Can: func(i backend.Info) bool { return i.Can.HasMSM(curve, backend.G1) }, Run: run}
}

// inputs returns the points G, 2G, 3G, .., scalars of full width, and their MSM: its discrete logarithm is the sum
// of products of small numbers and scalars.
var inputs = sync.OnceValues(func() (pts []bn254.G1Affine, scalars []fr.Element) {
	_, _, g, _ := bn254.Generators()
	scalars, pts = Scalars(points), make([]bn254.G1Affine, points)
	var multiple bn254.G1Jac
	multiple.FromAffine(&g)
	for i := range pts {
		pts[i].FromJacobian(&multiple)
		multiple.AddMixed(&g)
	}
	return pts, scalars
})

var answer = sync.OnceValue(func() []byte {
	_, scalars := inputs()
	var logarithm, product fr.Element
	for i := range scalars {
		product.SetUint64(uint64(i + 1))
		logarithm.Add(&logarithm, product.Mul(&product, &scalars[i]))
	}
	_, _, g, _ := bn254.Generators()
	var n big.Int
	var point bn254.G1Affine
	point.ScalarMultiplication(&g, logarithm.BigInt(&n))
	return bytes.Clone(layout.Bytes([]bn254.G1Affine{point}))
})

// Scalars returns powers of 3, whose digits look random. The first of them are small and left out.
func Scalars(n int) []fr.Element {
	scalars := make([]fr.Element, n)
	three, power := fr.NewElement(3), fr.One()
	for range 200 {
		power.Mul(&power, &three)
	}
	for i := range scalars {
		scalars[i] = *power.Mul(&power, &three)
	}
	return scalars
}

// run computes the MSM on a backend.
func run(ctx context.Context, b backend.Backend) (err error) {
	pts, scalars := inputs()
	id, err := b.LoadBases(ctx, backend.Bases{Curve: curve, Group: backend.G1, Count: points, Bytes: layout.Bytes(pts)})
	if err != nil {
		return err
	}
	defer func() {
		if freed := b.FreeBases(context.WithoutCancel(ctx), id); err == nil {
			err = freed
		}
	}()
	out, err := b.MSM(ctx, []backend.Job{{Bases: id, Count: points, Input: backend.Input{Bytes: layout.Bytes(scalars)}}})
	if err == nil && (len(out) != 1 || !bytes.Equal(out[0], answer())) {
		err = fmt.Errorf("%w: it is not the sum", engine.ErrWrongAnswer)
	}
	return err
}
