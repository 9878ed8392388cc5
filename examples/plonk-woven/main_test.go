package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// goBuild builds a package of this module.
func goBuild(t *testing.T, pkg, at string, flags ...string) {
	t.Helper()
	cmd := exec.Command("go", append(append([]string{"build"}, flags...), "-o", at, pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
}

// TestWoven proves with gnark alone and with the same program woven, which proves on
// a backend.
func TestWoven(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bin")
	for _, name := range []string{"msm", "msm-backend-cpu"} {
		goBuild(t, "../../cmd/"+name, filepath.Join(dir, name))
	}
	// Plugins that others can write are refused, whatever the umask is.
	if err := errors.Join(os.Chmod(dir, 0o700), os.Chmod(filepath.Join(dir, "msm-backend-cpu"), 0o700)); err != nil {
		t.Fatal(err)
	}
	stock, woven := filepath.Join(dir, "stock"), filepath.Join(dir, "woven")
	goBuild(t, ".", stock)
	goBuild(t, ".", woven, "-toolexec='"+filepath.Join(dir, "msm")+"' weave")

	backend := "plugin:cpu"
	if runtime.GOOS != "linux" {
		backend = "cpu" // plugins run on Linux only
	}
	for program, answers := range map[string]bool{stock: false, woven: true} {
		trace := filepath.Join(t.TempDir(), "trace")
		cmd := exec.Command(program, "-length", "10", "-proofs", "2")
		cmd.Env = append(os.Environ(), "PIPPIN_BACKEND="+backend, "PIPPIN_PLUGIN_DIR="+dir,
			"PIPPIN_WEAVE_THRESHOLD=1000", "PIPPIN_WEAVE_STRICT=1", "PIPPIN_WEAVE_TRACE="+trace)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Count(string(out), "verified") != 2 {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		b, err := os.ReadFile(trace)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		lines := bytes.Count(b, []byte("\n"))
		on := bytes.Count(b, []byte(`"backend":"`+backend+`"`))
		proofs := bytes.Count(b, []byte(`"call":"plonk.Prove"`))
		if answers && (proofs != 2 || on != lines) || !answers && lines != 0 {
			t.Errorf("%s: %d proofs, %d of %d calls on %s", filepath.Base(program), proofs, on, lines, backend)
		}
	}
}

// TestUnmodified keeps pippin out of the program.
func TestUnmodified(t *testing.T) {
	src, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(src, []byte(`"github.com/pippin-zk`)) {
		t.Error("main.go imports pippin")
	}
}
