package archtest

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// noExample are the public packages whose example is elsewhere, and where.
var noExample = map[string]string{
	"backend/backendtest": "every backend's tests call it",
	"backend/cpu/msm":     "woven programs link it; backend/cpu shows the same",
	"backend/cuda":        "it needs a card; cmd/msm-backend-cuda is its only caller",
	"weave/auto":          "no source names it",
}

// TestPublicPackagesHaveExamples: a package that programs import shows how, in code that
// the tests compile and mostly run.
func TestPublicPackagesHaveExamples(t *testing.T) {
	seen := 0
	for _, p := range publicPackages(t) {
		if _, elsewhere := noExample[p]; elsewhere || strings.HasPrefix(p, "kernels") {
			continue
		}
		seen++
		tests := parsed(t, token.NewFileSet(), p, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		if len(doc.Examples(tests...)) == 0 {
			t.Errorf("%s has no example", p)
		}
	}
	if seen < 15 {
		t.Errorf("only %d packages", seen)
	}
}

// TestDocCommentsAreTheirOwn: no two types of a public package have the same comment, as
// the aliases of a group with one comment have.
func TestDocCommentsAreTheirOwn(t *testing.T) {
	for _, p := range publicPackages(t) {
		set := token.NewFileSet()
		files := parsed(t, set, p, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
		docs, err := doc.NewFromFiles(set, files, p)
		if err != nil {
			t.Fatal(err)
		}
		for comment, names := range repeated(docs) {
			t.Errorf("%s: %v say all: %s", p, names, comment)
		}
	}
	const twice = "// Package p is a test.\npackage p\n// Names for ints.\ntype (\n\tA = int\n\tB = int\n)\n"
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "p.go", twice, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p, err := doc.NewFromFiles(set, []*ast.File{f}, "p")
	if err != nil || len(repeated(p)) != 1 {
		t.Errorf("%v, %v", err, repeated(p))
	}
}

// repeated returns the comments that several types of a package have, and their names.
func repeated(p *doc.Package) map[string][]string {
	names := map[string][]string{}
	for _, t := range p.Types {
		names[t.Doc] = append(names[t.Doc], t.Name)
	}
	for comment, all := range names {
		if slices.Sort(all); len(all) < 2 {
			delete(names, comment)
		}
	}
	return names
}

// parsed returns the files of a package whose names are wanted.
func parsed(t *testing.T, set *token.FileSet, p string, want func(name string) bool) (all []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(p), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if !want(filepath.Base(path)) {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}
