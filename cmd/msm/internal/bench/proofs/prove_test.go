package proofs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench"
	"github.com/pippin-zk/pippin/cmd/msm/internal/bench/benchtest"
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

func proveConfig(t *testing.T, w *benchtest.World, backends ...string) Proofs {
	t.Cleanup(func() {
		if w.Opened != 0 || w.Arenas != 0 {
			t.Errorf("%d backends and %d buffers left open", w.Opened, w.Arenas)
		}
	})
	return Proofs{Statements: Statements{
		Common:   bench.Common{Open: w.Opener, Backends: backends, Count: 2, CacheDir: t.TempDir()},
		Circuits: []string{circuits.MiMC},
		Curves:   []backend.Curve{backend.BN254},
		Hashes:   2,
	}}
}

func TestProve(t *testing.T) {
	w := &benchtest.World{}
	cfg := proveConfig(t, w, "a", "arena")
	runs, infos, err := bench.Measure(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || len(infos) != 2 {
		t.Fatalf("%d runs, %d backends", len(runs), len(infos))
	}
	for i, r := range runs {
		if r.Backend != cfg.Backends[i] || r.Curve != "bn254" || r.What != "mimc-2" || r.Op != "groth16" ||
			r.Inputs[report.InputMerge] != string(report.MergeAuto) {
			t.Errorf("run %d: %+v", i, r)
		}
		if !r.Checked || r.Wrong != 0 || r.Count != 2 || len(r.Samples) != 2 || len(r.Figures[report.FigureStock].Samples) != 2 {
			t.Errorf("run %d: %+v", i, r)
		}
		benchtest.PartsOf(t, &r, figureMSM, figureOwnSolve, figureAfter)
		benchtest.Positive(t, &r, figureFFT, figureSolve, figureLoadKey, report.FigureSpeedup)
		if r.Value(report.FigureConstraints) == 0 || r.Min > r.Median || r.Version == "" || r.Device == "" {
			t.Errorf("run %d: %+v", i, r)
		}
	}
	var text bytes.Buffer
	if err := cfg.Sheet().Write(&text, table.Form{}, record.Record[report.Run]{Machine: record.ThisMachine(""), Runs: runs}); err != nil ||
		strings.Count(text.String(), "  yes\n") != 2 {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestProvePLONK measures PLONK on the same circuit, and refuses what it has not.
func TestProvePLONK(t *testing.T) {
	cfg := proveConfig(t, &benchtest.World{}, "a", "wrong")
	cfg.System, cfg.Count = proofsystem.PLONK, 1
	runs, _, err := bench.Measure(t.Context(), &cfg)
	if !errors.Is(err, bench.ErrWrong) || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := runs[0]
	benchtest.PartsOf(t, &r, figureMSM, figureOwnSolve, figureAfter)
	benchtest.Positive(t, &r, figureSolve, figureLoadKey, report.FigureSpeedup)
	if r.Op != "plonk" || r.Inputs[report.InputMerge] != "" || !r.Checked || r.Value(figureFFT) != 0 {
		t.Errorf("%+v", r)
	}
	if r := runs[1]; r.Checked || r.Wrong != 2 || r.Value(figureStockRefused) != 0 {
		t.Errorf("the wrong backend: %+v", r)
	}
	cfg.Merge = report.Merges()
	if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("merging: %v", err)
	}
	cfg.Merge, cfg.System = nil, "stark"
	if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("another system: %v", err)
	}
}

// TestProveMerging has each backend prove in both ways, in the same rounds.
func TestProveMerging(t *testing.T) {
	cfg := proveConfig(t, &benchtest.World{}, "a", "b")
	cfg.Merge, cfg.Count = report.Merges(), 1
	runs, _, err := bench.Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 4 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i, r := range runs {
		if !r.Checked || r.Backend != cfg.Backends[i/2] || r.Inputs[report.InputMerge] != string(report.Merges()[i%2]) ||
			r.Value(report.FigureStock) != runs[0].Value(report.FigureStock) {
			t.Errorf("run %d: %+v", i, r)
		}
	}
	cfg.Merge = []report.Merge{"perhaps"}
	if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("merging that there is not: %v", err)
	}
}

func TestProveOnOtherCurves(t *testing.T) {
	cfg := proveConfig(t, &benchtest.World{}, "cpu")
	cfg.Curves, cfg.Hashes, cfg.Count = backend.Curves()[1:], 1, 1
	runs, _, err := bench.Measure(t.Context(), &cfg)
	if err != nil || len(runs) != len(cfg.Curves) {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i, r := range runs {
		if r.Curve != cfg.Curves[i].String() || !r.Checked || r.Value(figureMSM) <= 0 || r.Value(figureFFT) <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestProveAlternates looks at the order of MSMs: a proof has some on one
// backend, then another backend's follow, and every round begins with the next.
func TestProveAlternates(t *testing.T) {
	w := &benchtest.World{}
	cfg := proveConfig(t, w, "a", "b")
	if _, _, err := bench.Measure(t.Context(), &cfg); err != nil {
		t.Fatal(err)
	}
	// gnark a b, a b gnark, b gnark a
	if got, want := slices.Compact(w.Recorded()), strings.Fields("a b a b a"); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestProveDetectsBadProofs(t *testing.T) {
	cfg := proveConfig(t, &benchtest.World{}, "cpu", "wrong")
	runs, _, err := bench.Measure(t.Context(), &cfg)
	if !errors.Is(err, bench.ErrWrong) || !strings.Contains(err.Error(), "auto wrong: 3 ") || len(runs) != 2 {
		t.Fatalf("%d runs, error %v", len(runs), err)
	}
	if r := runs[0]; !r.Checked || r.Wrong != 0 {
		t.Errorf("the right backend: %+v", r)
	}
	if r := runs[1]; r.Checked || r.Wrong != 1+cfg.Count || r.Value(figureStockRefused) != 0 {
		t.Errorf("the wrong backend: %+v", r)
	}
	var text bytes.Buffer
	if err := cfg.Sheet().Write(&text, table.Form{}, record.Record[report.Run]{Runs: runs}); err != nil ||
		!strings.Contains(text.String(), "  WRONG\n") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// mixed is a proving key with the verifying key of other keys.
type mixed struct {
	proofsystem.Keys
	other proofsystem.Keys
}

func (m mixed) Files() []proofsystem.File {
	return []proofsystem.File{m.Keys.Files()[0], m.other.Files()[1]}
}

// TestProveDistrustsTheKey has a verifying key that is not the proving key's:
// gnark's own proofs are refused too, and no run is verified.
func TestProveDistrustsTheKey(t *testing.T) {
	cfg := proveConfig(t, &benchtest.World{}, "cpu")
	s, err := circuits.New(circuits.MiMC, backend.BN254, cfg.Hashes, 0)
	if err != nil {
		t.Fatal(err)
	}
	k, err := keyFor(t.Context(), &cfg.Statements, s, backend.BN254, nil)
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := proofsystem.Groth16.On(backend.BN254)
	if err != nil {
		t.Fatal(err)
	}
	other, err := setUp(t.Context(), &cfg.Statements, s, scheme, "another", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&key{ccs: k.ccs, Keys: mixed{k.Keys, other.Keys}}).write(keyDir(t, cfg)); err != nil {
		t.Fatal(err)
	}
	runs, _, err := bench.Measure(t.Context(), &cfg)
	if !errors.Is(err, bench.ErrWrong) || len(runs) != 1 || runs[0].Checked || runs[0].Value(figureStockRefused) != float64(1+cfg.Count) {
		t.Errorf("%+v, %v", runs, err)
	}
}

// keyDir is the only key's folder.
func keyDir(t *testing.T, cfg Proofs) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(cfg.CacheDir, "groth16", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("folders %v, %v", dirs, err)
	}
	return dirs[0]
}

func TestProveKeepsKeys(t *testing.T) {
	cfg := proveConfig(t, &benchtest.World{}, "cpu")
	cfg.Count = 1
	var notes []string
	cfg.Note = func(s string) { notes = append(notes, s) }
	prove := func(what string, wantNote string) {
		t.Helper()
		notes = nil
		if _, _, err := bench.Measure(t.Context(), &cfg); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if all := strings.Join(notes, "\n"); wantNote == "" && all != "" || !strings.Contains(all, wantNote) {
			t.Errorf("%s: notes %q, want %q", what, notes, wantNote)
		}
	}
	prove("first", "set up in")
	dir := keyDir(t, cfg)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 && os.PathSeparator == '/' {
			t.Errorf("%s has mode %v", f.Name(), mode)
		}
	}
	prove("again", "")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.Rename(dir, elsewhere), os.Symlink(elsewhere, dir)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "proving"))
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(filepath.Join(dir, "proving"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	prove("one bit flipped", "not usable")
	prove("repaired", "")
	if st, err := os.Lstat(dir); err != nil || st.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link to the key's folder is now %v, %v", st, err)
	}
	keyDir(t, cfg) // nothing else is there
}

// TestKeyFolders: msm cache lists the keys of every proof system.
func TestKeyFolders(t *testing.T) {
	var names []string
	for _, s := range proofsystem.Systems() {
		names = append(names, string(s))
	}
	if !slices.Equal(names, bench.KeyFolders) {
		t.Errorf("%v, want %v", bench.KeyFolders, names)
	}
}

func TestProveInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &benchtest.World{}
	cfg := proveConfig(t, w, "a", "b")
	cfg.Count = 3
	w.OnCall = func(int) {
		if order := slices.Compact(w.Recorded()); len(order) == 6 { // b's proof in the third timed round
			cancel()
		}
	}
	runs, _, err := bench.Measure(ctx, &cfg)
	if !errors.Is(err, context.Canceled) || len(runs) != 2 || runs[0].Count != 2 || runs[1].Count != 2 ||
		len(runs[0].Figures[report.FigureStock].Samples) != 2 {
		t.Errorf("%v, %+v", err, runs)
	}
	cfg.CacheDir = t.TempDir()
	if runs, _, err := bench.Measure(ctx, &cfg); !errors.Is(err, context.Canceled) || len(runs) != 0 {
		t.Errorf("before setup: %v, %+v", err, runs)
	}
}

func TestProveLeavesOutWhatIsNotThere(t *testing.T) {
	cfg := proveConfig(t, &benchtest.World{}, "bn254", "cpu")
	cfg.Curves, cfg.Count = []backend.Curve{backend.BN254, backend.BLS12377}, 1
	var notes []string
	cfg.Note = func(s string) { notes = append(notes, s) }
	runs, _, err := bench.Measure(t.Context(), &cfg)
	if all := strings.Join(notes, "\n"); err != nil || len(runs) != 3 || !strings.Contains(all, "backend bn254 has no bls12-377") {
		t.Errorf("%d runs, notes %q, error %v", len(runs), notes, err)
	}
	cfg.Circuits = []string{circuits.Recursion}
	if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("recursion on other curves: %v", err)
	}
	cfg.Backends, cfg.Circuits = []string{"broken"}, []string{circuits.MiMC}
	if runs, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrOutOfMemory) ||
		!strings.Contains(err.Error(), "broken") || len(runs) != 0 {
		t.Errorf("a backend that fails: %v", err)
	}
}

// TestCurvesOf: a circuit has a curve that it can be compiled for when none is named.
func TestCurvesOf(t *testing.T) {
	for _, circuit := range circuits.Names() {
		for _, curve := range circuits.CurvesOf(circuit) {
			if _, err := circuits.New(circuit, curve, 1, 2); err != nil {
				t.Errorf("%s on %v: %v", circuit, curve, err)
			}
		}
	}
}

func TestProveRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*Proofs){
		"no backend":  func(c *Proofs) { c.Backends = nil },
		"no circuit":  func(c *Proofs) { c.Circuits = nil },
		"circuit":     func(c *Proofs) { c.Circuits = []string{"x"} },
		"no hashes":   func(c *Proofs) { c.Hashes = 0 },
		"count 0":     func(c *Proofs) { c.Count = 0 },
		"twice":       func(c *Proofs) { c.Backends = []string{"a", "a"} },
		"no cache":    func(c *Proofs) { c.CacheDir = "" },
		"no backends": func(c *Proofs) { c.Open = nil },
	} {
		cfg := proveConfig(t, &benchtest.World{}, "cpu")
		spoil(&cfg)
		if _, _, err := bench.Measure(t.Context(), &cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := measured(t, proveConfig(t, &benchtest.World{}, "cpu", "absent")); !errors.Is(err, backend.ErrUnavailable) {
		t.Error("a backend that is not there is not noticed")
	}
}

func TestSpeedups(t *testing.T) {
	ms := func(n ...int) (d []time.Duration) {
		for _, n := range n {
			d = append(d, time.Duration(n)*time.Millisecond)
		}
		return d
	}
	result := func(samples, solves []time.Duration, refused int) report.Run {
		m := &match{cfg: &Proofs{}, gnark: &bench.Series{Samples: ms(90, 110, 100)[:len(samples)], Run: report.Run{Wrong: refused}},
			solve: ms(20, 20, 20)}
		c := &contender{Series: &bench.Series{Samples: samples, Check: func() (int, error) { return 0, nil }}, parts: make([]proofParts, 1)}
		for i, solve := range solves {
			c.parts = append(c.parts, proofParts{msm: ms(7, 5, 6)[i], solve: solve})
		}
		c.Row = func(run *report.Run) { m.figures(c, run) }
		return c.Result()
	}
	r := result(ms(30, 40, 50), ms(20, 10, 30), 0)
	if r.Value(report.FigureSpeedup) != 2.5 || r.Value(report.FigureWithoutSolving) != 4 ||
		r.Value(report.FigureStock) != 100 || r.Median != 40 || r.Value(figureMSM) != 6 || !r.Checked {
		t.Errorf("%+v", r)
	}
	r = result(ms(20), ms(20), 1)
	if r.Value(report.FigureWithoutSolving) != 0 || r.Checked {
		t.Errorf("%+v", r)
	}
}

// TestMeter adds up what overlaps once.
func TestMeter(t *testing.T) {
	m := &meter{}
	m.begin()
	m.begin()
	m.end()
	if got := m.take(); got != 0 {
		t.Errorf("%v while one is running", got)
	}
	time.Sleep(2 * time.Millisecond)
	m.end()
	if got := m.take(); got < 2*time.Millisecond {
		t.Errorf("%v of 2 ms", got)
	}
	if got := m.take(); got != 0 {
		t.Errorf("%v after taking", got)
	}
}

// TestProveWithoutStock has keys of this module that are kept nowhere, and no proofs of
// gnark's.
func TestProveWithoutStock(t *testing.T) {
	cfg := proveConfig(t, &benchtest.World{}, "a")
	cfg.Circuits, cfg.Squares, cfg.Count = []string{circuits.Squares}, 100, 1
	cfg.OwnSetup, cfg.NoStock, cfg.NoKeep, cfg.CacheDir = true, true, true, ""
	runs, _, err := bench.Measure(t.Context(), &cfg)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := runs[0]
	if r.What != "squares-100" || r.Value(report.FigureConstraints) != 100 || !r.Checked || r.Count != 1 || r.Median <= 0 {
		t.Errorf("%+v", r)
	}
	benchtest.Positive(t, &r, figureOwnSolve, figureAfter, figureSetup)
	for _, name := range []string{report.FigureStock, figureSolve, figureFFT, report.FigureSpeedup, report.FigureWithoutSolving} {
		if _, ok := r.Figures[name]; ok {
			t.Errorf("what gnark took is in %+v", r)
		}
	}
}

// measured measures what a configuration says.
func measured[C any, W interface {
	*C
	bench.Workload
}](t *testing.T, cfg C) ([]report.Run, []record.BackendInfo, error) {
	t.Helper()
	return bench.Measure(t.Context(), W(&cfg))
}
