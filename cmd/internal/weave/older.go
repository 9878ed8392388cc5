package weave

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// lack is a name that gnark or gnark-crypto do not have before the versions that pippin's sources are written
// for, and how pippin's sources do without it. They are changed while a program with such a version is woven.
type lack struct {
	pkg    string
	change func(*file)
}

// lacks are all of them, by the name:
//
//	U64        gnark below v0.13: blueprints have no type parameter, and their values are of constraint.Element
//	GSigmaNeg  gnark-crypto below v0.15: the field of a verifying key of Pedersen's is called GSigma
//
// Beside them gnark-crypto below v0.15 has no operations of vectors: it gets them (weaveVectors). Nothing else
// differs from gnark v0.11 on in what the provers use: proofs and keys have the same bytes.
var lacks = map[string]lack{
	"U64":       {gnarkModule + "/constraint", (*file).withoutU64},
	"GSigmaNeg": {gnarkCrypto + "/bn254/fr/pedersen", (*file).withGSigma},
}

// lacking returns the names of lacks that a program's gnark and gnark-crypto do not have. They may be missing in
// released versions only: nobody has compared a fork of an old one with pippin's provers.
func lacking(list []source) (names []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(lacks)) {
		i := slices.IndexFunc(list, func(s source) bool { return s.ImportPath == lacks[name].pkg })
		if i < 0 {
			continue
		}
		has := false
		_, err := rewrite(list[i].files(), func(f *file) error {
			has = has || len(f.named(name)) > 0
			return nil
		}, name)
		if err != nil {
			return nil, err
		}
		if has {
			continue
		}
		if m := list[i].Module; m.Replace != nil || m.Version == "" {
			return nil, fmt.Errorf("package %s has no %s, and pippin's provers are for no fork of so old a version", lacks[name].pkg, name)
		}
		names = append(names, name)
	}
	return names, nil
}

// named returns the identifiers of a file that are a name.
func (f *file) named(name string) (all []*ast.Ident) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			all = append(all, id)
		}
		return true
	})
	return all
}

// weaveOlder returns the weaver of pippin's own packages in a program whose gnark lacks names.
func weaveOlder(names []string) weaver {
	return func(files []string, _ func(...string) bool) (changed map[int][]byte, added string, err error) {
		changed, err = rewrite(files, func(f *file) error {
			for _, name := range names {
				lacks[name].change(f)
			}
			return nil
		}, names...)
		return changed, "", err
	}
}

// withoutU64 takes the type parameter constraint.U64 off every type, and has constraint.Element in its place elsewhere.
func (f *file) withoutU64() {
	end := func(n ast.Node) int { return f.fset.PositionFor(n.End(), false).Offset }
	isU64 := func(n ast.Expr) (*ast.SelectorExpr, bool) {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "U64" {
			return nil, false
		}
		x, ok := s.X.(*ast.Ident)
		return s, ok && x.Name == "constraint"
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if x, ok := n.(*ast.IndexExpr); ok {
			if _, ok := isU64(x.Index); ok {
				f.edits = append(f.edits, edit{end(x.X), end(x), ""})
				return false
			}
		}
		if x, ok := n.(ast.Expr); ok {
			if s, ok := isU64(x); ok {
				f.rename(s.Sel, "Element")
			}
		}
		return true
	})
}

// withGSigma gives the field GSigmaNeg the name that it had: it has had the same value under both.
func (f *file) withGSigma() {
	for _, id := range f.named("GSigmaNeg") {
		f.rename(id, "GSigma")
	}
}

// vectorMethods are operations of vectors that gnark-crypto has from v0.15 on.
var vectorMethods = map[string]string{
	"Add":       eachElement("a, b Vector", "Add(&a[i], &b[i])"),
	"Sub":       eachElement("a, b Vector", "Sub(&a[i], &b[i])"),
	"Mul":       eachElement("a, b Vector", "Mul(&a[i], &b[i])"),
	"ScalarMul": eachElement("a Vector, b *Element", "Mul(&a[i], b)"),
	"InnerProduct": "(other Vector) (sum Element) {\n\tvar product Element\n\tfor i := range *vector {\n" +
		"\t\tproduct.Mul(&(*vector)[i], &other[i])\n\t\tsum.Add(&sum, &product)\n\t}\n\treturn sum\n}\n",
}

// eachElement returns a method that sets each element i of the vector by a call.
func eachElement(params, call string) string {
	return "(" + params + ") {\n\tfor i := range *vector {\n\t\t(*vector)[i]." + call + "\n\t}\n}\n"
}

// isScalars reports whether a package has the scalars of a curve that is woven.
func isScalars(pkg string) bool {
	curve, ok := strings.CutSuffix(pkg, "/fr")
	return ok && isCurve(curve)
}

// weaveVectors adds the operations of vectors that a package of scalars lacks.
func weaveVectors(names []string, _ func(...string) bool) (changed map[int][]byte, added string, err error) {
	missing, isThere := maps.Clone(vectorMethods), false
	changed, err = rewrite(names, func(f *file) error {
		isThere = isThere || bytes.Contains(f.source, []byte("\ntype Vector []Element\n"))
		for name := range vectorMethods {
			if f.method("*Vector", name) != nil {
				delete(missing, name)
			}
		}
		return nil
	}, "Vector")
	if err != nil || !isThere || len(missing) == 0 {
		return nil, "", err
	}
	added = "package fr\n"
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		added += "\n// " + name + " is as in later versions of gnark-crypto.\nfunc (vector *Vector) " + name + missing[name]
	}
	return changed, added, nil
}
