package msm

import "github.com/pippin-zk/pippin/engine"

// The configuration of an engine, and what it tells of itself.
type (
	Opener    = engine.Opener
	Config    = engine.Config
	Check     = engine.Check
	Event     = engine.Event
	EventKind = engine.EventKind
	Stats     = engine.Stats
	Observer  = engine.Observer
	Phase     = engine.Phase
)

// Checks of answers.
const (
	CheckNone     = engine.CheckNone
	CheckCurve    = engine.CheckCurve
	CheckSubgroup = engine.CheckSubgroup
)

// The kinds of events.
const (
	EventOpened     = engine.EventOpened
	EventSwapped    = engine.EventSwapped
	EventGone       = engine.EventGone
	EventRestart    = engine.EventRestart
	EventFailed     = engine.EventFailed
	EventFallback   = engine.EventFallback
	EventReturned   = engine.EventReturned
	EventWrong      = engine.EventWrong
	EventUncompared = engine.EventUncompared
)

// The phases of what stands on an engine; package engine has its own.
const (
	PhaseProve = engine.PhaseProve
	PhaseSolve = engine.PhaseSolve
)

// Names and numbers of a Config.
const (
	NoFallback       = engine.NoFallback
	DefaultThreshold = engine.DefaultThreshold
)

// The errors that package backend does not have.
var (
	// ErrWrongAnswer is wrapped by the error of a call whose answer a check
	// refused and that no other backend could repeat.
	ErrWrongAnswer = engine.ErrWrongAnswer
	// ErrBasesLost is wrapped by the errors of calls on bases that were loaded
	// with ReadOnce into a backend that no longer answers. Close them, and load
	// them again.
	ErrBasesLost = engine.ErrBasesLost
)
