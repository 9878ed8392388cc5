package bench

import "github.com/pippin-zk/pippin/internal/proofsystem"

// System is a proof system.
type System = proofsystem.System

// The proof systems, for cmd/msm/plan.go.
const (
	Groth16 = proofsystem.Groth16
	PLONK   = proofsystem.PLONK
)

// Systems lists the proof systems.
func Systems() []System { return proofsystem.Systems() }

// ParseSystem reads the name of a proof system.
func ParseSystem(s string) (System, error) { return proofsystem.Parse(s) }
