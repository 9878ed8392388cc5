package msm

import (
	"github.com/pippin-zk/pippin/backend/cuda/device"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// phases launches the phases of a step in a turn: those before the accumulation on
// ahead, which may be another stream than that of the others.
type phases struct {
	*plan
	*program
	lists
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
	keys, err := p.entries(scalars, n, check, base, read, mark)
	if err != nil {
		return err
	}
	if err := p.cut(keys, n); err != nil {
		return err
	}
	return mark("buckets")
}

// used is the entries of a set, at most, for n points, rounded up.
func (p *phases) used(n int) int { return n * rowsOf(p.windows, p.sets) }

// entries makes the digits of n scalars and sorts them: the phases digits and
// sort. It answers where their keys are then.
func (p *phases) entries(scalars driver.Span, n int, check bool, base int, read *driver.Event, mark func(string) error) (device.Region, error) {
	m := &p.room
	from, to := m.keys[0], m.keys[1]
	err := p.digits.Launch(p.ahead, n, p.msms(), kernel.Digits{
		Scalars: device.Address(scalars), N: n, C: p.width, Windows: p.windows, Sets: p.sets, Stride: p.stride, Points: n,
		Digits: p.address(from), Check: check, Bad: p.address(m.bad), Base: base,
	})
	if err != nil {
		return from, err
	}
	if err := p.ahead.Record(read); err != nil {
		return from, err
	}
	if err := mark("digits"); err != nil {
		return from, err
	}
	used := p.used(n)
	tiles := (used + kernel.SortTile - 1) / kernel.SortTile
	// Values go to and fro, so that the last pass leaves them in the step's list.
	passes := p.passes()
	valuesFrom, valuesTo := p.lists.values, m.between
	if len(passes)%2 == 1 {
		valuesFrom, valuesTo = valuesTo, valuesFrom
	}
	for i, pass := range passes {
		// The first pass learns how many entries live, and makes their values.
		first := i == 0
		live, valuesIn, liveOut := p.address(m.live), p.address(valuesFrom), kernels.Pointer(0)
		if first {
			live, valuesIn, liveOut = 0, 0, live
		}
		if err := p.sortCount.Launch(p.ahead, tiles*p.sortCount.Threads, p.allSets(), kernel.SortCount{
			In: p.address(from), Live: live, N: used, Stride: p.stride, Shift: pass.shift, Mask: pass.mask, First: first,
			Counts: p.address(m.counts), Tiles: tiles,
		}); err != nil {
			return from, err
		}
		if err := p.sortScan.Launch(p.ahead, kernel.SortRadix*kernel.WarpThreads, p.allSets(), kernel.SortScan{
			Counts: p.address(m.counts), Totals: p.address(m.totals), Tiles: tiles,
		}); err != nil {
			return from, err
		}
		if err := p.sortScatter.Launch(p.ahead, tiles*p.sortScatter.Threads, p.allSets(), kernel.SortScatter{
			In: p.address(from), ValuesIn: valuesIn, Live: live, N: used, Stride: p.stride, Shift: pass.shift, Mask: pass.mask, First: first,
			Counts: p.address(m.counts), Totals: p.address(m.totals), Tiles: tiles,
			KeysOut: p.address(to), ValuesOut: p.address(valuesTo), LiveOut: liveOut, Points: n, Multiple: p.multiple(),
		}); err != nil {
			return from, err
		}
		from, to = to, from
		valuesFrom, valuesTo = valuesTo, valuesFrom
	}
	return from, mark("sort")
}

// cut makes tasks of the entries with these keys: the phase buckets.
func (p *phases) cut(keys device.Region, n int) error {
	m := &p.room
	for _, g := range []device.Region{m.begin, m.end, p.lists.tally} {
		if err := p.ahead.Fill(p.at(g), 0); err != nil {
			return err
		}
	}
	begin, end, tally := p.address(m.begin), p.address(m.end), p.address(p.lists.tally)
	if err := p.runs.Launch(p.ahead, (p.used(n)+kernel.RunsEach-1)/kernel.RunsEach, p.allSets(), kernel.Runs{
		Keys: p.address(keys), Live: p.address(m.live), Stride: p.stride, LogBuckets: p.bucketBits(), Begin: begin, End: end,
	}); err != nil {
		return err
	}
	buckets := int(p.bucketCount())
	if err := p.tasksCount.Launch(p.ahead, few(buckets, p.tasksCount.Threads), 1, kernel.TasksCount{
		Begin: begin, End: end, Buckets: buckets, Piece: p.piece, Work: tally,
	}); err != nil {
		return err
	}
	if err := p.tasksOrder.Launch(p.ahead, 1, 1, kernel.TasksOrder{Work: tally}); err != nil {
		return err
	}
	if err := p.tasksPlace.Launch(p.ahead, few((buckets+kernel.PlaceEach-1)/kernel.PlaceEach, p.tasksPlace.Threads), 1, kernel.TasksPlace{
		Begin: begin, End: end, Buckets: buckets, Piece: p.piece, Work: tally,
		Tasks: p.address(p.lists.tasks), Splits: p.address(p.lists.splits), Owner: p.address(p.lists.owner),
	}); err != nil {
		return err
	}
	return nil
}

// add computes the tasks and adds up the runs that were split: the phase
// accumulate.
func (p *phases) add(points driver.Span) error {
	m := &p.room
	tally, splits, slots, buckets := p.address(p.lists.tally), p.address(p.lists.splits), p.address(m.slots), p.address(m.buckets)
	if err := p.accumulate.Launch(p.stream, int(p.maxTasks()), 1, kernel.Accumulate{
		Work: tally, Tasks: p.address(p.lists.tasks), Values: p.address(p.lists.values), Points: device.Address(points), Buckets: buckets, Slots: slots,
	}); err != nil {
		return err
	}
	if err := p.mark("accumulate"); err != nil {
		return err
	}
	most := int(m.slots.Size / p.pointBytes())
	for done := 1; done < p.maxPieces(); done *= foldWidth {
		if err := p.fold.Launch(p.stream, few(most, p.fold.Threads), 1, kernel.Fold{
			Work: tally, Splits: splits, Owner: p.address(p.lists.owner), Slots: slots, Done: done, Width: foldWidth,
		}); err != nil {
			return err
		}
	}
	if err := p.foldFinish.Launch(p.stream, few(most, p.foldFinish.Threads), 1, kernel.FoldFinish{
		Work: tally, Splits: splits, Slots: slots, Buckets: buckets,
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
