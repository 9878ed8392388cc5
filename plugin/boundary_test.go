//go:build linux

package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/logs"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/text"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// TestHostThatIsAPlugin: a host that another program started as its plugin has variables that must
// not reach its own plugin.
func TestHostThatIsAPlugin(t *testing.T) {
	for name, value := range map[string]string{
		"PLUGIN_PROTOCOL_VERSIONS": "5,6", "PLUGIN_MULTIPLEX_GRPC": "true", "PLUGIN_CLIENT_CERT": "another's",
		"PLUGIN_UNIX_SOCKET_DIR": "/nowhere", "PLUGIN_UNIX_SOCKET_GROUP": "no-such-group", "PLUGIN_MIN_PORT": "x",
	} {
		t.Setenv(name, value)
	}
	plugintest.Check(t, mustOpen(t, spec(t, "")), 100)
}

// TestEnvironment: a plugin gets the variables on the list, those that its Spec adds, and nothing
// else.
func TestEnvironment(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "3")
	t.Setenv("PIPPIN_GPU_MEMORY", "1GiB")
	t.Setenv("VAULT_TOKEN", "s.ecret")
	t.Setenv("NOTIFY_SOCKET", "/run/systemd/notify")
	var log plugintest.Capture
	s := spec(t, "environment")
	s.Env = append(s.Env, "PIPPIN_GPU_MEMORY=2GiB", "MINE=1", "PLUGIN_PROTOCOL_VERSIONS=7")
	s.Logger = log.Logger()
	plugintest.Check(t, mustOpen(t, s), 10)
	got := log.String()
	for _, want := range []string{"CUDA_VISIBLE_DEVICES=3", "PIPPIN_GPU_MEMORY=2GiB", "MINE=1", "PATH="} {
		if !strings.Contains(got, "variable "+want) {
			t.Errorf("no %s", want)
		}
	}
	for _, secret := range []string{"VAULT_TOKEN", "NOTIFY_SOCKET", "PIPPIN_GPU_MEMORY=1GiB", "PLUGIN_PROTOCOL_VERSIONS=7"} {
		if strings.Contains(got, "variable "+secret) {
			t.Errorf("the plugin got %s", secret)
		}
	}
}

// TestLongTMPDIR: the path of a socket is bounded, and the error says so.
func TestLongTMPDIR(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 25))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := spec(t, "") // built while the folder is still usable
	t.Setenv("TMPDIR", dir)
	_, err := Open(ctx, s)
	if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "set TMPDIR to a shorter one") {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	// The longest allowed path works.
	short, err := os.MkdirTemp("/tmp", "t")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	most := filepath.Join(short, strings.Repeat("x", wire.MaxSocketPath-len(socketName)-len(short)-1))
	if err := os.Mkdir(most, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", most)
	plugintest.Check(t, mustOpen(t, s), 10)
}

// TestTMPDIRThatCannotBeWritten: the error names the variable, its value and what to do.
func TestTMPDIRThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := spec(t, "") // built while the folder is still usable
	for _, dir := range []string{file, "/nowhere"} {
		t.Setenv("TMPDIR", dir)
		_, err := Open(ctx, s)
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "and "+dir+" (TMPDIR) cannot be written; set TMPDIR") {
			t.Errorf("%v", err)
		}
	}
}

// control reports whether s has anything that a terminal would obey.
func control(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) >= 0
}

// TestControlCharactersStayAway: what a plugin logs, prints or fails with must not move a
// terminal's cursor or forge a line. An error is not longer than anybody reads.
func TestControlCharactersStayAway(t *testing.T) {
	var log plugintest.Capture
	s := spec(t, "escapes")
	s.Logger = log.Raw()
	c, err := Open(ctx, s)
	if err == nil {
		c.Close()
		t.Fatal("opened")
	}
	if control(err.Error()) || !strings.Contains(err.Error(), `refused\x1b[2J`) || len(err.Error()) > 2*text.Max {
		t.Errorf("the error, of %d bytes: %.200q", len(err.Error()), err)
	}
	got := log.String()
	for _, want := range []string{`\x1b]0;title\a`, `key\x1b[2J`, `va\x1b[31mlue`, `plain \x1b[1m and \u202e and \xff`} {
		if !strings.Contains(got, want) {
			t.Errorf("the log has no %s", want)
		}
	}
	if control(got) || strings.Contains(got, "\nlevel=ERROR") {
		t.Errorf("raw in the log: %q", got)
	}
}

// TestChattyPlugin: a plugin that logs without end costs its host a bounded log, which says that
// lines are missing. It delays no call.
func TestChattyPlugin(t *testing.T) {
	var log plugintest.Capture
	s := spec(t, "chatter")
	begin := time.Now()
	s.Logger = log.Logger()
	c := mustOpen(t, s)
	plugintest.Check(t, c, 10)
	c.Close()
	got := log.String()
	// A line is about as long in the host's log as in the plugin's.
	if n, most := len(got), 2*(logs.Burst+int(logs.Rate*time.Since(begin).Seconds())); n > most {
		t.Errorf("%d bytes of log, more than %d", n, most)
	}
	if !strings.Contains(got, "lines were left out") {
		t.Error("the log does not say that it is incomplete")
	}
	if words := processOf(c).Obituary(); !strings.Contains(words, "chatter is over") {
		t.Errorf("the last words are not the last: %s", words)
	}
}

// TestErrorsSayWhichProcess: the error tells an operator which process it was and how it ended.
func TestErrorsSayWhichProcess(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	_ = syscall.Kill(c.Info().PID, syscall.SIGKILL)
	<-c.Done()
	_, err := c.MSM(ctx, nil)
	for _, want := range []string{"plugin test", "process " + processOf(c).ID(),
		filepath.Join(plugintest.Dir(t), Prefix+"test"), "signal: killed"} {
		if !errors.Is(err, backend.ErrGone) || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q: %v", want, err)
		}
	}
}
