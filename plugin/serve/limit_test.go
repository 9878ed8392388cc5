//go:build linux

package serve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// asIs sends a request as it is written.
type asIs struct{ encoding.CodecV2 }

func (asIs) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

// allocated is how many bytes f has this process allocate.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSmallMessagesLargeMemory: a request of which each two bytes would be an object
// is refused before it is decoded, and one that is too long before it is received.
func TestSmallMessagesLargeMemory(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	raw := asIs{encoding.GetCodecV2("proto")}
	send := func(b []byte) error {
		return h.conn.Invoke(ctx, proto.Backend_Run_FullMethodName, b, &proto.RunReply{}, grpc.ForceCodecV2(raw))
	}
	// program is a request with a program that begins so and goes on with zeros.
	program := func(begin ...byte) []byte {
		const size = wire.MaxMessage - 8
		b := append(binary.AppendUvarint([]byte{2<<3 | 2}, size), begin...)
		return append(b, make([]byte, size-len(begin))...)
	}
	places := func(size int) []byte { return bytes.Repeat([]byte{3<<3 | 2, 0}, size/2) }
	for what, b := range map[string][]byte{
		"empty places":                 places(wire.MaxMessage),
		"more steps than there may be": program(0xff, 0xff, 0x0f),
		"no steps":                     program(0xff, 0x7f),                                  // as many as there may be
		"a list of half a million":     program(1, 6, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x80, 0x1f), // operands of a Map
	} {
		began := time.Now()
		if took := allocated(func() { refused(t, what, send(b)) }); took > 32*wire.MaxMessage {
			t.Errorf("%s: a request of %d bytes took %d bytes of memory", what, len(b), took)
		}
		if took := time.Since(began); took < time.Duration(wire.MaxMessage-8)*refusalPerByte {
			t.Errorf("%s: it was refused after %v", what, took)
		}
	}
	if err := send(places(wire.MaxMessage + 2)); err == nil {
		t.Error("a longer request is accepted")
	}
	if free := h.server.account.decoded.TryAcquire(maxDecoded); !free {
		t.Error("a request that was refused is counted")
	}
}

// TestCallsAtOnce: beyond a number of calls at a time a session is refused, after a pause
// without which one that tries again and again keeps a processor busy, and those that
// compute are answered.
func TestCallsAtOnce(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	counter, err := shm.NewArena(shm.PageSize)
	if err != nil {
		t.Fatal(err)
	}
	defer counter.Close()
	if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: counter.ID(), Size: shm.PageSize}, counter.File()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Attach(ctx, &proto.AttachRequest{Arena: counter.ID(), Size: shm.PageSize}); err != nil {
		t.Fatal(err)
	}
	space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1), Count: 8})
	if err != nil {
		t.Fatal(err)
	}
	waits := func(call int) error {
		write := backend.Write{Dst: backend.Range{Space: backend.SpaceID(space.Space), Count: 8}}
		_, err := h.Run(ctx, asked(uint64(call), write, wire.Region(counter, 64, 256), wire.Region(counter, 0, shm.CounterSize)))
		return err
	}
	var calls sync.WaitGroup
	for i := range wire.MaxCalls {
		calls.Go(func() {
			if remote, ok := wire.FromStatus(waits(1 + i)); !ok || !errors.Is(remote, backend.ErrInternal) && !errors.Is(remote, backend.ErrClosed) {
				t.Errorf("a call that was given up: %v", remote)
			}
		})
	}
	plugintest.Eventually(t, time.Minute, "all calls wait", func() bool { return h.server.computing.Load() == wire.MaxCalls })
	began := time.Now()
	invalid(t, "one call more", waits(1000))
	if took := time.Since(began); took < refusalPause {
		t.Errorf("it was refused after %v", took)
	}
	if _, err := h.Ping(ctx, &proto.PingRequest{}); err != nil {
		t.Errorf("a ping: %v", err)
	}
	copy(counter.Bytes(), bytes.Repeat([]byte{0x7f}, 8)) // more than there is: an error
	calls.Wait()
	if n := h.server.computing.Load(); n != 0 {
		t.Errorf("%d calls are still counted", n)
	}
}
