package msm

import (
	"errors"

	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// phases launches the phases of a step in a turn: those before the accumulation on
// ahead, which may be another stream than that of the others.
type phases struct {
	*plan
	*program
	lists
	piece         int // the longest task
	ahead, stream *driver.Stream
	memory        driver.Span
	mark          func(phase string) error // after a phase was launched
}

func (p *phases) at(g device.Region) driver.Span { return g.In(p.memory) }

// address is where a region begins, for a kernel.
func (p *phases) address(g device.Region) kernels.Pointer { return device.Address(p.at(g)) }

// few is a grid for kernels that loop over more items than they have threads.
func few(items, threads int) int { return min(items, threads*2048) }

// begin clears what all steps of an MSM add to.
func (p *phases) begin() error {
	if err := p.stream.Fill(p.at(p.room.buckets), 0); err != nil {
		return err
	}
	return p.ahead.Fill(p.at(p.room.bad), 0xff)
}

// before makes tasks of n scalars of each MSM, and records read when these are no longer needed.
// base is the first point's number, for what check finds.
func (p *phases) before(scalars driver.Span, n int, check bool, base int, read *driver.Event) error {
	mark := p.mark
	if p.ahead != p.stream {
		mark = func(string) error { return nil } // time is taken on the other stream
	}
	if err := p.clear(); err != nil {
		return err
	}
	if err := p.entries(scalars, n, check, base, read, mark); err != nil {
		return err
	}
	return mark("buckets")
}

// clear makes zero what counts are added to.
func (p *phases) clear() error {
	err := errors.Join(p.ahead.Fill(p.at(p.room.cleared), 0), p.ahead.Fill(p.at(p.lists.tally), 0))
	if p.levels > 0 {
		err = errors.Join(err, p.ahead.Fill(p.at(p.lists.tallyOfPairs), 0))
	}
	return err
}

// entries makes entries of n scalars in the order of their buckets, and tasks of them:
// the phases digits, sort and buckets.
func (p *phases) entries(scalars driver.Span, n int, check bool, base int, read *driver.Event, mark func(string) error) error {
	m, s := &p.room, &p.sort
	tiles := driver.Dim{X: s.tiles(n), Y: p.msms()}
	if err := p.binsCount.LaunchShaped(p.ahead, driver.Launch{Grid: tiles, Block: driver.Dim{X: p.binsCount.Threads}, Shared: 4 * s.row}, kernel.BinsCount{
		Scalars: device.Address(scalars), N: n, C: p.width, Windows: p.windows, Sets: p.sets, Each: s.each, Shift: s.shift, Bins: s.row,
		Counts: p.address(m.counts), Totals: p.address(m.next), Check: check, Bad: p.address(m.bad), Base: base,
	}); err != nil {
		return err
	}
	if err := mark("digits"); err != nil {
		return err
	}
	values, rests := p.lists.values, kernels.Pointer(0)
	if s.shift > 0 {
		values, rests = m.between, p.address(m.rests)
		if err := p.binsBegin.Launch(p.ahead, 1, 1, kernel.BinsBegin{
			Next: p.address(m.next), First: p.address(m.first), Tiles: p.address(m.tiles), Bins: s.bins,
		}); err != nil {
			return err
		}
	} else if err := p.makeRuns(); err != nil {
		return err
	}
	if err := p.binsScatter.LaunchShaped(p.ahead, driver.Launch{Grid: tiles, Block: driver.Dim{X: p.binsScatter.Threads}, Shared: p.scatterShared()}, kernel.BinsScatter{
		Scalars: device.Address(scalars), N: n, C: p.width, Windows: p.windows, Sets: p.sets, Each: s.each, Shift: s.shift, Bins: s.row,
		Counts: p.address(m.counts), Next: p.address(m.next), Multiple: p.multiple(), Values: p.address(values), Keys: rests,
	}); err != nil {
		return err
	}
	if err := p.ahead.Record(read); err != nil {
		return err
	}
	if s.shift > 0 {
		if err := p.sortBins(n); err != nil {
			return err
		}
	}
	if err := mark("sort"); err != nil {
		return err
	}
	if p.levels > 0 {
		if err := p.place(p.lists.tallyOfPairs, kernel.TasksPlace{
			Piece: 1 << p.levels, Tasks: p.address(p.lists.tasksOfPairs), Next: p.address(p.lists.tally), NextPiece: p.piece,
		}); err != nil {
			return err
		}
	}
	return p.place(p.lists.tally, kernel.TasksPlace{
		Piece: p.piece, Tasks: p.address(p.lists.tasks), Splits: p.address(p.lists.splits), Owners: p.address(p.lists.owners),
	})
}

// place makes tasks of the runs of all buckets.
func (p *phases) place(tally device.Region, in kernel.TasksPlace) error {
	buckets := int(p.bucketCount())
	in.Begin, in.End, in.Buckets, in.Work = p.address(p.room.begin), p.address(p.room.end), buckets, p.address(tally)
	return p.tasksPlace.Launch(p.ahead, few((buckets+kernel.PlaceEach-1)/kernel.PlaceEach, p.tasksPlace.Threads), 1, in)
}

// sortBins puts the entries of every bin in the order of its buckets.
func (p *phases) sortBins(n int) error {
	m, s := &p.room, &p.sort
	first, next, binTiles, rests, end := p.address(m.first), p.address(m.next), p.address(m.tiles), p.address(m.rests), p.address(m.end)
	tiles := driver.Dim{X: p.msms()*p.windows*n/kernel.SortTile + s.bins} // of all bins, at most
	if err := p.restCount.LaunchShaped(p.ahead, driver.Launch{Grid: tiles, Block: driver.Dim{X: p.restCount.Threads}, Shared: 4 << s.shift}, kernel.RestCount{
		First: first, Next: next, Tiles: binTiles, Bins: s.bins, Shift: s.shift, Keys: rests, Counts: end,
	}); err != nil {
		return err
	}
	if err := p.makeRuns(); err != nil {
		return err
	}
	return p.restScatter.LaunchShaped(p.ahead, driver.Launch{Grid: tiles, Block: driver.Dim{X: p.restScatter.Threads}, Shared: s.restShared()}, kernel.RestScatter{
		First: first, Next: next, Tiles: binTiles, Bins: s.bins, Shift: s.shift, Keys: rests,
		Values: p.address(m.between), Ends: end, Out: p.address(p.lists.values),
	})
}

// makeRuns gives every bucket its place among the values, by how many entries it has.
func (p *phases) makeRuns() error {
	buckets, tally, piece := int(p.bucketCount()), p.lists.tally, p.piece
	if p.levels > 0 {
		tally, piece = p.lists.tallyOfPairs, 1<<p.levels
	}
	return p.runs.Launch(p.ahead, few((buckets+kernel.PlaceEach-1)/kernel.PlaceEach, p.runs.Threads), 1, kernel.Runs{
		Begin: p.address(p.room.begin), Ends: p.address(p.room.end), Buckets: buckets, Piece: piece, Work: p.address(tally),
	})
}

// pairs adds up the entries of a bucket by some, with few inverses: the phase pairs. It
// answers the points of what is left to be accumulated, and which of them in which order.
func (p *phases) pairs(points kernels.Pointer) (left, values kernels.Pointer, err error) {
	r, values := &p.room.pairs, p.address(p.lists.values)
	if p.levels == 0 {
		return points, values, nil
	}
	left, numbers := p.address(r.slots), p.address(r.numbers)
	room, threads := p.pairTasks(), p.pairThreads()
	for from := 0; from < int(p.maxPairTasks()); from += room {
		for level := range p.levels {
			there := kernel.PairsThere{
				Work: p.address(p.lists.tallyOfPairs), Tasks: p.address(p.lists.tasksOfPairs), Values: values, Points: points,
				Sums: p.address(r.sums), Before: p.address(r.before), Products: p.address(r.products), From: from, Room: room, Level: level,
			}
			err := errors.Join(
				p.pairsThere.Launch(p.stream, threads, 1, there),
				p.pairsInvert.Launch(p.stream, (threads+kernel.InvertEach-1)/kernel.InvertEach, 1, kernel.PairsInvert{Products: there.Products, N: threads}),
				p.pairsBack.Launch(p.stream, threads, 1, kernel.PairsBack{
					Work: there.Work, Tasks: there.Tasks, Values: values, Points: points, Sums: there.Sums, Before: there.Before,
					Products: there.Products, From: from, Room: room, Level: level, Last: level == p.levels-1, Slots: left, Numbers: numbers,
				}))
			if err != nil {
				return 0, 0, err
			}
		}
	}
	return left, numbers, p.mark("pairs")
}

// add computes the tasks and adds up the runs that were split: the phase
// accumulate.
func (p *phases) add(points driver.Span) error {
	m := &p.room
	tally, splits, slots, buckets := p.address(p.lists.tally), p.address(p.lists.splits), p.address(m.slots), p.address(m.buckets)
	left, values, err := p.pairs(device.Address(points))
	if err != nil {
		return err
	}
	if err := p.accumulate.Launch(p.stream, int(p.maxTasks()), 1, kernel.Accumulate{
		Work: tally, Tasks: p.address(p.lists.tasks), Values: values, Points: left, Buckets: buckets, Slots: slots,
	}); err != nil {
		return err
	}
	if err := p.mark("accumulate"); err != nil {
		return err
	}
	most := int(m.slots.Size / p.pointBytes() / 2)
	if err := p.fold.Launch(p.stream, few(most, p.fold.Threads), 1, kernel.Fold{
		Work: tally, Splits: splits, Owners: p.address(p.lists.owners), Slots: slots, Buckets: buckets,
	}); err != nil {
		return err
	}
	return p.mark("fold")
}

// end reduces the buckets to the parts of each set.
func (p *phases) end() error {
	m := &p.room
	first, joins := p.reduction()
	if err := p.reduce.Launch(p.stream, 1<<(p.bucketBits()-first), p.allSets(), kernel.Reduce{
		Buckets: p.address(m.buckets), LogBuckets: p.bucketBits(), LogM: first,
	}); err != nil {
		return err
	}
	in, setStride, nodeStride := m.buckets, 1<<p.bucketBits(), 1<<first
	for i, j := range joins {
		out, last := m.nodes[i%2], i == len(joins)-1
		if last {
			out = m.sums
		}
		if err := p.planes.Launch(p.stream, int(j.made())<<j.lanes, p.allSets(), kernel.Planes{
			In: p.address(in), SetStride: setStride, NodeStride: nodeStride, LogNodes: j.nodes, Parts: j.parts,
			LogLanes: j.lanes, LogEach: j.each, Last: last, Out: p.address(out),
		}); err != nil {
			return err
		}
		in, setStride, nodeStride = out, int(j.made()), j.madeParts()
	}
	return p.mark("reduce")
}
