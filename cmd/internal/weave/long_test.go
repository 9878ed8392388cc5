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
				w.withoutKZG(t, module)
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

// withoutKZG takes out of a module what imports the packages kzg beside the curves, which
// gnark-crypto has from v0.13 on.
func (w *workshop) withoutKZG(t *testing.T, module string) {
	t.Helper()
	for _, name := range []string{"kzg.go", "lagrange.go"} {
		if err := os.Remove(filepath.Join(module, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.write(t, filepath.Join(module, "none.go"), `package main

import "errors"

func kzgCase() error      { return errors.New("no package kzg") }
func lagrangeCase() error { return kzgCase() }
`)
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
	w.write(t, filepath.Join(module, "go.mod"),
		"module example.com/prover\n\ngo 1.24.0\n\nrequire github.com/consensys/gnark-crypto "+version+"\n")
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
	for to, from := range map[string]string{"snark.go": "cmd/internal/weave/testdata/prover/snark.go", "go.mod": "cmd/go.mod"} {
		b, err := os.ReadFile(filepath.Join(w.root, from))
		if err != nil {
			t.Fatal(err)
		}
		w.write(t, filepath.Join(dir, to), string(b))
	}
	edit := []string{"mod", "edit", "-module=example.com/prover"}
	for _, own := range []string{"", "/circomwitness", "/cluster", "/observe"} {
		edit = append(edit, "-droprequire=github.com/pippin-zk/pippin"+own, "-dropreplace=github.com/pippin-zk/pippin"+own)
	}
	if err := w.goCommand(dir, edit...); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSNARKs has gnark's setups and provers on the engine.
func TestSNARKs(t *testing.T) {
	w := shop(t)
	program := w.build(t, w.snarkModule(t), w.toolexec())
	for _, backend := range []string{"cpu", "plugin:cpu"} {
		t.Run(backend, func(t *testing.T) {
			w.answers(t, program, backend, "msm errors mutate parts gc concurrent kzg products lagrange groth16 plonk")
		})
	}
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
