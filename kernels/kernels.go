// Package kernels is the GPU code: CUDA C++ in thread (one thread, one number),
// grid (the phases of an MSM) and curves (generated constants), and what is
// compiled from it in fatbin. This package embeds the compiled code, when built
// with the tag cuda, and names its entry points.
package kernels

import "strings"

// Entry is one kernel: the unit whose image holds it, its symbol there, the
// threads of a block and the number of its parameters, 64 bits each.
type Entry struct {
	Unit, Symbol    string
	Threads, Params int
}

// ForAll is the kernels that know no curve.
func ForAll() Common { return common }

// ForCurve is the kernels of a curve's scalars, by the curve's name, such as
// "bls12-377"; false when there are none.
func ForCurve(curve string) (Curve, bool) {
	c, ok := byCurve[plain(curve)]
	return c, ok
}

// ForGroup is the kernels of a group, "g1" or "g2"; false when there are none.
func ForGroup(curve, group string) (Group, bool) {
	g, ok := byGroup[plain(curve)+"_"+group]
	return g, ok
}

func plain(curve string) string { return strings.ReplaceAll(curve, "-", "_") }
