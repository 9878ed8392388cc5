package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImported: only the packages that have a stand-in are changed, under whatever name they are imported, and each is a line.
func TestImported(t *testing.T) {
	const before = `package p

import (
	"github.com/consensys/gnark/backend/groth16"
	g16 "github.com/consensys/gnark/backend/groth16"
	_ "github.com/consensys/gnark/backend/plonk"
	groth16_bn254 "github.com/consensys/gnark/backend/groth16/bn254"
	"github.com/consensys/gnark/backend"
)

import "github.com/consensys/gnark/backend/plonk"

// "github.com/consensys/gnark/backend/plonk" is a comment.
var s = ("github.com/consensys/gnark/backend/plonk")
`
	want := strings.NewReplacer(
		"\t\"github.com/consensys/gnark/backend/groth16\"", "\t\"github.com/pippin-zk/pippin/prover/groth16\"",
		"g16 \"github.com/consensys/gnark/backend/groth16\"", "g16 \"github.com/pippin-zk/pippin/prover/groth16\"",
		"_ \"github.com/consensys/gnark/backend/plonk\"", "_ \"github.com/pippin-zk/pippin/prover/plonk\"",
		"import \"github.com/consensys/gnark/backend/plonk\"", "import \"github.com/pippin-zk/pippin/prover/plonk\"",
	).Replace(before)
	got, n := imported([]byte(before))
	if string(got) != want || n != 4 {
		t.Errorf("%d lines changed:\n%s", n, got)
	}
}

// TestReason: of what a failed command printed, the line is found that says why, not that provers stay gnark's.
func TestReason(t *testing.T) {
	failure := errors.New("exit status 1")
	const stay = "msm weave: MSMs are woven, the provers stay gnark's: old\n"
	for said, want := range map[string]string{
		stay + "# p\nmsm weave: v0.9.1 is refused\nmore\n":           "msm weave: v0.9.1 is refused",
		"msm-weave: cannot weave: too old\ngo: error obtaining it\n": "msm-weave: cannot weave: too old",
		"=== RUN TestA\n--- FAIL: TestA (0.1s)\nFAIL\n":              "--- FAIL: TestA (0.1s)",
		"# p\n./a.go:3:5: undefined: x\n":                            "./a.go:3:5: undefined: x",
		"go: no such module\n":                                       "exit status 1: go: no such module",
		stay + "panic: no key\n\ngoroutine":                          "panic: no key",
	} {
		if got := reason([]byte(said), failure); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestPut: a file is one of the package that it is put into.
func TestPut(t *testing.T) {
	for _, name := range []string{"use.txt", "recursion.txt"} {
		to := filepath.Join(t.TempDir(), "a.go")
		lines, err := put(to, name, "other")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(to)
		if err != nil || !strings.HasPrefix(string(text), "package other\n") || strings.Count(string(text), "\n") != lines {
			t.Errorf("%s: %d lines, %v\n%s", name, lines, err, text)
		}
	}
}

// TestRealPrograms: each has a commit that does not move, and steps that prove.
func TestRealPrograms(t *testing.T) {
	for _, p := range realPrograms {
		if fixed := len(p.commit) == 40 || p.module != "" && strings.HasPrefix(p.commit, "v"); !fixed {
			t.Errorf("%s: %q is no commit", p.name, p.commit)
		}
		if (p.source == "") == (p.module == "") || len(p.steps) == 0 {
			t.Errorf("%s has no source, two, or no steps", p.name)
		}
		if found, err := named([]string{p.name}); err != nil || len(found) != 1 {
			t.Errorf("%s: %v", p.name, err)
		}
	}
	if _, err := named([]string{"nobody"}); err == nil {
		t.Error("a program that there is not")
	}
}

// TestTimesIn: tests are timed in seconds, benchmarks in nanoseconds an operation; failed tests are not.
func TestTimesIn(t *testing.T) {
	got := timesIn([]byte(`=== RUN   TestA
--- PASS: TestA (1.50s)
    --- PASS: TestA/sub (0.10s)
--- FAIL: TestB (2.00s)
BenchmarkProve-2   	       3	 250000000 ns/op	  12 B/op
BenchmarkOne 	 1	 1000000 ns/op
PASS
`))
	want := map[string]float64{"TestA": 1500, "BenchmarkProve": 250, "BenchmarkOne": 1}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// TestReplaceLines: a program's lines take the place of its earlier ones, and no others go.
func TestReplaceLines(t *testing.T) {
	record := filepath.Join(t.TempDir(), "a.jsonl")
	for _, step := range []struct {
		program string
		forms   []string
		want    string
	}{
		{"a", []string{"stock"}, "a stock"},
		{"b", []string{"stock", "woven"}, "a stock, b stock, b woven"},
		{"c", []string{"stock"}, "a stock, b stock, b woven, c stock"},
		{"b", []string{"imported"}, "a stock, b imported, c stock"},
	} {
		var lines []realLine
		for _, f := range step.forms {
			lines = append(lines, realLine{subject: subject{Program: step.program, Form: f}})
		}
		if err := replaceLines(record, step.program, lines); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(record)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(string(text)) {
			var l realLine
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			got = append(got, l.Program+" "+l.Form)
		}
		if strings.Join(got, ", ") != step.want {
			t.Errorf("%q, not %q", got, step.want)
		}
	}
}
