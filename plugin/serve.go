package plugin

import (
	"fmt"
	"os"

	"google.golang.org/grpc"
)

// Serve makes this process a plugin: it is all that a plugin's main function
// does. The backend is opened when the host asks for it, so that an error
// reaches the host in words. What the process writes to stdout or stderr goes
// to the host's log. Serve returns when the host is done with the plugin and
// exits the process when the host dies, or when it was not started by a host.
// The options are added to the gRPC server's, such as
//
//	grpc.StatsHandler(otelgrpc.NewServerHandler())
func Serve(open Opener, options ...grpc.ServerOption) {
	if err := serve(open, options); err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		os.Exit(1)
	}
}
