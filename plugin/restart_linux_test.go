package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// TestKilledAtStart kills a plugin before its backend is open: the start is
// repeated until the restarts are used up.
func TestKilledAtStart(t *testing.T) {
	s := spec(t, "open-hang")
	sup := NewSupervisor(s, Policy{Restarts: 2, Backoff: time.Millisecond})
	defer sup.Close()
	done := make(chan error, 1)
	go func() {
		_, err := sup.Open(ctx)
		done <- err
	}()
	killed := map[int]bool{}
	for {
		select {
		case err := <-done:
			if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "died 3 times") || len(killed) != 3 {
				t.Errorf("after %d kills: %v", len(killed), err)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
		for _, pid := range running(t, Prefix+"test") {
			if !killed[pid] && syscall.Kill(pid, syscall.SIGKILL) == nil {
				killed[pid] = true
			}
		}
	}
}

// running are this process's children of that name.
func running(t *testing.T, name string) (pids []int) {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Skip("this kernel does not list children")
	}
	for _, l := range lists {
		b, err := os.ReadFile(l)
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(b)) {
			comm, err := os.ReadFile("/proc/" + f + "/comm")
			if pid, bad := strconv.Atoi(f); err == nil && bad == nil && strings.TrimSpace(string(comm)) == name[:min(15, len(name))] {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
