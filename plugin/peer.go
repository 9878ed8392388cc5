package plugin

import (
	"context"
	"time"

	"github.com/pippin-zk/pippin/plugin/internal/process"
)

// peer is the other end of a client: a process that the client started, or a daemon. For a daemon,
// exited means that the connection has ended. A peer that has exited answers no more.
type peer interface {
	Exited() <-chan struct{} // closed when it has exited
	Stuck() <-chan struct{}  // closed when not even force makes it exit
	HasExited() bool
	ExitedWithin(d time.Duration) bool
	// End waits up to patience for it to exit, and then makes it exit. When End returns it has
	// exited, unless it is stuck.
	End(patience time.Duration)
	// Kill makes it exit. If it has exited already, that is no error.
	Kill(ctx context.Context) error
	// Leave asks it to exit in order.
	Leave()
	// Obituary says what it is, and how it ended or that it has not.
	Obituary() string
	PID() int
}

var _ peer = process.Started{}
