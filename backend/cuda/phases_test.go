//go:build cuda && cgo && linux && (amd64 || arm64)

package cuda

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
)

// TestPhases: a backend counts the stages of an MSM by the names of its kernels' phases. Together
// they take no longer than the call.
func TestPhases(t *testing.T) {
	b := fake(t, Options{Trace: func(context.Context, []backend.StageUsage) {}})
	defer b.Close()
	_, job := small(t, b)
	start := time.Now()
	if _, err := b.MSM(t.Context(), []backend.Job{job}); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	var names []string
	var sum time.Duration
	for _, s := range b.Usage().Stages {
		names, sum = append(names, s.Name), sum+s.Busy
	}
	for _, want := range []string{"copy", "digits", "sort", "buckets", "accumulate", "fold", "reduce"} {
		if !slices.Contains(names, want) {
			t.Errorf("no phase %s in %q", want, names)
		}
	}
	if sum <= 0 || sum > took {
		t.Errorf("phases take %v of %v", sum, took)
	}
}

// TestTuningFiles: a tuning table for the card is used and named. If it cannot be used, that is an
// error if it was asked for; if it was only found, it is left out with a warning.
func TestTuningFiles(t *testing.T) {
	cudatest.OnFake(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	detail := func(o Options) (string, error) {
		o.Devices = "0"
		b, err := Open(o)
		if err != nil {
			return "", err
		}
		return b.Info().Devices[0].Detail, b.Close()
	}
	b := fake(t, Options{})
	card := b.Info().Devices[0].Name
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	own, err := msmplan.TableFile(card)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, found, asked string }{
		{`{"card": "` + card + `", "groups": []}`, "plans of " + own, "plans of " + own},
		{`{"card": "another", "groups": []}`, "plans of NVIDIA H200, the nearest", "error"},
		{`{"card": `, "plans of NVIDIA H200, the nearest", "error"},
	} {
		if err := os.WriteFile(own, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		if got, err := detail(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil ||
			!strings.Contains(got, c.found) || (c.asked == "error") != strings.Contains(log.String(), own) {
			t.Errorf("%s: %q, %v, %s", c.text, got, err, log.String())
		}
		got, err := detail(Options{Tuning: own})
		if c.asked == "error" && (!errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), own)) ||
			c.asked != "error" && !strings.Contains(got, c.asked) {
			t.Errorf("%s, asked for: %q, %v", c.text, got, err)
		}
		if got, err := detail(Options{Tuning: "none"}); err != nil || strings.Contains(got, own) {
			t.Errorf("none: %q, %v", got, err)
		}
	}
	if _, err := detail(Options{Tuning: filepath.Join(t.TempDir(), "none there")}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("no file: %v", err)
	}
}
