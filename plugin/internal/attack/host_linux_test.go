package attack

import (
	"context"
	"net"
	"os"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

var ctx = context.Background()

// host is a session that may send anything.
type host struct {
	proto.BackendClient
	conn    *grpc.ClientConn
	channel *shm.Channel
	close   func()
}

// raw sends requests of bytes as they are, and others as messages.
type raw struct{ encoding.CodecV2 }

func (c raw) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// connect begins a session, and stops before Open.
func connect(path string) (*host, error) {
	channel, calls, hangUp, err := begin(path)
	if err != nil {
		return nil, err
	}
	h := &host{channel: channel}
	h.conn, err = grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return calls, nil }),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(raw{encoding.GetCodecV2("proto")})))
	if err != nil {
		hangUp()
		return nil, err
	}
	h.BackendClient = proto.NewBackendClient(h.conn)
	h.close = func() { h.conn.Close(); hangUp() }
	return h, nil
}

// begin connects, and returns what goes for descriptors and for calls.
func begin(path string) (channel *shm.Channel, calls net.Conn, hangUp func(), err error) {
	c, err := silent(path)
	if err != nil {
		return nil, nil, nil, err
	}
	channel = shm.ChannelOf(c)
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		c.Close()
		return nil, nil, nil, err
	}
	mine, theirs := os.NewFile(uintptr(fds[0]), "calls"), os.NewFile(uintptr(fds[1]), "calls")
	defer mine.Close()
	defer theirs.Close()
	calls, err = net.FileConn(mine)
	if err == nil {
		err = channel.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, theirs)
	}
	if err != nil {
		c.Close()
		return nil, nil, nil, err
	}
	return channel, calls, func() { calls.Close(); c.Close() }, nil
}

// open begins a session.
func open(path string) (*host, error) {
	h, err := connect(path)
	if err != nil {
		return nil, err
	}
	if _, err := h.Open(ctx, &proto.OpenRequest{LogLevel: 100}); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

// silent connects and says nothing.
func silent(path string) (*net.UnixConn, error) {
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		return nil, err
	}
	b := make([]byte, 2048)
	n, err := c.Read(b)
	if err == nil {
		var g wire.Greeting
		if g, err = wire.ReadGreeting(b[:n]); err == nil {
			err = g.Accept()
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// send sends any bytes as a request of a method.
func (h *host) send(ctx context.Context, method string, b []byte) error {
	return h.conn.Invoke(ctx, "/"+proto.Backend_ServiceDesc.ServiceName+"/"+method, b, &proto.PingReply{})
}

// attach shows an arena to the daemon.
func (h *host) attach(id, size uint64, answers bool, f *os.File) error {
	if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: id, Size: size}, f); err != nil {
		return err
	}
	_, err := h.Attach(ctx, &proto.AttachRequest{Arena: id, Size: size, Answers: answers})
	return err
}

// arena makes an arena and shows it to the daemon.
func (h *host) arena(size int, answers bool) (a *shm.Arena, err error) {
	if answers {
		a, err = shm.NewAnswerArena(size)
	} else {
		a, err = shm.NewArena(size)
	}
	if err != nil {
		return nil, err
	}
	return a, h.attach(a.ID(), uint64(size), answers, a.File())
}

// laneCall is a program as it is in a lane.
func laneCall(r *proto.RunRequest) []byte {
	b, err := wireformat.Marshal(r)
	if err != nil {
		panic(err)
	}
	return b
}
