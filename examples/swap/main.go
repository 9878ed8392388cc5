// Command swap keeps several goroutines busy with MSMs while it changes the
// backend under them, from the CPU to a plugin and back, and kills the
// plugin's process once in between. Every answer is compared with the known
// right one. It prints what happened when.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/examples/internal/demo"
	"github.com/pippin-zk/pippin/msm"
)

func main() {
	var o options
	flag.IntVar(&o.points, "n", 1<<14, "points of each MSM")
	flag.IntVar(&o.workers, "workers", 3, "goroutines that call the engine")
	flag.DurationVar(&o.duration, "duration", 20*time.Second, "how long the stream lasts")
	flag.StringVar(&o.plugin, "plugin", demo.Plugin, "the plugin to change to; it must run on this machine")
	flag.StringVar(&o.plugins, "plugins", "", "folder with the plugins (default: the CPU plugin is built with the go command)")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "swap:", err)
		os.Exit(1)
	}
}

type options struct {
	points, workers int
	duration        time.Duration
	plugin, plugins string
}

func (o options) check() error {
	if o.points < 1 || o.workers < 1 || o.duration <= 0 {
		return fmt.Errorf("%d points, %d workers and %v: all must be above zero", o.points, o.workers, o.duration)
	}
	if why := demo.NoPlugins(); why != "" {
		return errors.New(why)
	}
	return nil
}

// run fails when an answer was wrong, a call failed, or the plugin's death
// went unnoticed.
func run(ctx context.Context, w io.Writer, o options) error {
	if err := o.check(); err != nil {
		return err
	}
	dirs, remove, err := demo.PluginDirs(ctx, o.plugins, []string{o.plugin})
	if err != nil {
		return err
	}
	defer remove()
	return swap(ctx, w, o, pippin.Opener(pippin.Options{PluginDirs: dirs}), demo.KillPlugin)
}

// swap does the work of run with the given means to open backends and to kill a plugin.
func swap(ctx context.Context, w io.Writer, o options, open engine.Opener, kill func(plugin string) (pid int, err error)) (err error) {
	work := newWorkload(o.points)
	t := newTimeline(w)
	seen := &observer{open: open}
	e, err := pippin.New(ctx, engine.Config{
		Backend: demo.InProcess,
		Open:    seen.Open,
		OnEvent: t.event,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	bases, err := msm.BN254G1.Load(ctx, e, work.points)
	if err != nil {
		return err
	}

	stream := startStream(ctx, o.workers, work, bases, t)
	err = script(ctx, e, o, t, kill)
	stream.stop()
	t.summary(seen)
	if err != nil {
		return err
	}
	return t.verdict()
}

// script does one thing after the other, a quarter of the time each.
func script(ctx context.Context, e *engine.Engine, o options, t *timeline, killPlugin func(string) (int, error)) error {
	use := func(name string) func() error {
		return func() error { return e.Use(ctx, name) }
	}
	kill := func() error {
		pid, err := killPlugin(o.plugin)
		if err == nil {
			t.note(fmt.Sprintf("process %d is dead", pid))
			err = t.awaitRestart(ctx)
		}
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"start on " + demo.InProcess, func() error { return nil }},
		{"swap to " + o.plugin, use(o.plugin)},
		{"kill " + o.plugin, kill},
		{"swap to " + demo.InProcess, use(demo.InProcess)},
	} {
		t.begin(step.name)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		select {
		case <-time.After(o.duration / 4):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.note("end of the stream")
	return nil
}
