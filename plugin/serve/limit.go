package serve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
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

// What requests may take before they are looked at.
const (
	// maxStreams bounds the calls of one connection: those that compute, lanes,
	// loads, what is brief, and as many again that cancel.
	maxStreams = 256
	// maxReading is how many requests of one user are received at a time: each may
	// be of wire.MaxMessage.
	maxReading = 32
	// maxDecoded bounds the memory of one user's requests, by wire.Weigh. The largest
	// request fits.
	maxDecoded = 64 << 20
	// windowBytes is what a host may send of one call that nobody reads yet; gRPC takes
	// no less. headerBytes bounds the metadata of a call.
	windowBytes = 64 << 10
	headerBytes = 16 << 10
	// refusalPause is how long a call waits for its refusal that is one more than
	// wire.MaxCalls. No host of ours makes one, and one that tries again at once is
	// slowed down.
	refusalPause = 100 * time.Millisecond
	// refusalPerByte is how long a request that cannot be decoded waits for its refusal,
	// a tenth of a second for one of wire.MaxMessage: looking at it took time.
	refusalPerByte = 100 * time.Nanosecond
	// maxWaiters is how many threads of one user's calls sleep until their inputs come.
	maxWaiters = 128
)

// account is what the sessions of one user share.
type account struct {
	user                  int
	connections, sessions int   // under daemon.mu, sessions included in connections
	answers               int64 // bytes of arenas for answers, under answers.mu

	reading *semaphore.Weighted // requests that are received
	decoded *semaphore.Weighted // bytes of requests that are decoded
	waiters *shm.Waiters        // for inputs
}

func newAccount() *account {
	return &account{
		reading: semaphore.NewWeighted(maxReading), decoded: semaphore.NewWeighted(maxDecoded), waiters: shm.NewWaiters(maxWaiters),
	}
}

// answers bounds arenas for answers. Their pages may be this process's: whoever made
// them can give them back to the system at any time, and they are written here.
type answers struct {
	all, user int64 // most bytes, 0 for no limit

	mu   sync.Mutex
	used int64
}

// take counts in what give counts out.
func (a *answers) take(of *account, size int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all > 0 && (size > a.all-a.used || size > a.user-of.answers) {
		return fmt.Errorf("%w: %d bytes of shared memory for answers, this user has %d of the %d that he may and all have %d of %d",
			backend.ErrOutOfMemory, size, of.answers, a.user, a.used, a.all)
	}
	a.used += size
	of.answers += size
	return nil
}

func (a *answers) give(of *account, size int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used -= size
	of.answers -= size
}

// limits returns gRPC's own for a connection of a host.
func limits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(headerBytes),
		grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(windowBytes),
		grpc.ForceServerCodecV2(frames{encoding.GetCodecV2("proto")}),
	}
}

// frame is a request as it came.
type frame []byte

// frames is gRPC's codec, which leaves a frame as it is.
type frames struct{ encoding.CodecV2 }

func (c frames) Unmarshal(data mem.BufferSlice, v any) error {
	if f, ok := v.(*frame); ok {
		*f = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// register has g serve s. Each request is counted before it is received, and weighed
// before it is decoded.
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
			return serve(srv, ctx, func(v any) (err error) {
				held, err = s.receive(ctx, dec, v.(wireformat.Message))
				return err
			}, between)
		}
	}
	g.RegisterService(&d, s)
}

// computes has the methods that wire.MaxCalls counts.
var computes = map[string]bool{"Run": true}

// receive receives a request of gRPC's and decodes it to m. held gives its room back.
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

// decode decodes a request to m when there is room for it, which held gives back.
func (s *server) decode(ctx context.Context, b []byte, m wireformat.Message) (held func(), err error) {
	defer func() {
		if err != nil {
			shm.SleepUntil(ctx, time.Duration(len(b))*refusalPerByte)
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
