package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster/server"
)

// TestUpgrade goes from the version before to this one while proofs are made: the server
// first, then clients and workers, which differ by one version for a while.
// scripts/test-upgrade builds the other msm.
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
	prove := func(program, when string) {
		t.Helper()
		_ = os.Remove(right + ".proof")
		args := append([]string{"prove", "--ticket", filepath.Join(dir, server.ClientTicket)}, flags...)
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
	start(own, up...)
	prove(old, "the server is new")
	prove(own, "the server and a client are new")
	work(own, "new")
	oldWorker()
	prove(old, "a client is of the version before")
	prove(own, "all are new")
}
