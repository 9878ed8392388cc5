package weave

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWeaveOlder: pippin's own packages that name what an older gnark lacks do without it, and change in nothing else.
func TestWeaveOlder(t *testing.T) {
	for name, c := range map[string]struct {
		pkg, without string
		is           *regexp.Regexp // each place
		as           func(was string) string
	}{
		"U64": {"/prover/internal/assignment", "U64", regexp.MustCompile(`(\w)\[constraint\.U64\]|constraint\.U64\b`), func(was string) string {
			if before, ok := strings.CutSuffix(was, "[constraint.U64]"); ok {
				return before
			}
			return "constraint.Element"
		}},
		"GSigmaNeg": {"/prover/groth16", "GSigmaNeg", regexp.MustCompile(`GSigmaNeg`), func(string) string { return "GSigma" }},
	} {
		names := filesOf(t, Module+c.pkg)
		changed, added, err := weaveOlder([]string{name})(names, all)
		if err != nil || added != "" {
			t.Fatal(name, err, added)
		}
		places := 0
		for i, at := range names {
			was, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			places += len(c.is.FindAll(was, -1))
			text, ok := changed[i]
			if !ok {
				if c.is.Match(was) {
					t.Errorf("%s stays as it is", at)
				}
				continue
			}
			if want := c.is.ReplaceAllStringFunc(string(was), c.as); string(text) != "//line "+at+":1\n"+want {
				t.Errorf("%s is\n%s", at, text)
			}
			f, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.Name == c.without {
					t.Errorf("%s still has %s", at, c.without)
				}
				return true
			})
		}
		if places == 0 {
			t.Errorf("nothing in %s names %s", c.pkg, name)
		}
		if none, _, err := weaveOlder(nil)(names, all); err != nil || len(none) != 0 {
			t.Errorf("%s: %d files are changed for nothing: %v", name, len(none), err)
		}
	}
}

// TestLacking: a released gnark may lack names, a fork may not, and this build's lacks none.
func TestLacking(t *testing.T) {
	var here []source
	for _, l := range lacks {
		s := source{ImportPath: l.pkg}
		for _, at := range filesOf(t, l.pkg) {
			s.Dir, s.GoFiles = filepath.Dir(at), append(s.GoFiles, filepath.Base(at))
		}
		here = append(here, s)
	}
	if names, err := lacking(here); err != nil || len(names) != 0 {
		t.Errorf("this gnark lacks %v, %v", names, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("package x // U64, GSigmaNeg\n\ntype Element [6]uint64\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, m := range map[string]listedModule{
		"released": {Version: "v0.12.0"}, "fork": {Version: "v0.12.0", Replace: &struct{ Version string }{}}, "own": {},
	} {
		var list []source
		for _, l := range lacks {
			list = append(list, source{ImportPath: l.pkg, Dir: dir, GoFiles: []string{"x.go"}, Module: m})
		}
		names, err := lacking(list)
		if what == "released" {
			if err != nil || !slices.Equal(names, slices.Sorted(maps.Keys(lacks))) {
				t.Errorf("%s: %v, %v", what, names, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "for no fork") {
			t.Errorf("%s: %v, %v", what, names, err)
		}
	}
}

// TestInner: the inner build is told what gnark lacks.
func TestInner(t *testing.T) {
	for value, want := range map[string][]string{
		"": nil, innerBuild: nil, innerBuild + ",U64": {"U64"}, innerBuild + ",GSigmaNeg,U64": {"GSigmaNeg", "U64"},
	} {
		tool := &tool{Options: Options{Env: []string{innerVariable + "=" + value}}}
		if got := tool.lacking(); !slices.Equal(got, want) || tool.inner() != (value != "") {
			t.Errorf("%q: %v, inner %v", value, got, tool.inner())
		}
	}
}

// TestWeaveVectors: vectors get the operations that they lack and no others.
func TestWeaveVectors(t *testing.T) {
	for curve := range curves {
		pkg := gnarkCrypto + "/" + curve + "/fr"
		if !isScalars(pkg) {
			t.Errorf("%s has no scalars", pkg)
		}
		if changed, added, err := weaveVectors(filesOf(t, pkg), all); err != nil || len(changed) != 0 || added != "" {
			t.Errorf("%s, whose vectors lack nothing: %v, %q", pkg, err, added)
		}
	}
	for _, pkg := range []string{gnarkCrypto + "/bn254/fp", gnarkCrypto + "/bls24-315/fr", gnarkCrypto + "/bn254/fr/fft"} {
		if isScalars(pkg) {
			t.Errorf("%s has scalars", pkg)
		}
	}
	const vector = "package fr\n\n// Vector is a vector.\ntype Vector []Element\n"
	for text, want := range map[string]int{
		vector: len(vectorMethods),
		vector + "\nfunc (vector *Vector) Add(a, b Vector) {}\n": len(vectorMethods) - 1,
		"package fr // no Vector\n":                              0,
	} {
		at := filepath.Join(t.TempDir(), "vector.go")
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, added, err := weaveVectors([]string{at}, all)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", added+"\n// end", 0)
		if want > 0 && err != nil {
			t.Fatalf("%v in\n%s", err, added)
		}
		if n := strings.Count(added, "func (vector *Vector) "); n != want || want > 0 && len(f.Decls) != want {
			t.Errorf("%d methods are added to\n%s", n, text)
		}
	}
}

// TestVectorMethods runs what vectors get, which has to compute what later versions of gnark-crypto do.
func TestVectorMethods(t *testing.T) {
	at := filepath.Join(t.TempDir(), "vector.go")
	if err := os.WriteFile(at, []byte("package fr\n\ntype Vector []Element\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, added, err := weaveVectors([]string{at}, all)
	if err != nil {
		t.Fatal(err)
	}
	methods := strings.TrimPrefix(added, "package fr\n")
	program := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(program, []byte(`package main

import (
	"fmt"
	"os"
	"slices"

	"`+gnarkCrypto+`/bn254/fr"
)

type (
	Element = fr.Element
	Vector  []Element
)
`+methods+`
func main() {
	const n = 33
	a, b, got, want := make(Vector, n), make(Vector, n), make(Vector, n), make(fr.Vector, n)
	for i := range n {
		a[i].MustSetRandom()
		b[i].MustSetRandom()
	}
	same := func(name string) {
		if !slices.Equal(got, Vector(want)) {
			fmt.Println(name, "differs")
			os.Exit(1)
		}
	}
	got.Add(a, b)
	want.Add(fr.Vector(a), fr.Vector(b))
	same("Add")
	got.Sub(a, b)
	want.Sub(fr.Vector(a), fr.Vector(b))
	same("Sub")
	got.Mul(a, b)
	want.Mul(fr.Vector(a), fr.Vector(b))
	same("Mul")
	got.ScalarMul(a, &b[0])
	want.ScalarMul(fr.Vector(a), &b[0])
	same("ScalarMul")
	got[0], want[0] = a.InnerProduct(b), (*fr.Vector)(&a).InnerProduct(fr.Vector(b))
	same("InnerProduct")
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "run", program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
