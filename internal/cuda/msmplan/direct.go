package msmplan

import (
	"math"

	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// DirectPoints bounds the points of an MSM without buckets, and the bases that have the
// multiples for it: 2^r times each for all bits r of a scalar.
const DirectPoints = 1 << 11

const (
	directEach   = 4   // scalars of a block, at most: direct.cu's direct_each
	directJoined = 32  // blocks whose sums one of them adds up: direct.cu's direct_joined
	directBlock  = 128 // threads: direct.cu's direct_threads
	directFill   = 256 // blocks: with more, most of the time is the trees that end them
)

// directMultiples returns the multiples that an MSM of all bases of an input without buckets
// reads; false where it has no kernel, or bases are too many.
func (in *Input) directMultiples() (Multiples, bool) {
	m := Multiples{Rows: in.Curve.ScalarBits(), Shift: 1, Distance: in.Count, Edwards: in.Params.Edwards > 0}
	return m, in.Count <= DirectPoints && hasDirect(in.Curve.String(), in.Group.String(), m.Edwards)
}

// direct reports whether there are the multiples for an MSM without buckets, and it is alone
// and small.
func (in *Input) direct() bool {
	want, ok := in.directMultiples()
	m := in.Multiples
	return ok && !in.Stream && in.MSMs() == 1 && m.Shift == want.Shift && m.Rows >= want.Rows && m.Edwards == want.Edwards
}

// directPlan returns the plan without buckets. Its digits are the bits of a non-adjacent
// form, with one more than half of r has.
func (in Input) directPlan() *Plan {
	return &Plan{Input: in, Direct: true, Width: 1, Windows: in.Curve.ScalarBits(), Sharing: Sharing{1, 1}, Chunks: []int{in.Count}}
}

// DirectEach returns how many scalars a block takes.
func (p *Plan) DirectEach() int { return min((p.Count-1)/directFill+1, directEach) }

// DirectBlocks returns the blocks of direct.cu.
func (p *Plan) DirectBlocks() int { return (p.Count-1)/p.DirectEach() + 1 }

// directResults returns how many points the host gets.
func (p *Plan) directResults() int64 { return int64(p.DirectBlocks()-1)/directJoined + 1 }

// layOutDirect says what is where in work memory: the sums of blocks, and the results.
func (p *Plan) layOutDirect() {
	if !p.Resident {
		p.ScalarBytes = int64(p.Count) * int64(p.Curve.ScalarBytes())
	}
	var l WorkLayout
	l.Nodes[0] = l.Take(p.PointBytes() * int64(p.DirectBlocks()))
	// Behind the word for a bad scalar are the blocks that have come.
	l.layOutResults(p.directResults()*p.ResultBytes(), 4*(1+p.directResults()))
	p.Work = l
}

// adding estimates an MSM without buckets: of every thread the additions of its points, a
// third of the bits of its scalars, and then three trees of sums, whose depths are 6, 2 and 6.
func (p *Plan) adding() float64 {
	t := &p.Params
	const trees = 6 + 2 + 6
	blocks := float64(p.DirectBlocks())
	points := float64(p.Count) * float64(p.Windows) / 3
	sums := sumOfSums
	if t.Quad > 0 {
		sums *= t.Quad
	}
	waves := math.Ceil(blocks * directBlock / float64(t.Adding))
	return waves * (p.dependent(0, math.Ceil(points/blocks/directBlock)) + p.dependent(0, trees*sums))
}

// hasDirect reports whether a group, of points in Edwards form or not, has the kernel.
func hasDirect(curve, group string, edwards bool) bool {
	if edwards {
		group = EdwardsForm(group)
	}
	_, ok := kernel.ForSmall(curve, group)
	return ok
}
