package plugin

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"

	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/filesystem"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// load is one LoadBases under way.
type load struct {
	c       *Client
	stream  grpc.BidiStreamingClient[proto.LoadRequest, proto.LoadReply]
	sent    chan *shm.Region // sent and not yet acknowledged, in order
	wanted  chan struct{}    // closed when the plugin asks for the points, since it does not know their digest
	ended   chan struct{}    // closed when the plugin has answered or is gone
	checked bool             // the plugin checks the points
	id      backend.BasesID  // valid after ended
	err     error            // valid after ended

	sending sync.Mutex // gRPC allows one Send or CloseSend at a time
}

// maxChunks bounds the number of chunks under way, however small they are.
const maxChunks = 16

// LoadBases implements backend.Backend. The plugin reads a regular file by itself if its file
// system always answers. Other bases go through a bounded piece of shared memory, chunk by chunk,
// and are not read afterwards.
func (c *Client) LoadBases(ctx context.Context, b backend.Bases) (_ backend.BasesID, err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end(&err)
	if err := b.Validate(); err != nil {
		return 0, err
	}
	header := &proto.LoadHeader{
		Curve: uint32(b.Curve), Group: uint32(b.Group), Count: uint64(b.Count),
		Check: b.Hints.Check, Multiples: uint32(min(b.Hints.Multiples, math.MaxInt32)), Uniform: b.Hints.Uniform,
	}
	if c.digests {
		if header.Digest, err = digestOf(run, &b); err != nil {
			return 0, err
		}
	}
	if c.loads.Acquire(run, 1) != nil {
		return 0, backend.Ended(run)
	}
	feeding, stop := context.WithCancelCause(run)
	defer stop(nil)
	l := &load{
		c: c, checked: b.Hints.Check, sent: make(chan *shm.Region, maxChunks),
		wanted: make(chan struct{}), ended: make(chan struct{}),
	}
	if l.stream, header.File, err = c.openLoad(ctx, &b); err != nil {
		c.loads.Release(1)
		return 0, err
	}
	go func() {
		l.receive()
		close(l.ended)
		stop(errEnded)
		c.loads.Release(1)
	}()
	l.send(&proto.LoadRequest{Step: &proto.LoadRequest_Header{Header: header}})
	if header.File == nil && len(header.Digest) == 0 || l.asked(feeding) {
		if err = l.feed(feeding, &b); context.Cause(feeding) == errEnded {
			err = nil // the answer is here already
		} else if run.Err() != nil {
			err = backend.Ended(run)
		}
	}
	if err == nil {
		select {
		case <-l.ended:
			l.drain()
			return c.loadedAs(l, &b)
		case <-run.Done():
			err = backend.Ended(run)
		}
	}
	// The caller's memory is no longer read, but the plugin still has to stop.
	l.send(&proto.LoadRequest{Step: &proto.LoadRequest_Abort{Abort: &proto.LoadAbort{}}})
	c.background(l.abandon)
	return 0, err
}

// openLoad opens the stream of a load. If the bases are in a file, it first sends the file's
// descriptor.
func (c *Client) openLoad(ctx context.Context,
	b *backend.Bases) (stream grpc.BidiStreamingClient[proto.LoadRequest, proto.LoadReply], file *proto.FileSource, err error) {
	if b.File != nil {
		if file, err = c.sendFile(b); err != nil {
			return nil, nil, err
		}
	}
	if stream, err = c.rpc.LoadBases(c.remote(ctx)); err != nil {
		return nil, nil, c.failure(err, false)
	}
	return stream, file, nil
}

// loadedAs takes the plugin's answer and keeps the bases under their id.
func (c *Client) loadedAs(l *load, b *backend.Bases) (backend.BasesID, error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.id == 0 || !c.kept.PutBases(l.id, b.Elements(), struct{}{}) {
		return 0, c.nonsense("an id of bases that cannot be: %d", l.id)
	}
	return l.id, nil
}

// digestOf returns the digest by which the plugin may know the bases. It returns none if the bases
// can be read only once, or if the plugin reads them from a file by itself.
func digestOf(ctx context.Context, b *backend.Bases) ([]byte, error) {
	d, known := b.KnownDigest()
	if !known && b.Bytes == nil {
		return nil, nil
	}
	if !known {
		var err error
		if d, err = b.Digest(ctx); err != nil {
			return nil, err
		}
	}
	return d[:], nil
}

// asked waits until the plugin asks for the points, and reports whether it did. It does not ask if
// it knows their digest, reads them from their file, or has failed.
func (l *load) asked(ctx context.Context) bool {
	select {
	case <-l.wanted:
		return true
	case <-ctx.Done():
		return false
	}
}

// send sends a message. It fails only if the stream has ended, and then receive gets the reason.
func (l *load) send(m *proto.LoadRequest) {
	l.sending.Lock()
	defer l.sending.Unlock()
	_ = l.stream.Send(m)
}

// closeSend tells the plugin that no message follows. Sending after it is an error.
func (l *load) closeSend() {
	l.sending.Lock()
	defer l.sending.Unlock()
	_ = l.stream.CloseSend()
}

// errEnded stops the feeding of a load that the plugin has ended.
var errEnded = errors.New("the plugin ended the load")

// feed copies the bases to buffers in shared memory and sends them. It sends the last buffer only
// after the source has ended: the plugin answers once it has all points, and a source with too many
// must be noticed before that.
func (l *load) feed(ctx context.Context, b *backend.Bases) error {
	var buf *shm.Region
	filled := 0
	left := b.Size()
	defer func() {
		if buf != nil {
			buf.Release()
		}
	}()
	for piece, err := range pieces(ctx, b) {
		if err != nil {
			return err
		}
		for len(piece) > 0 {
			if buf == nil {
				if buf, err = l.buffer(ctx, int(min(left, int64(l.c.chunk)))); err != nil {
					return err
				}
			}
			n := min(len(piece), len(buf.Bytes())-filled)
			shm.Copy(buf.Bytes()[filled:], piece[:n])
			piece, filled, left = piece[n:], filled+n, left-int64(n)
			if filled < len(buf.Bytes()) || left == 0 {
				continue
			}
			if err = l.sendChunk(ctx, buf, filled); err != nil {
				return err
			}
			buf, filled = nil, 0
		}
	}
	if buf == nil {
		return nil
	}
	if err := l.sendChunk(ctx, buf, filled); err != nil {
		return err
	}
	buf = nil
	return nil
}

// pieces yields the bytes of bases until ctx ends. A file may be on a file system that does not
// answer, so it is read by a goroutine that nobody waits for then. It has memory for itself, and
// a file that is closed meanwhile is closed after its read.
func pieces(ctx context.Context, b *backend.Bases) iter.Seq2[[]byte, error] {
	if b.File == nil {
		return b.All()
	}
	type piece struct {
		bytes []byte
		err   error
	}
	return func(yield func([]byte, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		read, used := make(chan piece), make(chan struct{})
		go func() {
			defer close(read)
			for p, err := range b.All() {
				select {
				case read <- piece{p, err}:
				case <-ctx.Done():
					return
				}
				select {
				case <-used:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case p, more := <-read:
				if !more || !yield(p.bytes, p.err) {
					return
				}
				select {
				case used <- struct{}{}:
				case <-ctx.Done():
				}
			case <-ctx.Done():
				yield(nil, backend.Ended(ctx))
				return
			}
		}
	}
}

// sendChunk sends the filled bytes of a buffer. After an error the buffer still belongs to the
// caller.
func (l *load) sendChunk(ctx context.Context, buf *shm.Region, filled int) error {
	select {
	case l.sent <- buf:
	case <-ctx.Done():
		return backend.Ended(ctx)
	}
	l.send(&proto.LoadRequest{Step: &proto.LoadRequest_Chunk{Chunk: wire.Region(buf.Arena(), buf.Offset(), filled)}})
	return nil
}

// buffer waits for a free buffer in the staging memory.
func (l *load) buffer(ctx context.Context, size int) (*shm.Region, error) {
	rs, err := l.c.staging.Acquire(ctx, size)
	if err != nil {
		return nil, err
	}
	if err := l.c.arenas.attach(ctx, rs[0]); err != nil {
		rs[0].Release()
		return nil, err
	}
	return rs[0], nil
}

// receive takes acknowledgements until the plugin's answer. When it returns, the plugin no longer
// reads our memory: it has answered or exited.
func (l *load) receive() {
	var consumed uint64
	told := false
	for {
		m, err := l.stream.Recv()
		if err != nil {
			l.err = l.c.failure(err, l.checked)
			break
		}
		if id := m.GetBases(); id != 0 {
			l.id = backend.BasesID(id)
			break
		}
		if m.GetWanted() != nil {
			if told {
				l.err = l.c.nonsense("the points of bases are wanted twice")
				break
			}
			told = true
			close(l.wanted)
			continue
		}
		n := m.GetConsumed()
		for ; consumed < n && l.err == nil; consumed++ {
			select {
			case r := <-l.sent:
				r.Release()
			default:
				l.err = l.c.nonsense("%d chunks of bases acknowledged, %d were sent", n, consumed)
			}
		}
		if l.err != nil {
			break
		}
	}
	if l.err == nil {
		// gRPC frees the stream only when its end is read.
		l.closeSend()
		_, _ = l.stream.Recv()
	}
}

// drain gives back the buffers that were never acknowledged. Call it after both feed and receive.
func (l *load) drain() {
	for {
		select {
		case r := <-l.sent:
			r.Release()
		default:
			return
		}
	}
}

// abandon waits for the end of a load that is no longer wanted, and frees its bases.
func (l *load) abandon() {
	<-l.ended
	l.drain()
	if l.err == nil {
		_, _ = l.c.rpc.FreeBases(l.c.ctx, &proto.FreeBasesRequest{Bases: uint64(l.id)})
	}
}

// sendFile sends the plugin the descriptor of a file of bases.
func (c *Client) sendFile(b *backend.Bases) (*proto.FileSource, error) {
	if _, answers := filesystem.Look(b.File); !answers {
		return nil, nil // read here: not even its descriptor goes to a process that others need
	}
	src := &proto.FileSource{Id: c.files.Add(1), Offset: uint64(b.FileOffset)}
	f, err := readOnly(b.File)
	if err != nil {
		return nil, fmt.Errorf("%w: bases file: %w", backend.ErrInvalidInput, err)
	}
	if f != b.File {
		defer f.Close()
	}
	if err := c.channel.Send(shm.Message{Kind: shm.KindFile, ID: src.Id}, f); err != nil {
		return nil, c.lost(err)
	}
	return src, nil
}
