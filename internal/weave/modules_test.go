package weave

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestDamagedModules removes files of the module that lies in the build cache for a
// program, as something that cleans up old files does: the next builds make them
// again, several at a time.
func TestDamagedModules(t *testing.T) {
	program := t.TempDir()
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", gnarkCryptoModule).Output()
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join("..", "..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":  "module example.com/program\n\ngo 1.26.0\n\nrequire " + gnarkCryptoModule + " " + string(version),
		"go.sum":  string(sum),
		"main.go": "package main\n\nimport _ \"" + gnarkCrypto + "/bn254\"\n\nfunc main() {}\n",
	} {
		if err := write(filepath.Join(program, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
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
