package assignment

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"
	"github.com/pippin-zk/pippin/internal/curves"
)

// hint is a hint function of a circuit, with a way of our own to the same values where
// there is one.
type hint[S limbs, PS curves.Scalar[S]] struct {
	id      solver.HintID
	name    string
	f       solver.Hint
	library bool // of gnark's, by its name
	entry        // of one that is found in another way
	own     func(w *worker[S, PS], c *call) (done bool, err error)
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

// newHint takes our way to the values of a hint that is in our library.
func newHint[S limbs, PS curves.Scalar[S]](id solver.HintID, name string, f solver.Hint) hint[S, PS] {
	h := hint[S, PS]{id: id, name: name, f: f, library: ofLibrary(name)}
	if !Knows(f, name) {
		return h
	}
	h.entry = library[name]
	h.own = on[S, PS](h.way)
	if h.quick != nil {
		h.f = either(h.quick, f)
	}
	return h
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
		return fmt.Errorf("%w: hint %d is not in the system's list", ErrDefect, c.hint)
	}
	if h.own != nil {
		if done, err := h.own(w, c); done || err != nil {
			return err
		}
	}
	return w.integers(h, c)
}

// hintOf returns a hint of the system, or nil.
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
			return fmt.Errorf("%w: a commitment with %d outputs", ErrUnsupported, own.to-own.from)
		}
		inputs, all := make([]S, own.n), w.facts.starts(own.data, own.n)
		err := w.ranges(own.n, batch, func(w *worker[S, PS], lo, hi int) error {
			data := all.from(lo)
			for i := lo; i < hi; i++ {
				k, err := w.sum(&inputs[i], data)
				if err != nil {
					return err
				}
				data = data[k:]
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
// An error of a hint of gnark's library is for gnark's solver to tell: it has other words
// for some, and finds a constraint that does not hold before a hint that panics because of it.
func (w *worker[S, PS]) integers(h *hint[S, PS], c *call) (err error) {
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
		k, err := w.sum(&w.argument, data)
		if err != nil {
			return err
		}
		data = data[k:]
		PS(&b.plain).Mul(&w.argument, &w.raw)
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
	if err := callHint(h.name, h.f, w.q, in, out, &w.exit); err != nil {
		if h.library {
			err = fmt.Errorf("%w: %v", ErrUnsatisfied, err)
		}
		return err
	}
	for i, v := range out {
		PS(&w.argument).SetBigInt(v)
		if err := w.set(c.from+uint32(i), &w.argument); err != nil {
			return err
		}
	}
	return nil
}
