package assignment

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/consensys/gnark/constraint"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
)

// GKR of gnark's library (std/gkrapi) has three blueprints. One solves an instance, one makes the
// proof of all instances, one returns a value of an instance. gnark's own code computes them, and
// the first keeps the values of all instances, which the others read. So each run has copies of
// them, which are wiped: any number of runs at a time, and nothing of a witness in the system.

// gkrPackages is what the names of the packages begin with that have the blueprints of GKR.
const gkrPackages = gnarks + "internal/gkr/"

// gkr is the shape of the instructions of a blueprint of GKR, the zero value that of no other.
type gkr struct {
	inputs  int    // where the linear expressions begin that it reads, up to the end
	outputs uint32 // wires that it sets, from its WireOffset on
}

// gkrInputs is where the inputs begin, by the name of the blueprint's type.
var gkrInputs = map[string]int{"BlueprintSolve": 2, "BlueprintProve": 1, "BlueprintGetAssignment": 3}

// isGKR reports whether a blueprint is one of GKR's that are known.
func isGKR(b constraint.Blueprint) bool {
	t := reflect.TypeOf(b)
	if t == nil || t.Kind() != reflect.Pointer || !strings.HasPrefix(t.Elem().PkgPath(), gkrPackages) {
		return false
	}
	_, solves := b.(constraint.BlueprintSolvable[constraint.U64])
	return solves && gkrInputs[t.Elem().Name()] > 0
}

// Blueprints are those of a system for one run of a solver.
type Blueprints struct {
	List []constraint.Blueprint
	// Shared says that one of them keeps values and is not a copy: runs have to take turns.
	Shared bool
	copies []constraint.Blueprint
}

// Own returns blueprints of the same meaning, those that keep values of a run being copies where
// they can be copied: tables, and GKR's.
func Own(of []constraint.Blueprint) *Blueprints {
	own := &Blueprints{List: make([]constraint.Blueprint, len(of))}
	for i, b := range of {
		own.List[i] = b
		switch l, ok := b.(*constraint.BlueprintLookupHint[constraint.U64]); {
		case ok:
			// The entries are what solving needs; the rest of the type's state is the solver's
			// own, or was needed for compiling.
			own.keep(i, &constraint.BlueprintLookupHint[constraint.U64]{EntriesCalldata: l.EntriesCalldata})
		case isGKR(b):
			own.keep(i, exported(b))
		default:
			_, stateful := b.(constraint.BlueprintStateful[constraint.U64])
			own.Shared = own.Shared || stateful
		}
	}
	for _, b := range own.copies {
		own.link(b)
	}
	return own
}

func (o *Blueprints) keep(i int, b constraint.Blueprint) {
	o.List[i] = b
	o.copies = append(o.copies, b)
}

// exported returns a copy of what b points to, with the exported fields, which are what a system
// has in a file.
func exported(b constraint.Blueprint) constraint.Blueprint {
	from := reflect.ValueOf(b).Elem()
	to := reflect.New(from.Type())
	for i := range from.NumField() {
		if from.Type().Field(i).IsExported() {
			to.Elem().Field(i).Set(from.Field(i))
		}
	}
	return to.Interface().(constraint.Blueprint)
}

// link has a copy that makes proofs know the copy with the instances: it asks it for their number.
func (o *Blueprints) link(b constraint.Blueprint) {
	v := reflect.ValueOf(b).Elem()
	to, id := v.FieldByName("SolveBlueprint"), v.FieldByName("SolveBlueprintID")
	if !to.IsValid() || !id.IsValid() || id.Uint() >= uint64(len(o.List)) {
		return
	}
	if with := reflect.ValueOf(o.List[id.Uint()]); with.Type() == to.Type() {
		to.Set(with)
	}
}

// Wipe overwrites the values that the copies keep.
func (o *Blueprints) Wipe() {
	for _, b := range o.copies {
		v := reflect.ValueOf(b).Elem()
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				layout.WipeElements(v.Field(i))
			}
		}
	}
}

// shapes prepares the copies for a run and returns the shapes of GKR's, by blueprint. What a file
// says of them may be wrong: then the system is not for this solver.
func (o *Blueprints) shapes() (all []gkr, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: GKR: %v", ErrUnsupported, p)
		}
	}()
	all = make([]gkr, len(o.List))
	for i, b := range o.List {
		if !isGKR(b) {
			continue
		}
		if s, ok := b.(constraint.BlueprintStateful[constraint.U64]); ok {
			s.Reset()
		}
		all[i] = gkr{gkrInputs[reflect.TypeOf(b).Elem().Name()], uint32(b.NbOutputs(constraint.Instruction{}))}
	}
	return all, nil
}

// gkr has a blueprint of GKR solve an instruction.
func (w *worker[S, PS]) gkr(in *constraint.PackedInstruction, data []uint32) error {
	v := view[S, PS]{w: w}
	b := w.own.List[in.BlueprintID].(constraint.BlueprintSolvable[constraint.U64])
	err := b.Solve(&v, constraint.Instruction{ConstraintOffset: in.ConstraintOffset, WireOffset: in.WireOffset, Calldata: data[:data[0]]})
	switch {
	case v.err != nil:
		return v.err
	case err != nil:
		return fmt.Errorf("%w: %v", ErrUnsatisfied, err)
	}
	return nil
}

// view is a worker as blueprints of GKR see it.
type view[S limbs, PS curves.Scalar[S]] struct {
	constraint.Solver[constraint.U64] // none: they ask for no more than the methods here, or panic
	w                                 *worker[S, PS]
	err                               error // the first
}

// Read returns the value of a linear expression, and its length.
func (v *view[S, PS]) Read(data []uint32) (value constraint.U64, n int) {
	n, err := v.w.sum(&v.w.argument, data)
	if err != nil {
		v.fail(err)
		return value, n
	}
	for i := range len(v.w.argument) {
		value[i] = v.w.argument[i]
	}
	return value, n
}

// SetValue sets a wire.
func (v *view[S, PS]) SetValue(wire uint32, value constraint.U64) {
	for i := range len(v.w.argument) {
		v.w.argument[i] = value[i]
	}
	if err := v.w.set(wire, &v.w.argument); err != nil {
		v.fail(err)
	}
}

// GetBlueprint returns a blueprint of the run.
func (v *view[S, PS]) GetBlueprint(id constraint.BlueprintID) constraint.Blueprint {
	return v.w.own.List[id]
}

func (v *view[S, PS]) fail(err error) {
	if v.err == nil {
		v.err = err
	}
}
