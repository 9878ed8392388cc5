package msm

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-377"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bw6-761"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/resident"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// finishAll makes affine points of what came back. Each is put to its place among the
// answers; that of an OnCard is the first.
func finishAll(jobs []*batch, came []byte, answers [][]byte) error {
	var group resident.Group
	var mu sync.Mutex
	var failure error
	for _, j := range jobs {
		out := came[j.result.Off : j.result.Off+j.result.Size]
		bad := out[j.plan.Work.Sums.Size:]
		each := int(j.plan.Work.Sums.Size) / len(j.members)
		for k, m := range j.members {
			sums := out[k*each : (k+1)*each]
			bad := binary.LittleEndian.Uint32(bad[4*k:])
			at := max(m.at, 0)
			group.Go(func() {
				point, err := j.finish(&m, sums, bad)
				mu.Lock()
				defer mu.Unlock()
				answers[at], failure = point, cmp.Or(failure, err)
			})
		}
	}
	group.Wait()
	return failure
}

// finish makes an affine point of a member's sums. bad is the number of the first scalar
// that is not below r, or kernel.NoIndex.
func (j *batch) finish(m *member, sums []byte, bad uint32) (point []byte, err error) {
	defer resident.Caught(&err)
	if j.check() && bad != kernel.NoIndex {
		return nil, m.failed(fmt.Errorf("%w: scalar %d of %v is not below r", backend.ErrInvalidInput, int(bad)+m.First, j.Bases.Curve))
	}
	point, err = finishers[j.Bases.Curve][j.Bases.Group-backend.G1](sums, j.plan)
	return point, m.failed(err)
}

// finisher adds up the parts of sets, lowest set first, each in Jacobian
// coordinates: sum of 2^(c s) of what the parts of set s make, as an affine point in
// new memory. Without buckets it is the sum of all parts.
type finisher func(parts []byte, plan *msmplan.Plan) ([]byte, error)

// finishers is the table of groups.
var finishers = [...][2]finisher{
	backend.BN254:    {finish[bn254.G1Affine, bn254.G1Jac], finish[bn254.G2Affine, bn254.G2Jac]},
	backend.BLS12377: {finish[bls12377.G1Affine, bls12377.G1Jac], finish[bls12377.G2Affine, bls12377.G2Jac]},
	backend.BLS12381: {finish[bls12381.G1Affine, bls12381.G1Jac], finish[bls12381.G2Affine, bls12381.G2Jac]},
	backend.BW6761:   {finish[bw6761.G1Affine, bw6761.G1Jac], finish[bw6761.G2Affine, bw6761.G2Jac]},
}

// Sum returns the sum of affine points of a group, one at least, in new memory. It adds
// up what several cards have computed of one MSM.
func Sum(curve backend.Curve, group backend.Group, points [][]byte) ([]byte, error) {
	if len(points) == 1 {
		return points[0], nil
	}
	return sums[curve][group-backend.G1](points)
}

var sums = [...][2]func([][]byte) ([]byte, error){
	backend.BN254:    {sum[bn254.G1Affine, bn254.G1Jac], sum[bn254.G2Affine, bn254.G2Jac]},
	backend.BLS12377: {sum[bls12377.G1Affine, bls12377.G1Jac], sum[bls12377.G2Affine, bls12377.G2Jac]},
	backend.BLS12381: {sum[bls12381.G1Affine, bls12381.G1Jac], sum[bls12381.G2Affine, bls12381.G2Jac]},
	backend.BW6761:   {sum[bw6761.G1Affine, bw6761.G1Jac], sum[bw6761.G2Affine, bw6761.G2Jac]},
}

func sum[P, J any, PP affine[P, J], PJ mixed[P, J]](points [][]byte) ([]byte, error) {
	var total J // infinity
	for _, b := range points {
		p, err := layout.View[P](b)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
		}
		PJ(&total).AddMixed(&p[0])
	}
	out := make([]P, 1)
	PP(&out[0]).FromJacobian(&total)
	return layout.Bytes(out), nil
}

// mixed is a jacobian that affine points are added to.
type mixed[P, J any] interface {
	*J
	AddMixed(*P) *J
}

// jacobian is gnark-crypto's type of a point in Jacobian form.
type jacobian[J any] interface {
	*J
	AddAssign(*J) *J
	DoubleAssign() *J
}

// affine is its type of an affine point.
type affine[P, J any] interface {
	*P
	FromJacobian(*J) *P
}

func finish[P, J any, PP affine[P, J], PJ jacobian[J]](parts []byte, plan *msmplan.Plan) ([]byte, error) {
	all, err := layout.View[J](parts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	var total J // infinity
	if plan.Direct {
		for i := range all {
			PJ(&total).AddAssign(&all[i])
		}
	} else {
		total = join[J, PJ](all, plan)
	}
	out := make([]P, 1)
	PP(&out[0]).FromJacobian(&total)
	return layout.Bytes(out), nil
}

// join makes the sum of all sets of their parts.
func join[J any, PJ jacobian[J]](all []J, plan *msmplan.Plan) (total J) {
	first, _ := plan.Reduction() // the bit with which the planes of a set begin
	each := len(all) / plan.Sets
	var group resident.Group
	for s := range plan.Sets {
		group.Go(func() { weigh[J, PJ](all[s*each:(s+1)*each], first) })
	}
	group.Wait()
	for s := plan.Sets - 1; s >= 0; s-- {
		for range plan.Width {
			PJ(&total).DoubleAssign()
		}
		PJ(&total).AddAssign(&all[s*each])
	}
	return total
}

// weigh makes of a set's parts its sum, in the place of the first, which it does not
// need: the weighted part, and 2^(first+j) times plane j.
func weigh[J any, PJ jacobian[J]](parts []J, first int) {
	var total J // infinity
	for j := len(parts) - 1; j >= msmplan.PlaneParts; j-- {
		PJ(&total).DoubleAssign()
		PJ(&total).AddAssign(&parts[j])
	}
	for range first {
		PJ(&total).DoubleAssign()
	}
	PJ(&total).AddAssign(&parts[msmplan.WeightedPart])
	parts[msmplan.PlainPart] = total
}
