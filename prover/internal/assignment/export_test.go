package assignment

import (
	"context"
	"maps"
	"slices"
	"weak"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// SolvedBy solves, and returns the blueprints that a run had for itself, after it.
func SolvedBy[S limbs, PS curves.Scalar[S]](ctx context.Context, sys System[S], inputs []S, cfg solver.Config,
	commit Commit[S]) ([]constraint.Blueprint, error) {
	r, err := begin[S, PS](sys, inputs, cfg)
	if err != nil {
		return nil, err
	}
	r.commit = commit
	r.hire(cfg.NbTasks)
	r.look()
	r.fill(Over[S, PS](), sys, inputs)
	err = r.all(ctx)
	r.dismiss()
	return r.own.List, err
}

// first is the version of gnark that has a hint of the library first, where v0.13.0 has none.
var first = map[string]string{
	std + "math/uints.orHint":                                         "0.12.0",
	lists + "batchDivBySubHint":                                       "0.15.0",
	algebra + "emulated/sw_emulated.rationalReconstructExt":           "0.16.0",
	algebra + "emulated/sw_bn254.rationalReconstructExtG2":            "0.16.0",
	algebra + "emulated/sw_bls12381.rationalReconstructExtG2":         "0.16.0",
	algebra + "emulated/sw_bw6761.rationalReconstructExtG2":           "0.16.0",
	algebra + "native/twistededwards.multiRationalReconstructHint":    "0.16.0",
	algebra + "native/twistededwards.multiRationalReconstructExtHint": "0.16.0",
}

// has reports whether this version of gnark has a hint of the library.
func has(name string) bool { return versions.Gnark() >= first[name] }

// HintsOnElements returns the names of the hints that are computed on elements, but for those
// of emulated numbers, which TestEmulatedHints calls.
func HintsOnElements() (names []string) {
	for name, e := range library {
		if e.way != wayNone && !e.emulated && has(name) {
			names = append(names, name)
		}
	}
	return names
}

// AwaitSchedules waits until no schedule is being made.
func AwaitSchedules() {
	known.Lock()
	all := slices.Collect(maps.Values(known.of))
	known.Unlock()
	for _, f := range all {
		if f.begun.Load() {
			<-f.made
		}
	}
}

// Remembers returns a function that reports whether something is known of a system, which it
// does not keep.
func Remembers(sys *constraint.System) func() bool {
	key := weak.Make(sys)
	return func() bool {
		known.Lock()
		defer known.Unlock()
		return known.of[key] != nil
	}
}

// MostInPlace bounds the bytes of wires that are solved where they are lent, until restore is called.
func MostInPlace(n int) (restore func()) {
	was := mostInPlace
	mostInPlace = n
	return func() { mostInPlace = was }
}
