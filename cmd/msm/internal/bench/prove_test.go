package bench

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
	"github.com/pippin-zk/pippin/cmd/msm/internal/report"
	"github.com/pippin-zk/pippin/cmd/msm/internal/table"
	"github.com/pippin-zk/pippin/internal/circuits"
	"github.com/pippin-zk/pippin/internal/proofsystem"
	"github.com/pippin-zk/pippin/internal/record"
)

func proveConfig(t *testing.T, w *world, backends ...string) ProveConfig {
	t.Cleanup(func() {
		if w.open != 0 || w.arenas != 0 {
			t.Errorf("%d backends and %d buffers left open", w.open, w.arenas)
		}
	})
	return ProveConfig{
		Open:     w.opener,
		Backends: backends,
		Circuits: []string{circuits.MiMC},
		Curves:   []backend.Curve{backend.BN254},
		Hashes:   2,
		Count:    2,
		CacheDir: t.TempDir(),
	}
}

func TestProve(t *testing.T) {
	w := &world{}
	cfg := proveConfig(t, w, "a", "arena")
	runs, infos, err := Prove(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || len(infos) != 2 {
		t.Fatalf("%d runs, %d backends", len(runs), len(infos))
	}
	for i, r := range runs {
		if r.Backend != cfg.Backends[i] || r.Curve != "bn254" || r.Circuit != "mimc-2" || r.Op != "groth16" || r.Merge != report.MergeAuto {
			t.Errorf("run %d: %+v", i, r)
		}
		if !r.Verified || r.Refused != 0 || r.Count != 2 || len(r.Samples) != 2 || len(r.StockSamples) != 2 {
			t.Errorf("run %d: %+v", i, r)
		}
		if r.MSM <= 0 || r.MSM >= slices.Max(r.Samples) || r.FFT <= 0 || r.Solve <= 0 || r.OwnSolve <= 0 || r.OwnSolve >= slices.Max(r.Samples) || r.AfterSolve <= 0 || r.AfterSolve >= slices.Max(r.Samples) || r.LoadKey <= 0 || r.Speedup <= 0 {
			t.Errorf("run %d: the split %+v", i, r)
		}
		if r.Constraints == 0 || r.Min > r.Median || r.StockMin > r.Stock || r.Version == "" || r.Device == "" {
			t.Errorf("run %d: %+v", i, r)
		}
	}
	var text bytes.Buffer
	if err := report.WriteProveTable(&text, table.Form{}, record.Record[report.ProveRun]{Machine: record.ThisMachine(""), Runs: runs}); err != nil || strings.Count(text.String(), "  yes\n") != 2 {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestProvePLONK measures PLONK on the same circuit, and refuses what it has not.
func TestProvePLONK(t *testing.T) {
	cfg := proveConfig(t, &world{}, "a", "wrong")
	cfg.System, cfg.Count = proofsystem.PLONK, 1
	runs, _, err := Prove(t.Context(), cfg)
	if !errors.Is(err, ErrWrong) || len(runs) != 2 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := runs[0]
	if r.Op != "plonk" || r.Merge != "" || !r.Verified || r.FFT != 0 || r.MSM <= 0 || r.MSM >= r.Samples[0] || r.Solve <= 0 || r.OwnSolve <= 0 || r.OwnSolve >= slices.Max(r.Samples) || r.AfterSolve <= 0 || r.AfterSolve >= r.Samples[0] || r.LoadKey <= 0 || r.Speedup <= 0 {
		t.Errorf("%+v", r)
	}
	if r := runs[1]; r.Verified || r.Refused != 2 || r.StockRefused != 0 {
		t.Errorf("the wrong backend: %+v", r)
	}
	cfg.Merge = report.Merges()
	if _, _, err := Prove(t.Context(), cfg); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("merging: %v", err)
	}
	cfg.Merge, cfg.System = nil, "stark"
	if _, _, err := Prove(t.Context(), cfg); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("another system: %v", err)
	}
}

// TestProveMerging has each backend prove in both ways, in the same rounds.
func TestProveMerging(t *testing.T) {
	cfg := proveConfig(t, &world{}, "a", "b")
	cfg.Merge, cfg.Count = report.Merges(), 1
	runs, _, err := Prove(t.Context(), cfg)
	if err != nil || len(runs) != 4 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i, r := range runs {
		if !r.Verified || r.Backend != cfg.Backends[i/2] || r.Merge != report.Merges()[i%2] || r.Stock != runs[0].Stock {
			t.Errorf("run %d: %+v", i, r)
		}
	}
	cfg.Merge = []report.Merge{"perhaps"}
	if _, _, err := Prove(t.Context(), cfg); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("merging that there is not: %v", err)
	}
}

func TestProveOnOtherCurves(t *testing.T) {
	cfg := proveConfig(t, &world{}, "cpu")
	cfg.Curves, cfg.Hashes, cfg.Count = backend.Curves()[1:], 1, 1
	runs, _, err := Prove(t.Context(), cfg)
	if err != nil || len(runs) != len(cfg.Curves) {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for i, r := range runs {
		if r.Curve != cfg.Curves[i].String() || !r.Verified || r.MSM <= 0 || r.FFT <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestProveAlternates looks at the order of MSMs: a proof has some on one
// backend, then another backend's follow, and every round begins with the next.
func TestProveAlternates(t *testing.T) {
	w := &world{}
	cfg := proveConfig(t, w, "a", "b")
	if _, _, err := Prove(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	// gnark a b, a b gnark, b gnark a
	if got, want := slices.Compact(w.recorded()), strings.Fields("a b a b a"); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestProveDetectsBadProofs(t *testing.T) {
	cfg := proveConfig(t, &world{}, "cpu", "wrong")
	runs, _, err := Prove(t.Context(), cfg)
	if !errors.Is(err, ErrWrong) || !strings.Contains(err.Error(), "backend wrong") || len(runs) != 2 {
		t.Fatalf("%d runs, error %v", len(runs), err)
	}
	if r := runs[0]; !r.Verified || r.Refused != 0 {
		t.Errorf("the right backend: %+v", r)
	}
	if r := runs[1]; r.Verified || r.Refused != 1+cfg.Count || r.StockRefused != 0 {
		t.Errorf("the wrong backend: %+v", r)
	}
	var text bytes.Buffer
	if err := report.WriteProveTable(&text, table.Form{}, record.Record[report.ProveRun]{Runs: runs}); err != nil || !strings.Contains(text.String(), "  NO\n") {
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
	cfg := proveConfig(t, &world{}, "cpu")
	s, err := circuits.New(circuits.MiMC, backend.BN254, cfg.Hashes, 0)
	if err != nil {
		t.Fatal(err)
	}
	k, err := keyFor(t.Context(), &cfg, s, backend.BN254, nil)
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := proofsystem.Groth16.On(backend.BN254)
	if err != nil {
		t.Fatal(err)
	}
	other, err := setUp(t.Context(), &cfg, s, scheme, "another", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&key{ccs: k.ccs, Keys: mixed{k.Keys, other.Keys}}).write(keyDir(t, cfg)); err != nil {
		t.Fatal(err)
	}
	runs, _, err := Prove(t.Context(), cfg)
	if !errors.Is(err, ErrWrong) || len(runs) != 1 || runs[0].Verified || runs[0].StockRefused != 1+cfg.Count {
		t.Errorf("%+v, %v", runs, err)
	}
}

// keyDir is the only key's folder.
func keyDir(t *testing.T, cfg ProveConfig) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(cfg.CacheDir, "groth16", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("folders %v, %v", dirs, err)
	}
	return dirs[0]
}

func TestProveKeepsKeys(t *testing.T) {
	cfg := proveConfig(t, &world{}, "cpu")
	cfg.Count = 1
	var notes []string
	cfg.Note = func(s string) { notes = append(notes, s) }
	prove := func(what string, wantNote string) {
		t.Helper()
		notes = nil
		if _, _, err := Prove(t.Context(), cfg); err != nil {
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

func TestProveInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &world{}
	cfg := proveConfig(t, w, "a", "b")
	cfg.Count = 3
	w.onCall = func(int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if order := slices.Compact(slices.Clone(w.calls)); len(order) == 6 { // b's proof in the third timed round
			cancel()
		}
	}
	runs, _, err := Prove(ctx, cfg)
	if !errors.Is(err, context.Canceled) || len(runs) != 2 || runs[0].Count != 2 || runs[1].Count != 2 || len(runs[0].StockSamples) != 2 {
		t.Errorf("%v, %+v", err, runs)
	}
	cfg.CacheDir = t.TempDir()
	if runs, _, err := Prove(ctx, cfg); !errors.Is(err, context.Canceled) || len(runs) != 0 {
		t.Errorf("before setup: %v, %+v", err, runs)
	}
}

func TestProveLeavesOutWhatIsNotThere(t *testing.T) {
	cfg := proveConfig(t, &world{}, "bn254", "cpu")
	cfg.Curves, cfg.Count = []backend.Curve{backend.BN254, backend.BLS12377}, 1
	var notes []string
	cfg.Note = func(s string) { notes = append(notes, s) }
	runs, _, err := Prove(t.Context(), cfg)
	if all := strings.Join(notes, "\n"); err != nil || len(runs) != 3 || !strings.Contains(all, "backend bn254 has no bls12-377") {
		t.Errorf("%d runs, notes %q, error %v", len(runs), notes, err)
	}
	cfg.Circuits = []string{circuits.Recursion}
	if _, _, err := Prove(t.Context(), cfg); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("recursion on other curves: %v", err)
	}
	cfg.Backends, cfg.Circuits = []string{"broken"}, []string{circuits.MiMC}
	if runs, _, err := Prove(t.Context(), cfg); !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "broken") || len(runs) != 0 {
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
	for name, spoil := range map[string]func(*ProveConfig){
		"no backend":  func(c *ProveConfig) { c.Backends = nil },
		"no circuit":  func(c *ProveConfig) { c.Circuits = nil },
		"circuit":     func(c *ProveConfig) { c.Circuits = []string{"x"} },
		"no hashes":   func(c *ProveConfig) { c.Hashes = 0 },
		"count 0":     func(c *ProveConfig) { c.Count = 0 },
		"twice":       func(c *ProveConfig) { c.Backends = []string{"a", "a"} },
		"no cache":    func(c *ProveConfig) { c.CacheDir = "" },
		"no backends": func(c *ProveConfig) { c.Open = nil },
	} {
		cfg := proveConfig(t, &world{}, "cpu")
		spoil(&cfg)
		if _, _, err := Prove(t.Context(), cfg); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := Prove(t.Context(), proveConfig(t, &world{}, "cpu", "absent")); !errors.Is(err, backend.ErrUnavailable) {
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
	e := &single{name: "x"}
	gnark := &contender{samples: ms(90, 110, 100)}
	r := (&contender{single: e, samples: ms(30, 40, 50), msm: ms(7, 5, 6), solves: ms(20, 10, 30)}).result(gnark, 20*time.Millisecond, time.Millisecond)
	if r.Speedup != 2.5 || r.SpeedupWithoutSolve != 4 || r.Stock != 100 || r.StockMin != 90 || r.Median != 40 || r.MSM != 6 || !r.Verified {
		t.Errorf("%+v", r)
	}
	gnark.refused = 1
	r = (&contender{single: e, samples: ms(20), solves: ms(20)}).result(gnark, 20*time.Millisecond, 0)
	if r.SpeedupWithoutSolve != 0 || r.Verified {
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
	cfg := proveConfig(t, &world{}, "a")
	cfg.Circuits, cfg.Squares, cfg.Count = []string{circuits.Squares}, 100, 1
	cfg.OwnSetup, cfg.NoStock, cfg.NoKeep, cfg.CacheDir = true, true, true, ""
	runs, _, err := Prove(t.Context(), cfg)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	r := runs[0]
	if r.Circuit != "squares-100" || r.Constraints != 100 || !r.Verified || r.Count != 1 || r.Median <= 0 || r.OwnSolve <= 0 || r.AfterSolve <= 0 || r.Setup <= 0 {
		t.Errorf("%+v", r)
	}
	if r.Stock != 0 || r.StockSamples != nil || r.Solve != 0 || r.FFT != 0 || r.Speedup != 0 || r.SpeedupWithoutSolve != 0 {
		t.Errorf("what gnark took is in %+v", r)
	}
}
