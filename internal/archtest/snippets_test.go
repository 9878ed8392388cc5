package archtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc/comment"
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
		"pedersen": module + "/prover/pedersen", "stockpedersen": "github.com/consensys/gnark-crypto/ecc/bn254/fr/pedersen",
		"cuda": module + "/backend/cuda", "plugin": module + "/plugin",
		"grpc": "google.golang.org/grpc", "otelgrpc": "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc", "fmt": "fmt",
		"trace":   "go.opentelemetry.io/otel/trace",
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

// Where names of a file mean something else than in most.
var (
	importsOf = map[string]map[string]string{
		"vector/doc.go":                          {"backend": module + "/backend"},
		"observe/metrics/metrics.go":             {"prometheus": "github.com/prometheus/client_golang/prometheus"},
		"prover/circom/rapidsnark/rapidsnark.go": {"prover": module + "/prover/circom/rapidsnark"},
	}
	valuesOf = map[string]map[string]string{
		"arith/doc.go": {"bases": "*arith.Numbers", "exponents": "*arith.Numbers", "moduli": "*arith.Numbers"},
		"vector/doc.go": {
			"left": "[]fr.Element", "right": "[]fr.Element", "bases": "*msm.Bases[bn254.G1Affine, fr.Element]",
		},
		"prover/groth16/mpcsetup/doc.go":         {"phase1": "[]*mpcsetup.BN254Phase1", "phase2": "[]*bn254mpcsetup.Phase2"},
		"prover/plonk/doc.go":                    {"pk": "plonk.ProvingKey"},
		"prover/kzg/kzg.go":                      {"point": "fr.Element"},
		"observe/metrics/metrics.go":             {"m": "*metrics.Metrics", "registry": "*prometheus.Registry"},
		"observe/tracing/tracing.go":             {"provider": "trace.TracerProvider"},
		"prover/circom/rapidsnark/rapidsnark.go": {"zkey": "[]byte", "wtns": "[]byte"},
		"prover/pedersen/pedersen.go":            {"pk": "stockpedersen.ProvingKey", "values": "[]fr.Element"},
	}
)

var goBlock = regexp.MustCompile("(?ms)^( *)```go\n(.*?)^ *```")

// snippet is a block of Go code of a document or of a doc comment.
type snippet struct{ path, code string }

// snippets returns all of them but differences.
func snippets(t *testing.T) (all []snippet) {
	files(t, ".md", func(path, text string) {
		for _, m := range goBlock.FindAllStringSubmatch(text, -1) {
			if !strings.HasPrefix(strings.TrimSpace(m[2]), "-") {
				all = append(all, snippet{path, m[2]})
			}
		}
	})
	files(t, ".go", func(path, text string) {
		if made.MatchString(text[:min(len(text), 1000)]) {
			return
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range documented(f) {
			if isGo(code) {
				all = append(all, snippet{path, code})
			}
		}
	})
	return all
}

// documented returns the blocks of code in a file's doc comments.
func documented(f *ast.File) (all []string) {
	groups := []*ast.CommentGroup{f.Doc}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			groups = append(groups, n.Doc)
		case *ast.FuncDecl:
			groups = append(groups, n.Doc)
		case *ast.TypeSpec:
			groups = append(groups, n.Doc)
		case *ast.ValueSpec:
			groups = append(groups, n.Doc)
		case *ast.Field:
			groups = append(groups, n.Doc)
		}
		return true
	})
	for _, g := range groups {
		var p comment.Parser
		for _, b := range p.Parse(g.Text()).Content {
			if code, ok := b.(*comment.Code); ok {
				all = append(all, code.Text)
			}
		}
	}
	return all
}

// assigned is a line that only Go has.
var assigned = regexp.MustCompile(`(?m)^(\w+(, \w+)* :?= \S+\(|func |import |type \w+ struct)`)

// isGo reports whether a block of a doc comment is Go: a program's lines, not a formula, a
// table or a command.
func isGo(code string) bool {
	if assigned.MatchString(code) {
		return true
	}
	e, err := parser.ParseExpr(code)
	if _, call := e.(*ast.CallExpr); err == nil && call {
		return strings.Contains(code, ".")
	}
	_, err = parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+code+"\n}", 0)
	return err == nil && strings.Contains(code, "(")
}

// notRun are the blocks of pages that are compiled and not run, by page and number, and why.
var notRun = map[string]string{
	"docs/howto/ceremony.md 2":     "2^20 powers take minutes; prover/groth16/mpcsetup has it as an example",
	"docs/howto/ceremony.md 3":     "as the block before",
	"docs/howto/cluster.md 1":      "it needs a cluster; examples/cluster is this program",
	"docs/howto/cluster.md 2":      "it needs a cluster",
	"docs/howto/daemon.md 1":       "it needs a daemon",
	"docs/howto/gnark.md 4":        "a gnark that asks accelerators is not required; scripts/test-gnark accelerated has it",
	"docs/howto/gnark.md 5":        "as the block before",
	"docs/howto/gnark.md 6":        "ccs is of two kinds",
	"docs/howto/multiproofs.md 1":  "it needs Ethereum's setup; examples/kzg has this with the file",
	"docs/howto/several-gpus.md 1": "it needs several cards",
	"docs/howto/snarkjs.md 4":      "it needs WebAssembly of circom's",
}

// runWith says what a block's ccs and file are of, where that is not Groth16.
var runWith = map[string]string{"docs/howto/gnark.md 2": "plonk", "docs/howto/keys.md 2": "plonk", "docs/howto/keys.md 3": "srs"}

// backends are those of other processes, in place of which a block computes on the CPU when it runs.
var backends = regexp.MustCompile(`Backend:( *)"(cuda|plugin:cpu)"`)

// TestSnippetsCompile: the Go code of the documents and of the doc comments compiles as it
// stands, in a function with what a reader's program has, and what the pages have runs, on the
// CPU. Complete programs are files of the examples, whose tests run them.
func TestSnippetsCompile(t *testing.T) {
	code, numbers, left := map[string]string{}, map[string]int{}, maps.Clone(notRun)
	var ids []string
	pages, comments := 0, 0
	for _, s := range snippets(t) {
		if strings.HasPrefix(s.code, "package ") {
			if !isExample(t, s.code) {
				t.Errorf("%s has a program that is no file of examples/:\n%s", s.path, s.code)
			}
			continue
		}
		numbers[s.path]++
		id := fmt.Sprintf("%s %d", s.path, numbers[s.path])
		if strings.HasSuffix(s.path, ".md") {
			pages++
			for _, p := range idleImports(s.code) {
				t.Errorf("%s imports %s, which its code does not use", s.path, p)
			}
			if _, not := left[id]; !not {
				ids = append(ids, id)
			}
			delete(left, id)
		} else {
			comments++
		}
		text := backends.ReplaceAllString(unreleased.ReplaceAllStringFunc(s.code, func(s string) string {
			if strings.Contains(s, "NumeratorInput") {
				return "stock.BN254NumeratorInput"
			}
			return ""
		}), `Backend:$1"cpu"`)
		for i, f := range functions(t, s.path, text) {
			code[s.path] += runnable(f, fmt.Sprintf("%s/%d", id, i)) + "\n"
		}
	}
	if pages < 25 || comments < 20 {
		t.Errorf("only %d snippets of documents and %d of comments", pages, comments)
	}
	for id := range left {
		t.Errorf("there is no %s, which is not run", id)
	}
	program := filepath.Join(t.TempDir(), "snippets")
	if out := compile(t, program, code); out != "" {
		t.Fatalf("%s", out)
	}
	circom, err := filepath.Abs("../../examples/circom") // where files lie that snippets open
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		cmd := exec.CommandContext(t.Context(), program, id+"/0", cmp.Or(runWith[id], "groth16"))
		cmd.Dir = circom
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", id, err, out)
		}
	}
}

// TestSnippetsAreChecked shows that TestSnippetsCompile can fail.
func TestSnippetsAreChecked(t *testing.T) {
	if idle := idleImports("import (\n\t\"a/msm\"\n\t\"a/engine\"\n)\nengine.New()\n"); len(idle) != 1 {
		t.Errorf("idle imports: %q", idle)
	}
	wrong := map[string]string{"a.md": functions(t, "a.md", "e.Use(ctx)")[0]}
	if out := compile(t, os.DevNull, wrong); !strings.Contains(out, "not enough arguments") {
		t.Errorf("a wrong call compiles: %q", out)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", "// A does.\n//\n//\tb, err := a.A(1)\n//\n// It has\n//\n//\tx = sum y\n"+
		"package a\n// F is\n//\n//\ta.Option(b.New())\nfunc F() {}", parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.DeleteFunc(documented(f), func(c string) bool { return !isGo(c) }); !slices.Equal(got, []string{
		"b, err := a.A(1)\n", "a.Option(b.New())\n"}) {
		t.Errorf("the code of comments: %q", got)
	}
	if isExample(t, "package main\n\nfunc main() {}\n") {
		t.Error("a program that is nowhere is an example")
	}
}

// isExample reports whether a program is a file of examples/, but for the comment above it.
func isExample(t *testing.T, program string) bool {
	paths, err := filepath.Glob("../../examples/*/main.go")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	return slices.ContainsFunc(paths, func(path string) bool {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, found := strings.Cut(string(text), "\npackage ")
		return found && "package "+rest == program
	})
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
	code = regexp.MustCompile(`(?s)import \(.*?\n\s*\)\n|import .*\n`).ReplaceAllString(code, "")
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
		b.WriteString("func _() (failed error) {\n")
		values := with(snippetValues, valuesOf[path])
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&b, "%s := takes[%s](%q)\n_ = %[1]s\n", name, values[name], name)
		}
		b.WriteString("{\n")
		for _, s := range body {
			if err := format.Node(&b, set, s); err != nil {
				t.Fatal(err)
			}
			b.WriteString("\n")
			if a, ok := s.(*ast.AssignStmt); ok && slices.ContainsFunc(a.Lhs, isErr) {
				b.WriteString("if err != nil {\nreturn err\n}\n")
			}
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
				again = again && (isBlank(l) || declared[l.(*ast.Ident).Name])
			}
			if again {
				end()
			}
			for _, l := range a.Lhs {
				if !isBlank(l) {
					declared[l.(*ast.Ident).Name] = true
				}
			}
		}
		body = append(body, s)
	}
	end()
	return all
}

func isBlank(e ast.Expr) bool { return e.(*ast.Ident).Name == "_" }

func isErr(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "err"
}

// runnable has a function of functions run by a name.
func runnable(function, name string) string {
	body, ok := strings.CutPrefix(function, "func _()")
	if !ok {
		return function // declarations
	}
	return fmt.Sprintf("func init() { runs[%q] = func()%s }\n", name, body)
}

// with returns the entries of both maps; those of the second count.
func with(all, more map[string]string) map[string]string {
	all = maps.Clone(all)
	maps.Copy(all, more)
	return all
}

// compile builds a program of files with the imports that they need, each named by the document of
// its code, and returns what the compiler says.
func compile(t *testing.T, program string, code map[string]string) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{
		filepath.Join(root, "internal", "snippets", "main.go"): filepath.Join(root, "internal", "archtest", "testdata", "snippets", "main.go"),
	}
	for path, code := range code {
		var file strings.Builder
		file.WriteString("package main\n\nimport (\n")
		imports := with(snippetImports, importsOf[path])
		for _, name := range slices.Sorted(maps.Keys(imports)) {
			if regexp.MustCompile(`\b` + name + `\.`).MatchString(code) {
				fmt.Fprintf(&file, "\t%s %q\n", name, imports[name])
			}
		}
		file.WriteString(")\n\n" + code)
		name := strings.NewReplacer("/", "_", ".", "_").Replace(path) + "_.go"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(file.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, "internal", "snippets", name)] = filepath.Join(dir, name)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-gcflags=-e", "-overlay", list, "-o", program, "./internal/snippets")
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
