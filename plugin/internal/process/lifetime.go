package process

import "time"

// Lifetime is the end of what a client is connected to: a process, or a connection
// to a daemon.
type Lifetime struct {
	exited chan struct{} // closed when it has exited
	stuck  chan struct{} // closed when it cannot be made to
}

func newLifetime() Lifetime { return Lifetime{make(chan struct{}), make(chan struct{})} }

// NewLifetime makes the lifetime of what has just begun and what ends it, to be
// called once.
func NewLifetime() (l Lifetime, exit func()) {
	l = newLifetime()
	return l, func() { close(l.exited) }
}

// Exited returns a channel that is closed when it has exited.
func (l Lifetime) Exited() <-chan struct{} { return l.exited }

// Stuck returns a channel that is closed when it cannot be made to exit.
func (l Lifetime) Stuck() <-chan struct{} { return l.stuck }

// HasExited reports whether it has exited.
func (l Lifetime) HasExited() bool {
	select {
	case <-l.exited:
		return true
	default:
		return false
	}
}

// ExitedWithin waits for its exit, at most so long, and tells whether it came.
func (l Lifetime) ExitedWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.exited:
		return true
	case <-t.C:
		return false
	}
}
