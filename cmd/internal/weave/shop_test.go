package weave_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// workshop is what the tests of whole programs share: made once. The programs'
// modules know nothing of pippin.
type workshop struct {
	root string // pippin's module
	dir  string // for what is built
}

var workshopDir string // to be removed in the end

var theWorkshop = sync.OnceValues(func() (*workshop, error) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pippin-weave-")
	if err != nil {
		return nil, err
	}
	workshopDir = dir
	w := &workshop{root, dir}
	for _, cmd := range []string{"msm-weave", "msm-backend-cpu"} {
		if err := w.goCommand(root, "build", "-o", filepath.Join(dir, "bin")+"/", "./cmd/"+cmd); err != nil {
			return w, err
		}
		// Plugins that others can write are refused, whatever the umask is.
		if err := errors.Join(os.Chmod(filepath.Join(dir, "bin", cmd), 0o700), os.Chmod(filepath.Join(dir, "bin"), 0o700)); err != nil {
			return w, err
		}
	}
	return w, nil
})

func shop(t *testing.T) *workshop {
	t.Helper()
	w, err := theWorkshop()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestMain(m *testing.M) {
	code := m.Run()
	if workshopDir != "" {
		os.RemoveAll(workshopDir)
	}
	os.Exit(code)
}

// module makes the program's module without what proves by gnark, so that it
// needs gnark-crypto only, in the version of this module.
func (w *workshop) module(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "prover"))); err != nil {
		t.Fatal(err)
	}
	w.without(t, dir, snarkFiles...)
	text := "module example.com/prover\n\ngo 1.26.0\n\nrequire (\n"
	for _, needs := range []string{"github.com/consensys/gnark-crypto", "github.com/bits-and-blooms/bitset", "golang.org/x/sys"} {
		version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", needs).Output()
		if err != nil {
			t.Fatal(err)
		}
		text += "\t" + needs + " " + string(version)
	}
	w.write(t, filepath.Join(dir, "go.mod"), text+")\n")
	sum, err := os.ReadFile(filepath.Join(w.root, "cmd", "go.sum")) // of the versions that the workspace has
	if err != nil {
		t.Fatal(err)
	}
	w.write(t, filepath.Join(dir, "go.sum"), string(sum))
	return dir
}

// snarkFiles are those of the program that need gnark.
var snarkFiles = []string{"snark.go", "proofs.go", "gadgets.go"}

// without takes files out of a module, and what they have cases of.
func (w *workshop) without(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// hasProvers reports whether a program is linked with pippin's provers.
func (w *workshop) hasProvers(t *testing.T, program string) bool {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(text, []byte("pippin/prover/groth16.Prove"))
}

func (w *workshop) write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// goCommand runs the go command without cgo.
func (w *workshop) goCommand(dir string, args ...string) error {
	_, err := w.goSaying(dir, args...)
	return err
}

// goSaying does what goCommand does and returns what is printed.
func (w *workshop) goSaying(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "PWD="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (w *workshop) toolexec() string {
	return "-toolexec='" + filepath.Join(w.dir, "bin", "msm-weave") + "'"
}

// build builds a module's program, and sees to it that the module stays as it is and nothing is printed.
func (w *workshop) build(t *testing.T, module string, flags ...string) (program string) {
	t.Helper()
	program, said := w.buildSaying(t, module, flags...)
	if said != "" {
		t.Errorf("go build says %q", said)
	}
	return program
}

// buildSaying does what build does and returns what is printed.
func (w *workshop) buildSaying(t *testing.T, module string, flags ...string) (program, said string) {
	t.Helper()
	files := func() (all string) {
		for _, name := range []string{"go.mod", "go.sum"} {
			b, err := os.ReadFile(filepath.Join(module, name))
			if err != nil {
				t.Fatal(err)
			}
			all += string(b)
		}
		return all
	}
	before := files()
	program = filepath.Join(t.TempDir(), "program")
	said, err := w.goSaying(module, append(append([]string{"build"}, flags...), "-o", program, ".")...)
	if err != nil {
		t.Fatal(err)
	}
	if files() != before {
		t.Error("go.mod or go.sum has changed")
	}
	return program, said
}

// answer is a line of the trace.
type answer struct {
	Call, Curve, Group, Backend, Bases string
	Points, Constraints                int
}

// run runs a program on a backend, and answers its trace and the error output.
func (w *workshop) run(t *testing.T, program, cases string, env ...string) (trace []answer, stderr string, err error) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command(program, strings.Fields(cases)...)
	cmd.Env = append(os.Environ(), "PIPPIN_WEAVE_TRACE="+at, "PIPPIN_PLUGIN_DIR="+filepath.Join(w.dir, "bin"))
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err = cmd.Run(); err == nil && strings.Count(out.String(), " ok\n") != len(strings.Fields(cases)) {
		t.Errorf("%s: %s", cases, out.String())
	}
	b, readErr := os.ReadFile(at)
	if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
		t.Fatal(readErr)
	}
	for line := range strings.Lines(string(b)) {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		trace = append(trace, a)
	}
	return trace, errs.String(), err
}
