// Command msm-backend-cpu is the CPU backend as a plugin: a host starts it,
// it is of no use by hand.
//
// Its environment may ask for metrics and traces, see package telemetry.
package main

import (
	"context"
	"log/slog"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/cmd/internal/telemetry"
)

func main() {
	telemetry.Serve(func(context.Context, *slog.Logger) (backend.Backend, error) {
		return cpu.New(cpu.Options{}), nil
	})
}
