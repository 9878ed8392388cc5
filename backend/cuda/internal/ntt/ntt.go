// Package ntt computes number-theoretic transforms of vectors on one card. They are over the scalar
// field of a curve, with the roots of unity of gnark-crypto's fft.Domain, and give the same answers
// bit for bit.
//
// # Words
//
//   - A pass is one kernel: some of the log2(n) levels of a transform. Passes go down, from
//     natural order to reversed, or up, from reversed to natural, for a transform and for
//     its inverse. From natural to natural order they go up, and the first pass finds its
//     elements where they are.
//   - A row has the powers of one root of unity by which a thread multiplies. The rows
//     of a size are the first rows of every larger size: a Field keeps one table.
//   - A shift, of a coset, has tables of its powers: two of 2^16 and 2^12 powers, whose
//     products are all powers, and rows of the first levels with powers multiplied in. A
//     Field keeps the tables of the last few shifts.
//   - Tables are public. They count as spare memory, and are made again after they were
//     dropped.
package ntt

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/ntt"
)

// MostLogN is the logarithm of the longest transform: 2^28 elements.
const MostLogN = kernel.MostLogN

// mostLogRows bounds the table of rows: 2^20 rows are 512 MiB for elements of 32 bytes. The rows of
// longer transforms are products of two; only threads of 8 elements make them.
var mostLogRows = 20 // tests change it

// rowsFrom is the least logarithm of a transform with separate rows for a coset.
var rowsFrom = kernel.LogLow + 1 // tests change it

// mostShifts is how many shifts a Field keeps tables for: 2.2 MiB each for elements of 32 bytes.
var mostShifts = 16 // tests change it

// Transform is one transform, or each of a batch; see backend.Transform.
type Transform struct {
	LogN     int
	Inverse  bool
	From, To backend.Order // not both Reversed
	Shift    []byte        // an element, not zero, in Montgomery form; nil is 1
	// Given is how many elements each input vector has if they are fewer than 2^LogN; the others
	// are zero. It is for forward transforms from Natural only. 0 means all.
	Given int
}

// Field is the transforms over one curve's scalar field on one card. Its methods are called within
// a turn, which bounds who may call them at the same time.
type Field struct {
	curve     backend.Curve
	size      int      // bytes of an element
	r         *big.Int // the field's order
	stream    *driver.Stream
	rows      device.Kernel[kernel.Rows]
	powers    device.Kernel[kernel.Powers]
	shiftRows device.Kernel[kernel.ShiftRows]
	reverse   device.Kernel[kernel.Reverse]
	shapes    [kernel.LogRow + 1]shape // by the logarithm of the elements of a thread

	mu     sync.Mutex // guards the tables, since anybody may call Held
	table  *device.Memory
	shifts []shift // the newest last

	// Of the table: log2 of its rows, and log2 of the nodes that it serves.
	logRows, logNodes int
	// making says that kernels that make tables were queued, and no pass after them.
	making bool
}

// shape is the kernels of passes whose threads have a certain number of elements.
type shape struct {
	down device.Kernel[kernel.Down]
	up   device.Kernel[kernel.Up]
}

// shift is the tables of the powers of an element.
type shift struct {
	coset
	table *device.Memory
}

// coset is the factors of the elements x_k: base^k.
type coset struct {
	base string // an element; "" is 1

	// If not 0, there are rows of the first levels for transforms of 2^logN elements.
	logN    int
	inverse bool
}

// New loads the kernels of a curve's scalar field.
func New(t *device.Turn, d *device.Device, curve backend.Curve) (*Field, error) {
	ks, ok := kernel.ForField(curve.String())
	if !ok {
		return nil, fmt.Errorf("%w: no transforms over the scalar field of %v", backend.ErrUnsupported, curve)
	}
	f := &Field{curve: curve, size: curve.ScalarBytes(), r: curve.ScalarField(), stream: t.Compute}
	err := errors.Join(f.rows.Load(d, ks.Rows), f.powers.Load(d, ks.Powers), f.shiftRows.Load(d, ks.ShiftRows), f.reverse.Load(d, ks.Reverse))
	for log := 1; log <= kernel.LogRow; log++ {
		ks, ok := kernel.ForPasses(curve.String(), strconv.Itoa(1<<log))
		if !ok {
			return nil, fmt.Errorf("%w: no passes of %d elements a thread for %v", backend.ErrInternal, 1<<log, curve)
		}
		err = errors.Join(err, f.shapes[log].down.Load(d, ks.Down), f.shapes[log].up.Load(d, ks.Up))
	}
	if err != nil {
		return nil, err
	}
	t.Spare(f)
	return f, nil
}

// Close gives the tables back. The card must be open, and no transform may be queued.
func (f *Field) Close() error { return f.Drop() }

// Held returns the bytes of the tables. A Field is a device.Spare.
func (f *Field) Held() (size int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.table != nil {
		size = f.table.Size()
	}
	for _, s := range f.shifts {
		size += s.table.Size()
	}
	return size
}

// Drop gives the tables back once the queued transforms have ended. The next transform makes them
// again.
func (f *Field) Drop() error {
	f.mu.Lock()
	tables := []*device.Memory{f.table}
	for _, s := range f.shifts {
		tables = append(tables, s.table)
	}
	f.table, f.shifts = nil, nil
	f.mu.Unlock()
	return f.free(tables...)
}

// Queue queues transforms of 2^x.LogN elements on the turn's stream of kernels: as many as out has
// room for. Those of in and of out follow each other. out and in may be the same memory; from
// natural to natural order that costs one pass more, which exchanges elements. Otherwise they must
// not overlap, and in stays as it is. Elements are canonical before and after. No work memory is
// needed. Tables are kept if there is room for them; otherwise the error wraps
// backend.ErrOutOfMemory.
func (f *Field) Queue(t *device.Turn, out, in driver.Span, x Transform) error {
	all, given, err := f.check(out, in, x)
	if err != nil || all == 0 {
		return err
	}
	from, to := device.Address(in), device.Address(out)
	if x.LogN == 0 {
		if from == to {
			return nil
		}
		return t.Compute.Copy(out, in)
	}
	logEach, passes := plan(f.size, x.LogN, all)
	c, err := f.coset(x)
	if err != nil {
		return err
	}
	// If every power is in one table, rows save nothing. Rows can include the powers for the
	// highest digits of k. These digits are those of the first levels when down reads x_k and up
	// writes it.
	if c.base != "" && x.LogN >= rowsFrom && logEach > 1 && len(passes) > 1 && passes[0] > logEach && x.Inverse == (x.To == backend.Natural) {
		c.logN, c.inverse = x.LogN, x.Inverse
	}
	rows, high, err := f.rowsFor(t, x.LogN-logEach)
	if err != nil {
		return err
	}
	shift, shiftRows, err := f.shiftFor(t, c)
	if err != nil {
		return err
	}
	if x.From == backend.Natural && x.To == backend.Natural && from == to && len(passes) > 1 {
		blocks := all >> 8
		if err := f.reverse.Launch(t.Compute, blocks*f.reverse.Threads, 1, kernel.Reverse{Data: to, All: all, LogN: x.LogN}); err != nil {
			return err
		}
		x.From = backend.Reversed
	}
	k, level, early := &f.shapes[logEach], 0, !f.making
	threads := (all + 1<<(logEach+kernel.LogThreads) - 1) >> (logEach + kernel.LogThreads) << kernel.LogThreads
	p := kernel.Down{
		In: from, Out: to, All: all, LogN: x.LogN, Inverse: x.Inverse, Given: given,
		Rows: rows, High: high, LogRows: f.logRows, Shift: shift, ShiftRows: shiftRows,
	}
	if x.To == backend.Reversed {
		for _, p.Bits = range passes {
			p.Level = level
			if err := pass(&k.down, t.Compute, threads, early, p); err != nil {
				return err
			}
			early, f.making = true, false
			p.In, level = to, level+p.Bits
		}
		return nil
	}
	level = x.LogN
	for _, bits := range slices.Backward(passes) {
		level -= bits
		err := pass(&k.up, t.Compute, threads, early, kernel.Up{
			In: p.In, Out: to, All: all, LogN: x.LogN, Level: level, Bits: bits, Inverse: x.Inverse, Given: given,
			Rows: rows, High: high, LogRows: f.logRows, Shift: shift, ShiftRows: shiftRows, Natural: x.From == backend.Natural,
		})
		if err != nil {
			return err
		}
		early, f.making = true, false
		p.In = to
	}
	return nil
}

// pass launches a pass, early if that is allowed: then it reads nothing but rows until what was
// launched before it has ended.
func pass[P kernels.Params](k *device.Kernel[P], s *driver.Stream, threads int, early bool, p P) error {
	return k.LaunchShaped(s, driver.Launch{Grid: driver.Dim{X: threads / k.Threads}, Block: driver.Dim{X: k.Threads}, Overlap: early}, p)
}

// check checks a transform. It returns the number of elements of out, and of each input vector.
func (f *Field) check(out, in driver.Span, x Transform) (all, given int, err error) {
	bad := func(format string, args ...any) (int, int, error) {
		return 0, 0, fmt.Errorf("%w: a transform of 2^%d elements: "+format, append([]any{backend.ErrInvalidInput, x.LogN}, args...)...)
	}
	if x.LogN < 0 || x.LogN > MostLogN {
		return bad("2^0 to 2^%d are possible", MostLogN)
	}
	for _, o := range []backend.Order{x.From, x.To} {
		if o != backend.Natural && o != backend.Reversed {
			return bad("order %d", o)
		}
	}
	if x.From == backend.Reversed && x.To == backend.Reversed {
		return bad("from reversed to reversed order")
	}
	given = x.Given
	switch n := 1 << x.LogN; {
	case given == 0:
		given = n
	case given < 0 || given > n:
		return bad("%d of them given", given)
	case given < n && (x.Inverse || x.From != backend.Natural):
		return bad("%d of them given: only forward transforms from natural order take fewer", given)
	}
	bytes := int64(f.size) << x.LogN // of a vector
	if vectors := out.Size() / bytes; out.Size() != vectors*bytes || in.Size() != vectors*int64(given)*int64(f.size) {
		return bad("%d given of %d bytes each, in %d bytes, into %d", given, f.size, in.Size(), out.Size())
	}
	return int(out.Size() / int64(f.size)), given, nil
}

var plan = split // tests change it

// split returns the logarithm of the elements of a thread, and the levels of each pass in the order
// of down. all is the elements of all transforms together. Fewer elements for each thread make more
// threads, for transforms too small to fill the card. A pass of b levels reads from 2^b rows the
// elements that are neighbours in a tile: few levels are quicker in memory, many need fewer passes.
// If a number of levels is no multiple of a step's, the first pass takes the remainder, where it
// costs least. These are the fastest of those tried on an H200.
func split(size, logN, all int) (logEach int, passes []int) {
	few, some := 1<<16, 1<<17
	if size > 32 {
		some = 1 << 20
	}
	switch {
	case all <= few:
		logEach = 1
	case all <= some:
		logEach = 2
	default:
		logEach = 3
	}
	switch tile := kernel.LogThreads + logEach; {
	case logN <= tile:
		return logEach, []int{logN}
	case logN <= 2*tile && logEach < 3:
		return logEach, []int{logN / 2, (logN + 1) / 2}
	case logEach < 3:
		return logEach, []int{6, (logN - 5) / 2, (logN - 6) / 2} // 2^19 and 2^20
	}
	passes = [...][]int{
		{5, 6}, {6, 6}, {7, 6}, {8, 6}, {9, 6}, {6, 10}, {8, 9}, {9, 9}, // 2^11 to 2^18
		{9, 10}, {6, 6, 8}, {6, 6, 9}, {6, 7, 9}, {6, 8, 9}, {9, 6, 9}, {7, 9, 9}, {8, 9, 9}, {9, 9, 9}, {10, 9, 9}, // to 2^28
	}[logN-11]
	if logN == 22 && size > 32 {
		passes = []int{6, 6, 10}
	}
	return logEach, passes
}

// coset returns the coset of a transform's shift.
func (f *Field) coset(x Transform) (c coset, err error) {
	if x.Shift == nil {
		return c, nil
	}
	v := new(big.Int).SetBytes(backwards(x.Shift))
	if len(x.Shift) != f.size || v.Sign() == 0 || v.Cmp(f.r) >= 0 {
		return c, fmt.Errorf("%w: a shift is an element of %d bytes below the modulus, and not zero", backend.ErrInvalidInput, f.size)
	}
	one := new(big.Int).Lsh(big.NewInt(1), uint(8*f.size)) // in Montgomery form
	one.Mod(one, f.r)
	if x.Inverse {
		v.ModInverse(v, f.r)
		v.Mul(v, one).Mul(v, one).Mod(v, f.r)
	}
	if v.Cmp(one) != 0 {
		c.base = string(backwards(v.FillBytes(make([]byte, f.size))))
	}
	return c, nil
}

// backwards returns the bytes of a number in reverse order.
func backwards(b []byte) []byte {
	b = slices.Clone(b)
	slices.Reverse(b)
	return b
}

// rowsFor makes the table of rows for nodes below 2^logNodes, unless it is there.
func (f *Field) rowsFor(t *device.Turn, logNodes int) (rows, high kernels.Pointer, err error) {
	if f.table == nil || f.logNodes < logNodes {
		if err := f.makeRows(t, logNodes); err != nil {
			return 0, 0, err
		}
	}
	s := f.table.Span()
	return device.Address(s), device.Address(s.Slice(f.rowBytes(1<<f.logRows+1), 0)), nil
}

// rowBytes returns the bytes of rows. A factor of an element is two numbers.
func (f *Field) rowBytes(rows int) int64 { return int64(2*rows*f.size) << kernel.LogRow }

// tableRows returns how many rows a table for nodes below 2^logNodes has.
func (f *Field) tableRows(logNodes int) int {
	logRows := min(logNodes, mostLogRows)
	return 1<<logRows + 1 + 1<<(logNodes-logRows) + 1
}

// makeRows queues the making of the table of roots of unity for nodes below 2^logNodes. It replaces
// a shorter table.
func (f *Field) makeRows(t *device.Turn, logNodes int) error {
	f.mu.Lock()
	old := f.table
	f.table = nil
	f.mu.Unlock()
	if err := f.free(old); err != nil {
		return err
	}
	m, err := t.Keep(f.rowBytes(f.tableRows(logNodes)), func(int64) error { return nil })
	if err != nil {
		return fmt.Errorf("roots of unity for transforms: %w", err)
	}
	logRows := min(logNodes, mostLogRows)
	f.making = true
	low := 1<<logRows + 1
	high := f.tableRows(logNodes) - low
	s := m.Span()
	err = errors.Join(
		f.rows.Launch(t.Compute, low, 1, kernel.Rows{Rows: device.Address(s), Count: low - 1}),
		f.rows.Launch(t.Compute, high, 1, kernel.Rows{
			Rows: device.Address(s.Slice(f.rowBytes(low), f.rowBytes(high))), Count: high - 1, Shift: logRows,
		}),
	)
	if err != nil {
		return errors.Join(err, f.free(m))
	}
	f.mu.Lock()
	f.table, f.logRows, f.logNodes = m, logRows, logNodes
	f.mu.Unlock()
	return nil
}

// shiftFor returns the powers and the rows of a coset, each 0 if there are none. It makes them if
// they are not there. If there would be too many shifts, it replaces the oldest.
func (f *Field) shiftFor(t *device.Turn, c coset) (powers, rows kernels.Pointer, err error) {
	if c.base == "" {
		return 0, 0, nil
	}
	var layout device.Layout
	table := layout.Take(int64(f.size * kernel.ShiftPowers))
	base := layout.Take(int64(f.size))
	ofRows := layout.Take(f.rowBytes(1 << kernel.LogShiftRows))
	at := func(s driver.Span) (powers, rows kernels.Pointer) {
		if c.logN > 0 {
			rows = device.Address(ofRows.In(s))
		}
		return device.Address(table.In(s)), rows
	}
	if i := slices.IndexFunc(f.shifts, func(s shift) bool { return s.coset == c }); i >= 0 {
		powers, rows = at(f.shifts[i].table.Span())
		return powers, rows, nil
	}
	m := f.oldest()
	if m == nil {
		if m, err = t.Keep(layout.Size, func(int64) error { return nil }); err != nil {
			return 0, 0, fmt.Errorf("powers of a shift for transforms: %w", err)
		}
		if f.table == nil { // the table was dropped to make room for them
			return 0, 0, errors.Join(fmt.Errorf("%w: no room on the device for roots of unity and powers of a shift at a time",
				backend.ErrOutOfMemory), f.free(m))
		}
	}
	f.making = true
	powers, rows = at(m.Span())
	// Kernels queued earlier read the old powers before these are written.
	err = errors.Join(
		t.Compute.Write(base.In(m.Span()), []byte(c.base)),
		f.powers.Launch(t.Compute, kernel.ShiftPowers, 1, kernel.Powers{Powers: powers, Base: device.Address(base.In(m.Span()))}),
	)
	if err == nil && c.logN > 0 {
		err = f.shiftRows.Launch(t.Compute, 1<<(kernel.LogShiftRows+kernel.LogRow), 1, kernel.ShiftRows{
			To: rows, Rows: device.Address(f.table.Span()), LogRows: f.logRows, Powers: powers, LogN: c.logN, Inverse: c.inverse,
		})
	}
	if err != nil {
		return 0, 0, errors.Join(err, f.free(m))
	}
	f.mu.Lock()
	f.shifts = append(f.shifts, shift{c, m})
	f.mu.Unlock()
	return powers, rows, nil
}

// oldest takes the memory of the oldest shift if there are mostShifts.
func (f *Field) oldest() *device.Memory {
	if len(f.shifts) < mostShifts {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.shifts[0].table
	f.shifts = f.shifts[1:]
	return m
}

// free gives memory back once what is queued has ended.
func (f *Field) free(ms ...*device.Memory) error {
	ms = slices.DeleteFunc(ms, func(m *device.Memory) bool { return m == nil })
	if len(ms) == 0 {
		return nil
	}
	err := f.stream.Synchronize()
	for _, m := range ms {
		err = errors.Join(err, m.Free())
	}
	return err
}
