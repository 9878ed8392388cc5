package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// WriteGobench writes of MSMs one line per sample in the format of Go benchmarks, calls
// back to back and phases as benchmarks of their own, so that benchstat compares records:
//
//	benchstat -row /curve,/group,/dist,/n -col /backend FILE
func WriteGobench(w io.Writer, r record.Record[Run]) error {
	m := r.Machine
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: github.com/pippin-zk/pippin/bench\ncpu: %s\n", m.OS, m.Arch, m.CPU)
	if m.Commit != "" {
		fmt.Fprintf(&b, "commit: %s\n", m.Commit)
	}
	if r.Cut != "" {
		fmt.Fprintf(&b, "cut: %s\n", r.Cut)
	}
	lines := func(name string, r *Run, calls float64, samples []float64) {
		phase := ""
		if r.IsPhase() {
			phase = "/phase=" + benchKey(r.What)
		}
		for _, ms := range samples {
			fmt.Fprintf(&b, "Benchmark%s/curve=%s/group=%s/dist=%s/n=%s/backend=%s/path=%s%s-%d\t%8.0f\t%12.0f ns/op\n",
				name, r.Curve, r.Group, r.Inputs[InputDistribution], units.FormatSize(r.N), benchKey(r.Backend), r.Inputs[InputPath], phase,
				m.Cores, calls, ms*1e6)
		}
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		name := "MSM"
		if run.IsPhase() {
			name = "MSMPhase"
		}
		lines(name, run, 1, run.Samples)
		for _, rows := range []string{FigureBackToBack, FigureBatch} {
			lines("MSMBackToBack", run, run.Value(FigureCalls), run.Figures[rows].Samples)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchKey returns s without what ends a part of a benchmark's name.
func benchKey(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '/' || c <= ' ' {
			return '_'
		}
		return c
	}, s)
}
