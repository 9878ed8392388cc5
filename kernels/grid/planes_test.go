//go:build cuda && cgo && linux && (amd64 || arm64)

package grid_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fp"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/kernels/grid/msm"
)

// TestPlanes adds up the parts of nodes in every shape of a step: as a tree of lanes,
// one after the other, and both, by one thread a sum and by four; nodes that lie apart or are
// rows, more groups than fill a warp, and sums that are infinity, equal, and opposite.
func TestPlanes(t *testing.T) {
	d := open(t)
	k, ok := msm.ForGroup("bn254", "g1")
	if !ok {
		t.Fatal("no kernels")
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		sets, logNodes, parts, lanes, each, rows, apart int
		quads                                           bool
	}{
		{1, 0, 2, 0, 0, 0, 2, false},
		{2, 3, 2, 3, 0, 0, 8, false},
		{3, 4, 3, 0, 2, 0, 3, false},
		{2, 6, 2, 5, 0, 0, 4, false},
		{1, 6, 5, 2, 2, 0, 5, false},
		{2, 3, 4, 1, 2, 0, 7, false},
		{1, 7, 2, 5, 1, 0, 2, false},
		{2, 7, 2, 0, 2, 3, 2, false},
		{1, 6, 3, 1, 1, 4, 3, false},
		{1, 0, 2, 0, 0, 0, 2, true},
		{2, 3, 2, 3, 0, 0, 8, true},
		{3, 4, 3, 0, 2, 0, 3, true},
		{2, 6, 5, 3, 2, 0, 6, true},
		{2, 3, 4, 1, 2, 0, 7, true},
		{1, 7, 2, 3, 1, 0, 2, true},
		{2, 7, 2, 1, 1, 3, 2, true},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			d.T = t
			nodes := 1 << c.logNodes
			setStride := nodes*c.apart + 3
			// Sums are small multiples of the generator, in XYZZ.
			logs := make([]int64, c.sets*setStride)
			sums := make([][4]fp.Element, len(logs))
			for i := range logs {
				logs[i] = r.Int64N(9) - 4
				p := multiple(logs[i])
				sums[i] = [4]fp.Element{p.X, p.Y}
				if logs[i] != 0 { // x z^2, y z^3, z^2, z^3
					var z fp.Element
					z.SetUint64(r.Uint64())
					sums[i][2].Square(&z)
					sums[i][3].Mul(&sums[i][2], &z)
					sums[i][0].Mul(&p.X, &sums[i][2])
					sums[i][1].Mul(&p.Y, &sums[i][3])
				}
			}
			joined, made := c.lanes+c.each, nodes>>(c.lanes+c.each)
			parts := c.parts + joined
			in, err := layout.View[uint32](layout.Bytes(sums))
			if err != nil {
				t.Fatal(err)
			}
			out := d.words(c.sets * made * parts * msm.ResultElements * fp.Limbs * 2)
			threads := made * parts << c.lanes
			step := msm.Planes{
				In: at(d.words(len(in), in...)), SetStride: setStride, NodeStride: c.apart, LogNodes: c.logNodes, Parts: c.parts,
				LogLanes: c.lanes, LogEach: c.each, LogRows: c.rows, Last: true, Out: at(out),
			}
			if c.quads {
				launch(d, k.Joins, (4*threads+k.Joins.Threads-1)/k.Joins.Threads, c.sets, msm.Joins(step))
			} else {
				launch(d, k.Planes, (threads+k.Planes.Threads-1)/k.Planes.Threads, c.sets, step)
			}
			got, err := layout.View[bn254.G1Jac](layout.Bytes(d.read(out)))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				set, node, part := i/(made*parts), i/parts%made, i%parts
				sum := int64(0)
				for x := range 1 << joined {
					at := set*setStride + (node<<joined+x)*c.apart
					switch bit := part - c.parts; {
					case bit < 0:
						sum += logs[at+part]
					case x>>bit&1 == 1:
						sum += logs[at]
					}
				}
				var affine bn254.G1Affine
				if affine.FromJacobian(&got[i]); affine != multiple(sum) {
					t.Fatalf("set %d, node %d, part %d is wrong", set, node, part)
				}
			}
		})
	}
}

// multiple returns k times the generator of BN254 G1.
func multiple(k int64) (p bn254.G1Affine) {
	return *p.ScalarMultiplicationBase(big.NewInt(k))
}
