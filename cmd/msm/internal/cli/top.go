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
	var format string
	c := &cobra.Command{
		Use:   "top [HOST:PORT | URL | unix:PATH]",
		Short: "Show what a prover or plugin that serves metrics is doing, until interrupted",
		Long: `Show what a prover or plugin that serves metrics is doing, until interrupted.

The default address is ` + topAddress + `. Rates are those of the time between two
looks. With --once, and where the output is no terminal, there are two looks and
one table, without control characters. --format json writes what is in that table,
unrounded.`,
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
			if err := OneOf("format", format, Formats...); err != nil {
				return err
			}
			from := scrape.New(append(args, topAddress)[0])
			f, ok := a.Stdout.(*os.File)
			if once || format == "json" || !ok || !term.IsTerminal(int(f.Fd())) {
				return topOnce(c.Context(), a.Stdout, from, every, format)
			}
			topLive(c.Context(), a.Stdout, from, every)
			return nil // an interrupt is how it ends
		},
	}
	c.Flags().DurationVar(&every, "every", 2*time.Second, "time between two looks")
	c.Flags().BoolVar(&once, "once", false, "two looks, one table")
	AddFormat(c, &format, Formats)
	return c
}

// topOnce writes what happened between two looks, once.
func topOnce(ctx context.Context, w io.Writer, from *scrape.Source, every time.Duration, format string) error {
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
	v := viewOf(from.Address, before, now)
	return TableOr(format, func(w io.Writer) error { return v.write(w, table.Fit(w).Width) },
		func(w io.Writer) error { return WriteJSON(w, v) })(w)
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
			err = viewOf(from.Address, cmp.Or(before, now), now).write(&screen, table.Fit(w).Width)
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

// topView is what happened between two looks; its names are those of --format json.
type topView struct {
	Version  string       `json:"version"`
	Address  string       `json:"address"`
	At       time.Time    `json:"at"`
	Seconds  float64      `json:"seconds"` // between the looks
	Engine   *topEngine   `json:"engine,omitempty"`
	Daemons  []topDaemon  `json:"daemons,omitempty"`
	Backends []topBackend `json:"backends,omitempty"`
	Devices  []topDevice  `json:"devices,omitempty"`
	Phases   []topPhase   `json:"phases,omitempty"`
}

type topEngine struct {
	Degraded string        `json:"degraded,omitempty"` // what the preferred backend does
	Answered float64       `json:"answered_per_second"`
	Failed   float64       `json:"failed_per_second"`
	Canceled float64       `json:"canceled_per_second"`
	FellBack float64       `json:"fell_back_per_second"`
	Reasons  []topFellBack `json:"fell_back,omitempty"`
	InFlight float64       `json:"in_flight"`
	Waiting  float64       `json:"waiting"`
	Bases    float64       `json:"bases"` // sets of them
	Sessions float64       `json:"sessions"`
	Shared   float64       `json:"shared_bytes"`
	Checked  float64       `json:"answers_checked"`
	Compared float64       `json:"answers_compared"`
	Refused  float64       `json:"answers_refused"`
}

// topFellBack is a reason for which a fallback answered.
type topFellBack struct {
	Reason string  `json:"reason"`
	Rate   float64 `json:"per_second"`
	Total  float64 `json:"total"`
}

type topDaemon struct {
	Backend  string  `json:"backend"`
	Sessions float64 `json:"sessions"`
	Resident float64 `json:"resident_bytes"`
	Unheld   float64 `json:"unheld_bytes"`
	Waiting  float64 `json:"waiting"`
}

type topBackend struct {
	Backend   string  `json:"backend"`
	Preferred bool    `json:"preferred"`
	State     string  `json:"state"`
	Calls     float64 `json:"calls_per_second"`
	Points    float64 `json:"points_per_second"`
	InFlight  float64 `json:"in_flight"`
	Resident  float64 `json:"resident_bytes"`
	Deaths    float64 `json:"deaths"`
	Failed    float64 `json:"failed"`
}

type topDevice struct {
	Backend string  `json:"backend"`
	Device  string  `json:"device"`
	Retired bool    `json:"retired"` // it computes wrongly
	Busy    float64 `json:"busy"`    // share of the time
	Waiting float64 `json:"calls_waiting"`
	Calls   float64 `json:"calls_per_second"`
}

type topPhase struct {
	Phase   string  `json:"phase"`
	Backend string  `json:"backend,omitempty"`
	Rate    float64 `json:"per_second"`
	Median  float64 `json:"median_seconds"`
	P99     float64 `json:"p99_seconds"`
}

// viewOf compares two looks.
func viewOf(address string, before, now *scrape.Look) topView {
	per := func(name string, labels ...string) float64 { return scrape.Rate(before, now, name, labels...) }
	is := now.Sum
	v := topView{
		Version: scrape.LabelOf(now.Metrics("build_info")[0], "version"), Address: address,
		At: now.At, Seconds: now.At.Sub(before.At).Seconds(),
	}
	if len(now.Metrics("calls_total")) > 0 {
		e := &topEngine{
			Answered: per("calls_total", "outcome=answered"), Failed: per("calls_total", "outcome=failed"),
			Canceled: per("calls_total", "outcome=canceled"), FellBack: per("fallback_calls_total"),
			InFlight: is("calls_in_flight"), Waiting: is("calls_waiting"),
			Bases: is("bases_loaded"), Sessions: is("sessions_open"), Shared: is("shared_bytes"),
			Checked: is("answers_checked_total"), Compared: is("answers_compared_total"), Refused: is("answers_refused_total"),
		}
		if is("degraded") > 0 {
			e.Degraded = trouble(now)
		}
		for _, r := range now.Values("fallback_calls_total", "reason") {
			of := "reason=" + r
			if n := is("fallback_calls_total", of); n > 0 {
				e.Reasons = append(e.Reasons, topFellBack{r, per("fallback_calls_total", of), n})
			}
		}
		v.Engine = e
	}
	for _, b := range now.Values("daemon_sessions", "backend") {
		of := "backend=" + b
		v.Daemons = append(v.Daemons, topDaemon{
			b, is("daemon_sessions", of), is("daemon_resident_bytes", of), is("daemon_unheld_bytes", of), is("daemon_calls_waiting", of),
		})
	}
	for _, b := range now.Values("backend_state", "backend") {
		of := "backend=" + b
		state := ""
		for _, m := range now.Metrics("backend_state", of) {
			if m.GetGauge().GetValue() == 1 {
				state = scrape.LabelOf(m, "state")
			}
		}
		v.Backends = append(v.Backends, topBackend{
			Backend: b, Preferred: is("backend_preferred", of) == 1, State: state,
			Calls: per("backend_calls_total", of, "outcome=answered"), Points: per("msm_points_total", of),
			InFlight: is("backend_calls_in_flight", of), Resident: is("backend_resident_bytes", of),
			Deaths: is("backend_deaths_total", of), Failed: is("backend_calls_total", of, "outcome=failed"),
		})
	}
	for _, b := range now.Values("device_busy_seconds_total", "backend") {
		for _, m := range now.Metrics("device_busy_seconds_total", "backend="+b) {
			d := topDevice{Backend: b, Device: scrape.LabelOf(m, "device")}
			of := []string{"backend=" + b, "device=" + d.Device}
			d.Retired = is("device_retired", of...) == 1
			d.Busy = min(1, per("device_busy_seconds_total", of...))
			d.Waiting, d.Calls = per("device_wait_seconds_total", of...), per("device_calls_total", of...)
			v.Devices = append(v.Devices, d)
		}
	}
	for _, p := range now.Values("phase_duration_seconds", "phase") {
		for _, b := range now.Values("phase_duration_seconds", "backend") {
			if d := scrape.Between(before, now, "phase="+p, "backend="+b, "outcome=ok"); d.Count > 0 {
				v.Phases = append(v.Phases, topPhase{p, b, d.Count / max(v.Seconds, 1e-9), d.Quantile(0.5), d.Quantile(0.99)})
			}
		}
	}
	return v
}

// write writes it for people.
func (v topView) write(w io.Writer, width int) error {
	size := func(bytes float64) string { return units.FormatBytes(uint64(bytes)) }
	fmt.Fprintf(w, "pippin %s at %s, %s\n", v.Version, v.Address, v.At.Format(time.TimeOnly))
	if e := v.Engine; e != nil {
		if e.Degraded != "" {
			fmt.Fprintln(w, "DEGRADED: the preferred backend "+e.Degraded)
		}
		fmt.Fprintf(w, "calls/s   %s answered, %s failed, %s canceled, %s fell back\n",
			number(e.Answered), number(e.Failed), number(e.Canceled), number(e.FellBack))
		var why []string
		for _, r := range e.Reasons {
			why = append(why, fmt.Sprintf("%s: %s/s, %s in all", r.Reason, number(r.Rate), number(r.Total)))
		}
		if len(why) > 0 {
			fmt.Fprintf(w, "fell back %s\n", strings.Join(why, "; "))
		}
		fmt.Fprintf(w, "now       %s in flight, %s waiting for a backend\n", number(e.InFlight), number(e.Waiting))
		fmt.Fprintf(w, "held      %s sets of bases, %s sessions, %s shared\n", number(e.Bases), number(e.Sessions), size(e.Shared))
		fmt.Fprintf(w, "answers   %s checked, %s compared, %s refused\n", number(e.Checked), number(e.Compared), number(e.Refused))
	}
	for _, d := range v.Daemons {
		fmt.Fprintf(w, "daemon    %s: %s sessions, %s of bases, %s of them held by none, %s calls waiting for a turn\n", d.Backend,
			number(d.Sessions), size(d.Resident), size(d.Unheld), number(d.Waiting))
	}

	var rows [][]string
	for _, b := range v.Backends {
		name := b.Backend
		if b.Preferred {
			name += " *"
		}
		rows = append(rows, []string{
			name, b.State, number(b.Calls), number(b.Points), number(b.InFlight), size(b.Resident), number(b.Deaths), number(b.Failed),
		})
	}
	if err := Section(w, table.Form{Width: width}, []table.Column{
		{Head: "backend", Keep: table.Never}, {Head: "state", Keep: table.Never}, {Head: "calls/s", Keep: 6}, {Head: "points/s", Keep: 5},
		{Head: "in flight", Keep: 3}, {Head: "bases", Keep: 2}, {Head: "deaths", Keep: 4}, {Head: "failed", Keep: 1},
	}, rows); err != nil {
		return err
	}

	rows = nil
	for _, d := range v.Devices {
		if d.Retired {
			fmt.Fprintf(w, "RETIRED: device %s of %s computes wrongly and is not used any more\n", d.Device, d.Backend)
		}
		rows = append(rows, []string{d.Backend + " " + d.Device, fmt.Sprintf("%.0f %%", 100*d.Busy), number(d.Waiting), number(d.Calls)})
	}
	if err := Section(w, table.Form{Width: width}, []table.Column{
		{Head: "device", Keep: table.Never}, {Head: "busy", Keep: table.Never}, {Head: "calls waiting", Keep: 1}, {Head: "calls/s", Keep: 2},
	}, rows); err != nil {
		return err
	}

	rows = nil
	for _, p := range v.Phases {
		rows = append(rows, []string{p.Phase, orDash(p.Backend), number(p.Rate), seconds(p.Median), seconds(p.P99)})
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
