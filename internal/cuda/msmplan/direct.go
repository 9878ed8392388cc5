package msmplan

import (
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// DirectPoints bounds the points of an MSM without buckets, and the bases that have the
// multiples for it: d 2^(c w) times each for all windows w of c bits and all sizes d of their
// digits.
const DirectPoints = 1 << 15

const (
	directDigits = 5120 // of the scalars of a block, at most: direct.cu's direct_digits
	directJoined = 32   // blocks whose sums one of them adds up: direct.cu's direct_joined
	directBlock  = 128  // threads: direct.cu's direct_threads
	directLeast  = 2    // digits of a thread: with fewer, most of the time is the trees that end blocks
	directLaunch = 1.5  // what one kernel, and no more, takes beside; 2 with buckets, of one chunk

	// Windows of more bits would need half a million bytes a base and more.
	leastDirect, mostDirect = 2, 9
	// directShare is the part of the room for multiples that these may take. Small sets of
	// bases come in numbers.
	directShare = 1.0 / 4
)

// directMultiples returns the multiples that an MSM of all bases of an input without buckets
// reads, by windows of c bits; false where it has no kernel, or bases are too many.
func (in *Input) directMultiples(c int) (Multiples, bool) {
	m := Multiples{Shift: c, Digits: 1 << (c - 1), Distance: in.Count, Edwards: in.Params.Edwards > 0}
	m.Rows = Windows(in.Curve, c) * m.Digits
	return m, in.Count <= DirectPoints && hasDirect(in.Curve.String(), in.Group.String(), m.Edwards)
}

// makingDirect returns the cost of making them: a doubling, half an addition and a share of an
// inverse a point, and for each power of 2 the inverses that rows wait for.
func (in *Input) makingDirect(m Multiples) float64 {
	waits := float64(m.Rows / m.Digits * m.Shift)
	return waits*inverseAdditions*0.65*float64(in.Params.Adding) + 4*float64(m.Rows)*float64(m.Distance)
}

// direct reports whether there are the multiples for an MSM without buckets, and it is alone
// and small.
func (in *Input) direct() bool {
	m := in.Multiples
	return m.Digits > 1 && in.Count <= DirectPoints && !in.Stream && in.MSMs() == 1 &&
		hasDirect(in.Curve.String(), in.Group.String(), m.Edwards)
}

// directPlan returns the plan without buckets. Its windows are those of the multiples.
func (in Input) directPlan() *Plan {
	m := &in.Multiples
	windows := Windows(in.Curve, m.Shift)
	return &Plan{Input: in, Direct: true, Width: m.Shift, Windows: windows, Sharing: Sharing{1, m.Digits}, Chunks: []int{in.Count}}
}

// DirectEach returns how many scalars a block takes: as many as fill the card once, so that few
// trees of sums end them.
func (p *Plan) DirectEach() int {
	atOnce := max(p.Params.Adding/directBlock, 1)
	each := max((p.Count-1)/atOnce+1, (directLeast*directBlock-1)/p.Windows+1)
	return min(each, directDigits/p.Windows, p.Count)
}

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

// adding estimates an MSM without buckets: of every thread the additions of its points, one
// for each digit, and then three trees of sums, whose depths are 3, 6 and 6.
func (p *Plan) adding() float64 {
	t := &p.Params
	const trees = 3 + 6 + 6
	atOnce, blocks := max(t.Adding/directBlock, 1), p.DirectBlocks()
	waves := float64((blocks-1)/atOnce + 1)
	rounds := (p.DirectEach()*p.Windows-1)/directBlock + 1
	sums := sumOfSums
	if t.Quad > 0 {
		sums *= t.Quad
	}
	return waves * (p.dependent(float64(min(blocks, atOnce)*directBlock), float64(rounds)) + p.dependent(0, trees*sums))
}

// hasDirect reports whether a group, of points in Edwards form or not, has the kernel.
func hasDirect(curve, group string, edwards bool) bool {
	if edwards {
		group = Edwards.Of(group)
	}
	_, ok := kernel.ForSmall(curve, group)
	return ok
}
