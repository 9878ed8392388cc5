// Command proverserver proves as a server would, by Groth16 or PLONK: one witness after
// the other, in several goroutines. Meanwhile the backend is changed from the CPU to a
// plugin and back, and the plugin's process is killed. gnark verifies every proof. The
// command prints what happened when.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/consensys/gnark/logger"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/examples/internal/demo"
	"github.com/pippin-zk/pippin/observe/metrics"
	"github.com/pippin-zk/pippin/observe/tracing"
)

type options struct {
	links, workers, proofs, kills    int
	system, plugin, plugins, metrics string
}

func main() {
	var o options
	flag.StringVar(&o.system, "system", "groth16", "groth16 or plonk")
	flag.IntVar(&o.links, "links", 8, "MiMC hashes in the circuit, 330 constraints each")
	flag.IntVar(&o.workers, "workers", 3, "proofs made at the same time")
	flag.IntVar(&o.proofs, "proofs", 30, "proofs before each change")
	flag.IntVar(&o.kills, "kills", 1, "how often the plugin is killed, at random moments")
	flag.StringVar(&o.plugin, "plugin", demo.Plugin, "the plugin to change to; it must run on this machine")
	flag.StringVar(&o.plugins, "plugins", "", "folder with the plugins (default: the CPU plugin is built with the go command)")
	flag.StringVar(&o.metrics, "metrics", "", "serve metrics here, such as :9464")
	flag.Parse()
	logger.Disable() // gnark's own
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "proverserver:", err)
		os.Exit(1)
	}
}

// run fails when a proof could not be made or verified, or when the plugin's
// death went unnoticed.
func run(ctx context.Context, w io.Writer, o options) (err error) {
	if why := demo.NoPlugins(); why != "" {
		return errors.New(why)
	}
	dirs, remove, err := demo.PluginDirs(ctx, o.plugins, []string{o.plugin})
	if err != nil {
		return err
	}
	defer remove()
	seen := &events{out: w}
	config := engine.Config{
		Backend: demo.InProcess,
		OnEvent: func(ev engine.Event) { seen.add(ev) },
		// Proofs wait for the plugin rather than be made on the CPU: the
		// restarts are counted.
		Patience: time.Minute, RetryPause: 10 * time.Millisecond, RetryMax: 10 * time.Millisecond,
	}
	opened := pippin.Options{PluginDirs: dirs}
	provider, err := traces(ctx)
	if err != nil {
		return err
	}
	if provider != nil {
		defer func() { err = errors.Join(err, provider.Shutdown(context.WithoutCancel(ctx))) }()
		config.Observer, opened.GRPC = tracing.Observer(provider), tracing.Host(provider)
	}
	config.Open = pippin.Opener(opened)
	m := metrics.New()
	e, err := pippin.New(ctx, m.Config(config))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if o.metrics != "" {
		m.Watch(e)
		l, err := metrics.Listen(o.metrics)
		if err != nil {
			return err
		}
		serving, stop := context.WithCancel(ctx)
		served := make(chan error, 1)
		go func() { served <- metrics.Serve(serving, l, metrics.Registry(m)) }()
		defer func() { stop(); <-served }()
		fmt.Fprintf(w, "metrics at %v\n", l.Addr())
	}

	s, err := newServer(e, o.system, o.links)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	work, stop := context.WithCancel(ctx)
	defer stop()
	done := s.work(work, o.workers)

	use := func(name string) func() error { return func() error { return e.Use(ctx, name) } }
	type step struct {
		what string
		do   func() error
	}
	steps := []step{
		{"proving on " + demo.InProcess, func() error { return nil }},
		{"changing to " + o.plugin, use(o.plugin)},
	}
	for range o.kills {
		steps = append(steps, step{"killing the plugin", func() error {
			time.Sleep(rand.N(200 * time.Millisecond))
			_, err := demo.KillPlugin(o.plugin)
			return err
		}})
	}
	for _, step := range append(steps, step{"changing to " + demo.InProcess, use(demo.InProcess)}) {
		seen.say(step.what)
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		// More than those in flight, so that one has met the change.
		if err := s.wait(ctx, max(o.proofs, o.workers+1)); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	stop()
	if err := <-done; err != nil {
		return err
	}
	if n := seen.restarts(); n < o.kills {
		return fmt.Errorf("the plugin was killed %d times and restarted %d times", o.kills, n)
	}
	fmt.Fprintf(w, "%d proofs, all verified\n", s.verified.Load())
	return nil
}
