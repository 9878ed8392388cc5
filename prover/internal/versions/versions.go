// Package versions says in what the versions of gnark and gnark-crypto differ that the provers
// are compiled with, and decides what depends on the version at hand. Everything else in the
// provers uses only what all of them have. scripts/versions proves with each of them.
//
// What the lowest ones lack, and what stands in its place:
//
//	gnark-crypto below v0.20  fft.WithCache: backends share tables (backend/cpu, shared)
//	                          utils.BitReverse: merge.BitReverse, of elements of any type
//	gnark below v0.15         constraint.BlueprintBatchInverse: IsBatchInverse knows it by name
//	                          GKR has hints, which only gnark's solver has, and no
//	                          blueprints: either is left to that solver
package versions

import (
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/consensys/gnark"
	"github.com/consensys/gnark/backend"
	"github.com/consensys/gnark/constraint"
)

// Hints is what a version's hints get and give where versions differ.
type Hints struct {
	// Quotient: std/math/emulated.mulHint panics where the quotient has no limbs.
	Quotient bool
	// Signs: std/math/emulated.polyMvHint gets the sign of each term, and gives that of the quotient.
	Signs bool
	// Remainder: it gets the number of the remainder's limbs, which else is that of the modulus.
	Remainder bool
	// Constants: its carries count the terms that have no variables.
	Constants bool
}

// compared are the versions of gnark whose hints have been compared with ours, as they call
// themselves. Others may call another function by the same name.
var compared = map[string]Hints{
	"0.11.0": {Quotient: true}, // in woven programs alone
	"0.12.0": {},               // and v0.13.0, which calls itself that too
	"0.14.0": {},
	"0.15.0": {Signs: true},
	"0.16.0": {Signs: true, Remainder: true, Constants: true}, // v0.16.1 and v0.16.2 too
	"0.16.3": {Signs: true, Remainder: true, Constants: true},
}

// Compared returns the hints of gnark's version. ok is false if they have not been compared with
// ours. A gnark that another module replaces is such a version: its hints may be others.
var Compared = sync.OnceValues(func() (h Hints, ok bool) {
	h, ok = compared[Gnark()]
	info, known := debug.ReadBuildInfo()
	return h, ok && !(known && replaced(info.Deps))
})

// Gnark returns the version as gnark says it.
func Gnark() string { return gnark.Version.String() }

const module = "github.com/consensys/gnark"

// replaced reports whether another module than gnark stands in its place in a program.
func replaced(in []*debug.Module) bool {
	return slices.ContainsFunc(in, func(m *debug.Module) bool {
		return m.Path == module && m.Replace != nil && m.Replace.Path != module
	})
}

// IsBatchInverse reports whether a blueprint is constraint.BlueprintBatchInverse over a large
// field, a type that not all versions have. It is asked of the few blueprints of a system that
// no other type matches.
func IsBatchInverse(b constraint.Blueprint) bool {
	t := reflect.TypeOf(b)
	if t == nil || t.Kind() != reflect.Pointer {
		return false
	}
	t = t.Elem()
	return t.PkgPath() == module+"/constraint" &&
		t.Name() == "BlueprintBatchInverse["+module+"/constraint.U64]"
}

// AsksForIcicle reports whether gnark's WithIcicleAcceleration is among options. It is asked when
// options are wrong, and once in a process: below v0.15 that option says nothing here.
func AsksForIcicle(opts []backend.ProverOption) bool {
	return slices.ContainsFunc(opts, func(o backend.ProverOption) bool {
		f := runtime.FuncForPC(reflect.ValueOf(o).Pointer())
		return f != nil && strings.Contains(f.Name(), ".WithIcicleAcceleration")
	})
}
