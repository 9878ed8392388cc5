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
	"strings"
	"text/template"
)

// curve is the data of one file.
type curve struct {
	Name    string // for people
	Package string // of gnark-crypto, such as bls12377
	Path    string // of gnark's and gnark-crypto's packages, such as bls12-377
	Group   string // prefix of the names in prover/internal/group
	Twist   string // type of the coordinates of G2
}

// ID returns gnark-crypto's name of the curve's number.
func (c curve) ID() string { return strings.ToUpper(strings.ReplaceAll(c.Path, "-", "_")) }

var curves = []curve{
	{"BN254", "bn254", "bn254", "BN254", "bn254.E2"},
	{"BLS12-377", "bls12377", "bls12-377", "BLS12377", "bls12377.E2"},
	{"BLS12-381", "bls12381", "bls12-381", "BLS12381", "bls12381.E2"},
	{"BW6-761", "bw6761", "bw6-761", "BW6761", "fp.Element"},
}

// A template PACKAGE.go.tmpl or PACKAGE_test.go.tmpl is for the package of that name.
//
//go:embed *.tmpl
var templates embed.FS

// sources says what each template makes: %s is the curve's package.
var sources = map[string]string{
	"group.go.tmpl":               "prover/internal/group/curve_%s.go",
	"groth16.go.tmpl":             "prover/groth16/curve_%s.go",
	"groth16_accelerator.go.tmpl": "prover/groth16/accelerator_%s.go",
	"groth16_mpcsetup.go.tmpl":    "prover/groth16/mpcsetup/curve_%s.go",
	"plonk_accelerator.go.tmpl":   "prover/plonk/accelerator_%s.go",
	"kzg.go.tmpl":                 "prover/kzg/curve_%s.go",
	"kzg_test.go.tmpl":            "prover/kzg/curve_%s_test.go",
	"pedersen.go.tmpl":            "prover/pedersen/curve_%s.go",
	"pedersen_test.go.tmpl":       "prover/pedersen/curve_%s_test.go",
	"plonk.go.tmpl":               "prover/plonk/curve_%s.go",
	"proofsystem.go.tmpl":         "internal/proofsystem/curve_%s.go",
}

// table is a variable that has an entry for each curve.
type table struct {
	Package, Name, Type string
	Curves              []curve
}

// tables lists the tables by their files, each made by table.go.tmpl.
var tables = map[string]table{
	"prover/groth16/curve_table.go":       {"groth16", "bindings", "binding", curves},
	"prover/plonk/curve_table.go":         {"plonk", "bindings", "binding", curves},
	"internal/proofsystem/curve_table.go": {"proofsystem", "curves", "*curve", curves},
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
		for _, c := range curves {
			if err := add(fmt.Sprintf(path, c.Package), source, c); err != nil {
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
