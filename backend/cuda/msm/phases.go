package msm

import (
	"github.com/pippin-zk/pippin/backend/cuda/device"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// run is one plan in one turn: it launches the phases.
type run struct {
	*plan
	*program
	stream *driver.Stream
	memory driver.Span
	mark   func(phase string) error // after a phase was launched
}

func (r *run) at(g device.Region) driver.Span { return g.In(r.memory) }

// address is where a region begins, for a kernel.
func (r *run) address(g device.Region) kernels.Pointer { return device.Address(r.at(g)) }

// few is a grid for kernels that loop over more items than they have threads.
func few(items, threads int) int { return min(items, threads*2048) }

// begin clears what all steps of an MSM add to.
func (r *run) begin() error {
	if err := r.stream.Fill(r.at(r.room.buckets), 0); err != nil {
		return err
	}
	return r.stream.Fill(r.at(r.room.bad), 0xff)
}

// step adds n points to the buckets: those at points, with the scalars at
// scalars. multiple is the distance, in points, of a point's next multiple;
// base is the first point's number, for what check finds.
func (r *run) step(points, scalars driver.Span, n, multiple int, check bool, base int, read *driver.Event) error {
	sorted, err := r.entries(scalars, n, multiple, check, base, read)
	if err != nil {
		return err
	}
	if err := r.tasks(sorted, n); err != nil {
		return err
	}
	return r.add(sorted, points)
}

// used is the entries of a set, at most, for n points, rounded up.
func (r *run) used(n int) int { return n * ((r.windows + r.sets - 1) / r.sets) }

// entries makes the digits of n scalars and sorts them: the phases digits and
// sort. It records read when the scalars are no longer needed.
func (r *run) entries(scalars driver.Span, n, multiple int, check bool, base int, read *driver.Event) (pairs, error) {
	m := &r.room
	from, to := m.entries[1], m.entries[0]
	err := r.digits.Launch(r.stream, n, 1, kernel.Digits{
		Scalars: device.Address(scalars), N: n, C: r.width, Windows: r.windows, Sets: r.sets, Stride: r.stride, Points: n,
		Digits: r.address(from.keys), Check: check, Bad: r.address(m.bad), Base: base,
	})
	if err != nil {
		return from, err
	}
	if err := r.stream.Record(read); err != nil {
		return from, err
	}
	if err := r.mark("digits"); err != nil {
		return from, err
	}
	used := r.used(n)
	tiles := (used + kernel.SortTile - 1) / kernel.SortTile
	for i, pass := range r.passes() {
		// The first pass learns how many entries live, and makes their values.
		first := i == 0
		live, valuesIn, liveOut := r.address(m.live), r.address(from.values), kernels.Pointer(0)
		if first {
			live, valuesIn, liveOut = 0, 0, live
		}
		if err := r.sortCount.Launch(r.stream, tiles*r.sortCount.Threads, r.sets, kernel.SortCount{
			In: r.address(from.keys), Live: live, N: used, Stride: r.stride, Shift: pass.shift, Mask: pass.mask, First: first,
			Counts: r.address(m.counts), Tiles: tiles,
		}); err != nil {
			return from, err
		}
		if err := r.sortScan.Launch(r.stream, kernel.SortRadix*kernel.WarpThreads, r.sets, kernel.SortScan{
			Counts: r.address(m.counts), Totals: r.address(m.totals), Tiles: tiles,
		}); err != nil {
			return from, err
		}
		if err := r.sortScatter.Launch(r.stream, tiles*r.sortScatter.Threads, r.sets, kernel.SortScatter{
			In: r.address(from.keys), ValuesIn: valuesIn, Live: live, N: used, Stride: r.stride, Shift: pass.shift, Mask: pass.mask, First: first,
			Counts: r.address(m.counts), Totals: r.address(m.totals), Tiles: tiles,
			KeysOut: r.address(to.keys), ValuesOut: r.address(to.values), LiveOut: liveOut, Points: n, Multiple: multiple,
		}); err != nil {
			return from, err
		}
		from, to = to, from
	}
	return from, r.mark("sort")
}

// tasks cuts the sorted entries into tasks: the phase buckets.
func (r *run) tasks(sorted pairs, n int) error {
	m := &r.room
	for _, g := range []device.Region{m.begin, m.end, m.work} {
		if err := r.stream.Fill(r.at(g), 0); err != nil {
			return err
		}
	}
	begin, end, work := r.address(m.begin), r.address(m.end), r.address(m.work)
	if err := r.runs.Launch(r.stream, (r.used(n)+kernel.RunsEach-1)/kernel.RunsEach, r.sets, kernel.Runs{
		Keys: r.address(sorted.keys), Live: r.address(m.live), Stride: r.stride, LogBuckets: r.bucketBits(), Begin: begin, End: end,
	}); err != nil {
		return err
	}
	buckets := int(r.bucketCount())
	if err := r.tasksCount.Launch(r.stream, few(buckets, r.tasksCount.Threads), 1, kernel.TasksCount{
		Begin: begin, End: end, Buckets: buckets, Piece: r.piece, Work: work,
	}); err != nil {
		return err
	}
	if err := r.tasksOrder.Launch(r.stream, 1, 1, kernel.TasksOrder{Work: work}); err != nil {
		return err
	}
	if err := r.tasksPlace.Launch(r.stream, few((buckets+kernel.PlaceEach-1)/kernel.PlaceEach, r.tasksPlace.Threads), 1, kernel.TasksPlace{
		Begin: begin, End: end, Buckets: buckets, Piece: r.piece, Work: work,
		Tasks: r.address(m.tasks), Splits: r.address(m.splits), Owner: r.address(m.owner),
	}); err != nil {
		return err
	}
	return r.mark("buckets")
}

// add computes the tasks and adds up the runs that were split: the phase
// accumulate.
func (r *run) add(sorted pairs, points driver.Span) error {
	m := &r.room
	work, splits, slots, buckets := r.address(m.work), r.address(m.splits), r.address(m.slots), r.address(m.buckets)
	if err := r.accumulate.Launch(r.stream, int(r.maxTasks()), 1, kernel.Accumulate{
		Work: work, Tasks: r.address(m.tasks), Values: r.address(sorted.values), Points: device.Address(points), Buckets: buckets, Slots: slots,
	}); err != nil {
		return err
	}
	if err := r.mark("accumulate"); err != nil {
		return err
	}
	most := int(m.slots.Size / r.pointBytes())
	for done := 1; done < r.maxPieces(); done *= foldWidth {
		if err := r.fold.Launch(r.stream, few(most, r.fold.Threads), 1, kernel.Fold{
			Work: work, Splits: splits, Owner: r.address(m.owner), Slots: slots, Done: done, Width: foldWidth,
		}); err != nil {
			return err
		}
	}
	if err := r.foldFinish.Launch(r.stream, few(most, r.foldFinish.Threads), 1, kernel.FoldFinish{
		Work: work, Splits: splits, Slots: slots, Buckets: buckets,
	}); err != nil {
		return err
	}
	return r.mark("fold")
}

// end reduces the buckets to one sum a set.
func (r *run) end() error {
	m := &r.room
	buckets, stride := r.address(m.buckets), 0
	for _, level := range r.levels() {
		if err := r.reduce.Launch(r.stream, 1<<(r.bucketBits()-stride-level), r.sets, kernel.Reduce{
			Buckets: buckets, LogBuckets: r.bucketBits(), LogStride: stride, LogM: level,
		}); err != nil {
			return err
		}
		stride += level
	}
	if err := r.setSums.Launch(r.stream, r.sets, 1, kernel.SetSums{
		Buckets: buckets, LogBuckets: r.bucketBits(), Sets: r.sets, Sums: r.address(m.sums),
	}); err != nil {
		return err
	}
	return r.mark("reduce")
}
