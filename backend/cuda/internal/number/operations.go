package number

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/gf2"
	kernel "github.com/pippin-zk/pippin/kernels/grid/number"
)

// operation queues one operation.
func (x *queue) operation(s *Step) error {
	of := func(b backend.Batch) batch { return batch{words: b.Words, count: b.Count} }
	dst, a, b, m, carry := of(s.Dst), of(s.A), of(s.B), of(s.M), of(s.Carry)
	dst.at, a.at, b.at, m.at, carry.at = s.At.Dst, s.At.A, s.At.B, s.At.M, s.At.Carry
	switch s.Op {
	case backend.NumSum:
		return x.sum(dst, a)
	case backend.NumDot:
		return x.dot(dst, a, b)
	case backend.NumDotMod:
		return x.dotMod(dst, a, b, m)
	case backend.NumPowerSums:
		return x.powerSums(dst, a, m)
	}
	if dst.count == 0 {
		return nil
	}
	if err := x.pace(dst.words * dst.count / 4); err != nil {
		return err
	}
	switch s.Op {
	case backend.NumResize:
		return x.copyTo(dst, a)
	case backend.NumAdd, backend.NumSub:
		return x.added(dst, a, b, carry, s.Op == backend.NumSub)
	case backend.NumCompare:
		return x.compared(dst, a, b)
	case backend.NumMul:
		return x.product(dst, a, b)
	case backend.NumSqr:
		return x.product(dst, a, a)
	case backend.NumAddMod:
		return x.residues(kernel.NumberAdd, dst, a, b, m, 0)
	case backend.NumSubMod:
		return x.residues(kernel.NumberSub, dst, a, b, m, 0)
	case backend.NumReduce:
		return x.residues(kernel.NumberReduce, dst, a, batch{}, m, 0)
	case backend.NumMulMod:
		return x.residues(kernel.NumberMul, dst, a, b, m, 0)
	case backend.NumMontMul:
		return x.residues(kernel.NumberMontgomery, dst, a, b, m, 0)
	case backend.NumMontSqr:
		return x.residues(kernel.NumberMontgomery, dst, a, batch{}, m, 0)
	case backend.NumToMont:
		return x.residues(kernel.NumberToMontgomery, dst, a, batch{}, m, 0)
	case backend.NumFromMont:
		return x.residues(kernel.NumberFromMontgomery, dst, a, batch{}, m, 0)
	case backend.NumInvMod:
		return x.inverses(dst, a, m)
	case backend.NumExpMod:
		return x.powered(dst, a, b, m)
	case backend.NumGFAdd:
		return launch(x, &x.binaryAdd, dst.words*dst.count, kernel.BinaryAdd{
			A: a.at, AStep: a.step(), B: b.at, BStep: b.step(), R: dst.at, Length: dst.words, Degree: s.Degree, N: dst.count, Bad: x.Refused,
		})
	case backend.NumGFMul:
		return x.binary(kernel.NumberBinaryMul, s.Degree, dst, a, b)
	case backend.NumGFSqr:
		return x.binary(kernel.NumberBinarySqr, s.Degree, dst, a, batch{})
	case backend.NumGFInv:
		return x.binary(kernel.NumberBinaryInverse, s.Degree, dst, a, batch{})
	}
	return fmt.Errorf("%w: no operation %v on the card, but %v", backend.ErrUnsupported, s.Op, backend.NumberOps())
}

// added queues sums or differences. If carry is given, it gets the carries or borrows.
func (x *queue) added(dst, a, b, carry batch, subtract bool) error {
	a, err := x.plain(a, dst.count)
	if err != nil {
		return err
	}
	if b, err = x.plain(b, dst.count); err != nil {
		return err
	}
	if carry.words == 0 {
		carry = x.take(1, dst.count)
	}
	n := dst.words * dst.count
	tiles := (n + kernel.LongTile - 1) / kernel.LongTile
	states := x.take(1, (tiles+3)/4*4) // they are read four at a time
	if err := x.zero(states); err != nil {
		return err
	}
	return x.into(dst, func(dst batch) error {
		return shaped(x, &x.add, tiles, x.add.Threads, 0, kernel.LongAdd{
			A: a.at, B: b.at, R: dst.at, N: n, Length: dst.words, Subtract: subtract, Carries: carry.at, States: states.at,
		})
	})
}

// mostBorrowed is the most words of numbers that are compared by differences. Wider numbers have a
// warp each, which for numbers of one word takes four times as long.
const mostBorrowed = 4

// compared queues comparisons.
func (x *queue) compared(dst, a, b batch) error {
	if a.words <= mostBorrowed {
		return x.borrowed(dst, a, b)
	}
	parts := (a.words + kernel.CompareTile - 1) / kernel.CompareTile
	verdicts := dst
	if parts > 1 {
		verdicts = x.take(parts, dst.count)
	}
	const warp = 32 // threads
	err := launch(x, &x.compare, warp*parts*dst.count, kernel.WordsCompare{
		A: a.at, AStep: a.step(), B: b.at, BStep: b.step(), Length: a.words, Verdicts: verdicts.at, N: dst.count,
	})
	if err != nil || parts == 1 {
		return err
	}
	return launch(x, &x.verdict, warp*dst.count, kernel.WordsVerdict{Verdicts: verdicts.at, Parts: parts, R: dst.at, N: dst.count})
}

// borrowed queues comparisons: the borrow of b - a minus the borrow of a - b.
func (x *queue) borrowed(dst, a, b batch) error {
	return x.chunks(dst.count, 4*mostBorrowed, func(from, n int) error {
		a, b := a.from(from, n), b.from(from, n)
		rest, above, below := x.take(a.words, n), x.take(1, n), x.take(1, n)
		if err := x.added(rest, b, a, above, true); err != nil {
			return err
		}
		if err := x.added(rest, a, b, below, true); err != nil {
			return err
		}
		return x.added(part(dst, from, n), above, below, batch{}, true)
	})
}

// product queues whole products.
func (x *queue) product(dst, a, b batch) error {
	if a.words == b.words {
		n, err := x.narrow(a.words)
		if err != nil {
			return err
		}
		if n != nil {
			if err := x.straight(&a, &b); err != nil {
				return err
			}
			return x.into(dst, func(dst batch) error {
				return launch(x, &n.mul, dst.count, kernel.NarrowMul{A: a.at, AStep: a.step(), B: b.at, BStep: b.step(), R: dst.at, N: dst.count})
			})
		}
	}
	return wide(x, &x.mul, dst.count, dst.words, sharedFor(kernel.WideProducts, dst.words), kernel.WideMul{
		A: a.at, AWords: a.words, AStep: a.step(), B: b.at, BWords: b.words, BStep: b.step(), R: dst.at, N: dst.count,
	})
}

// residues queues an operation modulo numbers. element is the number of the first element, for what
// is refused.
func (x *queue) residues(op int, dst, a, b, m batch, element int) error {
	k, err := x.held(dst.words, x.engines[dst.words].residues)
	if err != nil {
		return err
	}
	factor := op == kernel.NumberMul || op == kernel.NumberToMontgomery
	// If each element has another modulus, preparing the modulus is most of the cost of a product.
	// Registers would gain little then, so a block computes it.
	if k != nil && op != kernel.NumberReduce && !(factor && m.count > 1) {
		return x.heldResidues(k, op, factor, dst, a, b, m, element)
	}
	return x.wideResidues(op, dst, a, b, m, element)
}

// heldResidues queues residues in registers, one thread or several for each number.
func (x *queue) heldResidues(k *held, op int, factor bool, dst, a, b, m batch, element int) error {
	if err := x.straight(&a, &b, &m); err != nil {
		return err
	}
	var factors batch
	if factor {
		var err error
		if factors, err = x.factors(m, element); err != nil {
			return err
		}
	}
	return x.into(dst, func(dst batch) error {
		return k.residues(x, dst.count, kernel.NarrowResidue{
			Op: op, A: a.at, AStep: a.step(), B: b.at, BStep: b.step(), Moduli: m.at, ModulusStep: m.step(), Factors: factors.at,
			R: dst.at, N: dst.count, Element: element, Bad: x.Refused,
		})
	})
}

// factors queues R^2 modulo each number, where R = 2^(32 words): it multiplies 1 by R, and the
// result by R.
func (x *queue) factors(m batch, element int) (batch, error) {
	once, twice := x.take(m.words, m.count), x.take(m.words, m.count)
	if err := x.wideResidues(kernel.NumberToMontgomery, once, batch{}, batch{}, m, element); err != nil {
		return batch{}, err
	}
	return twice, x.wideResidues(kernel.NumberToMontgomery, twice, once, batch{}, m, element)
}

// wideResidues queues residues, one block for each number.
func (x *queue) wideResidues(op int, dst, a, b, m batch, element int) error {
	return wide(x, &x.residue, dst.count, dst.words, sharedFor(kernel.WideArrays, dst.words), kernel.WideResidue{
		Op: op, A: a.at, AWords: a.words, AStep: a.step(), B: b.at, BStep: b.step(), Moduli: m.at, ModulusStep: m.step(),
		R: dst.at, Length: dst.words, N: dst.count, Element: element, Bad: x.Refused,
	})
}

// inverses queues inverses modulo numbers. It puts few into a launch, so that a cancelled program
// ends soon.
func (x *queue) inverses(dst, a, m batch) error {
	each := x.info.Multiprocessors * max(1, backend.MaxNumber/dst.words)
	// A batch of division steps takes four sums of two products and a multiple, and the steps
	// themselves, which one thread may compute.
	batches, products := 3.2*float64(dst.words), 12*float64(dst.words)+1<<12
	for from := 0; from < dst.count; from += each {
		n := min(each, dst.count-from)
		if err := x.wideResidues(kernel.NumberInverse, part(dst, from, n), a.from(from, n), batch{}, m.from(from, n), from); err != nil {
			return err
		}
		if err := x.pace(int(batches * products * float64(n) / perElement)); err != nil {
			return err
		}
	}
	return nil
}

// binary queues an operation in GF(2^degree).
func (x *queue) binary(op, degree int, dst, a, b batch) error {
	f, err := x.field(degree)
	if err != nil {
		return err
	}
	if f == nil {
		taps := gf2.New(degree).Taps()
		s, err := x.short(dst.words)
		if err != nil {
			return err
		}
		if s != nil && 2*taps[0] <= degree+1 && taps[0] < 64*((dst.words+3)/4) {
			return x.shortBinary(s, op, degree, taps, dst, a, b)
		}
		if len(taps) == 1 {
			taps = []int{taps[0], 1, 1} // two equal powers cancel
		}
		return wide(x, &x.wideBinary, dst.count, 2*dst.words, 4*kernel.WideElements*dst.words, kernel.WideBinary{
			Op: op, A: a.at, AStep: a.step(), B: b.at, BStep: b.step(), R: dst.at, Length: dst.words,
			Degree: degree, K3: taps[0], K2: taps[1], K1: taps[2],
			N: dst.count, Bad: x.Refused,
		})
	}
	if a, err = x.plain(a, dst.count); err != nil {
		return err
	}
	each := max(1, 4/dst.words) // of a thread
	blocks := func(threads int) int { return (dst.count + each*threads - 1) / (each * threads) }
	return x.into(dst, func(dst batch) error {
		switch op {
		case kernel.NumberBinaryMul:
			b, err := x.plain(b, dst.count)
			if err != nil {
				return err
			}
			return shaped(x, &f.mul, blocks(f.mul.Threads), f.mul.Threads, rows(2, degree, kernel.BinaryStaged),
				kernel.BinaryMul{A: a.at, B: b.at, R: dst.at, N: dst.count})
		case kernel.NumberBinarySqr:
			return shaped(x, &f.sqr, blocks(f.sqr.Threads), f.sqr.Threads, rows(1, degree, kernel.BinarySquares),
				kernel.BinarySqr{A: a.at, R: dst.at, N: dst.count})
		}
		return shaped(x, &f.inverse, blocks(f.inverse.Threads), f.inverse.Threads, rows(3, degree, kernel.BinaryStaged), kernel.BinaryInverse{
			A: a.at, R: dst.at, N: dst.count,
		})
	})
}

// shortBinary queues an operation in a GF(2^degree) whose elements fit the registers of a thread.
func (x *queue) shortBinary(s *short, op, degree int, taps []int, dst, a, b batch) error {
	if err := x.straight(&a, &b); err != nil {
		return err
	}
	tail := [2]uint64{1}
	for _, k := range taps {
		tail[k/64] |= 1 << (k % 64)
	}
	each := max(1, 4/dst.words) // of a thread
	return x.into(dst, func(dst batch) error {
		return launch(x, &s.Kernel, (dst.count+each-1)/each, kernel.ShortBinary{
			Op: op, A: a.at, AStep: a.step(), B: b.at, BStep: b.step(), R: dst.at, Degree: degree,
			Tail0: int(tail[0]), Tail1: int(tail[1]), N: dst.count, Bad: x.Refused,
		})
	})
}
