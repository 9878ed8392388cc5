package clusters

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster/server"
)

// TestUpgrade goes from the version before to this one while proofs are made: the server
// first, then clients and workers, which differ by one version for a while. A version whose
// clients shared their streams ends its jobs before: its folder is refused, and its tickets are
// good when its streams are gone. scripts/test-upgrade builds the other msm.
func TestUpgrade(t *testing.T) {
	old := os.Getenv("PIPPIN_TEST_OLD_MSM")
	if old == "" {
		t.Skip("scripts/test-upgrade runs this, with PIPPIN_TEST_OLD_MSM")
	}
	dir := filepath.Join(t.TempDir(), "cluster")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	command := func(program string, args ...string) *exec.Cmd {
		c := exec.Command(program, append([]string{"cluster"}, args...)...)
		c.Env = append(os.Environ(), runAsMsm+"=1")
		c.Stdout, c.Stderr = t.Output(), t.Output()
		return c
	}
	start := func(program string, args ...string) (end func()) {
		t.Helper()
		c := command(program, args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		ended := false
		end = func() {
			if ended {
				return
			}
			ended = true
			_ = c.Process.Signal(syscall.SIGTERM)
			if err := <-done; err != nil {
				t.Log(program, args, err)
			}
		}
		t.Cleanup(end)
		return end
	}
	flags, right, _, verify := clusterFiles(t, t.TempDir())
	ticket := filepath.Join(dir, server.ClientTicket)
	prove := func(program, when string) {
		t.Helper()
		_ = os.Remove(right + ".proof")
		args := append([]string{"prove", "--ticket", ticket}, flags...)
		for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) { // until the server is up
			if err := command(program, append(args, right)...).Run(); err == nil {
				break
			} else if time.Now().After(end) {
				t.Fatal(when, err)
			}
		}
		if err := verify(right + ".proof"); err != nil {
			t.Error(when, err)
		}
		t.Log(when)
	}
	own := os.Args[0]
	up := []string{"up", "--dir", dir, "--listen", address, "--room", "256MiB"}
	work := func(program, name string) func() {
		for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, server.WorkerTicket)); err == nil {
				break
			} else if time.Now().After(end) {
				t.Fatal("no ticket")
			}
		}
		return start(program, "work", "--ticket", filepath.Join(dir, server.WorkerTicket), "--cache", t.TempDir(), "--name", name)
	}
	oldServer := start(old, up...)
	oldWorker := work(old, "old")
	prove(old, "all are of the version before")
	oldServer()
	if _, err := os.Stat(filepath.Join(dir, "jetstream", "jetstream", "$G", "streams", "pippin_queue")); err == nil {
		oldWorker()
		refused := command(own, up...)
		refused.Stdout, refused.Stderr = nil, nil
		if text, err := refused.CombinedOutput(); err == nil || !strings.Contains(string(text), "then remove its streams") {
			t.Fatalf("a folder whose clients share streams: %v, %s", err, text)
		}
		kept := filepath.Join(t.TempDir(), server.ClientTicket)
		if err := os.Rename(ticket, kept); err != nil {
			t.Fatal(err)
		}
		ticket = kept
		for _, path := range []string{"jetstream", server.WorkerTicket} { // the worker waits for its ticket
			if err := os.RemoveAll(filepath.Join(dir, path)); err != nil {
				t.Fatal(err)
			}
		}
		start(own, up...)
		work(own, "new")
		prove(own, "all are new, with the ticket of the version before")
		return
	}
	start(own, up...)
	prove(old, "the server is new")
	prove(own, "the server and a client are new")
	work(own, "new")
	oldWorker()
	prove(old, "a client is of the version before")
	prove(own, "all are new")
}
