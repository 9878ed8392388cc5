package msmplan

import (
	"math"
	"math/bits"
	"slices"

	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// limitTasks chooses the longest task. Shorter tasks keep more threads busy; longer ones
// leave fewer sums to be added up.
func (p *Plan) limitTasks() {
	average := int(float64(p.LongestRun()) * float64(p.AllSets()) / p.filled())
	p.Piece = min(max(p.Params.Piece, 1<<bits.Len(uint(4*average))), kernel.LongestTask)
	// A small MSM ends when its longest task does: the shorter that is, the more threads
	// take part.
	p.Piece = min(p.Piece, max(LeastPiece, 1<<bits.Len64(uint64(p.summands())/uint64(p.Params.Full))/2))
	p.Piece = p.equalTasks(int(p.maxEntries()>>p.Levels), p.largest())
}

// summands bounds what is accumulated in a chunk: entries, or the sums that pairs leave.
func (p *Plan) summands() int64 {
	if p.Levels > 0 {
		return p.MaxPairTasks()
	}
	return p.maxEntries()
}

// equalTasks returns the longest task of a chunk of so many summands and points. If all
// scalars are equal, every task has this length; it is chosen so that they fill the device
// in whole waves. Large chunks take up to mostTimes waves, because often only some scalars
// are equal, but never so many that runs of uniform scalars must be cut. If those must be
// cut anyhow, they take two waves or more.
func (p *Plan) equalTasks(summands, points int) int {
	threads := p.Params.Adding
	if summands <= threads {
		return p.Piece
	}
	of := func(times int) int { return max(LeastPiece, (summands-1)/(times*threads)+1) }
	least := func(task int) int { return (summands-1)/(task*threads) + 1 }
	if summands <= longChunk*threads {
		return of(least(p.Piece))
	}
	first := least(min(max(p.Piece, 8*p.Params.Piece), kernel.LongestTask))
	if p.Levels > 0 {
		return of(first) // what is left of the runs is short, and its sums are dear
	}
	uniform := float64(summands)/p.filled() + p.crowd(float64(points))
	for times := max(first, mostTimes); times > 0; times-- {
		if float64(of(times)) >= uniform && times >= first {
			return of(times)
		}
	}
	return of(max(first, 2))
}

// mostTimes bounds the waves of equal tasks in which a large chunk fills the device.
const mostTimes = 4

// crowd returns by how much the run of a bucket of the highest window is longer than the
// average, in a chunk of so many points: that window has few digits.
func (p *Plan) crowd(points float64) float64 {
	return points / p.highestDigits() / float64(int(1)<<p.Levels)
}

// MaxTasks bounds the tasks of the largest chunk.
func (p *Plan) MaxTasks() int64 { return p.tasksOf(p.summands(), p.Piece) }

// maxEntries bounds the entries of a chunk.
func (p *Plan) maxEntries() int64 { return int64(p.AllSets()) * int64(p.Stride) }

// MaxPairTasks bounds the tasks of pairs of the largest chunk. The sums of pairs are
// entries again.
func (p *Plan) MaxPairTasks() int64 { return p.tasksOf(p.maxEntries(), 1<<p.Levels) }

// tasksOf bounds the tasks that at most so many entries make, if none is longer than most.
func (p *Plan) tasksOf(entries int64, most int) int64 {
	return min(entries, p.BucketCount()+entries/int64(most)) + 1
}

// PairTasks returns how many tasks of pairs are added up at a time, at most.
func (p *Plan) PairTasks() int { return int(min(p.MaxPairTasks(), int64(p.Params.PairTasks))) }

// PairBatches returns how many times PairTasks tasks of pairs are added up for a chunk of
// n points.
func (p *Plan) PairBatches(n int) int {
	batch := int64(p.PairTasks())
	return int((p.affineTasks(n) + batch - 1) / batch)
}

// affineTasks bounds the tasks of affine additions of a chunk of n points.
func (p *Plan) affineTasks(n int) int64 {
	entries := int64(p.AllSets()) * int64(n) * int64(rowsOf(p.Windows, p.Sets))
	return p.tasksOf(entries, 1<<p.Levels)
}

const (
	AffineRows    = 64  // of tasks that a block of affine.cu takes, at most: a task of each to a thread
	affineThreads = 128 // of a block: affine.cu's affine_threads
	affineAhead   = 4   // words that a thread keeps beside three elements a row: affine.cu's affine_ahead
)

// AffinePlaces returns how many blocks add up tasks one entry after the other at a time.
func (p *Plan) AffinePlaces() int { return p.Params.AffinePlaces }

// AffineBlocks returns how many do so for a chunk of n points, in whole waves.
func (p *Plan) AffineBlocks(n int) int {
	places := int64(p.AffinePlaces())
	waves := (p.affineTasks(n)-1)/(places*affineThreads*AffineRows) + 1
	return int(waves * places)
}

// affineSteps estimates the steps of such blocks, one wave after the other, for so many
// tasks of runs of an average length.
func (p *Plan) affineSteps(tasks, run float64) float64 {
	wave := float64(p.AffinePlaces()) * affineThreads * AffineRows
	longest := min(float64(int(1)<<p.Levels), run+2*math.Sqrt(run)+1)
	return math.Ceil(tasks/wave) * longest
}

// PairThreads returns the threads that add them up: whole blocks.
func (p *Plan) PairThreads() int {
	block := p.Params.PairBlock
	return min(p.Params.PairThreads, (p.PairTasks()+block-1)/block*block)
}

// LongestRun bounds what is accumulated to a bucket in a chunk: entries, or sums of
// 2^Levels of them.
func (p *Plan) LongestRun() int { return (p.Stride-1)>>p.Levels + 1 }

// PieceOf returns the longest task of a chunk of n points. A small chunk has shorter tasks,
// so that it does not wait for the tasks of one long run of equal scalars. Its runs become
// no more tasks than those of the largest chunk. With pairs every chunk has the same limit,
// because a small chunk then has more summands than its part of the points.
func (p *Plan) PieceOf(n int) int {
	if p.Levels > 0 {
		return p.Piece
	}
	most := slices.Max(p.Chunks)
	return max(LeastPiece, (p.Piece*n+most-1)/most)
}
