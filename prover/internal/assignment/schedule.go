package assignment

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"github.com/consensys/gnark/constraint"
)

// gnark puts an instruction into the first level that is possible, so that a circuit of a
// chain of hashes has thousands of levels, most too short to share. A schedule is another
// order in levels, in which what an instruction reads is set before its level too:
//   - An instruction that sets no wire only checks. It comes after all others.
//   - An instruction whose outputs are not needed before the next of every stride levels
//     waits until then, and is solved beside all that wait.
//
// What is left, the chain of instructions that wait for each other, is short enough for
// one goroutine, and the rest are levels long enough for all processors.
const (
	stride     = 96      // of gnark's levels
	checkLevel = 1 << 16 // checks a level, after which a solver looks whether it is to stop
)

// schedules has the levels of the systems that were solved, as long as those live, or nil
// while they are being made.
var schedules struct {
	sync.Mutex
	of map[weak.Pointer[constraint.System]][][]uint32
}

// levels returns the levels by which to solve the system: the first time gnark's, beside
// which a schedule is made. A schedule has four bytes for each instruction; making it
// takes one processor about as long as solving, and sixteen bytes for each wire.
func (r *run[S, PS]) levels() [][]uint32 {
	key := weak.Make(r.sys)
	schedules.Lock()
	defer schedules.Unlock()
	made, known := schedules.of[key]
	switch {
	case made != nil:
		return made
	case !known:
		if schedules.of == nil {
			schedules.of = make(map[weak.Pointer[constraint.System]][][]uint32)
		}
		schedules.of[key] = nil
		runtime.AddCleanup(r.sys, forgetSchedule, key)
		go keepSchedule(key, &planner{sys: r.sys, kinds: r.kinds, tables: r.tables})
	}
	return r.sys.Levels
}

func forgetSchedule(key weak.Pointer[constraint.System]) {
	schedules.Lock()
	defer schedules.Unlock()
	delete(schedules.of, key)
}

// keepSchedule makes a schedule. A system that makes it panic is not as it should be, and
// goes on by gnark's levels, where the solver says what is wrong.
func keepSchedule(key weak.Pointer[constraint.System], p *planner) {
	made := p.sys.Levels
	defer func() {
		_ = recover()
		schedules.Lock()
		defer schedules.Unlock()
		if _, known := schedules.of[key]; known {
			schedules.of[key] = made
		}
	}()
	made = p.schedule()
}

// planner makes the schedule of a system.
type planner struct {
	sys    *constraint.System
	kinds  []kind
	tables []*table

	inputs uint32
	set    []int32 // by wire: the level that sets it; -1 is none
	needed []int32 // by wire: the last level in which the first that reads it can be solved
	batch  []int32 // by wire: the level before which the waiting instruction that sets it is solved; 0 is none
	part   []int32 // by wire: which part of that batch

	entries map[uint32][]int // by wire: the tables that it is an entry of
	of      []entries        // by table
}

// entries is what a planner knows of the entries of a table, as one.
type entries struct {
	needed      int32 // by the lookups seen so far
	batch, part int32 // the last
}

// schedule returns the levels. It goes through the instructions three times: to see who
// sets a wire; backwards, to see when a wire is needed; and forwards, to say who waits.
//
// An instruction of level l may wait for c, the next multiple of stride, if nobody needs
// its wires before level c. It runs before level c then, as do those who read its wires
// in levels before c: for they wait too, since what reads is needed later than what is
// read.
func (p *planner) schedule() [][]uint32 {
	p.begin()
	checks := p.setters()
	waits := p.needs(checks)
	return p.order(checks, waits)
}

func (p *planner) begin() {
	p.inputs = uint32(len(p.sys.Public) + len(p.sys.Secret))
	wires := int(p.inputs) + p.sys.NbInternalVariables
	p.set, p.needed = make([]int32, wires), make([]int32, wires)
	p.batch, p.part = make([]int32, wires), make([]int32, wires)
	for i := range p.set {
		p.set[i], p.needed[i] = -1, int32(len(p.sys.Levels))
	}
	p.entries = make(map[uint32][]int)
	p.of = make([]entries, len(p.tables))
	for i, t := range p.tables {
		p.of[i].needed = int32(len(p.sys.Levels))
		if t == nil {
			continue
		}
		for data := t.data; len(data) > 0; {
			data = p.terms(data, func(wire uint32) {
				if in := p.entries[wire]; !slices.Contains(in, i) {
					p.entries[wire] = append(in, i)
				}
			})
		}
	}
}

// terms calls f for the wires of a linear expression that are no inputs, and returns what
// follows it.
func (p *planner) terms(data []uint32, f func(wire uint32)) []uint32 {
	end := 1 + 2*int(data[0])
	for i := 2; i < end; i += 2 {
		p.wire(data[i], f)
	}
	return data[end:]
}

func (p *planner) wire(wire uint32, f func(wire uint32)) {
	if wire != constant && wire >= p.inputs {
		f(wire)
	}
}

// visit calls f for the wires that an instruction reads or sets, but for the entries of
// tables. out tells that the wire is set for sure; a constraint sets the one that has
// no value.
func (p *planner) visit(in *constraint.PackedInstruction, f func(wire uint32, out bool)) {
	data := p.sys.CallData[in.StartCallData:]
	reads := func(wire uint32) { f(wire, false) }
	lists := func(data []uint32, n int) {
		for range n {
			data = p.terms(data, reads)
		}
	}
	outputs := func(from, to uint32) {
		for wire := from; wire < to; wire++ {
			f(wire, true)
		}
	}
	switch k := p.kinds[in.BlueprintID]; k {
	case kindHint:
		c := readCall(data)
		lists(c.data, c.n)
		outputs(c.from, c.to)
	case kindLookup:
		lists(data[3:], int(data[2]))
		outputs(in.WireOffset, in.WireOffset+data[2])
	case kindInverses:
		lists(data[2:], int(data[1]))
		outputs(in.WireOffset, in.WireOffset+data[1])
	case kindR1C:
		terms := int(data[1] + data[2] + data[3])
		for i := range terms {
			p.wire(data[5+2*i], reads)
		}
	case kindSparseBool:
		p.wire(data[0], reads)
	default:
		for _, wire := range data[:3] {
			p.wire(wire, reads)
		}
	}
}

// setters notes which level sets a wire, and returns which instructions set none.
func (p *planner) setters() (checks []bool) {
	checks = make([]bool, len(p.sys.Instructions))
	for l, level := range p.sys.Levels {
		for _, i := range level {
			in := &p.sys.Instructions[i]
			checks[i] = true
			if p.commits(in) {
				continue
			}
			p.visit(in, func(wire uint32, out bool) {
				if p.set[wire] < 0 {
					p.set[wire] = int32(l)
					checks[i] = false
				}
			})
		}
	}
	return checks
}

// commits reports whether an instruction is the row of a commitment, which leaves a wire
// without a value as it is.
func (p *planner) commits(in *constraint.PackedInstruction) bool {
	data := p.sys.CallData[in.StartCallData:]
	return p.kinds[in.BlueprintID] == kindSparse && constraint.CommitmentConstraint(data[placeCommitment]) != constraint.NOT
}

// stays reports whether an instruction keeps its level: hints of users, which may rely on
// gnark's order, and commitments, for which a prover computes.
func (p *planner) stays(in *constraint.PackedInstruction) bool {
	if p.kinds[in.BlueprintID] != kindHint {
		return p.commits(in)
	}
	id := readCall(p.sys.CallData[in.StartCallData:]).hint
	return id == commitment || !strings.HasPrefix(p.sys.MHintsDependencies[id], "github.com/consensys/gnark/")
}

// next returns the level before which what waits in level l is solved.
func (p *planner) next(l int) int32 {
	return int32(min((l/stride+1)*stride, len(p.sys.Levels)))
}

// needs notes when wires are needed, and returns which instructions wait.
func (p *planner) needs(checks []bool) (waits []bool) {
	waits = make([]bool, len(p.sys.Instructions))
	for l, level := range slices.Backward(p.sys.Levels) {
		for _, i := range level {
			in := &p.sys.Instructions[i]
			if checks[i] && !p.stays(in) {
				continue
			}
			// The first level that needs what the instruction sets.
			first := int32(len(p.sys.Levels))
			p.visit(in, func(wire uint32, _ bool) {
				if p.set[wire] != int32(l) {
					return
				}
				first = min(first, p.needed[wire])
				for _, t := range p.entries[wire] {
					first = min(first, p.of[t].needed)
				}
			})
			own := first - 1 // the last level in which it can be solved
			if p.stays(in) {
				own = int32(l)
			} else {
				waits[i] = first >= p.next(l)
			}
			p.visit(in, func(wire uint32, _ bool) {
				if p.set[wire] != int32(l) {
					p.needed[wire] = min(p.needed[wire], own)
				}
			})
			if t := p.table(in); t != nil {
				t.needed = min(t.needed, own)
			}
		}
	}
	return waits
}

// table returns the table that an instruction reads, or nil.
func (p *planner) table(in *constraint.PackedInstruction) *entries {
	if p.kinds[in.BlueprintID] != kindLookup {
		return nil
	}
	return &p.of[in.BlueprintID]
}

// order makes the levels.
func (p *planner) order(checks, waits []bool) (levels [][]uint32) {
	room := make([]uint32, 0, len(p.sys.Instructions)) // of all levels
	add := func(level []uint32) {
		if len(level) > 0 {
			from := len(room)
			room = append(room, level...)
			levels = append(levels, room[from:len(room):len(room)])
		}
	}
	var last []uint32
	var parts [][]uint32 // of the batch before the next multiple of stride
	flush := func() {
		for i, part := range parts {
			add(part)
			parts[i] = part[:0]
		}
	}
	var own []uint32
	for l, level := range p.sys.Levels {
		if l%stride == 0 {
			flush()
		}
		own = own[:0]
		for _, i := range level {
			switch {
			case checks[i] && p.stays(&p.sys.Instructions[i]):
				own = append(own, i)
			case checks[i]:
				last = append(last, i)
			case waits[i]:
				k := p.wait(&p.sys.Instructions[i], l)
				for len(parts) <= k {
					parts = append(parts, nil)
				}
				parts[k] = append(parts[k], i)
			default:
				own = append(own, i)
			}
		}
		add(own)
	}
	flush()
	for part := range slices.Chunk(last, checkLevel) {
		add(part)
	}
	return levels
}

// wait returns the part of its batch in which a waiting instruction of level l is solved:
// one after those of the wires that it reads.
func (p *planner) wait(in *constraint.PackedInstruction, l int) int {
	before, part := p.next(l), int32(0)
	p.visit(in, func(wire uint32, _ bool) {
		if p.set[wire] != int32(l) && p.batch[wire] == before {
			part = max(part, p.part[wire]+1)
		}
	})
	if t := p.table(in); t != nil && t.batch == before {
		part = max(part, t.part+1)
	}
	p.visit(in, func(wire uint32, _ bool) {
		if p.set[wire] != int32(l) {
			return
		}
		p.batch[wire], p.part[wire] = before, part
		for _, k := range p.entries[wire] {
			t := &p.of[k]
			if t.batch != before {
				t.batch, t.part = before, 0
			}
			t.part = max(t.part, part)
		}
	})
	return int(part)
}
