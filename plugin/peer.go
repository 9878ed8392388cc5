package plugin

import (
	"context"
	"time"
)

// peer is what a client is connected to: a process that it has started, or a
// daemon. It ends with the connection: when it has exited it answers no more.
type peer interface {
	life() lifetime
	hasExited() bool
	exitedWithin(d time.Duration) bool
	// end waits a while for it to exit and then makes it. It has exited then,
	// unless it is stuck.
	end(patience time.Duration)
	// Kill makes it exit; one that has exited is no error.
	Kill(ctx context.Context) error
	// leave asks it to end in order.
	leave()
	// obituary says what it is and how it ended, or that it has not.
	obituary() string
	pid() int
}

// lifetime is the end of a peer.
type lifetime struct {
	exited chan struct{} // closed when it has exited
	stuck  chan struct{} // closed when it cannot be made to
}

func newLifetime() lifetime { return lifetime{make(chan struct{}), make(chan struct{})} }

func (l lifetime) life() lifetime { return l }

func (l lifetime) hasExited() bool {
	select {
	case <-l.exited:
		return true
	default:
		return false
	}
}

func (l lifetime) exitedWithin(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.exited:
		return true
	case <-t.C:
		return false
	}
}
