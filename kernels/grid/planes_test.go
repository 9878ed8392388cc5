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
// one after the other, and both; nodes that lie apart, more groups than fill a warp,
// and sums that are infinity, equal, and opposite.
func TestPlanes(t *testing.T) {
	d := open(t)
	k, ok := msm.ForGroup("bn254", "g1")
	if !ok {
		t.Fatal("no kernels")
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct{ sets, logNodes, parts, lanes, each, apart int }{
		{1, 0, 2, 0, 0, 2},
		{2, 3, 2, 3, 0, 8},
		{3, 4, 3, 0, 2, 3},
		{2, 6, 2, 5, 0, 4},
		{1, 6, 5, 2, 2, 5},
		{2, 3, 4, 1, 2, 7},
		{1, 7, 2, 5, 1, 2},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			d.T = t
			nodes := 1 << c.logNodes
			setStride := nodes*c.apart + 3
			// Sums are small multiples of the generator, in XYZZ with zz = zzz = 1.
			logs := make([]int64, c.sets*setStride)
			sums := make([][4]fp.Element, len(logs))
			for i := range logs {
				logs[i] = r.Int64N(9) - 4
				p := multiple(logs[i])
				sums[i] = [4]fp.Element{p.X, p.Y}
				if logs[i] != 0 {
					sums[i][2].SetOne()
					sums[i][3].SetOne()
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
			launch(d, k.Planes, (threads+k.Planes.Threads-1)/k.Planes.Threads, c.sets, msm.Planes{
				In: at(d.words(len(in), in...)), SetStride: setStride, NodeStride: c.apart, LogNodes: c.logNodes, Parts: c.parts,
				LogLanes: c.lanes, LogEach: c.each, Last: true, Out: at(out),
			})
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
