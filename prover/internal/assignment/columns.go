package assignment

import "github.com/consensys/gnark/constraint"

// Columns returns of which wires the values stand in n rows of L, R and O of a sparse system: first the public inputs
// in L, a row each, then those of each constraint. In all other places stands the first wire, as in gnark's traces.
func Columns(sys *constraint.System, n int) (wires [3][]uint32) {
	for i := range wires {
		wires[i] = make([]uint32, n)
	}
	row := len(sys.Public)
	for i := range row {
		wires[0][i] = uint32(i)
	}
	it := sys.GetSparseR1CIterator()
	for c := it.Next(); c != nil; c = it.Next() {
		wires[0][row], wires[1][row], wires[2][row] = c.XA, c.XB, c.XC
		row++
	}
	return wires
}

// OfColumns returns the solution of a sparse system of which gnark's solver tells L, R and O, and wipes these. A wire
// that stands in no row has the value zero.
func OfColumns[S comparable](sys *constraint.System, columns [3][]S) *Solution[S] {
	sol := &Solution[S]{Wires: make([]S, len(sys.Public)+len(sys.Secret)+sys.NbInternalVariables)}
	var zero S
	for i, wires := range Columns(sys, len(columns[0])) {
		for row, wire := range wires {
			if v := columns[i][row]; v != zero { // else it had no value yet, and the row does not use it
				sol.Wires[wire] = v
			}
		}
		clear(columns[i][:cap(columns[i])])
	}
	return sol
}
