//go:build linux

package serve

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"go.uber.org/goleak"

	"github.com/pippin-zk/pippin/plugin"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	if os.Getenv(proverEnv) != "" {
		proverMain(os.Args[1])
		return
	}
	if size, err := strconv.ParseUint(os.Getenv(hangingEnv), 10, 64); err == nil {
		serveHanging(size)
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

// TestHostsOfOtherVersions: a host one version older or newer starts this plugin and gives it up,
// with an error of one line that names both versions.
func TestHostsOfOtherVersions(t *testing.T) {
	for _, version := range []int{wire.ProtocolVersion - 1, wire.ProtocolVersion + 1} {
		ours, theirs, err := shm.Pair()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(plugintest.Dir(t), "msm-backend-test"))
		cmd.ExtraFiles = []*os.File{theirs}
		host := goplugin.NewClient(&goplugin.ClientConfig{
			HandshakeConfig:  wire.Handshake,
			VersionedPlugins: map[int]goplugin.PluginSet{version: {wire.ServiceName: wire.HostSide{}}},
			AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
			AutoMTLS:         true,
			Cmd:              cmd,
			Logger:           hclog.NewNullLogger(),
		})
		_, err = host.Client()
		want := fmt.Sprintf("Plugin version: %d, Client versions: [%d]", wire.ProtocolVersion, version)
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("a host of version %d: %v", version, err)
		}
		host.Kill()
		theirs.Close()
		ours.Close()
	}
}
