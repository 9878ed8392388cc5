package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/internal/units"
)

// WriteGobench writes one line per sample in the format of Go benchmarks, calls
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
	lines := func(name string, r Run, calls int, samples []float64) {
		phase := ""
		if r.Phase != "" {
			phase = "/phase=" + benchKey(r.Phase)
		}
		for _, ms := range samples {
			fmt.Fprintf(&b, "Benchmark%s/curve=%s/group=%s/dist=%s/n=%s/backend=%s/path=%s%s-%d\t%8d\t%12.0f ns/op\n",
				name, r.Curve, r.Group, r.Distribution, units.FormatSize(r.N), benchKey(r.Backend), r.Path, phase, m.Cores, calls, ms*1e6)
		}
	}
	for _, r := range r.Runs {
		name := "MSM"
		if r.Op == OpPhase {
			name = "MSMPhase"
		}
		lines(name, r, 1, r.Samples)
		if r.BackToBack != nil {
			lines("MSMBackToBack", r, r.BackToBack.Calls, r.BackToBack.Samples)
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
