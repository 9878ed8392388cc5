package assignment

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestScratch: a field of scratch is used by the functions that its comment names, and none
// of these calls one of them, through others neither, so that no call spoils what its caller
// has there.
func TestScratch(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	owners := map[string][]string{}        // by field
	users := map[string]map[string]bool{}  // by field
	called := map[string]map[string]bool{} // by function, of this package
	var functions []*ast.FuncDecl
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, f.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				functions = append(functions, f)
				called[f.Name.Name] = map[string]bool{}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == "scratch" {
				for _, field := range s.Type.(*ast.StructType).Fields.List {
					name := field.Names[0].Name
					owners[name] = slices.Sorted(slices.Values(strings.Split(strings.TrimSpace(field.Comment.Text()), ", ")))
					users[name] = map[string]bool{}
				}
			}
			return true
		})
	}
	if len(owners) < 20 {
		t.Fatalf("scratch has %d fields", len(owners))
	}
	for _, f := range functions {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && (x.Name == "w" || x.Name == "first") && users[n.Sel.Name] != nil {
					users[n.Sel.Name][f.Name.Name] = true
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && called[s.Sel.Name] != nil {
					called[f.Name.Name][s.Sel.Name] = true
				}
			}
			return true
		})
	}
	reaches := func(from string) map[string]bool {
		seen := map[string]bool{}
		for todo := []string{from}; len(todo) > 0; todo = todo[1:] {
			for next := range called[todo[0]] {
				if !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
		return seen
	}
	for field, names := range owners {
		if got := slices.Sorted(maps.Keys(users[field])); !slices.Equal(got, names) {
			t.Errorf("scratch.%s is used by %v, its comment says %v", field, got, names)
		}
		for user := range users[field] {
			for other := range reaches(user) {
				if users[field][other] {
					t.Errorf("%s uses scratch.%s and calls %s, which does too", user, field, other)
				}
			}
		}
	}
}
