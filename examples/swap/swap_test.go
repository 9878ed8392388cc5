package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/examples/internal/demo"
	"github.com/pippin-zk/pippin/msm"
)

func TestSwapAndKill(t *testing.T) {
	if why := demo.NoPlugins(); why != "" {
		t.Skip(why)
	}
	dir := t.TempDir()
	if err := demo.Build(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	checkRun(t, func(w io.Writer) error {
		return run(t.Context(), w, options{
			points: 1 << 10, workers: 3, duration: 4 * time.Second, plugin: demo.Plugin, plugins: dir,
		})
	})
}

// mortal is a backend that can be made to behave like a killed plugin.
type mortal struct {
	backend.Backend
	dead *atomic.Bool
}

func (m mortal) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	out, err := m.Backend.MSM(ctx, jobs)
	if m.dead.Load() {
		return nil, fmt.Errorf("killed: %w", backend.ErrGone)
	}
	return out, err
}

// The same without a process, on every system.
func TestSwapAndSimulatedDeath(t *testing.T) {
	var living atomic.Pointer[atomic.Bool]
	open := func(ctx context.Context, name string) (backend.Backend, error) {
		b, err := pippin.Opener(pippin.Options{})(ctx, demo.InProcess)
		if name == demo.InProcess || err != nil {
			return b, err
		}
		m := mortal{b, new(atomic.Bool)}
		living.Store(m.dead)
		return m, nil
	}
	kill := func(string) (int, error) {
		living.Load().Store(true)
		return 1, nil
	}
	checkRun(t, func(w io.Writer) error {
		return swap(t.Context(), w, options{points: 1 << 8, workers: 3, duration: time.Second, plugin: demo.Plugin}, open, kill)
	})
}

func checkRun(t *testing.T, run func(io.Writer) error) {
	t.Helper()
	var out bytes.Buffer
	err := run(&out)
	t.Logf("\n%s", &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`process \d+ is dead`,
		`engine: restarted: plugin:cpu`,
		`1: cpu +[1-9]`,
		`2: plugin:cpu +[1-9]`,
		`3: plugin:cpu +[1-9]`,
		`4: cpu +[1-9]\d*\n\n(\d+) calls, \d+ right, 0 lost\n$`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("no %q in the output", want)
		}
	}
}

// The stream must see wrong answers, or the other test means nothing.
func TestWrongAnswersAreSeen(t *testing.T) {
	work := newWorkload(64)
	work.answers[3].Neg(&work.answers[3])
	e, err := pippin.New(t.Context(), engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	bases, err := msm.BN254G1.Load(t.Context(), e, work.points)
	if err != nil {
		t.Fatal(err)
	}
	line := newTimeline(io.Discard)
	line.event(engine.Event{Kind: engine.EventRestart})
	s := startStream(t.Context(), 1, work, bases, line)
	for line.made() < 2*vectors {
		time.Sleep(time.Millisecond)
	}
	s.stop()
	if line.wrong < 2 || line.wrong > line.calls/vectors+1 {
		t.Errorf("%d of %d answers seen as wrong, one of %d is", line.wrong, line.calls, vectors)
	}
	if line.verdict() == nil {
		t.Error("the verdict on wrong answers is good")
	}
}

func TestVerdict(t *testing.T) {
	restarted := engine.Event{Kind: engine.EventRestart}
	for name, c := range map[string]struct {
		good bool
		do   func(*timeline)
	}{
		"all right":  {true, func(l *timeline) { l.event(restarted); l.call(1, nil, true) }},
		"no calls":   {false, func(l *timeline) { l.event(restarted) }},
		"no restart": {false, func(l *timeline) { l.call(1, nil, true) }},
		"wrong":      {false, func(l *timeline) { l.event(restarted); l.call(1, nil, true); l.call(1, nil, false) }},
		"lost":       {false, func(l *timeline) { l.event(restarted); l.call(1, nil, true); l.call(1, errors.New("x"), false) }},
	} {
		l := newTimeline(io.Discard)
		c.do(l)
		if err := l.verdict(); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQuantile(t *testing.T) {
	d := make([]time.Duration, 100)
	for i := range d {
		d[i] = time.Duration(i + 1)
	}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 51, 0.99: 100, 1: 100} {
		if got := quantile(d, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("the median of nothing is %v", got)
	}
}
