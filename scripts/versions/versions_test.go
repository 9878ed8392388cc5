package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCounted: a test that fails, and a package that does not compile, say why.
func TestCounted(t *testing.T) {
	for _, c := range []struct {
		name, said string
		want       passed
		failed     string
	}{
		{"passed", `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"fine\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"skip","Test":"TestB"}
{"Action":"pass"}
`, passed{1, 1}, ""},
		{"failed", `{"Action":"output","Test":"TestA","Output":"fine\n"}
{"Action":"pass","Test":"TestA"}
{"Action":"output","Test":"TestB","Output":"wrong\n"}
{"Action":"fail","Test":"TestB"}
`, passed{1, 0}, "wrong\n"},
		{"did not compile", `{"ImportPath":"x","Action":"build-output","Output":"undefined: y\n"}
{"ImportPath":"x","Action":"build-fail"}
`, passed{}, "undefined: y\n"},
	} {
		if n, failed, err := counted(strings.NewReader(c.said)); n != c.want || failed != c.failed || err != nil {
			t.Errorf("%s: %+v, %q, %v", c.name, n, failed, err)
		}
	}
	if _, _, err := counted(strings.NewReader("ok\n")); err == nil {
		t.Error("a line that is no JSON is read")
	}
}

// TestTestsAreThere: each row names tests that its package has, and the first pair is what go.mod
// asks for.
func TestTestsAreThere(t *testing.T) {
	name := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, row := range tests {
		files, err := filepath.Glob(filepath.Join("../..", row.in, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var names string
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				names += m[1] + "\n"
			}
		}
		for of := range strings.SplitSeq(row.run, "|") {
			if !regexp.MustCompile(of).MatchString(names) {
				t.Errorf("%s has no test %s", row.in, of)
			}
		}
	}
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for module, version := range map[string]string{"gnark": pairs[0].Gnark, "gnark-crypto": pairs[0].Crypto} {
		if !strings.Contains(string(text), "consensys/"+module+" "+version+"\n") {
			t.Errorf("go.mod asks for another %s than %s", module, version)
		}
	}
}

// TestStability: docs/stability.md has the versions that are tested, and go.mod's Go.
func TestStability(t *testing.T) {
	page, err := os.ReadFile("../../docs/stability.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	language := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if language == nil {
		t.Fatal("go.mod names no Go")
	}
	for _, row := range []string{supported(), "| Go | " + string(language[1]) + " and newer |"} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/stability.md does not say %s", row)
		}
	}
}

// TestStands: a go.mod whose gnark was raised is seen, and so is one whose gnark-crypto was.
func TestStands(t *testing.T) {
	p := pair{"v0.14.0", "v0.19.2"}
	for mod, ok := range map[string]bool{
		"\tgithub.com/consensys/gnark v0.14.0\n\tgithub.com/consensys/gnark-crypto v0.19.2\n":             true,
		"\tgithub.com/consensys/gnark v0.14.0\n\tgithub.com/consensys/gnark-crypto v0.19.2 // indirect\n": false,
		"\tgithub.com/consensys/gnark v0.16.3\n\tgithub.com/consensys/gnark-crypto v0.19.2\n":             false,
		"\tgithub.com/consensys/gnark v0.14.0\n\tgithub.com/consensys/gnark-crypto v0.21.0\n":             false,
	} {
		if err := p.stands(mod); (err == nil) != ok {
			t.Errorf("%q: %v", mod, err)
		}
	}
}

// TestTables: what is not read is named, once for each pair.
func TestTables(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(record, []byte(`{"date":"2026-11-28"}
{"gnark":"v0.13.0","crypto":"v0.18.0","what":"solver","tests":2}
{"gnark":"v0.13.0","crypto":"v0.18.0","what":"solver","tests":3}
{"gnark":"v0.13.0","crypto":"v0.18.0","what":"PLONK's keys","from":"v0.16.3 v0.22.0","error":"no such version"}
{"gnark":"v0.13.0","crypto":"v0.18.0","what":"PLONK's proofs","from":"v0.16.3 v0.22.0","error":"no such version"}
{"gnark":"v0.16.3","crypto":"v0.22.0","what":"PLONK's keys","from":"v0.13.0 v0.18.0"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := tables(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| v0.13.0 | v0.18.0 | 5 | 0 | 0 | 0 | 0 |\n",
		"| v0.13.0 v0.18.0 | all | all | all | all | not PLONK's keys, PLONK's proofs |\n",
		"| v0.16.3 v0.22.0 | all | all | all | all | all |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no row %q in\n%s", want, text)
		}
	}
}
