package attack

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// framed is a session that writes frames of HTTP/2 itself: a client of gRPC's sends
// whole requests and reads answers.
type framed struct {
	channel *shm.Channel
	calls   net.Conn
	frames  *http2.Framer
	headers bytes.Buffer
	encoder *hpack.Encoder
	next    uint32
	close   func()
}

// openFramed begins a session that grants the daemon so many bytes of each answer. It
// ends with ctx, for the daemon may read so slowly that writing waits.
func openFramed(ctx context.Context, path string, window uint32) (*framed, error) {
	channel, calls, hangUp, err := begin(path)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, hangUp)
	f := &framed{channel: channel, calls: calls, frames: http2.NewFramer(calls, nil), next: 1, close: hangUp}
	f.encoder = hpack.NewEncoder(&f.headers)
	_, err = io.WriteString(calls, http2.ClientPreface)
	if err == nil {
		err = f.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
	}
	if err == nil {
		err = f.frames.WriteSettingsAck()
	}
	if err == nil {
		_, err = f.call("Open", &proto.OpenRequest{LogLevel: 100}, 0)
	}
	if err != nil {
		hangUp()
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, calls) }()
	return f, nil
}

// call sends a request of a method. Its length is said to be more than it is, so that
// the daemon waits for the rest.
func (f *framed) call(method string, m wireformat.Message, more int) (stream uint32, err error) {
	b, err := wireformat.Marshal(m)
	if err != nil {
		return 0, err
	}
	f.headers.Reset()
	for _, h := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", "/" + proto.Backend_ServiceDesc.ServiceName + "/" + method},
		{":authority", "x"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		if err := f.encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			return 0, err
		}
	}
	stream = f.next
	f.next += 2
	if err := f.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.headers.Bytes(),
		EndHeaders: true}); err != nil {
		return 0, err
	}
	b = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b)+more)), b...)
	for len(b) > 0 {
		part := b[:min(len(b), 16<<10)]
		if b = b[len(part):]; err == nil {
			err = f.frames.WriteData(stream, len(b) == 0 && more == 0, part)
		}
	}
	return stream, err
}
