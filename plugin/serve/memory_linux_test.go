package serve

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// TestMemoryIsHidden: not even another process of a plugin's user can read its memory, and no core
// file contains it, unless AllowDumps was called.
func TestMemoryIsHidden(t *testing.T) {
	user := os.Geteuid()
	as := &syscall.SysProcAttr{}
	if user == 0 { // who reads everything
		user = 65534
		as.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	dir, err := os.MkdirTemp("/tmp", "hidden") // t.TempDir is below a folder that only root may enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	exe, err := os.ReadFile(filepath.Join(plugintest.Dir(t), "msm-backend-test"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "plugin"), exe, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, user, -1); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"", "dumps"} {
		settings, err := json.Marshal(wire.Daemon{Socket: filepath.Join(dir, "at"+mode)})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(dir, "plugin"), wire.ServeArgument, string(settings))
		cmd.Env = append(os.Environ(), "TESTPLUGIN="+mode)
		cmd.SysProcAttr = as
		var log plugintest.Capture
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		plugintest.Eventually(t, time.Minute, "it serves", func() bool { return strings.Contains(log.String(), "a daemon serves") })
		at := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
		read := exec.Command("cat", at+"environ")
		read.SysProcAttr = as
		if out, err := read.CombinedOutput(); (err == nil) != (mode == "dumps") {
			t.Errorf("mode %q: its user reads %q, %v", mode, out, err)
		}
		limits, err := os.ReadFile(at + "limits")
		if err != nil {
			t.Fatal(err)
		}
		if none := regexp.MustCompile(`Max core file size +0 +0 `).Match(limits); mode == "" && !none {
			t.Errorf("a core file may be left: %s", limits)
		}
	}
}

// TestLockedArenas: an arena is locked if that is asked for and allowed. Otherwise it is used all
// the same.
func TestLockedArenas(t *testing.T) {
	was := locks
	defer func() { locks = was }()
	a, err := shm.NewArena(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	fd, err := unix.Dup(int(a.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	m, err := shm.Attach(os.NewFile(uintptr(fd), "arena"), 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	locked := func() bool {
		b, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		return !regexp.MustCompile(`VmLck:\s+0 kB`).Match(b)
	}
	log := slog.New(slog.DiscardHandler)
	locks = false
	if lock(m, log); locked() {
		t.Error("it is locked, and nobody asked for it")
	}
	locks = true
	if err := m.Lock(); err != nil {
		t.Skip("the limit of locked memory: ", err)
	}
	if err := unix.Munlock(m.Bytes()); err != nil {
		t.Fatal(err)
	}
	if lock(m, log); !locked() {
		t.Error("it is not locked")
	}
}
