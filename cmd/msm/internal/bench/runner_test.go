package bench

import (
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
		change  func(tr *trial)
		order   string // of two series, a round for warming up and two that are timed
		samples []int  // of the runs that are kept
		wrong   int    // of the first
		err     error
	}{
		"in turns":          {func(*trial) {}, "ab ab ab", []int{2, 2}, 0, nil},
		"rotating":          {func(tr *trial) { tr.rotate = true }, "ab ba ab", []int{2, 2}, 0, nil},
		"no warming up":     {func(tr *trial) { tr.warmup = 0 }, "ab ab", []int{2, 2}, 0, nil},
		"a silent one":      {func(tr *trial) { tr.series[0].silent = true }, "ab ab ab", []int{2}, 0, nil},
		"wrong answers":     {func(tr *trial) { tr.series[0].check = func() (int, error) { return 2, nil } }, "ab ab ab", []int{2, 2}, 6, nil},
		"the end fails":     {func(tr *trial) { tr.check = func() error { return failed } }, "ab ab ab", nil, 0, failed},
		"what is more does": {func(tr *trial) { tr.after = func() error { return failed } }, "ab ab ab", []int{2, 2}, 0, failed},
		"b fails":           {failsIn(2, failed), "ab ab ab", []int{2, 1}, 0, failed},
		"b fails, of whole": {func(tr *trial) { failsIn(2, failed)(tr); tr.whole = true }, "ab ab ab", []int{1, 1}, 0, failed},
		"the round fails": {func(tr *trial) {
			tr.before = func(timed bool) error {
				if timed {
					return failed
				}
				return nil
			}
		}, "ab", nil, 0, failed},
	} {
		r := &runner{Common: &Common{Count: 2}}
		var order []string
		one := func(name string) *series {
			return &series{run: report.Run{Op: name}, once: func() (time.Duration, error) {
				order = append(order, name)
				return time.Millisecond, nil
			}}
		}
		tr := r.trial("stage", one("a"), one("b"))
		c.change(tr)
		err := r.compare(t.Context(), tr)
		var samples []int
		for _, run := range r.runs {
			samples = append(samples, run.Count)
		}
		if got := strings.Join(order, ""); !errors.Is(err, c.err) || got != strings.ReplaceAll(c.order, " ", "") ||
			!slices.Equal(samples, c.samples) {
			t.Errorf("%s: %v, order %s, samples %v", name, err, got, samples)
		}
		if len(r.runs) > 0 && r.runs[0].Wrong != c.wrong {
			t.Errorf("%s: %d wrong", name, r.runs[0].Wrong)
		}
	}
}

// failsIn has the second series fail in a round, the first being 0.
func failsIn(round int, err error) func(*trial) {
	return func(tr *trial) {
		once, calls := tr.series[1].once, 0
		tr.series[1].once = func() (time.Duration, error) {
			took, _ := once()
			if calls++; calls > round {
				return took, err
			}
			return took, nil
		}
	}
}
