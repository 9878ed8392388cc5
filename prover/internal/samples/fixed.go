package samples

import (
	"math/big"
	"strings"

	"github.com/consensys/gnark/constraint/solver"
	"github.com/consensys/gnark/frontend/cs"
)

// Answer is what Fixed has hints say. It is of the size of all fields and above.
var Answer = new(big.Int).Exp(big.NewInt(3), big.NewInt(250), nil)

// Fixed returns options for solvers with which the hints of a system that draw at random, and its
// commitments, say Answer. So two solvers find the same solution.
func Fixed(hints map[solver.HintID]string) (opts []solver.Option) {
	say := func(_ *big.Int, _, out []*big.Int) error {
		for _, v := range out {
			v.Set(Answer)
		}
		return nil
	}
	for id, name := range hints {
		if id == solver.GetHintID(cs.Bsb22CommitmentComputePlaceholder) || strings.HasSuffix(name, "hints.Randomize") {
			opts = append(opts, solver.OverrideHint(id, say))
		}
	}
	return opts
}
