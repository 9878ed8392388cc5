package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	core "github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/fixtures"
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
	// N is how many elements a batch has; 0 chooses by the operation and width.
	N     int
	Count int // timed runs, after one that is not
	Seed  uint64
	// Check compares every answer with math/big's: that of the backend "reference".
	// Without it a sample is compared, of operations that answer for each element.
	Check bool

	Progress Progress
	Note     func(string)
}

// Validate refuses an empty or senseless configuration with
// backend.ErrInvalidInput.
func (c *NumbersConfig) Validate() error {
	if c.Open == nil || len(c.Backends) == 0 || len(c.Ops) == 0 || len(c.Bits) == 0 || c.Count < 1 || c.N < 0 {
		return fmt.Errorf("%w: nothing to measure: backends, operations, widths and a count must be given", backend.ErrInvalidInput)
	}
	for _, b := range c.Bits {
		if b < 2 || b > 32*backend.MaxLong {
			return fmt.Errorf("%w: numbers of %d bits", backend.ErrInvalidInput, b)
		}
	}
	return nil
}

// elements returns how many elements a batch has where the configuration does not say.
func (c *NumbersConfig) elements(op backend.NumberOp, bits int) int {
	switch {
	case c.N > 0:
		return c.N
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
	rng := rand.New(rand.NewPCG(seed, uint64(op)<<32|uint64(bits)))
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
		for i := range count {
			at := l.memory[4*(b.Offset+i*words) : 4*(b.Offset+(i+1)*words)]
			for k := range at {
				at[k] = byte(rng.Uint32())
			}
			v := fixtures.FromRaw(at)
			copy(at, fixtures.Raw(v.Mod(v, below), len(at)))
		}
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

// on returns the workload's step in a space of a backend.
func (l *numberWork) on(id backend.SpaceID) backend.Compute {
	return randprog.Renamed([]backend.Step{l.step}, []backend.SpaceID{id}, nil)[0].(backend.Compute)
}

// writes puts the operands into a space.
func (l *numberWork) writes(id backend.SpaceID) (steps []backend.Step) {
	for _, r := range l.inputs {
		own := l.memory[4*r.Offset : 4*(r.Offset+r.Count)]
		r.Space = id
		steps = append(steps, backend.Write{Dst: r, Input: backend.Input{Bytes: own}})
	}
	return steps
}

// sampled is how many elements are compared where not all are.
const sampled = 16

// oracle fills in want: all of the answer, or a sample of it where each element has its
// own.
func (l *numberWork) oracle(ctx context.Context, all bool) error {
	var steps []backend.Step
	add := func(step backend.Compute) {
		steps = append(steps, step, backend.Read{Src: step.Dst.Range()})
		l.want = append(l.want, part{at: 4 * (step.Dst.Offset - l.step.Dst.Offset), elements: step.Dst.Count})
	}
	n := l.step.Dst.Count
	switch {
	case all || n == l.step.A.Count && n <= sampled:
		add(l.step)
	case n == l.step.A.Count:
		for k := range sampled {
			i := k * (n - 1) / (sampled - 1)
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
func Numbers(ctx context.Context, cfg NumbersConfig) (runs []record.NumberRun, infos []record.BackendInfo, err error) {
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
			l := newNumberWork(op, bits, cfg.elements(op, bits), cfg.Seed)
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
	s    *core.Session
	runs [2]record.NumberRun // Host, Resident
}

// measure times one workload on every backend that has the operation, in turns.
func (l *numberWork) measure(ctx context.Context, cfg *NumbersConfig, all engines) (runs []record.NumberRun, err error) {
	var timed []*numberSeries
	defer func() {
		for _, one := range timed {
			err = errors.Join(err, one.s.Close())
		}
	}()
	n := l.step.A.Count
	for _, e := range all {
		if !e.info.Can.HasNumbers(l.op) {
			if cfg.Note != nil {
				cfg.Note(fmt.Sprintf("backend %s has no %v: left out", e.name, l.op))
			}
			continue
		}
		s, err := e.OpenSession(ctx, core.Space{Elements: backend.Elements{Element: backend.Word(), Count: len(l.memory) / 4}, Numbers: []backend.NumberOp{l.op}})
		if err != nil {
			return nil, err
		}
		one := &numberSeries{s: s}
		for k, where := range []string{record.Host, record.Resident} {
			one.runs[k] = record.NumberRun{Op: "numbers", Number: l.op.String(), Bits: l.bits, N: n, Backend: e.name, Version: e.info.Version,
				Device: e.device(), Where: where, Seed: cfg.Seed}
		}
		timed = append(timed, one)
	}
	stage := fmt.Sprintf("%v of %d bits, %d elements", l.op, l.bits, n)
	samples := make([][2][]time.Duration, len(timed))
	for round := range cfg.Count + 1 {
		cfg.Progress.tell(stage, round, cfg.Count+1)
		for i, one := range timed {
			for k := range one.runs {
				took, err := l.once(ctx, one, k)
				if err != nil {
					return nil, err
				}
				if round > 0 {
					samples[i][k] = append(samples[i][k], took)
				}
			}
		}
	}
	cfg.Progress.tell(stage, cfg.Count+1, cfg.Count+1)
	for i, one := range timed {
		for k := range one.runs {
			r := &one.runs[k]
			r.Count, r.Min, r.Median, r.Samples = cfg.Count, record.Millis(record.Min(samples[i][k])), record.Millis(record.Median(samples[i][k])), record.AllMillis(samples[i][k])
			if l.want != nil {
				r.Oracle, r.Compared, r.Checked = "math/big", l.compared(), r.Wrong == 0
			}
			runs = append(runs, *r)
		}
	}
	return runs, nil
}

// once times one batch, from the host or resident, and judges the answer. Resident
// operands are those that the batch before has written; answers are read outside of
// the time then.
func (l *numberWork) once(ctx context.Context, one *numberSeries, k int) (time.Duration, error) {
	step := l.on(one.s.Space())
	read := backend.Read{Src: step.Dst.Range()}
	steps := []backend.Step{step}
	if k == 0 {
		steps = append(append(l.writes(one.s.Space()), step), read)
	}
	runtime.GC()
	start := time.Now()
	answers, err := one.s.Run(ctx, steps)
	took := time.Since(start)
	if err == nil && k == 1 {
		answers, err = one.s.Run(ctx, []backend.Step{read})
	}
	if err != nil {
		return 0, err
	}
	if !l.right(answers[len(answers)-1]) {
		one.runs[k].Wrong++
	}
	return took, nil
}
