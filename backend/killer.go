package backend

// Killer is a capability: a backend outside of this process that can be ended without
// being asked.
type Killer interface {
	// Kill ends a backend that was given up because of cause. Its calls fail with
	// ErrGone, Done is closed, and Close, which is still to be called, has nothing
	// to wait for. It fails nothing and takes as long as the end of a process.
	Kill(cause error)
}
