package file

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/prover/internal/matrices"
	"github.com/pippin-zk/pippin/prover/internal/merge"
)

// Entries are the entries of A and B.
type Entries struct {
	Matrices [2]matrices.Matrix // the number of a factor is its index in Factors
	// Factors has each factor once, as the file has it: f R^2 modulo r.
	Factors []byte
	// Rows is how many rows there are up to the last that is not empty.
	Rows int
}

// The parts of an entry in bytes: matrix, row, wire, and then the factor.
const factorAt = 3 * 4

// entryBytes returns the size of an entry.
func (k *Key) entryBytes() int { return factorAt + k.Curve.ScalarBytes() }

// entry is an entry whose row is known to be right.
type entry struct {
	place  uint32 // of the row, those of B after those of A
	wire   uint32
	factor uint32
}

// Entries reads section 4 until ctx ends. Entries may come in any order.
func (k *Key) Entries(ctx context.Context) (*Entries, error) {
	size := k.entryBytes()
	count := int((k.entries.Size - 4) / int64(size))
	if count > math.MaxUint32 {
		return nil, k.refuse("section %d: %d entries", keyEntries, count)
	}
	all := make([]entry, count)
	counts := make([]uint32, 2*k.Domain)
	table := &factors{index: map[string]uint32{}}
	var refused first
	const part = 1 << 13
	err := merge.Until(ctx, count, part, func(lo, hi int) {
		b := make([]byte, (hi-lo)*size)
		if err := k.readTo(b, k.entries.Offset+4+int64(lo)*int64(size)); err != nil {
			refused.set(lo, err)
			return
		}
		for i := lo; i < hi; i++ {
			e := &all[i]
			if err := k.entry(e, i, b[(i-lo)*size:(i-lo+1)*size]); err != nil {
				refused.set(i, err)
				return
			}
			atomic.AddUint32(&counts[e.place], 1)
		}
		table.number(all[lo:hi], b, size)
	})
	if err == nil {
		err = refused.err
	}
	if err != nil {
		return nil, err
	}
	return k.sorted(ctx, all, counts, table.bytes)
}

// entry reads an entry's matrix, row and wire, and checks its factor.
func (k *Key) entry(e *entry, i int, b []byte) error {
	matrix, row, wire := number(b), number(b[4:]), number(b[8:])
	switch {
	case matrix > 1 || row >= k.Domain || wire >= k.Wires:
		return k.refuse("section %d: entry %d: matrix %d, row %d of %d, wire %d of %d", keyEntries, i,
			matrix, row, k.Domain, wire, k.Wires)
	case layout.FirstNotBelow(b[factorAt:], layout.ScalarField(k.Curve)) >= 0:
		return k.refuse("section %d: entry %d: the factor is not below r", keyEntries, i)
	}
	e.place, e.wire = uint32(matrix*k.Domain+row), uint32(wire)
	return nil
}

// factors numbers different factors in the order in which they are met.
type factors struct {
	mu    sync.Mutex
	index map[string]uint32
	bytes []byte
}

// number sets the factors of some entries, which b has one after the other.
func (f *factors) number(all []entry, b []byte, size int) {
	known := map[string]uint32{} // most parts have few, and need no lock for the others
	for i := range all {
		factor := b[i*size+factorAt : (i+1)*size]
		n, ok := known[string(factor)]
		if !ok {
			n = f.add(factor)
			known[string(factor)] = n
		}
		all[i].factor = n
	}
}

// add returns the number of a factor.
func (f *factors) add(factor []byte) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, ok := f.index[string(factor)]
	if !ok {
		n = uint32(len(f.index))
		f.index[string(factor)] = n
		f.bytes = append(f.bytes, factor...)
	}
	return n
}

// sorted puts entries in the order of their rows. counts has how many there are in each.
func (k *Key) sorted(ctx context.Context, all []entry, counts []uint32, table []byte) (*Entries, error) {
	e := &Entries{Factors: table}
	next := counts // where the next entry of a row goes
	for m := range e.Matrices {
		x := &e.Matrices[m]
		x.Start = make([]uint32, k.Domain+1)
		rows := next[m*k.Domain : (m+1)*k.Domain]
		for row, n := range rows {
			x.Start[row+1] = x.Start[row] + n
			if n > 0 {
				e.Rows = max(e.Rows, row+1)
			}
			rows[row] = x.Start[row]
		}
		x.Terms = make([]uint32, 2*x.Start[k.Domain])
	}
	return e, merge.Until(ctx, len(all), 1<<14, func(lo, hi int) {
		for _, v := range all[lo:hi] {
			x := &e.Matrices[int(v.place)/k.Domain]
			at := atomic.AddUint32(&next[v.place], 1) - 1
			x.Terms[2*at], x.Terms[2*at+1] = v.factor, v.wire
		}
	})
}

// first keeps the error of the lowest index.
type first struct {
	mu  sync.Mutex
	at  int
	err error
}

// set records an error at an index.
func (f *first) set(at int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || at < f.at {
		f.at, f.err = at, err
	}
}

// Contributions returns how many contributions a key has, and false if it does not say so.
func (k *Key) Contributions() (int, bool) {
	const hash = 64 // of the circuit, before the number
	b, err := k.start(keyContributions, hash+4)
	if err != nil {
		return 0, false
	}
	return int(binary.LittleEndian.Uint32(b[hash:])), true
}
