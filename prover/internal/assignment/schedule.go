package assignment

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/crew"
)

const (
	stride    = 32  // of gnark's levels, a step
	slack     = 128 // levels between an instruction that waits and who needs it, at least
	shareSize = 64  // everyday instructions that are solved at a time beside the levels
	shareSoon = 16  // if the levels need them: a chain of parts is as long as their shares
)

// gnark puts an instruction into the first level that is possible, so that a circuit of a
// chain of hashes has thousands of levels, most too short to share. A schedule is a plan
// that tells apart
//   - the levels, of instructions that others soon wait for, in gnark's order. What is
//     left of a level is often so short that one goroutine does it,
//   - instructions that wait: nothing needs their outputs in the next slack levels. They
//     are solved beside the levels, and awaited where they are needed, and
//   - checks: instructions that set no wire. They are solved whenever a processor has
//     nothing else to do.
//
// Ten instructions, of the inputs a and b. Levels that are not drawn are empty; there are 192.
//
//	level     0          1          2          100        160        161
//	        0 c=a*b -> 2 e=c*c -> 5 g=e*e -> 6 h=g*g -> 7 i=h*h -> 9 i*j=a
//	            \----------\----> 4 c*e=b                            ^
//	        1 d=b*b -> 3 f=d*d -------------------->  8 j=f*f -------/
//
// In gnark's order 1 and 3 are solved in the levels 0 and 1. But level 160 is the first that
// needs f, so 3 may be solved as late as in level 159, and 1 before it. They wait, in two
// parts, since one reads the other. 4 and 9 only check. So the schedule is
//
//	step                 0                1, 2  3    4       5
//	levels               [0] [2] [5]            [6]          [7 8]
//	released after them  part 0, part 1
//	awaited before them                              part 0  part 1
//	checks               4                                   9
//
// where part 0 is [1], part 1 is [3], and part 1 begins when part 0 has ended.

// plan is an order in which to solve a system. It is only read.
type plan struct {
	steps []step
	// waiting is instructions that do not depend on each other, part by part, in the order in
	// which the levels need them. parts says how the crew does them.
	waiting [][]uint32
	parts   []crew.Part
	checks  []uint32
	share   int // checks that are solved at a time
}

// step is some levels, and where the plan stands before and after them.
type step struct {
	levels []level
	short  bool // no level is worth sharing
	needs  int  // how many waiting parts, counted from the first, must be done before this step
	// waiting are the parts that may be solved after the levels. When those of all steps so far are
	// done, the plan's first checks checks may be solved.
	waiting []int32
	checks  int
}

// level is instructions that do not depend on each other.
type level struct {
	list  []uint32
	worth int // everyday instructions
	// alone says that one goroutine solves them in turn, as gnark does.
	alone bool
}

// shareOf returns the instructions of a part's share.
func (p *plan) shareOf(part, share int) []uint32 {
	list, shares := p.waiting[part], p.parts[part].Shares
	n := len(list)
	return list[share*n/shares : (share+1)*n/shares]
}

// byLevels returns the plan of gnark's levels.
func (r *run[S, PS]) byLevels() *plan {
	foreign := foreignHints(r.sys)
	levels := make([]level, len(r.sys.Levels))
	for i, l := range r.sys.Levels {
		levels[i] = level{list: l, worth: len(l) * r.weight}
		if len(foreign) > 0 && len(l) <= inTurn {
			levels[i].alone = slices.ContainsFunc(l, func(k uint32) bool {
				in := &r.sys.Instructions[k]
				return r.kinds[in.BlueprintID] == kindHint && foreign[readCall(r.sys.CallData[in.StartCallData:]).hint]
			})
		}
	}
	return &plan{steps: []step{{levels: levels}}, share: 1}
}

// inTurn is the length up to which gnark's solver does a level by one goroutine, so that
// hints in it may share variables. Hints that are not gnark's own keep that.
const inTurn = 50

// facts is what is known of a system that was solved, as long as it lives.
type facts struct {
	of identity

	scaled sync.Once
	scales []int32  // of its coefficients
	places sync.Map // where long lists have their expressions: *uint32 to places
	tables sync.Map // counted tables of constants: *uint32 to *rows

	begun atomic.Bool // whether a plan is being made
	plan  atomic.Pointer[plan]
	made  chan struct{} // closed when there is a plan
}

// identity tells whether a system is still the one that facts are of: another may have been
// read into the same variable.
type identity struct {
	instructions                       *constraint.PackedInstruction
	data                               *uint32
	count, words, levels, coefficients int
}

func identityOf[S any](sys *constraint.System, coefficients []S) identity {
	id := identity{count: len(sys.Instructions), words: len(sys.CallData), levels: len(sys.Levels), coefficients: len(coefficients)}
	if id.count > 0 && id.words > 0 {
		id.instructions, id.data = &sys.Instructions[0], &sys.CallData[0]
	}
	return id
}

// known has the facts of the systems that were solved.
var known struct {
	sync.Mutex
	of map[weak.Pointer[constraint.System]]*facts
}

// factsOf returns what is known of a system, new facts the first time.
func factsOf(sys *constraint.System, id identity) *facts {
	key := weak.Make(sys)
	known.Lock()
	defer known.Unlock()
	f, ok := known.of[key]
	if ok && f.of == id {
		return f
	}
	if known.of == nil {
		known.of = make(map[weak.Pointer[constraint.System]]*facts)
	}
	f = &facts{of: id, made: make(chan struct{})}
	known.of[key] = f
	if !ok {
		runtime.AddCleanup(sys, forgetFacts, key)
	}
	return f
}

func forgetFacts(key weak.Pointer[constraint.System]) {
	known.Lock()
	defer known.Unlock()
	delete(known.of, key)
}

// look takes what is known of the system, and the plan by which to solve it: the first
// time gnark's levels, beside which a schedule is made. A schedule has four bytes for each
// instruction and 40 for each level; making it takes one processor about as long as solving,
// and 12 bytes for each wire. One goroutine without helpers needs none.
func (r *run[S, PS]) look() {
	f := factsOf(r.sys, identityOf(r.sys, r.coefficients))
	f.scaled.Do(func() { f.scales = scalesOf[S, PS](&r.reducer, r.coefficients) })
	r.facts, r.scales = f, f.scales
	if r.Workers() > 1 && f.begun.CompareAndSwap(false, true) {
		go f.make(newPlanner(r))
	}
	if r.plan = f.plan.Load(); r.plan == nil {
		r.plan = r.byLevels()
	}
}

// make makes the schedule. A system that makes the planner panic is not as it should be,
// and goes on by gnark's levels, where the solver says what is wrong.
func (f *facts) make(p *planner) {
	defer close(f.made)
	defer func() { _ = recover() }()
	f.plan.Store(p.schedule())
}

// problem is what a schedule is made from: a system, and what the solver knows of its
// instructions. It is only read.
type problem struct {
	sys     *constraint.System
	kinds   []kind
	tables  []*table
	gkrs    []gkr
	known   map[solver.HintID]entry // hints that are found in another way
	foreign map[solver.HintID]bool  // hints that are not of gnark's library
	square  int                     // of an element's length, in that of four words

	inputs uint32 // wires before the first that an instruction sets
	end    int32  // the number of levels: when what only checks read is needed
}

// planner makes the schedule of a problem, in three passes over the instructions.
type planner struct {
	problem

	// Of the first pass and the second, by wire.
	set    []int32 // the level that sets it; -1 is none
	needed []int32 // the first level that needs it

	// Of the third pass.
	part  []int32 // by wire: the part of waiting instructions that sets it; -1 is none
	parts []*open
	reads []int32 // for a moment

	entries map[uint32][]int // by wire: the tables that it is an entry of
	of      []entries        // by table
}

// entries is what a planner knows of the entries of a table, as one.
type entries struct {
	needed int32   // by the lookups seen so far
	parts  []int32 // that set some
	step   int     // of the last of them
	depth  int     // of what reads all of them, in that step
}

// open is a part of waiting instructions that is being made: those of a step, that read as
// many others of the step one after the other, and are needed about as soon.
type open struct {
	list   []uint32
	worth  int
	step   int
	depth  int
	needed int         // the first step that needs it
	reads  []int32     // parts
	asked  map[int]int // by table: how many of its parts are in reads
	number int32       // in the plan
}

func newPlanner[S limbs, PS curves.Scalar[S]](r *run[S, PS]) *planner {
	var e S
	known := make(map[solver.HintID]entry)
	for _, h := range r.hints {
		known[h.id] = h.entry
	}
	return &planner{problem: problem{
		sys: r.sys, kinds: r.kinds, tables: r.tables, gkrs: r.gkrs, known: known, foreign: foreignHints(r.sys), square: len(e) * len(e) / 16,
		inputs: uint32(len(r.sys.Public) + len(r.sys.Secret)), end: int32(len(r.sys.Levels)),
	}}
}

// worth returns how many everyday instructions, of 0.1 us, one is worth. The figures are
// rough: of a multiplication in an emulated field, for the hints.
func (p *problem) worth(in *constraint.PackedInstruction) int {
	data := p.sys.CallData[in.StartCallData:]
	const inverse = 16
	switch p.kinds[in.BlueprintID] {
	case kindHint:
		c := readCall(data)
		e := p.known[c.hint]
		if e.way == wayNone {
			return 32 + 2*(c.n+int(c.to-c.from))
		}
		if e.emulated {
			return 4 + int(data[0])/16
		}
		return 1 + int(data[0])/everyday
	case kindLookup:
		return int(data[2])
	case kindInverses:
		return inverse + int(data[1])
	case kindR1C:
		return 1 + int(data[0])*p.square/(everyday/2)
	case kindGKR:
		return 32 * (int(data[0]) + int(p.gkrs[in.BlueprintID].outputs))
	}
	return 1
}

// role says when an instruction is solved.
type role uint8

const (
	inLevel role = iota
	waits
	checks
)

// schedule returns the plan. It goes through the instructions three times: to see who
// sets a wire; backwards, to see when a wire is needed; and forwards, to put them in
// order.
//
// An instruction may wait if nothing needs its wires in the next slack levels: no level,
// and nothing that waits and has to be solved by then in turn. Those who read them and
// wait too, or check, are solved after it: in a later part, or when the parts of its
// step are done.
func (p *planner) schedule() *plan {
	p.begin()
	roles := p.setters()
	p.needs(roles)
	return p.order(roles)
}

func (p *planner) begin() {
	wires := int(p.inputs) + p.sys.NbInternalVariables
	p.set, p.needed, p.part = make([]int32, wires), make([]int32, wires), make([]int32, wires)
	for i := range p.set {
		p.set[i], p.needed[i], p.part[i] = -1, p.end, -1
	}
	p.entries = make(map[uint32][]int)
	p.of = make([]entries, len(p.tables))
	for i, t := range p.tables {
		p.of[i] = entries{needed: p.end}
		if t == nil {
			continue
		}
		for data := t.all.data; len(data) > 0; {
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
func (p *problem) terms(data []uint32, f func(wire uint32)) []uint32 {
	end := 1 + 2*int(data[0])
	for i := 2; i < end; i += 2 {
		p.wire(data[i], f)
	}
	return data[end:]
}

func (p *problem) wire(wire uint32, f func(wire uint32)) {
	if wire != constant && wire >= p.inputs {
		f(wire)
	}
}

// visit calls f for the wires that an instruction reads or sets, but for the entries of
// tables. out tells that the wire is set for sure; a constraint sets the one that has
// no value.
func (p *problem) visit(in *constraint.PackedInstruction, f func(wire uint32, out bool)) {
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
	case kindGKR:
		g := &p.gkrs[in.BlueprintID]
		for rest := data[g.inputs:data[0]]; len(rest) > 0; {
			rest = p.terms(rest, reads)
		}
		outputs(in.WireOffset, in.WireOffset+g.outputs)
	case kindSparseBool: // sets no wire, and is a check
	default:
		for _, wire := range data[:3] {
			p.wire(wire, reads)
		}
	}
}

// setters notes which level sets a wire, and returns which instructions set none.
func (p *planner) setters() (roles []role) {
	roles = make([]role, len(p.sys.Instructions))
	for l, level := range p.sys.Levels {
		for _, i := range level {
			in := &p.sys.Instructions[i]
			roles[i] = checks
			if p.kinds[in.BlueprintID] == kindR1C && p.sys.CallData[in.StartCallData] > giant {
				roles[i] = inLevel
			}
			p.visit(in, func(wire uint32, out bool) {
				if p.set[wire] < 0 {
					p.set[wire] = int32(l)
					roles[i] = inLevel
				}
			})
		}
	}
	return roles
}

// stays reports whether an instruction keeps its level: hints of users, which may rely on
// gnark's order, what is work for all processors, and GKR's, which read what others kept.
func (p *problem) stays(in *constraint.PackedInstruction) bool {
	data := p.sys.CallData[in.StartCallData:]
	switch p.kinds[in.BlueprintID] {
	case kindHint:
		id := readCall(data).hint
		return id == commitment || p.foreign[id] || p.known[id].list
	case kindInverses:
		return data[1] > batch
	case kindR1C:
		return data[0] > giant
	case kindGKR:
		return true
	}
	return false
}

// needs notes when wires are needed, and which instructions wait.
func (p *planner) needs(roles []role) {
	for l, level := range slices.Backward(p.sys.Levels) {
		for _, i := range level {
			in := &p.sys.Instructions[i]
			if roles[i] == checks {
				continue
			}
			first := p.end // the first level that needs what the instruction sets
			p.visit(in, func(wire uint32, _ bool) {
				if p.set[wire] != int32(l) {
					return
				}
				first = min(first, p.due(wire))
			})
			last := int32(l) // in which it could be solved
			if int(first) >= l+slack && !p.stays(in) {
				roles[i] = waits
				last = first - 1
			}
			p.visit(in, func(wire uint32, _ bool) {
				if p.set[wire] != int32(l) {
					p.needed[wire] = min(p.needed[wire], last)
				}
			})
			if t := p.table(in); t != nil {
				t.needed = min(t.needed, last)
			}
		}
	}
}

// due returns the first level that needs a wire, by itself or as an entry of a table.
func (p *planner) due(wire uint32) int32 {
	first := p.needed[wire]
	for _, t := range p.entries[wire] {
		first = min(first, p.of[t].needed)
	}
	return first
}

// table returns the table that an instruction reads, or nil.
func (p *planner) table(in *constraint.PackedInstruction) *entries {
	if p.kinds[in.BlueprintID] != kindLookup {
		return nil
	}
	return &p.of[in.BlueprintID]
}

// order makes the plan.
func (p *planner) order(roles []role) *plan {
	made := new(plan)
	kept := make(room, 0, len(roles))
	var own, last []uint32
	var s step
	checking, before := 0, 0 // parts of earlier steps
	for l, level := range p.sys.Levels {
		own = own[:0]
		for _, i := range level {
			in := &p.sys.Instructions[i]
			switch roles[i] {
			case checks:
				last = append(last, i)
				checking += p.worth(in)
			case waits:
				o := p.wait(in, l, before)
				o.list, o.worth = append(o.list, i), o.worth+p.worth(in)
			default:
				own = append(own, i)
			}
		}
		if len(own) > 0 {
			l := p.levelOf(own, len(level))
			l.list = kept.keep(own)
			s.levels = append(s.levels, l)
		}
		if (l+1)%stride == 0 || l == len(p.sys.Levels)-1 {
			for _, o := range p.parts[before:] {
				o.end(&kept)
			}
			before = len(p.parts)
			slices.Sort(last[s.checks:])
			s.end(len(last))
			made.steps = append(made.steps, s)
			s = step{checks: s.checks}
		}
	}
	p.number(made)
	made.checks = kept.keep(last)
	made.share = max(shareSize*len(last)/max(checking, 1), 1)
	return made
}

// room has the lists of a plan, one after the other: an instruction is in one of them.
type room []uint32

// keep returns a copy of a list in the room.
func (r *room) keep(list []uint32) []uint32 {
	from := len(*r)
	*r = append(*r, list...)
	return (*r)[from:len(*r):len(*r)]
}

// end completes a part: its step has no more instructions.
func (o *open) end(kept *room) {
	slices.Sort(o.list)
	o.list = kept.keep(o.list)
	slices.Sort(o.reads)
	o.reads = slices.Compact(o.reads)
}

// end completes a step. checks is how many there are in it and before.
func (s *step) end(checks int) {
	s.checks = checks
	s.levels = slices.Clip(s.levels)
	s.short = true
	for i := range s.levels {
		s.short = s.short && s.levels[i].worth < crew.Alone
	}
}

// number numbers the parts in the order in which they are needed.
func (p *planner) number(made *plan) {
	all := p.sorted()
	made.waiting, made.parts = make([][]uint32, len(all)), make([]crew.Part, len(all))
	for i, o := range all {
		o.number = int32(i)
		made.waiting[i] = o.list
		size := shareSize
		if o.needed < len(made.steps) {
			size = shareSoon
		}
		made.parts[i] = crew.Part{Shares: max(min(o.worth/size, len(o.list)), 1), Reads: len(o.reads)}
		for _, r := range o.reads {
			read := &made.parts[p.parts[r].number]
			read.Then = append(read.Then, o.number)
		}
		s := &made.steps[o.step]
		s.waiting = append(s.waiting, o.number)
	}
	needs := 0
	for i := range made.steps {
		for needs < len(all) && all[needs].needed <= i {
			needs++
		}
		made.steps[i].needs = needs
	}
}

// sorted returns the parts in the order in which they are needed. What a part reads comes
// before it, and is needed when it is, or before.
func (p *planner) sorted() []*open {
	all := slices.Clone(p.parts)
	slices.SortStableFunc(all, func(a, b *open) int { return cmp.Or(a.step-b.step, a.depth-b.depth) })
	for _, o := range slices.Backward(all) {
		for _, r := range o.reads {
			p.parts[r].needed = min(p.parts[r].needed, o.needed)
		}
	}
	slices.SortStableFunc(all, func(a, b *open) int { return a.needed - b.needed })
	return all
}

// levelOf returns a level of instructions, which are some of those of one of gnark's levels. of
// is how many that one had.
func (p *planner) levelOf(list []uint32, of int) level {
	worths := make([]int, len(list))
	var l level
	for i, k := range list {
		in := &p.sys.Instructions[k]
		worths[i] = p.worth(in)
		l.worth += worths[i]
		if of <= inTurn && p.kinds[in.BlueprintID] == kindHint && p.foreign[readCall(p.sys.CallData[in.StartCallData:]).hint] {
			l.alone = true
		}
	}
	if !l.alone && len(list) > 2 && slices.Max(worths) > 4*slices.Min(worths) {
		deal(list, worths)
	}
	return l
}

// deal puts instructions in an order in which equal shares of the list take about as long.
func deal(list []uint32, worths []int) {
	const piles = 8
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return worths[b] - worths[a] })
	dealt := make([]uint32, 0, len(list))
	for pile := range piles {
		for i := pile; i < len(order); i += piles {
			dealt = append(dealt, list[order[i]])
		}
	}
	copy(list, dealt)
}

// wait returns the part in which a waiting instruction of level l is solved, one after
// those of the wires that it reads. before is how many parts there were before the step.
func (p *planner) wait(in *constraint.PackedInstruction, l, before int) *open {
	depth, first := p.awaits(in, l, before)
	t, step := p.table(in), l/stride
	if t != nil && t.step == step {
		depth = max(depth, t.depth)
	}
	needed := int(first) / stride
	if first == p.end {
		needed = (len(p.sys.Levels) + stride - 1) / stride
	}
	o, number := p.open(before, step, depth, needed)
	o.reads = append(o.reads, p.reads...)
	if t != nil {
		o.ask(int(in.BlueprintID), t)
	}
	p.give(in, l, number, depth)
	return o
}

// awaits adds to p.reads the parts that a waiting instruction of level l reads. depth is how many
// parts of its step must be solved before it, one after the other. first is the first level that
// needs what it sets.
func (p *planner) awaits(in *constraint.PackedInstruction, l, before int) (depth int, first int32) {
	first = p.end
	reads := p.reads[:0]
	p.visit(in, func(wire uint32, _ bool) {
		if p.set[wire] == int32(l) {
			first = min(first, p.due(wire))
		} else if part := p.part[wire]; part >= 0 {
			if int(part) >= before {
				depth = max(depth, p.parts[part].depth+1)
			}
			if !slices.Contains(reads, part) {
				reads = append(reads, part)
			}
		}
	})
	p.reads = reads
	return depth, first
}

// give notes that a part sets the wires that an instruction of level l sets, and the entries of
// tables among them. depth is the part's.
func (p *planner) give(in *constraint.PackedInstruction, l int, number int32, depth int) {
	step := l / stride
	p.visit(in, func(wire uint32, _ bool) {
		if p.set[wire] != int32(l) {
			return
		}
		p.part[wire] = number
		for _, k := range p.entries[wire] {
			t := &p.of[k]
			if !slices.Contains(t.parts, number) {
				t.parts = append(t.parts, number)
			}
			if t.step != step {
				t.step, t.depth = step, 0
			}
			t.depth = max(t.depth, depth+1)
		}
	})
}

// ask notes that a part reads a table.
func (o *open) ask(table int, t *entries) {
	if o.asked == nil {
		o.asked = make(map[int]int)
	}
	o.reads = append(o.reads, t.parts[o.asked[table]:]...)
	o.asked[table] = len(t.parts)
}

// open returns the part of a step for instructions that have depth others of the step before them,
// and are needed by the step needed. Instructions that are needed within twice the time share a
// part.
func (p *planner) open(before, step, depth, needed int) (*open, int32) {
	soon := bits.Len(uint(needed - step))
	for i, o := range p.parts[before:] {
		if o.depth == depth && bits.Len(uint(o.needed-step)) == soon {
			o.needed = min(o.needed, needed)
			return o, int32(before + i)
		}
	}
	o := &open{step: step, depth: depth, needed: needed}
	p.parts = append(p.parts, o)
	return o, int32(len(p.parts) - 1)
}
