package pippin_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/backendtest"
	"github.com/pippin-zk/pippin/msm"
	"github.com/pippin-zk/pippin/plugin"
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
		e     *msm.Engine
		bases *msm.BN254G1Bases
	}
	var provers []prover
	for range 2 {
		open := pippin.Opener(pippin.Options{Restarts: 1000, Backoff: time.Millisecond})
		e, err := msm.New(t.Context(), msm.Config{Open: open, Backend: "daemon", RetryPause: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond})
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
		for end := time.Now().Add(time.Minute); answered() < len(provers); {
			if time.Now().After(end) {
				t.Fatal("the provers do not return to the daemon")
			}
		}
	}
}
