package pippin

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/opener"
	"github.com/pippin-zk/pippin/plugin"
)

// Options say where plugins are and how they are treated. The zero value is
// the default.
type Options struct {
	// PluginDirs are searched for msm-backend-NAME, then the folders in
	// PIPPIN_PLUGIN_DIR, that of the running program and PATH. Files and
	// folders that other users can write are refused.
	PluginDirs []string
	// RequireChecksum refuses a plugin without a file NAME.sha256 beside it.
	// Where the file is, it is always compared.
	RequireChecksum bool
	// SharedMemory bounds the memory that scalars go through, in bytes for
	// each plugin: 0 is half of what this process may have.
	SharedMemory int64
	// Env is added to the plugins' environment, as NAME=VALUE. Of this
	// process's they get only what docs/protocol.md lists.
	Env []string
	// GRPC is added to the options of the plugins' connections, such as the
	// handler of an instrumentation:
	//	grpc.WithStatsHandler(otelgrpc.NewClientHandler())
	GRPC []grpc.DialOption
	// Log receives the plugins' logs; nil discards them.
	Log *slog.Logger
}

// Opener opens the backends that New lists. Engines may share one: a plugin's
// clients then share memory for scalars.
func Opener(o Options) engine.Opener {
	inProcess := map[string]func() backend.Backend{
		"cpu":       func() backend.Backend { return cpu.New(cpu.Options{}) },
		"reference": cpu.NewReference,
	}
	return opener.New(inProcess, plugin.Spec{
		Search: plugin.Search{
			Dirs:            slices.Concat(o.PluginDirs, filepath.SplitList(os.Getenv("PIPPIN_PLUGIN_DIR"))),
			Path:            os.Getenv("PATH"),
			RequireChecksum: o.RequireChecksum,
		},
		Env:    o.Env,
		GRPC:   o.GRPC,
		Logger: o.Log,
		Budget: o.SharedMemory,
	})
}

// DaemonSocket returns the path where msm serve listens and the backend "daemon" connects:
// that in PIPPIN_DAEMON, or else pippin/daemon.sock in XDG_RUNTIME_DIR or /run, whichever
// exists. there tells whether one does.
func DaemonSocket() (path string, there bool) { return opener.DaemonSocket() }
