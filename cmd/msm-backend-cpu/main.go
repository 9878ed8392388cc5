// Command msm-backend-cpu is the CPU backend as a plugin: a host starts it,
// it is of no use by hand.
//
// With PIPPIN_PLUGIN_METRICS in its environment, such as :9465 or
// unix:/run/prover/plugin.sock, it serves metrics there.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/observe/metrics"
	"github.com/pippin-zk/pippin/plugin"
)

func main() {
	plugin.Serve(metrics.Plugin(os.Getenv("PIPPIN_PLUGIN_METRICS"), func(context.Context, *slog.Logger) (backend.Backend, error) {
		return cpu.New(cpu.Options{}), nil
	}))
}
