//go:build linux

package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
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

// asIs sends a request without encoding it.
type asIs struct{ encoding.CodecV2 }

func (asIs) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

// allocated returns how many bytes this process allocates while f runs.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSmallMessagesLargeMemory: a request in which each two bytes would become an object is refused
// before it is decoded. One that is too long is refused before it is received.
func TestSmallMessagesLargeMemory(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	raw := asIs{encoding.GetCodecV2("proto")}
	send := func(b []byte) error {
		within, cancel := context.WithTimeout(ctx, 15*time.Second) // without room a request waits
		defer cancel()
		return h.conn.Invoke(within, proto.Backend_Run_FullMethodName, b, &proto.RunReply{}, grpc.ForceCodecV2(raw))
	}
	// program returns a request with a program that begins with these bytes and goes on with zeros.
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
	if err := send(places(wire.MaxMessage + 2)); err == nil || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("a longer request is received: %v", err)
	}
	// The server gives back what it counted after the answer has left: the asker may be here before.
	account := h.server.account
	plugintest.Eventually(t, time.Minute, "no request is counted as being read", func() bool {
		return account.reading.TryAcquire(maxReading)
	})
	plugintest.Eventually(t, time.Minute, "no refused request is counted as decoded", func() bool {
		return account.decoded.TryAcquire(maxDecoded)
	})
}

// TestCallsAtOnce: a session is refused further calls beyond a number at a time, and those that
// compute are answered. The refusal comes after a pause: without it, a session that tries again and
// again would keep a processor busy.
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
	waits := func(ctx context.Context, call int) error {
		write := backend.Write{Dst: backend.Range{Space: backend.SpaceID(space.Space), Count: 8}}
		_, err := h.Run(ctx, asked(uint64(call), write, wire.Region(counter, 64, 256), wire.Region(counter, 0, shm.CounterSize)))
		return err
	}
	var calls sync.WaitGroup
	for i := range wire.MaxCalls {
		calls.Go(func() {
			remote, ok := wire.FromStatus(waits(ctx, 1+i))
			if !ok || !errors.Is(remote, backend.ErrInternal) && !errors.Is(remote, backend.ErrClosed) {
				t.Errorf("a call that was given up: %v", remote)
			}
		})
	}
	plugintest.Eventually(t, time.Minute, "all calls wait", func() bool { return h.server.computing.Load() == wire.MaxCalls })
	within, cancel := context.WithTimeout(ctx, 10*time.Second) // a call that is not refused waits
	defer cancel()
	began := time.Now()
	invalid(t, "one call more", waits(within, 1000))
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

// TestBudget: what is taken is bounded for each user and for all until it is given back. Nothing is
// remembered of a user who has nothing.
func TestBudget(t *testing.T) {
	b := newBudget("crumbs", 10, 6)
	for i, step := range []struct {
		user      int
		size      int64 // below 0 is given back
		used, has int64
		refused   bool
	}{
		{1, 6, 6, 6, false}, {1, 1, 6, 6, true}, {2, 5, 6, 0, true}, {2, 4, 10, 4, false}, {3, 1, 10, 0, true},
		{1, -2, 8, 4, false}, {3, 3, 8, 0, true}, {3, 2, 10, 2, false}, {1, -4, 6, 0, false}, {2, -4, 2, 0, false}, {3, -2, 0, 0, false},
	} {
		var err error
		if step.size < 0 {
			b.give(step.user, -step.size)
		} else {
			err = b.take(step.user, step.size)
		}
		if (err != nil) != step.refused || err != nil && !errors.Is(err, backend.ErrOutOfMemory) ||
			b.used != step.used || b.of[step.user] != step.has {
			t.Errorf("step %d: %v, all have %d and user %d has %d; want %+v", i, err, b.used, step.user, b.of[step.user], step)
		}
	}
	if len(b.of) != 0 {
		t.Errorf("users in the end: %v", b.of)
	}
	if err := newBudget("crumbs", 0, 0).take(1, 1<<62); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
