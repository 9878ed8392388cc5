package plugin

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/process"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// Exec turns this process into the daemon that spec names. It returns only on an error. Of spec it
// uses Name, Search and Env.
func Exec(spec Spec, d Daemon) error {
	spec, err := spec.withDefaults()
	if err != nil {
		return err
	}
	found, err := Find(spec.Name, spec.Search)
	if err != nil {
		return err
	}
	if err := verify(found); err != nil {
		return fmt.Errorf("%w: plugin %s: %w", backend.ErrUnavailable, spec.Name, err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInvalidInput, err)
	}
	env := process.Environment(os.Environ(), spec.Env, nil)
	for _, name := range []string{"LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	err = unix.Exec(found.Path, []string{found.Path, wire.ServeArgument, string(text)}, env)
	return fmt.Errorf("%w: starting %s: %w", backend.ErrUnavailable, found.Path, err)
}
