//go:build linux

package plugin

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

// hostEnv makes the test binary a host that waits to be killed. Its value is the mode of the host's
// plugin.
const hostEnv = "PIPPIN_TEST_HOST"

// hostMain opens a plugin, prints its process and stays in the middle of a call.
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
	b := plugintest.NewBN(1000)
	id, err := c.LoadBases(context.Background(), b.Bases())
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("plugin", processOf(c).ID())
	_, err = c.MSM(context.Background(), []backend.Job{{Bases: id, Count: 1000, Input: backend.Input{Bytes: b.Scalars}}})
	fmt.Println("error", err)
}

// TestNoOrphan ends the host in the middle of a call in every possible way. Nothing is left of the
// plugin and its children, nor in TMPDIR.
func TestNoOrphan(t *testing.T) {
	for name, c := range map[string]struct {
		mode   string
		signal syscall.Signal
		both   bool // the plugin is killed with its host
	}{
		"killed":               {"delay=600000", syscall.SIGKILL, false},
		"killed, plugin deaf":  {"deaf", syscall.SIGKILL, false},
		"killed with plugin":   {"delay=600000", syscall.SIGKILL, true},
		"killed with children": {"children=600000", syscall.SIGKILL, false},
		"SIGHUP":               {"children=600000", syscall.SIGHUP, false},
		"SIGQUIT":              {"delay=600000", syscall.SIGQUIT, false},
		"SIGTERM":              {"delay=600000", syscall.SIGTERM, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(c.signal) {
				t.Skipf("%v is ignored, as under nohup, and so in every process that is started", c.signal)
			}
			tmp := t.TempDir()
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			host := exec.Command(exe, plugintest.Dir(t))
			host.Env = append(os.Environ(), hostEnv+"="+c.mode, "TMPDIR="+tmp)
			// As in a terminal, the signal goes to the host's whole process group.
			host.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			pid, child, started := "", "", false
			wantChild := strings.HasPrefix(c.mode, "children")
			for lines := bufio.NewScanner(out); (pid == "" || !started || wantChild && child == "") && lines.Scan(); {
				if rest, ok := strings.CutPrefix(lines.Text(), "plugin "); ok {
					pid = rest
				}
				if _, rest, ok := strings.Cut(lines.Text(), "msg=child plugin=test pid="); ok {
					child = rest
				}
				if strings.HasPrefix(lines.Text(), "error") {
					t.Fatal(lines.Text())
				}
				started = started || c.mode == "deaf" || strings.Contains(lines.Text(), "started")
			}
			if !alive(pid) || wantChild && !alive(child) {
				t.Fatalf("no plugin %q or child %q to begin with", pid, child)
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
				t.Errorf("while it runs there is %v", left)
			}
			if c.both {
				n, _ := strconv.Atoi(pid)
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
			begin := time.Now()
			_ = syscall.Kill(-host.Process.Pid, c.signal)
			_ = host.Wait()
			plugintest.Eventually(t, time.Minute, "the plugin ends", func() bool { return !alive(pid) })
			if wantChild {
				plugintest.Eventually(t, time.Minute, "its child ends", func() bool { return !alive(child) })
			}
			t.Logf("the plugin ended %v after its host", time.Since(begin).Round(time.Millisecond))
			if left, _ := filepath.Glob(filepath.Join(tmp, "*")); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestChildrenEndWithThePlugin: a process that the plugin started does not outlive the plugin,
// whoever ends that.
func TestChildrenEndWithThePlugin(t *testing.T) {
	for name, end := range map[string]func(*Client){
		"closed": func(c *Client) { c.Close() },
		"killed": func(c *Client) { _ = syscall.Kill(c.Info().PID, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			var log plugintest.Capture
			s := spec(t, "children")
			s.Logger = log.Logger()
			c := mustOpen(t, s)
			child := ""
			plugintest.Eventually(t, time.Minute, "the child starts", func() bool {
				_, rest, ok := strings.Cut(log.String(), "msg=child plugin=test pid=")
				child, _, _ = strings.Cut(rest, "\n")
				return ok
			})
			if !alive(child) {
				t.Fatalf("no child %q to begin with", child)
			}
			end(c)
			<-c.Done()
			plugintest.Eventually(t, time.Minute, "the child ends", func() bool { return !alive(child) })
		})
	}
}

// alive reports whether a process runs. A zombie does not.
func alive(pid string) bool {
	s := state(pid)
	return s != "" && s != "Z"
}

// state returns the letter of a process's state, or "".
func state(pid string) string {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return rest[:1]
}
