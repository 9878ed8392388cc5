//go:build linux

package serve

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/pippin-zk/pippin/plugin"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	if os.Getenv(proverEnv) != "" {
		proverMain(os.Args[1])
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

func mustOpen(t testing.TB, s plugin.Spec) *plugin.Client {
	t.Helper()
	c, err := plugin.Open(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
