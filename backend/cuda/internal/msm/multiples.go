package msm

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/resident"
	kernel "github.com/pippin-zk/pippin/kernels/grid/msm"
)

// Multiples of bases let windows share buckets: row r has 2^(shift r) times each base. Then fewer
// buckets are reduced, and windows may be wider and fewer. Of few bases there are the multiples by
// all sizes of a digit too, so that no buckets are needed. Multiples are made in slices, each in a
// separate turn, so that no call waits long. They are spare memory: whatever else needs the room
// gets it.

const (
	// sliceWork bounds a slice to some milliseconds. It is the number of points times the square of
	// a coordinate's words.
	sliceWork = 1 << 26
	// mostRows is the most rows of a slice. With few bases each row waits some 0.1 ms for an
	// inverse.
	mostRows = 16
	// mostEach is how many points share an inversion.
	mostEach = 16
	// unitShare is how many times a point of a table for digits modulo six units is the work of one
	// of another table.
	unitShare = 8
	// firstPause is after how many MSMs it is tried again to make multiples that had no room or
	// were dropped. The pause doubles each time.
	firstPause = 64
)

// table is multiples of bases on the card.
type table struct {
	msmplan.Multiples

	// Under tables.mu:
	memory *device.Memory // nil after it was dropped
	inUse  bool           // by this turn: it must not be dropped
}

// tables is the tables on a card. It is a Spare, which first drops the table that was unused for
// the longest time.
type tables struct {
	mu    sync.Mutex
	known bool     // registered with the device as Spare; under the turn
	kept  []*table // unused for longest first
}

// Held returns the bytes of the tables that this turn does not use.
func (s *tables) Held() (size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.kept {
		if !t.inUse {
			size += t.memory.Size()
		}
	}
	return size
}

// Multiples returns the bytes of all multiples of bases on the card.
func (c *Computer) Multiples() (size int64) {
	c.tables.mu.Lock()
	defer c.tables.mu.Unlock()
	for _, t := range c.tables.kept {
		size += t.memory.Size()
	}
	return size
}

// Drop gives back the table that was unused for the longest time.
func (s *tables) Drop() error {
	s.mu.Lock()
	i := slices.IndexFunc(s.kept, func(t *table) bool { return !t.inUse })
	if i < 0 {
		s.mu.Unlock()
		return nil
	}
	t := s.kept[i]
	s.mu.Unlock()
	return s.drop(t)
}

// drop gives a table back, unless that was done already.
func (s *tables) drop(t *table) error {
	s.mu.Lock()
	m := t.memory
	t.memory = nil
	s.kept = slices.DeleteFunc(s.kept, func(other *table) bool { return other == t })
	s.mu.Unlock()
	if m == nil {
		return nil
	}
	return m.Free()
}

// use keeps a table from being dropped in this turn. It returns false if there is none, or if it
// was dropped.
func (s *tables) use(turn *device.Turn, t *table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t == nil || t.memory == nil {
		return false
	}
	if !t.inUse {
		t.inUse = true
		i := slices.Index(s.kept, t)
		s.kept = append(slices.Delete(s.kept, i, i+1), t)
		turn.OnEnd(func() { s.release(t) })
	}
	return true
}

// release allows a table to be dropped again.
func (s *tables) release(t *table) {
	s.mu.Lock()
	t.inUse = false
	s.mu.Unlock()
}

// preparation is the multiples of one set of bases.
type preparation struct {
	hints   backend.Hints   // of multiples: how many of a base, itself included; 0 lets the plan choose, 1 means none
	ctx     context.Context // ends when the bases are freed
	stop    context.CancelFunc
	running sync.WaitGroup

	// Under tables.mu:
	table  *table // nil if there is none
	making bool
	pause  int // MSMs until they are tried again
	tries  int
}

// end waits until no multiples are being made, and gives back those that are there.
func (p *preparation) end(s *tables) error {
	if p.stop == nil {
		return nil
	}
	p.stop()
	p.running.Wait()
	if p.table == nil {
		return nil
	}
	return s.drop(p.table)
}

// prepareNow makes multiples of bases before it returns, as hints say.
func (c *Computer) prepareNow(ctx context.Context, b *Bases, hints backend.Hints) error {
	b.hints, b.making = hints, true
	return c.makeTable(ctx, b)
}

// Prepare makes multiples of bases in the background, as hints say. It does nothing for bases on
// the host, while their multiples are being made, and for some time after each try.
func (c *Computer) Prepare(b *Bases, hints backend.Hints) {
	if most := hints.Multiples; b.memory == nil || most == 1 || most == 0 && b.Count < msmplan.LeastPrepared {
		return
	}
	s := &c.tables
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.making || b.ctx.Err() != nil {
		return
	}
	if b.pause > 0 {
		b.pause--
		return
	}
	b.hints, b.making, b.pause = hints, true, firstPause<<min(b.tries, 16)
	b.tries++
	b.running.Go(func() {
		// Whatever goes wrong, MSMs are computed without multiples. If the card has failed, the
		// next MSM finds that.
		_ = c.makeTable(b.ctx, b)
	})
}

// makeTable makes the multiples of bases, in turns between those of calls. It is no error if there
// is no room for them, or no use.
func (c *Computer) makeTable(ctx context.Context, b *Bases) (err error) {
	s := &c.tables
	var t *table
	defer func() {
		s.mu.Lock()
		b.making = false
		made := err == nil && t != nil && t.memory != nil
		if made {
			b.table = t
		}
		s.mu.Unlock()
		if t != nil && !made {
			err = errors.Join(err, s.drop(t))
		}
		if errors.Is(err, backend.ErrOutOfMemory) {
			err = nil
		}
	}()
	defer resident.Caught(&err)
	if err := c.builders.Acquire(ctx, 1); err != nil {
		return backend.Ended(ctx)
	}
	defer c.builders.Release(1)
	if t, err = c.newTable(ctx, b); t == nil || err != nil {
		return err
	}
	prog, err := loadKernels(c.dev, b.Curve, b.Group, t.Form())
	if err != nil {
		return err
	}
	words := int(msmplan.ElementBytes(b.Curve, b.Group) / 4)
	rows := t.PowerRows()
	points := sliceWork / (words * words) / rows
	switch {
	case t.Units:
		rows, points = t.Rows, points/unitShare // of a slice the rows are made from one another
	case rows == 1:
		rows = min(max(points/b.Count, 1), mostRows)
	}
	for row := 0; row < t.Rows; row += rows {
		for from, n := 0, 0; from < b.Count; from += n {
			n = min(b.Count-from, points)
			if there, err := c.makeSlice(ctx, b, t, prog, row, min(rows, t.Rows-row), from, n); !there || err != nil {
				return err
			}
		}
	}
	return nil
}

// newTable takes memory for multiples of bases. It returns nil if they are not worth it.
func (c *Computer) newTable(ctx context.Context, b *Bases) (*table, error) {
	s := &c.tables
	in, room, err := c.roomFor(ctx, b)
	if err != nil {
		return nil, err
	}
	m := msmplan.ChooseMultiples(in, b.hints.Multiples, room)
	if m.Rows == 0 {
		return nil, nil
	}
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return nil, err
	}
	end := func(err error) error { return errors.Join(err, turn.End()) }
	memory, err := turn.Keep(in.TableBytes(m), c.suffices(b.Elements))
	if err != nil {
		return nil, end(err)
	}
	if !s.known {
		turn.Spare(s)
		s.known = true
	}
	t := &table{Multiples: m, memory: memory}
	s.mu.Lock()
	s.kept = append(s.kept, t)
	s.mu.Unlock()
	return t, end(nil)
}

// roomFor returns the input for a plan over all bases, and how many bytes their multiples may take.
func (c *Computer) roomFor(ctx context.Context, b *Bases) (in msmplan.Input, room int64, err error) {
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return in, 0, err
	}
	in = c.inputFor(b.Elements, b.Count, false, turn.Available())
	in.Uniform = b.hints.Uniform
	return in, c.roomIn(in.Memory, b.hints.Multiples), turn.End()
}

// roomIn returns how many of memory bytes the multiples may take.
func (c *Computer) roomIn(memory int64, most int) int64 {
	if most == 0 {
		return int64(msmplan.FreeShare * float64(memory-c.tables.Held()))
	}
	return memory
}

// CostOf returns the cost of an MSM of count of the bases, in the unit of Outline.Cost. The bases
// are not on the card; it assumes that all of them are, with the multiples that would be made now
// by the hints.
func (c *Computer) CostOf(ctx context.Context, of backend.Elements, count int, hints backend.Hints) (float64, error) {
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return 0, err
	}
	in := c.inputFor(of, of.Count, false, turn.Available()-int64(of.Count)*int64(of.Curve.PointBytes(of.Group)))
	if err := turn.End(); err != nil {
		return 0, err
	}
	in.Uniform = hints.Uniform
	return msmplan.CostWith(in, c.inputFor(of, count, false, in.Memory), hints.Multiples, c.roomIn(in.Memory, hints.Multiples))
}

// makeSlice makes rows of a table for n points, each row from the one before it or, the first, from
// the bases. It returns false if the table was dropped.
func (c *Computer) makeSlice(ctx context.Context, b *Bases, t *table, prog *groupKernels, row, rows, from, n int) (there bool, err error) {
	turn, err := c.dev.Turn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, turn.End()) }()
	if !c.tables.use(turn, t) {
		return false, nil
	}
	if err := turn.Mark("start"); err != nil {
		return false, err
	}
	s := slice{c, turn, b, t, prog, from, n}
	if t.Units {
		return true, errors.Join(s.makeUnits(), turn.Mark("multiples"), turn.Compute.Synchronize())
	}
	for r := row; r < row+rows; r += t.PowerRows() {
		if err := s.makePower(r); err != nil {
			return false, err
		}
		// From the rows up to half come those up to twice as many.
		for half := 1; half < t.Digits; half *= 2 {
			if err := s.launch(r, r+half, 1, half+1, half); err != nil {
				return false, err
			}
		}
	}
	return true, errors.Join(turn.Mark("multiples"), turn.Compute.Synchronize())
}

// slice is what a turn makes of a table: of some rows the n points from the point from on.
type slice struct {
	*Computer
	turn    *device.Turn
	bases   *Bases
	table   *table
	kernels *groupKernels
	from, n int
}

// makePower launches what makes a row of a power of 2.
func (s *slice) makePower(row int) error {
	if row > 0 {
		doublings := s.table.Shift
		if s.table.Digits > 1 {
			doublings = 1 // the row before has half of it
		}
		return s.launch(row-1, row, doublings, 2, 1)
	}
	b := s.bases
	from := b.memory.Span()
	from = from.Slice(int64(s.from)*from.Size()/int64(b.Count), int64(s.n)*from.Size()/int64(b.Count))
	if !s.table.Edwards {
		return s.turn.Compute.Copy(s.at(0), from)
	}
	each := min(s.sharing(s.n), kernel.PrepareMost)
	return s.kernels.prepare.Launch(s.turn.Compute, (s.n+each-1)/each, 1, kernel.Prepare{
		From: device.Address(from), To: device.Address(s.at(0)), N: s.n, Each: each,
	})
}

// makeUnits launches what makes all rows of a table for digits modulo six units. A row's points
// are made from those of the row before as affine points, and then take their form.
func (s *slice) makeUnits() error {
	const rows = 4 // a point; twice and three times that; what sums keep of it
	n := int64(s.n)
	size := kernel.PointElements * msmplan.ElementBytes(s.bases.Curve, s.bases.Group)
	work, err := s.turn.Work(rows*n*size, 0)
	if err != nil {
		return err
	}
	row := func(i int64) driver.Span { return work.Slice(i*n*size, n*size) }
	all := s.bases.memory.Span()
	if err := s.turn.Compute.Copy(row(0), all.Slice(int64(s.from)*size, n*size)); err != nil {
		return err
	}
	each := min(s.sharing(s.n), mostEach)
	times := func(one, to int64, doublings, digit int) error {
		return s.kernels.multiples.Launch(s.turn.Compute, (s.n+each-1)/each, 1, kernel.Multiples{
			From: device.Address(row(one)), To: device.Address(row(to)), N: s.n, Doublings: doublings, Each: each,
			Scratch: device.Address(row(3)), Digit: digit, Apart: s.n,
		})
	}
	threes, twos := factors(s.table.Radix().M)
	for r := range s.table.Rows {
		if r > 0 {
			for range threes {
				if err := errors.Join(times(0, 1, 1, 2), times(0, 2, 0, 3), s.turn.Compute.Copy(row(0), row(2))); err != nil {
					return err
				}
			}
			if err := errors.Join(times(0, 1, twos, 2), s.turn.Compute.Copy(row(0), row(1))); err != nil {
				return err
			}
		}
		if err := s.kernels.prepareUnits.Launch(s.turn.Compute, s.n, 1, kernel.PrepareUnits{
			From: device.Address(row(0)), To: device.Address(s.at(r)), N: s.n,
		}); err != nil {
			return err
		}
	}
	return nil
}

// factors returns i and j of m = 3^i 2^j.
func factors(m int) (threes, twos int) {
	for ; m%3 == 0; m /= 3 {
		threes++
	}
	return threes, bits.TrailingZeros(uint(m))
}

// launch launches the kernel that makes rows from the row to on. To the kernel the row one is row
// 1, and to is row digit.
func (s *slice) launch(one, to, doublings, digit, rows int) error {
	from, n := device.Address(s.at(one)), s.n
	each := s.sharing(n * rows)
	if s.table.Edwards {
		each = min(each, kernel.PrepareMost)
		return s.kernels.preparedMultiples.Launch(s.turn.Compute, (n+each-1)/each, rows, kernel.PreparedMultiples{
			From: from, To: device.Address(s.at(to)), N: n, Doublings: doublings, Each: each, Digit: digit, Apart: s.table.Distance,
		})
	}
	each = min(each, mostEach)
	scratch, err := s.turn.Work(int64(n)*int64((s.table.PowerRows()+1)/2)*s.table.pointBytes(), 0)
	if err != nil {
		return err
	}
	return s.kernels.multiples.Launch(s.turn.Compute, (n+each-1)/each, rows, kernel.Multiples{
		From: from, To: device.Address(s.at(to)), N: n, Doublings: doublings, Each: each, Scratch: device.Address(scratch),
		Digit: digit, Apart: s.table.Distance,
	})
}

// sharing returns how many of n points share an inverse, so that the card is full.
func (s *slice) sharing(n int) int {
	return max(1, n/(s.paramsFor(s.bases.Elements, s.bases.Count).Full/2))
}

// at returns the slice's points of a row.
func (s *slice) at(row int) driver.Span {
	size := s.table.pointBytes()
	return s.table.memory.Span().Slice(int64(row*s.table.Distance+s.from)*size, int64(s.n)*size)
}

// pointBytes returns the size of a point of the table.
func (t *table) pointBytes() int64 { return t.memory.Span().Size() / int64(t.Rows*t.Distance) }

// Use makes MSMs over bases use their multiples, if there are any, until the turn ends. Meanwhile
// that memory is not spare.
func (c *Computer) Use(turn *device.Turn, bases ...*Bases) {
	for _, b := range bases {
		if !c.tables.use(turn, c.tables.of(b)) && b.memory != nil {
			c.Prepare(b, b.hints)
		}
	}
}

// Forgo makes MSMs over bases do without the multiples that Use has given them. It returns false if
// all did already.
func (c *Computer) Forgo(bases ...*Bases) (changed bool) {
	for _, b := range bases {
		if t := c.tables.used(b); t != nil {
			c.tables.release(t)
			changed = true
		}
	}
	return changed
}

// expected returns the multiples that a turn beginning now would use for bases, or the zero value
// if there are none.
func (s *tables) expected(b *Bases) (m msmplan.Multiples) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.table != nil && b.table.memory != nil {
		m = b.table.Multiples
	}
	return m
}

// of returns the table of bases, or nil if there is none.
func (s *tables) of(b *Bases) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.table
}

// used returns the table of bases if this turn uses it, otherwise nil.
func (s *tables) used(b *Bases) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.table == nil || !b.table.inUse {
		return nil
	}
	return b.table
}
