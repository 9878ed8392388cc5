package number

import (
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/number"
)

// columns are the sums of the words at one place of all numbers, for groups of numbers.
type columns struct {
	batch         // of 64-bit sums
	words, groups int
}

// columnsFor takes columns for numbers of that many words.
func (x *queue) columnsFor(words, numbers int) (columns, error) {
	const threads = 1 << 17
	groups := max(min(threads/words, numbers, 1<<10), 1)
	c := columns{x.take(2*words, groups), words, groups}
	return c, x.zero(c.batch)
}

// collect adds numbers to columns.
func (x *queue) collect(c columns, a batch) error {
	if err := launch(x, &x.columns, c.words*c.groups, kernel.WordsColumns{A: a.at, Length: c.words,
		N: a.count, Groups: c.groups, Sums: c.at}); err != nil {
		return err
	}
	return x.pace(a.words * a.count / 4)
}

// total writes the sum of all collected numbers to dst, one number.
func (x *queue) total(dst batch, c columns) error {
	low, high := x.take(dst.words, 1), x.take(dst.words, 1)
	if err := launch(x, &x.split, dst.words, kernel.WordsSplit{Sums: c.at, Length: c.words, Groups: c.groups,
		Low: low.at, High: high.at, Out: dst.words}); err != nil {
		return err
	}
	return x.added(dst, low, high, batch{}, false)
}

// totalMod queues total modulo m.
func (x *queue) totalMod(dst batch, c columns, m batch) error {
	sum := x.take(c.words+1, 1)
	if err := x.total(sum, c); err != nil {
		return err
	}
	return x.residues(kernel.NumberReduce, dst, sum, batch{}, m, 0)
}

func (x *queue) sum(dst, a batch) error {
	c, err := x.columnsFor(a.words, a.count)
	if err != nil {
		return err
	}
	if err := x.collect(c, a); err != nil {
		return err
	}
	return x.total(dst, c)
}

func (x *queue) dot(dst, a, b batch) error {
	words := a.words + b.words
	c, err := x.columnsFor(words, a.count)
	if err != nil {
		return err
	}
	err = x.chunks(a.count, 4*int64(words), func(from, n int) error {
		products := x.take(words, n)
		if err := x.product(products, part(a, from, n), part(b, from, n)); err != nil {
			return err
		}
		return x.collect(c, products)
	})
	if err != nil {
		return err
	}
	return x.total(dst, c)
}

// part returns n numbers of a batch from the number from on. A batch of one stays one number.
func part(b batch, from, n int) batch {
	b.at += kernels.Pointer(4 * b.words * from)
	b.count = n
	return b
}

func (x *queue) dotMod(dst, a, b, m batch) error {
	c, err := x.columnsFor(m.words, a.count)
	if err != nil {
		return err
	}
	err = x.chunks(a.count, 4*int64(m.words), func(from, n int) error {
		products := x.take(m.words, n)
		if err := x.residues(kernel.NumberMul, products, part(a, from, n), part(b, from, n), m, from); err != nil {
			return err
		}
		return x.collect(c, products)
	})
	if err != nil {
		return err
	}
	return x.totalMod(dst, c, m)
}

// powerSums multiplies each chunk again and again by itself.
func (x *queue) powerSums(dst, a, m batch) error {
	if err := launch(x, &x.below, a.count, kernel.WordsBelow{
		A: a.at, AStep: a.words, Moduli: m.at, Length: m.words, N: a.count, Bad: x.Refused,
	}); err != nil {
		return err
	}
	var sums []columns
	for range dst.count {
		c, err := x.columnsFor(m.words, min(a.count, 1<<6))
		if err != nil {
			return err
		}
		sums = append(sums, c)
	}
	err := x.chunks(a.count, 4*int64(m.words), func(from, n int) error {
		base, power := part(a, from, n), x.take(m.words, n)
		last := base
		for k, c := range sums {
			if k > 0 {
				if err := x.residues(kernel.NumberMul, power, last, base, m, from); err != nil {
					return err
				}
				last = power
			}
			if err := x.collect(c, last); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	used := x.used
	for k, c := range sums {
		x.free(used)
		if err := x.totalMod(part(dst, k, 1), c, m); err != nil {
			return err
		}
	}
	return nil
}
