package msm

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/curves"
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
	point, err = finish(curves.GroupOf(j.Bases.Curve, j.Bases.Group), sums, j.plan)
	return point, m.failed(err)
}

// Sum returns the sum of affine points of a group, one at least, in new memory. It adds
// up what several cards have computed of one MSM.
func Sum(curve backend.Curve, group backend.Group, points [][]byte) ([]byte, error) {
	if len(points) == 1 {
		return points[0], nil
	}
	g := curves.GroupOf(curve, group)
	total := g.Sums(1)
	for _, b := range points {
		p, err := g.Points(b)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
		}
		total.Add(0, p, 0)
	}
	return total.Point(0), nil
}

// finish adds up the parts of sets, lowest set first, each in Jacobian
// coordinates: sum of 2^(c s) of what the parts of set s make, as an affine point in
// new memory. Without buckets it is the sum of all parts.
func finish(g curves.Group, parts []byte, plan *msmplan.Plan) ([]byte, error) {
	all, err := g.SumsIn(parts)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInternal, err)
	}
	total := g.Sums(1)
	if plan.Direct {
		for i := range all.Len() {
			total.AddSum(0, all, i)
		}
	} else {
		join(g, total, all, plan)
	}
	return total.Point(0), nil
}

// join makes total the sum of all sets of their parts.
func join(g curves.Group, total, all curves.Sums, plan *msmplan.Plan) {
	first, _ := plan.Reduction() // the bit with which the planes of a set begin
	each := all.Len() / plan.Sets
	var group resident.Group
	for s := range plan.Sets {
		group.Go(func() { weigh(g.Sums(1), all.Part(s*each, (s+1)*each), first) })
	}
	group.Wait()
	for s := plan.Sets - 1; s >= 0; s-- {
		for range plan.Width {
			total.Double(0)
		}
		total.AddSum(0, all, s*each)
	}
}

// weigh makes of a set's parts its sum, in the place of the first, which it does not
// need: the weighted part, and 2^(first+j) times plane j. It begins with a total of infinity.
func weigh(total, parts curves.Sums, first int) {
	for j := parts.Len() - 1; j >= msmplan.PlaneParts; j-- {
		total.Double(0)
		total.AddSum(0, parts, j)
	}
	for range first {
		total.Double(0)
	}
	total.AddSum(0, parts, msmplan.WeightedPart)
	parts.SetSum(msmplan.PlainPart, total, 0)
}
