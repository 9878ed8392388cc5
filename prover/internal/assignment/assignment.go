// Package assignment solves gnark's constraint systems: from the values of the inputs it
// finds those of all wires. It does what gnark's solver does, with the same values, by other
// means:
//   - the instructions of a level are shared among processors that wait for each
//     other by looking, not by sleeping: circuits have ten thousand levels and more of
//     some dozen instructions each,
//   - divisions of the same share of a level have one inversion together,
//   - hints of gnark's own library that are called once a wire are computed on
//     elements, not on big integers, and those over long lists by all processors.
//
// What it does not know, and whatever is wrong with a witness, it leaves to gnark's
// solver, which says what is wrong in its own words: ErrUndecided. A solution is never
// wrong: every constraint that has nothing left to solve is checked here too.
package assignment

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
	"github.com/rs/zerolog"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/crew"
	"github.com/pippin-zk/pippin/prover/internal/merge"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// ErrUndecided is wrapped by the errors of what gnark's solver has to decide.
var ErrUndecided = errors.New("assignment: for gnark's solver to decide")

// The errors that wrap ErrUndecided, and whose fault each is.
var (
	// ErrUnsupported is what this solver does not know: a system with blueprints that are
	// not gnark's, inputs of a wrong number, missing hints.
	ErrUnsupported = fmt.Errorf("%w: not supported", ErrUndecided)
	// ErrUnsatisfied is a constraint that does not hold, or a hint of gnark's that fails:
	// a witness that is wrong.
	ErrUnsatisfied = fmt.Errorf("%w: not satisfied", ErrUndecided)
	// ErrDefect is a fault of this solver, or of a system that no frontend made: a panic,
	// a wire that is solved twice, or read before it is solved.
	ErrDefect = fmt.Errorf("%w: a defect", ErrUndecided)
)

// ErrNotCanonical is wrapped by the error of inputs of which one is not below the
// field's modulus: arithmetic would read it as another number than the verifier does.
var ErrNotCanonical = errors.New("assignment: an input that is not below the field's modulus")

// System is a constraint system: gnark's tables, which are only read, and the table of
// coefficients.
type System[S any] struct {
	*constraint.System
	Coefficients []S
	// Lend, if it is not nil, returns memory for so many wires, which are zero. It may return nil: then the
	// solver has memory.
	Lend func(wires int) []S
	// Settled, if it is not nil, is called when all wires have values, while constraints are still being
	// checked, and returns at once. The wires are in lent memory if there is some. What it starts may read
	// them until they are wiped. If the solution fails, retract is called, which returns when nothing reads
	// them any more.
	Settled func(wires []S) (retract func())
}

// Solution has a value for each wire.
type Solution[S any] struct {
	Wires []S
	// Lent says that there is memory of System.Lend. OwnWires says that Wires are the solver's all the same: what
	// was lent has a copy.
	Lent, OwnWires bool
}

// Solver solves over one field. It keeps the memory of solutions that were given back
// for some seconds, since to make and clear it anew takes one processor as long as
// solving takes many.
type Solver[S any] struct {
	// Solve is the package's.
	Solve func(ctx context.Context, sys System[S], inputs []S, cfg solver.Config, commit Commit[S]) (*Solution[S], error)
	// Hint is a commit for gnark's solver.
	Hint func(Commit[S]) solver.Hint
	// Print prints what the circuit does, as gnark's solver prints it.
	Print func(sys System[S], wires []S, log zerolog.Logger)
	// Adder returns what adds up rows of a rank-1 system modulo q, after the solver's way: for one goroutine and the
	// values of all wires, add sets sum to a sum of terms, each the number of a coefficient and a wire, and wipe
	// overwrites what add kept. The first coefficients are gnark's constants, and the wire 0 is 1.
	Adder func(q *big.Int, coefficients []S) func(values []S) (add func(sum *S, terms []uint32), wipe func())

	mu   sync.Mutex
	room []*kept[S]
	size int // bytes in room
	most int
	of   int // bytes of an element
}

// kept is memory, cleared, until its time is over.
type kept[S any] struct {
	memory []S
	until  *time.Timer
}

// keepFor is how long memory is kept for the next proof, and mostKept how many bytes of it,
// or one solution: eight of a million constraints.
const (
	keepFor  = 10 * time.Second
	mostKept = 1 << 30
)

// mostInPlace is how many bytes of wires are solved where they are lent. The memory of a backend has pages of
// 4 KiB, and terms read wires at random.
var mostInPlace = 8 << 20

// Over returns a solver for a field.
func Over[S limbs, PS curves.Scalar[S]]() *Solver[S] {
	var e S
	s := &Solver[S]{most: mostKept, of: 8 * len(e), Hint: asHint[S, PS], Print: prints[S, PS], Adder: adder[S, PS]}
	s.Solve = func(ctx context.Context, sys System[S], inputs []S, cfg solver.Config, commit Commit[S]) (*Solution[S], error) {
		return solve[S, PS](ctx, s, sys, inputs, cfg, commit)
	}
	return s
}

// Free wipes a solution and takes it back, but for what was lent. Nothing may refer to it any more.
func (s *Solver[S]) Free(v *Solution[S]) {
	if !v.Lent || v.OwnWires {
		s.Give(v.Wires)
	}
}

// Give wipes memory of Take's up to its capacity, and takes it back. What was given back first is let go where there
// would be too much.
func (s *Solver[S]) Give(v []S) {
	merge.Wipe(v)
	k := &kept[S]{memory: v}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.size += s.of * cap(v); len(s.room) > 0 && s.size > s.most; {
		s.drop(0)
	}
	s.room = append(s.room, k)
	k.until = time.AfterFunc(keepFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.Index(s.room, k); i >= 0 {
			s.drop(i)
		}
	})
}

// drop takes memory out of the room, and returns it.
func (s *Solver[S]) drop(i int) []S {
	k := s.room[i]
	k.until.Stop()
	s.room = slices.Delete(s.room, i, i+1)
	s.size -= s.of * cap(k.memory)
	return k.memory
}

// take has room for a solution of so many wires, which are zero. What was given back is taken for circuits of
// the same size. lent is where the wires are to be in the end, or nil.
func (s *Solver[S]) take(lend func(wires int) []S, wires int) (v *Solution[S], lent []S) {
	if lend != nil {
		lent = lend(wires)
	}
	switch {
	case lent == nil:
		return &Solution[S]{Wires: s.Take(wires)}, nil
	case wires*s.of <= mostInPlace:
		return &Solution[S]{Wires: lent, Lent: true}, lent
	default:
		return &Solution[S]{Wires: s.Take(wires), Lent: true, OwnWires: true}, lent
	}
}

// Take returns the solver's own memory, for so many wires or other elements, which are zero. Give takes it back.
func (s *Solver[S]) Take(n int) []S {
	if v := s.taken(n); v != nil {
		return v[:n]
	}
	return make([]S, n)
}

// taken returns memory that was given back, or nil.
func (s *Solver[S]) taken(n int) []S {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.room, func(k *kept[S]) bool { return cap(k.memory) == n })
	if i < 0 {
		return nil
	}
	return s.drop(i)
}

// limbs are field elements of gnark-crypto, in Montgomery form, the lowest word first.
type limbs interface{ ~[4]uint64 | ~[6]uint64 }

// none is the highest word of a wire without a value. No element below the modulus has
// it, and others are refused: the moduli are far below 2^256 and 2^384.
const none = ^uint64(0)

func unknown[S limbs](v *S) bool { return (*v)[len(*v)-1] == none }

func forget[S limbs](v *S) { (*v)[len(*v)-1] = none }

// constant is the wire of a term that is its coefficient.
const constant = ^uint32(0)

// one is the wire of a rank-1 system whose value is 1.
const one = 0

// run is one system being solved.
type run[S limbs, PS curves.Scalar[S]] struct {
	*crew.Crew
	workers      []*worker[S, PS]
	weight       int // how many everyday instructions one of the system is worth, by its terms
	sys          *constraint.System
	coefficients []S
	values       []S
	sparse       bool
	kinds        []kind
	tables       []*table // by blueprint, of those that are lookups
	gkrs         []gkr    // by blueprint
	own          *Blueprints
	exit         Exit
	hints        []hint[S, PS]
	q            *big.Int
	reducer[S]
	scales  []int32              // of coefficients that are small integers, else 0
	raw     S                    // 1, not in Montgomery form: multiplied by it, an element leaves that form
	small   [256]S               // the first integers
	bytes   [1 << byteBits]uint8 // which of them an element may be, by byteSlot
	commit  Commit[S]
	settled func(wires []S) (retract func()) // the system's, or nil
	lent    []S                              // where the wires are to be then, or nil
	retract func()                           // what settled started, or nil

	multiplyAll func(to, a, b []S)

	facts *facts
	plan  *plan
	level []uint32 // of a plan that is being solved
	share func(worker, lo, hi int) error

	mu sync.Mutex
	// later is work for all processors that was met in a level.
	later []func() error
}

// kind says how an instruction is solved, by its blueprint.
type kind uint8

const (
	kindHint kind = iota
	kindLookup
	kindInverses
	kindR1C
	kindSparseAdd
	kindSparseMul
	kindSparseBool
	kindSparse
	kindGKR
)

// kindOf knows the blueprints of gnark's frontends.
func kindOf(b constraint.Blueprint, sparse bool) (k kind, ok bool) {
	switch b.(type) {
	case *constraint.BlueprintGenericHint:
		return kindHint, true
	case *constraint.BlueprintLookupHint[constraint.U64]:
		return kindLookup, true
	case *constraint.BlueprintGenericR1C:
		return kindR1C, !sparse
	case *constraint.BlueprintSparseR1CAdd[constraint.U64]:
		return kindSparseAdd, sparse
	case *constraint.BlueprintSparseR1CMul[constraint.U64]:
		return kindSparseMul, sparse
	case *constraint.BlueprintSparseR1CBool[constraint.U64]:
		return kindSparseBool, sparse
	case *constraint.BlueprintGenericSparseR1C[constraint.U64]:
		return kindSparse, sparse
	}
	if versions.IsBatchInverse(b) {
		return kindInverses, true
	}
	return kindGKR, isGKR(b)
}

// solve finds the values of all wires from those of the inputs, public ones first (in
// a rank-1 system without the one that is 1). cfg is what gnark's solver options say.
// Hints of gnark's library are called several at a time, others only where gnark's solver
// does so, in levels of more than 50 instructions. An error of another one is returned
// as it is, and a panic of it is an error. With a wrong witness gnark's solver calls
// hints again, so that those with side effects have them twice. When ctx ends that is
// an error too. Whoever gets a solution wipes it.
func solve[S limbs, PS curves.Scalar[S]](ctx context.Context, own *Solver[S], sys System[S], inputs []S,
	cfg solver.Config, commit Commit[S]) (*Solution[S], error) {
	r, err := begin[S, PS](sys, inputs, cfg)
	if err != nil {
		return nil, err
	}
	r.commit, r.settled = commit, sys.Settled
	r.hire(cfg.NbTasks)
	r.look()
	sol := r.fill(own, sys, inputs)
	err = r.outlive(ctx)
	r.dismiss()
	if err != nil {
		if r.retract != nil {
			r.retract()
		}
		own.Free(sol)
		return nil, err
	}
	return sol, nil
}

// begin looks whether this system and these inputs can be solved here.
func begin[S limbs, PS curves.Scalar[S]](sys System[S], inputs []S, cfg solver.Config) (*run[S, PS], error) {
	r := &run[S, PS]{sys: sys.System, coefficients: sys.Coefficients, q: sys.Field(),
		sparse: sys.Type == constraint.SystemSparseR1CS, reducer: newReducer[S](sys.Field())}
	known := len(sys.Public) + len(sys.Secret)
	given := known
	if !r.sparse {
		given-- // the wire that is 1
	}
	if sys.Type == constraint.SystemUnknown || len(inputs) != given {
		return nil, fmt.Errorf("%w: %d inputs of %d", ErrUnsupported, len(inputs), given)
	}
	if i := firstNotBelow(inputs, r.q); i >= 0 {
		return nil, fmt.Errorf("%w: element %d of the witness", ErrNotCanonical, i)
	}
	r.kinds = make([]kind, len(sys.Blueprints))
	r.tables = make([]*table, len(sys.Blueprints))
	gkrs := false
	for i, b := range sys.Blueprints {
		k, ok := kindOf(b, r.sparse)
		if !ok {
			return nil, fmt.Errorf("%w: blueprint %T", ErrUnsupported, b)
		}
		r.kinds[i] = k
		gkrs = gkrs || k == kindGKR
		if l, ok := b.(*constraint.BlueprintLookupHint[constraint.U64]); ok {
			r.tables[i] = newTable(l.EntriesCalldata)
		}
	}
	if gkrs {
		r.own = Own(sys.Blueprints)
		var err error
		if r.gkrs, err = r.own.shapes(); err != nil {
			return nil, err
		}
	}
	for id, name := range sys.MHintsDependencies {
		f, ok := cfg.HintFunctions[id]
		if !ok {
			return nil, fmt.Errorf("%w: hint %s is missing", ErrUnsupported, name)
		}
		r.hints = append(r.hints, newHint[S, PS](id, name, f))
	}
	return r, nil
}

// firstNotBelow finds the first element that is not below q, limb by limb; -1 is none.
func firstNotBelow[S limbs](elements []S, q *big.Int) int {
	modulus := wordsOf[S](q)
	return slices.IndexFunc(elements, func(e S) bool {
		for i := len(e) - 1; i >= 0; i-- {
			if e[i] != modulus[i] {
				return e[i] > modulus[i]
			}
		}
		return true
	})
}

// count makes the first integers.
func (r *run[S, PS]) count() {
	r.raw[0] = 1
	for i := range r.small {
		PS(&r.small[i]).SetUint64(uint64(i))
		r.bytes[byteSlot(r.small[i][0])] = uint8(i)
	}
}

// fill takes memory for the solution, and writes what is known before the first
// instruction.
func (r *run[S, PS]) fill(own *Solver[S], sys System[S], inputs []S) *Solution[S] {
	r.count()
	r.multiplyAll = multiplierOf[S, PS]()
	known := len(sys.Public) + len(sys.Secret)
	sol, lent := own.take(sys.Lend, known+sys.NbInternalVariables)
	r.values, r.lent = sol.Wires, lent
	copy(r.values[known-len(inputs):], inputs)
	if !r.sparse {
		r.values[0] = r.small[1]
	}
	r.parts(r.values[known:], func(part []S) {
		for k := range part {
			forget(&part[k])
		}
	})
	return sol
}

// parts does what is to be done to all elements, on all processors.
func (r *run[S, PS]) parts(v []S, do func(part []S)) {
	_ = r.ranges(len(v), 1<<14, func(_ *worker[S, PS], lo, hi int) error {
		do(v[lo:hi])
		return nil
	})
}

const (
	worthHelp = 2048 // everyday instructions of a system, a helper
	everyday  = 32   // words of an instruction
)

// hire makes a crew for a system, no larger than tasks, and of one for what one goroutine
// solves in less than a millisecond.
func (r *run[S, PS]) hire(tasks int) {
	count := len(r.sys.Instructions)
	var e S
	r.weight = 1 + len(r.sys.CallData)*len(e)*len(e)/max(everyday*16*count, 1)
	r.Crew = crew.New(min(max(tasks, 1), 1+count*r.weight/worthHelp))
	for range r.Workers() {
		r.workers = append(r.workers, &worker[S, PS]{run: r})
	}
	r.share = func(worker, lo, hi int) error { return r.workers[worker].list(r.level[lo:hi]) }
}

// dismiss ends the crew, and wipes what workers kept.
func (r *run[S, PS]) dismiss() {
	r.Dismiss()
	for _, w := range r.workers {
		w.wipe()
	}
	if r.own != nil {
		r.own.Wipe()
	}
}

// ranges does 0 to n-1 in shares of size, with all helpers that may be called.
func (r *run[S, PS]) ranges(n, size int, do func(w *worker[S, PS], lo, hi int) error) error {
	return r.Ranges(n, size, func(worker, lo, hi int) error { return do(r.workers[worker], lo, hi) })
}

// put keeps work for all processors until the level's other instructions are solved.
func (r *run[S, PS]) put(f func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.later = append(r.later, f)
}

// long does what was put.
func (r *run[S, PS]) long() error {
	for len(r.later) > 0 {
		f := r.later[0]
		r.later = r.later[1:]
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// outlive does what all does, in a goroutine that a hint may end.
func (r *run[S, PS]) outlive(ctx context.Context) error {
	err := crew.ErrExited
	over := make(chan struct{})
	go func() {
		defer close(over)
		err = r.all(ctx)
	}()
	<-over
	if errors.Is(err, crew.ErrExited) {
		return r.exit.Err()
	}
	return err
}

// breath is how many levels are solved until the solver looks whether it is to stop, and
// how many processors it may have.
const breath = 64

// all solves step after step of a plan. A panic, of a blueprint's data that is not what
// it should be, is an error for gnark's solver to look at.
func (r *run[S, PS]) all(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &crew.Panic{Value: p}
		}
		if p := (*crew.Panic)(nil); errors.As(err, &p) {
			err = fmt.Errorf("%w: %v", ErrDefect, err)
		}
	}()
	r.background()
	solved, past, checks := 0, 0, 0
	for i := range r.plan.steps {
		s := &r.plan.steps[i]
		r.Alone(s.short)
		if err := r.Await(s.needs); err != nil {
			return err
		}
		for k := range s.levels {
			if solved++; solved%breath == 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				r.Share()
			}
			if err := r.solveLevel(&s.levels[k]); err != nil {
				return err
			}
		}
		// The checks of a step read what waits in it.
		for ; past <= i && r.Ended(r.plan.steps[past].waiting); past++ {
			checks = r.plan.steps[past].checks
		}
		r.Release(s.waiting, checks/r.plan.share)
	}
	if err := r.Await(len(r.plan.parts)); err != nil {
		return err
	}
	r.Release(nil, (len(r.plan.checks)+r.plan.share-1)/r.plan.share)
	// What is left sets no wire.
	if err := r.complete(); err != nil {
		return err
	}
	r.show()
	return r.Finish()
}

// show tells whoever asked that all wires have values.
func (r *run[S, PS]) show() {
	if r.settled == nil {
		return
	}
	wires := r.values
	if r.lent != nil && &r.lent[0] != &wires[0] {
		wires = r.lent
		_ = r.ranges(len(wires), 1<<14, func(_ *worker[S, PS], lo, hi int) error {
			copy(wires[lo:hi], r.values[lo:hi])
			return nil
		})
	}
	r.retract = r.settled(wires)
	runtime.Gosched() // what that started has no other processor while helpers check
}

// background hands the crew what of the plan is solved beside the levels.
func (r *run[S, PS]) background() {
	p := r.plan
	r.Begin(p.parts,
		func(worker, part, share int) error { return r.workers[worker].list(p.shareOf(part, share)) },
		func(worker, share int) error {
			return r.workers[worker].list(p.checks[share*p.share : min((share+1)*p.share, len(p.checks))])
		})
}

// solveLevel solves one level by all workers that it is worth.
func (r *run[S, PS]) solveLevel(l *level) (err error) {
	if l.alone {
		err = r.workers[0].list(l.list)
	} else {
		r.level = l.list
		err = r.Level(len(l.list), l.worth, r.share)
	}
	if err == nil && len(r.later) > 0 {
		err = r.long()
	}
	return err
}

// list solves instructions of a level, which do not depend on each other.
func (w *worker[S, PS]) list(instructions []uint32) error {
	for _, i := range instructions {
		if err := w.instruction(i); err != nil {
			return err
		}
	}
	return w.end()
}

// end solves what was put off to the end of a share.
func (w *worker[S, PS]) end() error {
	if w.factors.n > 0 {
		if err := w.products(); err != nil {
			return err
		}
	}
	if len(w.divisions) == 0 {
		return nil
	}
	return w.divide()
}

// instruction solves one of the system, or puts it off: a division to the end of the share,
// work for all processors to the end of the level.
func (w *worker[S, PS]) instruction(i uint32) error {
	in := &w.sys.Instructions[i]
	data := w.sys.CallData[in.StartCallData:]
	switch w.kinds[in.BlueprintID] {
	case kindHint:
		return w.hint(data)
	case kindLookup:
		return w.lookup(w.tables[in.BlueprintID], data, in.WireOffset)
	case kindInverses:
		return w.inverses(data, in.WireOffset)
	case kindR1C:
		return w.r1c(data)
	case kindSparseAdd:
		return w.sparseAdd(data)
	case kindSparseMul:
		return w.sparseMul(data)
	case kindSparseBool:
		return w.sparseBool(data)
	case kindGKR:
		return w.gkr(in, data)
	default:
		return w.sparse1(data)
	}
}

// set gives a wire its value, once.
func (w *worker[S, PS]) set(wire uint32, v *S) error {
	to := &w.values[wire]
	if !unknown(to) {
		return fmt.Errorf("%w: wire %d is solved twice", ErrDefect, wire)
	}
	*to = *v
	return nil
}

// term adds a term to a sum. A wire without a value is an error.
func (w *worker[S, PS]) term(sum *S, coefficient, wire uint32) error {
	if wire == constant {
		PS(sum).Add(sum, &w.coefficients[coefficient])
		return nil
	}
	if coefficient == constraint.CoeffIdZero {
		return nil
	}
	v := &w.values[wire]
	if unknown(v) {
		return errEarly
	}
	w.times(sum, coefficient, v)
	return nil
}

// times adds a coefficient times v.
func (w *worker[S, PS]) times(sum *S, coefficient uint32, v *S) {
	switch coefficient {
	case constraint.CoeffIdZero:
	case constraint.CoeffIdOne:
		PS(sum).Add(sum, v)
	case constraint.CoeffIdMinusOne:
		PS(sum).Sub(sum, v)
	case constraint.CoeffIdTwo:
		PS(sum).Add(sum, v)
		PS(sum).Add(sum, v)
	default:
		PS(&w.scaled).Mul(&w.coefficients[coefficient], v)
		PS(sum).Add(sum, &w.scaled)
	}
}

// sum reads a linear expression, its number of terms and then a coefficient and a wire
// each, and says how many words that were.
func (w *worker[S, PS]) sum(to *S, data []uint32) (int, error) {
	n := 1 + 2*int(data[0])
	if n == 3 && data[1] == constraint.CoeffIdOne && data[2] != constant {
		*to = w.values[data[2]]
		if unknown(to) {
			return n, errEarly
		}
		return n, nil
	}
	if n <= 1+2*fewTerms {
		var zero S
		*to = zero
		for i := 1; i < n; i += 2 {
			if err := w.term(to, data[i], data[i+1]); err != nil {
				return n, err
			}
		}
		return n, nil
	}
	return n, w.addAll(to, data[1:n])
}

// errEarly is a wire that is read before it has a value.
var errEarly = fmt.Errorf("%w: a wire is used before it is solved", ErrDefect)

// complete looks whether all wires have values.
func (r *run[S, PS]) complete() error {
	var missing atomic.Bool
	r.parts(r.values, func(part []S) {
		for k := range part {
			if unknown(&part[k]) {
				missing.Store(true)
			}
		}
	})
	if missing.Load() {
		return errEarly
	}
	return nil
}

// asHint has gnark's solver call a commit.
func asHint[S limbs, PS curves.Scalar[S]](commit Commit[S]) solver.Hint {
	return func(q *big.Int, in, out []*big.Int) error {
		if len(out) != 1 {
			return fmt.Errorf("a commitment with %d outputs", len(out))
		}
		inputs := make([]S, len(in))
		for i, v := range in {
			PS(&inputs[i]).SetBigInt(v)
		}
		v, err := commit(inputs)
		if err != nil {
			return err
		}
		PS(&v).BigInt(out[0])
		return nil
	}
}
