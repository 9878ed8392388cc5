package pippin_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/record"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/plugin"
)

// What TestDaemonLoadsAgain measures: scripts/bench-daemon sets these.
var (
	daemonBases  = flag.Int("daemon-bases", 10, "log2 of how many bases TestDaemonLoadsAgain loads")
	daemonServed = flag.String("daemon-served", "", "socket of a daemon that runs, such as msm serve's, for TestDaemonLoadsAgain")
	daemonRecord = flag.String("daemon-record", "", "file for the record of TestDaemonLoadsAgain")
)

// daemonAt starts the plugin as a daemon, and answers the name of its backend.
func daemonAt(t testing.TB, socket string) (name string, process *os.Process) {
	t.Helper()
	dir, err := pluginDir()
	if err != nil {
		t.Fatal(err)
	}
	settings, err := json.Marshal(plugin.Daemon{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, program()), "serve", string(settings))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return "daemon:" + socket, cmd.Process
}

// connected opens a session when the daemon is there.
func connected(t testing.TB, name string) backend.Backend {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		b, err := pippin.Opener(pippin.Options{})(context.Background(), name)
		if err == nil {
			return b
		}
		if !errors.Is(err, backend.ErrUnavailable) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestDaemonConformance runs the suite of every backend in a daemon's sessions.
func TestDaemonConformance(t *testing.T) {
	name, _ := daemonAt(t, filepath.Join(t.TempDir(), "d.sock"))
	opened := func(t testing.TB) backend.Backend { return connected(t, name) }
	backendtest.Run(t, opened, backendtest.Options{Curves: []backend.Curve{backend.BN254}, Logs: []int{6, 9}})
	backendtest.RunNumbers(t, opened, backendtest.Options{})
}

// TestDaemonKilledInALoop kills the daemon of two provers again and again, and
// starts another: every answer is right, and both return to it.
func TestDaemonKilledInALoop(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "d.sock")
	t.Setenv("PIPPIN_DAEMON", socket)
	name, process := daemonAt(t, socket)
	connected(t, name).Close()
	points, scalars, want := input(t, 1<<10)
	type prover struct {
		e     *engine.Engine
		bases *msm.BN254G1Bases
	}
	var provers []prover
	for range 2 {
		open := pippin.Opener(pippin.Options{})
		e, err := engine.New(t.Context(), engine.Config{
			Open: open, Backend: "daemon", RetryPause: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		bases, err := msm.BN254G1.Load(t.Context(), e, points)
		if err != nil {
			t.Fatal(err)
		}
		provers = append(provers, prover{e, bases})
	}
	answered := func() (byDaemon int) {
		for _, p := range provers {
			if got, err := p.bases.MSM(t.Context(), scalars); err != nil || got != want {
				t.Fatalf("wrong point or error: %v", err)
			}
			if p.e.Backend() == "daemon" {
				byDaemon++
			}
		}
		return byDaemon
	}
	for range 3 {
		for range 5 {
			answered()
		}
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
		answered() // by the CPU, where no daemon is
		_, process = daemonAt(t, socket)
		for end := time.Now().Add(4 * time.Minute); answered() < len(provers); {
			if time.Now().After(end) {
				t.Fatal("the provers do not return to the daemon")
			}
		}
	}
}

// loadedAgain is a run of the record: milliseconds that loading bases takes which the
// daemon holds, and took when it did not.
type loadedAgain struct {
	Op      string    `json:"op"`
	Curve   string    `json:"curve"`
	Group   string    `json:"group"`
	N       int       `json:"n"`
	Backend string    `json:"backend"` // that the daemon serves
	Points  string    `json:"points"`  // where the prover has them
	Count   int       `json:"count"`
	Min     float64   `json:"min_ms"`
	Median  float64   `json:"median_ms"`
	Samples []float64 `json:"samples_ms"`
	First   float64   `json:"first_ms"`
	Checked bool      `json:"checked"`
}

// TestDaemonLoadsAgain loads bases through a daemon that held them for a prover which
// has left, by each way that there is, and computes with them each time.
func TestDaemonLoadsAgain(t *testing.T) {
	const rounds = 5
	n := 1 << *daemonBases
	socket := *daemonServed
	if socket == "" {
		socket = filepath.Join(t.TempDir(), "d.sock")
		daemonAt(t, socket)
	}
	name := "daemon:" + socket
	b := connected(t, name)
	served := record.Describe(*backendName, b.Info())
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	points, scalars, want := input(t, n)
	f, err := os.Create(filepath.Join(t.TempDir(), "points"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(layout.Bytes(points)); err != nil {
		t.Fatal(err)
	}
	// prover is one that starts, loads, computes and leaves.
	prover := func(load func(e *engine.Engine) (*msm.BN254G1Bases, error)) (float64, backend.Digest) {
		e, err := pippin.New(t.Context(), engine.Config{Backend: name, Fallbacks: []string{engine.NoFallback}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		began := time.Now()
		bases, err := load(e)
		took := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := bases.MSM(t.Context(), scalars); err != nil || got != want {
			t.Fatalf("wrong point or error: %v", err)
		}
		digest, err := bases.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return took.Seconds() * 1e3, digest
	}
	fromFile := func(e *engine.Engine) (*msm.BN254G1Bases, error) {
		return msm.BN254G1.LoadFile(t.Context(), e, f, 0, n)
	}
	if *daemonRecord != "" {
		time.Sleep(3 * time.Second) // a file that changed just now is not known by its times
	}
	first, digest := prover(fromFile)
	taken := record.Record[loadedAgain]{Machine: record.ThisMachine(served.Commit)}
	taken.Machine.Backends = []record.BackendInfo{served}
	for _, way := range []struct {
		points string
		load   func(e *engine.Engine) (*msm.BN254G1Bases, error)
	}{
		{"in a file", fromFile},
		{"in memory, digest known", func(e *engine.Engine) (*msm.BN254G1Bases, error) {
			return msm.BN254G1.Load(t.Context(), e, points, msm.Known(digest))
		}},
		{"in memory", func(e *engine.Engine) (*msm.BN254G1Bases, error) { return msm.BN254G1.Load(t.Context(), e, points) }},
	} {
		run := loadedAgain{Op: "load_again", Curve: "bn254", Group: "g1", N: n, Backend: *backendName,
			Points: way.points, Count: rounds, First: first, Checked: true}
		for range rounds {
			took, _ := prover(way.load)
			run.Samples = append(run.Samples, took)
		}
		sorted := slices.Sorted(slices.Values(run.Samples))
		run.Min, run.Median = sorted[0], sorted[rounds/2]
		t.Logf("2^%d bases %s: %.2f ms, %.1f the first time", *daemonBases, run.Points, run.Median, first)
		taken.Runs = append(taken.Runs, run)
	}
	if *daemonRecord == "" {
		return
	}
	text, err := json.MarshalIndent(taken, "", "  ")
	if err == nil {
		err = os.WriteFile(*daemonRecord, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
