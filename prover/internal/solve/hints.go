package solve

import "github.com/consensys/gnark/constraint/solver"

// quicker replaces hints of gnark's library by ways to the same values.
func quicker(map[solver.HintID]solver.Hint) {}
