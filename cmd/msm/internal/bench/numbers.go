package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/randprog"
)

// Numbers measures operations on batches of numbers: every operation at every width on every
// backend, in turns.
type Numbers struct {
	Common
	Ops  []backend.NumberOp
	Bits []int
	// Sizes are how many elements a batch has; none chooses by the operation and width, or
	// by Words, which is how many words an operand has.
	Sizes []int
	Words int
	// Paths are where operands are, report.Host and report.Resident; none is both. A
	// resident program has the operation Steps times; 0 is once.
	Paths []string
	Steps int
	// Check compares every answer with math/big's: that of the backend "reference".
	// Without it a sample is compared, of operations that answer for each element.
	Check bool
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *Numbers) Validate() error {
	if c.Words < 0 || c.Steps < 0 {
		return Refused("%d words, %d steps", c.Words, c.Steps)
	}
	for _, n := range c.Sizes {
		if n < 1 {
			return Refused("a batch of %d elements", n)
		}
	}
	return cmp.Or(c.ValidateCommon(), Some("operations", c.Ops), Within("bits", c.Bits, 2, 32*backend.MaxLong))
}

// Sheet shows elements a second.
func (c *Numbers) Sheet() report.Sheet {
	return report.Sheet{
		Note: `Operands: host, written before and answers read after, within the time; resident, in the backend's memory;
of a program with the operation several times the time is of one.
One modulus for all elements, exponents of the full width.`,
		Before: []report.Column{
			report.ColumnWhat("operation", report.Stays), report.ColumnSize("bits", report.Stays, "bits"),
			report.Text("n", 6, func(r *report.Run) string { return fmt.Sprint(r.N) }),
			report.ColumnBackend(8), report.ColumnInput("operands", 7, report.InputPath),
		},
		After: []report.Column{
			report.Text("a second", 5, func(r *report.Run) string { return fmt.Sprintf("%.4g", r.Rate()) }),
			report.Text("GB/s", 0, func(r *report.Run) string { return fmt.Sprintf("%.4g", 4e-6*r.Value("words")/r.Median) }),
		},
	}
}

// sizes returns how many elements batches have.
func (c *Numbers) sizes(op backend.NumberOp, bits int) []int {
	if len(c.Sizes) > 0 {
		return c.Sizes
	}
	return []int{c.elements(op, bits)}
}

// elements returns how many elements a batch has where no size is given.
func (c *Numbers) elements(op backend.NumberOp, bits int) int {
	switch {
	case c.Words > 0:
		return max(1, c.Words/((bits+31)/32))
	case op == backend.NumExpMod:
		return max(4, 1<<34/(bits*bits*bits))
	case op == backend.NumInvMod:
		return max(4, 1<<20/bits)
	}
	return max(1, 1<<23/bits)
}

// numberWork is one operation at one width: a space's words before, and the step over
// them, with the space 1.
type numberWork struct {
	op     backend.NumberOp
	bits   int
	memory []byte
	step   backend.Compute
	inputs []backend.Range // what of the memory is operands
	want   []part          // of Dst afterwards
}

// part is some elements of an answer, from a byte of it on.
type part struct {
	at, elements int
	bytes        []byte
}

// newNumberWork makes random operands of n elements. The modulus, odd and with its
// highest bit set, is one for all.
func newNumberWork(op backend.NumberOp, bits, n int, seed uint64) *numberWork {
	l := &numberWork{op: op, bits: bits, step: backend.Compute{Op: op}}
	width := (bits + 31) / 32
	limit := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	room := func(words, count int) backend.Batch {
		b := backend.Batch{Space: 1, Offset: len(l.memory) / 4, Words: words, Count: count}
		l.memory = append(l.memory, make([]byte, 4*words*count)...)
		return b
	}
	operand := func(words, count int, below *big.Int) backend.Batch {
		b := room(words, count)
		l.inputs = append(l.inputs, b.Range())
		const piece = 1 << 16 // words that have random numbers of their own
		each := max(1, piece/words)
		var pieces sync.WaitGroup
		for from := 0; from < count; from += each {
			pieces.Go(func() {
				rng := rand.New(rand.NewPCG(seed+uint64(b.Offset+from*words), uint64(op)<<32|uint64(bits)))
				for i := from; i < min(from+each, count); i++ {
					at := l.memory[4*(b.Offset+i*words) : 4*(b.Offset+(i+1)*words)]
					for k := 0; k < len(at); k += 4 {
						binary.LittleEndian.PutUint32(at[k:], rng.Uint32())
					}
					if top := bits % 32; top > 0 && words == width {
						at[len(at)-4+top/8] &= 1<<(top%8) - 1
						clear(at[len(at)-3+top/8:])
					}
					if below == limit {
						continue
					}
					if v := fixtures.FromRaw(at); v.Cmp(below) >= 0 {
						copy(at, fixtures.Raw(v.Sub(v, below), len(at))) // below has its highest bit set
					}
				}
			})
		}
		pieces.Wait()
		return b
	}
	s := &l.step
	dst, count := width, n
	switch op {
	case backend.NumCompare:
		dst = 1
	case backend.NumMul, backend.NumSqr:
		dst = 2 * width
	case backend.NumSum:
		dst, count = width+1, 1
	case backend.NumDot:
		dst, count = 2*width+1, 1
	case backend.NumDotMod:
		count = 1
	case backend.NumPowerSums:
		count = 4
	case backend.NumGFAdd, backend.NumGFMul, backend.NumGFSqr, backend.NumGFInv:
		s.Degree = bits
	}
	below := limit
	if op >= backend.NumAddMod && op <= backend.NumInvMod || op == backend.NumDotMod || op == backend.NumPowerSums {
		s.M = operand(width, 1, limit)
		m := fixtures.FromRaw(l.memory[:4*width])
		m.SetBit(m.SetBit(m, 0, 1), bits-1, 1)
		copy(l.memory, fixtures.Raw(m, 4*width))
		below = m
	}
	s.A = operand(width, n, below)
	switch op {
	case backend.NumAdd, backend.NumSub, backend.NumCompare, backend.NumMul, backend.NumGFAdd, backend.NumGFMul, backend.NumDot:
		s.B = operand(width, n, limit)
	case backend.NumAddMod, backend.NumSubMod, backend.NumMulMod, backend.NumMontMul, backend.NumDotMod:
		s.B = operand(width, n, below)
	case backend.NumExpMod:
		s.B = operand(width, n, limit)
	}
	s.Dst = room(dst, count)
	return l
}

// sampled is how many elements are compared where not all are.
const sampled = 16

// samples returns which of n elements are compared: the first, the last and others. Cheap
// operations have more of them.
func (l *numberWork) samples(n int) []int {
	many := sampled
	if l.op != backend.NumExpMod && l.op != backend.NumInvMod && l.op != backend.NumGFInv && l.bits <= 1<<12 {
		many = min(n, 64*sampled)
	}
	at := []int{0, n - 1}
	for rng := rand.New(rand.NewPCG(uint64(n), uint64(l.bits))); len(at) < many; {
		at = append(at, rng.IntN(n))
	}
	return at
}

// oracle fills in want: all of the answer, or a sample of it where each element has its
// own.
func (l *numberWork) oracle(ctx context.Context, all bool) error {
	var steps []backend.Step
	add := func(step backend.Compute) {
		steps = append(steps, step, backend.Read{Src: step.Dst.Range()})
		l.want = append(l.want, part{at: 4 * (step.Dst.Offset - l.step.Dst.Offset), elements: step.Dst.Count})
	}
	n := l.step.Dst.Count
	some := l.samples(n)
	switch {
	case all || n == l.step.A.Count && n <= len(some):
		add(l.step)
	case n == l.step.A.Count:
		for _, i := range some {
			only := func(b backend.Batch) backend.Batch {
				if b.Count > 1 {
					b.Offset, b.Count = b.Offset+i*b.Words, 1
				}
				return b
			}
			step := l.step
			step.Dst, step.A, step.B = only(step.Dst), only(step.A), only(step.B)
			add(step)
		}
	default:
		return nil
	}
	ref := cpu.NewReference()
	defer ref.Close()
	out, err := (&randprog.Program{Element: backend.Word(), Spaces: [][]byte{l.memory}, Steps: steps}).Run(ctx, ref)
	if err != nil {
		return err
	}
	for k := range l.want {
		l.want[k].bytes = out.Answers[2*k+1]
	}
	return nil
}

// compared returns how many elements of an answer want has.
func (l *numberWork) compared() (n int) {
	for _, p := range l.want {
		n += p.elements
	}
	return n
}

// wrong counts an answer that is not what is wanted.
func (l *numberWork) wrong(answer []byte) int {
	for _, p := range l.want {
		if !bytes.Equal(answer[p.at:p.at+len(p.bytes)], p.bytes) {
			return 1
		}
	}
	return 0
}

func (c *Numbers) Measure(ctx context.Context, r *Runner) error {
	if err := r.Start(ctx, nil); err != nil {
		return err
	}
	for _, op := range c.Ops {
		able := r.Able(op.String(), func(can backend.Capabilities) bool { return can.HasNumbers(op) })
		for _, bits := range c.Bits {
			for _, n := range c.sizes(op, bits) {
				if len(able) == 0 {
					continue
				}
				l := newNumberWork(op, bits, n, c.Seed)
				if err := l.oracle(ctx, c.Check); err != nil {
					return err
				}
				if err := l.compare(ctx, c, r, able); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// numbersOn is a workload in one backend's memory.
type numbersOn struct {
	s              *arith.Session
	dst, a, b, m   *arith.Batch
	host, resident *arith.Program
	answer         *arith.Numbers // of host
	read           *arith.Program // of a resident answer
	residentAnswer *arith.Numbers
}

// compare times one workload on every backend that has the operation.
func (l *numberWork) compare(ctx context.Context, c *Numbers, r *Runner, able Engines) (err error) {
	n, steps := l.step.A.Count, max(c.Steps, 1)
	t := r.Trial(fmt.Sprintf("%v of %d bits, %d elements", l.op, l.bits, n))
	for _, e := range able {
		on, failed := l.on(ctx, e, steps)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, on.s.Close()) }()
		if err := on.host.Run(ctx); err != nil { // it writes the operands of resident programs too
			return err
		}
		for _, where := range []string{report.Host, report.Resident} {
			if len(c.Paths) == 0 || slices.Contains(c.Paths, where) {
				t.Series = append(t.Series, l.series(ctx, r, e, on, where, steps))
			}
		}
	}
	return r.Compare(ctx, t)
}

// series returns the series of a backend with operands on the host or resident. Resident
// operands were loaded before. Their answers are read outside of the time, which is a program's
// time divided by its steps.
func (l *numberWork) series(ctx context.Context, r *Runner, e *Single, on *numbersOn, where string, steps int) *Series {
	run := report.Run{Op: report.OpNumbers, What: l.op.String(), N: l.step.A.Count}
	run.Size("bits", l.bits)
	run.Input(report.InputPath, where)
	run.Figure("words", "", float64(l.moved()))
	answer, once := on.answer, Clock(func() error { return on.host.Run(ctx) })
	if where == report.Resident {
		run.Size("steps", steps)
		answer, once = on.residentAnswer, func() (time.Duration, error) {
			took, err := Clock(func() error { return on.resident.Run(ctx) })()
			if err == nil {
				err = on.read.Run(ctx)
			}
			return took / time.Duration(steps), err
		}
	}
	s := r.Series(e, run, once)
	if l.want != nil {
		s.Run.Oracle, s.Run.Compared = "math/big", l.compared()
		s.Check = func() (int, error) { return l.wrong(layout.Bytes(answer.Words)), nil }
	}
	return s
}

// on opens a session of package arith with room for the workload, and makes its programs:
// one that writes, computes and reads, one that computes some times, and one that reads.
func (l *numberWork) on(ctx context.Context, e *Single, steps int) (*numbersOn, error) {
	room := 0
	for _, b := range []backend.Batch{l.step.M, l.step.A, l.step.B, l.step.Dst} {
		if b.Words > 0 {
			room += arith.Words(32*b.Words, b.Count)
		}
	}
	s, err := arith.Open(ctx, e.Engine, room)
	if err != nil {
		return nil, err
	}
	one := &numbersOn{s: s, host: s.Program(), resident: s.Program(), read: s.Program()}
	for _, o := range []struct {
		of *backend.Batch
		to **arith.Batch
	}{{&l.step.M, &one.m}, {&l.step.A, &one.a}, {&l.step.B, &one.b}, {&l.step.Dst, &one.dst}} {
		if *o.of == (backend.Batch{}) {
			continue
		}
		batch, err := s.New(32*o.of.Words, o.of.Count)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		if *o.to = batch; o.of == &l.step.Dst {
			continue
		}
		words, err := layout.View[uint32](l.memory[4*o.of.Offset : 4*(o.of.Offset+o.of.Words*o.of.Count)])
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		one.host.Write(batch, &arith.Numbers{Width: o.of.Words, Words: words})
	}
	one.add(l, one.host)
	one.answer = one.host.Read(one.dst)
	for range steps {
		one.add(l, one.resident)
	}
	one.residentAnswer = one.read.Read(one.dst)
	return one, nil
}

// add adds the operation to a program.
func (one *numbersOn) add(l *numberWork, p *arith.Program) {
	dst, a, b, m, n := one.dst, one.a, one.b, one.m, l.step.Degree
	switch l.op {
	case backend.NumResize:
		p.Resize(dst, a)
	case backend.NumAdd:
		p.Add(dst, a, b)
	case backend.NumSub:
		p.Sub(dst, a, b)
	case backend.NumCompare:
		p.Compare(dst, a, b)
	case backend.NumMul:
		p.Mul(dst, a, b)
	case backend.NumSqr:
		p.Sqr(dst, a)
	case backend.NumAddMod:
		p.AddMod(dst, a, b, m)
	case backend.NumSubMod:
		p.SubMod(dst, a, b, m)
	case backend.NumReduce:
		p.Reduce(dst, a, m)
	case backend.NumMulMod:
		p.MulMod(dst, a, b, m)
	case backend.NumMontMul:
		p.MontMul(dst, a, b, m)
	case backend.NumMontSqr:
		p.MontSqr(dst, a, m)
	case backend.NumToMont:
		p.ToMont(dst, a, m)
	case backend.NumFromMont:
		p.FromMont(dst, a, m)
	case backend.NumExpMod:
		p.ExpMod(dst, a, b, m)
	case backend.NumInvMod:
		p.InvMod(dst, a, m)
	case backend.NumGFAdd:
		p.GFAdd(n, dst, a, b)
	case backend.NumGFMul:
		p.GFMul(n, dst, a, b)
	case backend.NumGFSqr:
		p.GFSqr(n, dst, a)
	case backend.NumGFInv:
		p.GFInv(n, dst, a)
	case backend.NumSum:
		p.Sum(dst, a)
	case backend.NumDot:
		p.Dot(dst, a, b)
	case backend.NumDotMod:
		p.DotMod(dst, a, b, m)
	case backend.NumPowerSums:
		p.PowerSums(dst, a, m)
	}
}

// moved returns how many words a batch reads and writes at least.
func (l *numberWork) moved() int {
	n := l.step.Dst.Range().Count
	for _, r := range l.inputs {
		n += r.Count
	}
	return n
}
