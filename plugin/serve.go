package plugin

import (
	"fmt"
	"os"
)

// Serve makes this process a plugin: it is all that a plugin's main function
// does. The backend is opened when the host asks for it, so that an error
// reaches the host in words. What the process writes to stdout or stderr goes
// to the host's log. Serve returns when the host is done with the plugin and
// exits the process when the host dies, or when it was not started by a host.
func Serve(open Opener) {
	if err := serve(open); err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		os.Exit(1)
	}
}
