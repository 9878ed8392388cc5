package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/arith"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	core "github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/randprog"
	"github.com/pippin-zk/pippin/internal/record"
)

// NumbersConfig says what Numbers measures: every operation at every width on every
// backend.
type NumbersConfig struct {
	Open     core.Opener
	Backends []string // timed in turn
	Ops      []backend.NumberOp
	Bits     []int
	// Sizes are how many elements a batch has; none chooses by the operation and width, or
	// by Words, which is how many words an operand has.
	Sizes []int
	Words int
	Count int // timed runs, after one that is not
	Seed  uint64
	// Paths are where operands are, report.Host and report.Resident; none is both. A
	// resident program has the operation Steps times; 0 is once.
	Paths []string
	Steps int
	// Check compares every answer with math/big's: that of the backend "reference".
	// Without it a sample is compared, of operations that answer for each element.
	Check bool

	Progress Progress
	Note     func(string)
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *NumbersConfig) Validate() error {
	if c.Open == nil || len(c.Backends) == 0 || len(c.Ops) == 0 || len(c.Bits) == 0 || c.Count < 1 || c.Words < 0 || c.Steps < 0 {
		return fmt.Errorf("%w: nothing to measure: backends, operations, widths and a count must be given", backend.ErrInvalidInput)
	}
	for _, b := range c.Bits {
		if b < 2 || b > 32*backend.MaxLong {
			return fmt.Errorf("%w: numbers of %d bits", backend.ErrInvalidInput, b)
		}
	}
	for _, n := range c.Sizes {
		if n < 1 {
			return fmt.Errorf("%w: a batch of %d elements", backend.ErrInvalidInput, n)
		}
	}
	return nil
}

// sizes returns how many elements batches have.
func (c *NumbersConfig) sizes(op backend.NumberOp, bits int) []int {
	if len(c.Sizes) > 0 {
		return c.Sizes
	}
	return []int{c.elements(op, bits)}
}

// elements returns how many elements a batch has where no size is given.
func (c *NumbersConfig) elements(op backend.NumberOp, bits int) int {
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

// right reports whether an answer is what is wanted.
func (l *numberWork) right(answer []byte) bool {
	for _, p := range l.want {
		if !bytes.Equal(answer[p.at:p.at+len(p.bytes)], p.bytes) {
			return false
		}
	}
	return true
}

// Numbers measures what cfg says, and answers as MSM does.
func Numbers(ctx context.Context, cfg NumbersConfig) (runs []report.NumberRun, infos []record.BackendInfo, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	all, err := openEngines(ctx, cfg.Open, cfg.Backends, cfg.Note, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, all.close()) }()
	infos = all.describe()
	for _, op := range cfg.Ops {
		for _, bits := range cfg.Bits {
			for _, n := range cfg.sizes(op, bits) {
				l := newNumberWork(op, bits, n, cfg.Seed)
				if err := l.oracle(ctx, cfg.Check); err != nil {
					return runs, infos, err
				}
				done, err := l.measure(ctx, &cfg, all)
				runs = append(runs, done...)
				if err != nil {
					return runs, infos, err
				}
			}
		}
	}
	if len(runs) == 0 {
		return nil, infos, fmt.Errorf("%w: no backend has any of the operations", backend.ErrUnsupported)
	}
	for _, r := range runs {
		if r.Wrong > 0 {
			err = errors.Join(err, fmt.Errorf("%w: %s, %s of %d bits: %d answers", ErrWrong, r.Backend, r.Number, r.Bits, r.Wrong))
		}
	}
	return runs, infos, err
}

// numberSeries is the runs of one backend with one workload in its memory.
type numberSeries struct {
	s              *arith.Session
	dst, a, b, m   *arith.Batch
	host, resident *arith.Program
	answer         *arith.Numbers // of host
	read           *arith.Program // of a resident answer
	residentAnswer *arith.Numbers
	runs           []report.NumberRun
	samples        [][]time.Duration
}

// measure times one workload on every backend that has the operation, in turns.
func (l *numberWork) measure(ctx context.Context, cfg *NumbersConfig, all engines) (runs []report.NumberRun, err error) {
	var timed []*numberSeries
	defer func() {
		for _, one := range timed {
			err = errors.Join(err, one.s.Close())
		}
	}()
	n, steps := l.step.A.Count, max(cfg.Steps, 1)
	for _, e := range all {
		if !e.info.Can.HasNumbers(l.op) {
			if cfg.Note != nil {
				cfg.Note(fmt.Sprintf("backend %s has no %v: left out", e.name, l.op))
			}
			continue
		}
		one, err := l.on(ctx, e, steps)
		if err != nil {
			return nil, err
		}
		for _, where := range []string{report.Host, report.Resident} {
			if len(cfg.Paths) > 0 && !slices.Contains(cfg.Paths, where) {
				continue
			}
			run := report.NumberRun{Op: "numbers", Number: l.op.String(), Bits: l.bits, N: n, Backend: e.name, Version: e.info.Version,
				Device: e.device(), Where: where, Seed: cfg.Seed, Words: l.moved()}
			if where == report.Resident {
				run.Steps = steps
			}
			one.runs = append(one.runs, run)
		}
		one.samples = make([][]time.Duration, len(one.runs))
		timed = append(timed, one)
		if err := one.host.Run(ctx); err != nil {
			return nil, err
		}
	}
	stage := fmt.Sprintf("%v of %d bits, %d elements", l.op, l.bits, n)
	for round := range cfg.Count + 1 {
		cfg.Progress.tell(stage, round, cfg.Count+1)
		for _, one := range timed {
			for k := range one.runs {
				took, err := l.once(ctx, one, &one.runs[k])
				if err != nil {
					return nil, err
				}
				if round > 0 {
					one.samples[k] = append(one.samples[k], took)
				}
			}
		}
	}
	cfg.Progress.tell(stage, cfg.Count+1, cfg.Count+1)
	for _, one := range timed {
		for k := range one.runs {
			r := &one.runs[k]
			r.Count, r.Min, r.Median, r.Samples = cfg.Count, record.Millis(record.Min(one.samples[k])), record.Millis(record.Median(one.samples[k])), record.AllMillis(one.samples[k])
			if l.want != nil {
				r.Oracle, r.Compared, r.Checked = "math/big", l.compared(), r.Wrong == 0
			}
			runs = append(runs, *r)
		}
	}
	return runs, nil
}

// on opens a session of package arith with room for the workload, and makes its programs:
// one that writes, computes and reads, one that computes some times, and one that reads.
func (l *numberWork) on(ctx context.Context, e *single, steps int) (*numberSeries, error) {
	room := 0
	for _, b := range []backend.Batch{l.step.M, l.step.A, l.step.B, l.step.Dst} {
		room += arith.Words(32*b.Words, b.Count)
	}
	s, err := arith.Open(ctx, e.Engine, room)
	if err != nil {
		return nil, err
	}
	one := &numberSeries{s: s, host: s.Program(), resident: s.Program(), read: s.Program()}
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
func (one *numberSeries) add(l *numberWork, p *arith.Program) {
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

// once times one batch, from the host or resident, and judges the answer. Resident operands
// are those that were loaded; answers are read outside of the time then, and the time is
// that of a program divided by its steps.
func (l *numberWork) once(ctx context.Context, one *numberSeries, run *report.NumberRun) (time.Duration, error) {
	p, answer := one.host, one.answer
	if run.Where == report.Resident {
		p, answer = one.resident, one.residentAnswer
	}
	runtime.GC()
	start := time.Now()
	err := p.Run(ctx)
	took := time.Since(start)
	if err == nil && run.Where == report.Resident {
		took /= time.Duration(run.Steps)
		err = one.read.Run(ctx)
	}
	if err != nil {
		return 0, err
	}
	if !l.right(layout.Bytes(answer.Words)) {
		run.Wrong++
	}
	return took, nil
}
