package metrics

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin"
	"github.com/pippin-zk/pippin/engine"
)

// TestThroughAPlugin: what only the plugin knows is in the metrics of its host, is
// counted anew after its death, and is served by the plugin itself where its
// environment says so.
func TestThroughAPlugin(t *testing.T) {
	dir, err := os.MkdirTemp("", "m") // whose path a socket's may be below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	build := exec.Command("go", "build", "-o", dir+"/", "../../cmd/msm-backend-cpu")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	socket := filepath.Join(dir, "s")
	e, m := watched(t, engine.Config{
		Open:    pippin.Opener(pippin.Options{PluginDirs: []string{dir}, Env: []string{"PIPPIN_PLUGIN_METRICS=unix:" + socket}}),
		Backend: "plugin:cpu", PingEvery: 10 * time.Millisecond, Patience: time.Minute,
	})
	its := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}}}
	for range 2 { // lives
		if err := ask(t.Context(), t, e, 1000); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the device's time in the host's metrics", func() bool {
			return value(t, m, "pippin_device_calls_total", "backend=plugin:cpu", "device=0") == 1 &&
				value(t, m, "pippin_device_busy_seconds_total", "backend=plugin:cpu", "device=0") > 0
		})
		eventually(t, "the plugin's own metrics", func() bool {
			r, err := its.Get("http://plugin/metrics")
			if err != nil {
				return false
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			return err == nil && strings.Contains(string(b), `pippin_device_calls_total{backend="cpu",device="0"} 1`)
		})
		deaths := value(t, m, "pippin_backend_deaths_total", "backend=plugin:cpu")
		if err := syscall.Kill(e.Info().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "its death", func() bool { return value(t, m, "pippin_backend_deaths_total", "backend=plugin:cpu") == deaths+1 })
	}
	throughADaemon(t, dir)
}

// throughADaemon has the plugin in dir serve sessions: what they have together is
// in the metrics of each, and the daemon's own.
func throughADaemon(t *testing.T, dir string) {
	own, socket := filepath.Join(dir, "own"), filepath.Join(dir, "d")
	daemon := exec.Command(filepath.Join(dir, "msm-backend-cpu"), "serve", fmt.Sprintf(`{"socket":%q}`, socket))
	daemon.Env = append(os.Environ(), "PIPPIN_PLUGIN_METRICS=unix:"+own)
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Process.Kill(); _ = daemon.Wait() }()
	eventually(t, "the daemon listens", func() bool { // its socket is there a little sooner
		c, err := net.Dial("unixpacket", socket)
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	name := "daemon:" + socket
	e, m := watched(t, engine.Config{Backend: name, Open: pippin.Opener(pippin.Options{}), PingEvery: 10 * time.Millisecond})
	if err := ask(t.Context(), t, e, 1000); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the daemon's sessions in the host's metrics", func() bool {
		return value(t, m, "pippin_daemon_sessions", "backend="+name) == 1 &&
			value(t, m, "pippin_daemon_resident_bytes", "backend="+name) >= 64_000
	})
	its := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", own)
		}}}
	eventually(t, "and in its own", func() bool {
		r, err := its.Get("http://daemon/metrics")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		return err == nil && strings.Contains(string(b), `pippin_daemon_sessions{backend="cpu"} 1`)
	})
}
