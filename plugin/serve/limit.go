package serve

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that frames wraps
	"google.golang.org/grpc/mem"
	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// What requests may take before the backend sees them.
const (
	// maxStreams bounds the calls of one connection: those that compute, lanes, loads, short ones,
	// and as many again that cancel.
	maxStreams = 256
	// maxReading is how many requests of one user are received at a time. Each may have
	// wire.MaxMessage bytes.
	maxReading = 32
	// maxDecoded bounds the bytes of one user's decoded requests, by wire.Weigh. The largest
	// request fits.
	maxDecoded = 64 << 20
	// windowBytes is how much a host may send of one call before anybody reads it; gRPC takes no
	// less. headerBytes bounds the metadata of a call.
	windowBytes = 64 << 10
	headerBytes = 16 << 10
	// refusalPause delays the refusal of a call beyond wire.MaxCalls. No host of ours makes one.
	// The delay slows down a host that tries again at once.
	refusalPause = 100 * time.Millisecond
	// refusalPerByte delays the refusal of a request that cannot be decoded, because looking at it
	// took time. It is a tenth of a second for a request of wire.MaxMessage.
	refusalPerByte = 100 * time.Nanosecond
	// maxWaiters is how many threads may sleep in one user's calls until inputs come.
	maxWaiters = 128
	// streamBytes is what gRPC keeps of a call before anybody reads it: its window, its metadata,
	// goroutines.
	streamBytes = windowBytes + headerBytes + 16<<10
	// smallReply is the size in bytes up to which replies do not count while the host has not read
	// them.
	smallReply = 4 << 10
)

var _ = [maxDecoded - wire.MaxWeight]struct{}{}

// How many calls and bytes one user's sessions may send while other users are connected: in a
// second for each processor, and at once (burst). They take time of processors outside of turns.
const (
	callRate  = 2000 // calls through gRPC
	callBurst = 500
	// refusedCalls is how many calls a call counts as that is refused because the calls of its user
	// have all the memory that they may. It slows down a user who tries again at once.
	refusedCalls = 10
	laneRate     = 5000 // calls in lanes
	laneBurst    = 100
	byteRate     = 2 << 20 // bytes of calls through gRPC, because frames may be as short as a few bytes
	byteBurst    = wire.MaxMessage
)

// account is what all sessions of one user share.
type account struct {
	user                  int
	connections, sessions int // under daemon.mu; connections include sessions

	reading *semaphore.Weighted // requests being received
	decoded *semaphore.Weighted // bytes of decoded requests
	waiters *shm.Waiters        // for inputs

	calls, inLanes, bytes *rate.Limiter // see callRate
}

func newAccount() *account {
	return &account{
		reading: semaphore.NewWeighted(maxReading), decoded: semaphore.NewWeighted(maxDecoded), waiters: shm.NewWaiters(maxWaiters),
		calls: limiter(callRate, callBurst), inLanes: limiter(laneRate, laneBurst), bytes: limiter(byteRate, byteBurst),
	}
}

func limiter(each rate.Limit, burst int) *rate.Limiter {
	return rate.NewLimiter(each*rate.Limit(runtime.GOMAXPROCS(0)), burst)
}

// budget bounds what the sessions of all users have, and those of each user.
type budget struct {
	what      string
	all, user int64 // limits; 0 in all is none

	mu   sync.Mutex
	used int64
	of   map[int]int64 // by user
}

func newBudget(what string, all, user int64) *budget {
	return &budget{what: what, all: all, user: user, of: map[int]int64{}}
}

// take counts size more for a user, until give. It fails with backend.ErrOutOfMemory.
func (a *budget) take(user int, size int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all > 0 && (size > a.all-a.used || size > a.user-a.of[user]) {
		return fmt.Errorf("%w: %d %s more, this user has %d of the %d that he may, and all may have %d",
			backend.ErrOutOfMemory, size, a.what, a.of[user], a.user, a.all)
	}
	a.used += size
	a.of[user] += size
	return nil
}

func (a *budget) give(user int, size int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= size
	if a.of[user] -= size; a.of[user] == 0 {
		delete(a.of, user)
	}
}

// limits returns options with the limits that gRPC itself checks on a host's connection.
func limits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(headerBytes),
		grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(windowBytes),
		grpc.ForceServerCodecV2(frames{encoding.GetCodecV2("proto")}),
	}
}

// frame is a request as it was received.
type frame []byte

// frames is gRPC's codec, except that it does not decode a frame.
type frames struct{ encoding.CodecV2 }

// Marshal encodes a reply. The reply stops counting when gRPC has sent it or has given up sending.
func (c frames) Marshal(v any) (mem.BufferSlice, error) {
	r, ok := v.(*reply)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	b, err := wireformat.Marshal(r.Message)
	if err != nil {
		r.release()
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(&b, r)}, nil
}

// reply is a reply that counts until the host has read it. It is the pool to which gRPC returns its
// bytes.
type reply struct {
	wireformat.Message
	release func()
}

// Get implements mem.BufferPool. Nobody takes memory from this pool.
func (r *reply) Get(size int) *[]byte {
	b := make([]byte, size)
	return &b
}

// Put implements mem.BufferPool.
func (r *reply) Put(*[]byte) { r.release() }

// replies are the replies of a session that its host has not read.
type replies struct {
	mu    sync.Mutex
	sizes map[*reply]int64 // nil after the session
}

// hold counts a reply in a budget until the host has read it or the session is over.
func (s *server) hold(resp any) (any, error) {
	m, ok := resp.(wireformat.Message)
	if s.session == nil || !ok {
		return resp, nil
	}
	size := int64(wireformat.Size(m))
	if size <= smallReply {
		return resp, nil
	}
	if err := s.session.calls.take(s.account.user, size); err != nil {
		return nil, wire.ToStatus(fmt.Errorf("a reply: %w", err))
	}
	r := &reply{Message: m}
	r.release = func() {
		s.replies.mu.Lock()
		size := s.replies.sizes[r]
		delete(s.replies.sizes, r)
		s.replies.mu.Unlock()
		s.session.calls.give(s.account.user, size)
	}
	s.replies.mu.Lock()
	defer s.replies.mu.Unlock()
	if s.replies.sizes == nil {
		s.replies.sizes = map[*reply]int64{}
	}
	s.replies.sizes[r] = size
	return r, nil
}

// roomForReply counts what a program will answer in its reply, before it computes. When the reply
// is there, hold counts it instead.
func (s *server) roomForReply(ctx context.Context, steps []backend.Step, places []*proto.Place) (release func(), err error) {
	size := int64(0)
	for i, step := range steps {
		placed := len(places) > 0 && uint64(places[0].GetStep()) == uint64(i)
		if placed {
			places = places[1:]
		}
		if _, reads := step.(backend.Read); reads && !placed {
			size += wire.InlineAnswer
		}
	}
	if s.session == nil || size <= smallReply {
		return func() {}, nil
	}
	if err := s.session.calls.take(s.account.user, size); err != nil {
		shm.SleepUntil(ctx, refusalPause)
		return nil, fmt.Errorf("a reply: %w", err)
	}
	return func() { s.session.calls.give(s.account.user, size) }, nil
}

// dropReplies stops counting all replies of a session. gRPC has ended then.
func (s *server) dropReplies() {
	s.replies.mu.Lock()
	defer s.replies.mu.Unlock()
	for _, size := range s.replies.sizes {
		s.session.calls.give(s.account.user, size)
	}
	s.replies.sizes = nil
}

func (c frames) Unmarshal(data mem.BufferSlice, v any) error {
	if f, ok := v.(*frame); ok {
		*f = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// register makes g serve s. Each request is counted before it is received, and weighed before it is
// decoded.
func (s *server) register(g *grpc.Server) {
	d := proto.Backend_ServiceDesc
	d.Methods = slices.Clone(d.Methods)
	for i, m := range d.Methods {
		serve := m.Handler
		d.Methods[i].Handler = func(srv any, ctx context.Context, dec func(any) error, between grpc.UnaryServerInterceptor) (any, error) {
			if computes[m.MethodName] {
				if s.computing.Add(1) > wire.MaxCalls {
					s.computing.Add(-1)
					shm.SleepUntil(ctx, refusalPause)
					return nil, wire.ToStatus(wire.Refused("more than %d calls at once", wire.MaxCalls))
				}
				defer s.computing.Add(-1)
			}
			held := func() {}
			defer func() { held() }()
			resp, err := serve(srv, ctx, func(v any) (err error) {
				held, err = s.receive(ctx, dec, v.(wireformat.Message))
				return err
			}, between)
			if err != nil {
				return nil, err
			}
			return s.hold(resp)
		}
	}
	g.RegisterService(&d, s)
}

// computes names the methods that wire.MaxCalls counts.
var computes = map[string]bool{"Run": true}

// receive receives a request from gRPC and decodes it to m. held releases its memory.
func (s *server) receive(ctx context.Context, dec func(any) error, m wireformat.Message) (held func(), err error) {
	none := func() {}
	if s.account.reading.Acquire(ctx, 1) != nil {
		return none, wire.ToStatus(backend.Ended(ctx))
	}
	defer s.account.reading.Release(1)
	var f frame
	if err := dec(&f); err != nil {
		return none, err
	}
	if held, err = s.decode(ctx, f, m); err != nil {
		return none, wire.ToStatus(err)
	}
	return held, nil
}

// pauseFor delays the refusal of bytes that cannot be decoded.
func pauseFor(ctx context.Context, b []byte) {
	shm.SleepUntil(ctx, time.Duration(len(b))*refusalPerByte)
}

// decode waits until there is memory for a request, and decodes it to m. held releases the memory.
func (s *server) decode(ctx context.Context, b []byte, m wireformat.Message) (held func(), err error) {
	defer func() {
		if err != nil {
			pauseFor(ctx, b)
		}
	}()
	weight, err := wire.Weigh(m, b)
	if err != nil {
		return nil, err
	}
	if s.account.decoded.Acquire(ctx, weight) != nil {
		return nil, backend.Ended(ctx)
	}
	if err := wireformat.Unmarshal(b, m); err != nil {
		s.account.decoded.Release(weight)
		return nil, wire.Refused("a request that cannot be read: %v", err)
	}
	return func() { s.account.decoded.Release(weight) }, nil
}
