package serve_test

import (
	"context"
	"log/slog"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/plugin/serve"
)

// The whole main function of a plugin, here of the CPU's backend. The program's name is
// msm-backend-NAME; a host starts it.
func ExamplePlugin() {
	serve.Plugin(func(context.Context, *slog.Logger) (backend.Backend, error) {
		return cpu.New(cpu.Options{}), nil
	})
}
