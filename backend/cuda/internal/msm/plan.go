package msm

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/layout"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

const (
	leastPiece = 16
	longChunk  = 64        // entries a thread, of a chunk that is not small
	maxEntries = 1<<32 - 1 // of all sets of a chunk: indices have 32 bits
	warpBits   = 5         // a logarithm: lanes of a warp
	maxPoints  = 1 << 31   // that entries can name, the sign apart
	minWindow  = 4
	maxWindow  = 25

	// Of the sort: the logarithm of the buckets up to which bins have one each, and of
	// the most that a bin has; the most buckets; the scalars of a tile, at least
	// and in large ones a multiple of, and the tiles that keep a large device busy.
	oneLevel    = 12
	mostShift   = 12
	mostBuckets = 1 << 25
	leastEach   = 128
	wholeEach   = 1 << 10
	fewTiles    = 512
)

// input is what a plan is made for.
type input struct {
	curve  backend.Curve
	group  backend.Group
	count  int   // points of an MSM
	stream bool  // the points come in chunks from the host
	memory int64 // bytes that may be used
	tuning tuning

	resident bool // the scalars do not: they are on the card
	fed      bool // the scalars come to memory that the card reads while the MSM runs

	together int // MSMs over the same points side by side, each with sets of its own; 0 is one

	multiples multiples
}

// multiples is which multiples of bases there are: row r, of as many as rows, has
// 2^(shift r) of each, distance points after the row before. The zero value is the
// bases alone. In Edwards form they are what kernels of that law add up.
type multiples struct {
	rows, shift, distance int
	edwards               bool
}

// share is a way to use multiples: so many sets for all windows, which use every
// skip-th row; 0 is none but the first.
type share struct{ sets, skip int }

// shares lists the ways to use multiples for windows of c bits.
func (m *multiples) shares(windows, c int) []share {
	all := []share{{windows, 0}}
	for sets := 1; sets < windows && m.rows > 1; sets++ {
		skip := c * sets / m.shift
		if c*sets%m.shift == 0 && (rowsOf(windows, sets)-1)*skip < m.rows {
			all = append(all, share{sets, skip})
		}
	}
	return all
}

// rowsOf is how many windows share a set, at most.
func rowsOf(windows, sets int) int { return (windows + sets - 1) / sets }

// plan is how an MSM is computed. Everything follows from the input.
type plan struct {
	input
	width   int   // of a window: bits of a digit
	windows int   // digits of a scalar
	share         // sets of buckets of an MSM; fewer than windows where multiples are used
	chunks  []int // points of each step, all of them
	levels  int   // of pairs: 2^levels entries of a bucket become one before they are accumulated
	piece   int   // the longest task
	stride  int   // entries of a set that there is room for
	sort    sorting
	room    room

	// What a step reads from the host, at most: it is not in room, because the
	// next step's is copied while this step is computed.
	scalarBytes, streamBytes int64
}

// room is the work memory of a plan: offsets into one allocation, and its size.
type room struct {
	device.Layout
	between, rests     device.Region // values in bins, and their buckets there
	counts             device.Region // of the bins of a tile
	first, tiles       device.Region // of a bin
	begin              device.Region // of a bucket
	end, next, cleared device.Region // of a bucket and of a bin; both
	lists              [2]lists      // of even steps, and of odd ones
	slots, buckets     device.Region
	pairs              pairsRoom
	nodes              [2]device.Region // of the reduction, what one step leaves to the next
	sums, bad          device.Region
}

// lists are what a step's entries become before they are accumulated: sorted values,
// the tasks over them, and those of pairs where there are levels of them.
type lists struct {
	values, tally, tasks, splits, owners device.Region
	tallyOfPairs, tasksOfPairs           device.Region
}

// pairsRoom is what additions of pairs need: see pairs.cu.
type pairsRoom struct{ sums, before, products, slots, numbers device.Region }

// need is the memory for the plan alone.
func (p *plan) need() int64 {
	inputs := int64(min(len(p.chunks), 2)) // a step's, and the next one's
	return p.room.Size + inputs*(device.Align(p.scalarBytes)+device.Align(p.streamBytes))
}

// overlaps tells whether a step's entries are sorted while the one before it is
// accumulated.
func (p *plan) overlaps() bool { return len(p.chunks) > 1 && !p.tuning.inTurn }

// multiple is the distance, in points, of the rows that windows of a set use.
func (p *plan) multiple() int { return p.skip * p.multiples.distance }

// buckets of a set.
func (p *plan) bucketBits() int { return p.width - 1 }
func (p *plan) bucketCount() int64 {
	return int64(p.allSets()) << p.bucketBits()
}

// msms is how many MSMs the plan is for, allSets the sets of them all.
func (in *input) msms() int  { return max(in.together, 1) }
func (p *plan) allSets() int { return p.msms() * p.sets }

// pointBytes is the sum of a bucket, resultBytes a point that the host gets.
func (in *input) pointBytes() int64  { return kernel.SumElements * in.elementBytes() }
func (in *input) resultBytes() int64 { return kernel.ResultElements * in.elementBytes() }

// elementBytes is a coordinate of a point.
func (in *input) elementBytes() int64 { return elementBytes(in.curve, in.group) }

func elementBytes(c backend.Curve, g backend.Group) int64 {
	return int64(c.PointBytes(g)) / kernel.PointElements
}

// tableBytes is the size of multiples of as many bases.
func (in *input) tableBytes(m multiples) int64 {
	return int64(m.rows) * int64(m.distance) * in.baseBytes(m)
}

// baseBytes is a base, or a multiple of one, on the card.
func (in *input) baseBytes(m multiples) int64 {
	if m.edwards {
		return kernel.EdwardsElements * in.elementBytes()
	}
	return kernel.PointElements * in.elementBytes()
}

// expectedUses is the MSMs that pay for the multiples of their bases.
const expectedUses = 1000

// chooseMultiples is the multiples of all bases of an input that MSMs of all of them
// gain most by: at most so many of each, unless that is 0, in room bytes, which are a
// part of the input's memory. The zero value is that they would gain nothing.
func chooseMultiples(in input, most int, room int64) (best multiples) {
	alone, err := newPlan(in)
	if err != nil {
		return best
	}
	least := alone.cost()
	for c := minWindow; c <= maxWindow; c++ {
		if w := in.tuning.window; w != 0 && w != c {
			continue
		}
		count := windows(in.curve, c)
		for sets := 1; sets <= count; sets++ {
			m := multiples{rows: rowsOf(count, sets), shift: c * sets, distance: in.count, edwards: in.tuning.edwards > 0}
			if m.rows == 1 && !m.edwards {
				continue // the bases themselves
			}
			size := in.tableBytes(m)
			if size > room || most > 0 && m.rows > most || sets > 1 && rowsOf(count, sets-1) == m.rows {
				continue
			}
			with := in
			with.multiples, with.tuning.window = m, c
			with.memory -= size
			p, err := newPlan(with)
			if err != nil {
				continue
			}
			// A doubling is less than an addition to a bucket, which reads its point.
			making := float64(m.rows-1) * float64(in.count) * float64(m.shift) * 0.7
			if cost := p.cost() + making/expectedUses; cost < least {
				best, least = m, cost
			}
		}
	}
	return best
}

// newPlan finds the cheapest plan that fits the memory. When none does, the
// error wraps backend.ErrOutOfMemory and names the least need.
func newPlan(in input) (*plan, error) {
	var best *plan
	var bestCost float64
	least := int64(-1)
	for p := range in.candidates {
		if !p.fill() {
			continue
		}
		need := p.need()
		if least < 0 || need < least {
			least = need
		}
		if need > in.memory {
			continue
		}
		if cost := p.cost(); best == nil || cost < bestCost {
			best, bestCost = p, cost
		}
	}
	if best == nil {
		return nil, fmt.Errorf("%w: an MSM of %d points on %v %v needs %d bytes on the device, %d may be used",
			backend.ErrOutOfMemory, in.count, in.curve, in.group, least, in.memory)
	}
	return best, nil
}

// candidates yields the plans that newPlan chooses from, before they are filled.
func (in input) candidates(yield func(*plan) bool) {
	cuts := cuts(in)
	for c := minWindow; c <= maxWindow; c++ {
		if w := in.tuning.window; w != 0 && w != c {
			continue
		}
		count := windows(in.curve, c)
		for _, share := range in.multiples.shares(count, c) {
			for _, chunks := range cuts {
				for _, levels := range in.levels() {
					if !yield(&plan{input: in, width: c, windows: count, share: share, chunks: chunks, levels: levels}) {
						return
					}
				}
			}
		}
	}
}

// levels are the levels of pairs that newPlan chooses from.
func (in *input) levels() []int {
	if in.tuning.pair == 0 || in.multiples.edwards {
		return []int{0}
	}
	return []int{0, in.tuning.pairLevels}
}

// cuts are the ways to cut the points into chunks that newPlan chooses from.
// The first chunk is small: nothing is computed while it is copied.
func cuts(in input) [][]int {
	n := in.count
	all := [][]int{{n}}
	if n >= in.tuning.overlap && (!in.resident || in.stream) {
		e, s := n/8, n/16
		all = append(all, []int{n / 4, n - n/4}, []int{e, 3 * e, n - 4*e}, []int{s, 3 * s, 4 * s, n - 8*s})
		if in.fed {
			all = append(all, []int{s, 2 * s, 3 * s, 4 * s, n - 10*s})
		}
	}
	for k := 4; k <= n/in.tuning.chunk && k <= 1<<12; k *= 2 {
		cut := make([]int, k)
		for i := range cut {
			cut[i] = n*(i+1)/k - n*i/k
		}
		all = append(all, cut)
	}
	return all
}

// fill computes what follows from window, sets and chunks; false when indices
// would not fit.
func (p *plan) fill() bool {
	most := 0
	for _, n := range p.chunks {
		most = max(most, n)
	}
	perSet := rowsOf(p.windows, p.sets)
	if int64(perSet-1)*int64(p.multiple())+int64(p.count) > maxPoints {
		return false
	}
	p.stride = most * perSet
	entries := int64(p.allSets()) * int64(p.stride)
	if entries > maxEntries || p.bucketCount() > mostBuckets {
		return false
	}
	p.sort = p.sorting(most)
	summed := entries
	if p.levels > 0 {
		summed = p.maxPairTasks()
	}
	average := p.longestRun() >> p.bucketBits()
	p.piece = min(max(p.tuning.piece, 1<<bits.Len(uint(4*average))), kernel.LongestTask)
	// A small MSM ends when its longest task does: the shorter, the more threads
	// take part.
	p.piece = min(p.piece, max(leastPiece, 1<<bits.Len64(uint64(summed)/uint64(p.tuning.full))/2))
	p.piece = p.equalTasks(int(entries>>p.levels), most)

	var l room
	if !p.resident {
		p.scalarBytes = int64(p.msms()) * int64(most) * int64(p.curve.ScalarBytes())
	}
	if p.stream {
		p.streamBytes = int64(most) * int64(p.curve.PointBytes(p.group))
	}
	sets, buckets, bins := int64(p.allSets()), p.bucketCount(), int64(p.sort.bins)
	if p.sort.shift > 0 {
		l.between, l.rests = l.Take(4*entries), l.Take(2*entries)
		l.first, l.tiles = l.Take(4*bins), l.Take(4*(bins+1))
	}
	l.counts = l.Take(4 * int64(p.msms()) * int64(p.sort.tiles(most)) * int64(p.sort.row))
	l.begin, l.end = l.Take(4*buckets), l.Take(4*buckets)
	l.next, l.cleared = l.end, l.end
	if p.sort.shift > 0 {
		l.next = l.Take(4 * bins)
		l.cleared.Size = l.next.Off + l.next.Size - l.end.Off
	}
	// A run longer than piece becomes at most length/piece + 1 tasks, whose slots begin
	// with an even one: at most two for each whole piece.
	splits := summed / int64(p.piece)
	for i := range l.lists {
		l.lists[i] = l.lists[0]
		if i == 0 || p.overlaps() {
			l.lists[i] = lists{
				values: l.Take(4 * entries),
				tally:  l.Take(4 * kernel.TallyWords),
				tasks:  l.Take(4 * kernel.TaskWords * p.maxTasks()),
				splits: l.Take(4 * kernel.SplitWords * (splits + 1)),
				owners: l.Take(4 * kernel.OwnerWords * (2*splits + 1)),
			}
			if p.levels > 0 {
				l.lists[i].tallyOfPairs, l.lists[i].tasksOfPairs = l.Take(4*kernel.TallyWords), l.Take(4*kernel.TaskWords*summed)
			}
		}
	}
	l.slots = l.Take(p.pointBytes() * (2*splits + 1))
	l.buckets = l.Take(p.pointBytes() * buckets)
	if p.levels > 0 {
		r, affine, element := &l.pairs, kernel.PointElements*p.elementBytes(), p.elementBytes()
		places := int64(p.pairTasks()) << (p.levels - 1)
		r.sums, r.before, r.products = l.Take(affine*places), l.Take(element*places), l.Take(element*int64(p.pairThreads()))
		r.slots, r.numbers = l.Take(affine*summed), l.Take(4*summed)
	}
	first, joins := p.reduction()
	for i, j := range joins[:len(joins)-1] {
		if nodes := p.pointBytes() * sets * j.made(); nodes > l.nodes[i%2].Size {
			l.nodes[i%2] = l.Take(nodes)
		}
	}
	l.sums = l.Take(sets * p.setBytes(first))
	l.bad = l.Take(4 * int64(p.msms()))
	p.room = l
	return true
}

// equalTasks is the longest task of a chunk of so many summands, of so many points: tasks
// that are all equal, of scalars that are, fill the device some whole times. Of a large
// chunk that is some times rather than once, for scalars of which a part is equal, as long
// as runs of uniform scalars need not be cut; where they must be, twice.
func (p *plan) equalTasks(summands, points int) int {
	threads := p.tuning.adding
	if summands <= threads {
		return p.piece
	}
	of := func(times int) int { return max(leastPiece, (summands-1)/(times*threads)+1) }
	least := func(task int) int { return (summands-1)/(task*threads) + 1 }
	if summands <= longChunk*threads {
		return of(least(p.piece))
	}
	first := least(min(max(p.piece, 8*p.tuning.piece), kernel.LongestTask))
	if p.levels > 0 {
		return of(first) // what is left of the runs is short, and its sums are dear
	}
	uniform := float64(summands)/float64(p.bucketCount()) + p.crowd(float64(points))
	for times := max(first, mostTimes); times > 0; times-- {
		if float64(of(times)) >= uniform && times >= first {
			return of(times)
		}
	}
	return of(max(first, 2))
}

// mostTimes is how many times tasks of a large chunk fill the device, where they need not
// be longer.
const mostTimes = 4

// crowd is what the few digits of the highest window add to the run of a bucket, of so
// many points.
func (p *plan) crowd(points float64) float64 {
	return points / p.highestDigits() / float64(int(1)<<p.levels)
}

// maxTasks bounds the tasks of a chunk.
func (p *plan) maxTasks() int64 {
	if p.levels > 0 {
		return p.tasksOf(p.maxPairTasks(), p.piece)
	}
	return p.tasksOf(p.maxEntries(), p.piece)
}

// maxEntries bounds the entries of a chunk, maxPairTasks the tasks of pairs, whose sums
// are entries again.
func (p *plan) maxEntries() int64   { return int64(p.allSets()) * int64(p.stride) }
func (p *plan) maxPairTasks() int64 { return p.tasksOf(p.maxEntries(), 1<<p.levels) }

// tasksOf bounds the tasks of at most so many entries.
func (p *plan) tasksOf(entries int64, most int) int64 {
	return min(entries, p.bucketCount()+entries/int64(most)) + 1
}

// pairTasks is how many tasks of pairs are added up at a time, at most, and pairThreads
// the threads that do it: whole blocks.
func (p *plan) pairTasks() int { return int(min(p.maxPairTasks(), int64(p.tuning.pairTasks))) }
func (p *plan) pairThreads() int {
	block := p.tuning.pairBlock
	return min(p.tuning.pairThreads, (p.pairTasks()+block-1)/block*block)
}

// longestRun bounds what is accumulated to a bucket in a chunk: entries, or sums of
// 2^levels of them.
func (p *plan) longestRun() int { return (p.stride-1)>>p.levels + 1 }

// pieceOf is the longest task of a chunk of n points: a small chunk has shorter ones, so
// that it does not wait for those of a run that many equal scalars make. Its runs become
// no more of them than those of the largest. Of pairs, a small chunk has more than its
// share.
func (p *plan) pieceOf(n int) int {
	if p.levels > 0 {
		return p.piece
	}
	most := slices.Max(p.chunks)
	return max(leastPiece, (p.piece*n+most-1)/most)
}

// cost estimates the time in units of one addition to a bucket, of a point that is
// not in Edwards form.
func (p *plan) cost() float64 {
	t := &p.tuning
	buckets, steps := float64(p.bucketCount()), float64(len(p.chunks))
	addition := 1.0
	if p.multiples.edwards {
		addition = t.edwards
	}
	points := float64(p.msms()) * float64(p.count)
	all := points * float64(p.windows)
	cost := t.launch * (steps + 1)
	summed := all
	if p.levels > 0 {
		// What is left of a bucket in a chunk is half a task more.
		summed = min(all, all/float64(int(1)<<p.levels)+buckets*steps/2)
		cost += (all - summed) * t.pair
		batches := math.Ceil(summed / steps / float64(t.pairTasks))
		cost += t.invert * float64(p.levels) * batches * steps
	}
	cost += p.accumulation(summed/steps, buckets) * steps * addition
	cost += p.reducing() * t.reduce * addition
	if p.sets > 1 {
		cost += t.launch * (severalSets + everySet*float64(p.allSets()))
	}
	// What comes before the accumulation: of the first chunk all of it, of the others
	// what it takes from the accumulation beside which it runs.
	first := float64(p.chunks[0]) / float64(p.count) // of the points
	before := all*t.entry + buckets*t.bucket*steps
	if p.overlaps() {
		before *= first + (1-first)*t.beside
	}
	cost += before
	return p.arriving(cost)
}

// fedCopy is how much longer scalars take that are copied to where the card reads them.
const fedCopy = 2

// arriving adds to a cost what the card waits for: the copy of the first chunk, and of
// the others as far as it is slower than what is done meanwhile.
func (p *plan) arriving(cost float64) float64 {
	if p.resident && !p.stream {
		return cost
	}
	copy := p.tuning.copy * float64(p.msms())
	if p.fed {
		copy *= fedCopy
	}
	there, end := 0.0, 0.0
	for _, n := range p.chunks {
		there += copy * float64(n)
		end = max(end, there) + cost*float64(n)/float64(p.count)
	}
	return end
}

// sumOfSums is an addition of two sums, as a part of that of a point to a sum: 12M + 2S.
// sumOfBuckets is one of the first step of the reduction, whose products are calls and
// whose operands come from memory.
const sumOfSums, sumOfBuckets = 1.3, 1.9

// The host's part, as parts of a launch: several sets are several goroutines' work.
const severalSets, everySet = 1, 0.12

// dependent is the time of additions that wait for each other, in so many threads: where
// the device is not full, one takes less.
func (p *plan) dependent(threads, additions float64) float64 {
	return max(threads, 0.65*float64(p.tuning.adding)) * additions
}

// reducing estimates the reduction: its steps wait for each other.
func (p *plan) reducing() float64 {
	first, joins := p.reduction()
	sets := float64(p.allSets())
	cost := p.dependent(float64(p.bucketCount()>>first), sumOfBuckets*float64(int(2)<<first-1))
	for _, j := range joins {
		threads := sets * math.Exp2(float64(j.madeNodes()+j.lanes)) * float64(j.madeParts())
		cost += p.dependent(threads, sumOfSums*float64(j.lanes+(1<<j.each)-1))
	}
	return cost
}

// accumulation estimates the additions of a chunk, and those of sums of runs that were
// split: so many summands, in all buckets.
func (p *plan) accumulation(summed, buckets float64) float64 {
	t := &p.tuning
	// The longest run is some deviations above the average, which is more where the few
	// digits of the highest window are.
	average := summed / buckets
	most := average + p.crowd(float64(p.count)/float64(len(p.chunks)))
	run := min(most+4*math.Sqrt(most)+2, summed)
	task := min(run, float64(p.piece))
	// At the end a part of the device has no task any more; a small MSM ends with its
	// longest one.
	end := min(min(average, float64(p.piece))*float64(t.adding), summed) / 2
	cost := max(summed+end, p.dependent(0, task))
	for pieces := run / float64(p.piece); pieces > 1; pieces /= 2 {
		cost += p.dependent(0, sumOfSums)
	}
	return cost
}

// highestDigits is how many digits the highest window has, about.
func (p *plan) highestDigits() float64 {
	return max(1, math.Exp2(halfOrderBits()[p.curve]-float64(p.width*(p.windows-1))))
}

// sorting is how entries are put in the order of their buckets: first in that of bins
// of 2^shift buckets, then each bin in that of its buckets.
type sorting struct {
	shift int
	bins  int // of all sets of all MSMs
	row   int // those that one MSM has buckets in, at most
	each  int // scalars of a tile
}

// sorting chooses bins and tiles for so many points.
func (p *plan) sorting(points int) sorting {
	var s sorting
	buckets := int(p.bucketCount())
	if log := bits.Len(uint(buckets - 1)); log > oneLevel {
		s.shift = min((log+1)/2, mostShift)
	}
	size := 1 << s.shift
	s.bins = (buckets + size - 1) / size
	own := p.sets << p.bucketBits()
	s.row = min(s.bins, (own+size-2)/size+1)
	if own%size == 0 {
		s.row = own / size
	}
	// Scalars of which a block holds all digits: a word and a half each, numbered by
	// halves of words but for their signs.
	fits := min((p.tuning.shared-8*s.row)/6/p.windows, 1<<15/rowsOf(p.windows, p.sets))
	fills := (p.msms()*points + fewTiles - 1) / fewTiles
	s.each = max(min(fits, max(fills, leastEach)), 1<<warpBits)
	if s.each > wholeEach {
		s.each -= s.each % wholeEach
	}
	s.each -= s.each % (1 << warpBits)
	return s
}

// tiles is how many there are of so many points of an MSM.
func (s *sorting) tiles(points int) int { return (points + s.each - 1) / s.each }

// scatterShared and restShared are the shared memory, in bytes, of bins_scatter and of
// rest_scatter.
func (p *plan) scatterShared() int { return 8*p.sort.row + 6*p.sort.each*p.windows }
func (s *sorting) restShared() int { return 4*(2<<s.shift+kernel.SortTile) + 2*kernel.SortTile }

// join is a step of the reduction of a set: 2^(lanes+each) nodes become one, by
// 2^lanes threads a part, each of which takes 2^each of them.
type join struct {
	nodes, parts int // before it: the logarithm of how many there are, and what each has
	lanes, each  int // logarithms
}

func (j *join) madeNodes() int { return j.nodes - j.lanes - j.each } // a logarithm
func (j *join) madeParts() int { return j.parts + j.lanes + j.each }

// made is the sums of a set after it.
func (j *join) made() int64 { return int64(j.madeParts()) << j.madeNodes() }

// Parts of a node, see planes.cu: there is a plane for each bit that reduce left.
const (
	plainPart = iota
	weightedPart
	planeParts
)

// reduction is the logarithm of how many buckets a thread takes at first, and the
// steps after that, one at least. Where threads are few a step ends when its
// dependent additions do, and as many as possible take part; where there are many,
// idle lanes cost more than a step.
func (p *plan) reduction() (first int, joins []join) {
	// Fewer buckets a thread where there are few, so that the device is full.
	for first = min(p.tuning.firstLevel, p.bucketBits()); first > 1 && p.bucketCount()>>first < int64(p.tuning.full/2); first-- {
	}
	j := join{nodes: p.bucketBits() - first, parts: planeParts}
	for {
		if threads := int64(p.allSets()) * int64(j.parts+warpBits) << j.nodes; threads <= int64(p.tuning.full) {
			j.lanes, j.each = min(j.nodes, warpBits), 0
		} else {
			j.lanes, j.each = 0, min(j.nodes, p.tuning.level)
		}
		joins = append(joins, j)
		if j.madeNodes() == 0 {
			return first, joins
		}
		j = join{nodes: j.madeNodes(), parts: j.madeParts()}
	}
}

// setBytes is what the host gets of a set when reduce began with 2^first buckets.
func (p *plan) setBytes(first int) int64 {
	return p.resultBytes() * int64(planeParts+p.bucketBits()-first)
}

var halfOrders = sync.OnceValue(func() map[backend.Curve]*big.Int {
	m := make(map[backend.Curve]*big.Int)
	for _, c := range backend.Curves() {
		m[c] = new(big.Int).Rsh(layout.CurveID(c).ScalarField(), 1)
	}
	return m
})

// halfOrderBits is the logarithm of half the order of each curve's scalars.
var halfOrderBits = sync.OnceValue(func() map[backend.Curve]float64 {
	m := make(map[backend.Curve]float64)
	for c, half := range halfOrders() {
		f, _ := new(big.Float).SetInt(half).Float64()
		m[c] = math.Log2(f)
	}
	return m
})

// windows is how many signed digits of c bits a scalar up to (r-1)/2 has: the
// last one takes what is left and a carry, and must not exceed 2^(c-1).
func windows(curve backend.Curve, c int) int {
	half := halfOrders()[curve]
	for w := 1; ; w++ {
		top := new(big.Int).Rsh(half, uint(c*(w-1)))
		top.Add(top, big.NewInt(1))
		if top.BitLen() <= 30 && top.Int64() <= 1<<(c-1) {
			return w
		}
	}
}
