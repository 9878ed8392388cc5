package serve

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/plugin/internal/logs"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// orphanGrace is how long the backend may take to close after the host has died.
const orphanGrace = 2 * time.Second

// serve runs the plugin until the host is done with it.
func serve(open Opener, options []grpc.ServerOption) error {
	hide()
	if len(os.Args) == 3 && os.Args[1] == wire.ServeArgument {
		return serveDaemon(open, os.Args[2], options)
	}
	// The first line on stdout must be go-plugin's, whatever libraries print. So descriptor 1
	// becomes stderr, and go-plugin keeps the real stdout.
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 10)
	if err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	handshakeOut := os.NewFile(uintptr(out), "stdout")
	os.Stdout = handshakeOut
	defer handshakeOut.Close()

	// When the host dies, its end of stderr closes. A log line must not kill the plugin then,
	// before it has cleaned up.
	signal.Ignore(unix.SIGPIPE)

	level := new(slog.LevelVar)
	log := slog.New(logs.Handler(os.Stderr, level))
	s := newServer(open, log, level, newAccount())
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Versions(&pluginSide{s: s}),
		GRPCServer: func(own []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(slices.Concat(options, own, limits())...)
		},
		Logger: logs.HC(log),
	})
	// The host has asked for the end. If it could, it closed the backend before.
	s.finish()
	return nil
}

// pluginSide registers the service. Only a plugin that a host started comes here.
type pluginSide struct {
	wire.HostSide
	s *server
}

func (p *pluginSide) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	unix.CloseOnExec(wire.ChannelFD)
	ch, err := shm.NewChannel(os.NewFile(wire.ChannelFD, "descriptors"))
	if err != nil {
		return err
	}
	p.s.register(g)
	go func() {
		if err := p.s.inbox.serve(ch); err != nil {
			p.s.log.Error("descriptor channel", "error", err)
		}
		p.s.orphaned()
	}()
	// A second check, for the case that a child of the host keeps the channel's other end open.
	// PR_SET_PDEATHSIG would not do: it fires when the host's thread ends, which in Go may be long
	// before the host.
	parent := os.Getppid()
	go func() {
		for range time.Tick(time.Second) {
			if os.Getppid() != parent {
				p.s.orphaned()
			}
		}
	}()
	return nil
}

// orphaned ends the process after its host has died.
func (s *server) orphaned() {
	s.finish()
	// go-plugin removes its socket only when it ends by itself.
	if dir := os.Getenv(goplugin.EnvUnixSocketDir); dir != "" {
		socks, _ := filepath.Glob(filepath.Join(dir, "plugin*"))
		for _, f := range socks {
			_ = os.Remove(f)
		}
		_ = os.Remove(dir)
	}
	if unix.Getpgrp() == os.Getpid() {
		_ = unix.Kill(0, unix.SIGKILL) // its children end too, whatever they wait for
	}
	os.Exit(0)
}

var finishOnce sync.Once

// finish cancels what runs and closes the backend. It waits at most orphanGrace for that.
func (s *server) finish() {
	finishOnce.Do(func() {
		s.stop()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.shut()
		}()
		select {
		case <-done:
		case <-time.After(orphanGrace):
		}
	})
}
