//go:build !linux

package plugin

import (
	"context"
	"fmt"
	"runtime"

	"github.com/pippin-zk/pippin/backend"
)

// dial fails: daemons need Linux.
func dial(context.Context, Spec) (*Client, error) { return nil, noDaemon() }

// Exec fails: daemons need Linux.
func Exec(Spec, Daemon) error { return noDaemon() }

func noDaemon() error {
	return fmt.Errorf("%w: a daemon needs Linux's sealed memory files, this is %s", backend.ErrUnsupported, runtime.GOOS)
}
