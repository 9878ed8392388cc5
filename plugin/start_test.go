//go:build linux

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// versions returns what the error says of a plugin of another version.
func versions(of int) string {
	return fmt.Sprintf("Plugin version: %d, Client versions: [%d]; process", of, wire.ProtocolVersion)
}

func TestFailedStarts(t *testing.T) {
	for _, c := range []struct {
		mode string
		says []string
	}{
		{"exit", []string{"exit status 3", "libfoo.so.7: cannot open shared object file"}},
		{"hang", []string{"no answer within"}},
		{"print", []string{"hello, I print to stdout"}},
		{"cookie", []string{"This binary is a plugin", "exit status 1"}},
		{"older", []string{versions(wire.ProtocolVersion - 1)}},
		{"newer", []string{versions(wire.ProtocolVersion + 1)}},
		{"open-error", []string{"no device of the right colour"}},
		{"open-panic", []string{"panicked: open"}},
		{"open-hang", []string{"no answer within"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			s := spec(t, c.mode)
			if strings.Contains(c.mode, "hang") {
				s.StartTimeout = time.Second
			}
			begin := time.Now()
			client, err := Open(context.Background(), s)
			if err == nil {
				client.Close()
				t.Fatal("it started")
			}
			if !errors.Is(err, backend.ErrUnavailable) {
				t.Errorf("not ErrUnavailable: %v", err)
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
			if other := c.mode == "older" || c.mode == "newer"; other && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %v", err)
			}
			if d := time.Since(begin); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestOpenCancelled(t *testing.T) {
	for _, mode := range []string{"hang", "open-hang"} {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		begin := time.Now()
		_, err := Open(ctx, spec(t, mode))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", mode, err)
		}
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("%s: took %v", mode, d)
		}
	}
	if _, err := Open(context.Background(), Spec{}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("no name: %v", err)
	}
}

// TestTwoHosts: two clients of one plugin are two processes that share nothing.
func TestTwoHosts(t *testing.T) {
	s := spec(t, "")
	a, b := mustOpen(t, s), mustOpen(t, s)
	if processOf(a).ID() == processOf(b).ID() {
		t.Fatal("one process")
	}
	x := plugintest.NewBN(5)
	id := plugintest.Load(t, a, x.Bases())
	if _, err := b.MSM(context.Background(),
		[]backend.Job{{Bases: id, Count: 5, Input: backend.Input{Bytes: x.Scalars}}}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("the other's bases: %v", err)
	}
	_ = processOf(a).Kill(context.Background())
	<-a.Done()
	plugintest.Check(t, b, 100)
	if _, err := a.MSM(context.Background(), nil); !errors.Is(err, backend.ErrGone) {
		t.Errorf("the killed one: %v", err)
	}
}

// TestOutput: whatever a backend prints or logs reaches the host's log, even if it is not a proper
// log line.
func TestOutput(t *testing.T) {
	for mode, want := range map[string][]string{
		"stdout":    {"printed by the backend", "printed by the backend to stderr", "printed to descriptor 1"},
		"log":       {"level=WARN", "a warning", "answer=42", "a detail", "plugin=test", "map[k:v]"},
		"weird-log": {`@message`, strings.Repeat("x", 1000)},
	} {
		var log plugintest.Capture
		s := spec(t, mode)
		s.Logger = log.Logger()
		c := mustOpen(t, s)
		plugintest.Check(t, c, 10)
		for _, w := range want {
			plugintest.Eventually(t, time.Minute, mode+": "+w[:min(len(w), 40)], func() bool { return strings.Contains(log.String(), w) })
		}
		c.Close()
	}
}

// TestQuietLog: lines that the host's log would drop are not sent.
func TestQuietLog(t *testing.T) {
	c := mustOpen(t, spec(t, "log"))
	plugintest.Check(t, c, 10)
	if words := processOf(c).Obituary(); strings.Contains(words, "a detail") {
		t.Errorf("debug lines reach a host without a log: %s", words)
	}
}

func TestNothingLeaks(t *testing.T) {
	s := spec(t, "")
	round := func() {
		c, err := Open(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		plugintest.Check(t, c, 3000)
		buf, err := c.Alloc(context.Background(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		buf.Bytes()[999] = 1 // it is valid until it is freed
		buf.Free()
	}
	count := func() (goroutines, fds, maps, sockets int) {
		runtime.GC()
		e, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		m, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		d, err := os.ReadDir(os.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range d {
			if strings.HasPrefix(x.Name(), "plugin-dir") {
				sockets++
			}
		}
		return runtime.NumGoroutine(), len(e), strings.Count(string(m), "pippin-arena"), sockets
	}
	t.Setenv("TMPDIR", t.TempDir())
	for range 3 {
		round()
	}
	const rounds = 10 // if anything is left, each round leaves it
	time.Sleep(50 * time.Millisecond)
	g0, f0, m0, s0 := count()
	for range rounds {
		round()
	}
	var g, f, m, d int
	for range 500 { // 10 s
		if g, f, m, d = count(); g <= g0 && f <= f0 && m <= m0 && d <= s0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	t.Errorf("goroutines %d to %d, descriptors %d to %d, arenas %d to %d, socket folders %d to %d\n%s",
		g0, g, f0, f, m0, m, s0, d, buf[:runtime.Stack(buf, true)])
}
