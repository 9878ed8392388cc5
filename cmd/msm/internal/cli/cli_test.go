package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/cli/clitest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/inventory"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report/plots"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/plugin"
)

// cli runs one command line in this process, which can draw.
func cli(t *testing.T, a *App, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	a.Draw = &Drawing{MSMs: plots.WritePlot, Numbers: plots.PlotNumbers, CardTable: plots.PlotCardTable}
	if a.Getenv == nil {
		a.Getenv = clitest.Getenv
	}
	return clitest.Output(func(out, errs io.Writer) int {
		a.Stdout, a.Stderr = out, errs
		return Run(t.Context(), a, args)
	})
}

// tiny is a bench small enough for a test.
func tiny(t *testing.T, more ...string) []string {
	return append([]string{"bench", "--size", "40,2^7", "--count", "2", "--cache", t.TempDir()}, more...)
}

func TestBenchTable(t *testing.T) {
	status, out, errs := cli(t, &App{}, tiny(t, "--curve", "all", "--group", "all", "--check")...)
	if status != ExitOK || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	if n := strings.Count(out, "  yes\n"); n != 16 {
		t.Errorf("%d lines, want 16\n%s", n, out)
	}
	for _, c := range backend.Curves() {
		if !strings.Contains(out, c.String()) {
			t.Errorf("no %v in\n%s", c, out)
		}
	}
}

func TestBenchJSON(t *testing.T) {
	status, out, errs := cli(t, &App{}, tiny(t, "--format", "json", "--distribution", "witness,plonk-l",
		"--commit", "abc", "--seed", "9", "--back-to-back")...)
	if status != ExitOK || errs != "" {
		t.Fatalf("status %d, %s", status, errs)
	}
	var r record.Record[report.Run]
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if r.Machine.Commit == "" || len(r.Machine.Backends) != 1 || len(r.Runs) != 4 {
		t.Fatalf("%+v", r)
	}
	for _, run := range r.Runs {
		if run.Checked || run.Seed != 9 || run.Count != 2 || run.Value("back_to_back") <= 0 ||
			run.Value("calls") != 20 || run.Min <= 0 || run.Inputs["path"] != string(report.Copy) {
			t.Errorf("%+v", run)
		}
	}
}

func TestBenchFiles(t *testing.T) {
	dir := t.TempDir()
	out, plot := filepath.Join(dir, "r.txt"), filepath.Join(dir, "r.svg")
	status, table, errs := cli(t, &App{}, tiny(t, "--format", "gobench", "--out", out, "--plot", plot)...)
	if status != ExitOK || errs != "" || !strings.Contains(table, "median ms") {
		t.Fatalf("status %d, %s, %s", status, errs, table)
	}
	text, err := os.ReadFile(out)
	if err != nil || strings.Count(string(text), "BenchmarkMSM/curve=bn254/") != 4 {
		t.Errorf("%v: %s", err, text)
	}
	svg, err := os.ReadFile(plot)
	if err != nil || xml.Unmarshal(svg, new(struct{ XMLName xml.Name })) != nil {
		t.Errorf("%v: %s", err, svg)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("left behind: %v", files)
	}
}

func TestBenchWrongAnswer(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	status, table, errs := cli(t, &App{Open: clitest.WrongOpener},
		tiny(t, "--backend", "cpu,wrong", "--check", "--format", "json", "--out", out)...)
	if status != ExitFailed || !strings.Contains(table, "WRONG") || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s, %s", status, errs, table)
	}
	var r record.Record[report.Run]
	text, err := os.ReadFile(out)
	if err != nil || json.Unmarshal(text, &r) != nil || len(r.Runs) != 4 || r.Runs[1].Checked || r.Runs[1].Wrong != 3 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestBenchInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	calls := 0
	a := &App{Getenv: func(string) string { return "" }, Open: func(ctx context.Context, name string) (backend.Backend, error) {
		b, err := clitest.WrongOpener(ctx, name)
		return counting{b, func() {
			if calls++; calls == 4 { // of the second size
				cancel(ended{syscall.SIGINT})
			}
		}}, err
	}}
	var out bytes.Buffer
	var errs clitest.Said
	a.Stdout, a.Stderr = &out, &errs
	status := Run(ctx, a, tiny(t, "--format", "json"))
	var r record.Record[report.Run]
	if err := json.Unmarshal(out.Bytes(), &r); status != 130 || err != nil || len(r.Runs) != 1 || r.Runs[0].N != 40 {
		t.Errorf("status %d, %v, %s%s", status, err, out.String(), errs.String())
	}
	if !strings.Contains(errs.String(), "interrupted: 1 ") || r.Cut != record.CutByInterrupt {
		t.Errorf("%s, stderr %q", r.Cut, errs.String())
	}
}

// TestInterruptDuringMSM: a command that a signal ends, and that does not end at
// once, says what it waits for.
func TestInterruptDuringMSM(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	errs, calls := make(saying, 1), 0
	a := &App{Stderr: errs, Getenv: func(string) string { return "" }, Open: func(ctx context.Context, name string) (backend.Backend, error) {
		b, err := clitest.WrongOpener(ctx, name)
		return counting{b, func() {
			if calls++; calls != 3 { // the second that is timed
				return
			}
			cancel(ended{syscall.SIGINT})
			select {
			case line := <-errs:
				if want := "msm: ending, and waiting for bn254 g1 2^10 uniform; a second signal ends at once\n"; line != want {
					t.Errorf("%q, want %q", line, want)
				}
			case <-time.After(20 * time.Second):
				t.Error("nothing is said")
			}
		}}, err
	}}
	var out bytes.Buffer
	a.Stdout = &out
	status := Run(ctx, a, []string{"bench", "--size", "2^10", "--count", "3", "--cache", t.TempDir()})
	if last := <-errs; status != 130 || !strings.Contains(last, "interrupted: 1 ") ||
		!strings.Contains(out.String(), "\nCut short by an interrupt: ") {
		t.Errorf("status %d, %s%s", status, last, &out)
	}
}

// saying hands over what is written to it, without progress.
type saying chan string

func (s saying) Write(b []byte) (int, error) {
	if !clitest.IsProgress(b) {
		s <- string(b)
	}
	return len(b), nil
}

// TestBenchFailure: what a failing backend left is in a record that says so.
func TestBenchFailure(t *testing.T) {
	calls := 0
	a := &App{Open: func(ctx context.Context, name string) (backend.Backend, error) {
		b, err := clitest.WrongOpener(ctx, name)
		return failing{b, func() bool { calls++; return calls == 5 }}, err
	}}
	status, out, errs := cli(t, a, tiny(t, "--format", "gobench")...)
	if status != ExitFailed || !strings.Contains(out, "\ncut: error\n") || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s%s", status, errs, out)
	}
}

// failing fails an MSM with points when fails says so.
type failing struct {
	backend.Backend
	fails func() bool
}

func (f failing) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	if jobs[0].Count > 0 && f.fails() {
		return nil, fmt.Errorf("%w: on purpose", backend.ErrInternal)
	}
	return f.Backend.MSM(ctx, jobs)
}

// counting calls before for each MSM that has points.
type counting struct {
	backend.Backend
	before func()
}

func (c counting) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	if jobs[0].Count > 0 {
		c.before()
	}
	return c.Backend.MSM(ctx, jobs)
}

func TestBenchMemory(t *testing.T) {
	little := func() (uint64, bool) { return 300 << 20, true }
	args := tiny(t, "--size", "2^26", "--backend", "cpu")
	status, out, errs := cli(t, &App{Available: little}, args...)
	if status != ExitUsage || out != "" || !strings.Contains(errs, "300.0 MiB available") ||
		!strings.Contains(errs, "--force") || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s%s", status, out, errs)
	}
	none := func() (uint64, bool) { return 0, true }
	if status, _, errs = cli(t, &App{Available: none}, tiny(t)...); status != ExitUsage {
		t.Errorf("status %d, %s", status, errs)
	}
	if status, _, errs = cli(t, &App{Available: none}, tiny(t, "--force")...); status != ExitOK || !strings.Contains(errs, "nevertheless") {
		t.Errorf("forced: status %d, %s", status, errs)
	}
	unknown := func() (uint64, bool) { return 0, false }
	if status, _, errs = cli(t, &App{Available: unknown}, tiny(t)...); status != ExitOK || errs != "" {
		t.Errorf("unknown: status %d, %s", status, errs)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"nonsense"}, {"bench", "x"}, {"bench", "--nonsense"}, {"bench", "--size", "big"}, {"bench", "--size", "2^29"},
		{"bench", "--size", ""}, {"bench", "--curve", "p256"}, {"bench", "--group", "g3"}, {"bench", "--distribution", "odd"},
		{"bench", "--path", "x"}, {"bench", "--format", "xml"}, {"bench", "--count", "0"},
		{"bench", "--count", "x"}, {"bench", "--back-to-back=-1"}, {"bench", "--back-to-back=x"},
		{"bench", "--backend", ""}, {"bench", "--backend", "cpu,,cpu"}, {"bench", "--out", filepath.Join(t.TempDir(), "no", "such", "dir")},
		{"verify", "--size", "1"}, {"verify", "--cases", "-1"}, {"verify", "--format", "gobench"}, {"verify", "--curve", "x"},
		{"backends", "--format", "x"}, {"devices", "x"}, {"version", "x"},
	} {
		status, out, errs := cli(t, &App{}, args...)
		if status != ExitUsage || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "msm: ") {
			t.Errorf("%q: status %d, stdout %q, stderr %q", args, status, out, errs)
		}
	}
}

func TestUnavailableBackend(t *testing.T) {
	for _, verb := range []string{"bench", "verify"} {
		status, out, errs := cli(t, &App{Open: clitest.WrongOpener}, verb, "--backend", "nothing")
		if status != ExitFailed || out != "" || !strings.Contains(errs, "nothing") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q, %q", verb, status, out, errs)
		}
	}
}

func TestVerify(t *testing.T) {
	args := []string{"verify", "--curve", "bn254", "--size", "40", "--cases", "2"}
	status, out, errs := cli(t, &App{}, args...)
	if status != ExitOK || errs != "" || !strings.Contains(out, "edge scalars") || strings.Contains(out, "FAILED") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	status, out, errs = cli(t, &App{Open: clitest.WrongOpener}, append(args, "--backend", "cpu,wrong", "--group", "g1")...)
	if status != ExitFailed || !strings.Contains(out, "FAILED") || strings.Count(errs, "\n") != 1 {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	status, out, errs = cli(t, &App{Open: clitest.WrongOpener}, append(args, "--backend", "wrong", "--group", "g1", "--format", "json")...)
	var results []bench.Verified
	if err := json.Unmarshal([]byte(out), &results); status != ExitFailed || err != nil || len(results) == 0 || results[0].Failed == 0 {
		t.Errorf("status %d, %v, %s\n%s", status, err, errs, out)
	}
}

func TestBackendsAndDevices(t *testing.T) {
	a := &App{
		Discover: func(s plugin.Search) []plugin.Found {
			if !slices.Equal(s.Dirs, []string{"/a", "/b"}) || s.Path != "/usr/bin" {
				t.Errorf("folders %q, path %q", s.Dirs, s.Path)
			}
			return []plugin.Found{
				{Name: "x", Path: "/p/msm-backend-x", Checksum: strings.Repeat("ab", 32), Verified: true},
				{Name: "y", Path: "/p/msm-backend-y", Checksum: strings.Repeat("cd", 32), Problem: errors.New("anyone may write to /p")},
			}
		},
		Open: func(ctx context.Context, name string) (backend.Backend, error) {
			if name == "plugin:x" {
				name = "cpu"
			}
			return clitest.WrongOpener(ctx, name)
		},
	}
	a.Getenv = func(key string) string {
		return map[string]string{
			"PIPPIN_PLUGIN_DIR": "/a" + string(os.PathListSeparator) + "/b",
			"PATH":              "/usr/bin",
		}[key]
	}
	status, out, errs := cli(t, a, "backends")
	if status != ExitFailed || errs != "msm: backends that do not open: plugin:y\n" {
		t.Fatalf("status %d, %s", status, errs)
	}
	for _, want := range []string{"cpu", "reference", "plugin:x", "not installed", "abababababab, verified",
		"plugin:y", "cdcdcdcdcdcd, not verified", "does not open", "anyone may write to /p"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	status, out, errs = cli(t, a, "backends", "--format", "json")
	var states []inventory.Backend
	if err := json.Unmarshal([]byte(out), &states); status != ExitFailed || err != nil || len(states) != 5 {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	if s := states[2]; !s.Opens || !s.Verified || s.Name != "plugin:x" || len(s.Curves) != 4 || s.Checksum == "" {
		t.Errorf("%+v", s)
	}
	if s := states[3]; s.Opens || s.Verified || s.Problem == "" || s.Missing {
		t.Errorf("%+v", s)
	}
	if s := states[4]; s.Name != "cuda" || !s.Missing || s.Opens || s.Problem == "" {
		t.Errorf("%+v", s)
	}
	status, out, errs = cli(t, a, "devices", "--format", "json")
	if want := "msm: plugin:y does not open: anyone may write to /p\n"; errs != want {
		t.Errorf("%q, want %q", errs, want)
	}
	var devices []inventory.Device
	if err := json.Unmarshal([]byte(out), &devices); status != ExitFailed || err != nil || len(devices) != 3 || devices[0].Name == "" {
		t.Errorf("status %d, %v, %s", status, err, out)
	}
	if status, out, _ = cli(t, a, "devices"); status != ExitFailed || strings.Count(out, "\n") != 4 {
		t.Errorf("status %d, %s", status, out)
	}
}

func TestDiscoverPlugins(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if err := os.Chmod(dir, 0o700); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(one, "msm-backend-x"), filepath.Join(two, "msm-backend-x"),
		filepath.Join(two, "msm-backend-y")} {
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		if err := os.WriteFile(path, []byte("not a plugin"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := &App{PluginDirs: []string{one}, Getenv: func(string) string { return two }}
	var got []plugin.Found
	for _, f := range a.plugins() {
		if dir := filepath.Base(filepath.Dir(f.Path)); dir == filepath.Base(one) || dir == filepath.Base(two) {
			got = append(got, f)
		}
	}
	if len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	for _, f := range got {
		if len(f.Checksum) != 64 || f.Verified {
			t.Errorf("%+v", f)
		}
	}
	if runtime.GOOS == "windows" {
		return // whom a folder belongs to is not known there
	}
	if got[0].Problem != nil || got[1].Problem != nil || got[2].Problem != nil || got[0].HiddenBy != "" ||
		got[1].HiddenBy != got[0].Path || got[2].HiddenBy != "" {
		t.Errorf("%+v", got)
	}
}

// TestMissingPlugin: the error of the commonest mistake was a line of 900
// characters with 13 paths and no word of what helps.
func TestMissingPlugin(t *testing.T) {
	a := &App{Getenv: func(key string) string {
		return map[string]string{"PATH": "/nowhere/a" + string(os.PathListSeparator) + "/nowhere/b"}[key]
	}}
	t.Setenv("PATH", a.Getenv("PATH"))
	args := []string{"bench", "--size", "2^4", "--backend", "cuda"}
	status, _, errs := cli(t, a, args...)
	if status != ExitFailed || strings.Count(errs, "\n") != 1 || len(errs) > 400 ||
		!strings.Contains(errs, "make plugin-cuda") || strings.Contains(errs, "/nowhere") {
		t.Errorf("status %d, %s", status, errs)
	}
	if _, _, errs = cli(t, a, append(args, "-v")...); !strings.Contains(errs, "\n  "+filepath.Join("/nowhere/b", "msm-backend-cuda")) {
		t.Errorf("%s", errs)
	}
}

// TestMeant: values that are misspelt are asked after.
func TestMeant(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"bench --curve bn255", `did you mean "bn254"?`},
		{"bench --curve bls12-382", `did you mean "bls12-381"?`},
		{"bench --group g3", `did you mean "g1"?`},
		{"bench --distribution unifrm", `did you mean "uniform"?`},
		{"bench --path aren", `did you mean "arena"?`},
		{"bench --format jsno", `did you mean "json"?`},
		{"bnech", `did you mean "bench"?`},
	} {
		status, _, errs := cli(t, &App{}, strings.Fields(c.args)...)
		if status != ExitUsage || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %s", c.args, status, errs)
		}
	}
	if _, _, errs := cli(t, &App{}, "bench", "--curve", "secp256k1"); strings.Contains(errs, "did you mean") {
		t.Errorf("%s", errs)
	}
}

func TestCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"bench --curve ":       "bls12-381\n",
		"bench --curve bn254,": "bn254,bls12-381\n",
		"bench --backend cpu,": "cpu,cuda\n",
		"verify --group ":      "g2\n",
	} {
		f := strings.Split(args, " ")
		status, out, errs := cli(t, &App{}, append([]string{"__complete"}, f...)...)
		if status != ExitOK || !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("%q: status %d, %s%s", args, status, out, errs)
		}
	}
}

// TestWeaveHelp: what weave does not parse was listed as its flags.
func TestWeaveHelp(t *testing.T) {
	status, out, _ := cli(t, &App{}, "weave", "--help")
	if status != ExitOK || strings.Contains(out, "--plugin-dir") || !strings.Contains(out, "msm weave TOOL [ARGUMENT...]\n") {
		t.Errorf("status %d, %s", status, out)
	}
}

func TestVersion(t *testing.T) {
	if status, out, errs := cli(t, &App{}, "--version"); status != ExitOK || errs != "" || out != versions().String()+"\n" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	if status, out, errs := cli(t, &App{}, "version"); status != ExitOK || errs != "" ||
		!strings.HasPrefix(out, "msm ") || strings.Count(out, "\n") != 1 {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"bench", "--help"}, {"verify", "-h"}} {
		if status, out, errs := cli(t, &App{}, args...); status != ExitOK || errs != "" || !strings.Contains(out, "Usage:") {
			t.Errorf("%q: status %d, %q, %q", args, status, out, errs)
		}
	}
}

func TestCacheDir(t *testing.T) {
	a := &App{Getenv: func(string) string { return "/c" }}
	if dir, err := a.CacheDir(""); err != nil || dir != "/c" {
		t.Errorf("%q, %v", dir, err)
	}
	t.Setenv("XDG_CACHE_HOME", "/x")
	t.Setenv("HOME", "/h")
	t.Setenv("LocalAppData", "/l")
	a.Getenv = func(string) string { return "" }
	if dir, err := a.CacheDir(""); err != nil || filepath.Base(dir) != "pippin" {
		t.Errorf("%q, %v", dir, err)
	}
}

// TestNumbersCheckMemory: what does not fit is refused before a backend is opened.
func TestNumbersCheckMemory(t *testing.T) {
	little := func() (uint64, bool) { return 1 << 30, true }
	args := []string{"bench", "numbers", "--op", "add", "--bits", "1024", "--n", "100000000", "--check"}
	status, _, errs := cli(t, &App{Open: clitest.NothingOpens(t), Available: little}, args...)
	if status != ExitUsage || !strings.Contains(errs, "not enough memory") || !strings.Contains(errs, "--n") {
		t.Errorf("status %d, %s", status, errs)
	}
	a := &App{Open: clitest.WrongOpener, Available: func() (uint64, bool) { return 1, true }}
	if status, _, errs := cli(t, a, "bench", "numbers", "--n", "4", "--count", "1", "--force"); status != ExitOK ||
		!strings.Contains(errs, "starting nevertheless") {
		t.Errorf("status %d, %s", status, errs)
	}
}

// TestFormats: results as Markdown and CSV, on stdout and in files, and versions as JSON.
func TestFormats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.csv")
	for _, line := range [][]string{
		tiny(t), {"bench", "numbers", "--n", "4", "--count", "1"},
	} {
		status, out, errs := cli(t, &App{}, append(line, "--format", "markdown")...)
		if status != ExitOK || errs != "" || !strings.Contains(out, " median ms |") || !strings.Contains(out, "| ---: |") {
			t.Errorf("%s: status %d, %s\n%s", line, status, errs, out)
		}
		status, out, errs = cli(t, &App{}, append(line, "--format", "csv", "--out", file)...)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if status != ExitOK || errs != "" || err != nil || len(all) < 2 || !slices.Contains(all[0], "median ms") ||
			!strings.Contains(out, "median ms") {
			t.Errorf("%s: status %d, %s, %v\n%s", line, status, errs, err, text)
		}
	}
	var v version
	if status, out, _ := cli(t, &App{}, "version", "--format", "json"); status != ExitOK ||
		json.Unmarshal([]byte(out), &v) != nil || v.Go != runtime.Version() || v.OS != runtime.GOOS {
		t.Errorf("%+v", v)
	}
	if status, out, _ := cli(t, &App{}, "cache", "clear", "--cache", t.TempDir(), "--format", "json"); status != ExitOK ||
		!strings.Contains(out, `"removed": 0`) {
		t.Error(out)
	}
}
