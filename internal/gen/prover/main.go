// Command prover writes what ties gnark's types to prover/groth16, a file for
// each curve: imports, types and fields, no algorithm. Its test fails when the
// committed files differ from what it would write.
package main

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"text/template"
)

// curve is the data of one file.
type curve struct {
	Package string // of gnark-crypto, such as bls12377
	Path    string // of gnark's and gnark-crypto's packages, such as bls12-377
	Group   string // prefix of the names in prover/internal/group
}

var curves = []curve{
	{"bn254", "bn254", "BN254"},
	{"bls12377", "bls12-377", "BLS12377"},
	{"bls12381", "bls12-381", "BLS12381"},
	{"bw6761", "bw6-761", "BW6761"},
}

//go:embed groth16.go.tmpl
var text string

// files is the text of every generated file by name.
func files() (map[string][]byte, error) {
	t, err := template.New("groth16").Parse(text)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, c := range curves {
		var b bytes.Buffer
		if err := t.Execute(&b, c); err != nil {
			return nil, err
		}
		src, err := format.Source(b.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Package, err)
		}
		out["curve_"+c.Package+".go"] = src
	}
	return out, nil
}

func main() {
	dir := flag.String("dir", "prover/groth16", "folder of the generated files")
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
	for name, src := range out {
		if err := os.WriteFile(filepath.Join(dir, name), src, 0o644); err != nil {
			return err
		}
	}
	return nil
}
