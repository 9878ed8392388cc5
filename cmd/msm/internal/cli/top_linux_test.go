package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/observe/metrics"
)

// busyProver is the address of a prover that computes until the test ends.
func busyProver(t *testing.T, cfg engine.Config) string {
	t.Helper()
	m := metrics.New()
	e, err := pippin.New(t.Context(), m.Config(cfg))
	if err != nil {
		t.Fatal(err)
	}
	m.Watch(e)
	l, err := metrics.Listen(":0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- metrics.Serve(t.Context(), l, metrics.Registry(m)) }()
	_, _, g, _ := bn254.Generators()
	b, err := msm.BN254G1.Load(t.Context(), e, []bn254.G1Affine{g, g})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for t.Context().Err() == nil {
			if _, err := b.MSM(t.Context(), make([]fr.Element, 2)); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
				break
			}
		}
		served <- nil
	}()
	t.Cleanup(func() { // the test's context has ended
		for range 2 {
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
		e.Close()
	})
	return l.Addr().String()
}

func TestTopOnce(t *testing.T) {
	at := busyProver(t, engine.Config{})
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := Run(t.Context(), a, []string{"top", "--once", "--every", "200ms", at}); code != ExitOK {
		t.Fatalf("status %d: %s", code, &errs)
	}
	text := out.String()
	for _, want := range []string{`at ` + regexp.QuoteMeta(at), `calls/s   [1-9].* answered, 0 failed`,
		`(?m)^cpu \* +ready +[1-9]`, `(?m)^cpu 0 +[0-9]+ %`, `(?m)^msm +cpu +[0-9]`, `1 sets of bases`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") || strings.Contains(text, "DEGRADED") {
		t.Errorf("%q", text)
	}
	for address, status := range map[string]int{"unix:/nowhere": ExitFailed, "http://" + at +
		"/elsewhere": ExitFailed, "http://a b": ExitUsage} {
		if code := Run(t.Context(), a, []string{"top", "--once", address}); code != status {
			t.Errorf("%s: status %d, want %d", address, code, status)
		}
	}
	if !strings.Contains(errs.String(), "nobody serves metrics at unix:/nowhere") {
		t.Errorf("%s", &errs)
	}
}

// TestTopJSON: the table's content for programs, with units in the names.
func TestTopJSON(t *testing.T) {
	at := busyProver(t, engine.Config{})
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := Run(t.Context(), a, []string{"top", "--once", "--format", "json", "--every", "200ms", at}); code != ExitOK {
		t.Fatalf("status %d: %s", code, &errs)
	}
	var v topView
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if v.Address != at || v.Seconds < 0.2 || v.Engine == nil || v.Engine.Answered <= 0 || v.Engine.Bases != 1 || v.Engine.Degraded != "" {
		t.Errorf("%+v, engine %+v", v, v.Engine)
	}
	if len(v.Backends) != 1 || v.Backends[0].Backend != "cpu" || v.Backends[0].State != "ready" || !v.Backends[0].Preferred ||
		v.Backends[0].Points <= v.Backends[0].Calls {
		t.Errorf("%+v", v.Backends)
	}
	timed := func(p topPhase) bool { return p.Phase == "msm" && 0 < p.Median && p.Median <= p.P99 }
	if !slices.ContainsFunc(v.Phases, timed) || len(v.Devices) != 1 {
		t.Errorf("%+v, %+v", v.Phases, v.Devices)
	}
	if code := Run(t.Context(), a, []string{"top", "--format", "xml", at}); code != ExitUsage {
		t.Errorf("another format: status %d", code)
	}
}

// halved is a backend of two devices, the second of which is retired.
type halved struct{ backend.Backend }

func (halved) Usage() backend.Usage {
	return backend.Usage{Devices: []backend.DeviceUsage{{}, {Retired: "it computes wrongly"}}}
}

// TestTopOfAWrongCard: top names a device that computes wrongly.
func TestTopOfAWrongCard(t *testing.T) {
	at := busyProver(t, engine.Config{Backend: "halved", Open: func(context.Context, string) (backend.Backend, error) {
		return halved{cpu.New(cpu.Options{})}, nil
	}})
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := Run(t.Context(), a, []string{"top", "--once", "--every", "200ms", at}); code != ExitOK {
		t.Fatalf("status %d: %s", code, &errs)
	}
	if n := strings.Count(out.String(), "RETIRED: device 1 of halved computes wrongly"); n != 1 || strings.Contains(out.String(), "device 0") {
		t.Errorf("it does not name device 1 alone:\n%s", &out)
	}
}

// crowded is a backend that has no room for bases.
type crowded struct{ backend.Backend }

func (crowded) LoadBases(context.Context, backend.Bases) (backend.BasesID, error) {
	return 0, backend.ErrOutOfMemory
}

// TestTopOfARefusingBackend: of a backend that lives and refuses every call, top says so, and why.
func TestTopOfARefusingBackend(t *testing.T) {
	open := func(_ context.Context, name string) (backend.Backend, error) {
		if name == "crowded" {
			return crowded{cpu.New(cpu.Options{})}, nil
		}
		return cpu.New(cpu.Options{}), nil
	}
	at := busyProver(t, engine.Config{Backend: "crowded", Open: open})
	var out, errs bytes.Buffer
	a := &App{Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	if code := Run(t.Context(), a, []string{"top", "--once", "--every", "200ms", at}); code != ExitOK {
		t.Fatalf("status %d: %s", code, &errs)
	}
	for _, want := range []string{`(?m)^DEGRADED: the preferred backend refuses calls$`,
		`(?m)^fell back memory: [0-9.]+( k)?/s, [1-9]`, `(?m)^crowded \* +refusing +0`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, &out)
		}
	}
}

// screens ends a command when a whole screen had all that is wanted.
type screens struct {
	want  []string
	done  func()
	text  []byte
	found string // that screen
}

func (s *screens) Write(p []byte) (int, error) {
	s.text = append(s.text, p...)
	for s.found == "" {
		_, rest, begun := bytes.Cut(s.text, []byte("\x1b[H"))
		screen, _, whole := bytes.Cut(rest, []byte("\x1b[H"))
		if !begun || !whole {
			break
		}
		s.text = rest[len(screen):]
		if !slices.ContainsFunc(s.want, func(w string) bool { return !bytes.Contains(screen, []byte(w)) }) {
			s.found = string(screen)
			s.done()
		}
	}
	return len(p), nil
}

// TestTopInATerminal: the screen is drawn again and again, fits into 60 columns and is
// put back. It ends with the first screen that has a backend and a phase, however long
// that takes on a busy machine.
func TestTopInATerminal(t *testing.T) {
	at := busyProver(t, engine.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := &screens{want: []string{"cpu *", "median"}, done: cancel}
	tty, text := terminal(t, 60, seen)
	a := &App{Stdout: tty, Stderr: tty, Getenv: func(string) string { return "" }}
	if code := Run(ctx, a, []string{"top", "--every", "100ms", at}); code != ExitOK {
		t.Errorf("status %d", code)
	}
	got := text()
	if !strings.HasPrefix(got, "\x1b[?1049h") || !strings.HasSuffix(got, "\x1b[?1049l") {
		t.Errorf("it begins with %q and ends with %q", got[:min(20, len(got))], got[max(0, len(got)-20):])
	}
	if seen.found == "" {
		t.Fatalf("no screen has %q in a minute:\n%s", seen.want, got)
	}
	for _, line := range strings.Split(regexp.MustCompile(`\x1b\[[?0-9]*[A-Za-z]`).ReplaceAllString(seen.found, ""), "\n") {
		if n := utf8.RuneCountInString(strings.Trim(line, "\r")); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.123: "0.12", 3: "3", 123.4: "123", 12345: "12.3 k", 2.5e6: "2.5 M", 7e9: "7.0 G"} {
		if got := number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}
