package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
)

// Opener opens the backend that a plugin serves. ctx ends with the plugin. What it logs reaches the
// host's log. An error reaches the host as backend.ErrUnavailable with its text.
type Opener func(ctx context.Context, log *slog.Logger) (backend.Backend, error)

// ArenaUser is an optional capability of a served backend. The backend hears of each shared arena
// once, so that it can register the memory with its driver.
type ArenaUser interface {
	// AttachArena announces memory in which the scalars of jobs will lie. It is read-only and stays
	// in place until detach is called. detach may be nil. An error is logged, and scalars lie there
	// all the same.
	AttachArena(b []byte) (detach func(), err error)
}

// UsageWatcher is an optional capability of the backend that an Opener opens. A daemon gives it a
// function that returns what the backend and its sessions count.
type UsageWatcher interface {
	WatchUsage(func() backend.Usage)
}

// Plugin makes this process a plugin. A plugin's main function does nothing else. The backend is
// opened when the host asks for it, so that the text of an error reaches the host. What the process
// writes to stdout or stderr goes to the host's log.
//
// Plugin returns when the host is done with the plugin. It exits the process when the host dies, or
// if no host started the process. Other processes of its user cannot read its memory, and it leaves
// no core file (AllowDumps).
//
// The options are added to those of the gRPC server, such as
//
//	grpc.StatsHandler(otelgrpc.NewServerHandler())
func Plugin(open Opener, options ...grpc.ServerOption) {
	if err := serve(open, options); err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		os.Exit(1)
	}
}
