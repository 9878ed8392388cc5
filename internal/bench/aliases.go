package bench

import (
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// These names are for cmd/msm/plan.go and cmd/msm/tune.go, until they ask the packages
// that have them.
type (
	System = proofsystem.System
	Run    = record.Run
	Path   = record.Path
)

// The proof systems, and scalars in shared memory.
const (
	Groth16 = proofsystem.Groth16
	PLONK   = proofsystem.PLONK
	Arena   = record.Arena
)

// Functions of the packages above.
var (
	Systems     = proofsystem.Systems
	ParseSystem = proofsystem.Parse
	FormatBytes = units.FormatBytes
	FormatSize  = units.FormatSize
)
