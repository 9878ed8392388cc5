package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/logs"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/text"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// ExitGrace is how long a plugin that failed may take to exit by itself, so
// that its own exit status can be told.
const ExitGrace = 300 * time.Millisecond

// Command is a plugin to start.
type Command struct {
	Name string // what errors call it
	Path string
	Args []string
	Env  []string // is added to what the host passes on
	// Check refuses the executable. It is called just before that is executed.
	Check   func() error
	GRPC    []grpc.DialOption
	Logger  *slog.Logger
	Timeout time.Duration // of the start
}

// Started is a plugin's process as a client's peer.
type Started struct {
	*Process
	Channel *shm.Channel // for descriptors; the caller closes it
	gp      *goplugin.Client
}

// Leave asks the process to end. go-plugin asks one that does not answer for
// ever, unless it dies.
func (s Started) Leave() { s.gp.Kill() }

// Start launches a plugin and does the handshake. open is called when the connection
// stands, with the time that is left; when it fails the start has failed. Of a failed
// start nothing is left, unless SIGKILL does not end the process.
func Start(ctx context.Context, c Command, open func(context.Context, proto.BackendClient) error) (Started, error) {
	logger := c.Logger.With("plugin", c.Name)
	log := logs.NewPlugin(logger)
	channel, theirs, err := shm.Pair()
	if err != nil {
		return Started{}, err
	}
	var launched atomic.Pointer[Process]
	var sockets string // the folder of the plugin's socket
	gp := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Versions(wire.HostSide{}),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		StartTimeout:     c.Timeout,
		GRPCDialOptions: append(slices.Clone(c.GRPC),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxReply)),
			grpc.WithIdleTimeout(0)), // there is one connection, and no socket for another
		Logger:      logs.HC(logger),
		SyncStdout:  log.Stream("stdout"),
		SyncStderr:  log.Stream("stderr"),
		SkipHostEnv: true, // Environment has what is passed
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			sockets = dir
			launched.Store(newProcess(&c, cmd.Env, theirs, log))
			return launched.Load(), nil
		},
	})
	caller := ctx
	abort := func(err error) (Started, error) {
		if err = fmt.Errorf("starting plugin %s: %w", c.Name, text.Error{Err: err}); caller.Err() == nil {
			err = fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		var stuck <-chan struct{}
		if proc := launched.Load(); proc == nil {
			theirs.Close()
		} else {
			stuck = proc.Stuck()
			proc.End(ExitGrace)
			err = fmt.Errorf("%w; %s", err, proc.Obituary())
		}
		channel.Close()
		cleaned := make(chan struct{})
		go func() {
			gp.Kill()
			close(cleaned)
		}()
		select {
		case <-cleaned:
		case <-stuck:
		}
		return Started{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout,
		fmt.Errorf("no answer within %v", c.Timeout))
	defer cancel()

	rpc, err := connect(ctx, gp, &launched)
	if err == nil {
		err = open(ctx, rpc)
	}
	if err != nil {
		return abort(err)
	}
	// The connection stands and is not made again. Without its files nothing
	// is left behind, however the two processes end.
	_ = os.RemoveAll(sockets)
	return Started{launched.Load(), channel, gp}, nil
}

// connect does go-plugin's handshake. That knows no context, so a process
// whose time is over is killed, which ends it.
func connect(ctx context.Context, gp *goplugin.Client, launched *atomic.Pointer[Process]) (proto.BackendClient, error) {
	type result struct {
		rpc proto.BackendClient
		err error
	}
	done := make(chan result, 1)
	go func() {
		done <- func() (r result) {
			c, err := gp.Client()
			if err != nil {
				return result{err: err}
			}
			raw, err := c.Dispense(wire.ServiceName)
			if err != nil {
				return result{err: err}
			}
			rpc, ok := raw.(proto.BackendClient)
			if !ok {
				return result{err: errors.New("not a backend plugin")}
			}
			return result{rpc: rpc}
		}()
	}()
	select {
	case r := <-done:
		return r.rpc, r.err
	case <-ctx.Done():
	}
	for {
		// The process may be about to start just now.
		if p := launched.Load(); p != nil {
			_ = p.Kill(ctx)
		}
		select {
		case <-done:
			return nil, backend.Ended(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
