// Package apitest checks in tests that a package has everything that gnark's of the
// same name has.
package apitest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Check fails the test unless its package exports everything that gnark's package does.
func Check(t *testing.T, gnark string) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", gnark).Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := exported(t, ".")
	theirs := exported(t, strings.TrimSpace(string(out)))
	if len(theirs) < 10 {
		t.Fatalf("gnark exports %v only?", theirs)
	}
	for name := range theirs {
		if !ours[name] {
			t.Errorf("%s.%s is missing", gnark, name)
		}
	}
}

// exported returns the exported names at the top of the package in a folder.
func exported(t *testing.T, dir string) map[string]bool {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = s.Name.IsExported() || names[s.Name.Name]
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[n.Name] = n.IsExported() || names[n.Name]
						}
					}
				}
			}
		}
	}
	for n, is := range names {
		if !is {
			delete(names, n)
		}
	}
	return names
}
