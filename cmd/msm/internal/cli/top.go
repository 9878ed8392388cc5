package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/scrape"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/units"
)

// topAddress is where examples and the documents have provers serve metrics.
const topAddress = "127.0.0.1:9464"

func (a *App) topCommand() *cobra.Command {
	var every time.Duration
	var once bool
	c := &cobra.Command{
		Use:   "top [HOST:PORT | URL | unix:PATH]",
		Short: "Show what a prover or plugin that serves metrics is doing, until interrupted",
		Long: `Show what a prover or plugin that serves metrics is doing, until interrupted.

The default address is ` + topAddress + `. Rates are those of the time between two
looks. With --once, and where the output is no terminal, there are two looks and
one table, without control characters.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("one address at most")}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if every <= 0 {
				return usageError{fmt.Errorf("--every %v: it must be above 0", every)}
			}
			from := scrape.New(append(args, topAddress)[0])
			f, ok := a.Stdout.(*os.File)
			if once || !ok || !term.IsTerminal(int(f.Fd())) {
				return topOnce(c.Context(), a.Stdout, from, every)
			}
			topLive(c.Context(), a.Stdout, from, every)
			return nil // an interrupt is how it ends
		},
	}
	c.Flags().DurationVar(&every, "every", 2*time.Second, "time between two looks")
	c.Flags().BoolVar(&once, "once", false, "two looks, one table")
	return c
}

// topOnce writes one table of what happened between two looks.
func topOnce(ctx context.Context, w io.Writer, from *scrape.Source, every time.Duration) error {
	before, err := from.Look(ctx)
	if errors.Is(err, backend.ErrInvalidInput) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	select {
	case <-time.After(every):
	case <-ctx.Done():
		return ctx.Err()
	}
	now, err := from.Look(ctx)
	if err != nil {
		return err
	}
	return writeTop(w, table.Fit(w).Width, from.Address, before, now)
}

// topLive draws a screen over and over until ctx ends.
func topLive(ctx context.Context, w io.Writer, from *scrape.Source, every time.Duration) {
	fmt.Fprint(w, "\x1b[?1049h\x1b[?25l")       // another screen, no cursor
	defer fmt.Fprint(w, "\x1b[?25h\x1b[?1049l") // as it was
	tick := time.NewTicker(every)
	defer tick.Stop()
	var before *scrape.Look
	for {
		var screen bytes.Buffer
		now, err := from.Look(ctx)
		if err == nil {
			err = writeTop(&screen, table.Fit(w).Width, from.Address, cmp.Or(before, now), now)
			before = now
		}
		if err != nil {
			fmt.Fprintf(&screen, "%s\n%s\n", from.Address, OneLine(err))
		}
		draw(w, screen.String())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// draw replaces what is on the screen by lines, as many as it has.
func draw(w io.Writer, text string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	columns := table.Fit(w).Width
	if f, ok := w.(*os.File); ok {
		if _, rows, err := term.GetSize(int(f.Fd())); err == nil && rows > 0 {
			lines = lines[:min(len(lines), rows)]
		}
	}
	for i, l := range lines {
		if r := []rune(l); columns > 0 && len(r) > columns {
			lines[i] = string(r[:columns])
		}
	}
	fmt.Fprint(w, "\x1b[H"+strings.Join(lines, "\x1b[K\r\n")+"\x1b[K\x1b[J")
}

// writeTop writes what happened between two looks.
func writeTop(w io.Writer, width int, address string, before, now *scrape.Look) error {
	per := func(name string, labels ...string) string { return number(scrape.Rate(before, now, name, labels...)) }
	is := func(name string, labels ...string) string { return number(now.Sum(name, labels...)) }
	size := func(name string, labels ...string) string { return units.FormatBytes(uint64(now.Sum(name, labels...))) }
	build := now.Metrics("build_info")[0]
	fmt.Fprintf(w, "pippin %s at %s, %s\n", scrape.LabelOf(build, "version"), address, now.At.Format(time.TimeOnly))

	if len(now.Metrics("calls_total")) > 0 { // an engine's
		if now.Sum("degraded") > 0 {
			fmt.Fprintln(w, "DEGRADED: the preferred backend "+trouble(now))
		}
		fmt.Fprintf(w, "calls/s   %s answered, %s failed, %s canceled, %s fell back\n", per("calls_total", "outcome=answered"),
			per("calls_total", "outcome=failed"), per("calls_total", "outcome=canceled"), per("fallback_calls_total"))
		if why := fellBack(before, now); why != "" {
			fmt.Fprintf(w, "fell back %s\n", why)
		}
		fmt.Fprintf(w, "now       %s in flight, %s waiting for a backend\n", is("calls_in_flight"), is("calls_waiting"))
		fmt.Fprintf(w, "held      %s sets of bases, %s sessions, %s shared\n", is("bases_loaded"), is("sessions_open"), size("shared_bytes"))
		fmt.Fprintf(w, "answers   %s checked, %s compared, %s refused\n", is("answers_checked_total"),
			is("answers_compared_total"), is("answers_refused_total"))
	}

	for _, b := range now.Values("daemon_sessions", "backend") {
		of := "backend=" + b
		fmt.Fprintf(w, "daemon    %s: %s sessions, %s of bases, %s of them held by none, %s calls waiting for a turn\n", b,
			is("daemon_sessions", of), size("daemon_resident_bytes", of), size("daemon_unheld_bytes", of), is("daemon_calls_waiting", of))
	}

	var rows [][]string
	for _, b := range now.Values("backend_state", "backend") {
		of := "backend=" + b
		state := ""
		for _, m := range now.Metrics("backend_state", of) {
			if m.GetGauge().GetValue() == 1 {
				state = scrape.LabelOf(m, "state")
			}
		}
		name := b
		if now.Sum("backend_preferred", of) == 1 {
			name += " *"
		}
		rows = append(rows, []string{name, state, per("backend_calls_total", of, "outcome=answered"), per("msm_points_total", of),
			is("backend_calls_in_flight", of), size("backend_resident_bytes", of), is("backend_deaths_total", of),
			is("backend_calls_total", of, "outcome=failed")})
	}
	if err := Section(w, table.Form{Width: width}, []table.Column{
		{Head: "backend", Keep: table.Never}, {Head: "state", Keep: table.Never}, {Head: "calls/s", Keep: 6}, {Head: "points/s", Keep: 5},
		{Head: "in flight", Keep: 3}, {Head: "bases", Keep: 2}, {Head: "deaths", Keep: 4}, {Head: "failed", Keep: 1},
	}, rows); err != nil {
		return err
	}

	for _, m := range now.Metrics("device_retired") {
		if m.GetGauge().GetValue() == 1 {
			fmt.Fprintf(w, "RETIRED: device %s of %s computes wrongly and is not used any more\n",
				scrape.LabelOf(m, "device"), scrape.LabelOf(m, "backend"))
		}
	}
	rows = nil
	for _, b := range now.Values("device_busy_seconds_total", "backend") {
		for _, m := range now.Metrics("device_busy_seconds_total", "backend="+b) {
			of := []string{"backend=" + b, "device=" + scrape.LabelOf(m, "device")}
			rows = append(rows, []string{b + " " + scrape.LabelOf(m, "device"),
				fmt.Sprintf("%.0f %%", 100*min(1, scrape.Rate(before, now, "device_busy_seconds_total", of...))),
				per("device_wait_seconds_total", of...), per("device_calls_total", of...)})
		}
	}
	if err := Section(w, table.Form{Width: width}, []table.Column{
		{Head: "device", Keep: table.Never}, {Head: "busy", Keep: table.Never}, {Head: "calls waiting", Keep: 1}, {Head: "calls/s", Keep: 2},
	}, rows); err != nil {
		return err
	}

	rows = nil
	for _, p := range now.Values("phase_duration_seconds", "phase") {
		for _, b := range now.Values("phase_duration_seconds", "backend") {
			d := scrape.Between(before, now, "phase="+p, "backend="+b, "outcome=ok")
			if d.Count == 0 {
				continue
			}
			rows = append(rows, []string{
				p, orDash(b), number(d.Count / max(now.At.Sub(before.At).Seconds(), 1e-9)), seconds(d.Quantile(0.5)), seconds(d.Quantile(0.99)),
			})
		}
	}
	return Section(w, table.Form{Width: width}, []table.Column{
		{Head: "phase", Keep: table.Never}, {Head: "backend", Keep: 2}, {Head: "times/s", Keep: 1},
		{Head: "median", Keep: table.Never}, {Head: "99 %", Keep: 3},
	}, rows)
}

// trouble says what a preferred backend does that does not answer.
func trouble(now *scrape.Look) string {
	for _, m := range now.Metrics("backend_preferred") {
		of := "backend=" + scrape.LabelOf(m, "backend")
		if m.GetGauge().GetValue() == 1 && now.Sum("backend_state", of, "state=refusing") == 1 {
			return "refuses calls"
		}
	}
	return "does not answer"
}

// fellBack says why calls were answered by a fallback, with how many a second for each reason, and in
// all since the start.
func fellBack(before, now *scrape.Look) string {
	var all []string
	for _, r := range now.Values("fallback_calls_total", "reason") {
		const name = "fallback_calls_total"
		if n := now.Sum(name, "reason="+r); n > 0 {
			all = append(all, fmt.Sprintf("%s: %s/s, %s in all", r, number(scrape.Rate(before, now, name, "reason="+r)), number(n)))
		}
	}
	return strings.Join(all, "; ")
}

// Section writes a table below an empty line, if it has rows.
func Section(w io.Writer, form table.Form, columns []table.Column, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return table.Write(w, form, false, columns, rows)
}

// number writes a number in few characters: 12, 3.4, 1.2 M.
func number(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.1f G", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.1f M", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.1f k", v/1e3)
	case v >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}

// seconds writes a duration as people say it.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}
