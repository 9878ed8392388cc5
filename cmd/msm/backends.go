package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/table"
	"github.com/pippin-zk/pippin/internal/units"
)

// found is a plugin's executable.
type found struct {
	name, path string
	checksum   string // SHA-256
	verified   bool   // against a checksum kept beside it
	problem    error  // why it must not be started
	hiddenBy   string // path of the one that is started by this name
}

// backendState is a line of msm backends.
type backendState struct {
	record.BackendInfo
	Path     string `json:"path,omitempty"`
	Checksum string `json:"sha256,omitempty"`
	// Verified: the checksum is the one recorded beside the file, or the
	// backend is part of this program.
	Verified bool   `json:"verified"`
	Opens    bool   `json:"opens"`
	Missing  bool   `json:"missing,omitempty"` // nothing of that name is installed
	Problem  string `json:"problem,omitempty"` // why it does not
}

// inProcess lists the backends that need no plugin.
var inProcess = []string{"cpu", "reference"}

// openTimeout bounds the opening of one backend.
const openTimeout = 30 * time.Second

func (a *app) backendsCommand() *cobra.Command {
	return a.listCommand("backends", "List the backends in this program, the plugins found and the daemon, and whether they open", writeBackends,
		func(states []backendState) any { return states },
		func(s []backendState) error {
			var names []string
			for _, s := range s {
				names = append(names, s.Name)
			}
			return fmt.Errorf("backends that do not open: %s", strings.Join(names, ", "))
		})
}

func (a *app) devicesCommand() *cobra.Command {
	return a.listCommand("devices", "List the devices of the backends that open", writeDevices,
		func(states []backendState) any { return devicesOf(states) },
		func(failed []backendState) (err error) {
			for _, s := range failed {
				err = errors.Join(err, fmt.Errorf("%s does not open: %s", s.Name, s.Problem))
			}
			return err
		})
}

// listCommand opens every backend and writes what they said of themselves. What
// was found and does not open is the error that failed makes of it.
func (a *app) listCommand(use, short string, write func(io.Writer, []backendState) error, data func([]backendState) any, failed func([]backendState) error) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := oneOf("format", format, "table", "json"); err != nil {
				return err
			}
			states, err := a.states(c.Context())
			if err != nil {
				return err
			}
			if format == "json" {
				err = writeJSON(a.stdout, data(states))
			} else {
				err = write(a.stdout, states)
			}
			broken := slices.DeleteFunc(states, func(s backendState) bool { return s.Opens || s.Missing })
			if err != nil || len(broken) == 0 {
				return err
			}
			return failed(broken)
		},
	}
	c.Flags().StringVar(&format, "format", "table", "table, json")
	return c
}

// states tries every backend there is.
func (a *app) states(ctx context.Context) ([]backendState, error) {
	var all []backendState
	for _, name := range inProcess {
		s := backendState{BackendInfo: record.BackendInfo{Name: name}, Verified: true}
		a.try(ctx, &s)
		all = append(all, s)
	}
	plugins := a.plugins()
	for _, f := range plugins {
		s := backendState{
			BackendInfo: record.BackendInfo{Name: "plugin:" + f.name},
			Path:        f.path, Checksum: f.checksum, Verified: f.verified,
		}
		if f.hiddenBy != "" {
			s.Name = "plugin:" + f.path
		}
		if f.problem != nil {
			s.Problem = oneLine(f.problem)
		} else {
			a.try(ctx, &s)
		}
		all = append(all, s)
	}
	if !slices.ContainsFunc(plugins, func(f found) bool { return f.name == "cuda" }) {
		s := backendState{BackendInfo: record.BackendInfo{Name: "cuda"}, Missing: true}
		a.try(ctx, &s)
		s.Missing = !s.Opens
		all = append(all, s)
	}
	if path, there := pippin.DaemonSocket(); there {
		s := backendState{BackendInfo: record.BackendInfo{Name: "daemon"}, Path: path}
		a.try(ctx, &s)
		all = append(all, s)
	}
	return all, ctx.Err()
}

// try opens a backend and closes it again.
func (a *app) try(ctx context.Context, s *backendState) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	b, err := a.opener()(ctx, s.Name)
	if err != nil {
		s.Problem = oneLine(err)
		return
	}
	s.BackendInfo, s.Opens = record.Describe(s.Name, b.Info()), true
	if err := b.Close(); err != nil {
		s.Problem = "closing: " + oneLine(err)
	}
}

func writeBackends(w io.Writer, states []backendState) error {
	columns := []table.Column{
		{Head: "backend", Keep: table.Never}, {Head: "version", Keep: 1}, {Head: "curves", Keep: 0}, {Head: "state", Keep: table.Never},
		{Head: "checksum", Keep: 2}, {Head: "path", Keep: 3},
	}
	var rows [][]string
	for _, s := range states {
		state, checksum := "opens", "-"
		switch {
		case s.Missing:
			state = "not installed"
		case !s.Opens:
			state = "does not open"
		}
		if s.Checksum != "" {
			checksum = s.Checksum[:min(12, len(s.Checksum))] + ", not verified"
			if s.Verified {
				checksum = s.Checksum[:min(12, len(s.Checksum))] + ", verified"
			}
		}
		rows = append(rows, []string{s.Name, orDash(s.Version), orDash(strings.Join(s.Curves, " ")), state, checksum, orDash(s.Path)})
	}
	if err := table.Write(w, width(w), false, columns, rows); err != nil {
		return err
	}
	for _, s := range states {
		if s.Problem != "" {
			fmt.Fprintf(w, "\n%s: %s\n", s.Name, s.Problem)
		}
	}
	return nil
}

// deviceLine is a line of msm devices.
type deviceLine struct {
	Backend string `json:"backend"`
	record.DeviceInfo
}

func devicesOf(states []backendState) []deviceLine {
	lines := []deviceLine{}
	for _, s := range states {
		for _, d := range s.Devices {
			lines = append(lines, deviceLine{s.Name, d})
		}
	}
	return lines
}

func writeDevices(w io.Writer, states []backendState) error {
	columns := []table.Column{
		{Head: "backend", Keep: table.Never}, {Head: "device", Keep: table.Never}, {Head: "memory", Keep: 1}, {Head: "detail", Keep: 0},
	}
	var rows [][]string
	for _, d := range devicesOf(states) {
		memory := "-"
		if d.Memory > 0 {
			memory = units.FormatBytes(d.Memory)
		}
		rows = append(rows, []string{d.Backend, orDash(d.Name), memory, orDash(d.Detail)})
	}
	return table.Write(w, width(w), false, columns, rows)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
