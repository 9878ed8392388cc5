package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAnswered: a program whose MSMs were not all answered by the backend has failed.
func TestAnswered(t *testing.T) {
	const (
		here  = `{"curve":"bn254","group":"g1","n":5,"backend":"plugin:cpu","bases":"kept"}` + "\n"
		other = `{"curve":"bn254","group":"g1","n":5,"backend":"cpu","bases":"kept"}` + "\n"
	)
	for _, c := range []struct {
		name, trace string
		msms        int
		fails       bool
	}{
		{"all", here + here, 2, false},
		{"one by another", here + other + here, 3, true},
		{"none", "", 0, true},
		{"half a line", here + here[:9], 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			if err := os.WriteFile(trace, []byte(c.trace), 0o600); err != nil {
				t.Fatal(err)
			}
			if n, err := answered(trace, "plugin:cpu"); n != c.msms || (err != nil) != c.fails {
				t.Errorf("%d MSMs, %v", n, err)
			}
		})
	}
	if _, err := answered(filepath.Join(t.TempDir(), "trace"), "plugin:cpu"); err == nil {
		t.Error("no trace is no failure")
	}
}

// TestSources: the digest has what is linked in, and neither tests nor the record itself.
func TestSources(t *testing.T) {
	for _, c := range []struct {
		line string
		in   bool
	}{
		{"100644 1234 0\tengine/engine.go", true},
		{"100644 1234 0\tengine/engine_test.go", false},
		{"100644 1234 0\tplugin/internal/fake/fake.go", false},
		{"100644 1234 0\tplugin/internal/wire/wire.go", true},
		{"100644 1234 0\t" + file, false},
	} {
		if notLinked.MatchString(c.line) == c.in {
			t.Errorf("%q is taken to be in: %v", c.line, !c.in)
		}
	}
}
