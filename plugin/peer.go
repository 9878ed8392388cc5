package plugin

import (
	"context"
	"time"

	"github.com/pippin-zk/pippin/plugin/internal/process"
)

// peer is what a client is connected to: a process that it has started, or a
// daemon. It ends with the connection: when it has exited it answers no more.
type peer interface {
	Exited() <-chan struct{} // closed when it has exited
	Stuck() <-chan struct{}  // closed when it cannot be made to
	HasExited() bool
	ExitedWithin(d time.Duration) bool
	// End waits a while for it to exit and then makes it. It has exited then,
	// unless it is stuck.
	End(patience time.Duration)
	// Kill makes it exit; one that has exited is no error.
	Kill(ctx context.Context) error
	// Leave asks it to end in order.
	Leave()
	// Obituary says what it is and how it ended, or that it has not.
	Obituary() string
	PID() int
}

var _ peer = process.Started{}
