package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pippin-zk/pippin/backend"
)

// Operations whose runs are drawn or compared by what they are.
const (
	OpMSM           = "msm"
	OpPeer          = "peer"           // an MSM of a library
	OpPeerTransform = "peer-transform" // a transform of a vector on the card, by a library
	OpPeerPowers    = "peer-powers"    // modular powers of numbers on the card, by a library
	OpNumbers       = "numbers"
	// PhaseOf follows the operation of which a run is a phase: that of the run before it.
	PhaseOf = "-phase"
)

// Names in Run.Inputs.
const (
	InputDistribution = "distribution" // of scalars
	InputPath         = "path"         // a Path, or Host or Resident
	InputMerge        = "merge"        // a Merge
	InputSystem       = "system"       // of proofs: groth16, plonk
	InputLibrary      = "library"      // that computed in a backend's place
)

// DevicePart begins the names of parts of a proof that a plugin's device computes.
const DevicePart = "device "

// Names in Run.Figures that more than the measurement itself reads.
const (
	FigureConstraints    = "constraints"
	FigureStock          = "stock" // what the library took that answers are compared with
	FigureSpeedup        = "speedup"
	FigureWithoutSolving = "speedup_without_solve"
	FigureCPU            = "cpu" // what the CPU backend took
	FigureBackToBack     = "back_to_back"
	FigureBatch          = "batch" // an MSM of a batch
	FigureCalls          = "calls" // in a row back to back, or in a batch
	FigureCallers        = "callers"
	FigureEnergy         = "joules"
	FigureMultiplesHeld  = "multiples_held" // bytes on the card that has the most
	// Of the parts of a proof: what each took, and when it ended after the first had begun.
	FigureTook    = "took"
	FigureEnd     = "end"
	FigureLeftOut = "left_out" // of requests: a device's stages that have no part
)

// Pippin is the library of runs that are pippin's own.
const Pippin = "pippin"

// Path says where the scalars were when the clock started.
type Path string

// The paths.
const (
	// Copy: an ordinary Go slice. A plugin's client copies it into shared
	// memory within the time measured; in process nothing is copied.
	Copy Path = "copy"
	// Arena: memory from Group.NewScalars that the plugin reads in place.
	Arena Path = "arena"
)

// Where the operands of numbers are when the clock starts, and the answers when it stops.
const (
	// Host is slices of the caller's: operands are written and answers read.
	Host = "host"
	// Resident is the backend's memory.
	Resident = "resident"
)

// What the times of MSMs include, in the note "measure".
const (
	// EndToEnd is from host scalars to the affine point, in process.
	EndToEnd = "end-to-end"
	// EndToEndPlugin is the same through a plugin process.
	EndToEndPlugin = "end-to-end through the plugin"
)

// Merge says whether equal bases of a key and equal scalars of a witness are
// merged.
type Merge string

const (
	MergeAuto  Merge = "auto" // where the prover expects that it pays
	MergeNever Merge = "never"
)

// Merges returns the ways there are.
func Merges() []Merge { return []Merge{MergeAuto, MergeNever} }

// ParseMerge checks the name of a way.
func ParseMerge(s string) (Merge, error) {
	if m := Merge(strings.ToLower(s)); slices.Contains(Merges(), m) {
		return m, nil
	}
	return "", fmt.Errorf("%w: merging %q (auto, never)", backend.ErrInvalidInput, s)
}

// PlotFormats are the formats in which records are drawn.
var PlotFormats = []string{"svg", "png"}
