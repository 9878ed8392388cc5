package main

import (
	"context"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// alien serves something that is not a plugin of this version, or that
// answers nonsense, by hand.
func alien(mode string) {
	cookie, version := "d7a3e6f5-5d0b-4b0e-9f3c-msm", wire.ProtocolVersion
	switch mode {
	case "cookie":
		cookie = "another"
	case "older":
		version = wire.ProtocolVersion - 1
	case "newer":
		version = wire.ProtocolVersion + 1
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  goplugin.HandshakeConfig{MagicCookieKey: "PIPPIN_BACKEND_PLUGIN", MagicCookieValue: cookie},
		VersionedPlugins: map[int]goplugin.PluginSet{version: {"backend": side{}}},
		GRPCServer:       goplugin.DefaultGRPCServer,
	})
}

type side struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (side) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	proto.RegisterBackendServer(g, nonsense{})
	return nil
}

func (side) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

// nonsense answers what the protocol forbids.
type nonsense struct {
	proto.UnimplementedBackendServer
}

func (nonsense) Open(context.Context, *proto.OpenRequest) (*proto.OpenReply, error) {
	return &proto.OpenReply{Name: "nonsense", Can: &proto.Capabilities{Elements: []*proto.Element{{Kind: 1, Curve: 1}}}}, nil
}

func (nonsense) Attach(context.Context, *proto.AttachRequest) (*proto.AttachReply, error) {
	return &proto.AttachReply{}, nil
}

func (nonsense) LoadBases(s proto.Backend_LoadBasesServer) error {
	h, err := s.Recv()
	if err != nil {
		return err
	}
	if h.GetHeader().GetCount() == 3 {
		// More chunks consumed than there are.
		_ = s.Send(&proto.LoadReply{Step: &proto.LoadReply_Consumed{Consumed: 1 << 60}})
		<-s.Context().Done()
		return s.Context().Err()
	}
	return s.Send(&proto.LoadReply{Step: &proto.LoadReply_Bases{Bases: 7}})
}

func (nonsense) NewSpace(_ context.Context, r *proto.NewSpaceRequest) (*proto.NewSpaceReply, error) {
	if r.Count == 1 {
		return &proto.NewSpaceReply{}, nil
	}
	return &proto.NewSpaceReply{Space: 3}, nil
}

// Run answers too many, too few, or the last with a byte too many or too few; to one
// job 3 bytes, to two nothing.
func (nonsense) Run(_ context.Context, r *proto.RunRequest) (*proto.RunReply, error) {
	steps, err := backend.DecodeSteps(r.Program)
	if err != nil {
		return nil, err
	}
	n := len(steps)
	if _, ok := steps[0].(backend.Job); ok {
		return &proto.RunReply{Answers: [][]byte{{1, 2, 3}}[:2-n]}, nil
	}
	switch n {
	case 1:
		return &proto.RunReply{Answers: [][]byte{make([]byte, 32), make([]byte, 32)}}, nil
	case 2:
		return &proto.RunReply{Answers: [][]byte{make([]byte, 32)}}, nil
	}
	answers := make([][]byte, n)
	answers[n-1] = make([]byte, map[int]int{3: 33, 4: 31}[n])
	return &proto.RunReply{Answers: answers}, nil
}
