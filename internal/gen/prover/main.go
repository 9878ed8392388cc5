// Command prover writes what ties gnark's and gnark-crypto's types to the
// packages below prover and to internal/proofsystem: a file for each curve, with
// imports, types and fields but no algorithm, and tables of all curves. Its test
// fails when the committed files differ from what it would write.
package main

import (
	"bytes"
	"embed"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/pippin-zk/pippin/backend"
)

// curve is the data of one file.
type curve struct{ backend.Curve }

// Path returns the curve in the paths of gnark's and gnark-crypto's packages, such as bls12-377.
func (c curve) Path() string { return c.String() }

// Package returns gnark-crypto's package, such as bls12377.
func (c curve) Package() string { return strings.ReplaceAll(c.Path(), "-", "") }

// Name returns the curve's name for people, such as BLS12-377.
func (c curve) Name() string { return strings.ToUpper(c.Path()) }

// Group returns what names in Go have of it, such as BLS12377.
func (c curve) Group() string { return strings.ToUpper(c.Package()) }

// ID returns gnark-crypto's name of the curve's number, such as BLS12_377.
func (c curve) ID() string { return strings.ReplaceAll(c.Name(), "-", "_") }

// Twist returns the type of the coordinates of G2.
func (c curve) Twist() string {
	if c.PointBytes(backend.G2) == c.PointBytes(backend.G1) {
		return "fp.Element"
	}
	return c.Package() + ".E2"
}

// curves lists backend's curves.
func curves() (all []curve) {
	for _, c := range backend.Curves() {
		all = append(all, curve{c})
	}
	return all
}

// A template PACKAGE.go.tmpl is for the package of that name.
//
//go:embed *.tmpl
var templates embed.FS

// sources says what each template makes: %s is the curve's package.
var sources = map[string]string{
	"circom.go.tmpl":           "prover/circom/curve_%s.go",
	"group.go.tmpl":            "prover/internal/group/curve_%s.go",
	"groth16.go.tmpl":          "prover/groth16/curve_%s.go",
	"groth16_mpcsetup.go.tmpl": "prover/groth16/mpcsetup/curve_%s.go",
	"kzg.go.tmpl":              "prover/kzg/curve_%s.go",
	"pedersen.go.tmpl":         "prover/pedersen/curve_%s.go",
	"plonk.go.tmpl":            "prover/plonk/curve_%s.go",
	"proofsystem.go.tmpl":      "internal/proofsystem/curve_%s.go",
}

// some lists the curves of packages that do not have all.
var some = map[string][]backend.Curve{"circom": {backend.BN254, backend.BLS12381}}

// curvesOf lists the curves of a package.
func curvesOf(pkg string) (all []curve) {
	for _, c := range curves() {
		if s, ok := some[pkg]; !ok || slices.Contains(s, c.Curve) {
			all = append(all, c)
		}
	}
	return all
}

// table is a variable that has an entry for each curve of a package.
type table struct{ Package, Name, Type string }

// Curves returns the curves that have an entry.
func (t table) Curves() []curve { return curvesOf(t.Package) }

// tables lists the tables by their files, each made by table.go.tmpl.
var tables = map[string]table{
	"prover/circom/curve_table.go":        {"circom", "bindings", "binding"},
	"prover/groth16/curve_table.go":       {"groth16", "bindings", "binding"},
	"prover/kzg/curve_table.go":           {"kzg", "bindings", "binding"},
	"prover/plonk/curve_table.go":         {"plonk", "bindings", "binding"},
	"internal/proofsystem/curve_table.go": {"proofsystem", "bindings", "*curve"},
}

// files returns the text of every generated file by its path in the repository.
func files() (map[string][]byte, error) {
	all, err := template.ParseFS(templates, "*.tmpl")
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	add := func(path, source string, data any) error {
		var b bytes.Buffer
		if err := all.ExecuteTemplate(&b, source, data); err != nil {
			return err
		}
		src, err := format.Source(b.Bytes())
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		out[path] = src
		return nil
	}
	for source, path := range sources {
		for _, c := range curvesOf(strings.TrimSuffix(source, ".go.tmpl")) {
			if err := add(fmt.Sprintf(path, c.Package()), source, c); err != nil {
				return nil, err
			}
		}
	}
	for path, t := range tables {
		if err := add(path, "table.go.tmpl", t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func main() {
	dir := flag.String("dir", ".", "folder of the repository")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "gen/prover:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	out, err := files()
	if err != nil {
		return err
	}
	for path, src := range out {
		if err := os.WriteFile(filepath.Join(dir, path), src, 0o644); err != nil {
			return err
		}
	}
	return nil
}
