package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/filesystem"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// Limits of one server. A host that keeps to the protocol does not reach them.
const (
	maxArenas   = 64
	maxHalfOpen = 64 // loads that have begun and not ended
	maxSpaces   = 1 << 12
)

// session is what a daemon gives a session beside its backend.
type session struct {
	shared  int64 // most bytes of arenas; 0 is no limit
	answers *budget
	calls   *budget
	lane    func(context.Context) // waits before a call in a lane
}

// server serves one backend to one host. It believes no number that it receives.
type server struct {
	proto.UnimplementedBackendServer

	ctx    context.Context // ends when the host is gone
	stop   context.CancelFunc
	opener Opener
	log    *slog.Logger
	level  *slog.LevelVar

	mu      sync.Mutex
	backend backend.Backend
	opening bool
	closed  bool
	broken  error // a panic: the backend's state is unknown
	arenas  map[uint64]*mapped
	calls   map[uint64]context.CancelFunc

	account   *account     // of the host's user, shared with that user's other sessions
	computing atomic.Int64 // calls through gRPC
	replies   replies

	inbox   inbox
	loading atomic.Int64
	spaces  atomic.Int64

	lanes    atomic.Int64
	inLanes  context.Context // ends when lanes must no longer be served
	endLanes context.CancelFunc

	// session is nil unless a daemon serves the backend to several sessions.
	session *session
	mapped  int64 // bytes of arenas, for session.shared

	// exit ends the process of a plugin whose backend is gone, because only another process can
	// replace it.
	exit func(code int)
}

func newServer(opener Opener, log *slog.Logger, level *slog.LevelVar, of *account) *server {
	s := &server{
		opener: opener, log: log, level: level, account: of,
		arenas: map[uint64]*mapped{},
		calls:  map[uint64]context.CancelFunc{},
		exit:   os.Exit,
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.inLanes, s.endLanes = context.WithCancel(s.ctx)
	s.inbox.arrived = make(chan struct{})
	return s
}

// guard calls guarded and turns its error into one of gRPC.
func (s *server) guard(f func(b backend.Backend) error) error { return wire.ToStatus(s.guarded(f)) }

// guarded runs f on the backend and turns a panic into an error. After a panic the backend is not
// used again.
func (s *server) guarded(f func(b backend.Backend) error) (err error) {
	s.mu.Lock()
	b := s.backend
	switch {
	case s.broken != nil:
		err = s.broken
	case s.closed:
		err = fmt.Errorf("%w: plugin", backend.ErrClosed)
	case b == nil:
		err = wire.Refused("the backend is not open")
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.recovered(func() error { return f(b) })
}

// recovered runs f and turns a panic into an error.
func (s *server) recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the backend panicked: %v", backend.ErrGone, p)
			s.log.Error("the backend panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			s.mu.Lock()
			s.broken = err
			s.mu.Unlock()
			if s.session != nil {
				s.exit(exitGone) // other sessions use the backend too
			}
		}
	}()
	return f()
}

// Open opens the backend.
func (s *server) Open(_ context.Context, r *proto.OpenRequest) (*proto.OpenReply, error) {
	s.mu.Lock()
	again := s.opening
	s.opening = true
	s.mu.Unlock()
	if again {
		return nil, wire.ToStatus(wire.Refused("the backend was opened before"))
	}
	s.level.Set(slog.Level(r.LogLevel))
	var b backend.Backend
	var info backend.Info
	err := s.recovered(func() (err error) {
		if b, err = s.opener(s.ctx, s.log); err != nil {
			return err
		}
		if b == nil {
			return errors.New("no backend and no error")
		}
		info = b.Info()
		return nil
	})
	if err != nil {
		if !errors.Is(err, backend.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		return nil, wire.ToStatus(err)
	}
	s.mu.Lock()
	s.backend = b
	late := s.closed
	s.mu.Unlock()
	if late {
		_ = s.recovered(b.Close)
		return nil, wire.ToStatus(fmt.Errorf("%w: plugin", backend.ErrClosed))
	}
	go s.watch(b.Done())
	reply := wire.FromInfo(info)
	reply.Lanes = true
	_, reply.Tests = backend.As[backend.Tester](b)
	if s.session != nil {
		reply.Digests, reply.SharedMemory = true, uint64(s.session.shared)
	}
	return reply, nil
}

// exitGone is the exit status of a plugin whose backend is gone.
const exitGone = 3

// watch ends the process when the backend is gone without a Close.
func (s *server) watch(gone <-chan struct{}) {
	select {
	case <-gone:
	case <-s.ctx.Done():
		return
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if !closed {
		s.log.Error("the backend is gone: its device is lost to this process")
		s.exit(exitGone)
	}
}

// Ping answers without waiting for computations.
func (s *server) Ping(ctx context.Context, _ *proto.PingRequest) (*proto.PingReply, error) {
	reply := &proto.PingReply{}
	err := s.guard(func(b backend.Backend) error {
		reply.Usage = wire.FromUsage(b)
		return b.Ping(ctx)
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// Test has the backend test its devices.
func (s *server) Test(ctx context.Context, _ *proto.TestRequest) (*proto.TestReply, error) {
	reply := &proto.TestReply{}
	err := s.guard(func(b backend.Backend) error {
		t, ok := backend.As[backend.Tester](b)
		if !ok {
			return wire.Refused("the backend tests no devices")
		}
		err := t.Test(ctx)
		reply.Usage = wire.FromUsage(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// Close closes the backend.
func (s *server) Close(context.Context, *proto.CloseRequest) (*proto.CloseReply, error) {
	if err := s.shut(); err != nil {
		return nil, wire.ToStatus(err)
	}
	return &proto.CloseReply{}, nil
}

// shut closes the backend once. A second call does not wait for the first.
func (s *server) shut() error {
	s.mu.Lock()
	b, again := s.backend, s.closed
	s.closed = true
	all := s.arenas
	s.arenas = map[uint64]*mapped{}
	s.mu.Unlock()
	if b == nil || again {
		return nil
	}
	// Release arenas first, so that the backend can still tell its driver. Calls in flight keep
	// theirs until they end; Close waits for that.
	return s.recovered(func() error {
		for _, m := range all {
			m.release()
		}
		return b.Close()
	})
}

// FreeBases frees bases.
func (s *server) FreeBases(ctx context.Context, r *proto.FreeBasesRequest) (*proto.FreeBasesReply, error) {
	err := s.guard(func(b backend.Backend) error { return b.FreeBases(ctx, backend.BasesID(r.Bases)) })
	if err != nil {
		return nil, err
	}
	return &proto.FreeBasesReply{}, nil
}

// cancellable runs f under the number of a call, so that Cancel can end it. It releases the shared
// memory that f uses.
func (s *server) cancellable(ctx context.Context, call uint64, f func(context.Context, backend.Backend, *held) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	return s.guarded(func(b backend.Backend) error {
		if err := s.enter(call, cancel); err != nil {
			return err
		}
		defer s.leave(call)
		h := &held{s: s}
		defer h.release()
		return f(ctx, b, h)
	})
}

func (s *server) enter(call uint64, cancel context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, double := s.calls[call]; double {
		return wire.Refused("call %d is running already", call)
	}
	s.calls[call] = cancel
	return nil
}

func (s *server) leave(call uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, call)
}

// Cancel cancels a running call.
func (s *server) Cancel(_ context.Context, r *proto.CancelRequest) (*proto.CancelReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel, ok := s.calls[r.Call]
	if ok {
		cancel()
	}
	return &proto.CancelReply{Running: ok}, nil
}

// held is the shared memory that a request uses.
type held struct {
	s     *server
	parts []*mapped
}

func (h *held) release() {
	for _, m := range h.parts {
		m.release()
	}
}

// region does what server.region does, and keeps the reference until release.
func (h *held) region(r *proto.Region, answers bool) ([]byte, error) {
	mem, m, err := h.s.region(r, answers)
	if err == nil {
		h.parts = append(h.parts, m)
	}
	return mem, err
}

// LoadBases makes bases resident.
func (s *server) LoadBases(stream proto.Backend_LoadBasesServer) error {
	return s.guard(func(b backend.Backend) error {
		if s.loading.Add(1) > maxHalfOpen {
			s.loading.Add(-1)
			return wire.Refused("more than %d loads at once", maxHalfOpen)
		}
		defer s.loading.Add(-1)
		first, err := stream.Recv()
		if err != nil {
			return err
		}
		h := first.GetHeader()
		if h == nil || h.Curve > math.MaxUint8 || h.Group > math.MaxUint8 || h.Count > backend.MaxCount || h.Multiples > math.MaxInt32 {
			return wire.Refused("the header of bases")
		}
		bases := backend.Bases{
			Curve: backend.Curve(h.Curve), Group: backend.Group(h.Group), Count: int(h.Count),
			Hints: backend.Hints{Check: h.Check, Multiples: int(h.Multiples), Uniform: h.Uniform},
		}
		if len(h.Digest) > 0 {
			if len(h.Digest) != len(backend.Digest{}) {
				return wire.Refused("a digest of %d bytes", len(h.Digest))
			}
			bases.Memo = backend.Known(backend.Digest(h.Digest))
		}
		ctx, cancel := context.WithCancel(stream.Context())
		defer cancel()
		defer context.AfterFunc(s.ctx, cancel)()
		in := &incoming{s: s, stream: stream, ctx: ctx, chunks: make(chan *proto.Region)}
		if h.File != nil {
			f, _, err := s.inbox.take(ctx, shm.KindFile, h.File.Id)
			if err != nil {
				return err
			}
			if err := s.inbox.counted(1); err != nil {
				f.Close()
				return err
			}
			regular, answers := filesystem.Look(f)
			if !regular {
				go s.inbox.close(f)
				return wire.Refused("the file of bases is not a regular one")
			}
			if answers {
				defer s.inbox.close(f)
				bases.File, bases.FileOffset = f, int64(h.File.Offset) // Validate refuses one below 0
			} else {
				go s.inbox.close(f) // even closing may wait
			}
		}
		if bases.File == nil {
			bases.Pieces = in.pieces
		}
		if err := bases.Validate(); err != nil {
			return wire.Refused("%v", err)
		}
		in.left, in.ask = bases.Size(), bases.Memo != nil || h.File != nil
		go in.read(cancel)
		id, err := b.LoadBases(ctx, bases)
		if err != nil {
			return err
		}
		in.send(&proto.LoadReply{Step: &proto.LoadReply_Bases{Bases: uint64(id)}})
		return nil
	})
}

// incoming is the chunks of bases that one LoadBases receives.
type incoming struct {
	s      *server
	stream proto.Backend_LoadBasesServer
	ctx    context.Context
	chunks chan *proto.Region

	left     int64 // bytes still to come
	ask      bool  // the host sends chunks only after it is told that they are wanted
	consumed uint64
	sending  sync.Mutex
}

// read takes the host's steps until it aborts or the load has ended.
func (in *incoming) read(cancel context.CancelFunc) {
	for {
		m, err := in.stream.Recv()
		if err != nil || m.GetChunk() == nil {
			// An abort, nonsense, or the end. Each ends the load, which is over already if all went
			// well.
			cancel()
			return
		}
		select {
		case in.chunks <- m.GetChunk():
		case <-in.ctx.Done():
			return
		}
	}
}

// pieces yields chunks to the backend where they lie in shared memory. It acknowledges each when
// the backend asks for the next.
func (in *incoming) pieces(yield func([]byte, error) bool) {
	if in.ask {
		in.send(&proto.LoadReply{Step: &proto.LoadReply_Wanted{Wanted: &proto.Wanted{}}})
		in.ask = false
	}
	for in.left > 0 {
		var chunk *proto.Region
		select {
		case chunk = <-in.chunks:
		case <-in.ctx.Done():
			yield(nil, in.ctx.Err())
			return
		}
		mem, m, err := in.s.region(chunk, false)
		if err == nil && (len(mem) == 0 || int64(len(mem)) > in.left) {
			m.release()
			err = wire.Refused("chunk of %d bytes, %d are still to come", len(mem), in.left)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		in.left -= int64(len(mem))
		more := yield(mem, nil)
		m.release()
		in.consumed++
		in.send(&proto.LoadReply{Step: &proto.LoadReply_Consumed{Consumed: in.consumed}})
		if !more {
			return
		}
	}
}

// send sends a message to the host. It fails only if the host is gone, which ends the load anyway.
func (in *incoming) send(m *proto.LoadReply) {
	in.sending.Lock()
	defer in.sending.Unlock()
	_ = in.stream.Send(m)
}
