package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
)

// TestRunner: whose turn it is, what counts when something fails, and what is counted as wrong.
func TestRunner(t *testing.T) {
	failed := errors.New("on purpose")
	for name, c := range map[string]struct {
		change  func(tr *Trial)
		order   string // of two series, a round for warming up and two that are timed
		samples []int  // of the runs that are kept
		wrong   int    // of the first
		err     error
	}{
		"in turns":          {func(*Trial) {}, "ab ab ab", []int{2, 2}, 0, nil},
		"rotating":          {func(tr *Trial) { tr.Rotate = true }, "ab ba ab", []int{2, 2}, 0, nil},
		"no warming up":     {func(tr *Trial) { tr.Warmup = 0 }, "ab ab", []int{2, 2}, 0, nil},
		"a silent one":      {func(tr *Trial) { tr.Series[0].Silent = true }, "ab ab ab", []int{2}, 0, nil},
		"wrong answers":     {func(tr *Trial) { tr.Series[0].Check = func() (int, error) { return 2, nil } }, "ab ab ab", []int{2, 2}, 6, nil},
		"the end fails":     {func(tr *Trial) { tr.Check = func() error { return failed } }, "ab ab ab", nil, 0, failed},
		"what is more does": {func(tr *Trial) { tr.After = func() error { return failed } }, "ab ab ab", []int{2, 2}, 0, failed},
		"b fails":           {failsIn(2, failed), "ab ab ab", []int{2, 1}, 0, failed},
		"b fails, of whole": {func(tr *Trial) { failsIn(2, failed)(tr); tr.Whole = true }, "ab ab ab", []int{1, 1}, 0, failed},
		"the round fails": {func(tr *Trial) {
			tr.Before = func(timed bool) error {
				if timed {
					return failed
				}
				return nil
			}
		}, "ab", nil, 0, failed},
	} {
		r := &Runner{Common: &Common{Count: 2}}
		var order []string
		one := func(name string) *Series {
			return &Series{Run: report.Run{Op: name}, Once: func() (time.Duration, error) {
				order = append(order, name)
				return time.Millisecond, nil
			}}
		}
		tr := r.Trial("stage", one("a"), one("b"))
		c.change(tr)
		err := r.Compare(t.Context(), tr)
		var samples []int
		for _, run := range r.Runs {
			samples = append(samples, run.Count)
		}
		if got := strings.Join(order, ""); !errors.Is(err, c.err) || got != strings.ReplaceAll(c.order, " ", "") ||
			!slices.Equal(samples, c.samples) {
			t.Errorf("%s: %v, order %s, samples %v", name, err, got, samples)
		}
		if len(r.Runs) > 0 && r.Runs[0].Wrong != c.wrong {
			t.Errorf("%s: %d wrong", name, r.Runs[0].Wrong)
		}
	}
}

// failsIn has the second series fail in a round, the first being 0.
func failsIn(round int, err error) func(*Trial) {
	return func(tr *Trial) {
		once, calls := tr.Series[1].Once, 0
		tr.Series[1].Once = func() (time.Duration, error) {
			took, _ := once()
			if calls++; calls > round {
				return took, err
			}
			return took, nil
		}
	}
}

// TestUntilEnded: what does not end is not waited for, an error is returned, and nothing
// begins after the end.
func TestUntilEnded(t *testing.T) {
	never := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	if err := UntilEnded(ctx, func() error { cancel(); return <-never }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := UntilEnded(ctx, func() error { t.Error("begun"); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(never)
	wrong := errors.New("wrong")
	if err := UntilEnded(t.Context(), func() error { return wrong }); !errors.Is(err, wrong) {
		t.Error(err)
	}
}
