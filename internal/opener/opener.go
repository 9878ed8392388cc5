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

// New makes an opener of the backends in this process, by their names, and of
// plugins and daemons. spec and policy say how plugins are found and treated; a
// name adds to the spec. Engines may share an opener: a plugin's restarts then
// count together.
func New(inProcess map[string]func() backend.Backend, spec plugin.Spec, policy plugin.Policy) engine.Opener {
	p := &plugins{spec: spec, policy: policy, live: map[source]*supervised{}}
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
		return nil, fmt.Errorf("%w: unknown backend %q (%s, cuda, cuda:0, cuda:0-3, cuda:GPU-UUID, daemon, daemon:PATH, plugin:NAME, plugin:PATH)",
			backend.ErrUnavailable, name, strings.Join(slices.Sorted(maps.Keys(inProcess)), ", "))
	}
}

// DaemonSocket is pippin.DaemonSocket, which says what it does.
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
	spec   plugin.Spec
	policy plugin.Policy

	mu   sync.Mutex
	live map[source]*supervised
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
		spec := p.spec
		spec.Name, spec.Socket = at, from.socket
		if strings.ContainsRune(at, filepath.Separator) {
			spec.Search.File = at
			spec.Name = strings.TrimPrefix(filepath.Base(at), plugin.Prefix)
		}
		if from.env != "" {
			spec.Env = append(slices.Clip(spec.Env), from.env)
		}
		s = &supervised{Supervisor: plugin.NewSupervisor(spec, p.policy)}
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
