package assignment

import (
	"errors"
	"math/bits"
	"slices"
)

// count counts how often each row of a table is asked for: its inputs are the number
// of rows, their length, the rows, and the questions, each of a row's length. Rows are
// told apart by one word, into which the entries must fit.
func (w *worker[S, PS]) count(c *call) (bool, error) {
	rows, n, ok1, err := w.word(c.data)
	if err != nil {
		return false, err
	}
	length, m, ok2, err := w.word(c.data[n:])
	if err != nil {
		return false, err
	}
	inputs := uint64(c.n - 2)
	if !ok1 || !ok2 || rows == 0 || length == 0 || length > 8 || rows > inputs/length || inputs%length != 0 ||
		inputs == rows*length || uint64(c.to-c.from) != rows {
		return false, nil
	}
	table := &counted{rows: int(rows), length: int(length), width: 64 / int(length), inputs: c.n - 2}
	table.all = w.facts.starts(c.data[n+m:], c.n-2)
	own := *c
	w.put(func() error {
		ok, err := w.counts(table, own.from)
		if ok || err != nil {
			return err
		}
		return w.workers[0].integers(w.hintOf(own.hint), &own)
	})
	return true, nil
}

// counted is a table that is counted.
type counted struct {
	rows, length, width int
	inputs              int // entries of rows and questions
	all                 places
}

// keys reads rows or questions lo to hi-1 and hands each to f as one word. It returns
// errForeign when an entry does not fit.
func (w *worker[S, PS]) keys(t *counted, lo, hi int, f func(i int, key uint64) error) error {
	data, p := t.all.from(lo*t.length), &w.factors
	for lo < hi {
		n := min(together/t.length, hi-lo)
		for i := range n * t.length {
			k, err := w.sum(&p.a[i], data)
			if err != nil {
				return err
			}
			p.b[i], data = w.raw, data[k:]
		}
		m := n * t.length
		w.multiplyAll(p.c[:m], p.a[:m], p.b[:m]) // not in Montgomery form any more
		for i := range n {
			key := uint64(0)
			for k := range t.length {
				v := &p.c[i*t.length+k]
				rest := (*v)[0] >> (t.width - 1) >> 1
				for j := 1; j < len(*v); j++ {
					rest |= (*v)[j]
				}
				if rest != 0 {
					return errForeign
				}
				key = key<<t.width | (*v)[0]
			}
			if err := f(lo+i, key); err != nil {
				return err
			}
		}
		lo += n
	}
	return nil
}

// errForeign is a row or a question that does not fit into a word, or a question that is in
// no row: the hint itself is called.
var errForeign = errors.New("assignment: not a table of words")

// counts counts on all processors.
func (w *worker[S, PS]) counts(t *counted, from uint32) (ok bool, err error) {
	rows, err := w.rowsOf(t)
	if err != nil {
		return w.foreign(err)
	}
	if rows == nil {
		return false, nil // a row twice
	}
	defer rows.wipe()
	questions := t.inputs/t.length - t.rows
	// Each worker counts for itself: there are as many counts as workers times rows.
	own := make([][]uint32, len(w.workers))
	err = w.ranges(questions, batch, func(v *worker[S, PS], lo, hi int) error {
		me := slices.Index(w.workers, v)
		if own[me] == nil {
			own[me] = make([]uint32, t.rows)
		}
		counts := own[me]
		return v.keys(t, t.rows+lo, t.rows+hi, func(_ int, key uint64) error {
			row := rows.find(key)
			if row < 0 {
				return errForeign
			}
			counts[row]++
			return nil
		})
	})
	defer func() {
		for _, c := range own {
			clear(c)
		}
	}()
	if err != nil {
		return w.foreign(err)
	}
	return true, w.ranges(t.rows, batch, func(w *worker[S, PS], lo, hi int) error {
		for i := lo; i < hi; i++ {
			n := uint64(0)
			for _, c := range own {
				if c != nil {
					n += uint64(c[i])
				}
			}
			if err := w.setWord(from+uint32(i), n); err != nil {
				return err
			}
		}
		return nil
	})
}

// rowsOf returns the rows of a table, nil when there is one twice. Those of a table of
// constants are kept with the system.
func (w *worker[S, PS]) rowsOf(t *counted) (*rows, error) {
	first := &t.all.data[0]
	if r, ok := w.facts.tables.Load(first); ok {
		return r.(*rows), nil
	}
	keys := make([]uint64, t.rows)
	err := w.ranges(t.rows, batch, func(w *worker[S, PS], lo, hi int) error {
		return w.keys(t, lo, hi, func(i int, key uint64) error {
			keys[i] = key
			return nil
		})
	})
	if err != nil {
		clear(keys)
		return nil, err
	}
	r := newRows(keys)
	if r == nil {
		clear(keys)
		return nil, nil
	}
	if r.kept = constants(t.all.from(0), t.rows*t.length); r.kept {
		w.facts.tables.Store(first, r)
	}
	return r, nil
}

// constants reports whether n linear expressions have no wires.
func constants(data []uint32, n int) bool {
	for range n {
		end := 1 + 2*int(data[0])
		for i := 2; i < end; i += 2 {
			if data[i] != constant {
				return false
			}
		}
		data = data[end:]
	}
	return true
}

// rows finds the number of a row by its key: the slots of a hash table with room for
// twice as many and more, which is probed in order. An empty slot is -1. Without slots each
// row's number is its key.
type rows struct {
	keys  []uint64
	slots []int32
	shift int
	kept  bool
}

// wipe overwrites rows that are not kept.
func (r *rows) wipe() {
	if !r.kept {
		clear(r.keys)
		clear(r.slots)
	}
}

// newRows makes rows, nil when two keys are equal.
func newRows(keys []uint64) *rows {
	if numbered(keys) {
		return &rows{keys: keys}
	}
	size := 1 << bits.Len(uint(max(2*len(keys), 1)-1))
	r := &rows{keys: keys, slots: make([]int32, size), shift: 64 - bits.Len(uint(size-1))}
	for i := range r.slots {
		r.slots[i] = -1
	}
	for i, k := range keys {
		at := r.hash(k)
		for r.slots[at] >= 0 {
			if keys[r.slots[at]] == k {
				return nil
			}
			at = (at + 1) & (size - 1)
		}
		r.slots[at] = int32(i)
	}
	return r
}

// numbered reports whether the keys are 0, 1, 2, and so on, as those of range checks are.
func numbered(keys []uint64) bool {
	for i, k := range keys {
		if k != uint64(i) {
			return false
		}
	}
	return true
}

// hash does Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
func (r *rows) hash(k uint64) int { return int(k * 0x9e3779b97f4a7c15 >> r.shift) }

// find returns the row of a key, -1 when none has it.
func (r *rows) find(k uint64) int32 {
	if r.slots == nil {
		if k < uint64(len(r.keys)) {
			return int32(k)
		}
		return -1
	}
	for at := r.hash(k); ; at = (at + 1) & (len(r.slots) - 1) {
		i := r.slots[at]
		if i < 0 || r.keys[i] == k {
			return i
		}
	}
}

// foreign clears an error that only means that the hint has to be called.
func (w *worker[S, PS]) foreign(err error) (bool, error) {
	if !errors.Is(err, errForeign) {
		return false, err
	}
	return false, nil
}

// table is a lookup table: linear expressions, one an entry.
type table struct {
	entries int
	all     places
}

func newTable(data []uint32) *table {
	n := 0
	for i := 0; i < len(data); i += 1 + 2*int(data[i]) {
		n++
	}
	return &table{n, starts(data, n, 1)}
}

// lookup sets wires to entries: data is its length, the number of entries that there
// were when it was made, the number of questions, and linear expressions for the
// entries' numbers.
func (w *worker[S, PS]) lookup(t *table, data []uint32, from uint32) error {
	entries, n := uint64(data[1]), data[2]
	data = data[3:]
	for i := range n {
		entry, k, ok, err := w.word(data)
		if err != nil {
			return err
		}
		data = data[k:]
		if !ok || entry >= entries || entry >= uint64(t.entries) {
			return ErrUnsatisfied
		}
		if _, err := w.sum(&w.entry, t.all.from(int(entry))); err != nil {
			return err
		}
		if err := w.set(from+i, &w.entry); err != nil {
			return err
		}
	}
	return nil
}
