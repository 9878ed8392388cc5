package assignment

import "github.com/pippin-zk/pippin/internal/curves"

// word reads an input that fits into 64 bits.
func (w *worker[S, PS]) word(data []uint32) (v uint64, n int, ok bool, err error) {
	if n, err = w.sum(&w.input, data); err != nil {
		return 0, n, false, err
	}
	v, ok = w.small64(&w.input)
	return v, n, ok, nil
}

// small64 returns the value of an element below 2^64.
func (w *worker[S, PS]) small64(e *S) (v uint64, ok bool) {
	if i := w.bytes[byteSlot((*e)[0])]; w.small[i] == *e {
		return uint64(i), true
	}
	PS(&w.plain).Mul(e, &w.raw)
	rest := uint64(0)
	for i := 1; i < len(w.plain); i++ {
		rest |= w.plain[i]
	}
	return w.plain[0], rest == 0
}

// byteSlot returns the slot of w.bytes of an element with this lowest word: Fibonacci
// hashing, as in rows.
func byteSlot(low uint64) uint64 { return low * 0x9e3779b97f4a7c15 >> (64 - byteBits) }

// byteBits is such that few of the first 256 integers share a slot.
const byteBits = 12

// setWord gives a wire a value of 64 bits.
func (w *worker[S, PS]) setWord(wire uint32, v uint64) error {
	if v < uint64(len(w.small)) {
		return w.set(wire, &w.small[v])
	}
	PS(&w.output).SetUint64(v)
	return w.set(wire, &w.output)
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

// bitwise returns what solves an operation on the bits of two inputs.
func bitwise[S limbs, PS curves.Scalar[S]](f func(x, y uint64) uint64) func(w *worker[S, PS], c *call) (bool, error) {
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

// window returns n < 64 bits of a number from a bit on.
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
	if _, err := w.sum(&w.whole, c.data); err != nil {
		return false, err
	}
	PS(&w.pieces).Mul(&w.whole, &w.raw)
	for i := range c.to - c.from {
		if err := w.set(c.from+i, &w.small[window(&w.pieces, int(i), 1)]); err != nil {
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
	if _, err := w.sum(&w.whole, c.data[n+m:]); err != nil {
		return false, err
	}
	PS(&w.pieces).Mul(&w.whole, &w.raw)
	for i := range outputs {
		if err := w.setWord(c.from+uint32(i), window(&w.pieces, int(i*size), int(size))); err != nil {
			return false, err
		}
	}
	return true, nil
}

// inverseOrZero returns 1/x, or 0 for 0.
func (w *worker[S, PS]) inverseOrZero(c *call) (bool, error) {
	if c.n != 1 || c.to-c.from != 1 {
		return false, nil
	}
	if _, err := w.sum(&w.argument, c.data); err != nil {
		return false, err
	}
	if PS(&w.argument).IsZero() {
		return true, w.set(c.from, &w.argument)
	}
	w.divisions = append(w.divisions, division{of: ofOne, wire: c.from, data: c.data})
	return true, nil
}
