package weave_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// someCases need no gnark and little time.
const someCases = "msm mutate parts kzg products lagrange"

// TestWoven builds a program whose module has gnark-crypto and nothing else,
// and runs its cases on the engine: in this process, through a plugin, and where
// there is none. The first build compiles everything; scripts/long weave has
// other versions of gnark-crypto, and programs with gnark.
func TestWoven(t *testing.T) {
	w := shop(t)
	program := w.build(t, w.module(t), w.toolexec())
	modules, err := exec.Command("go", "version", "-m", program).CombinedOutput()
	if err != nil || strings.Contains(string(modules), "consensys/gnark\t") {
		t.Errorf("the program's modules: %v\n%s", err, modules)
	}
	if w.hasProvers(t, program) {
		t.Error("a program without gnark is linked with provers")
	}
	t.Run("cpu", func(t *testing.T) { w.answers(t, program, "cpu", someCases) })
	t.Run("plugin", func(t *testing.T) { w.answers(t, program, "plugin:cpu", someCases) })
	t.Run("threshold", func(t *testing.T) { w.threshold(t, program) })
	t.Run("no backend", func(t *testing.T) { w.noBackend(t, program) })
}

// answers runs cases of a program, every MSM of which the backend has to answer, and
// returns how many there were. Products and keys, of groups and in Lagrange form, are
// answered by a plugin; in this process they are gnark-crypto's.
func (w *workshop) answers(t *testing.T, program, backend, cases string) (msms int) {
	plugin := strings.HasPrefix(backend, "plugin:")
	if plugin && runtime.GOOS != "linux" {
		t.Skip("plugins run on Linux only")
	}
	threshold, least := "100", 100
	if plugin {
		threshold, least = "0", 1
	}
	trace, stderr, err := w.run(t, program, cases, "PIPPIN_BACKEND="+backend, "PIPPIN_WEAVE_THRESHOLD="+threshold, "PIPPIN_WEAVE_STRICT=1")
	if err != nil || stderr != "" {
		t.Fatal(err, stderr)
	}
	groups, bases, calls, fewest := map[string]int{}, map[string]int{}, map[string]int{}, 1<<30
	for _, a := range trace {
		if a.Backend != backend {
			t.Fatalf("answered by %+v", a)
		}
		if a.Call != "" {
			calls[a.Call+" "+a.Curve+" "+a.Group]++
			continue
		}
		msms++
		groups[a.Curve+" "+a.Group]++
		bases[a.Bases]++
		fewest = min(fewest, a.Points)
	}
	if len(groups) != 8 || fewest != least {
		t.Errorf("MSMs %v, the smallest of %d points", groups, fewest)
	}
	if got := bases["resident"] > 0 && bases["loaded"] > 0; got != plugin || bases["once"] == 0 {
		t.Errorf("bases %v", bases)
	}
	wantCalls := 0
	if plugin && strings.Contains(cases, "products lagrange") {
		wantCalls = 8 + 2
	}
	if len(calls) < wantCalls || !plugin && len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
	t.Log(groups, bases, calls)
	return msms
}

// threshold leaves MSMs below it to gnark-crypto, and all with backend none.
func (w *workshop) threshold(t *testing.T, program string) {
	count := func(env ...string) int {
		trace, stderr, err := w.run(t, program, "msm", env...)
		if err != nil || stderr != "" {
			t.Fatal(err, stderr)
		}
		return len(trace)
	}
	const perSize = 8 * 2 // groups, methods
	for threshold, want := range map[string]int{"1": 5 * perSize, "101": perSize, "": 0} {
		if got := count("PIPPIN_WEAVE_THRESHOLD="+threshold, "PIPPIN_BACKEND=cpu"); got != want {
			t.Errorf("threshold %q: %d MSMs, want %d", threshold, got, want)
		}
	}
	if got := count("PIPPIN_WEAVE_THRESHOLD=0", "PIPPIN_BACKEND=none"); got != 0 {
		t.Errorf("backend none: %d MSMs", got)
	}
}

// noBackend has gnark-crypto compute where the backend does not open, and the
// program fail when it is strict.
func (w *workshop) noBackend(t *testing.T, program string) {
	for _, env := range []string{"PIPPIN_BACKEND=plugin:nobody-has-this", "PIPPIN_WEAVE_CACHE=4 elephants"} {
		trace, stderr, err := w.run(t, program, "kzg", "PIPPIN_WEAVE_THRESHOLD=10", env)
		if err != nil || len(trace) != 0 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "pippin: ") {
			t.Errorf("%s: %v, %d answers, %q", env, err, len(trace), stderr)
		}
		if _, _, err = w.run(t, program, "kzg", "PIPPIN_WEAVE_THRESHOLD=10", env, "PIPPIN_WEAVE_STRICT=1"); err == nil {
			t.Errorf("%s: strict, and no error", env)
		}
	}
}

// TestRefusedAtOnce has builds that cannot be woven end before anything is
// compiled, and say why.
func TestRefusedAtOnce(t *testing.T) {
	w := shop(t)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, module string)
		says    string
	}{
		"vendor": {
			prepare: func(t *testing.T, module string) {
				if err := w.goCommand(module, "mod", "vendor"); err != nil {
					t.Fatal(err)
				}
			},
			says: "-mod=readonly",
		},
		"workspace": {
			prepare: func(t *testing.T, module string) {
				w.write(t, filepath.Join(module, "go.work"), "go 1.26.0\n\nuse .\n")
			},
			says: "go work use",
		},
		"curve": { // as another version of gnark-crypto may be
			prepare: func(t *testing.T, module string) { w.otherCurve(t, module) },
			says:    "MultiExp of G1Jac is func(",
		},
	} {
		t.Run(name, func(t *testing.T) {
			module := w.module(t)
			c.prepare(t, module)
			err := w.goCommand(module, "build", "-x", w.toolexec(), "-o", os.DevNull, ".")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "cannot weave") {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "/compile -o ") {
				t.Error("something was compiled")
			}
		})
	}
}

// otherCurve gives a module a gnark-crypto whose MultiExp has one more argument.
func (w *workshop) otherCurve(t *testing.T, module string) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/consensys/gnark-crypto").Output()
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(module, "gnark-crypto")
	if err := os.CopyFS(changed, os.DirFS(strings.TrimSpace(string(dir)))); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(changed, "ecc", "bw6-761", "multiexp.go")
	source, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	const was = "config ecc.MultiExpConfig) (*G1Jac, error) {"
	if !strings.Contains(string(source), was) {
		t.Fatal("gnark-crypto is not as expected")
	}
	if err := os.Chmod(at, 0o600); err != nil {
		t.Fatal(err)
	}
	w.write(t, at, strings.ReplaceAll(string(source), was, "config ecc.MultiExpConfig, more int) (*G1Jac, error) {"))
	if err := w.goCommand(module, "mod", "edit", "-replace=github.com/consensys/gnark-crypto=./gnark-crypto"); err != nil {
		t.Fatal(err)
	}
}
