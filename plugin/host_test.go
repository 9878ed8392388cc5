//go:build linux

package plugin

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// hostEnv makes the test binary a host that waits to be killed; its value is
// the mode of its plugin.
const hostEnv = "PIPPIN_TEST_HOST"

// hostMain opens a plugin, says which, and is in the middle of a call.
func hostMain() {
	s := Spec{
		Name: "test", Search: Search{Dirs: []string{os.Args[1]}}, Env: []string{"TESTPLUGIN=" + os.Getenv(hostEnv)},
		Logger: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	}
	c, err := Open(context.Background(), s)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	b := newBN(1000)
	id, err := c.LoadBases(context.Background(), b.bases())
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("plugin", c.proc.ID())
	_, err = c.MSM(context.Background(), []backend.Job{{Bases: id, Count: 1000, Scalars: b.scalars}})
	fmt.Println("error", err)
}

// TestNoOrphan kills the host in the middle of a call.
func TestNoOrphan(t *testing.T) {
	for _, mode := range []string{"delay=600000", "deaf"} {
		tmp := t.TempDir()
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		host := exec.Command(exe, testDir(t))
		host.Env = append(os.Environ(), hostEnv+"="+mode, "TMPDIR="+tmp)
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		pid, started := "", false
		for lines := bufio.NewScanner(out); (pid == "" || !started) && lines.Scan(); {
			if rest, ok := strings.CutPrefix(lines.Text(), "plugin "); ok {
				pid = rest
			}
			if strings.HasPrefix(lines.Text(), "error") {
				t.Fatal(lines.Text())
			}
			started = started || mode == "deaf" || strings.Contains(lines.Text(), "started")
		}
		if !alive(pid) {
			t.Fatalf("%s: no plugin %q to begin with", mode, pid)
		}
		begin := time.Now()
		_ = host.Process.Signal(syscall.SIGKILL)
		_ = host.Wait()
		eventually(t, 5*time.Second, mode+": the plugin ends", func() bool { return !alive(pid) })
		t.Logf("%s: the plugin ended %v after its host", mode, time.Since(begin).Round(time.Millisecond))
		if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
			t.Errorf("%s: left behind: %v", mode, left)
		}
	}
}

// alive tells whether a process runs; one that nobody waited for does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
