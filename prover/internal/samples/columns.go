package samples

import (
	"math/bits"

	"github.com/consensys/gnark/constraint"
)

// Columns returns L, R and O of a solution of a sparse system, which gnark's solver tells in place of wires. columns
// says which wires stand in their rows. Of a rank-1 system they are nil.
func Columns[S any](sys *constraint.System, wires []S, columns func(*constraint.System, int) [3][]uint32) (all [3][]S) {
	if sys.Type != constraint.SystemSparseR1CS {
		return all
	}
	n := 1 << bits.Len(uint(max(len(sys.Public)+sys.NbConstraints, 1)-1))
	for i, places := range columns(sys, n) {
		for _, w := range places {
			all[i] = append(all[i], wires[w])
		}
	}
	return all
}
