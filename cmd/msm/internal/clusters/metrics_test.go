package clusters

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cmd/msm/internal/cli"
)

// TestClusterServesMetrics: the server of a cluster answers how it is, and an address that it
// cannot have is an error.
func TestClusterServesMetrics(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	up := func(ctx context.Context, address string, more ...string) (int, string) {
		var out strings.Builder
		args := []string{"cluster", "up", "--dir", filepath.Join(t.TempDir(), "c"), "--listen", "127.0.0.1:0",
			"--metrics", address, "--room", "64MiB", "--log-format", "json"}
		a := &cli.App{Stdout: io.Discard, Stderr: &out, Getenv: func(string) string { return "" }}
		Link(a)
		status := cli.Run(ctx, a, append(args, more...))
		return status, out.String()
	}
	if status, said := up(t.Context(), taken.Addr().String()); status != cli.ExitFailed || !strings.Contains(said, "in use") {
		t.Error(status, said)
	}
	for _, c := range []struct {
		name    string
		flags   []string
		metrics []string
	}{
		{"alone", nil, []string{`pippin_cluster_workers{state="working"} 0`, "\npippin_build_info{"}},
		{"with a worker", []string{"--work", "--cache", t.TempDir()}, []string{
			`pippin_cluster_workers{state="working"} 1`, "\npippin_build_info{", "\npippin_backend_preferred{",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := "unix:" + filepath.Join(t.TempDir(), "m")
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan int, 1)
			go func() { status, _ := up(ctx, socket, c.flags...); done <- status }()
			client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(socket, "unix:"))
			}}}
			get := func(path string) (int, string) {
				r, err := client.Get("http://x" + path)
				if err != nil {
					return 0, err.Error()
				}
				defer r.Body.Close()
				text, _ := io.ReadAll(r.Body)
				return r.StatusCode, string(text)
			}
			for path, wants := range map[string][]string{"/healthz": {"ok"}, "/readyz": {"ok"}, "/metrics": c.metrics} {
				for _, want := range wants {
					end := time.Now().Add(30 * time.Second)
					for {
						if status, text := get(path); status == http.StatusOK && strings.Contains(text, want) {
							break
						} else if time.Now().After(end) {
							t.Fatal(path, want, status, text)
						}
						time.Sleep(50 * time.Millisecond)
					}
				}
			}
			cancel()
			<-done
		})
	}
}
