package bench

import (
	"fmt"
	"io"
	"strings"
)

// WriteGobench writes one line per sample in the format of Go benchmarks, so
// that benchstat compares records:
//
//	benchstat -row /curve,/group,/dist,/n -col /backend FILE
func WriteGobench(w io.Writer, m Machine, runs []Run) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: github.com/pippin-zk/pippin/bench\ncpu: %s\n", m.OS, m.Arch, m.CPU)
	if m.Commit != "" {
		fmt.Fprintf(&b, "commit: %s\n", m.Commit)
	}
	for _, r := range runs {
		for _, ms := range r.Samples {
			fmt.Fprintf(&b, "BenchmarkMSM/curve=%s/group=%s/dist=%s/n=%s/backend=%s/path=%s-%d\t%8d\t%12.0f ns/op\n",
				r.Curve, r.Group, r.Distribution, FormatSize(r.N), benchKey(r.Backend), r.Path, m.Cores, 1, ms*1e6)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchKey is s without what ends a part of a benchmark's name.
func benchKey(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '/' || c <= ' ' {
			return '_'
		}
		return c
	}, s)
}
