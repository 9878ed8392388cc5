package backend

import "slices"

// Capabilities says what a backend can do, in one field for each kind of work.
type Capabilities struct {
	MSM      []CurveGroup // groups for which it has MSM and LoadBases
	Elements []Element    // elements for which it has Programs
	Numbers  []NumberOp   // operations of its programs over Words
}

// CurveGroup is one group of one curve.
type CurveGroup struct {
	Curve Curve
	Group Group
}

// String returns the names of both, such as "bn254 g1".
func (c CurveGroup) String() string { return c.Curve.String() + " " + c.Group.String() }

// CurveGroups lists every group of every curve.
func CurveGroups() []CurveGroup {
	var all []CurveGroup
	for _, c := range Curves() {
		for _, g := range Groups() {
			all = append(all, CurveGroup{c, g})
		}
	}
	return all
}

// HasMSM reports whether MSMs over the group are among the capabilities.
func (c Capabilities) HasMSM(curve Curve, group Group) bool {
	return slices.Contains(c.MSM, CurveGroup{curve, group})
}

// HasPrograms reports whether there are programs over spaces of an element.
func (c Capabilities) HasPrograms(e Element) bool { return slices.Contains(c.Elements, e) }

// HasNumbers reports whether operations on numbers are among the capabilities.
func (c Capabilities) HasNumbers(ops ...NumberOp) bool {
	for _, op := range ops {
		if !slices.Contains(c.Numbers, op) {
			return false
		}
	}
	return true
}

// MSMCurves lists the curves with at least one group for MSMs.
func (c Capabilities) MSMCurves() []Curve {
	var curves []Curve
	for _, g := range c.MSM {
		if !slices.Contains(curves, g.Curve) {
			curves = append(curves, g.Curve)
		}
	}
	return curves
}

// As finds the capability T, an interface such as Allocator. It looks in b, then in the backend
// that b wraps, and so on: a wrapper has a method Unwrap() Backend.
func As[T any](b Backend) (T, bool) {
	for b != nil {
		if t, ok := b.(T); ok {
			return t, true
		}
		w, ok := b.(interface{ Unwrap() Backend })
		if !ok {
			break
		}
		b = w.Unwrap()
	}
	var none T
	return none, false
}
