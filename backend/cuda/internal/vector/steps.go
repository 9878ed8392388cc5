package vector

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/ntt"
	"github.com/pippin-zk/pippin/backend/cuda/internal/number"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/vector"
)

// step plans the next step, number i, and perhaps some that follow.
func (p *program) step(i int) error {
	switch s := p.steps[i].(type) {
	case nil:
		p.queue(nil)
	case backend.Write:
		if p.kindOf(s.Dst) == backend.Points {
			return p.writePoints(i, s)
		}
		p.write(i, s)
	case backend.WriteIndices:
		p.uploaded(s.Dst, backend.Input{Bytes: layout.Bytes(s.Indices)})
	case backend.Read:
		if s.Encoding != backend.AsInSpaces {
			return p.encoded(i, s)
		}
		p.read(i, s)
	case backend.Gather:
		p.gathered(i, s)
	case backend.SparseProduct:
		p.sparseProduct(i, s)
	case backend.Transform:
		if p.kindOf(s.Dst) == backend.Points {
			return p.transformPoints(i, s)
		}
		p.transform(i, s)
	case backend.MultiplyPoints:
		return p.multiplyPoints(i, s)
	case backend.AddPoints:
		return p.addPoints(i, s)
	case backend.CheckPoints:
		return p.checkPoints(i, s)
	case backend.Map:
		p.mapOf(i, s)
	case backend.Powers:
		return p.powersFrom(i, s)
	case backend.Invert:
		p.inverted(i, s)
	case backend.Products:
		p.products(i, s)
	case backend.Evaluate:
		return p.evaluated(i, s)
	case backend.Divide:
		return p.divided(i, s)
	case backend.Job:
		p.committed(i, s)
	case backend.Compute:
		return p.computed(i, s)
	}
	return nil
}

// queue makes the execution call f in the step's turn.
func (p *program) queue(f func(ctx context.Context, x *execution) error) {
	p.queues = append(p.queues, f)
}

// launch makes the execution call f when step i may touch its ranges.
func (p *program) launch(i int, f func(x *execution, s *driver.Stream) error) {
	touched := ranges(p.steps[i])
	p.queue(func(_ context.Context, x *execution) error {
		if err := x.touch(touched); err != nil {
			return err
		}
		return f(x, x.turn.Compute)
	})
}

func (p *program) uploaded(to backend.Range, in backend.Input) {
	p.queue(func(ctx context.Context, x *execution) error { return x.upload(ctx, to, in) })
}

func (p *program) write(i int, s backend.Write) {
	if !s.Check || p.numbers != nil {
		p.uploaded(s.Dst, s.Input)
		return
	}
	bad := p.refusal(i, "element %d is not below the order of %v", p.curve)
	p.queue(func(ctx context.Context, x *execution) error {
		if err := x.upload(ctx, s.Dst, s.Input); err != nil {
			return err
		}
		if err := x.touch([]backend.Range{s.Dst}); err != nil {
			return err
		}
		return p.below.Launch(x.turn.Compute, s.Dst.Count, 1, kernel.Below{Src: p.at(s.Dst), N: s.Dst.Count, Bad: x.inAnswers(bad)})
	})
}

// few is the size in bytes up to which a read comes back with the answers.
const few = 1 << 16

// read plans a read. Few elements come back with the answers, many at once.
func (p *program) read(i int, s backend.Read) {
	size := int64(s.Src.Count) * p.bytesOf(s.Src)
	if size <= few {
		at := p.answer(i, size)
		p.launch(i, func(x *execution, on *driver.Stream) error {
			return on.Copy(x.answersAt.In(x.work).Slice(at, size), p.span(s.Src))
		})
		return
	}
	b := answerBytes(size)
	p.launch(i, func(x *execution, on *driver.Stream) error { return on.Read(b, p.span(s.Src)) })
	p.finish[i] = func(*execution) ([]byte, error) { return b, nil }
}

func (p *program) gathered(i int, s backend.Gather) {
	bad := p.refusal(i, "index %d is not below %d", s.Src.Count)
	p.launch(i, func(x *execution, on *driver.Stream) error {
		quads := s.Dst.Count * int(p.size) / 16
		return p.gather.Launch(on, quads, 1, kernel.Gather{
			Src: p.at(s.Src), Count: s.Src.Count, Index: p.at(s.Index), Dst: p.at(s.Dst), N: s.Dst.Count, Bad: x.inAnswers(bad),
		})
	})
}

// sparseLevel is the sums that one level of a sparse product leaves to the next: two for each tile,
// in scratch.
type sparseLevel struct {
	n          int
	rows, sums int64
}

// sparseLevels returns what the levels of a sparse product of n entries leave to the next, until one
// tile is left.
func (p *program) sparseLevels(n int) (all []sparseLevel) {
	end := int64(0)
	for tiles(n) > 1 {
		n = 2 * tiles(n)
		l := sparseLevel{n: n, rows: end}
		l.sums = (end + 4*int64(n) + align - 1) / align * align
		end = l.sums + int64(n)*p.size
		all = append(all, l)
	}
	p.needs(end)
	return all
}

// sparseProduct plans step i.
func (p *program) sparseProduct(i int, s backend.SparseProduct) {
	bad := p.refusal(i, "entry %d is not one of %d rows, %d columns and %d values, or its row is below the one before",
		s.Dst.Count, s.Src.Count, s.Values.Count)
	levels := p.sparseLevels(s.Entries)
	l := kernel.SparseProduct{
		Rows: p.at(s.Rows), Columns: p.at(s.Columns), Factors: p.at(s.Factors), N: s.Entries, Src: p.at(s.Src), Count: s.Src.Count,
		Dst: p.at(s.Dst), Height: s.Dst.Count,
	}
	if s.Values != (backend.Range{}) {
		l.Values, l.Different = p.at(s.Values), s.Values.Count
	}
	p.launch(i, func(x *execution, on *driver.Stream) error {
		x.queued += s.Dst.Count/4 + s.Entries
		if err := on.Fill(p.span(s.Dst), 0); err != nil || s.Entries == 0 {
			return err
		}
		l := l
		l.Bad = x.inAnswers(bad)
		for _, next := range levels {
			l.NextRows, l.NextSums = x.scratchFrom(next.rows), x.scratchFrom(next.sums)
			if err := p.sparse.Launch(on, tiles(l.N)*p.sparse.Threads, 1, l); err != nil {
				return err
			}
			l.Rows, l.Columns, l.Factors, l.N, l.Src = l.NextRows, 0, 0, next.n, l.NextSums
		}
		l.NextRows, l.NextSums = 0, 0
		return p.sparse.Launch(on, tiles(l.N)*p.sparse.Threads, 1, l)
	})
}

// Bounds of the tables that transforms keep: elements, and bytes for shifts.
const (
	mostRoots   = 9 << 20
	shiftTables = 64 << 20
)

func (p *program) transform(i int, s backend.Transform) {
	batch := max(s.Batch, 1)
	n := s.Dst.Count / batch
	t := ntt.Transform{LogN: bits.TrailingZeros(uint(n)), Inverse: s.Inverse, From: s.From, To: s.To, Shift: s.Shift}
	if given := s.Src.Count / batch; given < n {
		t.Given = given
	}
	p.roots = max(p.roots, int64(min(n, mostRoots))*p.size+shiftTables)
	p.launch(i, func(x *execution, _ *driver.Stream) error {
		x.queued += 4 * s.Dst.Count
		return p.ntt.Queue(x.turn, p.span(s.Dst), p.span(s.Src), t)
	})
}

func (p *program) mapOf(i int, s backend.Map) {
	m := p.mapCode(&s, func(r backend.Range) uint64 { return uint64(p.at(r)) })
	at, constants := p.put(m.bytes), p.put(s.Constants)
	p.launch(i, func(x *execution, on *driver.Stream) error {
		if s.Count == 0 {
			return nil
		}
		// As many blocks as run at the same time: each reads the code once.
		shared := p.mapShared(len(m.bytes), m.slots)
		resident, err := p.mapped.Occupancy(p.mapped.Threads, shared)
		if err != nil {
			return err
		}
		each := p.mapped.Threads * p.mapEach()
		blocks := min((s.Count+each-1)/each, x.dev.Info().Multiprocessors*resident)
		return p.mapped.LaunchShaped(on, driver.Launch{
			Grid: driver.Dim{X: blocks}, Block: driver.Dim{X: p.mapped.Threads}, Shared: shared,
		}, kernel.Map{
			Program: x.inFrame(at), Size: len(m.bytes) / 4, Instructions: m.instructions, Codes: m.codes,
			Constants: x.inFrame(constants), Count: s.Count,
		})
	})
}

func (p *program) powersFrom(i int, s backend.Powers) error {
	ratio, err := p.powersOf(s.Ratio)
	if err != nil {
		return err
	}
	first := p.put(s.First)
	p.launch(i, func(x *execution, on *driver.Stream) error {
		return x.sequenceTo(on, first, ratio, p.at(s.Dst), s.Dst.Count)
	})
	return nil
}

// sequenceTo queues n elements: first times the powers of the ratio whose table is in the frame.
func (x *execution) sequenceTo(on *driver.Stream, first, ratio int, to kernels.Pointer, n int) error {
	if n == 0 {
		return nil
	}
	// As many threads as keep a card busy, provided that each has some elements, since its first
	// element costs more than the others.
	logThreads := min(max(bits.Len(uint(n))-5, 7), 17)
	return x.sequence.Launch(on, 1<<logThreads, 1, kernel.Sequence{
		First: x.inFrame(first), Table: x.inFrame(ratio), LogThreads: logThreads, Dst: to, N: n,
	})
}

// inverted plans step i. The elements of a thread share an inversion. A short vector has few for
// each thread, so that there are blocks for the whole card; a long one has up to 32.
func (p *program) inverted(i int, s backend.Invert) {
	const most = 1 << 13 // each block does several tiles, at that distance
	n := s.Src.Count
	each := min(max(n>>16, 8), 32)
	inPlace := s.Src == s.Dst
	if inPlace {
		p.needs(int64(n) * p.size)
	}
	p.launch(i, func(x *execution, on *driver.Stream) error {
		before := p.at(s.Dst)
		if inPlace {
			before = x.scratchFrom(0)
		}
		tile := each * p.invert.Threads
		return p.invert.Launch(on, min((n+tile-1)/tile, most)*p.invert.Threads, 1, kernel.Invert{
			In: p.at(s.Src), Out: p.at(s.Dst), Before: before, N: n, Each: each,
		})
	})
}

// level is one level of a scan: its elements, and what threads keep of them while they reduce them,
// which the last level does not do. Both are in scratch, except for the elements of the first
// level.
type level struct {
	n           int
	from, parts int64
}

// levels returns the levels of a scan: the elements, then a value for each tile of the level
// before, until there is one tile.
func (p *program) levels(n int) []level {
	ls := []level{{n: n}}
	end := int64(0)
	for n > 1<<kernel.LogScanTile {
		n = tiles(n)
		ls[len(ls)-1].parts = end
		end += int64(n) * kernel.ScanThreads * p.size
		ls = append(ls, level{n: n, from: end})
		end += int64(n) * p.size
	}
	p.needs(end)
	return ls
}

func tiles(n int) int { return (n + 1<<kernel.LogScanTile - 1) >> kernel.LogScanTile }

// scan reduces every level except the last to the next one, and then scans every level after the
// one above it. before is the values that come before its tiles. src is the first level.
func scan(x *execution, ls []level, src kernels.Pointer, reduce func(k int, in, parts, out kernels.Pointer) error,
	tiles func(k int, in, parts, before kernels.Pointer) error) error {
	at := func(k int) kernels.Pointer {
		if k == 0 {
			return src
		}
		return x.scratchFrom(ls[k].from)
	}
	for k := range len(ls) - 1 {
		if err := reduce(k, at(k), x.scratchFrom(ls[k].parts), at(k+1)); err != nil {
			return err
		}
	}
	before, parts := kernels.Pointer(0), kernels.Pointer(0)
	for k := len(ls) - 1; k >= 0; k-- {
		if err := tiles(k, at(k), parts, before); err != nil {
			return err
		}
		before = at(k)
		if k > 0 {
			parts = x.scratchFrom(ls[k-1].parts)
		}
	}
	return nil
}

func (p *program) products(i int, s backend.Products) {
	if s.Src.Count == 0 {
		p.launch(i, func(*execution, *driver.Stream) error { return nil })
		p.finish[i] = func(*execution) ([]byte, error) { return oneOf(p.curve), nil }
		return
	}
	all, ls := p.answer(i, p.size), p.levels(s.Src.Count)
	p.launch(i, func(x *execution, on *driver.Stream) error {
		return scan(x, ls, p.at(s.Src), func(k int, in, parts, out kernels.Pointer) error {
			return p.productsReduce.Launch(on, tiles(ls[k].n)*p.productsReduce.Threads, 1,
				kernel.ProductsReduce{In: in, N: ls[k].n, Parts: parts, Out: out})
		}, func(k int, in, parts, before kernels.Pointer) error {
			l := kernel.ProductsScan{In: in, Out: in, N: ls[k].n, Parts: parts, Before: before, Exclusive: true}
			if k == 0 {
				l.Out, l.Exclusive, l.All = p.at(s.Dst), s.Exclusive, x.inAnswers(all)
			}
			return p.productsScan.Launch(on, tiles(ls[k].n)*p.productsScan.Threads, 1, l)
		})
	})
}

// divided plans step i, which divides a polynomial by X - Point and answers the remainder.
func (p *program) divided(i int, s backend.Divide) error {
	table, err := p.powersOf(s.Point)
	if err != nil {
		return err
	}
	all, ls := p.answer(i, p.size), p.levels(s.Src.Count)
	p.launch(i, func(x *execution, on *driver.Stream) error {
		// An element of level k stands for 2^(10 k) coefficients. They are scanned backwards, the
		// highest first.
		powers := func(k int) kernels.Pointer { return x.inFrame(table + k*kernel.LogScanTile*int(p.size)) }
		return scan(x, ls, p.at(s.Src), func(k int, in, parts, out kernels.Pointer) error {
			return p.divideReduce.Launch(on, tiles(ls[k].n)*p.divideReduce.Threads, 1, kernel.DivideReduce{
				In: in, N: ls[k].n, Backwards: k == 0, Powers: powers(k), Parts: parts, Out: out,
			})
		}, func(k int, in, parts, before kernels.Pointer) error {
			l := kernel.DivideScan{In: in, Out: in, N: ls[k].n, Backwards: k == 0, Powers: powers(k), Parts: parts, Before: before}
			if k == 0 {
				l.Out, l.All = p.at(s.Dst), x.inAnswers(all)
			}
			return p.divideScan.Launch(on, tiles(ls[k].n)*p.divideScan.Threads, 1, l)
		})
	})
	return nil
}

// item adds a vector to be evaluated to the frame's items. src is its address, or 0 for a place in
// scratch.
func (p *program) item(items []byte, src uint64, count, log, powers int) []byte {
	items = binary.LittleEndian.AppendUint64(items, src)
	items = binary.LittleEndian.AppendUint64(items, uint64(count))
	items = binary.LittleEndian.AppendUint32(items, uint32(log))
	items = binary.LittleEndian.AppendUint32(items, uint32(powers))
	return binary.LittleEndian.AppendUint64(items, 0)
}

// mostEvaluated is how many polynomials one launch evaluates. A grid may have 2^16-1 in y. Tests
// lower it.
var mostEvaluated = 1 << 15

// evaluated plans step i, which evaluates polynomials at one point: blocks add up parts of each,
// and then these sums are added up.
func (p *program) evaluated(i int, s backend.Evaluate) error {
	const logThreads = 7 // of a block
	longest := 0
	for _, r := range s.Src {
		longest = max(longest, r.Count)
	}
	// Some 16 elements for each thread, so that the fold of a block is short beside them.
	logBlocks := min(max(bits.Len(uint(max(longest-1, 0)))-logThreads-4, 0), 10)
	turned := s.Order == backend.Reversed
	table, err := p.powersOf(s.Point)
	if err != nil {
		return err
	}
	out := p.answer(i, int64(len(s.Src))*p.size)
	var items, sums []byte
	for _, r := range s.Src {
		log := bits.Len(uint(max(r.Count-1, 0)))
		items = p.item(items, uint64(p.at(r)), r.Count, log, 0)
		// The sum of block b has the weight z^(128 b). In reversed order, with 2^m blocks that have
		// elements, its weight comes from b's bits reversed, above the bits within a block.
		blocks, m, powers := 1<<logBlocks, 0, logThreads
		if turned {
			m = min(max(log-logThreads, 0), logBlocks)
			blocks, powers = 1<<m, max(log-logThreads-m, 0)
		}
		sums = p.item(sums, 0, blocks, m, powers)
	}
	itemsAt := p.put(items)
	blockBytes := p.size << logBlocks
	sumsAt := 0
	if logBlocks > 0 {
		p.needs(int64(len(s.Src)) * blockBytes)
		sumsAt = p.put(sums)
		for k := range s.Src {
			p.addresses = append(p.addresses, address{sumsAt + k*4*kernel.ItemWords, int64(k) * blockBytes})
		}
	}
	p.launch(i, func(x *execution, on *driver.Stream) error {
		for from := 0; from < len(s.Src); from += mostEvaluated {
			n, skip := min(mostEvaluated, len(s.Src)-from), from*4*kernel.ItemWords
			to := x.inAnswers(out + int64(from)*p.size)
			first := kernel.Evaluate{
				Items: x.inFrame(itemsAt + skip), Table: x.inFrame(table), LogBlocks: logBlocks, Turned: turned, Out: to,
			}
			if logBlocks > 0 {
				first.Out = x.scratchFrom(int64(from) * blockBytes)
			}
			if err := p.evaluate.Launch(on, 1<<(logThreads+logBlocks), n, first); err != nil {
				return err
			}
			if logBlocks == 0 {
				continue
			}
			if err := p.evaluate.Launch(on, 1<<logThreads, n, kernel.Evaluate{
				Items: x.inFrame(sumsAt + skip), Table: x.inFrame(table), Turned: turned, Out: to,
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// computed plans an operation on numbers.
func (p *program) computed(i int, s backend.Compute) error {
	op := &number.Step{Compute: s}
	for _, b := range []struct {
		of backend.Batch
		at *kernels.Pointer
	}{{s.Dst, &op.At.Dst}, {s.A, &op.At.A}, {s.B, &op.At.B}, {s.M, &op.At.M}, {s.Carry, &op.At.Carry}} {
		if b.of != (backend.Batch{}) {
			*b.at = p.at(b.of.Range())
		}
	}
	scratch, err := p.numbers.Scratch(op)
	if err != nil {
		return err
	}
	p.needs(scratch)
	noted := p.room(number.RefusedBytes)
	p.finish[i] = func(x *execution) ([]byte, error) {
		return nil, number.Refusal(&s, x.answered(noted, number.RefusedBytes))
	}
	touched := ranges(s)
	p.queue(func(ctx context.Context, x *execution) error {
		if err := x.touch(touched); err != nil {
			return err
		}
		return p.numbers.Queue(op, number.Resources{
			Stream: x.turn.Compute, Work: x.scratchAt.In(x.work), Refused: x.inAnswers(noted),
			Pace: func(elements int) error {
				if err := backend.Ended(ctx); err != nil {
					return err
				}
				x.queued += elements
				return x.pace(ctx)
			},
		})
	})
	return nil
}

// committed plans step i, an MSM, together with those that follow over the same bases. They are computed on
// this card if their scalars lie in a space.
func (p *program) committed(i int, s backend.Job) {
	if s.Src.Space == 0 { // computed elsewhere
		p.queue(func(context.Context, *execution) error { return nil })
		return
	}
	b := p.used.Bases(s.Bases)
	if s.Src.Count == 0 && s.Dst.Space != 0 {
		p.launch(i, func(_ *execution, on *driver.Stream) error { return on.Fill(p.span(s.Dst), 0) })
		return
	}
	if s.Src.Count == 0 {
		p.launch(i, func(*execution, *driver.Stream) error { return nil })
		p.finish[i] = func(*execution) ([]byte, error) {
			return layout.Bytes(make([]uint64, b.Curve.PointBytes(b.Group)/8)), nil
		}
		return
	}
	k, n := len(p.commits), p.sameBases(i)
	m := commit{step: i}
	var touched []backend.Range
	for _, s := range p.steps[i : i+n] {
		m.scalars = append(m.scalars, p.span(s.(backend.Job).Src))
		touched = append(touched, ranges(s)...)
	}
	p.commits = append(p.commits, m)
	p.queue(func(ctx context.Context, x *execution) error {
		if err := x.touch(touched); err != nil {
			return err
		}
		x.queued += 32 * s.Src.Count * n
		m, goesOn := &p.commits[k], s.Dst.Space != 0
		for r := range m.rounds {
			if err := x.commit(ctx, &m.rounds[r], goesOn); err != nil {
				return err
			}
		}
		if !goesOn {
			return nil
		}
		// The host adds up the results before anything reads the point.
		if err := x.turn.Compute.Synchronize(); err != nil {
			return err
		}
		points, err := x.points(m)
		if err != nil {
			return err
		}
		return x.turn.Compute.Write(p.span(s.Dst), points[0])
	})
	for range n - 1 {
		p.queue(nil) // the first does it
	}
	if s.Dst.Space != 0 {
		return
	}
	for at := range n {
		p.finish[i+at] = func(x *execution) ([]byte, error) {
			points, err := x.points(&p.commits[k])
			if err != nil {
				return nil, err
			}
			return points[at], nil
		}
	}
}

// sameBases returns how many MSMs over the same bases follow one another from step i on, which is one.
// They write nothing, so that all their scalars are there before the first.
func (p *program) sameBases(i int) int {
	first := p.steps[i].(backend.Job)
	n := 1
	for ; i+n < len(p.steps); n++ {
		s, ok := p.steps[i+n].(backend.Job)
		if !ok || s.Bases != first.Bases || s.Offset != first.Offset || s.Count != first.Count ||
			s.Src.Space == 0 || s.Dst.Space != 0 || first.Dst.Space != 0 {
			break
		}
	}
	return n
}
