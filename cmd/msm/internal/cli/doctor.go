package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/doctor"
	"github.com/pippin-zk/pippin/internal/build"
	"github.com/pippin-zk/pippin/internal/opener"
	"github.com/pippin-zk/pippin/kernels"
	"github.com/pippin-zk/pippin/plugin"
)

// doctorFlags is the command line of msm doctor.
type doctorFlags struct {
	backends, curves, groups string

	timeout time.Duration
	format  string
	quiet   bool
}

// diagnosis is what msm doctor writes as JSON.
type diagnosis struct {
	Ready    bool             `json:"ready"`
	Findings []doctor.Finding `json:"findings"`
}

// errNotReady ends msm doctor when something failed.
var errNotReady = errors.New("not ready")

func (a *App) doctorCommand() *cobra.Command {
	var f doctorFlags
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Find out whether backends can compute here, and what to do if not",
		Long: `Look at the machine, the driver, limits, folders and plugins, and have each
backend compute small MSMs with known answers. Each finding that is not good comes
with a remedy.

With --backend those backends have to work; without, all that are installed do. It
is ready, with exit status 0, when they do. A container's probe uses it so:

  msm doctor --backend cuda --quiet`,
		Args: NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return a.doctor(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.backends, "backend", "", "that have to work: cpu, cuda, daemon, plugin:NAME, plugin:PATH"+Several)
	flags.StringVar(&f.curves, "curve", "all", "of the small MSMs: "+Names(backend.Curves()))
	flags.StringVar(&f.groups, "group", "all", "of the small MSMs: "+Names(backend.Groups()))
	flags.DurationVar(&f.timeout, "timeout", time.Minute, "for everything; what has not answered then has failed")
	AddFormat(c, &f.format, Formats)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "write what failed, and nothing when all works")
	Completes(c, "backend", BackendNames)
	Completes(c, "curve", backend.Curves(), "all")
	Completes(c, "group", backend.Groups(), "all")
	return c
}

func (a *App) doctor(ctx context.Context, f doctorFlags) error {
	if err := OneOf("format", f.format, Formats...); err != nil {
		return err
	}
	if f.format == "json" && f.quiet {
		return usageError{errors.New("--format json and --quiet exclude each other")}
	}
	var asked []string
	var err error
	if f.backends != "" {
		if asked, err = ParseBackends(f.backends); err != nil {
			return err
		}
	}
	curves, err := ParseCurves(f.curves)
	if err != nil {
		return err
	}
	groups, err := ParseGroups(f.groups)
	if err != nil {
		return err
	}
	var tried []backend.CurveGroup
	for _, c := range curves {
		for _, g := range groups {
			tried = append(tried, backend.CurveGroup{Curve: c, Group: g})
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("no answer within %v (--timeout)", f.timeout))
	defer cancel()
	w := a.world(limited, asked, tried)
	if ctx.Err() != nil {
		return backend.Ended(ctx)
	}
	for _, t := range w.Trials {
		if errors.Is(t.Problem, opener.ErrUnknown) {
			return t.Problem
		}
	}
	findings := w.Examine()
	ready := doctor.Ready(findings)
	if f.format == "json" {
		err = WriteJSON(a.Stdout, diagnosis{ready, findings})
	} else {
		err = writeFindings(a.Stdout, findings, f.quiet)
	}
	if err == nil && !ready {
		err = errNotReady
	}
	return err
}

// world gathers all facts.
func (a *App) world(ctx context.Context, asked []string, tried []backend.CurveGroup) *doctor.World {
	w := &doctor.World{Asked: asked, Program: versions().String(), Build: build.This(),
		Kernels: kernels.Digest(), Temp: doctor.Folder{Path: os.TempDir()}}
	w.System, w.NVIDIA = doctor.Look(a.Getenv)
	memory, known := a.memory()
	w.System.Available, w.System.Unknown = memory, !known
	w.System.Shared, w.System.Start = plugin.CheckShared(), plugin.CheckStart()
	w.Temp.Problem = plugin.CheckTemp(w.Temp.Path)
	if dir, err := a.CacheDir(""); err != nil {
		w.Cache.Problem = err
	} else {
		w.Cache = doctor.LookAt(dir)
	}
	for _, f := range a.plugins() {
		w.Plugins = append(w.Plugins, doctor.Plugin{
			Name: f.Name, Path: f.Path, Checksum: f.Checksum, Verified: f.Verified, HiddenBy: f.HiddenBy, Problem: f.Problem,
		})
	}
	names := asked
	if len(names) == 0 {
		names = []string{"cpu"}
		for _, p := range w.Plugins {
			if p.Problem == nil && p.HiddenBy == "" {
				names = append(names, "plugin:"+p.Name)
			}
		}
		if _, there := pippin.DaemonSocket(); there {
			names = append(names, "daemon")
		}
	}
	for _, name := range names {
		t := doctor.Try(ctx, a.Opener(), name, tried)
		var none *plugin.NotFoundError
		t.Missing = errors.As(t.Problem, &none) && len(none.Unusable) == 0
		w.Trials = append(w.Trials, t)
	}
	return w
}

// writeFindings writes a line for each finding, and its remedy below. Quietly
// that is only what failed.
func writeFindings(w io.Writer, findings []doctor.Finding, quiet bool) error {
	var b strings.Builder
	width, failed := 0, 0
	for _, f := range findings {
		width = max(width, len(f.Check))
	}
	for _, f := range findings {
		if f.State == doctor.Failed {
			failed++
		} else if quiet {
			continue
		}
		fmt.Fprintf(&b, "%-7s  %-*s  %s\n", f.State, width, f.Check, f.Found)
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%-7s  %-*s  -> %s\n", "", width, "", f.Remedy)
		}
	}
	switch {
	case quiet:
	case failed == 0:
		fmt.Fprintln(&b, "\nReady.")
	default:
		fmt.Fprintf(&b, "\nNot ready: %d failed.\n", failed)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
