// Command testplugin is the plugin of the tests. TESTPLUGIN says how it
// misbehaves; without it, it serves a fake backend correctly.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
	"github.com/pippin-zk/pippin/plugin/serve"
)

func main() {
	mode, arg, _ := strings.Cut(os.Getenv("TESTPLUGIN"), "=")
	if mode == "dumps" {
		serve.AllowDumps()
	}
	if early(mode) {
		return
	}
	serve.Plugin(func(ctx context.Context, log *slog.Logger) (backend.Backend, error) {
		ms, _ := strconv.Atoi(arg)
		b := &fake.Backend{Step: 1000, Delay: time.Duration(ms) * time.Millisecond}
		switch mode {
		case "open-error":
			return nil, errors.New("no device of the right colour")
		case "open-panic":
			panic("open")
		case "open-hang":
			select {}
		case "stdout":
			fmt.Println("printed by the backend")
			fmt.Fprintln(os.Stderr, "printed by the backend to stderr")
			// As a C library does it, past Go's os.Stdout.
			_, _ = syscall.Write(1, []byte("printed to descriptor 1\n"))
		case "few-descriptors":
			if err := noMoreDescriptors(); err != nil {
				return nil, err
			}
		case "little-memory":
			if err := littleMore(48 << 20); err != nil {
				return nil, err
			}
		case "children":
			child := exec.Command("sleep", "3600")
			child.Stderr = os.Stderr // and so holds the pipe open
			if err := child.Start(); err != nil {
				return nil, err
			}
			log.Info("child", "pid", child.Process.Pid)
		case "environment":
			for _, v := range os.Environ() {
				log.Info("variable " + v)
			}
		case "chatter":
			for range 40_000 {
				log.Info(strings.Repeat("chatter ", 4))
			}
			log.Info("chatter is over")
		case "escapes":
			log.Info("an \x1b]0;title\a escape\r\nlevel=ERROR msg=forged", "key\x1b[2J", []any{"va\x1b[31mlue"})
			fmt.Fprintln(os.Stderr, "plain \x1b[1m and \u202e and \xff")
			fmt.Println("printed \x1b[5m")
			return nil, errors.New("refused\x1b[2J\xff by " + strings.Repeat("x", 1<<20))
		case "log":
			log.Warn("a warning", "answer", 42, slog.Group("g", "k", "v"))
			log.Debug("a detail")
		}
		b.Started = func() { log.Info("started") }
		b.Cancelled = func() { log.Info("cancelled") }
		return wrap(mode, b), nil
	}, grpc.StatsHandler(&counting{on: mode == "stats"}))
}

// counting is an instrumentation as a plugin may have.
type counting struct{ on bool }

func (c *counting) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if c.on {
		fmt.Fprintln(os.Stderr, "instrumented", info.FullMethodName)
	}
	return ctx
}

func (*counting) HandleRPC(context.Context, stats.RPCStats)                         {}
func (*counting) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*counting) HandleConn(context.Context, stats.ConnStats)                       {}

// early does what happens before serve.Plugin, or instead.
func early(mode string) bool {
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "libfoo.so.7: cannot open shared object file")
		os.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	case "print":
		fmt.Println("hello, I print to stdout")
	case "cookie", "older", "newer", "nonsense":
		alien(mode)
		return true
	case "weird-log":
		fmt.Fprintln(os.Stderr, `{"@message":1,"@level":{},"@timestamp":[]}`)
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 200_000))
	}
	return false
}
