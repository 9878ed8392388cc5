package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/pippin-zk/pippin"

// The outside worlds that the table speaks of, by import path prefix.
var (
	gnarkCrypto = "github.com/consensys/gnark-crypto"
	gnark       = "github.com/consensys/gnark"
	goPlugin    = "github.com/hashicorp/go-plugin"
	cu          = "gorgonia.org/cu"
	backoff     = "github.com/cenkalti/backoff"
	otel        = "go.opentelemetry.io"
	nats        = "github.com/nats-io"
	natsServer  = "github.com/nats-io/nats-server"
	prometheus  = "github.com/prometheus/client_golang"
	plots       = "gonum.org/v1/plot"
	wazero      = "github.com/tetratelabs/wazero"
)

// notInMsm is what takes long to compile, and is in the programs behind msm.
var notInMsm = []string{gnark, nats, otel, plots, module + "/backend/cuda", module + "/prover"}

// beyondMSMs is what a woven program must not be linked with: it has to compile
// with every version of gnark-crypto that "msm weave" is for.
var beyondMSMs = []string{
	cu, gnark, nats, otel, prometheus, "filippo.io/bigmod",
	gnarkCrypto + "/ecc/bn254/fr/fft", gnarkCrypto + "/ecc/bls12-377/fr/fft", gnarkCrypto + "/ecc/bls12-381/fr/fft",
	gnarkCrypto + "/ecc/bw6-761/fr/fft",
	module + "/arith", module + "/internal/gf2", module + "/observe", module + "/prover", module + "/vector",
}

// rule constrains what a package may import directly, outside of its tests.
type rule struct {
	// inside lists the packages of this module it may import, below it
	// included; a trailing "/..." allows a subtree. nil allows all.
	inside []string
	// outside lists import path prefixes of other modules; nil allows all,
	// an empty list none.
	outside []string
	// never lists prefixes that may not appear among all its dependencies.
	never []string
}

// table is who may import whom; docs/architecture.md has what of it shapes the design.
// The longest matching path counts.
var table = map[string]rule{
	"backend":             {inside: []string{}, outside: []string{}},
	"internal/resident":   {inside: []string{"backend"}, outside: []string{}},
	"internal/extent":     {inside: []string{"backend"}, outside: []string{}},
	"backend/backendtest": {never: []string{cu, goPlugin}},
	"backend/cpu": {inside: []string{"backend", "internal/resident", "backend/cpu/internal/...",
		"internal/curves", "internal/layout", "internal/gf2"}, never: []string{cu, goPlugin}},
	"backend/cuda": {inside: []string{"backend", "internal/resident", "kernels/...",
		"backend/cuda/...", "internal/cuda/...", "internal/curves", "internal/layout",
		"internal/gf2"}, never: []string{goPlugin}},
	"backend/cuda/internal/device": {inside: []string{"backend", "internal/resident", "kernels/...",
		"internal/cuda/driver/...", "internal/cuda/memory", "backend/cuda/internal/nvml"}, never: []string{goPlugin, gnarkCrypto}},
	"backend/cuda/internal/nvml": {never: []string{goPlugin, gnarkCrypto}},
	"internal/cuda/msmplan": {inside: []string{"backend", "internal/cuda/driver", "internal/eisenstein", "internal/layout", "kernels/..."},
		outside: []string{}, never: []string{goPlugin}},
	"internal/cuda/driver": {inside: []string{"backend", "internal/cuda/driver/..."}, never: []string{goPlugin, gnarkCrypto}},
	"plugin": {inside: []string{"backend", "internal/resident", "internal/build", "internal/trust", "plugin/internal/..."}, never: []string{
		gnarkCrypto, cu, module + "/plugin/serve",
	}},
	"plugin/serve": {inside: []string{"backend", "internal/resident", "internal/trust", "plugin/internal/..."},
		never: []string{gnarkCrypto, cu, module + "/plugin/internal/process"}},
	"plugin/internal": {inside: []string{"backend", "internal/resident", "internal/build", "plugin/internal/..."},
		never: []string{gnarkCrypto, cu}},
	"plugin/internal/wire": {inside: []string{"backend", "internal/build", "plugin/internal/proto",
		"plugin/internal/shm", "plugin/internal/text"}, never: []string{gnarkCrypto, cu}},
	"plugin/internal/testplugin": {never: []string{gnarkCrypto, cu}},
	"engine": {inside: []string{"backend", "internal/resident"}, outside: []string{backoff},
		never: []string{cu, goPlugin, gnarkCrypto}},
	"observe/tracing": {inside: []string{"backend", "engine"}, outside: []string{otel, "google.golang.org/grpc"}, never: []string{
		cu, goPlugin, gnarkCrypto, prometheus,
	}},
	"observe/metrics": {inside: []string{"backend", "engine", "internal/build"},
		outside: []string{prometheus}, never: []string{cu, goPlugin, gnarkCrypto}},
	"msm": {inside: []string{"backend", "engine", "internal/curves", "internal/layout"},
		outside: []string{gnarkCrypto}, never: []string{cu, goPlugin}},
	"vector": {inside: []string{"backend", "engine", "msm", "internal/extent", "internal/curves", "internal/layout"},
		outside: []string{gnarkCrypto}, never: []string{cu, goPlugin}},
	"arith": {inside: []string{"arith/internal/mont8", "backend", "engine",
		"internal/extent", "internal/layout"}, outside: []string{"filippo.io/bigmod"}, never: []string{cu, goPlugin}},
	"arith/internal/mont8": {inside: []string{}, outside: []string{"golang.org/x/sys"}},
	"prover": {inside: []string{"engine", "msm", "vector", "backend", "internal/...", "prover/..."}, never: []string{
		cu, goPlugin,
	}},
	"circomwitness": {inside: []string{"backend"}, outside: []string{wazero}, never: []string{cu, goPlugin, gnark, gnarkCrypto}},
	"cluster": {inside: []string{"backend", "engine", "prover/...", "internal/...", "cluster/..."}, never: []string{
		cu, goPlugin,
	}},
	"fixtures":          {inside: []string{"backend", "internal/...", "fixtures/..."}, never: []string{cu, goPlugin}},
	"internal/gf2":      {inside: []string{}, outside: []string{"golang.org/x/sys"}},
	"internal/keyparts": {inside: []string{"backend"}, outside: []string{}},
	"internal/trust":    {inside: []string{"internal/files"}, outside: []string{"golang.org/x/sys"}},
	"cmd/msm/internal/keys": {inside: []string{"engine", "backend", "internal/keyparts",
		"internal/curves", "cmd/msm/internal/outfile", "prover/groth16", "prover/kzg", "prover/plonk"}, never: []string{cu, goPlugin}},
	"internal/layout":    {inside: []string{"backend"}, outside: []string{}},
	"internal/known/sum": {inside: []string{"backend", "engine", "internal/layout"}, outside: []string{gnarkCrypto}},
	"internal/known": {inside: []string{"backend", "backend/cpu", "engine", "internal/layout", "internal/known/sum"},
		outside: []string{gnarkCrypto}, never: []string{cu, goPlugin}},
	"internal/eisenstein": {inside: []string{}, outside: []string{}},
	"internal/curves": {inside: []string{"backend", "internal/eisenstein", "internal/layout"}, outside: []string{gnarkCrypto},
		never: beyondMSMs},
	"kernels":                 {inside: []string{"kernels/..."}, never: []string{cu, goPlugin}},
	"kernels/internal/oracle": {inside: []string{"backend", "internal/curves"}, outside: []string{}, never: []string{cu, goPlugin}},
	// msm itself, which users compile first; the programs behind it may all of this.
	"cmd/msm":                       {never: notInMsm},
	"cmd/msm/internal":              {},
	"cmd/msm/internal/cli":          {never: notInMsm},
	"cmd/msm/msm-prove":             {never: []string{nats}},
	"cmd/msm/msm-cluster":           {never: []string{plots}},
	"cmd/msm/internal/bench":        {never: append([]string{cu}, notInMsm...)},
	"cmd/msm/internal/bench/proofs": {never: []string{cu}},
	"cmd/msm/internal/report":       {never: notInMsm},
	"cmd/msm/internal/report/plots": {never: []string{cu, gnark, nats}},
	"internal/record":               {inside: []string{"backend", "internal/build", "internal/units"}, never: []string{cu, goPlugin, gnark}},
	"cmd/msm/internal/doctor": {inside: []string{"backend", "fixtures", "internal/build", "internal/files", "internal/units"},
		never: []string{cu, goPlugin}},
	"internal/proofsystem": {inside: []string{"engine", "backend", "internal/curves", "prover/groth16", "prover/plonk"},
		never: []string{cu, goPlugin}},
	"cmd/msm-weave":              {inside: []string{"cmd/internal/weave"}, outside: []string{}},
	"cmd/internal/weave":         {inside: []string{}, outside: []string{"golang.org/x/sys", "golang.org/x/mod"}},
	"cmd/msm/internal/inventory": {inside: []string{"engine", "internal/record", "plugin"}, outside: []string{}},
	"internal/inuse":             {inside: []string{"engine"}, outside: []string{}},
	"internal/opener":            {inside: []string{"backend", "engine", "plugin"}, outside: []string{}},
	"weave/auto":                 {inside: []string{"msm", "weave/internal/hook"}, outside: []string{gnarkCrypto}, never: beyondMSMs},
	"weave/internal/provers": {inside: []string{"backend", "backend/cpu", "engine", "internal/curves", "internal/inuse", "prover/groth16",
		"prover/plonk", "weave/internal/hook"}, outside: []string{gnark, gnarkCrypto}},
	"weave/internal/hook": {inside: []string{"engine", "msm", "backend", "backend/cpu/msm",
		"internal/known/sum", "internal/layout", "internal/opener", "plugin"}, outside: []string{gnarkCrypto}},

	"prover/internal/resident": {inside: []string{"engine", "msm", "vector", "backend", "backend/cpu",
		"internal/inuse", "internal/layout", "prover/internal/..."}, never: []string{cu, goPlugin}},
	"prover/internal/faulty": {inside: []string{"backend", "backend/cpu", "internal/layout", "prover/internal/assignment",
		"prover/internal/merge", "prover/internal/solve"}, never: []string{cu, goPlugin}},
}

// onlyImporters says which packages of this module may import a prefix.
var onlyImporters = map[string][]string{
	cu:         {"internal/cuda/driver"},
	prometheus: {"observe/metrics", "cmd/msm"},
	wazero:     {"circomwitness"},
	otel:       {"observe/tracing", "cmd/internal/telemetry", "examples/proverserver"},
	goPlugin:   {"plugin/internal/process", "plugin/internal/wire", "plugin/internal/testplugin", "plugin/serve"},
	nats:       {"cluster"},
	natsServer: {"cluster/server"},
	gnark: {"prover", "cluster", "examples", "cmd/msm", "internal/circuits", "internal/proofsystem", "scripts/versions",
		"weave/internal/provers", gnarkCrypto},
	"unsafe": {"internal/layout", "internal/cuda/driver", "backend/cuda/internal/nvml", "plugin/internal/shm", "plugin/internal/proto"},
	"backend/cpu": {".", "cmd", "weave/internal/hook", "weave/internal/provers", "backend/backendtest", "examples",
		"prover/internal/resident", "prover/internal/faulty", "internal/known"},
	"plugin": {".", "cmd", "plugin", "examples", "internal/opener", "weave/internal/hook"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Error      *struct{ Err string }
}

// list runs go list over the module for one system and set of tags.
func list(t *testing.T, goos, tags string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Deps,Error", "-tags", tags, "work")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	if tags == "cuda" {
		cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestImportTable(t *testing.T) {
	for _, c := range []struct{ goos, tags string }{{"linux", ""}, {"linux", "cuda"}, {"darwin", ""}, {"windows", ""}} {
		t.Run(c.goos+c.tags, func(t *testing.T) {
			pkgs := list(t, c.goos, c.tags)
			if len(pkgs) < 5 {
				t.Fatalf("only %d packages listed", len(pkgs))
			}
			for _, p := range pkgs {
				for _, problem := range violations(p) {
					t.Error(problem)
				}
			}
		})
	}
}

// TestTableRefuses shows that the check can fail, rule by rule.
func TestTableRefuses(t *testing.T) {
	for _, c := range []struct {
		path    string
		imports string
	}{
		{"backend", gnarkCrypto + "/ecc"},
		{"backend", module + "/msm"},
		{"msm", module + "/backend/cpu"},
		{"msm", module + "/plugin"},
		{"plugin", gnarkCrypto + "/ecc/bn254"},
		{"plugin/internal/shm", module + "/msm"},
		{"plugin", module + "/plugin/serve"},
		{"plugin", goPlugin},
		{"plugin/serve", module + "/plugin"},
		{"plugin/serve", module + "/plugin/internal/process"},
		{"plugin/internal/wire", module + "/plugin"},
		{"plugin/internal/wire", module + "/plugin/internal/process"},
		{"backend/cuda", cu},
		{"backend/cuda/internal/device", module + "/backend/cuda/internal/msm"},
		{"backend/cuda/internal/device", gnarkCrypto + "/ecc"},
		{"internal/cuda/msmplan", module + "/backend/cuda/internal/device"},
		{"cmd/msm", goPlugin},
		{"cmd/msm", gnark + "/backend/groth16"},
		{"cmd/msm/internal/cli", module + "/backend/cuda"},
		{"cmd/msm/internal/bench", module + "/prover/groth16"},
		{"cmd/msm/internal/report", plots + "/vg"},
		{"cmd/msm/msm-prove", nats + "/nats.go"},
		{"cmd/msm/msm-cluster", plots},
		{"prover/groth16", module + "/backend/cpu"},
		{"msm", "unsafe"},
		{"cluster", module + "/backend/cpu"},
		{"cluster/worker", natsServer + "/v2/server"},
		{"cmd/msm", nats + "/nats.go"},
		{"engine", gnarkCrypto + "/ecc"},
		{"engine", module + "/msm"},
		{"msm", module + "/vector"},
		{"vector", module + "/backend/cpu"},
		{"msm", gnark + "/frontend"},
		{"observe/tracing", prometheus + "/prometheus"},
		{"observe/metrics", module + "/plugin"},
		{"engine", otel + "/otel"},
		{"cmd/msm-weave", module + "/weave/auto"},
		{"cmd/internal/weave", module + "/msm"},
		{"cmd/internal/weave", gnarkCrypto + "/ecc"},
		{"weave/auto", module + "/plugin"},
		{"weave/internal/hook", module + "/backend/cpu"},
	} {
		p := pkg{ImportPath: module + "/" + c.path, Imports: []string{c.imports}, Deps: []string{c.imports}}
		if len(violations(p)) == 0 {
			t.Errorf("%s may import %s", c.path, c.imports)
		}
	}
	if len(violations(pkg{ImportPath: module + "/weave/auto", Deps: []string{module + "/vector"}})) == 0 {
		t.Error("weave/auto may be linked with package vector")
	}
	if v := violations(pkg{ImportPath: module + "/msm",
		Imports: []string{"context", module + "/backend", gnarkCrypto + "/ecc"}}); len(v) != 0 {
		t.Errorf("msm's own imports are refused: %v", v)
	}
}

// violations lists what is wrong with a package's imports.
func violations(p pkg) (problems []string) {
	path, ok := local(p.ImportPath)
	if !ok {
		return nil
	}
	r, has := rule{}, false
	for at := path; ; at = filepath.Dir(at) {
		if r, has = table[at]; has || at == "." {
			break
		}
	}
	for _, imp := range p.Imports {
		if to, ok := local(imp); ok {
			if has && r.inside != nil && !within(to, path) && !allowed(to, r.inside) {
				problems = append(problems, path+" imports "+to)
			}
		} else if has && r.outside != nil && strings.Contains(imp, ".") && !hasPrefix(imp, r.outside) {
			problems = append(problems, path+" imports "+imp)
		}
		for what, who := range onlyImporters {
			to := imp
			if l, ok := local(imp); ok {
				to = l
			}
			if !within(to, what) || what == gnark && hasPrefix(to, []string{gnarkCrypto}) {
				continue
			}
			if what == "backend/cpu" && within(path, "backend/cpu") {
				continue
			}
			fine := false
			for _, w := range who {
				fine = fine || within(path, w) && (w != "." || path == ".")
			}
			if !fine {
				problems = append(problems, path+" imports "+to+", which only "+strings.Join(who, ", ")+" may")
			}
		}
	}
	for _, dep := range p.Deps {
		if hasPrefix(dep, r.never) {
			problems = append(problems, path+" depends on "+dep)
		}
	}
	return problems
}

// local is an import path relative to the module, "." for its root.
func local(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// within reports whether path is tree or below it.
func within(path, tree string) bool {
	return path == tree || tree == "." || strings.HasPrefix(path, tree+"/")
}

func hasPrefix(path string, prefixes []string) bool {
	for _, p := range prefixes {
		if within(path, p) {
			return true
		}
	}
	return false
}

func allowed(path string, list []string) bool {
	for _, a := range list {
		tree, all := strings.CutSuffix(a, "/...")
		if path == tree || all && within(path, tree) {
			return true
		}
	}
	return false
}
