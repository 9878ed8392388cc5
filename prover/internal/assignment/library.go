package assignment

import (
	"strings"

	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/constraint/solver"

	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/prover/internal/versions"
)

// Knows reports whether a hint is gnark's own function of that name, in a version of
// gnark whose hints have been compared with ours.
func Knows(f solver.Hint, name string) bool {
	_, ok := versions.Compared()
	return ok && solver.GetHintName(f) == name
}

// What the names of gnark's hints begin with.
const (
	gnarks  = "github.com/consensys/gnark/"
	std     = gnarks + "std/"
	lists   = std + "internal/logderivarg."
	algebra = std + "algebra/"
)

// library is gnark's hints whose values are found in another way, by their names. The way says
// so and does nothing when inputs are not as gnark's circuits have them; then the hint
// itself is called.
var library = map[string]entry{
	gnarks + "constraint/solver.InvZeroHint": {way: wayInverse},
	std + "math/bits.nBits":                  {way: wayBits},
	std + "math/bitslice.partitionHint":      {way: wayPartition},
	std + "math/uints.xorHint":               {way: wayXor},
	std + "math/uints.andHint":               {way: wayAnd},
	std + "math/uints.orHint":                {way: wayOr},
	std + "math/uints.toBytes":               {way: wayBytes},
	std + "rangecheck.DecomposeHint":         {way: wayLimbs},
	lists + "countHint":                      {way: wayCount, list: true},
	lists + "batchDivBySubHint":              {way: wayQuotients, list: true},
	std + "math/emulated.mulHint":            {way: wayProduct, emulated: true},
	std + "math/emulated.polyMvHint":         {way: wayPolynomial, emulated: true},

	algebra + "emulated/sw_emulated.rationalReconstructExt":           {quick: fraction},
	algebra + "emulated/sw_bn254.rationalReconstructExtG2":            {quick: fraction},
	algebra + "emulated/sw_bls12381.rationalReconstructExtG2":         {quick: fraction},
	algebra + "emulated/sw_bw6761.rationalReconstructExtG2":           {quick: fraction},
	algebra + "native/twistededwards.multiRationalReconstructHint":    {quick: fractions3},
	algebra + "native/twistededwards.multiRationalReconstructExtHint": {quick: fractions6},
}

// entry is how one of gnark's hints is solved: on elements, or by a quicker hint.
type entry struct {
	way      way
	quick    solver.Hint
	list     bool // over a long list, on all processors
	emulated bool // of emulated numbers
}

// way is one on elements.
type way uint8

const (
	wayNone way = iota
	wayInverse
	wayBits
	wayPartition
	wayXor
	wayAnd
	wayOr
	wayBytes
	wayLimbs
	wayCount
	wayQuotients
	wayProduct
	wayPolynomial
)

// on returns a way over a field.
func on[S limbs, PS curves.Scalar[S]](of way) func(w *worker[S, PS], c *call) (done bool, err error) {
	type own = worker[S, PS]
	switch of {
	case wayInverse:
		return (*own).inverseOrZero
	case wayBits:
		return (*own).nBits
	case wayPartition:
		return (*own).partition
	case wayXor:
		return bitwise[S, PS](func(x, y uint64) uint64 { return x ^ y })
	case wayAnd:
		return bitwise[S, PS](func(x, y uint64) uint64 { return x & y })
	case wayOr:
		return bitwise[S, PS](func(x, y uint64) uint64 { return x | y })
	case wayBytes:
		return (*own).toBytes
	case wayLimbs:
		return (*own).decompose
	case wayCount:
		return (*own).count
	case wayQuotients:
		return (*own).quotients
	case wayProduct:
		return (*own).emulatedProduct
	case wayPolynomial:
		return (*own).emulatedPolynomial
	}
	return nil
}

// ofLibrary reports whether a hint's name is of gnark's library.
func ofLibrary(name string) bool { return strings.HasPrefix(name, gnarks) }

// foreignHints returns the hints of a system that are not of gnark's library.
func foreignHints(sys *constraint.System) map[solver.HintID]bool {
	foreign := make(map[solver.HintID]bool)
	for id, name := range sys.MHintsDependencies {
		if id != commitment && !ofLibrary(name) {
			foreign[id] = true
		}
	}
	return foreign
}
