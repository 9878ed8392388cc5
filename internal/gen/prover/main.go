// Command prover writes what ties gnark's and gnark-crypto's types to the
// packages below prover, a file for each curve: imports, types and fields, no
// algorithm. Its test fails when the committed files differ from what it would
// write.
package main

import (
	"bytes"
	"embed"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"text/template"
)

// curve is the data of one file.
type curve struct {
	Name    string // for people
	Package string // of gnark-crypto, such as bls12377
	Path    string // of gnark's and gnark-crypto's packages, such as bls12-377
	Group   string // prefix of the names in prover/internal/group
}

var curves = []curve{
	{"BN254", "bn254", "bn254", "BN254"},
	{"BLS12-377", "bls12377", "bls12-377", "BLS12377"},
	{"BLS12-381", "bls12381", "bls12-381", "BLS12381"},
	{"BW6-761", "bw6761", "bw6-761", "BW6761"},
}

// A template PACKAGE.go.tmpl or PACKAGE_test.go.tmpl is for files of
// prover/PACKAGE.
//
//go:embed *.tmpl
var templates embed.FS

// sources says what each template makes: %s is the curve's package.
var sources = map[string]string{
	"groth16.go.tmpl":             "groth16/curve_%s.go",
	"groth16_accelerator.go.tmpl": "groth16/accelerator_%s.go",
	"kzg.go.tmpl":                 "kzg/curve_%s.go",
	"kzg_test.go.tmpl":            "kzg/curve_%s_test.go",
	"pedersen.go.tmpl":            "pedersen/curve_%s.go",
	"pedersen_test.go.tmpl":       "pedersen/curve_%s_test.go",
	"plonk.go.tmpl":               "plonk/curve_%s.go",
	"plonk_accelerator.go.tmpl":   "plonk/accelerator_%s.go",
}

// files is the text of every generated file by its path below prover.
func files() (map[string][]byte, error) {
	all, err := template.ParseFS(templates, "*.tmpl")
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for source, path := range sources {
		for _, c := range curves {
			var b bytes.Buffer
			if err := all.ExecuteTemplate(&b, source, c); err != nil {
				return nil, err
			}
			src, err := format.Source(b.Bytes())
			if err != nil {
				return nil, fmt.Errorf("%s for %s: %w", source, c.Name, err)
			}
			out[fmt.Sprintf(path, c.Package)] = src
		}
	}
	return out, nil
}

func main() {
	dir := flag.String("dir", "prover", "folder of the packages")
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
