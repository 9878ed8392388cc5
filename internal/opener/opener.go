// Package opener opens backends by the names that users give them. Which of them
// compute in this process is the caller's to say: package pippin has the CPU's
// whole, a woven program its MSMs alone, so that it is linked with no more.
package opener

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/plugin"
)

// ErrUnknown is wrapped, beside backend.ErrUnavailable, by the error of a name that is no
// backend's.
var ErrUnknown = errors.New("unknown backend")

// New makes an opener of the backends in this process, by their names, and of
// plugins and daemons. spec says how plugins are found and treated; a name adds to
// it. Engines may share an opener: a plugin's clients then share memory.
func New(inProcess map[string]func() backend.Backend, spec plugin.Spec) engine.Opener {
	p := &plugins{spec: spec, live: map[source]*shared{}}
	return func(ctx context.Context, name string) (backend.Backend, error) {
		if open := inProcess[name]; open != nil {
			return open(), nil
		}
		if name == "cuda" {
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
		return nil, fmt.Errorf("%w: %w %q (%s, cuda, cuda:0, cuda:0-3, cuda:GPU-UUID, daemon, daemon:PATH, plugin:NAME, plugin:PATH)",
			backend.ErrUnavailable, ErrUnknown, name, strings.Join(slices.Sorted(maps.Keys(inProcess)), ", "))
	}
}

// DaemonSocket does what pippin.DaemonSocket says.
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

// plugins has the memory of every plugin in use.
type plugins struct {
	spec plugin.Spec

	mu   sync.Mutex
	live map[source]*shared
}

// source is a plugin, by its name or path, with a variable of its own or none; or
// a daemon, by its socket.
type source struct{ at, env, socket string }

// shared is how a plugin is opened, with memory for all of its clients, and the number
// of its users: clients and openings. It lives as long as there are any, so that a
// restart, which opens the new client before it closes the dead one, keeps the memory.
type shared struct {
	spec  plugin.Spec
	users int
}

// open starts a plugin.
func (p *plugins) open(ctx context.Context, name string, from source) (backend.Backend, error) {
	client, err := plugin.Open(ctx, p.enter(from))
	if err != nil {
		p.leave(from)
		var none *plugin.NotFoundError
		if errors.As(err, &none) && len(none.Unusable) == 0 && !strings.ContainsRune(from.at, filepath.Separator) {
			err = fmt.Errorf("%w; %sits place is beside this program, in PATH or in a folder that is named for plugins", err, builtBy[from.at])
		}
		return nil, err
	}
	return &named{Client: client, name: name, left: sync.OnceFunc(func() { p.leave(from) })}, nil
}

// builtBy says what builds pippin's own plugins.
var builtBy = map[string]string{
	"cpu":  "\"make build\" in the sources of pippin builds it, ",
	"cuda": "\"make plugin-cuda\" in the sources of pippin builds it, ",
}

// enter counts a user of a plugin in and returns how to open it; leave counts it out.
func (p *plugins) enter(from source) plugin.Spec {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.live[from]
	if s == nil {
		at := from.at
		spec := p.spec
		spec.Name, spec.Socket = at, from.socket
		if strings.ContainsRune(at, filepath.Separator) {
			spec.Search.File = at
			spec.Name = strings.TrimPrefix(filepath.Base(at), plugin.Prefix)
		}
		if from.env != "" {
			spec.Env = append(slices.Clip(spec.Env), from.env)
		}
		spec.Memory = plugin.NewMemory(spec.Budget)
		s = &shared{spec: spec}
		p.live[from] = s
	}
	s.users++
	return s.spec
}

func (p *plugins) leave(from source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.live[from]
	if s.users--; s.users == 0 {
		delete(p.live, from)
		s.spec.Memory.Close()
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
