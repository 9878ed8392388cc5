package vector

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/backend/cuda/internal/number"
	"github.com/pippin-zk/pippin/backend/cuda/internal/point"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/kernels"
	kernel "github.com/pippin-zk/pippin/kernels/grid/vector"
)

// Used is the spaces and bases that a program names.
type Used struct {
	Space func(backend.SpaceID) *Space
	Bases func(backend.BasesID) *msm.Bases
}

// align is the alignment of everything in the frame and among the answers.
const align = 16

// program is the planned steps of a call.
type program struct {
	*field
	used  Used
	steps []backend.Step
	first int // number of the first step within the call

	computer *Computer
	turn     *device.Turn
	facts    map[*point.Group]int // in the frame

	frame     []byte
	addresses []address                                       // that are written into the frame later
	tables    []int                                           // of powers, in the frame; each begins with its point
	queues    []func(ctx context.Context, x *execution) error // by step; nil if nothing is left to do

	answers int64 // bytes
	scratch int64
	roots   int64 // of tables that transforms make, the most
	commits []commit
	finish  []func(x *execution) ([]byte, error) // by step; nil if it has no answer

	layout                        device.Layout
	frameAt, answersAt, scratchAt device.Region
	msmAt                         []device.Region // of the MSMs, which take them in turn
	secret                        int64
}

// address is a place in the frame that will hold an address in scratch.
type address struct {
	at      int
	scratch int64
}

// commit is the MSMs of steps that follow one another, over the same bases.
type commit struct {
	step    int // the first
	scalars []driver.Span
	rounds  []commitRound
	points  [][]byte // by step, when the first is finished
}

// commitRound is those of a commit's MSMs that are computed side by side.
type commitRound struct {
	*msm.OnCard
	number int // among all rounds of the program
	pinned device.Region
}

// Run runs valid steps. Nobody may free their spaces and bases meanwhile. Other calls may use the
// card in between: programs over numbers let them in when they pace, others end their turn after a
// step and run the remaining steps in another turn. A nil step was run before.
func (c *Computer) Run(ctx context.Context, steps []backend.Step, used Used) ([][]byte, error) {
	answers := make([][]byte, len(steps))
	element, ok := elementOf(steps, used)
	if !ok {
		return answers, backend.Ended(ctx)
	}
	for i, s := range steps {
		if s, ok := s.(backend.Compute); ok {
			if err := number.Prepare(ctx, &s); err != nil {
				return nil, backend.InStep(i, s, err)
			}
		}
	}
	for from := 0; ; {
		n, err := c.run(ctx, element, steps, from, used, answers)
		if err != nil {
			return nil, err
		}
		if from += n; from >= len(steps) {
			return answers, nil
		}
		if err := backend.Yield(ctx); err != nil {
			return nil, err
		}
	}
}

// run runs the steps from number from on in one turn, and returns how many it ran: all, or fewer if
// others wait.
func (c *Computer) run(ctx context.Context, element backend.Element, all []backend.Step, from int,
	used Used, answers [][]byte) (ran int, err error) {
	take := c.dev.Turn
	if element == backend.Word() {
		take = c.dev.LongTurn
	}
	turn, err := take(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, turn.End()) }()
	f, err := c.field(turn, element)
	if err != nil {
		return 0, err
	}
	steps := all[from:]
	in := func(i int, err error) error { return backend.InStep(from+i, steps[i], err) }
	p := &program{field: f, used: used, steps: steps, first: from, computer: c, turn: turn,
		facts: make(map[*point.Group]int), finish: make([]func(*execution) ([]byte, error), len(steps))}
	defer func() { clear(p.frame) }()
	for len(p.queues) < len(steps) {
		i := len(p.queues)
		if err := p.step(i); err != nil {
			return 0, in(i, err)
		}
	}
	if err := c.planCommits(turn, p); err != nil {
		return 0, err
	}
	x, err := p.begin(c, turn)
	if err != nil {
		return 0, err
	}
	defer x.close()
	for ran < len(steps) && !(ran > 0 && p.queues[ran] != nil && x.cut(c.dev)) {
		if err := backend.Ended(ctx); err != nil {
			return 0, err
		}
		if p.queues[ran] == nil {
			ran++
			continue
		}
		if err := p.queues[ran](ctx, x); err != nil {
			return 0, in(ran, err)
		}
		if err := errors.Join(turn.Mark(backend.StepName(steps[ran])), x.pace(ctx)); err != nil {
			return 0, err
		}
		ran++
	}
	if err := x.end(); err != nil {
		return 0, err
	}
	for i, finish := range p.finish[:ran] {
		if finish == nil {
			continue
		}
		if answers[from+i], err = finish(x); err != nil {
			return 0, in(i, err)
		}
	}
	return ran, nil
}

// elementOf returns the element whose field a program uses, or false if it uses no space.
func elementOf(steps []backend.Step, used Used) (backend.Element, bool) {
	for _, s := range steps {
		for _, r := range ranges(s) {
			return scalarsOf(used.Space(r.Space).Element), true
		}
	}
	return backend.Element{}, false
}

// ranges returns the ranges of spaces that a step touches.
func ranges(s backend.Step) (all []backend.Range) {
	for _, a := range backend.Accesses(s) {
		if a.Space != 0 {
			all = append(all, a.Range)
		}
	}
	return all
}

// span returns where a range lies on the card.
func (p *program) span(r backend.Range) driver.Span {
	m := p.used.Space(r.Space).memory
	if m == nil {
		return driver.Span{}
	}
	size := p.bytesOf(r)
	return m.Span().Slice(int64(r.Offset)*size, int64(r.Count)*size)
}

// bytesOf returns the bytes of each element of a range.
func (p *program) bytesOf(r backend.Range) int64 { return int64(p.used.Space(r.Space).Element.Bytes()) }

// kindOf returns the kind of a range's elements.
func (p *program) kindOf(r backend.Range) backend.Kind { return p.used.Space(r.Space).Kind }

// at returns where a range begins, for a kernel.
func (p *program) at(r backend.Range) kernels.Pointer { return device.Address(p.span(r)) }

// put adds b to the frame and returns its place. If the frame moves to grow, the old one is wiped.
func (p *program) put(b []byte) int {
	at := (len(p.frame) + align - 1) / align * align
	if size := at + len(b); size > cap(p.frame) {
		old := p.frame
		p.frame = append(make([]byte, 0, max(2*cap(old), size, 1<<12)), old...)
		clear(old)
	}
	p.frame = append(p.frame[:at], b...)
	return at
}

// powersOf puts a table of powers of z into the frame and returns its place.
func (p *program) powersOf(z []byte) (int, error) {
	for _, at := range p.tables {
		if bytes.Equal(p.frame[at:at+len(z)], z) {
			return at, nil
		}
	}
	table := layout.Bytes(make([]uint64, kernel.PowerElements*p.size/8))
	defer clear(table)
	copy(table, z)
	if err := square(p.curve, table); err != nil {
		return 0, err
	}
	at := p.put(table)
	p.tables = append(p.tables, at)
	return at, nil
}

// answer takes room for the answer of step i, which its kernels compute, and arranges that it is
// read.
func (p *program) answer(i int, size int64) int64 {
	at := p.room(size)
	p.finish[i] = func(x *execution) ([]byte, error) {
		b := answerBytes(size)
		copy(b, x.answered(at, size))
		return b, nil
	}
	return at
}

// answerBytes returns memory for an answer, aligned for gnark-crypto's types.
func answerBytes(size int64) []byte { return layout.Bytes(make([]uint64, (size+7)/8))[:size] }

// room takes room among the answers.
func (p *program) room(size int64) int64 {
	at := (p.answers + align - 1) / align * align
	p.answers = at + size
	return at
}

// needs makes scratch at least size bytes large.
func (p *program) needs(size int64) { p.scratch = max(p.scratch, size) }

// refusal puts a word among the answers, which a kernel lowers to the index of an element that it
// refuses. format describes that element.
func (p *program) refusal(i int, format string, a ...any) int64 {
	at := p.room(4)
	p.finish[i] = func(x *execution) ([]byte, error) {
		if bad := binary.LittleEndian.Uint32(x.answered(at, 4)); bad != kernel.NoElement {
			return nil, fmt.Errorf("%w: "+format, append([]any{backend.ErrInvalidInput, bad}, a...)...)
		}
		return nil, nil
	}
	return at
}

// planCommits plans the MSMs, in the memory that everything else leaves. They follow one another
// and share their work memory, or take one of two in turn: then one ends beside the next.
func (c *Computer) planCommits(turn *device.Turn, p *program) error {
	p.frameAt = p.layout.Take(int64(len(p.frame)))
	p.answersAt = p.layout.Take(p.answers)
	p.scratchAt = p.layout.Take(p.scratch)
	var bases []*msm.Bases
	for k := range p.commits {
		bases = append(bases, p.used.Bases(p.steps[p.commits[k].step].(backend.Job).Bases))
	}
	c.msm.Use(turn, bases...)
	err := c.planRounds(turn, p)
	if errors.Is(err, backend.ErrOutOfMemory) && c.msm.Forgo(bases...) {
		err = c.planRounds(turn, p)
	}
	return err
}

// planRounds does what planCommits does, with the multiples of bases that the turn uses.
func (c *Computer) planRounds(turn *device.Turn, p *program) error {
	// Rounded, so that the same plans are found again.
	const unit = 64 << 20
	left := turn.Available() - p.layout.Size - p.roots
	if left > 2*unit {
		left = left / unit * unit
	}
	p.secret = 0
	work, results, rounds := int64(0), device.Layout{}, 0
	for k := range p.commits {
		m := &p.commits[k]
		s := p.steps[m.step].(backend.Job)
		planned, err := c.msm.OnCard(p.used.Bases(s.Bases), s.Offset, m.scalars, left)
		if err != nil {
			return backend.InStep(p.first+m.step, s, err)
		}
		m.rounds = nil
		for _, r := range planned {
			m.rounds = append(m.rounds, commitRound{r, rounds, results.Take(r.Results())})
			work = max(work, r.Work())
			p.secret = max(p.secret, r.Secret())
			rounds++
		}
	}
	p.msmAt = append(p.msmAt[:0], p.layout.Take(work))
	if rounds > 1 && work <= mostBeside && 2*work <= left {
		p.msmAt = append(p.msmAt, p.layout.Take(work))
	}
	p.secret += p.msmAt[len(p.msmAt)-1].Off
	return nil
}

// mostBeside bounds the work memory of MSMs that end beside what follows. Those that need more keep
// the card busy for so long that their ends do not matter.
const mostBeside = 512 << 20
