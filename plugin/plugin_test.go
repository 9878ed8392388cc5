//go:build linux

package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/process"
)

func TestMain(m *testing.M) {
	if os.Getenv(hostEnv) != "" {
		hostMain()
		return
	}
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	plugintest.Clean()
	os.Exit(code)
}

// spec returns a Spec of the test plugin, which misbehaves as mode says.
func spec(t testing.TB, mode string) Spec {
	return Spec{
		Name:         "test",
		Search:       Search{Dirs: []string{plugintest.Dir(t)}},
		Env:          []string{"TESTPLUGIN=" + mode},
		StartTimeout: 20 * time.Second,
	}
}

func mustOpen(t testing.TB, s Spec) *Client {
	t.Helper()
	c, err := Open(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// processOf returns the process that a client has started.
func processOf(c *Client) *process.Process { return c.peer.(process.Started).Process }

func TestRoundTrip(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	if got := c.Info(); got.Name != "fake" || len(got.Can.MSM) != 8 || got.InProcess || got.PID == 0 || got.Devices[0].Memory != 1<<40 {
		t.Fatalf("info %+v", got)
	}
	for _, n := range []int{0, 1, 2, 1000, 1 << 12, 1<<15 + 1, 1 << 18} {
		plugintest.Check(t, c, n)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.MSM(context.Background(), nil); !errors.Is(err, backend.ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
}
