package weave

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// gnarkCryptoProgram makes the module of a program that has gnark-crypto, in the version of
// this module, and nothing else.
func gnarkCryptoProgram(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", gnarkCryptoModule).Output()
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join("..", "..", "..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":  "module example.com/program\n\ngo 1.26.0\n\nrequire " + gnarkCryptoModule + " " + string(version),
		"go.sum":  string(sum),
		"main.go": "package main\n\nimport _ \"" + gnarkCrypto + "/bn254\"\n\nfunc main() {}\n",
	} {
		if err := write(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPackagedSources has an installed msm, without the sources that it was built from,
// take those that its package has, and refuse those of another msm.
func TestPackagedSources(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("packages are made on Linux")
	}
	lib := t.TempDir()
	packaged := filepath.Join(lib, packagedSources)
	if out, err := exec.Command(filepath.Join("..", "..", "..", "scripts", "weave-sources"), packaged).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	msm := filepath.Join(t.TempDir(), "msm") // as /usr/bin/msm
	if err := errors.Join(write(filepath.Join(lib, "msm"), nil), os.Symlink(filepath.Join(lib, "msm"), msm)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", t.TempDir())
	w := &tool{Options: options(os.Stdout, msm, "weave")}
	program := outer{dir: gnarkCryptoProgram(t)}
	file, ok, err := w.modulesWithPippin(program)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Setenv("GOOS", goos)
		w.Env = os.Environ()
		list, err := w.sources(outer{dir: program.dir, flags: []string{"-mod=readonly", "-modfile=" + file}})
		if err != nil {
			t.Fatalf("%s: %v", goos, err)
		}
		ours := 0
		for _, s := range list {
			if s.Module.Path != Module {
				continue
			}
			ours++
			if !strings.HasPrefix(s.Dir, packaged+"/") || s.ImportPath != Module+strings.TrimPrefix(s.Dir, packaged) || len(s.GoFiles) == 0 {
				t.Errorf("%s: %s is in %s", goos, s.ImportPath, s.Dir)
			}
		}
		if ours < 2 {
			t.Errorf("%s: %d packages of this module", goos, ours)
		}
	}
	for _, s := range proversSources(t) {
		for _, name := range append(s.GoFiles, s.SFiles...) {
			if at := filepath.Join(packaged, strings.TrimPrefix(s.ImportPath, Module), name); !isFile(at) {
				t.Errorf("there is no %s", at)
			}
		}
		if len(s.EmbedFiles)+len(s.CFiles)+len(s.HFiles)+len(s.SysoFiles) > 0 {
			t.Errorf("%s has files that are not copied", s.ImportPath)
		}
	}
	if err := write(filepath.Join(packaged, "cmd", "internal", "weave", "text.go"), []byte("package weave\n")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.modulesWithPippin(program); err == nil || !strings.Contains(err.Error(), "was not built from the pippin in "+packaged) {
		t.Error(err)
	}
}

// proversSources lists this module's packages that weave/auto needs with the provers.
func proversSources(t *testing.T) (ours []source) {
	t.Helper()
	list, err := (&tool{Options: options(os.Stdout, "msm", "weave")}).sources(outer{flags: []string{"-tags=" + proversTag}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if strings.HasPrefix(s.ImportPath, Module+"/") {
			ours = append(ours, s)
		}
	}
	if len(ours) < 20 {
		t.Fatalf("%d packages with the provers", len(ours))
	}
	return ours
}

// TestDamagedModules removes files of the module that lies in the build cache for a
// program, as something that cleans up old files does: the next builds make them
// again, several at a time.
func TestDamagedModules(t *testing.T) {
	program := gnarkCryptoProgram(t)
	t.Setenv("GOCACHE", t.TempDir())
	find := func() string {
		w := &tool{Options: options(os.Stdout, "msm", "weave")}
		path, ok, err := w.modulesWithPippin(outer{dir: program})
		if err != nil || !ok {
			t.Errorf("%v, %v", ok, err)
		}
		return path
	}
	dir := filepath.Dir(find())
	if t.Failed() {
		return
	}
	read := func() (all string) {
		for _, name := range []string{"go.mod", "go.sum"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || len(b) == 0 {
				t.Errorf("%s: %d bytes, %v", name, len(b), err)
			}
			all += string(b)
		}
		return all
	}
	was := read()
	for what, damage := range map[string]func() error{
		"no go.mod":    func() error { return os.Remove(filepath.Join(dir, "go.mod")) },
		"no go.sum":    func() error { return os.Remove(filepath.Join(dir, "go.sum")) },
		"empty go.sum": func() error { return os.Truncate(filepath.Join(dir, "go.sum"), 0) },
		"neither":      func() error { return os.RemoveAll(dir) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		var builds sync.WaitGroup
		for range 2 {
			builds.Go(func() { find() })
		}
		builds.Wait()
		if read() != was {
			t.Errorf("%s: other files than before", what)
		}
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 || strings.HasPrefix(left[0].Name(), "new-") {
		t.Errorf("left in the build cache: %v, %v", left, err)
	}
}
