package samples

import (
	"math/bits"

	"github.com/consensys/gnark/constraint"
)

// Sides returns what gnark's solver tells of a solution beside its wires: the sides of a rank-1 system, which are
// given, or L, R and O of a sparse one, where columns says which wires stand in their rows.
func Sides[S any](sys *constraint.System, wires []S, sides [3][]S, columns func(*constraint.System, int) [3][]uint32) (all [3][]S) {
	if sys.Type != constraint.SystemSparseR1CS {
		return sides
	}
	n := 1 << bits.Len(uint(max(len(sys.Public)+sys.NbConstraints, 1)-1))
	for i, places := range columns(sys, n) {
		for _, w := range places {
			all[i] = append(all[i], wires[w])
		}
	}
	return all
}
