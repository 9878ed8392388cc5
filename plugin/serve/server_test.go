//go:build linux

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// byHand is a server in this process, and a client that may send anything.
type byHand struct {
	proto.BackendClient
	server  *server
	backend *fake.Backend
	channel *shm.Channel
	conn    *grpc.ClientConn
}

func newByHand(t *testing.T) *byHand {
	t.Helper()
	b := &fake.Backend{Step: 10}
	return serveByHand(t, b, b)
}

// serveByHand serves a backend that wraps a fake one.
func serveByHand(t *testing.T, b backend.Backend, on *fake.Backend) *byHand {
	t.Helper()
	h := &byHand{backend: on}
	var level slog.LevelVar
	h.server = newServer(func(context.Context, *slog.Logger) (backend.Backend, error) { return b, nil },
		slog.New(slog.DiscardHandler), &level, newAccount())
	ours, theirs, err := shm.Pair()
	if err != nil {
		t.Fatal(err)
	}
	ch, err := shm.NewChannel(theirs)
	if err != nil {
		t.Fatal(err)
	}
	h.channel = ours
	go func() { _ = h.server.inbox.serve(ch) }()
	lis := bufconn.Listen(1 << 16)
	g := grpc.NewServer(limits()...)
	h.server.register(g)
	go func() { _ = g.Serve(lis) }()
	conn, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return lis.Dial() }))
	if err != nil {
		t.Fatal(err)
	}
	h.conn, h.BackendClient = conn, proto.NewBackendClient(conn)
	t.Cleanup(func() { conn.Close(); g.Stop(); h.server.stop(); ours.Close(); ch.Close() })
	return h
}

// invalid checks that a request is refused, with an error whose fault is the backend's or the
// caller's.
func invalid(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: accepted", what)
		return
	}
	remote, ok := wire.FromStatus(err)
	if fault := backend.FaultOf(remote); !ok || fault != backend.FaultBackend && fault != backend.FaultCaller {
		t.Errorf("%s: %v", what, err)
	}
}

// refused checks that the plugin refused before its backend was asked.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	remote, ok := wire.FromStatus(err)
	if !ok || !errors.Is(remote, backend.ErrInternal) || !strings.Contains(remote.Text, "the plugin refused") {
		t.Errorf("%s: %v", what, err)
	}
}

// asked returns a program of one step with an input.
func asked(call uint64, s backend.Step, bytes, progress *proto.Region) *proto.RunRequest {
	r := &proto.RunRequest{Call: call, Program: backend.EncodeSteps([]backend.Step{s})}
	if bytes != nil || progress != nil {
		r.Places = []*proto.Place{{Bytes: bytes, Progress: progress}}
	}
	return r
}

func TestServerRefuses(t *testing.T) {
	h := newByHand(t)
	_, err := h.Run(ctx, &proto.RunRequest{Program: backend.EncodeSteps(nil)})
	refused(t, "a call before Open", err)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	_, err = h.Open(ctx, &proto.OpenRequest{})
	invalid(t, "opened twice", err)

	// An arena, attached properly.
	const size = 1 << 16
	a, err := shm.NewArena(size)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	give := func(id, announced uint64, f *os.File) error {
		if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: id, Size: announced}, f); err != nil {
			t.Fatal(err)
		}
		_, err := h.Attach(ctx, &proto.AttachRequest{Arena: id, Size: announced})
		return err
	}
	if err := give(1, size, a.File()); err != nil {
		t.Fatal(err)
	}
	invalid(t, "an arena twice", give(1, size, a.File()))
	invalid(t, "announced too long", give(2, 2*size, a.File()))
	invalid(t, "announced too short", give(3, size/2, a.File()))
	invalid(t, "of no size", give(4, 0, a.File()))
	if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: 5, Size: size}, a.File()); err != nil {
		t.Fatal(err)
	}
	_, err = h.Attach(ctx, &proto.AttachRequest{Arena: 5, Size: size + 8})
	invalid(t, "two sizes", err)
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	plain := os.NewFile(uintptr(fd), "test")
	defer plain.Close()
	if err := plain.Truncate(size); err != nil {
		t.Fatal(err)
	}
	invalid(t, "unsealed", give(6, size, plain))
	if err := plain.Truncate(100); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		t.Fatal(err)
	}
	invalid(t, "truncated", give(7, size, plain))
	_, err = h.Detach(ctx, &proto.DetachRequest{Arena: 7})
	invalid(t, "detaching what is not there", err)

	// Bases, through the arena, in two chunks.
	const n = 100
	b := plugintest.NewBN(n)
	copy(a.Bytes(), b.Points)
	header := func(f func(*proto.LoadHeader)) *proto.LoadHeader {
		hd := &proto.LoadHeader{Curve: 1, Group: 1, Count: n}
		f(hd)
		return hd
	}
	loadBases := func(hd *proto.LoadHeader, chunks ...*proto.Region) (uint64, error) {
		within, cancel := context.WithTimeout(ctx, 10*time.Second) // a load that is not refused waits for more
		defer cancel()
		s, err := h.LoadBases(within)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Header{Header: hd}})
		for _, c := range chunks {
			_ = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Chunk{Chunk: c}})
		}
		for {
			m, err := s.Recv()
			if err != nil {
				return 0, err
			}
			if id := m.GetBases(); id != 0 {
				return id, nil
			}
		}
	}
	at := func(arena, offset, length uint64) *proto.Region {
		return &proto.Region{Arena: arena, Offset: offset, Length: length}
	}
	none := func(*proto.LoadHeader) {}
	id, err := loadBases(header(none), at(1, 0, 640), at(1, 640, 64*n-640))
	if err != nil {
		t.Fatal(err)
	}
	for what, f := range map[string]func() (uint64, error){
		"an unknown curve": func() (uint64, error) { return loadBases(header(func(h *proto.LoadHeader) { h.Curve = 9 })) },
		"a huge curve":     func() (uint64, error) { return loadBases(header(func(h *proto.LoadHeader) { h.Curve = 257 })) },
		"an unknown group": func() (uint64, error) { return loadBases(header(func(h *proto.LoadHeader) { h.Group = 3 })) },
		"a huge group":     func() (uint64, error) { return loadBases(header(func(h *proto.LoadHeader) { h.Group = 257 })) },
		"a short digest": func() (uint64, error) {
			return loadBases(header(func(h *proto.LoadHeader) { h.Digest = []byte{1, 2, 3} }))
		},
		"a huge count":           func() (uint64, error) { return loadBases(header(func(h *proto.LoadHeader) { h.Count = 1 << 63 })) },
		"huge multiples":         func() (uint64, error) { return loadBases(header(func(h *proto.LoadHeader) { h.Multiples = 1 << 31 })) },
		"no header":              func() (uint64, error) { return loadBases(nil) },
		"a long chunk":           func() (uint64, error) { return loadBases(header(none), at(1, 0, 64*n+8)) },
		"an empty chunk":         func() (uint64, error) { return loadBases(header(none), at(1, 0, 0)) },
		"a chunk of no arena":    func() (uint64, error) { return loadBases(header(none), at(9, 0, 64)) },
		"a chunk beyond":         func() (uint64, error) { return loadBases(header(none), at(1, size-8, 64)) },
		"a chunk that overflows": func() (uint64, error) { return loadBases(header(none), at(1, math.MaxUint64-7, 64)) },
		"an odd chunk":           func() (uint64, error) { return loadBases(header(none), at(1, 1, 64)) },
		"a file offset": func() (uint64, error) {
			_ = h.channel.Send(shm.Message{Kind: shm.KindFile, ID: 3}, a.File())
			return loadBases(header(func(h *proto.LoadHeader) { h.File = &proto.FileSource{Id: 3, Offset: math.MaxUint64} }))
		},
		"a device": func() (uint64, error) {
			null, err := os.Open(os.DevNull)
			if err != nil {
				return 1, err
			}
			defer null.Close()
			_ = h.channel.Send(shm.Message{Kind: shm.KindFile, ID: 5}, null)
			return loadBases(header(func(h *proto.LoadHeader) { h.Count, h.File = 0, &proto.FileSource{Id: 5} }))
		},
		"a short file": func() (uint64, error) {
			_ = h.channel.Send(shm.Message{Kind: shm.KindFile, ID: 4}, a.File())
			return loadBases(header(func(h *proto.LoadHeader) { h.File = &proto.FileSource{Id: 4, Offset: size - 64} }))
		},
	} {
		_, err := f()
		invalid(t, what, err)
		if strings.HasSuffix(what, " chunk") && what != "an odd chunk" && !strings.Contains(fmt.Sprint(err), "still to come") {
			t.Errorf("%s: %v", what, err)
		}
	}

	// Jobs.
	copy(a.Bytes(), b.Scalars)
	counter := uint64(size - 64)
	type job struct {
		backend.Job
		bytes, progress *proto.Region
	}
	call := uint64(0)
	msm := func(f func(*job)) (*proto.RunReply, error) {
		call++
		j := &job{backend.Job{Bases: backend.BasesID(id), Count: n}, at(1, 0, 32*n), nil}
		f(j)
		return h.Run(ctx, asked(call, j.Job, j.bytes, j.progress))
	}
	reply, err := msm(func(*job) {})
	if err != nil || !bytes.Equal(reply.Answers[0], b.Want()) {
		t.Fatalf("a proper call: %v", err)
	}
	for what, f := range map[string]func(*job){
		"unknown bases":              func(j *job) { j.Bases = 77 },
		"an unknown arena":           func(j *job) { j.bytes.Arena = 2 },
		"an offset beyond":           func(j *job) { j.bytes.Offset = size + 8 },
		"a length beyond":            func(j *job) { j.bytes.Offset = size - 32*n + 8 },
		"an offset that overflows":   func(j *job) { j.bytes.Offset = math.MaxUint64 - 7 },
		"a length that overflows":    func(j *job) { j.bytes.Length = math.MaxUint64 },
		"a sum that overflows":       func(j *job) { j.bytes.Offset, j.bytes.Length = 64, math.MaxUint64-63 },
		"an odd offset":              func(j *job) { j.bytes.Offset = 4 },
		"a length that is short":     func(j *job) { j.bytes.Length -= 32 },
		"a length that is long":      func(j *job) { j.bytes.Length += 32 },
		"a count beyond the bases":   func(j *job) { j.Count, j.bytes.Length = n+1, 32*(n+1) },
		"an offset beyond the bases": func(j *job) { j.Offset = 1 },
		"a huge count":               func(j *job) { j.Count = math.MaxInt },
		"a count below zero":         func(j *job) { j.Count = -1 },
		"a huge offset":              func(j *job) { j.Offset = math.MaxInt },
		"no scalars":                 func(j *job) { j.bytes = nil },
		"scalars of itself":          func(j *job) { j.bytes, j.SameAs = nil, 1 },
		"scalars of nobody":          func(j *job) { j.bytes, j.SameAs = nil, math.MaxUint32 },
		"two sources":                func(j *job) { j.SameAs = 1 },
		"scalars of a space, and others": func(j *job) {
			j.Src = backend.Range{Space: 1, Count: n}
		},
		"a counter beyond":          func(j *job) { j.progress = at(1, size, 8) },
		"a counter without room":    func(j *job) { j.progress = at(1, counter, 7) },
		"an odd counter":            func(j *job) { j.progress = at(1, counter+4, 8) },
		"a counter of no arena":     func(j *job) { j.progress = at(3, counter, 8) },
		"a counter without scalars": func(j *job) { j.bytes, j.progress, j.Count = nil, at(1, counter, 8), 0 },
	} {
		_, err := msm(f)
		invalid(t, what, err)
	}
	_, err = h.Run(ctx, &proto.RunRequest{Program: backend.EncodeSteps(backend.Steps(make([]backend.Job, wire.MaxSteps+1)))})
	refused(t, "too many jobs", err)
	_, err = msm(func(j *job) { *j = job{} })
	invalid(t, "an empty job", err)
	for i := range 8 {
		a.Bytes()[counter+uint64(i)] = 0x7f
	}
	_, err = msm(func(j *job) { j.progress = at(1, counter, 8) })
	invalid(t, "a counter that lies", err)

	// Nothing has changed, and the arena goes when it is detached.
	if reply, err := msm(func(*job) {}); err != nil || !bytes.Equal(reply.Answers[0], b.Want()) {
		t.Errorf("after the refusals: %v", err)
	}
	if n := h.backend.Arenas.Load(); n != 1 {
		t.Errorf("the backend knows %d arenas", n)
	}
	if _, err := h.Detach(ctx, &proto.DetachRequest{Arena: 1}); err != nil {
		t.Error(err)
	}
	if n := h.backend.Arenas.Load(); n != 0 {
		t.Errorf("the backend knows %d arenas after Detach", n)
	}
	_, err = msm(func(*job) {})
	invalid(t, "scalars in a detached arena", err)
}

// TestDetachWaits: an arena stays mapped while a call reads it. A call that waits for scalars ends
// when it is cancelled.
func TestDetachWaits(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	a, err := shm.NewArena(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: 1, Size: 1 << 16}, a.File()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Attach(ctx, &proto.AttachRequest{Arena: 1, Size: 1 << 16}); err != nil {
		t.Fatal(err)
	}
	id, err := h.backend.LoadBases(ctx, plugintest.NewBN(10).Bases())
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	h.backend.Started = func() { close(started) }
	done := make(chan error, 1)
	go func() {
		scalars, progress := &proto.Region{Arena: 1, Length: 320}, &proto.Region{Arena: 1, Offset: 4096, Length: 64}
		_, err := h.Run(ctx, asked(5, backend.Job{Bases: id, Count: 10}, scalars, progress))
		done <- err
	}()
	<-started
	if _, err := h.Detach(ctx, &proto.DetachRequest{Arena: 1}); err != nil {
		t.Fatal(err)
	}
	if h.backend.Arenas.Load() != 1 {
		t.Error("the arena went under the call")
	}
	_, err = h.Run(ctx, &proto.RunRequest{Call: 5, Program: backend.EncodeSteps(nil)})
	refused(t, "a call id twice", err)
	if r, err := h.Cancel(ctx, &proto.CancelRequest{Call: 6}); err != nil || r.Running {
		t.Errorf("another call: %v, %v", r, err)
	}
	if r, err := h.Cancel(ctx, &proto.CancelRequest{Call: 5}); err != nil || !r.Running {
		t.Errorf("cancel: %v, %v", r, err)
	}
	select {
	case err := <-done:
		if remote, ok := wire.FromStatus(err); !ok || !errors.Is(remote, context.Canceled) {
			t.Errorf("%v", remote)
		}
	case <-time.After(10 * time.Second): // its scalars never come
		t.Fatal("a call goes on that was cancelled")
	}
	plugintest.Eventually(t, 10*time.Second, "the arena goes", func() bool { return h.backend.Arenas.Load() == 0 })
}

// TestInboxRefusesByName: descriptors that nobody asks for do not pile up. A request for one that
// was refused learns so at once.
func TestInboxRefusesByName(t *testing.T) {
	h := newByHand(t)
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	const sent = wire.MaxDescriptors + 2*maxRefused
	for i := range uint64(sent) {
		if err := h.channel.Send(shm.Message{Kind: shm.KindFile, ID: i}, null); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() int {
		h.server.inbox.mu.Lock()
		defer h.server.inbox.mu.Unlock()
		return len(h.server.inbox.letters)
	}
	const last = sent - 1
	plugintest.Eventually(t, time.Minute, "the last has arrived", func() bool {
		h.server.inbox.mu.Lock()
		defer h.server.inbox.mu.Unlock()
		l := h.server.inbox.letters
		return len(l) > 0 && l[len(l)-1].ID == last
	})
	if n := kept(); n != wire.MaxDescriptors+maxRefused {
		t.Errorf("%d kept", n)
	}
	for i := range uint64(wire.MaxDescriptors) {
		f, _, err := h.server.inbox.take(ctx, shm.KindFile, i)
		if err != nil {
			t.Fatalf("descriptor %d: %v", i, err)
		}
		f.Close()
	}
	begin := time.Now()
	_, _, err = h.server.inbox.take(ctx, shm.KindFile, last)
	if backend.FaultOf(err) != backend.FaultBackend || !strings.Contains(err.Error(), "more than 32 descriptors") {
		t.Errorf("one too many: %v", err)
	}
	if d := time.Since(begin); d > wire.DescriptorWait/2 {
		t.Errorf("the refusal took %v", d)
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, _, err := h.server.inbox.take(short, shm.KindArena, sent-2); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another kind: %v", err)
	}
}

// TestHalfOpenLoads: the number of loads that begin and do not go on is bounded.
func TestHalfOpenLoads(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	open := func() proto.Backend_LoadBasesClient {
		s, err := h.LoadBases(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var half []proto.Backend_LoadBasesClient
	for range maxHalfOpen {
		half = append(half, open())
	}
	plugintest.Eventually(t, time.Minute, "all have begun", func() bool { return h.server.loading.Load() == maxHalfOpen })
	late := time.AfterFunc(5*time.Second, func() {
		t.Errorf("load %d at the same time is not refused", maxHalfOpen+1)
		h.conn.Close()
	})
	_, err := open().Recv()
	if !late.Stop() {
		return
	}
	invalid(t, "one too many", err)
	for _, s := range half {
		_ = s.CloseSend()
	}
	plugintest.Eventually(t, 10*time.Second, "all have ended", func() bool { return h.server.loading.Load() == 0 })
}

// TestPanickedBackendIsLeftAlone: a backend that has panicked is asked nothing more.
func TestPanickedBackendIsLeftAlone(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	gone := func(what string, err error) {
		t.Helper()
		if remote, ok := wire.FromStatus(err); !ok || !remote.Is(backend.ErrGone) || !strings.Contains(err.Error(), "out of luck") {
			t.Errorf("%s: %v", what, err)
		}
	}
	h.backend.Started = func() { panic("out of luck") }
	_, err := h.Run(ctx, &proto.RunRequest{Call: 1, Program: backend.EncodeSteps(nil)})
	gone("the call", err)
	h.backend.Started = func() { t.Error("a later call reaches the backend") }
	_, err = h.Run(ctx, &proto.RunRequest{Call: 2, Program: backend.EncodeSteps(nil)})
	gone("a later call", err)
	_, err = h.Ping(ctx, &proto.PingRequest{})
	gone("a ping", err)
	_, err = h.NewSpace(ctx, &proto.NewSpaceRequest{Element: scalars(1), Count: 1})
	gone("a space", err)
	if n := h.backend.Spaces(); n != 0 {
		t.Errorf("the backend made %d spaces", n)
	}
}

// slowLoads is a backend that delays loads.
type slowLoads struct {
	*fake.Backend
	began chan *os.File
	goOn  chan struct{}
}

func (b slowLoads) LoadBases(ctx context.Context, bases backend.Bases) (backend.BasesID, error) {
	b.began <- bases.File
	<-b.goOn
	return b.Backend.LoadBases(ctx, bases)
}

// TestFilesOfBasesCount: the descriptor of a file counts for its user until its bases are loaded.
// Beyond what the user may have it is refused.
func TestFilesOfBasesCount(t *testing.T) {
	on := &fake.Backend{}
	b := slowLoads{on, make(chan *os.File), make(chan struct{})}
	h := serveByHand(t, b, on)
	files := newBudget("open files", 1, 1)
	h.server.inbox.mu.Lock()
	h.server.inbox.files = files
	h.server.inbox.mu.Unlock()
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	const n = 10
	f := plugintest.NewBN(n).File(t)
	plugintest.On(t, f, "ext4")
	send := func(id uint64) {
		if err := h.channel.Send(shm.Message{Kind: shm.KindFile, ID: id}, f); err != nil {
			t.Fatal(err)
		}
	}
	loaded := make(chan error, 1)
	load := func(id uint64) {
		s, err := h.LoadBases(ctx)
		if err == nil {
			header := &proto.LoadHeader{Curve: 1, Group: 1, Count: n, File: &proto.FileSource{Id: id}}
			err = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Header{Header: header}})
		}
		if err == nil {
			_, err = s.Recv()
		}
		loaded <- err
	}
	send(1)
	go load(1)
	read := <-b.began
	if n := files.now(); n != 1 {
		t.Errorf("%d descriptors are counted while one is read", n)
	}
	send(2)
	if got, _, err := h.server.inbox.take(ctx, shm.KindFile, 2); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a second one of a user who may have one: %v", err)
		if got != nil {
			got.Close()
		}
	}
	b.goOn <- struct{}{}
	if err := <-loaded; err != nil {
		t.Error(err)
	}
	plugintest.Eventually(t, 10*time.Second, "it is counted no more", func() bool { return files.now() <= 0 })
	if n := files.now(); n != 0 {
		t.Errorf("%d descriptors are counted in the end", n)
	}
	if _, err := read.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open after the load: %v", err)
	}
}

// scripted is a backend that answers pings as it is told, and counts how often it is closed.
type scripted struct {
	*fake.Backend
	ping   error
	closes atomic.Int64
}

func (b *scripted) Ping(context.Context) error { return b.ping }

func (b *scripted) Close() error {
	b.closes.Add(1)
	return b.Backend.Close()
}

// TestServerCloses: Close closes the backend once, after telling it that shared memory goes. From
// then on calls learn that it is closed. Before that, the number of a call that has ended may be
// used again, and a ping says what the backend says.
func TestServerCloses(t *testing.T) {
	b := &scripted{Backend: &fake.Backend{}}
	h := serveByHand(t, b, b.Backend)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Run(ctx, &proto.RunRequest{Call: 1, Program: backend.EncodeSteps(nil)}); err != nil {
			t.Errorf("a call: %v", err)
		}
	}
	is := func(what string, err, want error) {
		t.Helper()
		if remote, ok := wire.FromStatus(err); !ok || !remote.Is(want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	b.ping = fmt.Errorf("%w: the card has gone", backend.ErrGone)
	_, err := h.Ping(ctx, &proto.PingRequest{})
	is("a ping", err, backend.ErrGone)
	b.ping = nil

	a, err := shm.NewArena(1 << 12)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: 1, Size: 1 << 12}, a.File()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Attach(ctx, &proto.AttachRequest{Arena: 1, Size: 1 << 12}); err != nil || b.Arenas.Load() != 1 {
		t.Fatalf("%v, %d arenas", err, b.Arenas.Load())
	}
	for range 2 {
		if _, err := h.BackendClient.Close(ctx, &proto.CloseRequest{}); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	if closes, arenas := b.closes.Load(), b.Arenas.Load(); closes != 1 || arenas != 0 {
		t.Errorf("closed %d times, and %d arenas are there", closes, arenas)
	}
	_, err = h.Ping(ctx, &proto.PingRequest{})
	is("a ping after Close", err, backend.ErrClosed)
	_, err = h.Run(ctx, &proto.RunRequest{Call: 2, Program: backend.EncodeSteps(nil)})
	is("a call after Close", err, backend.ErrClosed)
}

// TestClosedWhileItOpens: a backend that has opened only after Close is closed at once.
func TestClosedWhileItOpens(t *testing.T) {
	h := newByHand(t)
	b := &scripted{Backend: h.backend}
	h.server.opener = func(context.Context, *slog.Logger) (backend.Backend, error) { return b, h.server.shut() }
	_, err := h.Open(ctx, &proto.OpenRequest{})
	if remote, ok := wire.FromStatus(err); !ok || !remote.Is(backend.ErrClosed) || b.closes.Load() != 1 {
		t.Errorf("%v, closed %d times", err, b.closes.Load())
	}
}

// TestExitsWithItsBackend: a plugin ends when its backend is gone. A daemon also ends when the
// backend has panicked, because other sessions use it too. Neither ends for this after Close, or
// when its host is gone.
func TestExitsWithItsBackend(t *testing.T) {
	gone := make(chan struct{})
	close(gone)
	unlucky := func() error { panic("out of luck") }
	failing := func() error { return backend.ErrInternal }
	for name, c := range map[string]struct {
		what  func(s *server)
		exits bool
	}{
		"the backend is gone":  {func(s *server) { s.watch(gone) }, true},
		"it was closed":        {func(s *server) { _ = s.shut(); s.watch(gone) }, false},
		"the host is gone":     {func(s *server) { s.stop(); s.watch(nil) }, false},
		"a plugin's panic":     {func(s *server) { _ = s.recovered(unlucky) }, false},
		"a panic in a daemon":  {func(s *server) { s.session = &session{}; _ = s.recovered(unlucky) }, true},
		"an error in a daemon": {func(s *server) { s.session = &session{}; _ = s.recovered(failing) }, false},
	} {
		s := newServer(nil, slog.New(slog.DiscardHandler), &slog.LevelVar{}, newAccount())
		var codes []int
		s.exit = func(code int) { codes = append(codes, code) }
		c.what(s)
		s.stop()
		if c.exits != (len(codes) == 1 && codes[0] == exitGone) || !c.exits && len(codes) > 0 {
			t.Errorf("%s: exits %v", name, codes)
		}
	}
}

// TestCallsEndWithTheHost: a call ends when its host is gone, whatever it waits for.
func TestCallsEndWithTheHost(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	started := make(chan struct{})
	until, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		done <- h.server.cancellable(until, 1, func(ctx context.Context, _ backend.Backend, _ *held) error {
			close(started)
			<-ctx.Done()
			return backend.Ended(ctx)
		})
	}()
	<-started
	h.server.stop()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("a call goes on after its host")
		cancel()
		<-done
	}
}

// TestArenasAreBounded: arenas are bounded in number, and in a daemon also in the bytes that a
// session shares, until they are given back.
func TestArenasAreBounded(t *testing.T) {
	s := newServer(nil, slog.New(slog.DiscardHandler), &slog.LevelVar{}, newAccount())
	defer s.stop()
	for i := range uint64(maxArenas) {
		if err := s.roomFor(i, 1<<40, false); err != nil {
			t.Fatalf("arena %d of %d: %v", i, maxArenas, err)
		}
		s.arenas[i] = &mapped{}
	}
	if err := s.roomFor(maxArenas, 8, false); backend.FaultOf(err) != backend.FaultBackend {
		t.Errorf("one too many: %v", err)
	}
	clear(s.arenas)
	s.mapped, s.session = 0, &session{shared: 100, answers: newBudget("bytes for answers", 50, 50)}
	for _, step := range []struct {
		size    uint64
		answers bool
		fits    bool
	}{
		{101, false, false}, {60, false, true}, {41, false, false}, {1 << 63, false, false},
		{40, true, true}, {1, false, false}, {11, true, false},
	} {
		if err := s.roomFor(1, step.size, step.answers); (err == nil) != step.fits || err != nil && !errors.Is(err, backend.ErrOutOfMemory) {
			t.Errorf("%+v: %v", step, err)
		}
	}
	s.unmapped(60, false)
	if err := s.roomFor(1, 11, true); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("more for answers than there may be: %v", err)
	}
	s.unmapped(40, true)
	if n := s.session.answers.now(); n != 0 || s.mapped != 0 {
		t.Errorf("%d bytes are counted in the end, %d for answers", s.mapped, n)
	}
	if err := s.roomFor(1, 100, false); err != nil {
		t.Errorf("after all was given back: %v", err)
	}
}
