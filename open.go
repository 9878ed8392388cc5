package pippin

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/msm"
)

// Options say where plugins are and how they are treated. The zero value is
// the default.
type Options struct {
	// PluginDirs are searched for msm-backend-NAME before the folder of the
	// running program and PATH.
	PluginDirs []string
	// Log receives the plugins' logs; nil discards them.
	Log *slog.Logger
}

// Opener opens the backends that New lists.
func Opener(o Options) msm.Opener {
	return func(ctx context.Context, name string) (backend.Backend, error) {
		switch name {
		case "cpu":
			return cpu.New(cpu.Options{}), nil
		case "reference":
			return cpu.NewReference(), nil
		}
		return nil, fmt.Errorf("%w: unknown backend %q (cpu, reference, cuda, plugin:NAME, plugin:PATH)", backend.ErrUnavailable, name)
	}
}
