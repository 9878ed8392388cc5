package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/internal/record"
)

// required are the fields that runs of format 1 must have, by operation; the
// numbers among them must be above zero. "" is every other operation.
var required = map[string]struct{ texts, numbers, bools []string }{
	"msm": {
		texts:   []string{"curve", "group", "backend", "distribution", "path"},
		numbers: []string{"n", "count", "min_ms", "median_ms"},
		bools:   []string{"checked"},
	},
	OpMSM + PhaseOf: { // a phase of the MSMs of a run
		texts:   []string{"phase", "curve", "group", "backend", "distribution", "path"},
		numbers: []string{"n", "count", "median_ms"},
		bools:   []string{"checked"},
	},
	"groth16": {
		texts:   []string{"circuit", "backend"},
		numbers: []string{"constraints", "median_ms"},
		bools:   []string{"verified"},
	},
	"plonk": {
		texts:   []string{"circuit", "backend"},
		numbers: []string{"constraints", "median_ms", "stock_ms"},
		bools:   []string{"verified"},
	},
	"solve": { // our solver by number of processors
		texts:   []string{"system", "circuit", "curve"},
		numbers: []string{"constraints", "tasks", "count", "min_ms", "median_ms"},
		bools:   []string{"checked"},
	},
	"ntt": { // transforms of vectors on a card
		texts:   []string{"curve", "order"},
		numbers: []string{"n", "count", "min_ms", "median_ms", "cpu_ms"},
		bools:   []string{"checked"},
	},
	"vector": { // steps of programs over vectors on a card
		texts:   []string{"curve", "step"},
		numbers: []string{"n", "count", "repeats", "bytes", "min_ms", "median_ms", "cpu_ms"},
		bools:   []string{"checked"},
	},
	"number": { // kernels over numbers on a card
		texts:   []string{"kernel", "operands"},
		numbers: []string{"bits", "n", "bytes", "count", "min_ms", "median_ms"},
		bools:   []string{"checked"},
	},
	"numbers": { // operations on numbers through the contract
		texts:   []string{"number_op", "backend", "where"},
		numbers: []string{"bits", "n", "count", "min_ms", "median_ms"},
		bools:   []string{"checked"},
	},
	"rsa": { // batches of RSA signatures
		texts:   []string{"backend", "device"},
		numbers: []string{"bits", "n", "in_flight", "signatures_a_second"},
		bools:   []string{"checked"},
	},
	"faults": { // injected into batches of RSA signatures
		numbers: []string{"bits", "n", "faults", "found"},
	},
	"verify": { // answers compared with math/big's
		texts:   []string{"backend", "curve", "cases"},
		numbers: []string{"tried"},
	},
	"verify-proof": { // proofs verified by gnark
		texts:   []string{"system", "curve"},
		numbers: []string{"public", "runs", "min_ms", "median_ms"},
	},
	"refusing-card": { // calls on a card of the fake driver that refuses at random
		numbers: []string{"seconds", "calls", "by_card", "fell_back", "back_after_ms"},
	},
	"solve-library": { // circuits of gnark's library by two solvers
		texts: []string{"circuit", "curve", "system"},
		bools: []string{"compiles", "late"},
	},
	"points": { // steps over points through the contract
		texts:   []string{"what", "curve", "group", "backend"},
		numbers: []string{"n", "count", "min_ms", "median_ms"},
		bools:   []string{"checked"},
	},
	"cells": { // cells and proofs of blobs through the contract
		texts:   []string{"backend"},
		numbers: []string{"blobs", "count", "min_ms", "median_ms", "stock_ms"},
		bools:   []string{"checked"},
	},
	"cold": { // first proofs, with a key in a file
		texts:   []string{"system", "circuit", "curve", "backend"},
		numbers: []string{"constraints", "count", "min_ms", "median_ms", "read_ms", "load_ms", "prove_ms"},
		bools:   []string{"verified"},
	},
	"setup": { // keys made
		texts:   []string{"system", "circuit", "curve", "backend"},
		numbers: []string{"constraints", "count", "min_ms", "median_ms"},
		bools:   []string{"verified"},
	},
	"cluster": { // jobs of a proving cluster
		texts:   []string{"what"},
		numbers: []string{"workers", "jobs"},
		bools:   []string{"checked"},
	},
	"load_again": { // bases that a daemon holds
		texts:   []string{"curve", "group", "backend", "points"},
		numbers: []string{"n", "count", "min_ms", "median_ms", "first_ms"},
		bools:   []string{"checked"},
	},
	"table": { // layouts and methods on a card
		texts:   []string{"table", "method"},
		numbers: []string{"bits", "x", "gops", "min_ms", "grid", "block"},
		bools:   []string{"checked"},
	},
	"sanitize": { // compute-sanitizer over the kernels
		texts:   []string{"tool"},
		numbers: []string{"tests", "seconds"},
	},
	OpPeer: { // MSMs by other libraries
		texts:   []string{"library", "device", "curve", "group", "timed"},
		numbers: []string{"n", "count", "min_ms"},
		bools:   []string{"checked"},
	},
	OpPeerTransform: { // transforms by other libraries
		texts:   []string{"library", "device", "curve", "order", "timed"},
		numbers: []string{"n", "count", "min_ms", "median_ms"},
		bools:   []string{"checked"},
	},
	"soak": { // many batches in a row
		texts:   []string{"backend", "process"},
		numbers: []string{"batches", "seconds", "kib_after_a_third", "kib_after_all"},
	},
	"constant_time": { // secrets that are marked as undefined, under valgrind
		texts: []string{"case", "valgrind"},
		bools: []string{"leaks"},
	},
	"number-trace": { // what kernels that take secrets execute, for several
		texts:   []string{"kernel", "metric"},
		numbers: []string{"launches"},
		bools:   []string{"same"},
	},
	"power_variant": { // powers on a card by kernels that were tried
		texts:   []string{"what"},
		numbers: []string{"bits", "n", "powers_per_s"},
		bools:   []string{"checked"},
	},
	"": {numbers: []string{"bits", "gops"}}, // one thread, one number
}

// checkRecord lists what is wrong with a record's text.
func checkRecord(text []byte) (problems []string) {
	bad := func(format string, a ...any) { problems = append(problems, fmt.Sprintf(format, a...)) }
	var r struct {
		Format  int
		Machine map[string]any
		Runs    []map[string]any
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return []string{err.Error()}
	}
	cpu, _ := r.Machine["cpu"].(string)
	gpu, _ := r.Machine["gpu"].(string)
	if cpu == "" && gpu == "" {
		bad("machine has neither cpu nor gpu")
	}
	if len(r.Runs) == 0 {
		bad("no runs")
	}
	if r.Format != 0 {
		return append(problems, checkFormat2(text)...)
	}
	for i, run := range r.Runs {
		op, _ := run["op"].(string)
		if op == "" {
			bad("run %d: no op", i)
		}
		fields, known := required[op]
		if !known {
			fields = required[""]
		}
		for _, f := range fields.texts {
			if s, _ := run[f].(string); s == "" {
				bad("run %d (%s): no %s", i, op, f)
			}
		}
		for _, f := range fields.numbers {
			if n, _ := run[f].(float64); n <= 0 {
				bad("run %d (%s): %s is %v", i, op, f, run[f])
			}
		}
		if stock, ok := run["stock_ms"].(float64); ok && stock <= 0 {
			bad("run %d (%s): stock_ms is %v", i, op, stock)
		}
		for _, f := range fields.bools {
			if _, ok := run[f].(bool); !ok {
				bad("run %d (%s): %s is %v", i, op, f, run[f])
			}
		}
		if errs, ok := run["errors"].(float64); op == "sanitize" && (!ok || errs != 0) {
			bad("run %d: %v errors", i, run["errors"])
		}
		if failed, ok := run["failed"].(float64); op == "verify" && (!ok || failed != 0) {
			bad("run %d: %v failed", i, run["failed"])
		}
		if left, ok := run["left"].(float64); op == "faults" && (!ok || left != 0) {
			bad("run %d: %v wrong signatures left", i, run["left"])
		}
		if op != "msm" && op != OpMSM+PhaseOf {
			continue
		}
		if p := run["path"]; p != string(Arena) && p != string(Copy) {
			bad("run %d: path %v", i, p)
		}
		if run["checked"] == true && run["wrong"] != nil {
			bad("run %d: checked, with wrong answers", i)
		}
		lo, _ := run["min_ms"].(float64)
		if mid, _ := run["median_ms"].(float64); mid < lo {
			bad("run %d: median %v below minimum %v", i, mid, lo)
		}
		if row, ok := run["back_to_back"].(map[string]any); ok {
			calls, _ := row["calls"].(float64)
			mid, _ := row["median_ms"].(float64)
			if rows, _ := row["samples_ms"].([]any); calls < 1 || mid <= 0 || len(rows) == 0 {
				bad("run %d: back to back %v", i, row)
			}
		}
		samples, _ := run["samples_ms"].([]any)
		if n, _ := run["count"].(float64); samples != nil && len(samples) != int(n) {
			bad("run %d: %d samples, count %v", i, len(samples), n)
		}
	}
	return problems
}

// checkFormat2 lists what is wrong with the runs of a record of format 2, which are alike for
// all operations.
func checkFormat2(text []byte) (problems []string) {
	var r record.Record[Run]
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return []string{err.Error()}
	}
	for i, run := range r.Runs {
		bad := func(what string) { problems = append(problems, fmt.Sprintf("run %d (%s): %s", i, run.Name(), what)) }
		for what, wrong := range map[string]bool{
			"no op":                      run.Op == "",
			"nobody computed it":         run.Backend == "" && run.Inputs[InputLibrary] == "",
			"no device":                  run.Device == "",
			"of how many it is not told": run.N <= 0 && run.Value(FigureConstraints) <= 0,
			"neither times nor figures":  run.Count == 0 && len(run.Figures) == 0,
			"another count than samples": run.Count != len(run.Samples),
			"times that are not in their order": run.Count > 0 &&
				!(0 < run.Min && run.Min <= run.Median && run.Median <= run.P95 && run.P95 <= run.Max) && !run.IsPhase(),
			"checked, with wrong answers": run.Checked && run.Wrong > 0,
			"checked by nobody":           run.Checked && run.Oracle == "",
		} {
			if wrong {
				bad(what)
			}
		}
		for name, f := range run.Figures {
			if f.Value <= 0 || !slices.Contains([]string{Milliseconds, Bytes, Joules, PerSecond, ""}, f.Unit) {
				bad(fmt.Sprintf("figure %s is %+v", name, f))
			}
		}
	}
	if r.Format != Format {
		problems = append(problems, fmt.Sprintf("format %d", r.Format))
	}
	return problems
}

func TestCommittedRecords(t *testing.T) {
	files, err := filepath.Glob("../../../../bench/results/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range checkRecord(text) {
			t.Errorf("%s: %s", f, p)
		}
	}
	t.Logf("%d records", len(files))
}

// TestRecordsAreCited: every record and plot is named by a document or by a source, and
// every one that they name is there. What nobody cites is in git's history.
func TestRecordsAreCited(t *testing.T) {
	const results = "bench/results/"
	cited := map[string]string{} // a record: who names it
	err := filepath.WalkDir("../../../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || entry.Name() == "bin" {
				return fs.SkipDir
			}
			return nil
		case !slices.Contains([]string{".md", ".go", ".cu", ".cuh", ".json"}, filepath.Ext(path)),
			strings.Contains(filepath.ToSlash(path), results):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range namedRecord.FindAllStringSubmatch(string(text), -1) {
			for _, name := range alternatives(m[1]) {
				cited[name] = path
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, by := range cited {
		if files, err := filepath.Glob("../../../../" + results + name); err != nil || len(files) == 0 {
			t.Errorf("%s names %s, which is not there", by, name)
		}
	}
	files, err := filepath.Glob("../../../../" + results + "*/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no records", err)
	}
	for _, f := range files {
		name, err := filepath.Rel("../../../../"+results, f)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		if !cites(cited, name) {
			t.Errorf("nobody cites %s%s: cite it or remove it", results, name)
		}
	}
	// The pattern is in two pieces: this file would cite every record that it matches.
	if cites(cited, "h200/nothing") || !cites(map[string]string{"h200/" + "msm-*.json": ""}, "h200/msm-g1.json") {
		t.Error("a record that nobody names is cited, or one that is named is not")
	}
}

// namedRecord finds the name of a record in a text, with the machine's folder, perhaps
// as a pattern of the shell. Sources in test name it by its folder alone.
var namedRecord = regexp.MustCompile(`\b((?:h100|h200|h200-memory|h200x2|h200x4|xeon16|xeon2|epyc2)/[\w.*{},-]+\.(?:jsonl?|svg))`)

// alternatives returns the names that a name with one pair of braces stands for.
func alternatives(name string) []string {
	before, rest, ok := strings.Cut(name, "{")
	if !ok {
		return []string{name}
	}
	inside, after, _ := strings.Cut(rest, "}")
	var all []string
	for one := range strings.SplitSeq(inside, ",") {
		all = append(all, before+one+after)
	}
	return all
}

func cites(cited map[string]string, name string) bool {
	for pattern := range cited {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return true
		}
	}
	return false
}

// TestCheckRecordRefuses shows that the check can fail, defect by defect.
func TestCheckRecordRefuses(t *testing.T) {
	const good = `{"machine": {"cpu": "x"}, "runs": [
		{"op": "msm", "curve": "bn254", "group": "g1", "n": 8, "backend": "cpu", "distribution": "uniform", "path": "copy",
		 "count": 2, "min_ms": 1.5, "median_ms": 2, "samples_ms": [1.5, 2.5], "checked": true, "back_to_back": {"calls": 9, "median_ms": 3, "samples_ms": [3]}},
		{"op": "msm-phase", "phase": "sort", "curve": "bn254", "group": "g1", "n": 8, "backend": "cpu", "distribution": "uniform", "path": "copy",
		 "count": 1, "min_ms": 1.25, "median_ms": 1.25, "samples_ms": [1.25], "checked": true},
		{"op": "solve", "system": "plonk", "circuit": "d", "curve": "bn254", "constraints": 11, "tasks": 16, "count": 3, "min_ms": 0.75, "median_ms": 0.875, "checked": true},
		{"op": "ntt", "curve": "bn254", "order": "natural to reversed", "n": 16, "count": 2, "min_ms": 0.5, "median_ms": 0.6, "cpu_ms": 7, "checked": true},
		{"op": "vector", "curve": "bn254", "step": "a - b", "n": 32, "count": 5, "repeats": 20, "bytes": 3072, "products": 0, "min_ms": 0.25, "median_ms": 0.375, "cpu_ms": 11, "checked": true},
		{"op": "mulmod", "bits": 256, "gops": 12.5},
		{"op": "rsa", "bits": 2048, "n": 48, "backend": "crypto/rsa", "device": "2 processors", "in_flight": 3, "signatures_a_second": 1400.5, "checked": true},
		{"op": "verify", "backend": "cpu", "curve": "words", "cases": "random programs", "tried": 77, "failed": 0},
		{"op": "faults", "bits": 512, "n": 6, "faults": 55, "found": 54, "left": 0},
		{"op": "cluster", "what": "throughput", "workers": 4, "jobs": 1000, "checked": false},
		{"op": "load_again", "curve": "bn254", "group": "g1", "n": 64, "backend": "plugin:cuda", "points": "in a file", "count": 5, "min_ms": 0.125, "median_ms": 0.5, "first_ms": 13, "checked": true},
		{"op": "sanitize", "tool": "memcheck", "part": "phases bn254/g2", "tests": 1, "errors": 0, "seconds": 3.5},
		{"op": "peer", "library": "l", "device": "d", "curve": "bn254", "group": "g1", "n": 128, "timed": "all", "count": 6, "min_ms": 0.75, "checked": true},
		{"op": "groth16", "circuit": "c", "constraints": 9, "backend": "cpu", "median_ms": 1, "stock_ms": 2, "verified": true}]}`
	if p := checkRecord([]byte(good)); len(p) > 0 {
		t.Fatalf("a good record: %v", p)
	}
	for _, change := range [][2]string{
		{`{"machine"`, `"machine"`}, {`"cpu": "x"`, `"cpu": ""`}, {`"op": "msm", `, ``}, {`"curve": "bn254"`, `"curve": ""`},
		{`"group": "g1", `, ``}, {`"n": 8`, `"n": 0`}, {`"backend": "cpu", "distribution"`, `"distribution"`}, {`"path": "copy"`, `"path": "x"`},
		{`"count": 2`, `"count": 3`}, {`"min_ms": 1.5`, `"min_ms": 0`}, {`"min_ms": 1.5`, `"min_ms": 9`},
		{`"median_ms": 2,`, `"median_ms": "2",`},
		{`, "checked": true`, ``}, {`"checked": true`, `"checked": true, "wrong": 1`}, {`"calls": 9`, `"calls": 0`},
		{`"median_ms": 3`, `"median_ms": 0`},
		{`"phase": "sort"`, `"phase": ""`}, {`"median_ms": 1.25`, `"median_ms": 0`}, {`[1.25]`, `[1.25, 2]`},
		{`"system": "plonk"`, `"system": ""`}, {`"constraints": 11`, `"constraints": 0`},
		{`"tasks": 16`, `"tasks": 0`}, {`0.875, "checked": true`, `0.875`},
		{`"order": "natural to reversed"`, `"order": ""`}, {`"n": 16`, `"n": 0`}, {`"cpu_ms": 7`, `"cpu_ms": 0`}, {`7, "checked": true`, `7`},
		{`"step": "a - b"`, `"step": ""`}, {`"n": 32`, `"n": 0`}, {`"repeats": 20`, `"repeats": 0`}, {`"bytes": 3072`, `"bytes": 0`},
		{`"min_ms": 0.25`, `"min_ms": 0`}, {`"cpu_ms": 11`, `"cpu_ms": 0`}, {`11, "checked": true`, `11`},
		{`"what": "throughput"`, `"what": ""`}, {`"workers": 4`, `"workers": 0`}, {`"jobs": 1000`, `"jobs": 0`}, {`, "checked": false`, ``},
		{`"points": "in a file"`, `"points": ""`}, {`"n": 64`, `"n": 0`}, {`"min_ms": 0.125`, `"min_ms": 0`},
		{`"first_ms": 13`, `"first_ms": 0`}, {`13, "checked": true`, `13`},
		{`"bits": 256`, `"bits": 0`}, {`, "gops": 12.5`, ``},
		{`"bits": 2048`, `"bits": 0`}, {`"n": 48`, `"n": 0`}, {`"crypto/rsa"`, `""`}, {`"2 processors"`, `""`},
		{`"in_flight": 3`, `"in_flight": 0`}, {`1400.5`, `0`}, {`1400.5, "checked": true`, `1400.5`},
		{`"cases": "random programs"`, `"cases": ""`}, {`"tried": 77`, `"tried": 0`}, {`"failed": 0`, `"failed": 1`}, {`, "failed": 0`, ``},
		{`"bits": 512`, `"bits": 0`}, {`"n": 6`, `"n": 0`}, {`"faults": 55`, `"faults": 0`},
		{`"found": 54`, `"found": 0`}, {`"left": 0`, `"left": 1`}, {`, "left": 0`, ``},
		{`"library": "l"`, `"library": ""`}, {`"device": "d"`, `"device": 1`}, {`"n": 128`, `"n": -1`},
		{`"timed": "all"`, `"timed": ""`}, {`"count": 6`, `"count": 0`}, {`"min_ms": 0.75`, `"min_ms": 0`}, {`0.75, "checked": true`, `0.75`},
		{`"tool": "memcheck"`, `"tool": ""`}, {`"tests": 1`, `"tests": 0`}, {`"errors": 0`, `"errors": 2`}, {`"errors": 0, `, ``},
		{`"circuit": "c", `, ``}, {`"constraints": 9`, `"constraints": 0`}, {`"stock_ms": 2`, `"stock_ms": 0`}, {`, "verified": true`, ``},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%s is not in the record", change[0])
		}
		if len(checkRecord([]byte(text))) == 0 {
			t.Errorf("%s instead of %s is not noticed", change[1], change[0])
		}
	}
}

// TestCheckFormat2Refuses shows that the check of format 2 can fail, defect by defect.
func TestCheckFormat2Refuses(t *testing.T) {
	const good = `{"format": 2, "machine": {"cpu": "x", "cores": 1, "memory_bytes": 1, "os": "o", "arch": "a", "go": "g", "gnark_crypto": "c", "time": "t"}, "runs": [
		{"op": "msm", "curve": "bn254", "n": 8, "inputs": {"path": "copy"}, "backend": "cpu", "device": "d", "count": 2, "min_ms": 1.5, "median_ms": 2, "p95_ms": 2.25, "max_ms": 2.5,
		 "spread": 0.25, "samples_ms": [1.5, 2.5], "figures": {"stock": {"value": 3, "unit": "ms"}}, "checked": true, "oracle": "o"},
		{"op": "groth16", "what": "c", "inputs": {"library": "l"}, "device": "d", "figures": {"constraints": {"value": 9}}, "spread": 0, "checked": false, "wrong": 1}]}`
	if p := checkRecord([]byte(good)); len(p) > 0 {
		t.Fatalf("a good record: %v", p)
	}
	for _, change := range [][2]string{
		{`"format": 2`, `"format": 3`}, {`"op": "msm"`, `"op": ""`}, {`"backend": "cpu", `, ``},
		{`"library": "l"`, `"path": "l"`}, {`"device": "d", "count"`, `"count"`},
		{`"n": 8, `, ``}, {`{"constraints": {"value": 9}}`, `{}`}, {`"value": 9`, `"value": 0`},
		{`"count": 2`, `"count": 3`}, {`"min_ms": 1.5`, `"min_ms": 2.1`}, {`"min_ms": 1.5`, `"min_ms": 0`},
		{`"median_ms": 2`, `"median_ms": 2.4`}, {`"p95_ms": 2.25`, `"p95_ms": 2.75`}, {`"unit": "ms"`, `"unit": "s"`},
		{`"oracle": "o"`, `"oracle": ""`},
		{`"checked": true`, `"checked": true, "wrong": 1`}, {`"spread": 0.25`, `"sprad": 0.25`}, {`"cpu": "x"`, `"cpu": ""`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%s is not in the record", change[0])
		}
		if len(checkRecord([]byte(text))) == 0 {
			t.Errorf("%s instead of %s is not noticed", change[1], change[0])
		}
	}
}
