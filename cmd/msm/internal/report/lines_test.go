package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines are the fields that each line of a record in lines must have, by the first word of
// its file's name; the numbers among them must be above zero.
var lines = map[string]struct{ texts, numbers []string }{
	"suite": {
		texts:   []string{"date", "commit", "package"},
		numbers: []string{"busy_processes", "processors", "time"},
	},
	"real": {
		texts:   []string{"date", "commit", "machine", "backend", "program", "at", "form", "what"},
		numbers: []string{"seconds"},
	},
	"turns": {
		texts:   []string{"date", "commit", "machine", "backend", "program", "at", "form", "what"},
		numbers: []string{"load", "count", "min_ms", "median_ms", "max_ms"},
	},
}

// checkLines lists what is wrong with a record in lines.
func checkLines(name, text string) (problems []string) {
	kind, _, _ := strings.Cut(name, "-")
	fields, known := lines[kind]
	if !known {
		return []string{"nobody knows what a record of this name has"}
	}
	if text == "" {
		return []string{"no lines"}
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		bad := func(format string, a ...any) {
			problems = append(problems, fmt.Sprintf("line %d: "+format, append([]any{i + 1}, a...)...))
		}
		var of map[string]any
		if err := json.Unmarshal([]byte(line), &of); err != nil {
			bad("%v", err)
			continue
		}
		for _, f := range fields.texts {
			if s, _ := of[f].(string); s == "" {
				bad("no %s", f)
			}
		}
		for _, f := range fields.numbers {
			if n, _ := of[f].(float64); n <= 0 {
				bad("%s is %v", f, of[f])
			}
		}
		if kind == "suite" && of["passed"] != true {
			bad("%v failed", of["package"])
		}
	}
	return problems
}

func TestCommittedLines(t *testing.T) {
	files, err := filepath.Glob("../../../../bench/results/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no records in lines", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range checkLines(filepath.Base(f), string(text)) {
			t.Errorf("%s: %s", f, p)
		}
	}
}

// TestCheckLinesRefuses shows that the check can fail, defect by defect.
func TestCheckLinesRefuses(t *testing.T) {
	const name = "suite-beside-load.jsonl"
	const good = `{"date":"2026-11-28","commit":"c","busy_processes":16,"processors":2,"time":1,"package":"p","passed":true}` + "\n"
	if p := checkLines(name, good+good); len(p) > 0 {
		t.Fatalf("a good record: %v", p)
	}
	if len(checkLines("storm-long.jsonl", good)) == 0 {
		t.Error("a record of a kind that nobody knows is not noticed")
	}
	if len(checkLines(name, "")) == 0 {
		t.Error("an empty record is not noticed")
	}
	for _, change := range [][2]string{
		{`{"date"`, `"date"`},
		{`"2026-11-28"`, `""`},
		{`"commit":"c"`, `"commit":7`},
		{`"busy_processes":16`, `"busy_processes":0`},
		{`"processors":2,`, ``},
		{`"time":1`, `"time":-1`},
		{`"package":"p"`, `"package":""`},
		{`"passed":true`, `"passed":false`},
	} {
		text := strings.Replace(good, change[0], change[1], 1)
		if text == good {
			t.Fatalf("%s is not in the record", change[0])
		}
		if len(checkLines(name, good+text)) == 0 {
			t.Errorf("%s instead of %s is not noticed", change[1], change[0])
		}
	}
}
