package pippin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/plugin"
)

// Options say where plugins are and how they are treated. The zero value is
// the default.
type Options struct {
	// PluginDirs are searched for msm-backend-NAME before the folder of the
	// running program and PATH. Files and folders that other users can write
	// are refused.
	PluginDirs []string
	// RequireChecksum refuses a plugin without a file NAME.sha256 beside it.
	// Where the file is, it is always compared.
	RequireChecksum bool
	// Restarts is how often a plugin may die within ten minutes and still be
	// started again: 0 is 5, negative is never.
	Restarts int
	// Backoff is the pause before the first restart, doubled with every
	// death up to a hundred times as much: 0 is 100 ms.
	Backoff time.Duration
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
// restarts then count together.
func Opener(o Options) engine.Opener {
	p := &plugins{options: o, live: map[source]*supervised{}}
	return func(ctx context.Context, name string) (backend.Backend, error) {
		switch name {
		case "cpu":
			return cpu.New(cpu.Options{}), nil
		case "reference":
			return cpu.NewReference(), nil
		case "cuda":
			return p.open(ctx, name, source{at: name})
		}
		if list, ok := strings.CutPrefix(name, "cuda:"); ok && list != "" {
			return p.open(ctx, name, source{at: "cuda", env: "PIPPIN_GPU_DEVICES=" + list})
		}
		if at, ok := strings.CutPrefix(name, "plugin:"); ok && at != "" {
			return p.open(ctx, name, source{at: at})
		}
		if name == "daemon" {
			path, _ := DaemonSocket()
			return p.open(ctx, name, source{at: name, socket: path})
		}
		if path, ok := strings.CutPrefix(name, "daemon:"); ok && path != "" {
			return p.open(ctx, name, source{at: "daemon", socket: path})
		}
		return nil, fmt.Errorf("%w: unknown backend %q (cpu, reference, cuda, cuda:0, cuda:0-3, cuda:GPU-UUID, daemon, daemon:PATH, plugin:NAME, plugin:PATH)", backend.ErrUnavailable, name)
	}
}

// DaemonSocket is where the backend daemon connects, and msm serve listens: the path
// in PIPPIN_DAEMON, or else pippin/daemon.sock in XDG_RUNTIME_DIR or /run, the first
// where there is something. there tells that there is.
func DaemonSocket() (path string, there bool) {
	const name = "pippin/daemon.sock"
	paths := []string{"/run/" + name}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		paths = append(paths, filepath.Join(dir, name))
		if os.Geteuid() != 0 {
			slices.Reverse(paths)
		}
	}
	if path := os.Getenv("PIPPIN_DAEMON"); path != "" {
		paths = []string{path}
	}
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			return path, true
		}
	}
	return paths[0], false
}

// plugins has a supervisor for every plugin in use.
type plugins struct {
	options Options
	mu      sync.Mutex
	live    map[source]*supervised
}

// source is a plugin, by its name or path, with a variable of its own or none; or
// a daemon, by its socket.
type source struct{ at, env, socket string }

// supervised is a supervisor and the number of its users: clients and
// openings. It lives as long as there are any, so that a restart, which opens
// the new client before it closes the dead one, keeps the count of deaths and
// the shared memory.
type supervised struct {
	*plugin.Supervisor
	users int
}

// open starts a plugin.
func (p *plugins) open(ctx context.Context, name string, from source) (backend.Backend, error) {
	s := p.enter(from)
	b, err := s.Open(ctx)
	if err != nil {
		p.leave(from)
		var none *plugin.NotFoundError
		if errors.As(err, &none) && len(none.Unusable) == 0 && !strings.ContainsRune(from.at, filepath.Separator) {
			err = fmt.Errorf("%w; %sits place is beside this program, in PATH or in a folder that is named for plugins", err, builtBy[from.at])
		}
		return nil, err
	}
	client, ok := b.(*plugin.Client)
	if !ok {
		p.leave(from)
		b.Close()
		return nil, fmt.Errorf("%w: plugin %s: not a plugin's client", backend.ErrUnavailable, from.at)
	}
	return &named{Client: client, name: name, left: sync.OnceFunc(func() { p.leave(from) })}, nil
}

// builtBy says what builds pippin's own plugins.
var builtBy = map[string]string{
	"cpu":  "\"make build\" in the sources of pippin builds it, ",
	"cuda": "\"make plugin-cuda\" in the sources of pippin builds it, ",
}

func (p *plugins) enter(from source) *supervised {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.live[from]
	if s == nil {
		at := from.at
		spec := plugin.Spec{
			Name:   at,
			Socket: from.socket,
			Search: plugin.Search{Dirs: p.options.PluginDirs, Path: os.Getenv("PATH"), RequireChecksum: p.options.RequireChecksum},
			Env:    p.options.Env,
			GRPC:   p.options.GRPC,
			Logger: p.options.Log,
			Budget: p.options.SharedMemory,
		}
		if strings.ContainsRune(at, filepath.Separator) {
			spec.Search.File = at
			spec.Name = strings.TrimPrefix(filepath.Base(at), plugin.Prefix)
		}
		if from.env != "" {
			spec.Env = append(slices.Clip(spec.Env), from.env)
		}
		s = &supervised{Supervisor: plugin.NewSupervisor(spec, plugin.Policy{Restarts: p.options.Restarts, Backoff: p.options.Backoff, MaxBackoff: 100 * p.options.Backoff})}
		p.live[from] = s
	}
	s.users++
	return s
}

func (p *plugins) leave(from source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.live[from]
	if s.users--; s.users == 0 {
		delete(p.live, from)
		s.Close()
	}
}

// named is a plugin's client under the name that the user gave.
type named struct {
	*plugin.Client
	name string
	left func()
}

func (c *named) Info() backend.Info {
	i := c.Client.Info()
	i.Name = c.name
	return i
}

func (c *named) Close() error {
	defer c.left()
	return c.Client.Close()
}
