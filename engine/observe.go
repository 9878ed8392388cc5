package engine

import (
	"context"
	"slices"

	"github.com/pippin-zk/pippin/backend"
)

// Observer is told of the phases of calls, to trace or measure them. Its methods run in the
// goroutines of calls and must be quick.
type Observer interface {
	// Begin is called when a phase begins. It returns a context for everything that happens in the
	// phase, and a function that the engine calls once, with the phase's error, when it ends.
	Begin(ctx context.Context, p Phase) (context.Context, func(error))
}

// Phase is a part of a call.
type Phase struct {
	Kind    PhaseKind
	Backend string // "" while none is chosen
	Jobs    int    // MSMs of the call, or steps of the program
	Points  int    // scalars of all MSMs or of a program's commitments, bases to load, or elements of a space
}

// PhaseKind says what is done in a phase.
type PhaseKind string

// The kinds of phases.
const (
	PhaseProve       PhaseKind = "prove"        // a whole proof; a prover reports it by Engine.Observe
	PhaseSetup       PhaseKind = "setup"        // making keys; Points is how many points they have
	PhaseSolve       PhaseKind = "solve"        // solving a proof's constraint system
	PhaseSolveGnark  PhaseKind = "solve_gnark"  // within PhaseSolve: by gnark's solver, since pippin's cannot or the witness is wrong
	PhaseSolveDefect PhaseKind = "solve_defect" // within PhaseSolve: by gnark's solver, since pippin's had a fault
	PhaseCall        PhaseKind = "call"         // a whole call, whatever happened to it; those below are parts of it
	PhaseWait        PhaseKind = "wait"         // waiting for a backend that is ready
	PhaseLoad        PhaseKind = "load"         // loading bases into a backend
	PhaseMSM         PhaseKind = "msm"          // computing MSMs on a backend
	PhaseSpace       PhaseKind = "space"        // taking memory for vectors
	PhaseProgram     PhaseKind = "program"      // running a session's program
	PhaseCheck       PhaseKind = "check"        // checking answers
	PhaseCompare     PhaseKind = "compare"      // comparing an answer with another backend's
)

// Observe begins a phase, as Observer.Begin does. It is for packages that use the engine and have
// phases of their own. The returned function is never nil.
func (e *Engine) Observe(ctx context.Context, p Phase) (context.Context, func(error)) {
	if e.none() || e.cfg.Observer == nil {
		return ctx, func(error) {}
	}
	return e.cfg.Observer.Begin(ctx, p)
}

// Observers returns an observer that tells each of these in turn and leaves out nil ones. It ends
// their phases in the opposite order.
func Observers(each ...Observer) Observer {
	all := observers(slices.DeleteFunc(slices.Clone(each), func(o Observer) bool { return o == nil }))
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

type observers []Observer

func (all observers) Begin(ctx context.Context, p Phase) (context.Context, func(error)) {
	ends := make([]func(error), len(all))
	for i, o := range all {
		ctx, ends[i] = o.Begin(ctx, p)
	}
	return ctx, func(err error) {
		for _, end := range slices.Backward(ends) {
			end(err)
		}
	}
}

// Stats is the state of an engine at one moment.
type Stats struct {
	InFlight  int    // calls that have begun and not ended, those that wait included
	Waiting   int    // calls that wait for a backend
	Answered  uint64 // calls
	Failed    uint64 // calls
	Canceled  uint64 // calls, of Failed, whose own context had ended
	FallBacks uint64 // calls that were answered, but not by the preferred backend
	// Reasons says why, for each of FallBacks. It has no entry for what never happened.
	Reasons map[Reason]uint64

	Checked  uint64 // answers that were checked
	Compared uint64 // answers that were compared
	Known    uint64 // computations with known answers that were right
	Refused  uint64 // answers that a check, a comparison or a known answer refused

	Bases  int   // sets of bases that are loaded
	Shared int64 // bytes of scalar buffers in memory that a backend reads

	Sessions int // that are open and whose backend is open too

	// Backends has one entry for every backend that the engine knows: the present ones in the order
	// of preference, then former ones by name.
	Backends []BackendStats
}

// Degraded reports whether the preferred backend does not answer: it refuses calls, is suspect, is being
// opened again, failed to open, or gave a wrong answer. Calls wait or are sent to another backend.
func (s Stats) Degraded() bool {
	return len(s.Backends) > 0 && s.Backends[0].State != StateReady && s.Backends[0].State != StateIdle
}

// BackendStats are the statistics of one backend.
type BackendStats struct {
	Name     string
	State    State
	Err      error  // why it is refusing, suspect, broken or retired
	InFlight int    // calls on it
	Answered uint64 // calls
	Failed   uint64 // calls that it did not answer, for whatever reason
	Resident int64  // bytes of bases that are loaded into it
	Spaces   int64  // bytes of sessions' spaces in it
	Programs uint64 // of sessions, that ran on it
	Broken   uint64 // of sessions, that failed on it
	Deaths   uint64 // how often it died or was given up
	Restarts uint64 // how often it was opened again
	Missed   uint64 // pings without an answer
	// Usage is what the present backend itself counts, if it counts. It begins at 0 whenever the
	// backend is opened.
	Usage backend.Usage
}

// State is the state of a backend's slot.
type State string

// The states of a slot.
const (
	StateIdle    State = "idle"    // not needed until now
	StateOpening State = "opening" // being opened, its bases being loaded
	StateReady   State = "ready"   // answers calls
	// refused the last calls, three or more, though it lives: it has no room, or a fault. It is asked
	// again with pauses, and calls go to the next one meanwhile
	StateRefusing State = "refusing"
	StateSuspect  State = "suspect" // late with a call or a ping; calls go to the next one until it answers
	StateBroken   State = "broken"  // could not be opened, will be tried again
	StateRetired  State = "retired" // gave a wrong answer or was replaced, will not be asked
)
