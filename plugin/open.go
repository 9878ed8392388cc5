package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/plugin/internal/logs"
	"github.com/pippin-zk/pippin/plugin/internal/process"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// Spec says which plugin to start and how, or which daemon to connect to. The zero value of every
// field except Name is the default.
type Spec struct {
	// Name is the NAME of the executable msm-backend-NAME.
	Name string
	// Search says where the executable may be.
	Search Search
	// Socket is the path of a daemon's socket. If it is set, Open starts nothing: the backend is a
	// session of the daemon, and errors call it Name.
	Socket string
	// Args are the plugin's arguments.
	Args []string
	// Env is added to the plugin's environment, as NAME=VALUE. Of the host's environment the plugin
	// gets what docs/protocol.md lists.
	Env []string
	// GRPC is added to the options of the connection. It is for the handler of an instrumentation,
	// such as
	//	grpc.WithStatsHandler(otelgrpc.NewClientHandler())
	GRPC []grpc.DialOption
	// Logger gets what the plugin logs or writes to stderr; nil discards it.
	Logger *slog.Logger
	// StartTimeout bounds the start, the opening of the backend included: 0
	// is 30 seconds.
	StartTimeout time.Duration
	// Budget bounds the shared memory for scalars, and separately that for vectors that are read,
	// in bytes: 0 is half of the memory that this process may have.
	Budget int64
	// Memory is where scalars are put; nil is memory of this client alone. It must outlive the
	// client.
	Memory *Memory
	// StagingBytes bounds the shared memory that bases go through: 0 is 96 MiB. A chunk is a third
	// of it.
	StagingBytes int

	answers int64 // bounds the shared memory for vectors that are read, 0 as Budget
}

// limit lowers the bounds to the shared memory that a daemon allows a session.
func (s *Spec) limit(most uint64) {
	inputs, answers, staging := wire.Divide(most)
	if s.Budget <= 0 {
		s.Budget = shm.DefaultBudget()
	}
	s.Budget, s.answers = min(s.Budget, inputs), min(s.Budget, answers)
	s.StagingBytes = int(min(int64(s.StagingBytes), staging))
	if s.Memory != nil {
		s.Memory.pool.Limit(inputs)
	}
}

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

// Open finds and starts a plugin and opens its backend. The client owns the process: Close ends it,
// and if this process dies the plugin ends by itself. With Spec.Socket, Open connects to a daemon,
// and the client owns the session. If the plugin is not found, not trusted or does not start, or
// its backend does not open, the error wraps backend.ErrUnavailable and has what the plugin said.
// Where no memory can be shared it wraps backend.ErrUnsupported. What a container denies that a plugin
// needs is told here, with what helps, and not by the calls.
func Open(ctx context.Context, spec Spec) (*Client, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%w: plugins need Linux's sealed memory files, this is %s; use a backend in process",
			backend.ErrUnsupported, runtime.GOOS)
	}
	if err := CheckShared(); err != nil {
		return nil, fmt.Errorf("%w; a plugin reads its inputs there: allow memfd_create, ftruncate and mmap in the container's "+
			"seccomp profile, and raise its memory limit", err)
	}
	if spec.Socket != "" {
		return dial(ctx, spec)
	}
	found, err := Find(spec.Name, spec.Search)
	if err != nil {
		return nil, err
	}
	return start(ctx, spec, found)
}

// start starts the plugin that was found and opens its backend.
func start(ctx context.Context, spec Spec, found Found) (*Client, error) {
	if err := CheckTemp(os.TempDir()); err != nil {
		return nil, err
	}
	if err := CheckStart(); err != nil {
		return nil, fmt.Errorf("%w: allow it in the container's seccomp profile", err)
	}
	var rpc proto.BackendClient
	var info backend.Info
	var reply *proto.OpenReply
	started, err := process.Start(ctx, process.Command{
		Name: spec.Name, Path: found.Path, Args: spec.Args, Env: spec.Env, Check: func() error { return verify(found) },
		GRPC: spec.GRPC, Logger: spec.Logger, Timeout: spec.StartTimeout,
	}, func(ctx context.Context, plugin proto.BackendClient) (err error) {
		rpc = plugin
		info, reply, err = describe(ctx, spec, rpc)
		return err
	})
	if err != nil {
		return nil, err
	}
	info.PID, info.Executable = started.PID(), found.Path
	return newClient(spec, info, reply, rpc, started.Channel, started), nil
}

// describe opens the backend and asks for its Info.
func describe(ctx context.Context, spec Spec, rpc proto.BackendClient) (info backend.Info, reply *proto.OpenReply, err error) {
	logger := spec.Logger.With("plugin", spec.Name)
	reply, err = rpc.Open(ctx, &proto.OpenRequest{LogLevel: int32(logs.Lowest(logger))})
	if err != nil {
		if remote, ok := wire.FromStatus(err); ok {
			err = remote
		} else if overdue(ctx, err) {
			err = backend.Ended(ctx)
		}
		return info, nil, err
	}
	if info, err = wire.ToInfo(reply); err != nil {
		return info, nil, err
	}
	if other := build.Mismatch(build.Info(info.Build), build.This()); other != "" {
		logger.Warn(other)
	}
	return info, reply, nil
}

// socketName is the longest path that go-plugin appends to the folder for temporary files.
const socketName = "/plugin-dir4294967295/plugin4294967295"

// CheckShared returns why memory cannot be shared with a plugin here, or nil. If it cannot, Open
// fails.
func CheckShared() error {
	arena, err := shm.NewArena(shm.PageSize)
	if err == nil {
		arena.Close()
	}
	return err
}

// CheckStart returns why no plugin can be started here, or nil. If none can, Open fails, unless it
// connects to a daemon.
func CheckStart() error {
	if err := process.Check(); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return nil
}

// CheckTemp refuses a folder for temporary files (os.TempDir) that cannot hold a plugin's socket:
// its path is too long, or it is not writable. Open refuses it too, with backend.ErrUnavailable.
func CheckTemp(tmp string) error {
	if most := wire.MaxSocketPath - len(socketName); len(tmp) > most {
		return fmt.Errorf("%w: the path of the folder for temporary files has %d bytes, with more than %d "+
			"the path of a plugin's socket gets too long; set TMPDIR to a shorter one: %s",
			backend.ErrUnavailable, len(tmp), most, tmp)
	}
	dir, err := os.MkdirTemp(tmp, "plugin-dir")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "socket"), nil, 0o600)
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		why := "cannot be written"
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			why = "is full: it has no room or no inodes left (df, df -i)"
		}
		return fmt.Errorf("%w: no plugin starts without a folder for temporary files, and %s (TMPDIR) "+
			"%s; set TMPDIR to one that can be: %w", backend.ErrUnavailable, tmp, why, err)
	}
	return nil
}

// overdue reports whether a remote call failed because ctx ended. The plugin enforces the same
// deadline, and its clock may be a little ahead of ours.
func overdue(ctx context.Context, err error) bool {
	if status.Code(err) == codes.DeadlineExceeded {
		select {
		case <-ctx.Done():
		case <-time.After(process.ExitGrace):
		}
	}
	return ctx.Err() != nil
}

// verify compares the plugin's file with the checksum given for it.
func verify(f Found) error {
	if f.want == "" {
		return nil
	}
	sum, err := fileSum(f.Path)
	if err != nil {
		return fmt.Errorf("checksum: %w", err)
	}
	if sum != f.want {
		return fmt.Errorf("checksums did not match: %s is not the file with SHA-256 %s; install that, or "+
			"where this one is right write its checksum anew", f.Path, f.want)
	}
	return nil
}
