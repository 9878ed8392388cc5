package plugin

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// ProtocolVersion is the newest version of the protocol that this package
// speaks; host and plugin agree on the newest that both know.
const ProtocolVersion = 2

// serviceName is what the plugin is called inside go-plugin.
const serviceName = "backend"

// channelFD is the descriptor that a plugin inherits as its end of the
// descriptor channel.
const channelFD = 3

// handshake keeps a plugin from being run by hand; it is no secret.
var handshake = goplugin.HandshakeConfig{
	MagicCookieKey:   "PIPPIN_BACKEND_PLUGIN",
	MagicCookieValue: "d7a3e6f5-5d0b-4b0e-9f3c-msm",
}

// versions is the same plugin set under every version that is spoken.
func versions(p goplugin.Plugin) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ProtocolVersion: {serviceName: p}}
}

// hostSide gives the host its connection to the plugin.
type hostSide struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (hostSide) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

func (hostSide) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return proto.NewBackendClient(conn), nil
}
