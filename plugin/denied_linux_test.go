package plugin

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

// deniedEnv makes the test binary run TestDenied in a process in which a system call is denied. Its value is
// the name of the row and the folder of the test plugin, with a colon between.
const deniedEnv = "PIPPIN_TEST_DENIED"

// deny has a system call of this process, and of those that it starts, answer an error, as a container's
// seccomp profile does.
func deny(number uint32, with unix.Errno) error {
	const load, equal, answer, errnoIs, allow = 0x20, 0x15, 0x06, 0x00050000, 0x7fff0000
	filter := []unix.SockFilter{
		{Code: load}, // the call's number
		{Code: equal, Jf: 1, K: number},
		{Code: answer, K: errnoIs | uint32(with)},
		{Code: answer, K: allow},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	const setFilter, allThreads = 1, 1
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&program))); e != 0 {
		return e
	}
	return nil
}

// TestDenied: what a container denies that a plugin needs is one error of Open, which names it and what
// helps. Without that the calls would fail one after the other, or the plugin be killed.
func TestDenied(t *testing.T) {
	rows := map[string]struct {
		number uint32
		with   unix.Errno
		kind   error
		says   []string
	}{
		"memfd_create": {unix.SYS_MEMFD_CREATE, unix.EPERM, backend.ErrUnsupported,
			[]string{"memfd_create: operation not permitted", "allow memfd_create", "seccomp"}},
		"setpgid":   {unix.SYS_SETPGID, unix.EPERM, backend.ErrUnavailable, []string{"denies setpgid", "seccomp"}},
		"waitid":    {unix.SYS_WAITID, unix.EPERM, backend.ErrUnavailable, []string{"denies waitid", "seccomp"}},
		"no inodes": {unix.SYS_MKDIRAT, unix.ENOSPC, backend.ErrUnavailable, []string{"(TMPDIR) is full", "df -i"}},
	}
	if name, dir, child := strings.Cut(os.Getenv(deniedEnv), ":"); child {
		row, s := rows[name], Spec{Name: "test", Search: Search{Dirs: []string{dir}}}
		if err := deny(row.number, row.with); err != nil {
			t.Skip(err)
		}
		c, err := Open(context.Background(), s)
		if err == nil {
			c.Close()
			t.Fatal("it opens")
		}
		if !errors.Is(err, row.kind) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "killed") {
			t.Errorf("not one clear line: %v", err)
		}
		for _, want := range row.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
		return
	}
	for name := range rows {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestDenied$", "-test.v")
			cmd.Env = append(os.Environ(), deniedEnv+"="+name+":"+plugintest.Dir(t))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			} else if strings.Contains(string(out), "--- SKIP") {
				t.Skipf("%s", out)
			}
		})
	}
}

// TestNoExec: an executable on a file system from which none is executed is told as such.
func TestNoExec(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOEXEC, "size=64m"); err != nil {
		t.Skip("no file system can be mounted here: ", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	b, err := os.ReadFile(filepath.Join(plugintest.Dir(t), Prefix+"test"))
	if err == nil {
		err = os.Chmod(dir, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, Prefix+"test"), b, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := Search{Dirs: []string{dir}, NotBeside: true}
	if _, err := Find("test", s); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "mounted noexec") {
		t.Errorf("Find: %v", err)
	}
	if all := List(s); len(all) != 1 || all[0].Problem == nil {
		t.Errorf("List: %+v", all)
	}
}

// TestWithoutProc: where this program does not know its own folder, Find says so, and why that may be.
func TestWithoutProc(t *testing.T) {
	defer func(f func() (string, error)) { executable = f }(executable)
	executable = func() (string, error) { return "", unix.ENOENT }
	_, err := Find("nothing", Search{Dirs: []string{t.TempDir()}})
	if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "is /proc mounted?") {
		t.Errorf("Find: %v", err)
	}
	if _, err := Find("nothing", Search{NotBeside: true}); strings.Contains(err.Error(), "/proc") {
		t.Errorf("the folder was not to be searched: %v", err)
	}
}

// TestKilledIsNoNews: of a plugin whose start fails the error says why, not that it was then killed.
func TestKilledIsNoNews(t *testing.T) {
	s := spec(t, "hang")
	s.StartTimeout = 500 * time.Millisecond
	_, err := Open(context.Background(), s)
	if err == nil || strings.Contains(err.Error(), "signal: killed") || !strings.Contains(err.Error(), "; process ") {
		t.Errorf("%v", err)
	}
}
