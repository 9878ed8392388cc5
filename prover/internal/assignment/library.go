package assignment

import (
	"slices"
	"strings"

	"github.com/consensys/gnark"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"
)

// tested are the versions of gnark whose hints have been compared with ours. Others
// may call another function by the same name.
var tested = []string{"0.16.3"}

// Compared reports whether gnark has a version whose hints have been compared with ours.
func Compared() bool { return slices.Contains(tested, gnark.Version.String()) }

// Knows reports whether a hint is gnark's own function of that name, in a version of
// gnark whose hints have been compared with ours.
func Knows(f solver.Hint, name string) bool { return Compared() && solver.GetHintName(f) == name }

// What the names of gnark's hints begin with.
const (
	gnarks = "github.com/consensys/gnark/"
	std    = gnarks + "std/"
	lists  = std + "internal/logderivarg." // hints over long lists

	emulatedMul  = std + "math/emulated.mulHint"
	emulatedPoly = std + "math/emulated.polyMvHint"
)

// ownHint returns our way to the values of gnark's hint of a name, nil without one. It does
// nothing and says so when inputs are not as gnark's circuits have them; then the hint
// itself is called.
func ownHint[S limbs, PS element[S]](name string) func(w *worker[S, PS], c *call) (bool, error) {
	type own = worker[S, PS]
	switch name {
	case std + "math/uints.xorHint":
		return bitwise[S, PS](func(x, y uint64) uint64 { return x ^ y })
	case std + "math/uints.andHint":
		return bitwise[S, PS](func(x, y uint64) uint64 { return x & y })
	case std + "math/uints.orHint":
		return bitwise[S, PS](func(x, y uint64) uint64 { return x | y })
	case std + "math/uints.toBytes":
		return (*own).toBytes
	case std + "math/bitslice.partitionHint":
		return (*own).partition
	case std + "math/bits.nBits":
		return (*own).nBits
	case std + "rangecheck.DecomposeHint":
		return (*own).decompose
	case lists + "countHint":
		return (*own).count
	case lists + "batchDivBySubHint":
		return (*own).quotients
	case emulatedMul:
		return (*own).emulatedProduct
	case emulatedPoly:
		return (*own).emulatedPolynomial
	case gnarks + "constraint/solver.InvZeroHint":
		return (*own).inverseOrZero
	}
	return nil
}

// foreignHints returns the hints of a system that are not of gnark's library.
func foreignHints(sys *constraint.System) map[solver.HintID]bool {
	foreign := make(map[solver.HintID]bool)
	for id, name := range sys.MHintsDependencies {
		if id != commitment && !strings.HasPrefix(name, gnarks) {
			foreign[id] = true
		}
	}
	return foreign
}
