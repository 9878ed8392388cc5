// Package ntt computes number-theoretic transforms on one card, of vectors that
// are there: over the scalar field of a curve, with the roots of unity of
// gnark-crypto's fft.Domain and the same answers bit for bit.
//
// # Words
//
//   - A transform takes x_k to X_j = sum over k of x_k w^(jk). Forward leaves X_j
//     at the place of j's bits reversed, which is gnark-crypto's FFT with
//     fft.DIF; Inverse takes such a vector back and divides by its length, which
//     is FFTInverse with fft.DIT.
//   - A pass is one kernel: some levels of the transform, of log2(n) in all.
//   - A row has the powers of one root of unity that a thread multiplies with. The
//     rows of a size are the first ones of every larger size: a Field keeps one
//     table, which is public, counts as spare memory and is made again when it
//     was dropped.
package ntt

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/device"
	"github.com/pippin-zk/pippin/backend/cuda/driver"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/ntt"
)

// MostLogN is the logarithm of the longest transform: 2^28 elements.
const MostLogN = kernel.MostLogN

// mostLogRows bounds the table: 2^20 rows are 256 MiB of 32-byte elements. Rows
// of transforms beyond 2^23 elements are products of two.
var mostLogRows = 20 // a variable for tests

// Field is the transforms over one curve's scalar field on one card. Its methods
// are called in a turn, which says by whom they may be called at a time.
type Field struct {
	curve   backend.Curve
	size    int // bytes of an element
	rows    device.Kernel[kernel.Rows]
	forward device.Kernel[kernel.Forward]
	inverse device.Kernel[kernel.Inverse]

	mu       sync.Mutex // over the table, whose Held is asked from anywhere
	table    *device.Memory
	logRows  int
	logTable int // of the longest transform that it serves
	scales   *device.Memory
}

// New loads the kernels of a curve's scalar field.
func New(t *device.Turn, d *device.Device, curve backend.Curve) (*Field, error) {
	ks, ok := kernel.ForField(curve.String())
	if !ok {
		return nil, fmt.Errorf("%w: no transforms over the scalar field of %v", backend.ErrUnsupported, curve)
	}
	f := &Field{curve: curve, size: curve.ScalarBytes()}
	err := errors.Join(f.rows.Load(d, ks.Rows), f.forward.Load(d, ks.Forward), f.inverse.Load(d, ks.Inverse))
	if err != nil {
		return nil, err
	}
	if err := f.sendScales(t); err != nil {
		return nil, err
	}
	t.Spare(f)
	return f, nil
}

// sendScales puts 1/2^k for all k on the card, in Montgomery form.
func (f *Field) sendScales(t *device.Turn) error {
	r := layout.CurveID(f.curve).ScalarField()
	half := new(big.Int).ModInverse(big.NewInt(2), r)
	v := new(big.Int).Lsh(big.NewInt(1), uint(8*f.size)) // R = 1 in Montgomery form
	all := make([]byte, 0, (MostLogN+1)*f.size)
	for range MostLogN + 1 {
		v.Mod(v, r)
		element := v.FillBytes(make([]byte, f.size))
		slices.Reverse(element) // little-endian
		all = append(all, element...)
		v.Mul(v, half)
	}
	m, err := t.Keep(int64(len(all)), func(int64) error { return nil })
	if err != nil {
		return err
	}
	if err := t.Compute.Write(m.Span(), all); err != nil {
		return errors.Join(err, m.Free())
	}
	f.scales = m
	return nil
}

// Close gives the table back. The card must be open, and no transform queued.
func (f *Field) Close() error {
	err := f.Drop()
	if f.scales != nil {
		err = errors.Join(err, f.scales.Free())
		f.scales = nil
	}
	return err
}

// Held is the bytes of the table: Field is device.Spare.
func (f *Field) Held() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.table == nil {
		return 0
	}
	return f.table.Size()
}

// Drop gives the table back, until a transform needs it.
func (f *Field) Drop() error {
	f.mu.Lock()
	m := f.table
	f.table, f.logTable = nil, 0
	f.mu.Unlock()
	if m == nil {
		return nil
	}
	return m.Free()
}

// Forward queues transforms of 2^logN elements each on the turn's stream of
// kernels: as many as in and out, of one size, have room for. They may be the
// same memory; otherwise they must not overlap, and in is left as it is. Elements
// are canonical, before and after.
func (f *Field) Forward(t *device.Turn, out, in driver.Span, logN int) error {
	n, err := f.check(out, in, logN)
	if err != nil || n == 0 {
		return err
	}
	if logN == 0 {
		return same(t, out, in)
	}
	rows, high, err := f.prepare(t, logN)
	if err != nil {
		return err
	}
	level := 0
	for _, bits := range split(logN) {
		err := f.forward.Launch(t.Compute, f.threads(n), 1, kernel.Forward{
			In: device.Address(in), Out: device.Address(out), All: n, LogN: logN, Level: level, Bits: bits,
			Rows: rows, LogRows: f.logRows, High: high,
		})
		if err != nil {
			return err
		}
		in, level = out, level+bits
	}
	return nil
}

// Inverse queues the way back of Forward, division by 2^logN included.
func (f *Field) Inverse(t *device.Turn, out, in driver.Span, logN int) error {
	n, err := f.check(out, in, logN)
	if err != nil || n == 0 {
		return err
	}
	if logN == 0 {
		return same(t, out, in)
	}
	rows, high, err := f.prepare(t, logN)
	if err != nil {
		return err
	}
	passes := split(logN)
	level := logN
	for i := len(passes) - 1; i >= 0; i-- {
		level -= passes[i]
		err := f.inverse.Launch(t.Compute, f.threads(n), 1, kernel.Inverse{
			In: device.Address(in), Out: device.Address(out), All: n, LogN: logN, Level: level, Bits: passes[i],
			Rows: rows, LogRows: f.logRows, High: high,
			Scale: device.Address(f.scales.Span().Slice(int64(logN*f.size), int64(f.size))),
		})
		if err != nil {
			return err
		}
		in = out
	}
	return nil
}

// same is the transform of single elements.
func same(t *device.Turn, out, in driver.Span) error {
	if out == in {
		return nil
	}
	return t.Compute.Copy(out, in)
}

// threads are what n elements need: whole tiles.
func (f *Field) threads(n int) int {
	const tile = 1 << kernel.LogTile
	return (n + tile - 1) / tile * kernel.TileThreads
}

// check is the number of elements.
func (f *Field) check(out, in driver.Span, logN int) (int, error) {
	if logN < 0 || logN > MostLogN {
		return 0, fmt.Errorf("%w: a transform of 2^%d elements (2^0 to 2^%d are possible)", backend.ErrInvalidInput, logN, MostLogN)
	}
	if out.Size() != in.Size() || in.Size()%(int64(f.size)<<logN) != 0 {
		return 0, fmt.Errorf("%w: transforms of 2^%d elements of %d bytes in %d bytes, into %d", backend.ErrInvalidInput,
			logN, f.size, in.Size(), out.Size())
	}
	return int(in.Size() / int64(f.size)), nil
}

// split is the levels of each pass, in the order of Forward. A pass of b levels
// reads 2^(10-b) neighbours at a time, so that few levels are quicker in memory
// and many need fewer passes; a number of levels that 3 does not divide costs
// least in the first pass. Fastest of those tried on an H200.
func split(logN int) []int {
	if logN <= kernel.LogTile {
		return []int{logN}
	}
	return [...][]int{
		{5, 6}, {6, 6}, {7, 6}, {8, 6}, {9, 6}, {8, 8}, {8, 9}, {9, 9}, // 2^11 to 2^18
		{7, 6, 6}, {8, 6, 6}, {9, 6, 6}, {8, 8, 6}, {8, 9, 6}, {9, 6, 9}, {7, 9, 9}, {8, 9, 9}, {9, 9, 9}, {10, 9, 9}, // to 2^28
	}[logN-kernel.LogTile-1]
}

// logRowsOf is the rows that the table has for a transform: one for every node
// of the last step's level, as far as the bound.
func logRowsOf(logN int) int { return min(max(logN-kernel.LogEach, 0), mostLogRows) }

// prepare makes the table for a transform, if it is not there.
func (f *Field) prepare(t *device.Turn, logN int) (rows, high kernels.Pointer, err error) {
	if f.Held() == 0 || f.logTable < logN {
		if err := f.make(t, logN); err != nil {
			return 0, 0, err
		}
	}
	s := f.table.Span()
	return device.Address(s), device.Address(s.Slice(f.rowBytes(1<<f.logRows+1), 0)), nil
}

func (f *Field) rowBytes(rows int) int64 { return int64(rows) * kernel.RowElements * int64(f.size) }

func (f *Field) make(t *device.Turn, logN int) error {
	if err := f.Drop(); err != nil {
		return err
	}
	logRows := logRowsOf(logN)
	high := 1 << max(logN-kernel.LogEach-logRows, 0)
	m, err := t.Keep(f.rowBytes(1<<logRows+1+high+1), func(int64) error { return nil })
	if err != nil {
		return fmt.Errorf("roots of unity for transforms of 2^%d elements: %w", logN, err)
	}
	f.mu.Lock()
	f.table, f.logRows, f.logTable = m, logRows, logN
	f.mu.Unlock()
	s := m.Span()
	return errors.Join(
		f.rows.Launch(t.Compute, 1<<logRows+1, 1, kernel.Rows{Rows: device.Address(s), Count: 1 << logRows}),
		f.rows.Launch(t.Compute, high+1, 1, kernel.Rows{
			Rows: device.Address(s.Slice(f.rowBytes(1<<logRows+1), f.rowBytes(high+1))), Count: high, Shift: logRows,
		}),
	)
}
