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

// finishAll makes affine points of the results. It puts each into its place among the answers.
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
			at := m.at
			if at < 0 {
				at = k
			}
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

// finish makes an affine point of a member's sums. bad is the index of the first scalar not below
// r, or kernel.NoIndex.
func (j *batch) finish(m *member, sums []byte, bad uint32) (point []byte, err error) {
	defer resident.Caught(&err)
	if j.check() && bad != kernel.NoIndex {
		return nil, m.failed(fmt.Errorf("%w: scalar %d of %v is not below r", backend.ErrInvalidInput, int(bad)+m.First, j.Bases.Curve))
	}
	point, err = finish(curves.GroupOf(j.Bases.Curve, j.Bases.Group), sums, j.plan)
	return point, m.failed(err)
}

// Sum returns the sum of at least one affine point of a group, in new memory. It adds up what
// several cards have computed of one MSM.
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

// finish computes the sum over the sets s of 2^(c s) times the sum of set s, and returns it as an
// affine point in new memory. parts are the parts of all sets in Jacobian coordinates, lowest set
// first. Without buckets it computes the sum of all parts.
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

// join sets total to the sum of all sets.
func join(g curves.Group, total, all curves.Sums, plan *msmplan.Plan) {
	first, _ := plan.Reduction() // the bit of the first plane of a set
	each := all.Len() / plan.Sets
	var group resident.Group
	radix, units := plan.Radix()
	for s := range plan.Sets {
		parts := all.Part(s*each, (s+1)*each)
		group.Go(func() {
			if units {
				parts = rotate(g.Sums(1), parts, first, radix.Bits)
			}
			weigh(g.Sums(1), parts, first)
		})
	}
	group.Wait()
	for s := plan.Sets - 1; s >= 0; s-- {
		for range plan.Width {
			total.Double(0)
		}
		total.AddSum(0, all, s*each)
	}
}

// rotate adds the planes of b to the weighted part of a set's parts modulo six units, in which
// bucket b 2^bits + a-1 stands for a + b (1 + w), and returns the other parts. total must be
// infinity.
func rotate(total, parts curves.Sums, first, bits int) (others curves.Sums) {
	low := msmplan.PlaneParts + bits - first
	for j := parts.Len() - 1; j >= low; j-- {
		total.Double(0)
		total.AddSum(0, parts, j)
	}
	total.Rotate(0)
	parts.AddSum(msmplan.WeightedPart, total, 0)
	return parts.Part(0, low)
}

// weigh computes a set's sum from its parts: the weighted part, plus 2^(first+j) times plane j. It
// puts the sum into the place of the plain part, which it does not need. total must be infinity.
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
