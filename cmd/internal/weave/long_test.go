//go:build woven

// What takes minutes, since everything is compiled once more; scripts/long weave
// runs it.

package weave_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const gnarkCryptoModule = "github.com/consensys/gnark-crypto"

// versions of gnark-crypto, of each minor version one, and two that programs in use
// have.
var versions = []string{
	"v0.12.1", "v0.13.0", "v0.14.0", "v0.15.0", "v0.16.0", "v0.17.0", "v0.18.0", "v0.18.1", "v0.19.2", "v0.20.1", "v0.21.0", "v0.22.0",
}

// TestVersionsOfGnarkCrypto weaves a program with each of them, or with -short the
// oldest, go-ethereum's and the newest. Its modules stay in the versions that they
// have, which is not those of pippin's. With PIPPIN_WEAVE_RECORD it adds what it saw
// to that file, a line of JSON for each.
func TestVersionsOfGnarkCrypto(t *testing.T) {
	w := shop(t)
	list := versions
	if testing.Short() {
		list = []string{versions[0], "v0.18.1", versions[len(versions)-1]}
	}
	for _, version := range list {
		t.Run(version, func(t *testing.T) {
			module, cases := w.module(t), someCases
			if version < "v0.13" {
				w.without(t, module, "kzg.go", "lagrange.go") // gnark-crypto has these packages from v0.13 on
				cases = "msm mutate parts products"
			}
			w.needs(t, module, version)
			start := time.Now()
			program := w.build(t, module, w.toolexec())
			built := time.Since(start)
			modules, err := exec.Command("go", "version", "-m", program).CombinedOutput()
			if err != nil || !strings.Contains(string(modules), "gnark-crypto\t"+version+"\t") {
				t.Errorf("the program's modules: %v\n%s", err, modules)
			}
			if !testing.Short() {
				t.Run("cpu", func(t *testing.T) { w.answers(t, program, "cpu", cases) })
			}
			msms := w.answers(t, program, "plugin:cpu", cases)
			t.Logf("built in %.1f s, %d MSMs through the plugin", built.Seconds(), msms)
			w.record(t, gnarkCryptoModule, version, cases, msms)
		})
	}
}

// record adds a line to the file that PIPPIN_WEAVE_RECORD names: a program was woven
// and everything held.
func (w *workshop) record(t *testing.T, module, version, what string, msms int) {
	t.Helper()
	path := os.Getenv("PIPPIN_WEAVE_RECORD")
	if path == "" || t.Failed() {
		return
	}
	line, err := json.Marshal(map[string]any{"module": module, "version": version, "what": what, "msms": msms})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(append(line, '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// needs has a module need a version of gnark-crypto.
func (w *workshop) needs(t *testing.T, module, version string) {
	t.Helper()
	w.needsModule(t, module, gnarkCryptoModule, version)
}

// needsModule has a module need a version of another.
func (w *workshop) needsModule(t *testing.T, module, path, version string) {
	t.Helper()
	w.write(t, filepath.Join(module, "go.mod"), "module example.com/prover\n\ngo 1.24.0\n\nrequire "+path+" "+version+"\n")
	w.write(t, filepath.Join(module, "go.sum"), "")
	if err := w.goCommand(module, "mod", "tidy"); err != nil {
		t.Fatal(err)
	}
}

// TestRaisedAndLowered builds a program whose gnark-crypto is raised, and lowered
// again.
func TestRaisedAndLowered(t *testing.T) {
	w := shop(t)
	module := w.module(t)
	for _, version := range []string{"v0.18.1", "v0.22.0", "v0.18.1"} {
		w.needs(t, module, version)
		w.answers(t, w.build(t, module, w.toolexec()), "cpu", "msm")
	}
}

// TestTooOld has a gnark-crypto from before those that were tried be refused at once,
// in one line, with which the program can be woven.
func TestTooOld(t *testing.T) {
	w := shop(t)
	for _, version := range []string{"v0.9.1", "v0.12.0"} {
		module := t.TempDir()
		w.write(t, filepath.Join(module, "main.go"), `package main

import "github.com/consensys/gnark-crypto/ecc/bn254"

func main() { _ = bn254.G1Affine{} }
`)
		w.needs(t, module, version)
		err := w.goCommand(module, "build", "-x", w.toolexec(), "-o", os.DevNull, ".")
		if err == nil || !strings.Contains(err.Error(), "has gnark-crypto "+version+
			", and programs are woven with v0.12.1 to v0.22: ") || strings.Contains(err.Error(), "/compile -o ") {
			t.Errorf("%v", err)
			continue
		}
		_, remedy, _ := strings.Cut(err.Error(), "to v0.22: go ")
		remedy, _, _ = strings.Cut(remedy, "\n")
		for _, args := range [][]string{strings.Fields(remedy), {"mod", "tidy"}} {
			if err := w.goCommand(module, args...); err != nil {
				t.Errorf("%s: go %s: %v", version, strings.Join(args, " "), err)
			}
		}
		w.build(t, module, w.toolexec())
	}
}

// snarkModule makes the module of the whole program, gnark's proofs included, in
// this module's versions.
func (w *workshop) snarkModule(t *testing.T) (dir string) {
	t.Helper()
	dir = w.module(t)
	w.addSNARKs(t, dir)
	b, err := os.ReadFile(filepath.Join(w.root, "cmd", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, filepath.Join(dir, "go.mod"), string(b))
	edit := []string{"mod", "edit", "-module=example.com/prover"}
	for _, own := range []string{"", "/circomwitness", "/cluster", "/observe"} {
		edit = append(edit, "-droprequire=github.com/pippin-zk/pippin"+own, "-dropreplace=github.com/pippin-zk/pippin"+own)
	}
	if err := w.goCommand(dir, edit...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSNARKs has all cases of a program that computes MSMs and proves, on the engine.
func TestSNARKs(t *testing.T) {
	w := shop(t)
	program := w.build(t, w.snarkModule(t), w.toolexec())
	for _, backend := range []string{"cpu", "plugin:cpu"} {
		t.Run(backend, func(t *testing.T) {
			w.answers(t, program, backend, "msm errors mutate parts gc concurrent kzg products lagrange")
			w.proves(t, program, backend)
		})
	}
}

// gnarks are versions of gnark, of each minor version one that pippin's provers are for.
var gnarks = []string{"v0.11.0", "v0.12.0", "v0.13.0", "v0.14.0", "v0.15.0", "v0.16.3"}

// gnarkProgram makes the module of a program that proves by a version of gnark and does nothing else.
func (w *workshop) gnarkProgram(t *testing.T, version string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	w.addSNARKs(t, dir, "main.go")
	w.needsModule(t, dir, gnarkModule, version)
	return dir
}

const gnarkModule = "github.com/consensys/gnark"

// TestProvers weaves a program that proves with each of them, or with -short the oldest and the newest: its proofs, keys
// and keys' files are by pippin, and the same as gnark's.
func TestProvers(t *testing.T) {
	w := shop(t)
	list := gnarks
	if testing.Short() {
		list = []string{gnarks[0], gnarks[len(gnarks)-1]}
	}
	for _, version := range list {
		t.Run(version, func(t *testing.T) {
			program := w.build(t, w.gnarkProgram(t, version), w.toolexec())
			modules, err := exec.Command("go", "version", "-m", program).CombinedOutput()
			if err != nil || !strings.Contains(string(modules), gnarkModule+"\t"+version+"\t") {
				t.Errorf("the program's modules: %v\n%s", err, modules)
			}
			if !w.hasProvers(t, program) {
				t.Error("the program is linked without provers")
			}
			calls := 0
			for _, backend := range []string{"cpu", "plugin:cpu"} {
				t.Run(backend, func(t *testing.T) { calls = w.proves(t, program, backend) })
			}
			t.Run("stock", func(t *testing.T) { w.provesAsStock(t, program) })
			w.record(t, gnarkModule, version, proverCases, calls)
		})
	}
}

// proverCases prove.
const proverCases = "groth16 plonk keys options beside wrong"

// proves runs the cases of a program that prove, and has pippin answer all of them. It returns how many calls there were.
func (w *workshop) proves(t *testing.T, program, backend string) (answered int) {
	t.Helper()
	if strings.HasPrefix(backend, "plugin:") && runtime.GOOS != "linux" {
		t.Skip("plugins run on Linux only")
	}
	trace, stderr, err := w.run(t, program, proverCases, "PIPPIN_BACKEND="+backend, "PIPPIN_WEAVE_THRESHOLD=0", "PIPPIN_WEAVE_STRICT=1")
	if err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
	calls, resident := map[string]int{}, map[string]int{}
	for _, a := range trace {
		if a.Backend != backend {
			t.Fatalf("answered by %+v", a)
		}
		if !strings.Contains(a.Call, ".") {
			continue // an MSM of gnark's verifier, a key in Lagrange form
		}
		answered++
		calls[a.Call]++
		if a.Bases == "resident" {
			resident[a.Call]++
		}
		if a.Constraints == 0 {
			t.Errorf("%+v", a)
		}
	}
	for _, system := range []string{"groth16", "plonk"} {
		for call, want := range map[string]int{
			".Setup":    4 + 4 + 1 + 4 + 1, // of each case, a curve each
			".Prove":    4*3 + 4*2 + 1 + 4*2,
			".ReadFrom": 4 * 2,
		} {
			if got := calls[system+call]; got != want {
				t.Errorf("%d calls of %s%s, want %d", got, system, call, want)
			}
		}
		if got := resident[system+".Prove"]; got < 4*2 {
			t.Errorf("%s: %d proofs with resident keys", system, got)
		}
	}
	t.Log(calls, resident)
	return answered
}

// provesAsStock has keys and proofs be the same as gnark's when pippin makes them, and be gnark's where no backend is
// named or none can be opened.
func (w *workshop) provesAsStock(t *testing.T, program string) {
	digest := func(calls int, env ...string) string {
		t.Helper()
		trace, stderr, err := w.run(t, program, "digest", append(env, "PIPPIN_WEAVE_THRESHOLD=0")...)
		if err != nil {
			t.Fatal(err, stderr)
		}
		got := 0
		for _, a := range trace {
			if strings.Contains(a.Call, ".") {
				got++
			}
		}
		if got != calls {
			t.Errorf("%v: %d calls answered, want %d", env, got, calls)
		}
		_, d, ok := strings.Cut(stderr, "digest ")
		if !ok {
			t.Fatalf("%v: %s", env, stderr)
		}
		return d
	}
	stock := digest(0, "PIPPIN_BACKEND=none")
	for env, calls := range map[string]int{
		"": 0, "plugin:nobody-has-this": 0, "cpu": 2 * (4 + 1) * 2, "plugin:cpu": 2 * (4 + 1) * 2,
	} {
		if strings.HasPrefix(env, "plugin:cpu") && runtime.GOOS != "linux" {
			continue
		}
		if got := digest(calls, "PIPPIN_BACKEND="+env); got != stock {
			t.Errorf("%q: another digest than gnark's", env)
		}
	}
}

// TestMSMsAlone weaves a program whose gnark is older than the provers are for: one line says so, and its MSMs are
// answered.
func TestMSMsAlone(t *testing.T) {
	w := shop(t)
	const version = "v0.10.0"
	program, said := w.buildSaying(t, w.gnarkProgram(t, version), w.toolexec())
	var lines []string
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "#") { // the package, by the go command
			lines = append(lines, line)
		}
	}
	const begins = "msm weave: MSMs are woven, the provers stay gnark's: "
	if len(lines) != 1 || !strings.HasPrefix(lines[0], begins) || !strings.Contains(said, version) {
		t.Errorf("%q", said)
	}
	if w.hasProvers(t, program) {
		t.Error("it is linked with provers")
	}
	trace, stderr, err := w.run(t, program, "groth16 plonk", "PIPPIN_BACKEND=cpu", "PIPPIN_WEAVE_THRESHOLD=0", "PIPPIN_WEAVE_STRICT=1")
	if err != nil || stderr != "" || len(trace) == 0 {
		t.Fatal(err, stderr, len(trace))
	}
	for _, a := range trace {
		if a.Call != "" {
			t.Errorf("%+v", a)
		}
	}
}

// TestDefaultProfile builds a program with a profile that the go command finds by itself.
func TestDefaultProfile(t *testing.T) {
	w := shop(t)
	module := w.module(t)
	w.write(t, filepath.Join(module, "default.pgo"), "")
	w.answers(t, w.build(t, module, w.toolexec()), "cpu", "msm")
}

// TestFlags builds with flags that change every package's identity.
func TestFlags(t *testing.T) {
	w := shop(t)
	for _, flag := range []string{"-trimpath", "-tags=purego"} {
		w.answers(t, w.build(t, w.module(t), w.toolexec(), flag), "cpu", "msm")
	}
}

// TestWorkspace has a workspace provide pippin.
func TestWorkspace(t *testing.T) {
	w := shop(t)
	module := w.module(t)
	w.write(t, filepath.Join(module, "go.work"), "go 1.26.0\n\nuse (\n\t.\n\t"+w.root+"\n)\n")
	w.answers(t, w.build(t, module, w.toolexec()), "cpu", "msm")
}

// TestBuildCache builds stock, woven, stock and woven programs with the same
// build cache: each is what it should be.
func TestBuildCache(t *testing.T) {
	w := shop(t)
	module := w.module(t)
	for i, flags := range [][]string{nil, {w.toolexec()}, nil, {w.toolexec()}} {
		program := w.build(t, module, flags...)
		// A woven program fails without its backend, another knows of none.
		_, _, err := w.run(t, program, "msm", "PIPPIN_WEAVE_STRICT=1", "PIPPIN_WEAVE_THRESHOLD=10", "PIPPIN_BACKEND=plugin:nobody-has-this")
		if isWoven := err != nil; isWoven != (len(flags) > 0) {
			t.Errorf("build %d with %v: %v", i, flags, err)
		}
	}
}

// TestPippinChanges builds a program, then changes what pippin imports and
// builds it again: neither the program nor anything that the go command knows it
// to depend on has changed.
func TestPippinChanges(t *testing.T) {
	w := shop(t)
	pippin, module := t.TempDir(), w.module(t)
	if err := copySources(pippin, w.root); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIPPIN_WEAVE_SOURCES", pippin)
	w.answers(t, w.build(t, module, w.toolexec()), "cpu", "msm")
	w.write(t, filepath.Join(pippin, "msm", "ring.go"),
		"package msm\n\nimport \"container/ring\"\n\nfunc Ring() *ring.Ring { return ring.New(1) }\n\nfunc init() { Ring() }\n")
	w.answers(t, w.build(t, module, w.toolexec()), "cpu", "msm")

	// Nothing of the program's own is compiled again for that.
	w.write(t, filepath.Join(pippin, "msm", "ring.go"),
		"package msm\n\nimport \"container/list\"\n\nfunc List() *list.List { return list.New() }\n\nfunc init() { List() }\n")
	cmd := exec.Command("go", "build", "-v", w.toolexec(), "-o", os.DevNull, ".")
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0", "PWD="+module)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("compiled again: %v\n%s", err, out)
	}

	// Another weaver than msm's is refused.
	w.write(t, filepath.Join(pippin, "internal", "weave", "text.go"), "package weave\n")
	if err := w.goCommand(module, "build", w.toolexec(), "-o", os.DevNull, "."); err == nil ||
		!strings.Contains(err.Error(), "was not built from the pippin in") {
		t.Errorf("%v", err)
	}
}

// copySources copies what programs are linked with.
func copySources(to, from string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch name := d.Name(); {
		case d.IsDir() && rel != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "kernels"):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case strings.HasSuffix(name, "_test.go") || !strings.HasSuffix(name, ".go") && name != "go.mod" && name != "go.sum":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
}

// TestWithoutCurves builds programs that there is nothing to be woven into, in
// modules with gnark-crypto and without.
func TestWithoutCurves(t *testing.T) {
	w := shop(t)
	empty := t.TempDir()
	w.write(t, filepath.Join(empty, "go.mod"), "module example.com/hello\n\ngo 1.26.0\n")
	for _, module := range []string{w.module(t), empty} {
		w.write(t, filepath.Join(module, "hello", "main.go"), "package main\n\nfunc main() { println(\"hello\") }\n")
		w.write(t, filepath.Join(module, "hello", "default.pgo"), "")
		if err := w.goCommand(module, "run", "-pgo=auto", w.toolexec(), "./hello"); err != nil {
			t.Error(err)
		}
	}
}

// TestOwnTests has tests of what pippin is made of be refused, for they would
// need that compiled in two ways.
func TestOwnTests(t *testing.T) {
	w := shop(t)
	err := w.goCommand(w.root, "test", w.toolexec(), "-run", "^$", "./msm")
	if err == nil || !strings.Contains(err.Error(), "cannot weave") || !strings.Contains(err.Error(), "pippin/msm.") {
		t.Errorf("%v", err)
	}
}

// addSNARKs adds to a module what proves by gnark.
func (w *workshop) addSNARKs(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range append(names, snarkFiles...) {
		b, err := os.ReadFile(filepath.Join("testdata", "prover", name))
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, filepath.Join(dir, name), string(b))
	}
}
