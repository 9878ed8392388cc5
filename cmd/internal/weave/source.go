package weave

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	multiExp      = "MultiExp"
	stockMultiExp = "PippinStockMultiExp"

	multiples  = "BatchScalarMultiplication" // and the group
	toLagrange = "ToLagrangeG1"
	// stock begins the names that functions get, which stay as they are otherwise.
	stock = "pippinStock"

	gnarkCryptoModule = "github.com/consensys/gnark-crypto"
	gnarkCrypto       = gnarkCryptoModule + "/ecc"
)

// curves are the packages that are woven, below gnarkCrypto, by the names they
// have in Go.
var curves = map[string]string{
	"bn254":     "bn254",
	"bls12-377": "bls12377",
	"bls12-381": "bls12381",
	"bw6-761":   "bw6761",
}

func isCurve(pkg string) bool {
	curve, ok := strings.CutPrefix(pkg, gnarkCrypto+"/")
	return ok && curves[curve] != ""
}

// keysOf returns the curve whose package kzg a package is.
func keysOf(pkg string) (curve string, ok bool) {
	curve, ok = strings.CutSuffix(pkg, "/kzg")
	return strings.TrimPrefix(curve, gnarkCrypto+"/"), ok && isCurve(curve)
}

// file is Go source whose names are changed in place.
type file struct {
	name   string
	source []byte
	fset   *token.FileSet
	tree   *ast.File
	edits  []edit
}

type edit struct {
	from, to int
	text     string
}

// parse reads a file if it speaks of one of the words, else it answers nil.
func parse(name string, words ...string) (*file, error) {
	source, err := os.ReadFile(name)
	if err != nil || !slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(source, []byte(w)) }) {
		return nil, err
	}
	f := &file{name: name, source: source, fset: token.NewFileSet()}
	f.tree, err = parser.ParseFile(f.fset, name, source, parser.SkipObjectResolution)
	return f, err
}

// rename gives an identifier another name.
func (f *file) rename(id *ast.Ident, name string) {
	from := f.fset.PositionFor(id.Pos(), false).Offset
	f.edits = append(f.edits, edit{from, from + len(id.Name), name})
}

// renameCalls renames the method MultiExp in every selector below n, and
// answers how many there were.
func (f *file) renameCalls(n ast.Node) (calls int) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == multiExp {
			f.rename(s.Sel, stockMultiExp)
			calls++
		}
		return true
	})
	return calls
}

// changed returns the source with its edits, under the name and lines it had.
func (f *file) changed() ([]byte, error) {
	name, err := filepath.Abs(f.name)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(f.edits, func(a, b edit) int { return a.from - b.from })
	out := []byte("//line " + name + ":1\n")
	at := 0
	for _, e := range f.edits {
		out = append(append(out, f.source[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, f.source[at:]...), nil
}

// method returns the declaration of a method with the given receiver, as text, or nil.
func (f *file) method(receiver, name string) *ast.FuncDecl {
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Name.Name == name && fn.Recv != nil && len(fn.Recv.List) == 1 && fn.Body != nil &&
			types.ExprString(fn.Recv.List[0].Type) == receiver {
			return fn
		}
	}
	return nil
}

// function returns the declaration of a function, or nil.
func (f *file) function(name string) *ast.FuncDecl {
	for _, d := range f.tree.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == name {
			return fn
		}
	}
	return nil
}

// setAside gives a function of a certain type another name, if it is in this file:
// the hook takes its own.
func (f *file) setAside(name, signature string) (found bool, err error) {
	fn := f.function(name)
	if fn == nil {
		return false, nil
	}
	if err := f.checkType(fn, name, signature); err != nil {
		return false, err
	}
	f.rename(fn.Name, stock+name)
	return true, nil
}

// rewrite has change note the edits of each file that speaks of one of the words. It returns the files
// that got any, by their index. Tests stay as they are.
func rewrite(names []string, change func(*file) error, words ...string) (changed map[int][]byte, err error) {
	changed = map[int][]byte{}
	for i, name := range names {
		f, err := parse(name, words...)
		if err != nil {
			return nil, err
		}
		if f == nil || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if err := change(f); err != nil {
			return nil, err
		}
		if len(f.edits) == 0 {
			continue
		}
		if changed[i], err = f.changed(); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// weaveCurve puts the hook into a package of a curve.
func weaveCurve(names []string, has func(...string) bool) (changed map[int][]byte, added string, err error) {
	var pkg string
	found := map[string]bool{}
	changed, err = rewrite(names, func(f *file) error {
		pkg = f.tree.Name.Name
		for _, g := range []string{"G1", "G2"} {
			aside, err := f.setAside(multiples+g, fmt.Sprintf("func(base *%sAffine, scalars []fr.Element) []%sAffine", g, g))
			if err != nil {
				return err
			}
			if aside {
				found[g] = true
			}
			if fn := f.method("*"+g+"Jac", multiExp); fn != nil {
				if err := f.checkSignature(fn, g); err != nil {
					return err
				}
				f.rename(fn.Name, stockMultiExp)
				f.renameCalls(fn.Body)
				found[g+"Jac"] = true
			}
			if fn := f.method("*"+g+"Affine", multiExp); fn != nil {
				if n := (&file{fset: f.fset}).renameCalls(fn.Body); n != 1 {
					return fmt.Errorf("%s: MultiExp of %sAffine does not rely on that of %sJac", f.at(fn), g, g)
				}
				found[g+"Affine"] = true
			}
		}
		return nil
	}, multiExp, multiples)
	if err != nil {
		return nil, "", err
	}
	for _, want := range []string{"G1Jac", "G2Jac", "G1Affine", "G2Affine"} {
		if !found[want] {
			return nil, "", fmt.Errorf("this version of gnark-crypto has no method MultiExp of %s", want)
		}
	}
	curve := curveOf(pkg)
	if curve == "" {
		return nil, "", fmt.Errorf("unexpected package name %s", pkg)
	}
	for _, g := range []string{"G1", "G2"} {
		if !found[g] {
			return nil, "", fmt.Errorf("this version of gnark-crypto has no function %s%s", multiples, g)
		}
	}
	if !has("sync/atomic", gnarkCrypto, gnarkCrypto+"/"+curve+"/fr") {
		return nil, "", errors.New("this version of gnark-crypto does not import what the hook needs")
	}
	return changed, curveText(pkg, curve), nil
}

func curveOf(pkg string) string {
	for curve, name := range curves {
		if name == pkg {
			return curve
		}
	}
	return ""
}

func (f *file) at(fn *ast.FuncDecl) token.Position { return f.fset.Position(fn.Pos()) }

// checkSignature compares the type of a declaration of MultiExp with the one
// that the hook has.
func (f *file) checkSignature(fn *ast.FuncDecl, group string) error {
	want := fmt.Sprintf("func(points []%sAffine, scalars []fr.Element, config ecc.MultiExpConfig) (*%sJac, error)", group, group)
	return f.checkType(fn, "MultiExp of "+group+"Jac", want)
}

// checkType compares the type of a declaration with the one that the hook has.
func (f *file) checkType(fn *ast.FuncDecl, name, want string) error {
	if got := types.ExprString(fn.Type); got != want {
		return fmt.Errorf("%s: %s is %s, not %s as in the versions that were tried", f.at(fn), name, got, want)
	}
	return nil
}

// weaveKeys returns the weaver of a curve's package kzg, which puts the hook into it.
func weaveKeys(curve string) weaver {
	return func(names []string, has func(...string) bool) (changed map[int][]byte, added string, err error) {
		changed, err = rewrite(names, func(f *file) error {
			_, err := f.setAside(toLagrange, "func(coeffs []curve.G1Affine) ([]curve.G1Affine, error)")
			return err
		}, toLagrange)
		if err != nil {
			return nil, "", err
		}
		if len(changed) == 0 || !has(gnarkCrypto+"/"+curve) {
			return nil, "", errors.New("this version of gnark-crypto has no function " + toLagrange)
		}
		return changed, keysText(curve), nil
	}
}

// weaveCPU makes the engine's own CPU backend call the stock MultiExp.
func weaveCPU(names []string, _ func(...string) bool) (changed map[int][]byte, added string, err error) {
	calls, methods := 0, 0
	changed, err = rewrite(names, func(f *file) error {
		calls += f.renameCalls(f.tree)
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if t, ok := n.(*ast.InterfaceType); ok {
				for _, m := range t.Methods.List {
					for _, id := range m.Names {
						if id.Name == multiExp {
							f.rename(id, stockMultiExp)
							methods++
						}
					}
				}
			}
			return true
		})
		return nil
	}, multiExp)
	if err != nil {
		return nil, "", err
	}
	if calls == 0 || methods == 0 {
		return nil, "", errors.New("this version of pippin calls no MultiExp there: msm and the module's pippin are of different versions")
	}
	return changed, "", nil
}

// weaveAuto makes weave/auto install the hooks.
func weaveAuto(names []string, has func(...string) bool) (changed map[int][]byte, added string, err error) {
	needs := []string{Module + "/msm", hookPackage}
	for curve := range curves {
		needs = append(needs, gnarkCrypto+"/"+curve)
	}
	if !has(needs...) {
		return nil, "", errors.New("it does not import what is woven in: msm and the module's pippin are of different versions")
	}
	return nil, autoText(has(proversPackage)), nil
}
