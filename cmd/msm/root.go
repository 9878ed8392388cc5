package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/consensys/gnark/logger"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/progress"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/opener"
	"github.com/pippin-zk/pippin/plugin"
)

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2                          // after a signal: ended.status
	exitPipe   = 128 + int(syscall.SIGPIPE) // nobody reads the results
)

// app is what the commands have of the world.
type app struct {
	stdout, stderr io.Writer
	getenv         func(string) string

	pluginDirs []string
	verbose    bool
	logFormat  string // text, json

	bar    atomic.Pointer[progress.Bar] // of the command; nil where there is none
	saying sync.Mutex                   // of notes

	// open, available, free and discover replace what this machine has, for tests.
	open      engine.Opener
	available func() (uint64, bool)
	free      func(dir string) (uint64, bool)
	discover  func(plugin.Search) []plugin.Found
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run executes a command line and returns the exit status.
func run(ctx context.Context, a *app, args []string) int {
	logger.Disable() // gnark's, which writes to stdout
	root := a.root()
	root.SetArgs(args)
	done := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() { a.sayWhy(ctx, done) })
	err := root.ExecuteContext(ctx)
	close(done)
	waiting.Wait()
	if err == nil {
		return exitOK
	}
	if onlyPipe(err) {
		return exitPipe
	}
	a.complain(err)
	var signal ended
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return signal.status()
	case isUsage(err):
		return exitUsage
	}
	return exitFailed
}

// complain writes an error in one line and, when asked to be verbose, what it
// has beside that.
func (a *app) complain(err error) {
	line := oneLine(err)
	var more interface{ Details() []string }
	if !errors.As(err, &more) || len(more.Details()) == 0 {
		fmt.Fprintln(a.stderr, "msm:", line)
		return
	}
	if !a.verbose {
		fmt.Fprintln(a.stderr, "msm:", line+" (-v says more)")
		return
	}
	fmt.Fprintln(a.stderr, "msm:", line)
	for _, d := range more.Details() {
		fmt.Fprintln(a.stderr, " ", d)
	}
}

func isUsage(err error) bool {
	var u usageError
	return errors.As(err, &u) || errors.Is(err, bench.ErrMemory) || errors.Is(err, opener.ErrUnknown)
}

// onlyPipe reports whether an error is no more than that nobody reads stdout any more, as
// head does not after some lines.
func onlyPipe(err error) bool {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Path == os.Stdout.Name() && errors.Is(e, syscall.EPIPE)
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !onlyPipe(err) })
	case interface{ Unwrap() error }:
		return onlyPipe(e.Unwrap())
	}
	return false
}

// oneLine returns an error without line breaks, joined errors one after another.
func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// extra are commands of builds with tags.
var extra []func(*app) *cobra.Command

func (a *app) root() *cobra.Command {
	c := &cobra.Command{
		Use:           "msm",
		Short:         "Measure and verify backends for multi-scalar multiplication",
		Version:       versions().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          ofTheCommands,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SetOut(a.stdout)
	c.SetErr(a.stderr)
	c.CompletionOptions.HiddenDefaultCmd = true
	c.SetVersionTemplate("{{.Version}}\n")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var none *pflag.NotExistError
		question := ""
		if errors.As(err, &none) {
			var flags []string
			c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
			question = meant("--"+none.GetSpecifiedName(), flags)
		}
		return usageError{fmt.Errorf("%w, see %s --help%s", err, c.CommandPath(), question)}
	})
	flags := c.PersistentFlags()
	flags.StringSliceVar(&a.pluginDirs, "plugin-dir", filepath.SplitList(a.getenv("PIPPIN_PLUGIN_DIR")),
		"folders searched for msm-backend-NAME before the command's own folder and PATH (default $PIPPIN_PLUGIN_DIR)")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what backends and plugins do to stderr")
	flags.StringVar(&a.logFormat, "log-format", "text", "of the log: text, json")
	completes(c, "log-format", []string{"text", "json"})
	c.PersistentPreRunE = func(*cobra.Command, []string) error { return oneOf("log-format", a.logFormat, "text", "json") }
	c.AddCommand(a.benchCommand(), a.verifyCommand(), a.backendsCommand(), a.devicesCommand(),
		a.doctorCommand(), a.planCommand(), a.tuneCommand(), a.cacheCommand(), a.keyCommand(), a.topCommand(),
		a.serveCommand(), a.clusterCommand(), a.versionCommand())
	for _, more := range extra {
		c.AddCommand(more(a))
	}
	c.SetHelpCommand(helpCommand())
	c.InitDefaultHelpCmd()
	c.InitDefaultCompletionCmd()
	for _, sub := range c.Commands() {
		if sub.Name() == "completion" {
			sub.Args = ofTheCommands // such as another shell
			sub.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	explainStatus(c)
	c.AddCommand(a.weaveCommand())
	return c
}

// ofTheCommands refuses arguments of a command that only has commands.
func ofTheCommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var commands []string
	for _, sub := range c.Commands() {
		commands = append(commands, sub.Name())
	}
	return usageError{fmt.Errorf("unknown command %q, see msm help%s", args[0], meant(args[0], commands))}
}

// helpCommand returns cobra's help, with an error where there is no such command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usageError{fmt.Errorf("no help for %q, see msm help", strings.Join(args, " "))}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// explainStatus puts what the exit status means into the help of every command.
// Only weave's is another: the tool's.
func explainStatus(c *cobra.Command) {
	if c.Long == "" {
		c.Long = c.Short + "."
	}
	c.Long += `

The exit status is 0 when all went well, 1 when a check failed or something did
not work, 2 when the command line was wrong or asked for more than the machine
has, and 128 and the signal's number after a signal that ended it in order.`
	for _, sub := range c.Commands() {
		explainStatus(sub)
	}
}

// noArguments refuses arguments that are no flags.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q, see %s --help", args[0], c.CommandPath())}
	}
	return nil
}

// opener opens backends by name, plugins with more variables in their environment.
func (a *app) opener(env ...string) engine.Opener { return a.openerWith(nil, env...) }

// openerWith does so with options of the plugins' connections.
func (a *app) openerWith(grpc []grpc.DialOption, env ...string) engine.Opener {
	if a.open != nil {
		return a.open
	}
	return pippin.Opener(pippin.Options{PluginDirs: a.pluginDirs, Env: env, GRPC: grpc, Log: a.logger()})
}

func (a *app) logger() *slog.Logger {
	if !a.verbose {
		return slog.New(slog.DiscardHandler)
	}
	return a.logTo(slog.LevelDebug)
}

// logTo returns a log of what is at least so important, in the form of --log-format.
func (a *app) logTo(level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if a.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.stderr, options))
}

// note tells the user something on stderr, past the progress bar.
func (a *app) note(s string) {
	a.saying.Lock()
	defer a.saying.Unlock()
	a.bar.Load().Clear()
	fmt.Fprintln(a.stderr, "msm:", s)
}

// endsWithin is how long after a signal a command may take to end before it says
// what it waits for.
const endsWithin = 300 * time.Millisecond

// sayWhy says what a command waits for that does not end soon after ctx, until
// done.
func (a *app) sayWhy(ctx context.Context, done <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-done:
		return
	}
	select {
	case <-time.After(endsWithin):
	case <-done:
		return
	}
	what := "what has begun"
	if stage := a.bar.Load().Doing(); stage != "" {
		what = stage
	}
	a.note(fmt.Sprintf("ending, and waiting for %s; a second signal ends at once", what))
}
