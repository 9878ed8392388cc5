package backend

// Killer is a capability of a backend outside of this process: it can be ended without being asked.
type Killer interface {
	// Kill ends a backend that was given up because of cause. Its calls fail with ErrGone, and Done
	// is closed. Close must still be called, but has nothing to wait for. Kill never fails, and
	// returns when the process has ended.
	Kill(cause error)
}
