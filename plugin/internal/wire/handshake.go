package wire

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/plugin/internal/proto"
)

// ProtocolVersion is the newest version of the protocol that is
// spoken here; host and plugin agree on the newest that both know.
const ProtocolVersion = 5

// ServiceName is what the plugin is called inside go-plugin.
const ServiceName = "backend"

// ChannelFD is the descriptor that a plugin inherits as its end of the
// descriptor channel.
const ChannelFD = 3

// Handshake keeps a plugin from being run by hand; it is no secret.
var Handshake = goplugin.HandshakeConfig{
	MagicCookieKey:   "PIPPIN_BACKEND_PLUGIN",
	MagicCookieValue: "d7a3e6f5-5d0b-4b0e-9f3c-msm",
}

// Versions lists a plugin under every version of the protocol that is spoken.
func Versions(p goplugin.Plugin) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ProtocolVersion: {ServiceName: p}}
}

// HostSide gives the host its connection to the plugin.
type HostSide struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (HostSide) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

func (HostSide) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return proto.NewBackendClient(conn), nil
}
