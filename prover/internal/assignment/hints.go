package assignment

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
	"strconv"

	"github.com/consensys/gnark"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"
)

// hint is a hint function of a circuit, with a way of our own to the same values where
// there is one.
type hint[S limbs, PS element[S]] struct {
	id  solver.HintID
	f   solver.Hint
	own func(w *worker[S, PS], c *call) (done bool, err error)
}

// call is what an instruction says of a call of a hint: its number of inputs, each a
// linear expression, and the wires [from, to) of its outputs.
type call struct {
	hint     solver.HintID
	n        int
	data     []uint32 // the inputs
	from, to uint32
}

// readCall reads an instruction: its length, the hint, the number of inputs, the
// inputs, the outputs.
func readCall(data []uint32) call {
	end := int(data[0]) - 2
	return call{solver.HintID(data[1]), int(data[2]), data[3:end], data[end], data[end+1]}
}

// tested are the versions of gnark whose hints have been compared with ours. Others
// may call another function by the same name.
var tested = []string{"0.16.3"}

// Knows tells whether a hint is gnark's own function of that name, in a version of gnark
// whose hints have been compared with ours.
func Knows(f solver.Hint, name string) bool {
	return slices.Contains(tested, gnark.Version.String()) && solver.GetHintName(f) == name
}

// newHint takes our way to the values of a hint that it knows.
func newHint[S limbs, PS element[S]](id solver.HintID, name string, f solver.Hint) hint[S, PS] {
	h := hint[S, PS]{id: id, f: f}
	if Knows(f, name) {
		h.own = ownHint[S, PS](name)
	}
	return h
}

const std = "github.com/consensys/gnark/std/"

// ownHint is our way to the values of gnark's hint of a name, nil without one. It does
// nothing and says so when inputs are not as gnark's circuits have them; then the hint
// itself is called.
func ownHint[S limbs, PS element[S]](name string) func(w *worker[S, PS], c *call) (bool, error) {
	type own = worker[S, PS]
	switch name {
	case std + "math/uints.xorHint":
		return bitwise[S, PS](func(x, y uint64) uint64 { return x ^ y })
	case std + "math/uints.andHint":
		return bitwise[S, PS](func(x, y uint64) uint64 { return x & y })
	case std + "math/uints.orHint":
		return bitwise[S, PS](func(x, y uint64) uint64 { return x | y })
	case std + "math/uints.toBytes":
		return (*own).toBytes
	case std + "math/bitslice.partitionHint":
		return (*own).partition
	case std + "math/bits.nBits":
		return (*own).nBits
	case std + "rangecheck.DecomposeHint":
		return (*own).decompose
	case std + "internal/logderivarg.countHint":
		return (*own).count
	case std + "internal/logderivarg.batchDivBySubHint":
		return (*own).quotients
	case "github.com/consensys/gnark/constraint/solver.InvZeroHint":
		return (*own).inverseOrZero
	}
	return nil
}

// hint computes the outputs of a call.
func (w *worker[S, PS]) hint(data []uint32) error {
	w.call = readCall(data)
	c := &w.call
	if c.hint == commitment && w.commit != nil {
		w.commits(c)
		return nil
	}
	h := w.hintOf(c.hint)
	if h == nil {
		return fmt.Errorf("%w: hint %d is not in the system's list", ErrUndecided, c.hint)
	}
	if h.own != nil {
		if done, err := h.own(w, c); done || err != nil {
			return err
		}
	}
	return w.integers(h.f, c)
}

// hintOf is a hint of the system, or nil.
func (r *run[S, PS]) hintOf(id solver.HintID) *hint[S, PS] {
	for i := range r.hints {
		if r.hints[i].id == id {
			return &r.hints[i]
		}
	}
	return nil
}

// Commit is the hint by which a circuit commits to values: it gets the commitment's
// number and the values, which are its own from then on, and says what the circuit goes
// on with.
type Commit[S any] func(inputs []S) (S, error)

// commitment is that hint's name for circuits.
var commitment = solver.GetHintID(cs.Bsb22CommitmentComputePlaceholder)

// commits reads what is committed to on all processors, since it may be as much as
// there are wires.
func (w *worker[S, PS]) commits(c *call) {
	own := *c
	w.put(func() error {
		if own.to-own.from != 1 {
			return ErrUndecided
		}
		inputs, at := make([]S, own.n), starts(own.data, own.n)
		err := w.ranges(own.n, batch, func(w *worker[S, PS], lo, hi int) error {
			for i := lo; i < hi; i++ {
				if _, err := w.sum(&inputs[i], own.data[at.of(i):]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			clear(inputs)
			return err
		}
		out, err := w.commit(inputs)
		if err != nil {
			return err
		}
		return w.workers[0].set(own.from, &out)
	})
}

// integers are the big integers that hints get, with their memory.
type integers[S limbs] struct {
	values   []big.Int
	pointers []*big.Int
	words    []big.Word
	plain    S
}

// wipe overwrites inputs and outputs of the last calls.
func (b *integers[S]) wipe() {
	for i := range b.values[:cap(b.values)] {
		v := b.values[:cap(b.values)][i].Bits()
		clear(v[:cap(v)])
	}
	clear(b.words[:cap(b.words)])
	var zero S
	b.plain = zero
}

// integers calls a hint with big integers. Integer i of a worker has the i-th part of
// its words, or storage of its own, so that outputs never share storage with inputs.
func (w *worker[S, PS]) integers(f solver.Hint, c *call) (err error) {
	b := &w.big
	var zero S
	size := len(zero) * 64 / strconv.IntSize
	outputs := int(c.to - c.from)
	if n := c.n + outputs; len(b.values) < n {
		b.wipe()
		b.values = make([]big.Int, 2*n)
		b.pointers = make([]*big.Int, 2*n)
		b.words = make([]big.Word, 2*n*size)
	}
	for i := range c.n + outputs {
		b.pointers[i] = &b.values[i] // hints may have put others there
	}
	data := c.data
	for i := range c.n {
		k, err := w.sum(&w.t, data)
		if err != nil {
			return err
		}
		data = data[k:]
		PS(&b.plain).Mul(&w.t, &w.raw)
		words := b.words[i*size : (i+1)*size : (i+1)*size]
		for j := range words {
			words[j] = big.Word(b.plain[j*strconv.IntSize/64] >> (j * strconv.IntSize % 64))
		}
		b.values[i].SetBits(words)
	}
	in, out := b.pointers[:c.n:c.n], b.pointers[c.n:c.n+outputs:c.n+outputs]
	for _, v := range out {
		v.SetUint64(0)
	}
	if err := w.called(f, in, out); err != nil {
		return err
	}
	for i, v := range out {
		PS(&w.t).SetBigInt(v)
		if err := w.set(c.from+uint32(i), &w.t); err != nil {
			return err
		}
	}
	return nil
}

// called calls a hint. A panic of it is an error.
func (w *worker[S, PS]) called(f solver.Hint, in, out []*big.Int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("hint %s panicked: %v", solver.GetHintName(f), p)
		}
	}()
	return f(w.q, in, out)
}

// word reads an input that fits into 64 bits.
func (w *worker[S, PS]) word(data []uint32) (v uint64, n int, ok bool, err error) {
	if n, err = w.sum(&w.t, data); err != nil {
		return 0, n, false, err
	}
	v, ok = w.small64(&w.t)
	return v, n, ok, nil
}

// small64 returns the value of an element below 2^64.
func (w *worker[S, PS]) small64(e *S) (v uint64, ok bool) {
	if i := w.bytes[byteSlot((*e)[0])]; w.small[i] == *e {
		return uint64(i), true
	}
	PS(&w.u).Mul(e, &w.raw)
	rest := uint64(0)
	for i := 1; i < len(w.u); i++ {
		rest |= w.u[i]
	}
	return w.u[0], rest == 0
}

// byteSlot is the slot of w.bytes of an element with this lowest word: Fibonacci
// hashing, as in rows.
func byteSlot(low uint64) uint64 { return low * 0x9e3779b97f4a7c15 >> (64 - byteBits) }

// byteBits is such that few of the first 256 integers share a slot.
const byteBits = 12

// setWord gives a wire a value of 64 bits.
func (w *worker[S, PS]) setWord(wire uint32, v uint64) error {
	if v < uint64(len(w.small)) {
		return w.set(wire, &w.small[v])
	}
	PS(&w.t).SetUint64(v)
	return w.set(wire, &w.t)
}

// words reads two inputs of 64 bits, for an output.
func (w *worker[S, PS]) words(c *call, outputs int) (x, y uint64, ok bool, err error) {
	if c.n != 2 || outputs >= 0 && int(c.to-c.from) != outputs {
		return 0, 0, false, nil
	}
	x, n, okX, err := w.word(c.data)
	if err != nil {
		return 0, 0, false, err
	}
	y, _, okY, err := w.word(c.data[n:])
	return x, y, okX && okY, err
}

// bitwise is an operation on the bits of two inputs.
func bitwise[S limbs, PS element[S]](f func(x, y uint64) uint64) func(w *worker[S, PS], c *call) (bool, error) {
	return func(w *worker[S, PS], c *call) (bool, error) {
		x, y, ok, err := w.words(c, 1)
		if !ok {
			return false, err
		}
		return true, w.setWord(c.from, f(x, y))
	}
}

// toBytes has the bytes of its second input, as many as the first says.
func (w *worker[S, PS]) toBytes(c *call) (bool, error) {
	n, v, ok, err := w.words(c, -1)
	if !ok || n != uint64(c.to-c.from) {
		return false, err
	}
	for i := range n {
		if err := w.set(c.from+uint32(i), &w.small[byte(v)]); err != nil {
			return false, err
		}
		v >>= 8
	}
	return true, nil
}

// partition has what is above and what is below a bit of its second input.
func (w *worker[S, PS]) partition(c *call) (bool, error) {
	at, v, ok, err := w.words(c, 2)
	if !ok || at >= 64 {
		return false, err
	}
	if err := w.setWord(c.from, v>>at); err != nil {
		return false, err
	}
	return true, w.setWord(c.from+1, v&(1<<at-1))
}

// window is n < 64 bits of a number from a bit on.
func window[S limbs](v *S, at, n int) uint64 {
	i, shift := at/64, at%64
	if i >= len(*v) {
		return 0
	}
	x := (*v)[i] >> shift
	if shift+n > 64 && i+1 < len(*v) {
		x |= (*v)[i+1] << (64 - shift)
	}
	return x & (1<<n - 1)
}

// nBits has the lowest bits of its input.
func (w *worker[S, PS]) nBits(c *call) (bool, error) {
	if c.n != 1 {
		return false, nil
	}
	if _, err := w.sum(&w.t, c.data); err != nil {
		return false, err
	}
	PS(&w.u).Mul(&w.t, &w.raw)
	for i := range c.to - c.from {
		if err := w.set(c.from+i, &w.small[window(&w.u, int(i), 1)]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// decompose has its third input in limbs of as many bits as the second says, the
// lowest first; the first is its length in bits.
func (w *worker[S, PS]) decompose(c *call) (bool, error) {
	if c.n != 3 {
		return false, nil
	}
	length, n, ok1, err := w.word(c.data)
	if err != nil {
		return false, err
	}
	size, m, ok2, err := w.word(c.data[n:])
	if err != nil {
		return false, err
	}
	outputs := uint64(c.to - c.from)
	if !ok1 || !ok2 || size == 0 || size >= 64 || length > 1<<16 || (length+size-1)/size != outputs {
		return false, nil
	}
	if _, err := w.sum(&w.t, c.data[n+m:]); err != nil {
		return false, err
	}
	PS(&w.v).Mul(&w.t, &w.raw)
	for i := range outputs {
		if err := w.setWord(c.from+uint32(i), window(&w.v, int(i*size), int(size))); err != nil {
			return false, err
		}
	}
	return true, nil
}

// inverseOrZero is 1/x, or 0 for 0.
func (w *worker[S, PS]) inverseOrZero(c *call) (bool, error) {
	if c.n != 1 || c.to-c.from != 1 {
		return false, nil
	}
	if _, err := w.sum(&w.t, c.data); err != nil {
		return false, err
	}
	if PS(&w.t).IsZero() {
		return true, w.set(c.from, &w.t)
	}
	w.divisions = append(w.divisions, division{of: ofOne, wire: c.from, data: c.data})
	return true, nil
}

// places says where linear expressions begin that follow each other. Most lists have
// one term each, so that nothing has to be kept.
type places []uint32

func starts(data []uint32, n int) places {
	const term = 3 // words of an expression of one term
	if len(data) >= term*n {
		i := 0
		for i < n && data[term*i] == 1 {
			i++
		}
		if i == n {
			return nil
		}
	}
	at := make(places, n)
	next := uint32(0)
	for i := range at {
		at[i] = next
		next += 1 + 2*data[next]
	}
	return at
}

func (p places) of(i int) int {
	if p == nil {
		return 3 * i
	}
	return int(p[i])
}

// batch is how many elements are a share of work over a list.
const batch = 1 << 11

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
	if !ok1 || !ok2 || rows == 0 || length == 0 || length > 8 || rows > inputs/length || inputs%length != 0 || inputs == rows*length || uint64(c.to-c.from) != rows {
		return false, nil
	}
	table := &counted{rows: int(rows), length: int(length), width: 64 / int(length), inputs: c.n - 2, data: c.data[n+m:]}
	table.at = starts(table.data, c.n-2)
	own := *c
	w.put(func() error {
		ok, err := w.counts(table, own.from)
		if ok || err != nil {
			return err
		}
		return w.workers[0].integers(w.hintOf(own.hint).f, &own)
	})
	return true, nil
}

// counted is a table that is counted.
type counted struct {
	rows, length, width int
	inputs              int // entries of rows and questions
	data                []uint32
	at                  places
}

// key is the i-th row or question as one word; ok is false when an entry does not fit.
func (w *worker[S, PS]) key(t *counted, i int) (key uint64, ok bool, err error) {
	for k := range t.length {
		v, _, fits, err := w.word(t.data[t.at.of(i*t.length+k):])
		if err != nil {
			return 0, false, err
		}
		if !fits || bits.Len64(v) > t.width {
			return 0, false, nil
		}
		key = key<<t.width | v
	}
	return key, true, nil
}

// errForeign is a row or a question that does not fit into a word, or a question that is in
// no row: the hint itself is called.
var errForeign = errors.New("assignment: not a table of words")

// counts counts on all processors.
func (w *worker[S, PS]) counts(t *counted, from uint32) (ok bool, err error) {
	keys := make([]uint64, t.rows)
	defer clear(keys)
	err = w.ranges(t.rows, batch, func(w *worker[S, PS], lo, hi int) error {
		for i := lo; i < hi; i++ {
			key, ok, err := w.key(t, i)
			if err != nil {
				return err
			}
			if !ok {
				return errForeign
			}
			keys[i] = key
		}
		return nil
	})
	if err != nil {
		return w.foreign(err)
	}
	rows := newRows(keys)
	if rows == nil {
		return false, nil // a row twice
	}
	questions := t.inputs/t.length - t.rows
	// Each worker counts for itself: there are as many counts as workers times rows.
	own := make([][]uint32, len(w.workers))
	err = w.ranges(questions, batch, func(v *worker[S, PS], lo, hi int) error {
		me := slices.Index(w.workers, v)
		if own[me] == nil {
			own[me] = make([]uint32, t.rows)
		}
		for i := lo; i < hi; i++ {
			key, ok, err := v.key(t, t.rows+i)
			if err != nil {
				return err
			}
			row := rows.find(key)
			if !ok || row < 0 {
				return errForeign
			}
			own[me][row]++
		}
		return nil
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

// rows finds the number of a row by its key: the slots of a hash table with room for
// twice as many and more, which is probed in order. An empty slot is -1.
type rows struct {
	keys  []uint64
	slots []int32
	shift int
}

// newRows is nil when two keys are equal.
func newRows(keys []uint64) *rows {
	size := nextPowerOfTwo(2 * len(keys))
	r := &rows{keys, make([]int32, size), 64 - bits.Len(uint(size-1))}
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

// hash is Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
func (r *rows) hash(k uint64) int { return int(k * 0x9e3779b97f4a7c15 >> r.shift) }

// find is -1 for a key that no row has.
func (r *rows) find(k uint64) int32 {
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

// quotients has n_i / (x - t_i): its inputs are x, all n_i, and all t_i. A zero divisor is left to
// the hint, which says so.
func (w *worker[S, PS]) quotients(c *call) (bool, error) {
	n := int(c.to - c.from)
	if c.n != 1+2*n {
		return false, nil
	}
	own := *c
	w.put(func() error {
		data := own.data
		at := starts(data, own.n)
		var x S
		first := w.workers[0]
		if _, err := first.sum(&first.t, data); err != nil {
			return err
		}
		x = first.t
		return w.ranges(n, batch, func(w *worker[S, PS], lo, hi int) error {
			return w.invertAll(lo, hi, func(i int, to *S) error {
				if _, err := w.sum(&w.t, data[at.of(1+n+i):]); err != nil {
					return err
				}
				w.u = x
				if PS(to).Sub(&w.u, &w.t); PS(to).IsZero() {
					return errUnsatisfied
				}
				return nil
			}, func(i int, inverse *S) error {
				if _, err := w.sum(&w.t, data[at.of(1+i):]); err != nil {
					return err
				}
				PS(&w.t).Mul(&w.t, inverse)
				return w.set(own.from+uint32(i), &w.t)
			})
		})
	})
	return true, nil
}

// inverses is a blueprint's list of inverses, 0 for 0: data is its length, the number of them, and linear
// expressions.
func (w *worker[S, PS]) inverses(data []uint32, from uint32) error {
	n := int(data[1])
	at := starts(data[2:], n)
	one := func(w *worker[S, PS], lo, hi int) error {
		return w.invertAll(lo, hi, func(i int, to *S) error {
			_, err := w.sum(to, data[2+at.of(i):])
			return err
		}, func(i int, inverse *S) error { return w.set(from+uint32(i), inverse) })
	}
	if n <= batch {
		return one(w, 0, n)
	}
	w.put(func() error { return w.ranges(n, batch, one) })
	return nil
}

// invertAll gives the inverses of what get says for lo <= i < hi to set, 0 for 0, with
// one inversion. Both may use t and u.
func (w *worker[S, PS]) invertAll(lo, hi int, get, set func(i int, x *S) error) error {
	n := hi - lo
	if cap(w.prefix) < 2*n {
		clear(w.prefix[:cap(w.prefix)])
		w.prefix = make([]S, 2*n)
	}
	values, prefix := w.prefix[:n], w.prefix[n:2*n:2*n]
	w.v = w.small[1]
	for i := range values {
		if err := get(lo+i, &values[i]); err != nil {
			return err
		}
		prefix[i] = w.v
		if !PS(&values[i]).IsZero() {
			PS(&w.v).Mul(&w.v, &values[i])
		}
	}
	PS(&w.v).Inverse(&w.v)
	for i := n - 1; i >= 0; i-- {
		if PS(&values[i]).IsZero() {
			if err := set(lo+i, &values[i]); err != nil {
				return err
			}
			continue
		}
		PS(&prefix[i]).Mul(&prefix[i], &w.v)
		PS(&w.v).Mul(&w.v, &values[i])
		if err := set(lo+i, &prefix[i]); err != nil {
			return err
		}
	}
	return nil
}

// table is a lookup table: linear expressions, one an entry.
type table struct {
	entries int
	data    []uint32
	at      places
}

func newTable(data []uint32) *table {
	n := 0
	for i := 0; i < len(data); i += 1 + 2*int(data[i]) {
		n++
	}
	return &table{n, data, starts(data, n)}
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
			return errUnsatisfied
		}
		if _, err := w.sum(&w.t, t.data[t.at.of(int(entry)):]); err != nil {
			return err
		}
		if err := w.set(from+i, &w.t); err != nil {
			return err
		}
	}
	return nil
}
