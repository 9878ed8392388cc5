package msm

import (
	"github.com/pippin-zk/pippin/backend/cuda/device"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
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

// value is a kernel's parameter.
func value[T ~int | ~int64 | ~uint32 | ~uint64](v T) driver.Param { return driver.Value(int64(v)) }

func boolean(b bool) driver.Param {
	if b {
		return value(1)
	}
	return value(0)
}

// few is a grid for kernels that loop over more items than they have threads.
func few(items int64, threads int) int64 { return min(items, int64(threads)*2048) }

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
func (r *run) step(points, scalars driver.Span, n int, multiple int64, check bool, base int, read *driver.Event) error {
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
func (r *run) used(n int) int64 {
	return int64(n) * int64((r.windows+r.sets-1)/r.sets)
}

// entries makes the digits of n scalars and sorts them: the phases digits and
// sort. It records read when the scalars are no longer needed.
func (r *run) entries(scalars driver.Span, n int, multiple int64, check bool, base int, read *driver.Event) (pairs, error) {
	m := &r.room
	from, to := m.entries[1], m.entries[0]
	err := r.digits.Launch(r.stream, int64(n), 1, scalars.Param(), value(n), value(r.width), value(r.windows), value(r.sets),
		value(r.stride), value(n), r.at(from.keys).Param(), boolean(check), r.at(m.bad).Param(), value(base))
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
	tiles := (used + sortTile - 1) / sortTile
	for i, pass := range r.passes() {
		first := i == 0
		live, valuesIn, liveOut := r.at(m.live).Param(), r.at(from.values).Param(), driver.Param(0)
		if first {
			live, valuesIn, liveOut = 0, 0, live
		}
		if err := r.sortCount.Launch(r.stream, tiles*int64(r.sortCount.Threads), r.sets, r.at(from.keys).Param(), live, value(used),
			value(r.stride), value(pass.shift), value(pass.mask), boolean(first), r.at(m.counts).Param(), value(tiles)); err != nil {
			return from, err
		}
		if err := r.sortScan.Launch(r.stream, sortRadix*warp, r.sets,
			r.at(m.counts).Param(), r.at(m.totals).Param(), value(tiles)); err != nil {
			return from, err
		}
		if err := r.sortScatter.Launch(r.stream, tiles*int64(r.sortScatter.Threads), r.sets, r.at(from.keys).Param(), valuesIn, live,
			value(used), value(r.stride), value(pass.shift), value(pass.mask), boolean(first), r.at(m.counts).Param(), r.at(m.totals).Param(), value(tiles),
			r.at(to.keys).Param(), r.at(to.values).Param(), liveOut, value(n), value(multiple)); err != nil {
			return from, err
		}
		from, to = to, from
	}
	return from, r.mark("sort")
}

// tasks cuts the sorted entries into tasks: the phase buckets.
func (r *run) tasks(sorted pairs, n int) error {
	m := &r.room
	begin, end, work := r.at(m.begin), r.at(m.end), r.at(m.work)
	for _, s := range []driver.Span{begin, end, work} {
		if err := r.stream.Fill(s, 0); err != nil {
			return err
		}
	}
	if err := r.runs.Launch(r.stream, (r.used(n)+3)/4, r.sets, r.at(sorted.keys).Param(), r.at(m.live).Param(), value(r.stride),
		value(r.bucketBits()), begin.Param(), end.Param()); err != nil {
		return err
	}
	buckets := r.bucketCount()
	if err := r.tasksCount.Launch(r.stream, few(buckets, r.tasksCount.Threads), 1, begin.Param(), end.Param(), value(buckets),
		value(r.piece), work.Param()); err != nil {
		return err
	}
	if err := r.tasksOrder.Launch(r.stream, 1, 1, work.Param()); err != nil {
		return err
	}
	if err := r.tasksPlace.Launch(r.stream, few((buckets+3)/4, r.tasksPlace.Threads), 1, begin.Param(), end.Param(), value(buckets),
		value(r.piece), work.Param(), r.at(m.tasks).Param(), r.at(m.splits).Param(), r.at(m.owner).Param()); err != nil {
		return err
	}
	return r.mark("buckets")
}

// add computes the tasks and adds up the runs that were split: the phase
// accumulate.
func (r *run) add(sorted pairs, points driver.Span) error {
	m := &r.room
	work, splits, owner, slots, buckets := r.at(m.work).Param(), r.at(m.splits).Param(), r.at(m.owner).Param(), r.at(m.slots).Param(), r.at(m.buckets).Param()
	if err := r.accumulate.Launch(r.stream, r.maxTasks(), 1, work, r.at(m.tasks).Param(), r.at(sorted.values).Param(), points.Param(),
		buckets, slots); err != nil {
		return err
	}
	if err := r.mark("accumulate"); err != nil {
		return err
	}
	most := m.slots.Size / r.pointBytes()
	for done := int64(1); done < r.maxPieces(); done *= foldWidth {
		if err := r.fold.Launch(r.stream, few(most, r.fold.Threads), 1, work, splits, owner, slots, value(done), value(foldWidth)); err != nil {
			return err
		}
	}
	if err := r.foldFinish.Launch(r.stream, few(most, r.foldFinish.Threads), 1, work, splits, slots, buckets); err != nil {
		return err
	}
	return r.mark("fold")
}

// end reduces the buckets to one sum a set.
func (r *run) end() error {
	m := &r.room
	buckets, stride := r.at(m.buckets).Param(), 0
	for _, level := range r.levels() {
		threads := int64(1) << (r.bucketBits() - stride - level)
		if err := r.reduce.Launch(r.stream, threads, r.sets, buckets, value(r.bucketBits()), value(stride), value(level)); err != nil {
			return err
		}
		stride += level
	}
	if err := r.setSums.Launch(r.stream, int64(r.sets), 1, buckets, value(r.bucketBits()), value(r.sets), r.at(m.sums).Param()); err != nil {
		return err
	}
	return r.mark("reduce")
}
