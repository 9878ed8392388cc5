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

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/fixtures"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/internal/record"
)

// TestPhasesInRecords: what a bench records of an MSM has the phases of the kernels, with
// times that belong to the calls.
func TestPhasesInRecords(t *testing.T) {
	cudatest.OnFake(t)
	runs, _, err := bench.MSM(t.Context(), bench.Config{
		Open: func(context.Context, string) (backend.Backend, error) {
			return Open(Options{Devices: "0", Trace: func(context.Context, []backend.StageUsage) {}})
		},
		Backends: []string{"cuda"}, Curves: []backend.Curve{backend.BN254}, Groups: []backend.Group{backend.G1}, Sizes: []int{300},
		Distributions: []fixtures.Distribution{fixtures.Uniform}, Paths: []report.Path{report.Copy}, Count: 2, Multiples: 1, Seed: *seed,
		Check: true, CacheDir: t.TempDir(), Phases: true,
	})
	if err != nil || len(runs) == 0 || runs[0].Op != "msm" || !runs[0].Checked {
		t.Fatalf("%v, %+v", err, runs)
	}
	var got []string
	sum := 0.0
	for _, r := range runs[1:] {
		got, sum = append(got, r.Phase), sum+r.Min
		if r.Op != report.OpPhase || r.Median <= 0 || r.Count != 2 || r.N != 300 {
			t.Errorf("%+v", r)
		}
	}
	for _, want := range []string{"copy", "digits", "sort", "buckets", "accumulate", "fold", "reduce"} {
		if !slices.Contains(got, want) {
			t.Errorf("no phase %s in %q", want, got)
		}
	}
	if sum > runs[0].Median {
		t.Errorf("phases take %v ms of %v", sum, runs[0].Median)
	}
}

// TestTuningFiles: a table of the card's own is used and named. One that cannot be used
// is an error where it was asked for, and left out with a warning where it was found.
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
		if got, err := detail(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}); err != nil || !strings.Contains(got, c.found) || (c.asked == "error") != strings.Contains(log.String(), own) {
			t.Errorf("%s: %q, %v, %s", c.text, got, err, log.String())
		}
		got, err := detail(Options{Tuning: own})
		if c.asked == "error" && (!errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), own)) || c.asked != "error" && !strings.Contains(got, c.asked) {
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
