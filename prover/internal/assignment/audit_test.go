package assignment

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/crew"
)

// Audit makes the schedule of a system and says what is wrong with it: each instruction has
// to be in it once, after all that it reads.
func Audit[S limbs, PS curves.Scalar[S]](sys System[S], cfg solver.Config) (s Scheduled, err error) {
	given := len(sys.Public) + len(sys.Secret)
	if sys.Type == constraint.SystemR1CS {
		given--
	}
	r, err := begin[S, PS](sys, make([]S, given), cfg)
	if err != nil {
		return s, err
	}
	p := newPlanner(r)
	a := &auditor{System: sys.System, planner: p, plan: p.schedule(), foreign: foreignHints(sys.System)}
	a.follow()
	a.place()
	a.order()
	a.numbers()
	a.waiting()
	a.inTurns(a.plan)
	a.inTurns(r.byLevels())
	return Scheduled{len(a.plan.steps), len(a.plan.parts), len(a.plan.checks), a.chained}, errors.Join(a.wrong...)
}

// Scheduled counts what is in a schedule: Chained is the parts that read others.
type Scheduled struct{ Steps, Parts, Checks, Chained int }

// auditor compares a schedule with what gnark says of the instructions.
type auditor struct {
	*constraint.System
	planner *planner
	plan    *plan
	foreign map[solver.HintID]bool
	wrong   []error
	chained int

	// by instruction
	reads [][]uint32 // wires, those of tables too
	level []int      // gnark's
	at    []place

	releasedBy []int // by part: the step

	// by wire
	setBy  []int // the instruction, or -1
	levels []constraint.Level
	now    int // the instruction that is looked at
}

// place is where an instruction is solved: in a level, in a part that waits, or as a check.
type place struct {
	times int
	role  role
	step  int // of a part or a check: the one that releases it
	index int // the level in its step, or the part
}

func (a *auditor) complain(format string, args ...any) {
	if len(a.wrong) < 10 {
		a.wrong = append(a.wrong, fmt.Errorf(format, args...))
	}
}

// The auditor is an instruction tree of gnark's, so that gnark says what is read and set.

func (a *auditor) HasWire(wire uint32) bool {
	return wire >= a.planner.inputs && int(wire) < len(a.setBy)
}

func (a *auditor) GetWireLevel(wire uint32) constraint.Level {
	a.reads[a.now] = append(a.reads[a.now], wire)
	return a.levels[wire]
}

func (a *auditor) InsertWire(wire uint32, level constraint.Level) {
	a.setBy[wire], a.levels[wire] = a.now, level
}

// follow asks gnark what the instructions read and set.
func (a *auditor) follow() {
	wires := int(a.planner.inputs) + a.NbInternalVariables
	a.setBy, a.levels = make([]int, wires), make([]constraint.Level, wires)
	for i := range a.setBy {
		a.setBy[i], a.levels[i] = -1, constraint.LevelUnset
	}
	n := len(a.Instructions)
	a.reads, a.level, a.at = make([][]uint32, n), make([]int, n), make([]place, n)
	for a.now = range n {
		in := a.GetInstruction(a.now)
		b := a.Blueprints[a.Instructions[a.now].BlueprintID]
		b.UpdateInstructionTree(in, a)
		if l, ok := b.(*constraint.BlueprintLookupHint[constraint.U64]); ok { // which tells of an entry once
			for data, k := l.EntriesCalldata, 0; k < int(in.Calldata[1]); k++ {
				terms := data[1 : 1+2*data[0]]
				for i := 1; i < len(terms); i += 2 {
					if a.HasWire(terms[i]) {
						a.reads[a.now] = append(a.reads[a.now], terms[i])
					}
				}
				data = data[1+len(terms):]
			}
		}
	}
	for l, level := range a.Levels {
		for _, i := range level {
			a.level[i] = l
		}
	}
}

// place notes where the instructions are.
func (a *auditor) place() {
	note := func(i uint32, p place) {
		p.times = a.at[i].times + 1
		a.at[i] = p
	}
	from := 0
	a.releasedBy = make([]int, len(a.plan.parts))
	for s := range a.plan.steps {
		step := &a.plan.steps[s]
		for k := range step.levels {
			for _, i := range step.levels[k].list {
				note(i, place{role: inLevel, step: s, index: k})
			}
		}
		for _, part := range step.waiting {
			a.releasedBy[part] = s
			for _, i := range a.plan.waiting[part] {
				note(i, place{role: waits, step: s, index: int(part)})
			}
		}
		for _, i := range a.plan.checks[from:step.checks] {
			note(i, place{role: checks, step: s})
		}
		from = step.checks
	}
	if from != len(a.plan.checks) {
		a.complain("%d of %d checks are released", from, len(a.plan.checks))
	}
	for i, p := range a.at {
		if p.times != 1 {
			a.complain("instruction %d is solved %d times", i, p.times)
		}
	}
}

// order looks whether what is read is there: whatever the crew does first that it may.
func (a *auditor) order() {
	before := a.chains()
	for i, own := range a.at {
		for _, wire := range a.reads[i] {
			k := a.setBy[wire]
			if k == i || k < 0 {
				continue
			}
			of, there := a.at[k], false
			switch {
			case of.role == checks:
			case of.role == inLevel && own.role == inLevel:
				there = of.step < own.step || of.step == own.step && of.index < own.index
			case of.role == inLevel:
				there = of.step <= own.step
			case own.role == checks:
				there = of.step <= own.step
			case of.index < a.plan.steps[own.step].needs:
				there = true // awaited
			case own.role == waits:
				there = before[own.index].Bit(of.index) == 1
			}
			if !there {
				a.complain("instruction %d, %+v, reads wire %d, which %d sets, %+v", i, own, wire, k, of)
			}
		}
	}
}

// chains returns by part those that have to end before it.
func (a *auditor) chains() []big.Int {
	before := make([]big.Int, len(a.plan.parts)) // a bit for each part
	reads := make([]int, len(before))
	for i, part := range a.plan.parts {
		for k, next := range part.Then {
			if slices.Contains(part.Then[:k], next) {
				a.complain("part %d tells part %d twice", i, next)
			}
			if int(next) <= i {
				a.complain("part %d is awaited before part %d, which it reads", next, i)
				continue
			}
			before[next].Or(&before[next], &before[i])
			before[next].SetBit(&before[next], i, 1)
			reads[next]++
		}
	}
	for i, part := range a.plan.parts {
		if reads[i] > 0 {
			a.chained++
		}
		if part.Reads != reads[i] {
			a.complain("part %d waits for %d parts, and %d tell it", i, part.Reads, reads[i])
		}
	}
	return before
}

// numbers looks at what the crew goes by.
func (a *auditor) numbers() {
	p := a.plan
	if want := (len(a.Levels) + stride - 1) / stride; len(p.steps) != want {
		a.complain("%d steps for %d levels", len(p.steps), len(a.Levels))
	}
	if p.share < 1 {
		a.complain("shares of %d checks", p.share)
	}
	released := 0
	for s := range p.steps {
		step := &p.steps[s]
		for k := range p.parts[:step.needs] {
			if a.releasedBy[k] >= s {
				a.complain("step %d awaits part %d, which step %d releases", s, k, a.releasedBy[k])
			}
		}
		released += len(step.waiting)
		short := true
		for k := range step.levels {
			l := &step.levels[k]
			worth, most, least := 0, 0, math.MaxInt
			for _, i := range l.list {
				one := a.planner.worth(&a.Instructions[i])
				worth, most, least = worth+one, max(most, one), min(least, one)
			}
			if !l.alone && len(l.list) > 2 && most > 4*least && a.planner.worth(&a.Instructions[l.list[0]]) < most {
				a.complain("level %d of step %d does not begin with what takes longest", k, s)
			}
			if l.worth != worth {
				a.complain("level %d of step %d is worth %d, not %d", k, s, worth, l.worth)
			}
			short = short && worth < crew.Alone
		}
		if step.short != short {
			a.complain("step %d is short: %v, its levels say %v", s, step.short, short)
		}
	}
	if released != len(p.parts) {
		a.complain("%d of %d parts are released", released, len(p.parts))
	}
	for i, part := range p.parts {
		list := []uint32{}
		for k := range part.Shares {
			share := p.shareOf(i, k)
			if len(share) == 0 {
				a.complain("share %d of part %d is empty", k, i)
			}
			list = append(list, share...)
		}
		if !slices.Equal(list, p.waiting[i]) {
			a.complain("the shares of part %d are not its instructions", i)
		}
	}
}

// waiting looks whether what can wait does: what nothing in the next levels needs, which
// needs it then and not when what waits too is solved at last.
func (a *auditor) waiting() {
	sets := make([][]uint32, len(a.at))
	for wire, i := range a.setBy {
		if i >= 0 {
			sets[i] = append(sets[i], uint32(wire))
		}
	}
	needed := make([]int, len(a.setBy)) // by wire: the first level that needs it
	for i := range needed {
		needed[i] = len(a.Levels)
	}
	for l, level := range slices.Backward(a.Levels) {
		for _, i := range level {
			in, own := &a.Instructions[i], a.at[i].role
			if (own == checks) == (len(sets[i]) > 0 || a.long(in)) {
				a.complain("instruction %d sets wires %v, and it is %+v", i, sets[i], a.at[i])
			}
			if own == checks {
				continue
			}
			first := len(a.Levels)
			for _, wire := range sets[i] {
				first = min(first, needed[wire])
			}
			if can := first >= l+slack && !a.stays(in); can != (own == waits) {
				a.complain("instruction %d of level %d, which level %d needs, is %+v: it can wait: %v", i, l, first, a.at[i], can)
			}
			last := l
			if own == waits {
				last = first - 1
			}
			for _, wire := range a.reads[i] {
				if a.setBy[wire] != int(i) {
					needed[wire] = min(needed[wire], last)
				}
			}
		}
	}
}

// stays reports whether an instruction is to stay in its level: users' hints, and work for all
// processors.
func (a *auditor) stays(in *constraint.PackedInstruction) bool {
	data := a.CallData[in.StartCallData:]
	switch a.planner.kinds[in.BlueprintID] {
	case kindHint:
		id := readCall(data).hint
		name := a.MHintsDependencies[id]
		return !ofLibrary(name) || library[name].list || name == solver.GetHintName(cs.Bsb22CommitmentComputePlaceholder)
	case kindInverses:
		return data[1] > batch
	case kindR1C:
		return data[0] > giant
	case kindGKR:
		return true
	}
	return false
}

// long reports whether an instruction is a constraint that is work for all processors.
func (a *auditor) long(in *constraint.PackedInstruction) bool {
	return a.planner.kinds[in.BlueprintID] == kindR1C && a.CallData[in.StartCallData] > giant
}

// inTurns looks whether users' hints of a level that gnark solves in turn are called in turn.
func (a *auditor) inTurns(p *plan) {
	for s := range p.steps {
		for k := range p.steps[s].levels {
			l := &p.steps[s].levels[k]
			users := slices.ContainsFunc(l.list, func(i uint32) bool {
				in := &a.Instructions[i]
				return a.planner.kinds[in.BlueprintID] == kindHint && a.foreign[readCall(a.CallData[in.StartCallData:]).hint] &&
					len(a.Levels[a.level[i]]) <= inTurn
			})
			if users != l.alone {
				a.complain("level %d of step %d has users' hints that come in turn: %v, and is solved in turn: %v", k, s, users, l.alone)
			}
			if l.alone && !slices.IsSorted(l.list) {
				a.complain("level %d of step %d is not in gnark's order", k, s)
			}
		}
	}
}
