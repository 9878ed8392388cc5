package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
)

// Opener opens the backend that a plugin serves. ctx ends with the plugin;
// what is logged reaches the host's log. An error reaches the host as
// backend.ErrUnavailable with its text.
type Opener func(ctx context.Context, log *slog.Logger) (backend.Backend, error)

// ArenaUser is an optional capability of a served backend: it is told of each
// shared arena once, so that it can register the memory with its driver.
type ArenaUser interface {
	// AttachArena announces memory, read-only and in place until detach is
	// called, in which the scalars of jobs will lie. detach may be nil. After
	// an error, which is logged, scalars lie there all the same.
	AttachArena(b []byte) (detach func(), err error)
}

// UsageWatcher is an optional capability of what an Opener opens: of a daemon's
// backend it is told whom to ask what that and its sessions count.
type UsageWatcher interface {
	WatchUsage(func() backend.Usage)
}

// Plugin makes this process a plugin: it is all that a plugin's main function
// does. The backend is opened when the host asks for it, so that an error
// reaches the host in words. What the process writes to stdout or stderr goes
// to the host's log. Plugin returns when the host is done with the plugin and
// exits the process when the host dies, or when it was not started by a host.
// Other processes of its user cannot read its memory, and it leaves no core file
// (AllowDumps).
// The options are added to the gRPC server's, such as
//
//	grpc.StatsHandler(otelgrpc.NewServerHandler())
func Plugin(open Opener, options ...grpc.ServerOption) {
	if err := serve(open, options); err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		os.Exit(1)
	}
}
