package msmplan

import (
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// The limits of what the kernels can do.
const (
	LeastPiece = 16        // entries that a task may be limited to
	longChunk  = 64        // entries a thread, of a chunk that is not small
	maxEntries = 1<<32 - 1 // of all sets of a chunk: indices have 32 bits
	warpBits   = 5         // the logarithm of the lanes of a warp
	quadBits   = 2         // the logarithm of the lanes of a quad
	maxPoints  = 1 << 31   // that entries can name, beside the bit for the sign
	minWindow  = 4
	maxWindow  = 25

	mostBuckets = 1 << 25
)

// MostTogether bounds the MSMs that are computed side by side: their sets are rows of grids.
const MostTogether = 256

// Plan is how an MSM is computed. It follows from the input alone.
type Plan struct {
	Input
	Width   int   // of a window: bits of a digit
	Windows int   // digits of a scalar
	Sharing       // of an MSM's sets of buckets; fewer sets than windows where multiples are used
	Chunks  []int // points of each step, all of them
	Levels  int   // 2^Levels entries of a bucket become one, an affine point, before they are accumulated
	Affine  bool  // they are added one after the other, and not in pairs
	Direct  bool  // there are no buckets: what is below of them, of tasks and of the sort is 0
	Piece   int   // entries of the longest task
	Stride  int   // entries of a set that there is room for
	Sort    Sorting
	Work    WorkLayout

	// What a step reads from the host, at most, in bytes. It is not in Work, because the
	// next step's input is copied while this step is computed.
	ScalarBytes, StreamBytes int64
}

// Need returns the bytes of device memory that the plan takes.
func (p *Plan) Need() int64 {
	inputs := int64(min(len(p.Chunks), 2)) // a step's, and the next one's
	return p.Work.Size + inputs*(driver.Align(p.ScalarBytes)+driver.Align(p.StreamBytes))
}

// Overlaps reports whether a step's entries are sorted while the step before it is
// accumulated.
func (p *Plan) Overlaps() bool { return len(p.Chunks) > 1 && !p.Params.InTurn }

// RowStride returns the distance, in points, of the rows that the windows of a set use.
func (p *Plan) RowStride() int { return p.Skip * p.Multiples.Distance }

// Form returns the form of the points that the plan adds up.
func (p *Plan) Form() Form {
	if p.Multiples.Units && p.Skip == 0 {
		return Plain
	}
	return p.Multiples.Form()
}

// BucketBits returns the logarithm of the buckets of a set.
func (p *Plan) BucketBits() int { return p.Width - 1 }

// places returns how many sums the memory of all sets' buckets has room for. The reduction leaves
// its own there, beyond the last bucket too.
func (p *Plan) places() int64 { return int64(p.AllSets()) << p.BucketBits() }

// BucketCount returns the buckets of all sets. Modulo six units it returns the places for them, up
// to the last one that a digit can have.
func (p *Plan) BucketCount() int64 {
	if p.Direct {
		return 0
	}
	all := p.places()
	if r, ok := p.Radix(); ok {
		all -= int64(1<<r.Bits-r.M/2) << r.Bits
	}
	return all
}

// New finds the cheapest plan that fits the memory. When none does, the error wraps
// backend.ErrOutOfMemory and names the least need.
func New(in Input) (*Plan, error) {
	var best *Plan
	var bestCost float64
	least := int64(-1)
	for p := range in.candidates {
		if !p.complete() {
			continue
		}
		need := p.Need()
		if least < 0 || need < least {
			least = need
		}
		if need > in.Memory {
			continue
		}
		if cost := p.Cost(); best == nil || cost < bestCost {
			best, bestCost = p, cost
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w: an MSM of %d points on %v %v needs %d bytes on the device, %d may be used",
			backend.ErrOutOfMemory, in.Count, in.Curve, in.Group, least, in.Memory)
	}
	return best, nil
}

// candidates yields the plans that New chooses from, before they are completed.
func (in Input) candidates(yield func(*Plan) bool) {
	if w := in.Params.Window; in.direct() && (w == 0 || w == 1) && !yield(in.directPlan()) {
		return
	}
	cuts := cuts(in)
	if in.Multiples.Units && !in.Stream && in.Params.Window == 0 {
		for _, chunks := range cuts {
			if !yield(in.unitPlan(chunks)) {
				return
			}
		}
		if in.Params.UnitWindows != 0 {
			return
		}
	}
	for c := minWindow; c <= maxWindow; c++ {
		if w := in.Params.Window; w != 0 && w != c {
			continue
		}
		count := Windows(in.Curve, c)
		for _, sharing := range in.Multiples.sharings(count, c) {
			for _, chunks := range cuts {
				for _, first := range in.affineAdditions() {
					if !yield(&Plan{Input: in, Width: c, Windows: count, Sharing: sharing, Chunks: chunks, Levels: first.levels, Affine: first.inTurn}) {
						return
					}
				}
			}
		}
	}
}

// affineFirst says how many entries of a bucket become one as affine points, 2^levels, and
// whether they are added one after the other or in pairs.
type affineFirst struct {
	levels int
	inTurn bool
}

// affineAdditions lists those that New chooses from.
func (in *Input) affineAdditions() []affineFirst {
	all := []affineFirst{{}}
	if in.Multiples.Edwards {
		return all
	}
	if in.Params.Pair > 0 {
		all = append(all, affineFirst{in.Params.PairLevels, false})
	}
	if in.Params.Affine > 0 {
		all = append(all, affineFirst{in.Params.AffineLevels, true})
	}
	return all
}

// cuts lists the ways to cut the points into chunks that New chooses from. The first
// chunk is small, because the card computes nothing while it is copied.
func cuts(in Input) [][]int {
	n := in.Count
	all := [][]int{{n}}
	if n >= in.Params.Overlap && (!in.Resident || in.Stream) {
		e, s := n/8, n/16
		all = append(all, []int{n / 4, n - n/4}, []int{e, 3 * e, n - 4*e}, []int{s, 3 * s, 4 * s, n - 8*s})
		if in.Fed {
			all = append(all, []int{s, 2 * s, 3 * s, 4 * s, n - 10*s})
		}
	}
	for k := 4; k <= n/in.Params.Chunk && k <= 1<<12; k *= 2 {
		cut := make([]int, k)
		for i := range cut {
			cut[i] = n*(i+1)/k - n*i/k
		}
		all = append(all, cut)
	}
	return all
}

// complete computes what follows from windows, sets and chunks. It returns false when the
// plan is beyond the kernels' limits.
func (p *Plan) complete() bool {
	if !p.withinLimits() {
		return false
	}
	if p.Direct {
		p.layOutDirect()
		return true
	}
	p.Sort = p.sorting(p.largest())
	p.limitTasks()
	p.layOut()
	return true
}

// largest returns the points of the largest chunk.
func (p *Plan) largest() int { return slices.Max(p.Chunks) }

// withinLimits sets the stride and tells whether all indices fit the words that kernels
// have for them.
func (p *Plan) withinLimits() bool {
	windows := rowsOf(p.Windows, p.Sets) // of a set
	points := int64(windows-1)*int64(p.RowStride()) + int64(p.Count)
	if _, ok := p.Radix(); ok {
		points *= 3 // an entry names a point and a power of w
	}
	if points > maxPoints {
		return false
	}
	p.Stride = p.largest() * windows
	return p.maxEntries() <= maxEntries && p.BucketCount() <= mostBuckets
}
