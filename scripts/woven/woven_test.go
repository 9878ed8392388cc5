package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAnswered: a program whose MSMs were not all answered by the backend has failed.
func TestAnswered(t *testing.T) {
	const (
		here  = `{"curve":"bn254","group":"g1","n":5,"backend":"plugin:cpu","bases":"kept"}` + "\n"
		proof = `{"call":"plonk.Prove","curve":"bn254","constraints":5,"backend":"plugin:cpu","bases":"loaded"}` + "\n"
		other = `{"curve":"bn254","group":"g1","n":5,"backend":"cpu","bases":"kept"}` + "\n"
	)
	for _, c := range []struct {
		name, trace string
		msms        int
		provers     int
		fails       bool
	}{
		{"all", here + here, 2, 0, false},
		{"a proof", here + proof, 1, 1, false},
		{"one by another", here + other + here, 3, 0, true},
		{"none", "", 0, 0, true},
		{"half a line", here + here[:9], 0, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			if err := os.WriteFile(trace, []byte(c.trace), 0o600); err != nil {
				t.Fatal(err)
			}
			if a, err := answered(trace, "plugin:cpu"); a.msms != c.msms || a.provers() != c.provers || (err != nil) != c.fails {
				t.Errorf("%+v, %v", a, err)
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

// TestLinked: every package that programs are linked with is among those of which the digest is.
func TestLinked(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-tags", "pippinprovers", "-f", "{{.ImportPath}}", "github.com/pippin-zk/pippin/weave/auto")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		pkg, ok := strings.CutPrefix(strings.TrimSpace(line), "github.com/pippin-zk/pippin/")
		if !ok {
			continue
		}
		packages++
		if !slices.ContainsFunc(linked, func(of string) bool {
			folder, only := strings.CutSuffix(strings.TrimPrefix(of, ":(glob)"), "/*.go")
			return pkg == folder || !only && strings.HasPrefix(pkg, folder+"/")
		}) {
			t.Errorf("%s is linked and not in the digest", pkg)
		}
	}
	if packages < 30 {
		t.Errorf("%d packages", packages)
	}
}
