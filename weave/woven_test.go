package weave_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// workshop is what the tests of whole programs share: made once.
type workshop struct {
	dir    string // for what is built
	module string // the program's module
}

var workshopDir string // to be removed in the end

var theWorkshop = sync.OnceValues(func() (*workshop, error) {
	dir, err := os.MkdirTemp("", "pippin-weave-")
	if err != nil {
		return nil, err
	}
	workshopDir = dir
	w := &workshop{dir, filepath.Join(dir, "module")}
	root, err := filepath.Abs("..")
	if err != nil {
		return w, err
	}
	for _, cmd := range []string{"msm", "msm-backend-cpu"} {
		if err := w.goCommand(root, "build", "-o", filepath.Join(dir, "bin")+"/", "./cmd/"+cmd); err != nil {
			return w, err
		}
		// Plugins that others can write are refused, whatever the umask is.
		if err := errors.Join(os.Chmod(filepath.Join(dir, "bin", cmd), 0o700), os.Chmod(filepath.Join(dir, "bin"), 0o700)); err != nil {
			return w, err
		}
	}
	return w, w.makeModule(root)
})

// makeModule copies the program, which imports nothing of pippin. Its go.mod is
// this module's under another name, so that both agree on every version.
func (w *workshop) makeModule(root string) error {
	if err := os.CopyFS(w.module, os.DirFS(filepath.Join("testdata", "prover"))); err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(w.module, name), b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return w.goCommand(w.module, "mod", "edit", "-module=example.com/prover",
		"-require=github.com/pippin-zk/pippin@v0.0.0", "-replace=github.com/pippin-zk/pippin="+root)
}

// goCommand runs the go command without cgo.
func (w *workshop) goCommand(dir string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func (w *workshop) toolexec() string {
	return "-toolexec='" + filepath.Join(w.dir, "bin", "msm") + "' weave"
}

func TestMain(m *testing.M) {
	code := m.Run()
	if workshopDir != "" {
		os.RemoveAll(workshopDir)
	}
	os.Exit(code)
}

func shop(t *testing.T) *workshop {
	t.Helper()
	w, err := theWorkshop()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// build builds the program.
func (w *workshop) build(t *testing.T, name string, flags ...string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	if err := w.goCommand(w.module, append(append([]string{"build"}, flags...), "-o", at, ".")...); err != nil {
		t.Fatal(err)
	}
	return at
}

var wovenProgram = sync.OnceValues(func() (string, error) {
	w, err := theWorkshop()
	if err != nil {
		return "", err
	}
	at := filepath.Join(w.dir, "woven")
	return at, w.goCommand(w.module, "build", w.toolexec(), "-o", at, ".")
})

func woven(t *testing.T) string {
	t.Helper()
	at, err := wovenProgram()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// answer is a line of the trace.
type answer struct {
	Curve, Group, Backend, Bases string
	Points                       int
}

// runProgram runs the program on a backend, and answers its trace and the error output.
func (w *workshop) runProgram(t *testing.T, program, cases string, env ...string) (trace []answer, stderr string, err error) {
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

const allCases = "msm errors mutate parts gc concurrent kzg groth16 plonk"

// TestWoven runs every case on the engine, in this process and through a plugin.
func TestWoven(t *testing.T) {
	w, program := shop(t), woven(t)
	for _, c := range []struct {
		backend, threshold string
		least              int // points
		resident           bool
	}{
		{"cpu", "100", 100, false},
		{"plugin:cpu", "0", 1, true},
	} {
		t.Run(c.backend, func(t *testing.T) {
			if strings.HasPrefix(c.backend, "plugin:") && runtime.GOOS != "linux" {
				t.Skip("plugins run on Linux only")
			}
			trace, stderr, err := w.runProgram(t, program, allCases,
				"PIPPIN_BACKEND="+c.backend, "PIPPIN_WEAVE_THRESHOLD="+c.threshold, "PIPPIN_WEAVE_STRICT=1")
			if err != nil || stderr != "" {
				t.Fatal(err, stderr)
			}
			groups, bases, fewest := map[string]int{}, map[string]int{}, 1<<30
			for _, a := range trace {
				if a.Backend != c.backend {
					t.Fatalf("answered by %+v", a)
				}
				groups[a.Curve+" "+a.Group]++
				bases[a.Bases]++
				fewest = min(fewest, a.Points)
			}
			if len(groups) != 8 || fewest != c.least {
				t.Errorf("MSMs %v, the smallest of %d points", groups, fewest)
			}
			if got := bases["resident"] > 0 && bases["loaded"] > 0; got != c.resident || bases["once"] == 0 {
				t.Errorf("bases %v", bases)
			}
			t.Log(groups, bases)
		})
	}
}

// TestThreshold leaves MSMs below it to gnark-crypto, and all with backend none.
func TestThreshold(t *testing.T) {
	w, program := shop(t), woven(t)
	count := func(env ...string) int {
		trace, stderr, err := w.runProgram(t, program, "msm", env...)
		if err != nil || stderr != "" {
			t.Fatal(err, stderr)
		}
		return len(trace)
	}
	const perSize = 8 * 2 // groups, methods
	for threshold, want := range map[string]int{"1": 5 * perSize, "100": 2 * perSize, "101": perSize, "1001": 0, "": 0} {
		if got := count("PIPPIN_WEAVE_THRESHOLD="+threshold, "PIPPIN_BACKEND=cpu"); got != want {
			t.Errorf("threshold %q: %d MSMs, want %d", threshold, got, want)
		}
	}
	if got := count("PIPPIN_WEAVE_THRESHOLD=0", "PIPPIN_BACKEND=none"); got != 0 {
		t.Errorf("backend none: %d MSMs", got)
	}
}

// TestNoBackend has gnark-crypto compute where the backend does not open, and
// the program fail when it is strict.
func TestNoBackend(t *testing.T) {
	w, program := shop(t), woven(t)
	for _, env := range [][]string{
		{"PIPPIN_BACKEND=plugin:nobody-has-this"},
		{"PIPPIN_WEAVE_THRESHOLD=many"},
		{"PIPPIN_WEAVE_CACHE=4 elephants"},
	} {
		env = append([]string{"PIPPIN_WEAVE_THRESHOLD=10"}, env...)
		trace, stderr, err := w.runProgram(t, program, "msm", env...)
		if err != nil || len(trace) != 0 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "pippin: ") {
			t.Errorf("%v: %v, %d answers, %q", env, err, len(trace), stderr)
		}
		if _, _, err = w.runProgram(t, program, "msm", append(env, "PIPPIN_WEAVE_STRICT=1")...); err == nil {
			t.Errorf("%v: strict, and no error", env)
		}
	}
}

// TestBuildCache builds stock, woven, stock and woven programs with the same
// build cache: each is what it should be.
func TestBuildCache(t *testing.T) {
	w := shop(t)
	woven(t) // so that there is something to be mixed up with
	for i, flags := range [][]string{nil, {w.toolexec()}, nil, {w.toolexec()}} {
		program := w.build(t, "program", flags...)
		// A woven program fails without its backend, another knows of none.
		_, _, err := w.runProgram(t, program, "msm", "PIPPIN_WEAVE_STRICT=1", "PIPPIN_WEAVE_THRESHOLD=10", "PIPPIN_BACKEND=plugin:nobody-has-this")
		if isWoven := err != nil; isWoven != (len(flags) > 0) {
			t.Errorf("build %d with %v: %v", i, flags, err)
		}
	}
}

// TestPippinChanges builds a program, then changes what pippin imports and
// builds it again: neither the program nor anything that the go command knows it
// to depend on has changed.
func TestPippinChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("everything is compiled again")
	}
	w := shop(t)
	dir := t.TempDir()
	module, pippin := filepath.Join(dir, "module"), filepath.Join(dir, "pippin")
	if err := copySources(pippin, ".."); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(module, os.DirFS(w.module)); err != nil {
		t.Fatal(err)
	}
	if err := w.goCommand(module, "mod", "edit", "-replace=github.com/pippin-zk/pippin="+pippin); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	build := func(what string) {
		t.Helper()
		if err := w.goCommand(module, "build", w.toolexec(), "-o", program, "."); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		trace, stderr, err := w.runProgram(t, program, "msm", "PIPPIN_WEAVE_THRESHOLD=100", "PIPPIN_BACKEND=cpu")
		if err != nil || stderr != "" || len(trace) == 0 {
			t.Errorf("%s: %v, %d MSMs, %s", what, err, len(trace), stderr)
		}
	}
	build("before")
	more := "package msm\n\nimport \"container/ring\"\n\nfunc Ring() *ring.Ring { return ring.New(1) }\n"
	if err := os.WriteFile(filepath.Join(pippin, "msm", "ring.go"), []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	build("after")
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

// TestWithoutPippin has a module that cannot provide weave/auto: a program with
// curves is refused, another is built.
func TestWithoutPippin(t *testing.T) {
	w := shop(t)
	dir := filepath.Join(t.TempDir(), "module")
	if err := os.CopyFS(dir, os.DirFS(w.module)); err != nil {
		t.Fatal(err)
	}
	if err := w.goCommand(dir, "mod", "edit", "-droprequire=github.com/pippin-zk/pippin", "-dropreplace=github.com/pippin-zk/pippin"); err != nil {
		t.Fatal(err)
	}
	err := w.goCommand(dir, "build", w.toolexec(), "-o", filepath.Join(dir, "x"), ".")
	if err == nil || !strings.Contains(err.Error(), "go get -tool github.com/pippin-zk/pippin/cmd/msm") {
		t.Errorf("a program with curves: %v", err)
	}
	hello := filepath.Join(dir, "hello")
	if err := os.Mkdir(hello, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(hello, "main.go"), []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.goCommand(dir, "run", w.toolexec(), "./hello"); err != nil {
		t.Errorf("a program without curves: %v", err)
	}
}

// TestOwnTests has tests of what pippin is made of be refused, for they would
// need that compiled in two ways.
func TestOwnTests(t *testing.T) {
	w := shop(t)
	err := w.goCommand("..", "test", w.toolexec(), "-run", "^$", "./msm")
	if err == nil || !strings.Contains(err.Error(), "cannot weave") || !strings.Contains(err.Error(), "pippin/msm.") {
		t.Errorf("%v", err)
	}
}
