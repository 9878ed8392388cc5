package cli

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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/progress"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/internal/opener"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/plugin"
)

// The exit statuses.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2                          // after a signal: ended.status
	ExitPipe   = 128 + int(syscall.SIGPIPE) // nobody reads the results
)

// App is what the commands have of the world.
type App struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string

	PluginDirs []string
	Verbose    bool
	logFormat  string // text, json
	args       []string

	linked map[Part]func(*cobra.Command) // what Link was told
	// Draw draws records; without it the program that can takes over. More are commands beside.
	Draw *Drawing
	More []*cobra.Command

	bar    atomic.Pointer[progress.Bar] // of the command; nil where there is none
	saying sync.Mutex                   // of notes

	// Open, Available, Free and Discover replace what this machine has, for tests.
	Open      engine.Opener
	Available func() (uint64, bool)
	Free      func(dir string) (uint64, bool)
	Discover  func(plugin.Search) []plugin.Found
}

// Drawing is what draws records, in one of report.PlotFormats.
type Drawing struct {
	MSMs, Numbers func(w io.Writer, format string, r record.Record[report.Run]) error
	CardTable     func(w io.Writer, format string, t report.CardTable) error
}

// Main runs this process's command line, with the parts that link adds, and exits.
func Main(link ...func(*App)) {
	a := &App{Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
	for _, l := range link {
		l(a)
	}
	if other := mismatch(os.Getenv(builtFrom), build.This().Commit); other != "" {
		a.Note(other)
	}
	os.Unsetenv(builtFrom)
	os.Exit(Run(untilSignal(context.Background()), a, os.Args[1:]))
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage returns an error as a mistake on the command line.
func Usage(err error) error { return usageError{err} }

// Run executes a command line and returns the exit status.
func Run(ctx context.Context, a *App, args []string) int {
	a.args = args
	root := a.Root()
	root.SetArgs(args)
	done := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() { a.sayWhy(ctx, done) })
	err := root.ExecuteContext(ctx)
	close(done)
	waiting.Wait()
	if err == nil {
		return ExitOK
	}
	if onlyPipe(err) {
		return ExitPipe
	}
	var other exited
	if errors.As(err, &other) {
		return int(other)
	}
	a.complain(err)
	var signal ended
	switch {
	case errors.As(context.Cause(ctx), &signal):
		return signal.status()
	case isUsage(err):
		return ExitUsage
	}
	return ExitFailed
}

// complain writes an error in one line and, when asked to be verbose, what it
// has beside that.
func (a *App) complain(err error) {
	line := OneLine(err)
	var more interface{ Details() []string }
	if !errors.As(err, &more) || len(more.Details()) == 0 {
		fmt.Fprintln(a.Stderr, "msm:", line)
		return
	}
	if !a.Verbose {
		fmt.Fprintln(a.Stderr, "msm:", line+" (-v says more)")
		return
	}
	fmt.Fprintln(a.Stderr, "msm:", line)
	for _, d := range more.Details() {
		fmt.Fprintln(a.Stderr, " ", d)
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

// OneLine returns an error without line breaks, joined errors one after another.
func OneLine(err error) string {
	return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
}

// Root makes the command with all that are below it.
func (a *App) Root() *cobra.Command {
	c := &cobra.Command{
		Use:           "msm",
		Short:         "Measure and verify backends for multi-scalar multiplication",
		Version:       versions().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          OfTheCommands,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SetOut(a.Stdout)
	c.SetErr(a.Stderr)
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
	flags.StringSliceVar(&a.PluginDirs, "plugin-dir", filepath.SplitList(a.Getenv("PIPPIN_PLUGIN_DIR")),
		"folders searched for msm-backend-NAME before the command's own folder and PATH (default $PIPPIN_PLUGIN_DIR)")
	flags.BoolVarP(&a.Verbose, "verbose", "v", false, "log what backends and plugins do to stderr")
	flags.StringVar(&a.logFormat, "log-format", "text", "of the log: text, json")
	Completes(c, "log-format", []string{"text", "json"})
	c.PersistentPreRunE = func(*cobra.Command, []string) error { return OneOf("log-format", a.logFormat, "text", "json") }
	c.AddCommand(a.benchCommand(), a.verifyCommand(), a.backendsCommand(), a.devicesCommand(), a.doctorCommand(),
		a.tuneCommand(), a.cacheCommand(), a.topCommand(), a.serveCommand(), a.versionCommand())
	c.AddCommand(a.More...)
	a.addParts(c, "")
	c.SetHelpCommand(a.helpCommand())
	c.InitDefaultHelpCmd()
	c.InitDefaultCompletionCmd()
	for _, sub := range c.Commands() {
		if sub.Name() == "completion" {
			sub.Args = OfTheCommands // such as another shell
			sub.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	explainStatus(c)
	c.AddCommand(a.weaveCommand())
	return c
}

// OfTheCommands refuses arguments of a command that only has commands.
func OfTheCommands(c *cobra.Command, args []string) error {
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
func (a *App) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if to := about.Annotations[program]; err == nil && to != "" {
				return a.handOver(to) // which knows what is below
			}
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

// NoArguments refuses arguments that are no flags.
func NoArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q, see %s --help", args[0], c.CommandPath())}
	}
	return nil
}

// Opener opens backends by name, plugins with more variables in their environment.
func (a *App) Opener(env ...string) engine.Opener { return a.OpenerWith(nil, env...) }

// OpenerWith does so with options of the plugins' connections.
func (a *App) OpenerWith(grpc []grpc.DialOption, env ...string) engine.Opener {
	if a.Open != nil {
		return a.Open
	}
	return pippin.Opener(pippin.Options{PluginDirs: a.PluginDirs, Env: env, GRPC: grpc, Log: a.Logger()})
}

func (a *App) Logger() *slog.Logger {
	if !a.Verbose {
		return slog.New(slog.DiscardHandler)
	}
	return a.LogTo(slog.LevelDebug)
}

// LogTo returns a log of what is at least so important, in the form of --log-format.
func (a *App) LogTo(level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if a.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.Stderr, options))
}

// Note tells the user something on stderr, past the progress bar.
func (a *App) Note(s string) {
	a.saying.Lock()
	defer a.saying.Unlock()
	a.bar.Load().Clear()
	fmt.Fprintln(a.Stderr, "msm:", s)
}

// endsWithin is how long after a signal a command may take to end before it says
// what it waits for.
const endsWithin = 300 * time.Millisecond

// sayWhy says what a command waits for that does not end soon after ctx, until
// done.
func (a *App) sayWhy(ctx context.Context, done <-chan struct{}) {
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
	a.Note(fmt.Sprintf("ending, and waiting for %s; a second signal ends at once", what))
}
