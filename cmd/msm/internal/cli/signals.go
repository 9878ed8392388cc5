package cli

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// endings are the signals that end a command in order: backends are closed,
// files put away, and what was measured so far is delivered.
var endings = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// ended is the cause of a context that a signal ended.
type ended struct{ syscall.Signal }

func (e ended) Error() string { return e.String() }

// status returns the exit status that shells give to the signal.
func (e ended) status() int { return 128 + int(e.Signal) }

// untilSignal returns a context that the first of the endings ends; the second ends
// the program as usual. One that is ignored, as SIGHUP under nohup, stays so.
// Writing to a pipe that nobody reads becomes an error like any other.
func untilSignal(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	got := make(chan os.Signal, 1)
	for _, s := range endings {
		if !signal.Ignored(s) {
			signal.Notify(got, s)
		}
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		for s := range got {
			if again := hangup.Load(); s == syscall.SIGHUP && again != nil {
				(*again)()
				continue
			}
			signal.Stop(got)
			cancel(ended{s.(syscall.Signal)})
			return
		}
	}()
	return ctx
}

// hangup is what a command does at SIGHUP that does not end then.
var hangup atomic.Pointer[func()]
