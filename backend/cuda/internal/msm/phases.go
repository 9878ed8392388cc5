package msm

import (
	"errors"

	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// phases launches the phases of a step. Those before the accumulation go to the stream ahead, those
// after it to after, the others to stream. They may be the same.
type phases struct {
	*msmplan.Plan
	*groupKernels
	msmplan.TaskLists
	points int // of the chunk
	piece  int // the longest task

	ahead, stream, after *driver.Stream
	added                *driver.Event // orders after behind stream

	memory driver.Span
	mark   func(phase string) error // is called after a phase was launched
}

func (p *phases) at(g device.Region) driver.Span { return g.In(p.memory) }

// address returns where a region begins, for a kernel.
func (p *phases) address(g device.Region) kernels.Pointer { return device.Address(p.at(g)) }

// few bounds the threads of a kernel that loops over more items than it has threads.
func few(items, threads int) int { return min(items, threads*2048) }

// clearSums clears the sums to which all steps of an MSM add.
func (p *phases) clearSums() error {
	buckets := p.Work.Buckets
	buckets.Size = p.PointBytes() * p.BucketCount()
	if err := p.stream.Fill(p.at(buckets), 0); err != nil {
		return err
	}
	if p.Affine {
		if err := p.stream.Fill(p.at(p.Work.Pairs.Taken), 0); err != nil {
			return err
		}
	}
	return p.ahead.Fill(p.at(p.Work.Bad), 0xff)
}

// addMultiples computes an MSM without buckets: the phase direct.
func (p *phases) addMultiples(scalars, points driver.Span, check bool) error {
	m := &p.Work
	if err := p.stream.Fill(p.at(m.Bad), 0xff); err != nil {
		return err
	}
	bad := p.address(m.Bad)
	if err := p.direct.Launch(p.stream, p.DirectBlocks()*p.direct.Threads, 1, kernel.Direct{
		Scalars: device.Address(scalars), N: p.points, Each: p.DirectEach(), C: p.Width, Windows: p.Windows,
		Points: device.Address(points), Multiple: p.Multiples.Distance,
		Sums: p.address(m.Nodes[0]), Come: bad + 4, Out: p.address(m.Sums), Check: check, Bad: bad,
	}); err != nil {
		return err
	}
	return p.mark("direct")
}

// makeTasks makes the tasks of the chunk from the scalars of each MSM. It records read after the
// last kernel that needs the scalars. base is the index of the first point, for what check finds.
func (p *phases) makeTasks(scalars driver.Span, check bool, base int, read *driver.Event) error {
	mark := p.mark
	if p.ahead != p.stream {
		mark = func(string) error { return nil } // the other stream is the one that is timed
	}
	if err := p.clear(); err != nil {
		return err
	}
	if err := p.entries(scalars, check, base, read, mark); err != nil {
		return err
	}
	return mark("buckets")
}

// clear zeroes the counters to which kernels add.
func (p *phases) clear() error {
	err := errors.Join(p.ahead.Fill(p.at(p.Work.Cleared), 0), p.ahead.Fill(p.at(p.TaskLists.Tally), 0))
	if p.Levels > 0 {
		err = errors.Join(err, p.ahead.Fill(p.at(p.TaskLists.PairTally), 0))
	}
	return err
}

// entries makes entries from the scalars, in the order of their buckets, and tasks from the
// entries: the phases digits, sort and buckets.
func (p *phases) entries(scalars driver.Span, check bool, base int, read *driver.Event, mark func(string) error) error {
	m, s, n := &p.Work, &p.Sort, p.points
	tiles := driver.Dim{X: s.Tiles(n), Y: p.MSMs()}
	made := p.address(p.TaskLists.Values) // digits modulo six units, until their values come there
	if err := p.binsCount.LaunchShaped(p.ahead,
		driver.Launch{Grid: tiles, Block: driver.Dim{X: p.binsCount.Threads}, Shared: 4 * s.Row}, kernel.BinsCount{
			Scalars: device.Address(scalars), N: n, C: p.Width, Windows: p.Windows, Sets: p.Sets, Each: s.Each, Shift: s.Shift, Bins: s.Row,
			Counts: p.address(m.Counts), Totals: p.address(m.Next), Check: check, Bad: p.address(m.Bad), Base: base, Made: made,
		}); err != nil {
		return err
	}
	if err := mark("digits"); err != nil {
		return err
	}
	values, rests := p.TaskLists.Values, kernels.Pointer(0)
	if s.Shift > 0 {
		values, rests = m.Between, p.address(m.Rests)
		if err := p.binsBegin.Launch(p.ahead, 1, 1, kernel.BinsBegin{
			Next: p.address(m.Next), First: p.address(m.First), Tiles: p.address(m.Tiles), Bins: s.Bins,
		}); err != nil {
			return err
		}
	} else if err := p.makeRuns(); err != nil {
		return err
	}
	if err := p.binsScatter.LaunchShaped(p.ahead,
		driver.Launch{Grid: tiles, Block: driver.Dim{X: p.binsScatter.Threads}, Shared: p.ScatterShared()}, kernel.BinsScatter{
			Scalars: device.Address(scalars), N: n, C: p.Width, Windows: p.Windows, Sets: p.Sets, Each: s.Each, Shift: s.Shift, Bins: s.Row,
			Counts: p.address(m.Counts), Next: p.address(m.Next), Multiple: p.RowStride(), Values: p.address(values), Keys: rests, Made: made,
		}); err != nil {
		return err
	}
	if err := p.ahead.Record(read); err != nil {
		return err
	}
	if s.Shift > 0 {
		if err := p.sortBins(); err != nil {
			return err
		}
	}
	if err := mark("sort"); err != nil {
		return err
	}
	if p.Levels > 0 {
		if err := p.placeTasks(p.TaskLists.PairTally, kernel.TasksPlace{
			Piece: 1 << p.Levels, Tasks: p.address(p.TaskLists.PairTaskList), Next: p.address(p.TaskLists.Tally), NextPiece: p.piece,
		}); err != nil {
			return err
		}
	}
	return p.placeTasks(p.TaskLists.Tally, kernel.TasksPlace{
		Piece: p.piece, Tasks: p.address(p.TaskLists.Tasks), Splits: p.address(p.TaskLists.Splits), Owners: p.address(p.TaskLists.Owners),
	})
}

// placeTasks makes tasks from the runs of all buckets.
func (p *phases) placeTasks(tally device.Region, in kernel.TasksPlace) error {
	buckets := int(p.BucketCount())
	in.Begin, in.End, in.Buckets, in.Work = p.address(p.Work.Begin), p.address(p.Work.End), buckets, p.address(tally)
	return p.tasksPlace.Launch(p.ahead, few((buckets+kernel.PlaceEach-1)/kernel.PlaceEach, p.tasksPlace.Threads), 1, in)
}

// sortBins puts the entries of every bin in the order of its buckets.
func (p *phases) sortBins() error {
	m, s := &p.Work, &p.Sort
	first, next, binTiles, rests, end := p.address(m.First), p.address(m.Next), p.address(m.Tiles), p.address(m.Rests), p.address(m.End)
	tiles := driver.Dim{X: p.MSMs()*p.Windows*p.points/kernel.SortTile + s.Bins} // of all bins, an upper bound
	if err := p.restCount.LaunchShaped(p.ahead,
		driver.Launch{Grid: tiles, Block: driver.Dim{X: p.restCount.Threads}, Shared: 4 << s.Shift}, kernel.RestCount{
			First: first, Next: next, Tiles: binTiles, Bins: s.Bins, Shift: s.Shift, Keys: rests, Counts: end,
		}); err != nil {
		return err
	}
	if err := p.makeRuns(); err != nil {
		return err
	}
	return p.restScatter.LaunchShaped(p.ahead,
		driver.Launch{Grid: tiles, Block: driver.Dim{X: p.restScatter.Threads}, Shared: s.RestShared()}, kernel.RestScatter{
			First: first, Next: next, Tiles: binTiles, Bins: s.Bins, Shift: s.Shift, Keys: rests,
			Values: p.address(m.Between), Ends: end, Out: p.address(p.TaskLists.Values),
		})
}

// makeRuns gives every bucket its place among the values, from the counts of entries.
func (p *phases) makeRuns() error {
	buckets, tally, piece := int(p.BucketCount()), p.TaskLists.Tally, p.piece
	if p.Levels > 0 {
		tally, piece = p.TaskLists.PairTally, 1<<p.Levels
	}
	return p.runs.Launch(p.ahead, few((buckets+kernel.PlaceEach-1)/kernel.PlaceEach, p.runs.Threads), 1, kernel.Runs{
		Begin: p.address(p.Work.Begin), Ends: p.address(p.Work.End), Buckets: buckets, Piece: piece, Work: p.address(tally),
	})
}

// addPairs adds up every 2^Levels entries of a bucket to one: the phase pairs. They are affine
// points that share inverses. It returns the points that are left to be accumulated, and their
// numbers in the order of buckets.
func (p *phases) addPairs(points kernels.Pointer) (left, values kernels.Pointer, err error) {
	r, values := &p.Work.Pairs, p.address(p.TaskLists.Values)
	if p.Levels == 0 {
		return points, values, nil
	}
	left, numbers := p.address(r.Slots), p.address(r.Numbers)
	if p.Affine {
		if err := p.affineSums.Launch(p.stream, p.AffineBlocks(p.points)*p.affineSums.Threads, 1, kernel.AffineSums{
			Work: p.address(p.TaskLists.PairTally), Tasks: p.address(p.TaskLists.PairTaskList), Values: values, Points: points,
			Room: p.address(r.Room), Taken: p.address(r.Taken), Places: p.AffinePlaces(), Most: msmplan.AffineRows, Slots: left, Numbers: numbers,
		}); err != nil {
			return 0, 0, err
		}
		return left, numbers, p.mark("affine")
	}
	room, threads := p.PairTasks(), p.PairThreads()
	for i := range p.PairBatches(p.points) {
		from := i * room
		for level := range p.Levels {
			there := kernel.PairsThere{
				Work: p.address(p.TaskLists.PairTally), Tasks: p.address(p.TaskLists.PairTaskList), Values: values, Points: points,
				Sums: p.address(r.Sums), Before: p.address(r.Before), Products: p.address(r.Products), From: from, Room: room, Level: level,
			}
			err := errors.Join(
				p.pairsThere.Launch(p.stream, threads, 1, there),
				p.pairsInvert.Launch(p.stream, (threads+kernel.InvertEach-1)/kernel.InvertEach, 1,
					kernel.PairsInvert{Products: there.Products, N: threads}),
				p.pairsBack.Launch(p.stream, threads, 1, kernel.PairsBack{
					Work: there.Work, Tasks: there.Tasks, Values: values, Points: points, Sums: there.Sums, Before: there.Before,
					Products: there.Products, From: from, Room: room, Level: level, Last: level == p.Levels-1, Slots: left, Numbers: numbers,
				}))
			if err != nil {
				return 0, 0, err
			}
		}
	}
	return left, numbers, p.mark("pairs")
}

// addUp computes the tasks and then adds up the sums of split runs: the phases accumulate and fold.
func (p *phases) addUp(points driver.Span) error {
	m := &p.Work
	tally, splits, slots, buckets := p.address(p.TaskLists.Tally), p.address(p.TaskLists.Splits), p.address(m.Slots), p.address(m.Buckets)
	left, values, err := p.addPairs(device.Address(points))
	if err != nil {
		return err
	}
	if err := p.accumulate.Launch(p.stream, int(p.MaxTasks()), 1, kernel.Accumulate{
		Work: tally, Tasks: p.address(p.TaskLists.Tasks), Values: values, Points: left, Buckets: buckets, Slots: slots,
	}); err != nil {
		return err
	}
	if err := p.mark("accumulate"); err != nil {
		return err
	}
	if p.after != p.stream {
		if err := errors.Join(p.stream.Record(p.added), p.after.Wait(p.added)); err != nil {
			return err
		}
	}
	most := int(m.Slots.Size / p.PointBytes() / 2)
	if err := p.fold.Launch(p.after, few(most, p.fold.Threads), 1, kernel.Fold{
		Work: tally, Splits: splits, Owners: p.address(p.TaskLists.Owners), Slots: slots, Buckets: buckets,
	}); err != nil {
		return err
	}
	return p.mark("fold")
}

// reduceBuckets reduces the buckets of each set to its parts.
func (p *phases) reduceBuckets() error {
	m := &p.Work
	first, joins := p.Reduction()
	radix, _ := p.Radix()
	if err := p.reduce.Launch(p.after, 1<<(p.BucketBits()-first), p.AllSets(), kernel.Reduce{
		Buckets: p.address(m.Buckets), LogBuckets: p.BucketBits(), LogM: first, Radix: radix.M,
	}); err != nil {
		return err
	}
	in, setStride, nodeStride := m.Buckets, 1<<p.BucketBits(), 1<<first
	for i, j := range joins {
		out, last := m.Nodes[i%2], i == len(joins)-1
		if last {
			out = m.Sums
		}
		step := kernel.Planes{
			In: p.address(in), SetStride: setStride, NodeStride: nodeStride, LogNodes: j.Nodes, Parts: j.Parts,
			LogLanes: j.Lanes, LogEach: j.Each, LogRows: radix.Bits, Last: last, Out: p.address(out),
		}
		launch := func() error { return p.planes.Launch(p.after, j.Threads(), p.AllSets(), step) }
		if j.Quads {
			launch = func() error { return p.joins.Launch(p.after, j.Threads(), p.AllSets(), kernel.Joins(step)) }
		}
		if err := launch(); err != nil {
			return err
		}
		in, setStride, nodeStride = out, int(j.SumsAfter()), j.PartsAfter()
	}
	return p.mark("reduce")
}
