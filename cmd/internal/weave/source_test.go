package weave

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func all(...string) bool { return true }

// filesOf is the Go files of a package of this build.
func filesOf(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// methods lists the methods MultiExp and PippinStockMultiExp, by receiver.
func methods(t *testing.T, texts ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, text := range texts {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != multiExp && fn.Name.Name != stockMultiExp {
				continue
			}
			var calls []string
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && strings.HasSuffix(s.Sel.Name, multiExp) {
					calls = append(calls, s.Sel.Name)
				}
				return true
			})
			star := fn.Recv.List[0].Type.(*ast.StarExpr)
			found[star.X.(*ast.Ident).Name+"."+fn.Name.Name] = strings.Join(calls, " ")
		}
	}
	return found
}

func TestWeaveCurve(t *testing.T) {
	for curve := range curves {
		names := filesOf(t, gnarkCrypto+"/"+curve)
		changed, added, err := weaveCurve(names, all)
		if err != nil {
			t.Fatalf("%s: %v", curve, err)
		}
		texts := []string{added}
		for i, b := range changed {
			if !strings.HasPrefix(string(b), "//line "+names[i]+":1\n") {
				t.Errorf("%s: %s does not keep its name", curve, names[i])
			}
			was, err := os.ReadFile(names[i])
			if err != nil {
				t.Fatal(err)
			}
			if strings.Count(string(b), "\n") != strings.Count(string(was), "\n")+1 {
				t.Errorf("%s: %s does not keep its lines", curve, names[i])
			}
			texts = append(texts, string(b))
		}
		got := methods(t, texts...)
		for _, g := range []string{"G1", "G2"} {
			for method, calls := range map[string]string{
				g + "Affine.MultiExp":         "MultiExp",
				g + "Jac.MultiExp":            "PippinStockMultiExp",
				g + "Jac.PippinStockMultiExp": "PippinStockMultiExp PippinStockMultiExp",
			} {
				if c, ok := got[method]; !ok || c != calls {
					t.Errorf("%s: %s calls %q (declared: %v), want %q", curve, method, c, ok, calls)
				}
			}
		}
		if len(got) != 6 {
			t.Errorf("%s: %v", curve, got)
		}
		for _, name := range []string{"BatchScalarMultiplicationG1", "BatchScalarMultiplicationG2"} {
			setAside(t, name, texts)
		}
	}
}

// setAside has the woven sources of a package declare a function and the stock one, each
// once.
func setAside(t *testing.T, name string, texts []string) {
	t.Helper()
	all := strings.Join(texts, "\n")
	for _, declares := range []string{"\nfunc " + name + "(", "\nfunc pippinStock" + name + "("} {
		if n := strings.Count(all, declares); n != 1 {
			t.Errorf("%q: %d times", declares, n)
		}
	}
}

// TestWeaveKeys puts the hook into package kzg of each curve, and refuses others than are
// expected.
func TestWeaveKeys(t *testing.T) {
	for curve := range curves {
		names := filesOf(t, gnarkCrypto+"/"+curve+"/kzg")
		if got, ok := keysOf(gnarkCrypto + "/" + curve + "/kzg"); !ok || got != curve {
			t.Errorf("%s: %q, %v", curve, got, ok)
		}
		changed, added, err := weaveKeys(curve)(names, all)
		if err != nil {
			t.Fatalf("%s: %v", curve, err)
		}
		texts := []string{added}
		for _, b := range changed {
			texts = append(texts, string(b))
		}
		setAside(t, "ToLagrangeG1", texts)
		if _, _, err := weaveKeys(curve)(nil, all); err == nil {
			t.Errorf("%s: woven without a function", curve)
		}
		if _, _, err := weaveKeys(curve)(names, func(...string) bool { return false }); err == nil {
			t.Errorf("%s: woven without the import of the hook", curve)
		}
	}
	for _, other := range []string{"bn254", "bw6-633/kzg", "kzg", "bn254/kzg/mpcsetup"} {
		if _, ok := keysOf(gnarkCrypto + "/" + other); ok {
			t.Errorf("%s is a package of keys", other)
		}
	}
	at := filepath.Join(t.TempDir(), "utils.go")
	if err := os.WriteFile(at, []byte("package kzg\n\nfunc ToLagrangeG1(coeffs []int) []int { return nil }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := weaveKeys("bn254")([]string{at}, all); err == nil || !strings.Contains(err.Error(), "ToLagrangeG1 is func(coeffs []int)") {
		t.Errorf("%v", err)
	}
}

// TestProducts refuses a BatchScalarMultiplication that is another, and sources without.
func TestProducts(t *testing.T) {
	names := filesOf(t, gnarkCrypto+"/bn254")
	at := slices.IndexFunc(names, func(name string) bool { return filepath.Base(name) == "g2.go" })
	source, err := os.ReadFile(names[at])
	if err != nil {
		t.Fatal(err)
	}
	const was = "func BatchScalarMultiplicationG2(base *G2Affine,"
	if !strings.Contains(string(source), was) {
		t.Fatalf("%q is not in %s", was, names[at])
	}
	for replacement, wants := range map[string]string{
		"func BatchScalarMultiplicationG2(base G2Affine,": "BatchScalarMultiplicationG2 is func(base G2Affine,",
		"func Products(base *G2Affine,":                   "no function BatchScalarMultiplicationG2",
	} {
		changed := slices.Clone(names)
		changed[at] = filepath.Join(t.TempDir(), "g2.go")
		if err := os.WriteFile(changed[at], []byte(strings.Replace(string(source), was, replacement, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := weaveCurve(changed, all); err == nil || !strings.Contains(err.Error(), wants) {
			t.Errorf("%q: %v, want %q", replacement, err, wants)
		}
	}
}

// TestRefusals changes gnark-crypto's source: each version is refused.
func TestRefusals(t *testing.T) {
	names := filesOf(t, gnarkCrypto+"/bn254")
	at := -1
	for i, name := range names {
		if filepath.Base(name) == "multiexp.go" {
			at = i
		}
	}
	source, err := os.ReadFile(names[at])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, replacement, wants string }{
		{"func (p *G1Jac) MultiExp(", "func (p *G1Jac) MSM(", "no method MultiExp of G1Jac"},
		{"func (p *G2Jac) MultiExp(", "func (p *G2Jac) MSM(", "no method MultiExp of G2Jac"},
		{"func (p *G1Affine) MultiExp(", "func (p *G1Affine) MSM(", "no method MultiExp of G1Affine"},
		{"func (p *G1Jac) MultiExp(points []G1Affine,", "func (p *G1Jac) MultiExp(points []*G1Affine,", "not func(points"},
		{"func (p *G2Jac) MultiExp(points []G2Affine, scalars []fr.Element, config ecc.MultiExpConfig)",
			"func (p *G2Jac) MultiExp(points []G2Affine, scalars []fr.Element, o ...Option)", "not func(points"},
		{"if _, err := _p.MultiExp(points", "if _, err := _p.msm(points", "does not rely"},
		{"package bn254\n", "package elsewhere\n", "unexpected package"},
		{"func (p *G1Jac) MultiExp(", "func (p *G1Jac) MultiExp((", "expected"},
	} {
		if !strings.Contains(string(source), c.old) {
			t.Fatalf("%q is not in %s", c.old, names[at])
		}
		changed := filepath.Join(t.TempDir(), "multiexp.go")
		if err := os.WriteFile(changed, []byte(strings.Replace(string(source), c.old, c.replacement, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := weaveCurve([]string{changed}, all); err == nil || !strings.Contains(err.Error(), c.wants) {
			t.Errorf("%q: %v, want %q", c.replacement, err, c.wants)
		}
	}
	if _, _, err := weaveCurve(names, func(...string) bool { return false }); err == nil {
		t.Error("woven without the imports of the hook")
	}
	if _, _, err := weaveCPU(names[:1], all); err == nil {
		t.Error("a CPU backend without calls is woven")
	}
	if _, _, err := weaveAuto(nil, func(...string) bool { return false }); err == nil {
		t.Error("weave/auto without imports is woven")
	}
}

// TestWeaveCPU leaves no call of MultiExp in the engine's CPU backend.
func TestWeaveCPU(t *testing.T) {
	names := filesOf(t, cpuPackage)
	changed, added, err := weaveCPU(names, all)
	if err != nil || added != "" || len(changed) == 0 {
		t.Fatal(err, added)
	}
	for i, name := range names {
		text := changed[i]
		if text == nil {
			if text, err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Name == multiExp {
				t.Errorf("%s still speaks of MultiExp", name)
			}
			return true
		})
	}
}
