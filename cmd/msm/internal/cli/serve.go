package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/observe/metrics"
	"github.com/pippin-zk/pippin/plugin"
)

// serveFlags is the command line of msm serve.
type serveFlags struct {
	backend, memory, shared, keep, metrics string

	daemon plugin.Daemon
}

func (a *App) serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:         "serve",
		Annotations: map[string]string{ConfigName: "serve"},
		Short:       "Serve a backend to provers on this machine, as a daemon that keeps bases loaded",
		Long: `Serve a plugin's backend on a Unix socket to provers that open the backend daemon,
or daemon:PATH. Bases that several of them load are held once, and stay loaded
when a prover ends. The daemon's own user may connect and, with --group, the
members of a group. This process becomes the plugin's and logs to stderr; SIGTERM
ends it in order. A socket that systemd passes is taken.

docs/howto/daemon.md has a unit for systemd, and says how it is run in a container.`,
		Args: NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.serve(f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.backend, "backend", "cuda", "that is served: cpu, cuda, cuda:0, cuda:0-3, cuda:GPU-UUID, plugin:NAME, plugin:PATH")
	socket, _ := pippin.DaemonSocket()
	flags.StringVar(&f.daemon.Socket, "socket", socket, "path of the socket; $PIPPIN_DAEMON is the default")
	flags.StringVar(&f.daemon.Group, "group", "", "whose members may connect too, by name or number")
	flags.IntVar(&f.daemon.Sessions, "sessions", 64, "that may be open at a time")
	flags.StringVar(&f.memory, "quota-memory", "", "bytes of bases and vectors that a session may hold, such as 24GiB (default no limit)")
	flags.StringVar(&f.shared, "quota-shared", "", "bytes of shared memory that a session may have (default half of what the daemon may have)")
	flags.StringVar(&f.keep, "keep", "", "bytes of bases up to which those that no session holds are "+
		"kept, 0 for none (default half of the devices' memory)")
	flags.IntVar(&f.daemon.Turns, "turns", 0, "calls that compute at a time (default two for each device)")
	flags.StringVar(&f.metrics, "metrics", "", "address of /metrics, such as :9465, which is on loopback, or 0.0.0.0:9465 (default none)")
	Completes(c, "backend", []string{"cpu", "cuda", "cuda:", "plugin:"})
	a.Configurable(c)
	return c
}

// serve becomes the daemon.
func (a *App) serve(f serveFlags) error {
	name, env, err := servedPlugin(f.backend)
	if err != nil {
		return err
	}
	for _, q := range []struct {
		flag, text string
		to         *int64
	}{
		{"quota-memory", f.memory, &f.daemon.Memory}, {"quota-shared", f.shared, &f.daemon.Shared}, {"keep", f.keep, &f.daemon.Keep},
	} {
		switch q.text {
		case "":
		case "0":
			*q.to = -1
		default:
			if *q.to, err = units.ParseBytes(q.text); err != nil {
				return usageError{fmt.Errorf("--%s: %w", q.flag, err)}
			}
		}
	}
	if f.daemon.Sessions < 1 || f.daemon.Turns < 0 {
		return usageError{fmt.Errorf("--sessions %d and --turns %d: want numbers above 0", f.daemon.Sessions, f.daemon.Turns)}
	}
	if f.daemon.Socket, err = filepath.Abs(f.daemon.Socket); err != nil {
		return err
	}
	if f.metrics != "" {
		l, err := metrics.Listen(f.metrics) // the plugin would only say so in its log, and try again
		if err != nil {
			return err
		}
		l.Close()
		env = append(env, "PIPPIN_PLUGIN_METRICS="+f.metrics)
	}
	spec := plugin.Spec{Name: name, Env: env, Search: plugin.Search{Dirs: a.PluginDirs, Path: a.Getenv("PATH")}}
	if strings.ContainsRune(name, filepath.Separator) {
		spec.Search.File, spec.Name = name, strings.TrimPrefix(filepath.Base(name), plugin.Prefix)
	}
	return plugin.Exec(spec, f.daemon)
}

// servedPlugin returns the plugin that a backend's name means, and what it is told.
func servedPlugin(backend string) (name string, env []string, err error) {
	if list, ok := strings.CutPrefix(backend, "cuda:"); ok && list != "" {
		return "cuda", []string{"PIPPIN_GPU_DEVICES=" + list}, nil
	}
	if at, ok := strings.CutPrefix(backend, "plugin:"); ok && at != "" {
		return at, nil, nil
	}
	if backend == "cpu" || backend == "cuda" {
		return backend, nil, nil
	}
	return "", nil, usageError{fmt.Errorf("--backend %q: a daemon serves cpu, cuda, cuda:0, plugin:NAME or plugin:PATH", backend)}
}
