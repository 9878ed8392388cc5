package msmplan

import (
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// WorkLayout says what is where in the work memory of a plan, and its size.
type WorkLayout struct {
	driver.Layout
	Between, Rests     driver.Region // values in bins, and their buckets there
	Counts             driver.Region // of the bins of a tile
	First, Tiles       driver.Region // of a bin
	Begin              driver.Region // of a bucket
	End, Next, Cleared driver.Region // of a bucket; of a bin; both, which a step clears
	Lists              [2]TaskLists  // of even steps, and of odd ones
	Slots, Buckets     driver.Region
	Pairs              PairLayout
	Nodes              [2]driver.Region // what one step of the reduction leaves to the next
	Sums, Bad          driver.Region    // one behind the other
}

// TaskLists are what a step's entries become before they are accumulated: sorted values,
// the tasks over them, and the tasks of pairs where there are levels of them.
type TaskLists struct {
	Values, Tally, Tasks, Splits, Owners driver.Region
	PairTally, PairTaskList              driver.Region
}

// PairLayout is what affine additions need: Slots and Numbers, and Sums, Before and Products
// in pairs, Room and Taken one after the other. pairs.cu and affine.cu say what each part
// holds.
type PairLayout struct{ Sums, Before, Products, Slots, Numbers, Room, Taken driver.Region }

// layOut says what is where in work memory, and how much a step reads from the host.
func (p *Plan) layOut() {
	points := int64(p.largest())
	if !p.Resident {
		p.ScalarBytes = int64(p.MSMs()) * points * int64(p.Curve.ScalarBytes())
	}
	if p.Stream {
		p.StreamBytes = points * int64(p.Curve.PointBytes(p.Group))
	}
	var l WorkLayout
	p.layOutSort(&l)
	for i := range l.Lists {
		l.Lists[i] = l.Lists[0]
		if i == 0 || p.Overlaps() {
			l.Lists[i] = p.layOutLists(&l.Layout)
		}
	}
	l.Slots = l.Take(p.PointBytes() * p.splitSlots())
	l.Buckets = l.Take(p.PointBytes() * p.places())
	if p.Levels > 0 {
		l.Pairs = p.layOutPairs(&l.Layout)
	}
	first, steps := p.Reduction()
	sets := int64(p.AllSets())
	for i, s := range steps[:len(steps)-1] {
		if nodes := p.PointBytes() * sets * s.SumsAfter(); nodes > l.Nodes[i%2].Size {
			l.Nodes[i%2] = l.Take(nodes)
		}
	}
	l.layOutResults(sets*p.setBytes(first), 4*int64(p.MSMs()))
	p.Work = l
}

// layOutResults takes room for what the host gets, in one piece.
func (l *WorkLayout) layOutResults(sums, bad int64) {
	at := l.Take(sums + bad)
	l.Sums, l.Bad = driver.Region{Off: at.Off, Size: sums}, driver.Region{Off: at.Off + sums, Size: bad}
}

// Results returns Sums and Bad as one.
func (l *WorkLayout) Results() driver.Region {
	return driver.Region{Off: l.Sums.Off, Size: l.Sums.Size + l.Bad.Size}
}

// layOutSort takes room for what the sort keeps of bins and buckets.
func (p *Plan) layOutSort(l *WorkLayout) {
	entries, buckets, bins := p.maxEntries(), p.BucketCount(), int64(p.Sort.Bins)
	if p.Sort.Shift > 0 {
		l.Between, l.Rests = l.Take(4*entries), l.Take(2*entries)
		l.First, l.Tiles = l.Take(4*bins), l.Take(4*(bins+1))
	}
	l.Counts = l.Take(4 * int64(p.MSMs()) * int64(p.Sort.Tiles(p.largest())) * int64(p.Sort.Row))
	l.Begin, l.End = l.Take(4*buckets), l.Take(4*buckets)
	l.Next, l.Cleared = l.End, l.End
	if p.Sort.Shift > 0 {
		l.Next = l.Take(4 * bins)
		l.Cleared.Size = l.Next.Off + l.Next.Size - l.End.Off
	}
}

// splits bounds the runs of a chunk that are cut into more than one task: each has more
// than Piece summands.
func (p *Plan) splits() int64 { return p.summands() / int64(p.Piece) }

// splitSlots bounds the slots of the tasks of such runs. A run becomes at most
// length/Piece + 1 tasks, and its slots begin with an even one: that is at most two for
// each whole piece.
func (p *Plan) splitSlots() int64 { return 2*p.splits() + 1 }

// layOutLists takes room for what a step's entries become.
func (p *Plan) layOutLists(l *driver.Layout) TaskLists {
	t := TaskLists{
		Values: l.Take(4 * p.maxEntries()),
		Tally:  l.Take(4 * kernel.TallyWords),
		Tasks:  l.Take(4 * kernel.TaskWords * p.MaxTasks()),
		Splits: l.Take(4 * kernel.SplitWords * (p.splits() + 1)),
		Owners: l.Take(4 * kernel.OwnerWords * p.splitSlots()),
	}
	if p.Levels > 0 {
		t.PairTally, t.PairTaskList = l.Take(4*kernel.TallyWords), l.Take(4*kernel.TaskWords*p.MaxPairTasks())
	}
	return t
}

// layOutPairs takes room for affine additions.
func (p *Plan) layOutPairs(l *driver.Layout) PairLayout {
	affine, element := kernel.PointElements*p.ElementBytes(), p.ElementBytes()
	r := PairLayout{Slots: l.Take(affine * p.MaxPairTasks()), Numbers: l.Take(4 * p.MaxPairTasks())}
	if p.Affine {
		blocks := int64(p.AffinePlaces())
		r.Room, r.Taken = l.Take(blocks*AffineRows*affineThreads*(affine+element+4*affineAhead)), l.Take(4*blocks)
		return r
	}
	places := int64(p.PairTasks()) << (p.Levels - 1)
	r.Sums, r.Before, r.Products = l.Take(affine*places), l.Take(element*places), l.Take(element*int64(p.PairThreads()))
	return r
}
