package archtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What documents leave out of their code: the packages that names stand for, and the
// values that a reader's program has.
var (
	snippetImports = map[string]string{
		"pippin": module, "engine": module + "/engine", "msm": module + "/msm", "metrics": module + "/observe/metrics",
		"tracing": module + "/observe/tracing", "cluster": module + "/cluster", "groth16": module + "/prover/groth16",
		"plonk": module + "/prover/plonk", "kzg": module + "/prover/kzg",
		"circom": module + "/prover/circom", "circomwitness": module + "/circomwitness", "rapidsnark": module + "/prover/circom/rapidsnark",
		"vector": module + "/vector", "arith": module + "/arith",
		"backend": "github.com/consensys/gnark/backend", "stock": module + "/prover/plonk",
		"iop":      "github.com/consensys/gnark-crypto/ecc/bn254/fr/iop",
		"sdktrace": "go.opentelemetry.io/otel/sdk/trace", "context": "context", "log": "log", "os": "os",
		"fr":    "github.com/consensys/gnark-crypto/ecc/bn254/fr",
		"bn254": "github.com/consensys/gnark-crypto/ecc/bn254", "constraint": "github.com/consensys/gnark/constraint",
		"gnarkwitness": "github.com/consensys/gnark/backend/witness",
		"io":           "io", "stockkzg": "github.com/consensys/gnark-crypto/ecc/bn254/kzg",
		"bn254groth16":  "github.com/consensys/gnark/backend/groth16/bn254",
		"mpcsetup":      module + "/prover/groth16/mpcsetup",
		"bn254mpcsetup": "github.com/consensys/gnark/backend/groth16/bn254/mpcsetup", "cs": "github.com/consensys/gnark/constraint/bn254",
	}
	snippetValues = map[string]string{
		"ctx": "context.Context", "e": "*engine.Engine", "ccs": "constraint.ConstraintSystem",
		"pk": "groth16.ProvingKey", "vk": "groth16.VerifyingKey",
		"witness": "gnarkwitness.Witness", "points": "[]bn254.G1Affine", "scalars": "[]fr.Element",
		"srs": "*stockkzg.SRS", "gnarkProof": "groth16.Proof", "wasm": "[]byte", "inputJSON": "[]byte", "polynomial": "[]fr.Element",
		"exporter": "sdktrace.SpanExporter", "plonkKey": "plonk.ProvingKey", "key": "*bn254groth16.ProvingKey",
		"setupFile": "io.Reader", "blobs": "[]*kzg.Blob", "file": "*os.File",
		"last": "io.Reader", "next": "io.Writer", "progress": "func(points, of int)",
		"client": "*cluster.Client", "before": "*mpcsetup.BN254Phase1", "contributions": "[]*mpcsetup.BN254Phase1",
		"contribution": "*mpcsetup.BN254Phase1", "beacon": "[]byte", "r1cs": "*cs.R1CS", "powers": "*bn254mpcsetup.SrsCommons",
	}
	// gnark's names that its releases have and the one in go.mod has not.
	unreleased = regexp.MustCompile(`\n?.*\.SetAccelerator\(.*|stock\.NumeratorInput`)
)

var goBlock = regexp.MustCompile("(?ms)^( *)```go\n(.*?)^ *```")

// TestSnippetsCompile: the Go code of the README and of the how-tos compiles as it stands,
// in a function with what a reader's program has.
func TestSnippetsCompile(t *testing.T) {
	var file bytes.Buffer
	snippets := 0
	files(t, ".md", func(path, text string) {
		if path != "README.md" && !strings.HasPrefix(path, "docs/howto/") {
			return
		}
		for _, m := range goBlock.FindAllStringSubmatch(text, -1) {
			code := m[2]
			if strings.HasPrefix(strings.TrimSpace(code), "-") { // a difference
				continue
			}
			snippets++
			for _, p := range idleImports(code) {
				t.Errorf("%s imports %s, which its code does not use", path, p)
			}
			for _, f := range functions(t, path, unreleased.ReplaceAllStringFunc(code, func(s string) string {
				if strings.Contains(s, "NumeratorInput") {
					return "stock.BN254NumeratorInput"
				}
				return ""
			})) {
				fmt.Fprintf(&file, "// %s\n%s\n", path, f)
			}
		}
	})
	if snippets < 8 {
		t.Errorf("only %d snippets", snippets)
	}
	if out := compile(t, file.String()); out != "" {
		t.Errorf("%s", out)
	}
	if idle := idleImports("import (\n\t\"a/msm\"\n\t\"a/engine\"\n)\nengine.New()\n"); len(idle) != 1 {
		t.Errorf("idle imports: %q", idle)
	}
	if out := compile(t, functions(t, "", "e.Use(ctx)")[0]); !strings.Contains(out, "not enough arguments") {
		t.Errorf("a wrong call compiles: %q", out)
	}
}

// idleImports returns the packages that a block of code imports and does not use.
func idleImports(code string) (idle []string) {
	block := regexp.MustCompile(`(?s)import \(.*?\n\s*\)\n`).FindString(code)
	rest := strings.Replace(code, block, "", 1)
	for _, m := range regexp.MustCompile(`"(?:[^"]*/)?([\w.-]+)"`).FindAllStringSubmatch(block, -1) {
		if !strings.Contains(rest, m[1]+".") {
			idle = append(idle, m[0])
		}
	}
	return idle
}

// functions returns a block of code as functions: one that declares a name twice has
// alternatives, each a function of its own. A block of declarations is one of them.
func functions(t *testing.T, path, code string) (all []string) {
	t.Helper()
	imports := regexp.MustCompile(`(?s)import \(.*?\n\s*\)\n`)
	code = imports.ReplaceAllString(code, "")
	code = regexp.MustCompile(`(?m)^\s*\.\.\.\s*$`).ReplaceAllString(code, "")
	if strings.HasPrefix(strings.TrimSpace(code), "type ") {
		return []string{code}
	}
	const head = "package p\nfunc _() error {\n"
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, head+code+"\nreturn nil\n}", parser.ParseComments)
	if err != nil {
		t.Errorf("%s: %v\n%s", path, err, code)
		return nil
	}
	var body []ast.Stmt
	declared := map[string]bool{}
	end := func() {
		if len(body) == 0 {
			return
		}
		var b bytes.Buffer
		b.WriteString("func _(")
		for _, name := range slices.Sorted(maps.Keys(snippetValues)) {
			fmt.Fprintf(&b, "%s %s, ", name, snippetValues[name])
		}
		b.WriteString(") (failed error) {\n{\n")
		for _, s := range body {
			if err := format.Node(&b, set, s); err != nil {
				t.Fatal(err)
			}
			b.WriteString("\n")
		}
		for _, name := range slices.Sorted(maps.Keys(declared)) {
			fmt.Fprintf(&b, "_ = %s\n", name)
		}
		b.WriteString("}\nreturn nil\n}")
		all = append(all, b.String())
		body, declared = nil, map[string]bool{}
	}
	stmts := f.Decls[0].(*ast.FuncDecl).Body.List
	for _, s := range stmts[:len(stmts)-1] {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			again := true
			for _, l := range a.Lhs {
				again = again && declared[l.(*ast.Ident).Name]
			}
			if again {
				end()
			}
			for _, l := range a.Lhs {
				declared[l.(*ast.Ident).Name] = true
			}
		}
		body = append(body, s)
	}
	end()
	return all
}

// compile returns what the compiler says of a file with the imports that it needs.
func compile(t *testing.T, code string) string {
	t.Helper()
	var file strings.Builder
	file.WriteString("package snippets\n\nimport (\n")
	for _, name := range slices.Sorted(maps.Keys(snippetImports)) {
		if regexp.MustCompile(`\b` + name + `\.`).MatchString(code) {
			fmt.Fprintf(&file, "\t%s %q\n", name, snippetImports[name])
		}
	}
	file.WriteString(")\n\n" + code)
	dir := t.TempDir()
	source := filepath.Join(dir, "snippets.go")
	if err := os.WriteFile(source, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, "internal", "snippets", "snippets.go"): source}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "./internal/snippets")
	build.Dir = root
	out, err := build.CombinedOutput()
	if err != nil && len(out) == 0 {
		return err.Error()
	}
	if err == nil {
		return ""
	}
	return string(out)
}
