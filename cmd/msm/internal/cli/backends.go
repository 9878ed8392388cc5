package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/cmd/msm/internal/inventory"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/units"
	"github.com/pippin-zk/pippin/plugin"
)

func (a *App) backendsCommand() *cobra.Command {
	return a.listCommand("backends", "List the backends in this program, the plugins found and the "+
		"daemon, and whether they open", writeBackends,
		func(states []inventory.Backend) any { return states },
		func(s []inventory.Backend) error {
			var names []string
			for _, s := range s {
				names = append(names, s.Name)
			}
			return fmt.Errorf("backends that do not open: %s", strings.Join(names, ", "))
		})
}

func (a *App) devicesCommand() *cobra.Command {
	return a.listCommand("devices", "List the devices of the backends that open", writeDevices,
		func(states []inventory.Backend) any { return inventory.Devices(states) },
		func(failed []inventory.Backend) (err error) {
			for _, s := range failed {
				err = errors.Join(err, fmt.Errorf("%s does not open: %s", s.Name, s.Problem))
			}
			return err
		})
}

// listCommand opens every backend and writes what they said of themselves. What
// was found and does not open is the error that failed makes of it.
func (a *App) listCommand(use, short string, write func(io.Writer, []inventory.Backend) error,
	data func([]inventory.Backend) any, failed func([]inventory.Backend) error) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := OneOf("format", format, Formats...); err != nil {
				return err
			}
			states, err := a.states(c.Context())
			if err != nil {
				return err
			}
			if format == "json" {
				err = WriteJSON(a.Stdout, data(states))
			} else {
				err = write(a.Stdout, states)
			}
			broken := inventory.Broken(states)
			if err != nil || len(broken) == 0 {
				return err
			}
			return failed(broken)
		},
	}
	AddFormat(c, &format, Formats)
	return c
}

// states tries every backend there is.
func (a *App) states(ctx context.Context) ([]inventory.Backend, error) {
	return inventory.List(ctx, a.Opener(), a.plugins(), pippin.DaemonSocket, OneLine)
}

// plugins lists the plugins that this command finds.
func (a *App) plugins() []plugin.Found {
	search := plugin.Search{Dirs: a.PluginDirs, Path: a.Getenv("PATH")}
	if a.Discover != nil {
		return a.Discover(search)
	}
	return plugin.List(search)
}

func writeBackends(w io.Writer, states []inventory.Backend) error {
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
	if err := table.Write(w, table.Fit(w), false, columns, rows); err != nil {
		return err
	}
	for _, s := range states {
		if s.Problem != "" {
			fmt.Fprintf(w, "\n%s: %s\n", s.Name, s.Problem)
		}
	}
	return nil
}

func writeDevices(w io.Writer, states []inventory.Backend) error {
	columns := []table.Column{
		{Head: "backend", Keep: table.Never}, {Head: "device", Keep: table.Never}, {Head: "memory", Keep: 1}, {Head: "detail", Keep: 0},
	}
	var rows [][]string
	for _, d := range inventory.Devices(states) {
		memory := "-"
		if d.Memory > 0 {
			memory = units.FormatBytes(d.Memory)
		}
		rows = append(rows, []string{d.Backend, orDash(d.Name), memory, orDash(d.Detail)})
	}
	return table.Write(w, table.Fit(w), false, columns, rows)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
