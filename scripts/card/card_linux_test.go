package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// machineWith returns a build on a machine with a card: programs of the shell in PATH are
// nvidia-smi, a compute-sanitizer that finds what it is told, and the compiled tests.
func machineWith(t *testing.T, sanitizer, tests string) *built {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nvidia-smi":        `echo "NVIDIA H-300, 1.2.3, 4096 MiB"`,
		"compute-sanitizer": `if [ "$1" = --version ]; then echo "Version 7.8"; exit; fi` + "\n" + sanitizer,
		"cuda.test":         tests,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"commit": "c0ffee\n", "manifest.json": `{"digest":"d","compiler":"13"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	b, err := openBuild(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// recordIn reads the one record of a folder.
func recordIn[R any](t *testing.T, folder, kind string) (m machine, runs []R) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*-h300-"+kind+".json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("records %q, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Machine machine
		Runs    []R
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r.Machine, r.Runs
}

// TestSanitize: each tool looks at each part that was asked for. What it finds, tests that do
// not pass and a tool that says nothing are failures, and are in the record.
func TestSanitize(t *testing.T) {
	const well = `echo "--- PASS: TestEveryStep/bn254 (0.1s)"; echo "========= ERROR SUMMARY: 0 errors"`
	for _, c := range []struct {
		name, sanitizer string
		fails           bool
		errors, exit    int
	}{
		{"well", well, false, 0, 0},
		{"errors", strings.Replace(well, "0 errors", "2 errors", 1), true, 2, 0},
		{"hazards", strings.Replace(well, "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 3 hazards displayed", 1), true, 3, 0},
		{"other tests", strings.Replace(well, "bn254", "bls12-381", 1), true, 0, 0},
		{"status", well + "; exit 86", true, 0, 86},
		{"silence", `echo "--- PASS: TestEveryStep/bn254 (0.1s)"`, true, -1, 0},
		{"too long", well + "; exec sleep 60", true, 0, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, results := machineWith(t, c.sanitizer, ""), t.TempDir()
			seconds := "100"
			if c.name == "too long" {
				seconds = "1"
			}
			err := b.sanitize([]string{"-seconds", seconds, results, "vectors bn254"})
			if (err != nil) != c.fails {
				t.Errorf("it says %v", err)
			}
			m, runs := recordIn[sanitized](t, results, "sanitize")
			if m.GPU != "NVIDIA H-300" || m.Driver != "1.2.3" || m.Sanitizer != "7.8" || m.Kernels != "d" || m.Commit != "c0ffee" {
				t.Errorf("the machine is %+v", m)
			}
			var by []string
			for _, r := range runs {
				by = append(by, r.Tool)
				if r.Part != "vectors bn254" || r.Tests != 1 || r.Errors != c.errors || r.Exit != c.exit {
					t.Errorf("run %+v", r)
				}
			}
			if !slices.Equal(by, tools) {
				t.Errorf("tools %q", by)
			}
		})
	}
}

// TestSanitizeInTime: what does not begin in time is a failure.
func TestSanitizeInTime(t *testing.T) {
	b := machineWith(t, "exit 1", "")
	if err := b.sanitize([]string{"-all", "0", t.TempDir(), "direct"}); err == nil {
		t.Error("nothing was looked at, and all is well")
	}
}

// TestParts: what each part runs is a test of its program.
func TestParts(t *testing.T) {
	defined := make(map[string]string)
	for _, p := range programs {
		files, err := filepath.Glob(filepath.Join("../..", p.in, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(p.in, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			defined[p.name] += string(text)
		}
	}
	names := regexp.MustCompile(`\^Test(\w+|\([\w|]+\))\$`)
	for _, p := range parts() {
		m := names.FindStringSubmatch(p.tests)
		if m == nil {
			t.Errorf("%s: tests %s", p.name, p.tests)
			continue
		}
		all := strings.Split(strings.Trim(m[1], "()"), "|")
		for _, name := range all {
			if !strings.Contains(defined[p.program], "func Test"+name+"(") {
				t.Errorf("%s: no Test%s in %s.test", p.name, name, p.program)
			}
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(p.passed, "Test"), "/")
		if !slices.Contains(all, name) {
			t.Errorf("%s: Test%s cannot pass, it does not run", p.name, name)
		}
	}
}

// TestDifferenceOfCases: cases are counted, and one that differs, or too few, are a failure.
func TestDifferenceOfCases(t *testing.T) {
	const well = `echo "gpu_test.go:1: $TRIED cases in 1.0 s, none differs"`
	for _, c := range []struct {
		name, tests, tried string
		fails              bool
	}{
		{"well", well, "1000000", false},
		{"too few", well, "1", true},
		{"differs", "echo seed 7 differs; exit 1", "", true},
		{"status", well + "; exit 2", "1000000", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("TRIED", c.tried)
			b, results := machineWith(t, "", c.tests), t.TempDir()
			if err := b.difference([]string{"-seed", "7", results, "1000"}); (err != nil) != c.fails {
				t.Errorf("it says %v", err)
			}
			_, runs := recordIn[verified](t, results, "difference")
			if len(runs) == 0 {
				t.Fatal("no runs")
			}
			for i, r := range runs {
				if r.Seed != int64(7+i) || (r.Failed != 0) != (c.name == "differs" || c.name == "status") {
					t.Errorf("run %+v", r)
				}
			}
		})
	}
}
