package engine

import (
	"context"
)

// Observer is told of the phases of calls, to trace or measure them. Its
// methods are called from the goroutines of calls and must be quick.
type Observer interface {
	// Begin is called when a phase begins. What it returns are the context of
	// everything that happens in the phase, and a function that is called once
	// when it ends, with its error.
	Begin(ctx context.Context, p Phase) (context.Context, func(error))
}

// Phase is a part of a call.
type Phase struct {
	Kind    PhaseKind
	Backend string // "" while none is chosen
	Jobs    int    // MSMs of the call, or steps of the program
	Points  int    // scalars of all of them, bases to load, or elements of a space
}

// PhaseKind says what is done in a phase.
type PhaseKind string

// The kinds of phases.
const (
	PhaseWait    PhaseKind = "wait"    // for a backend that is ready
	PhaseLoad    PhaseKind = "load"    // of bases into a backend
	PhaseMSM     PhaseKind = "msm"     // on a backend
	PhaseSpace   PhaseKind = "space"   // is taken for vectors
	PhaseProgram PhaseKind = "program" // of a session runs
	PhaseCheck   PhaseKind = "check"   // of the answers
	PhaseCompare PhaseKind = "compare" // of an answer with that of another backend
)

// observe begins a phase.
func (e *Engine) observe(ctx context.Context, p Phase) (context.Context, func(error)) {
	if e.cfg.Observer == nil {
		return ctx, func(error) {}
	}
	return e.cfg.Observer.Begin(ctx, p)
}

// Stats is the state of an engine at one moment.
type Stats struct {
	InFlight  int    // calls that have begun and not ended, those that wait included
	Waiting   int    // calls that wait for a backend
	Answered  uint64 // calls
	Failed    uint64 // calls
	FallBacks uint64 // calls that another backend answered than the preferred one

	Checked  uint64 // answers that were checked
	Compared uint64 // answers that were compared
	Refused  uint64 // answers that a check or comparison refused

	Bases  int   // sets of bases that are loaded
	Shared int64 // bytes of scalar buffers in memory that a backend reads

	Sessions int // that are open and whose backend is

	// Backends has one entry for every backend that the engine knows: first
	// the present ones in the order of preference, then former ones by name.
	Backends []BackendStats
}

// BackendStats is the part of Stats that is about one backend.
type BackendStats struct {
	Name     string
	State    State
	Err      error  // why it is broken or retired
	InFlight int    // calls on it
	Answered uint64 // calls
	Resident int64  // bytes of bases that are loaded into it
	Spaces   int64  // bytes of sessions' spaces in it
	Programs uint64 // of sessions, that it ran
	Broken   uint64 // of sessions, that failed on it
	Deaths   uint64 // how often it died or was given up
	Restarts uint64 // how often it was open again
	Missed   uint64 // pings without an answer
}

// State is what a backend's slot is in.
type State string

// The states of a slot.
const (
	StateIdle    State = "idle"    // not needed until now
	StateOpening State = "opening" // being opened, its bases being loaded
	StateReady   State = "ready"   // answers calls
	StateBroken  State = "broken"  // could not be opened, will be tried again
	StateRetired State = "retired" // gave a wrong answer or was replaced, will not be asked
)
