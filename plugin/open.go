package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// Spec says which plugin to start and how, or which daemon to connect to. The zero
// value of every field but Name is the default.
type Spec struct {
	// Name is the NAME of the executable msm-backend-NAME.
	Name string
	// Search says where the executable may be.
	Search Search
	// Socket is the path of a daemon's socket. Nothing is started then: the backend
	// is a session of the daemon's, and Name is what errors call it.
	Socket string
	// Args are the plugin's arguments.
	Args []string
	// Env is added to the plugin's environment, as NAME=VALUE. Of the host's
	// it has what docs/protocol.md lists.
	Env []string
	// GRPC is added to the options of the connection, such as the handler of
	// an instrumentation:
	//	grpc.WithStatsHandler(otelgrpc.NewClientHandler())
	GRPC []grpc.DialOption
	// Logger takes what the plugin logs and writes to stderr; nil discards it.
	Logger *slog.Logger
	// StartTimeout bounds the start, the opening of the backend included: 0
	// is 30 seconds.
	StartTimeout time.Duration
	// Budget bounds the shared memory for scalars, in bytes, and that for
	// vectors that are read: 0 is half of the memory that this process may have.
	Budget int64
	// StagingBytes bounds the shared memory that bases go through: 0 is
	// 96 MiB, in chunks of a third.
	StagingBytes int

	pool    *shm.Pool // a supervisor's, used by its clients one after another
	answers int64     // bounds the shared memory for vectors that are read, 0 as Budget
}

// limit keeps to what a daemon lets a session have of shared memory.
func (s *Spec) limit(most uint64) {
	inputs, answers, staging := shares(most)
	if s.Budget <= 0 {
		s.Budget = shm.DefaultBudget()
	}
	s.Budget, s.answers = min(s.Budget, inputs), min(s.Budget, answers)
	s.StagingBytes = int(min(int64(s.StagingBytes), staging))
	if s.pool != nil {
		s.pool.Limit(inputs)
	}
}

// exitGrace is how long a plugin that failed may take to exit by itself, so
// that its own exit status can be told.
const exitGrace = 300 * time.Millisecond

// maxReply bounds a message of a plugin: the points of a full batch and room.
const maxReply = 8 << 20

// The defaults of a Spec.
const (
	defaultStartTimeout = 30 * time.Second
	defaultStaging      = 96 << 20
)

func (s Spec) withDefaults() (Spec, error) {
	if s.Name == "" {
		return s, fmt.Errorf("%w: plugin without a name", backend.ErrInvalidInput)
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.StartTimeout <= 0 {
		s.StartTimeout = defaultStartTimeout
	}
	if s.StagingBytes <= 0 {
		s.StagingBytes = defaultStaging
	}
	return s, nil
}

// Open finds and starts a plugin and opens the backend in it. The client owns
// the process: Close ends it, and when this process dies the plugin ends
// itself. With Spec.Socket it connects to a daemon, and owns the session. A plugin that cannot be found, trusted or started, or whose backend
// cannot be opened, is backend.ErrUnavailable with what the plugin said; a
// system without sealed shared memory is backend.ErrUnsupported.
func Open(ctx context.Context, spec Spec) (*Client, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%w: plugins need Linux's sealed memory files, this is %s; use a backend in process",
			backend.ErrUnsupported, runtime.GOOS)
	}
	c, err := spec.open(ctx)
	var none notStarted
	if errors.As(err, &none) {
		err = none.error
	}
	return c, err
}

// notStarted is the error of an opening that found nothing to start or to connect
// to: nothing has died.
type notStarted struct{ error }

func (n notStarted) Unwrap() error { return n.error }

// open starts the plugin, or connects to the daemon.
func (s Spec) open(ctx context.Context) (*Client, error) {
	if s.Socket != "" {
		return dial(ctx, s)
	}
	found, err := Find(s.Name, s.Search)
	if err != nil {
		return nil, notStarted{err}
	}
	return start(ctx, s, found)
}

// killedAtStart is the error of a start that a signal ended, sent by neither
// the plugin nor this package: another try may succeed.
type killedAtStart struct{ error }

func (k killedAtStart) Unwrap() error { return k.error }

// start launches what was found and does the handshake.
func start(ctx context.Context, spec Spec, found Found) (*Client, error) {
	logger := spec.Logger.With("plugin", spec.Name)
	log := newPluginLog(logger)
	if err := CheckTemp(os.TempDir()); err != nil {
		return nil, err
	}
	channel, theirs, err := shm.Pair()
	if err != nil {
		return nil, err
	}
	var launched atomic.Pointer[process]
	var sockets string // the folder of the plugin's socket
	gp := goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: versions(hostSide{}),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		StartTimeout:     spec.StartTimeout,
		GRPCDialOptions: append(slices.Clone(spec.GRPC),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReply)),
			grpc.WithIdleTimeout(0)), // there is one connection, and no socket for another
		Logger:      &hclogger{log: logger},
		SyncStdout:  log.stream("stdout"),
		SyncStderr:  log.stream("stderr"),
		SkipHostEnv: true, // environment has what is passed
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
			sockets = dir
			launched.Store(newProcess(&spec, found, cmd.Env, theirs, log))
			return launched.Load(), nil
		},
	})
	caller := ctx
	abort := func(err error) (*Client, error) {
		if err = fmt.Errorf("starting plugin %s: %w", spec.Name, cleanError{err}); caller.Err() == nil {
			err = fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		var stuck <-chan struct{}
		if proc := launched.Load(); proc == nil {
			theirs.Close()
		} else {
			stuck = proc.stuck
			proc.end(exitGrace)
			if err = fmt.Errorf("%w; %s", err, proc.obituary()); proc.killedByOthers() {
				err = killedAtStart{err}
			}
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
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, spec.StartTimeout,
		fmt.Errorf("no answer within %v", spec.StartTimeout))
	defer cancel()

	rpc, err := connect(ctx, gp, &launched)
	if err != nil {
		return abort(err)
	}
	proc := launched.Load()
	info, reply, err := describe(ctx, spec, rpc)
	if err != nil {
		return abort(err)
	}
	info.PID, info.Executable = proc.pid(), found.Path
	// The connection stands and is not made again. Without its files nothing
	// is left behind, however the two processes end.
	_ = os.RemoveAll(sockets)
	return newClient(spec, info, reply, rpc, channel, started{proc, gp}), nil
}

// describe opens the backend and asks what it is.
func describe(ctx context.Context, spec Spec, rpc proto.BackendClient) (info backend.Info, reply *proto.OpenReply, err error) {
	logger := spec.Logger.With("plugin", spec.Name)
	reply, err = rpc.Open(ctx, &proto.OpenRequest{LogLevel: int32(lowestLevel(logger))})
	if err != nil {
		if remote, ok := fromStatus(err); ok {
			err = remote
		} else if overdue(ctx, err) {
			err = backend.Ended(ctx)
		}
		return info, nil, err
	}
	if info, err = infoOf(reply); err != nil {
		return info, nil, err
	}
	if other := build.Mismatch(build.Info(info.Build), build.This()); other != "" {
		logger.Warn(other)
	}
	return info, reply, nil
}

// maxSocketPath is the longest path of a unix socket on Linux, and socketName
// the longest that go-plugin puts below the folder for temporary files.
const (
	maxSocketPath = 107
	socketName    = "/plugin-dir4294967295/plugin4294967295"
)

// CheckShared tells why memory cannot be shared with a plugin here, or nil. Open fails
// where it cannot.
func CheckShared() error {
	arena, err := shm.NewArena(shm.PageSize)
	if err == nil {
		arena.Close()
	}
	return err
}

// CheckTemp refuses a folder for temporary files (os.TempDir) in which a plugin's
// socket cannot be: one whose path leaves no room for it, and one that cannot be
// written. Open does so with backend.ErrUnavailable.
func CheckTemp(tmp string) error {
	if most := maxSocketPath - len(socketName); len(tmp) > most {
		return fmt.Errorf("%w: the path of the folder for temporary files has %d bytes, with more than %d the path of a plugin's socket gets too long; set TMPDIR to a shorter one: %s",
			backend.ErrUnavailable, len(tmp), most, tmp)
	}
	dir, err := os.MkdirTemp(tmp, "plugin-dir")
	if err == nil {
		err = os.Remove(dir)
	}
	if err != nil {
		return fmt.Errorf("%w: no plugin starts without a folder for temporary files, and %s (TMPDIR) cannot be written; set TMPDIR to one that can: %w",
			backend.ErrUnavailable, tmp, err)
	}
	return nil
}

// overdue tells whether a remote call failed because ctx ended. The plugin
// knows the deadline too, and its own clock may be a little ahead.
func overdue(ctx context.Context, err error) bool {
	if status.Code(err) == codes.DeadlineExceeded {
		select {
		case <-ctx.Done():
		case <-time.After(exitGrace):
		}
	}
	return ctx.Err() != nil
}

// connect does go-plugin's handshake. That knows no context, so a process
// whose time is over is killed, which ends it.
func connect(ctx context.Context, gp *goplugin.Client, launched *atomic.Pointer[process]) (proto.BackendClient, error) {
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
			raw, err := c.Dispense(serviceName)
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

// verify compares a plugin with the checksum that was found for it.
func verify(f Found) error {
	if f.want == "" {
		return nil
	}
	sum, err := fileSum(f.Path)
	if err != nil {
		return fmt.Errorf("checksum: %w", err)
	}
	if sum != f.want {
		return fmt.Errorf("%w: %s is not the file with SHA-256 %s; install that, or where this one is right write its checksum anew", goplugin.ErrChecksumsDoNotMatch, f.Path, f.want)
	}
	return nil
}

// lowestLevel is the lowest of the usual levels that the logger takes.
func lowestLevel(l *slog.Logger) slog.Level {
	for _, k := range levels {
		if l.Enabled(context.Background(), k.s) {
			return k.s
		}
	}
	return slog.LevelError + 4
}

// What a plugin may say of itself: longer lists are refused, longer texts cut.
const (
	maxDevices = 256
	maxGroups  = 1 << 10
	maxOps     = 1 << 10
	maxName    = 1 << 10
)

// infoOf checks a plugin's description of itself.
func infoOf(r *proto.OpenReply) (backend.Info, error) {
	text := func(s string) string { return cleanLine(s, maxName) }
	info := backend.Info{
		Name: text(r.Name), Version: text(r.Version),
		Build: backend.Build{Module: text(r.GetBuild().GetModule()), Version: text(r.GetBuild().GetVersion()), Commit: text(r.GetBuild().GetCommit())},
	}
	if len(r.Devices) > maxDevices {
		return info, fmt.Errorf("the plugin has %d devices, more than %d", len(r.Devices), maxDevices)
	}
	for _, d := range r.Devices {
		info.Devices = append(info.Devices, backend.Device{
			Name: text(d.GetName()), Memory: d.GetMemory(), Detail: text(d.GetDetail()),
		})
	}
	offered := r.GetCan().GetMsm()
	if len(offered) > maxGroups {
		return info, fmt.Errorf("the plugin offers %d groups, more than %d", len(offered), maxGroups)
	}
	for _, g := range offered {
		of := backend.CurveGroup{Curve: backend.Curve(g.GetCurve()), Group: backend.Group(g.GetGroup())}
		if g.GetCurve() > math.MaxUint8 || g.GetGroup() > math.MaxUint8 || !of.Curve.Valid() || !of.Group.Valid() {
			continue // a newer plugin's
		}
		info.Can.MSM = append(info.Can.MSM, of)
	}
	curves := r.GetCan().GetVectors()
	if len(curves) > maxGroups {
		return info, fmt.Errorf("the plugin offers vectors over %d curves, more than %d", len(curves), maxGroups)
	}
	for _, c := range curves {
		if c <= math.MaxUint8 && backend.Curve(c).Valid() {
			info.Can.Vectors = append(info.Can.Vectors, backend.Curve(c))
		}
	}
	ops := r.GetCan().GetNumbers()
	if len(ops) > maxOps {
		return info, fmt.Errorf("the plugin offers %d operations on numbers, more than %d", len(ops), maxOps)
	}
	for _, op := range ops {
		if op <= math.MaxUint8 && backend.NumberOp(op).Valid() {
			info.Can.Numbers = append(info.Can.Numbers, backend.NumberOp(op))
		}
	}
	return info, nil
}
