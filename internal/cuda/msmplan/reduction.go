package msmplan

// ReductionStep is a step of the reduction of a set: 2^(Lanes+Each) nodes become one, by
// 2^Lanes threads a part, each of which takes 2^Each of them.
type ReductionStep struct {
	Nodes, Parts int  // before the step: the logarithm of the nodes, and the parts of each
	Lanes, Each  int  // logarithms
	Quads        bool // four threads are one: they add up together, see joins.cu
}

// NodesAfter returns the logarithm of the nodes after the step.
func (s *ReductionStep) NodesAfter() int { return s.Nodes - s.Lanes - s.Each }

// PartsAfter returns the parts of each node after the step.
func (s *ReductionStep) PartsAfter() int { return s.Parts + s.Lanes + s.Each }

// SumsAfter returns the sums of a set after the step.
func (s *ReductionStep) SumsAfter() int64 { return int64(s.PartsAfter()) << s.NodesAfter() }

// Threads returns the threads of a set.
func (s *ReductionStep) Threads() int {
	n := int(s.SumsAfter()) << s.Lanes
	if s.Quads {
		n <<= quadBits
	}
	return n
}

// Parts of a node, see planes.cu: there is a plane for each bit that reduce left.
const (
	PlainPart = iota
	WeightedPart
	PlaneParts
)

// Reduction returns the logarithm of how many buckets a thread takes at first, and the
// steps after that, one at least. Where threads are few, a step ends when its dependent
// additions do, and as many threads as possible take part, four to an addition if that is
// faster. Where there are many, idle lanes cost more than a step. Without buckets there are
// no steps.
func (p *Plan) Reduction() (first int, steps []ReductionStep) {
	if p.Direct {
		return 0, nil
	}
	// Fewer buckets a thread where there are few, so that the device is full.
	for first = min(p.Params.FirstLevel, p.BucketBits()); first > 1 && int64(p.filled())>>first < int64(p.Params.Full/2); first-- {
	}
	j := ReductionStep{Nodes: p.BucketBits() - first, Parts: PlaneParts}
	for {
		if threads := int64(p.AllSets()) * int64(j.Parts+warpBits) << j.Nodes; threads <= int64(p.Params.Full) {
			j.Lanes, j.Each = min(j.Nodes, warpBits), 0
			if j.Quads = p.quads(); j.Quads {
				j.Lanes = min(j.Nodes, warpBits-quadBits)
				j.Each = min(j.Nodes-j.Lanes, quadBits)
			}
		} else {
			j.Lanes, j.Each = 0, min(j.Nodes, p.Params.Level)
			j.Quads = p.quads() && 2*int64(p.AllSets())*j.SumsAfter() <= int64(p.Params.Full)
		}
		steps = append(steps, j)
		if j.NodesAfter() == 0 {
			return first, steps
		}
		j = ReductionStep{Nodes: j.NodesAfter(), Parts: j.PartsAfter()}
	}
}

// quads reports whether four threads add up sums together where there are few.
func (p *Plan) quads() bool { return p.Params.Quad > 0 }

// setBytes returns the size of what the host gets of a set, when reduce began with 2^first
// buckets.
func (p *Plan) setBytes(first int) int64 {
	return p.ResultBytes() * int64(PlaneParts+p.BucketBits()-first)
}
