package attack

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"
	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// attacks are what a hostile user does until ctx ends, or until it has made so many
// requests. Refusals are no errors: an error is that the attack could not be made, or
// that it had what it must not have.
var attacks = map[string]func(ctx context.Context, path string, requests int) error{
	"messages":  smallMessages,
	"waiting":   waitingInputs,
	"holes":     holes,
	"turns":     longTurns,
	"digest":    digestOnly,
	"mapping":   mappedFile,
	"silence":   silences,
	"nonsense":  nonsense,
	"lanenoise": restlessLanes,
	"halves":    halves,
	"answers":   largeAnswers,
	"unread":    unreadAnswers,
	"crumbs":    crumbs,
	"loads":     checkedLoads,
	"pings":     pings,
	"work":      work,
	"lanes":     manyLanes,
	"frames":    frames,
	"files":     openFiles,
	"crowd_1":   crowd(1),
	"crowd_4":   crowd(4),
	"crowd_16":  crowd(16),
}

// many runs f in n goroutines until ctx ends.
func many(ctx context.Context, n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for ctx.Err() == nil {
				f(i)
			}
		})
	}
	all.Wait()
}

// smallMessages: requests that are short on the wire and long in memory.
func smallMessages(ctx context.Context, path string, _ int) error {
	h, err := open(path)
	if err != nil {
		return err
	}
	defer h.close()
	const long = 16 << 20
	calls, err := h.arena(long, false)
	if err != nil {
		return err
	}
	answers, err := h.arena(wire.LaneBytes, true)
	if err != nil {
		return err
	}
	empty := bytes.Repeat([]byte{3<<3 | 2, 0}, long/2) // places
	// The smallest of steps, as many as there may be, and a list of operands that is none.
	steps := field(append(binary.AppendUvarint(nil, wire.MaxSteps), bytes.Repeat([]byte{10, 0, 0, 0}, wire.MaxSteps)...))
	list := field(append(binary.AppendUvarint([]byte{1, 6, 0, 0, 0, 0, 0, 0, 0}, 500_000), make([]byte, wire.MaxMessage-100)...))
	many(ctx, 8, func(i int) {
		switch {
		case i == 0:
			shm.Mailbox(calls.Bytes()).Post(1, append(binary.AppendUvarint([]byte{3<<3 | 2}, long-100), empty[:long-100-shm.MailboxHead]...))
			_, _ = h.Lane(ctx, &proto.LaneRequest{Calls: wire.Region(calls, 0, long), Answers: wire.Region(answers, 0, wire.LaneBytes)})
		case i == 1:
			_ = h.send(ctx, "Run", empty[:4<<20])
		case i < 4:
			_ = h.send(ctx, "Run", steps)
		case i < 6:
			_ = h.send(ctx, "Run", list)
		default:
			_ = h.send(ctx, "Run", empty[:2*60_000])
		}
	})
	return nil
}

// field is a request with a program.
func field(program []byte) []byte {
	return append(binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(program))), program...)
}

// request is a program with its places.
func request(steps []backend.Step, places ...*proto.Place) *proto.RunRequest {
	return &proto.RunRequest{Call: rand.Uint64(), Program: backend.EncodeSteps(steps), Places: places}
}

// vector is a range of a space from its beginning on.
func vector(space uint64, count int) backend.Range {
	return backend.Range{Space: backend.SpaceID(space), Count: count}
}

// waitingInputs: programs whose scalars never come.
func waitingInputs(ctx context.Context, path string, _ int) error {
	h, err := open(path)
	if err != nil {
		return err
	}
	defer h.close()
	a, err := h.arena(1<<20, false)
	if err != nil {
		return err
	}
	space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: 1 << 10})
	if err != nil {
		return err
	}
	write := []backend.Step{backend.Write{Dst: vector(space.Space, 1<<10)}}
	many(ctx, 20_000, func(int) {
		_, _ = h.Run(ctx, request(write, &proto.Place{Bytes: wire.Region(a, 4096, 32<<10), Progress: wire.Region(a, 0, shm.CounterSize)}))
		pause(ctx, 100*time.Millisecond)
	})
	return nil
}

// pause sleeps, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// holes: shared memory and files that cost the host nothing.
func holes(ctx context.Context, path string, _ int) error {
	const size = 250 << 20
	sparse, err := os.CreateTemp("", "sparse")
	if err != nil {
		return err
	}
	defer os.Remove(sparse.Name())
	defer sparse.Close()
	if err := sparse.Truncate(size); err != nil {
		return err
	}
	var id atomic.Uint64
	id.Store(1 << 30)
	many(ctx, 6, func(i int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 100*time.Millisecond)
			return
		}
		defer h.close()
		for range 4 {
			seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
			if i%2 == 0 {
				seals |= unix.F_SEAL_FUTURE_WRITE
			}
			if fd, err := unix.MemfdCreate("holes", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err == nil {
				f := os.NewFile(uintptr(fd), "holes")
				_ = f.Truncate(size)
				_, _ = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
				_ = h.attach(id.Add(1), size, i%3 == 1, f)
				f.Close()
			}
			from := id.Add(1)
			if h.channel.Send(shm.Message{Kind: shm.KindFile, ID: from}, sparse) != nil {
				return
			}
			s, err := h.LoadBases(ctx)
			if err != nil {
				return
			}
			// Of other multiples each time: other bases.
			_ = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Header{Header: &proto.LoadHeader{
				Curve: 1, Group: 1, Count: size / 64, Multiples: uint32(from % 1000), File: &proto.FileSource{Id: from},
			}}})
			_, _ = s.Recv()
		}
		pause(ctx, 200*time.Millisecond)
	})
	return nil
}

// longTurns: exponentiations that take minutes.
func longTurns(ctx context.Context, path string, _ int) error {
	h, err := open(path)
	if err != nil {
		return err
	}
	defer h.close()
	const words, count = 64, 1<<14 - 2
	a, err := h.arena(4*words*(count+2), false)
	if err != nil {
		return err
	}
	memory := a.Bytes()
	for i := range 8 * words { // the modulus and the exponent
		memory[i] = 0xff
	}
	for i := 8 * words; i < len(memory); i += 4 * words {
		memory[i] = byte(i >> 8)
	}
	many(ctx, 2, func(int) {
		space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 2}, Count: words * (2*count + 2)})
		if err != nil {
			pause(ctx, time.Second)
			return
		}
		batch := func(from, n int) backend.Batch {
			return backend.Batch{Space: backend.SpaceID(space.Space), Offset: from * words, Words: words, Count: n}
		}
		_, _ = h.Run(ctx, request([]backend.Step{
			backend.Write{Dst: vector(space.Space, words*(count+2))},
			backend.Compute{Op: backend.NumExpMod, M: batch(0, 1), B: batch(1, 1), A: batch(2, count), Dst: batch(2+count, count)},
		}, &proto.Place{Bytes: wire.Region(a, 0, len(memory))}))
	})
	return nil
}

// digestOnly: another user's key for its digest, which the environment has.
func digestOnly(ctx context.Context, path string, _ int) error {
	digest, err := os.ReadFile(os.Getenv(digestEnv))
	if err != nil {
		return err
	}
	h, err := open(path)
	if err != nil {
		return err
	}
	defer h.close()
	for ctx.Err() == nil {
		s, err := h.LoadBases(ctx)
		if err != nil {
			return nil // the end
		}
		_ = s.Send(&proto.LoadRequest{
			Step: &proto.LoadRequest_Header{Header: &proto.LoadHeader{Curve: 1, Group: 1, Count: points, Digest: digest}},
		})
		m, err := s.Recv()
		if err == nil && m.GetBases() != 0 {
			return errors.New("another user's bases are given for their digest")
		}
		if err == nil && m.GetWanted() != nil {
			_ = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Abort{Abort: &proto.LoadAbort{}}})
			_, _ = s.Recv()
		}
		_ = s.CloseSend()
	}
	return nil
}

// mappedFile: a file of bases that changes while it is read.
func mappedFile(ctx context.Context, path string, _ int) error {
	h, err := open(path)
	if err != nil {
		return err
	}
	defer h.close()
	const size = 8 << 20
	f, err := os.CreateTemp("", "mapped")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	var id atomic.Uint64
	many(ctx, 2, func(i int) {
		if i == 1 {
			memory[rand.IntN(size)]++
			pause(ctx, time.Millisecond)
			return
		}
		if h.channel.Send(shm.Message{Kind: shm.KindFile, ID: id.Add(1)}, f) != nil {
			pause(ctx, time.Second)
			return
		}
		s, err := h.LoadBases(ctx)
		if err != nil {
			return
		}
		_ = s.Send(&proto.LoadRequest{
			Step: &proto.LoadRequest_Header{Header: &proto.LoadHeader{Curve: 1, Group: 1, Count: size / 64, File: &proto.FileSource{Id: id.Load()}}},
		})
		if m, err := s.Recv(); err == nil {
			_, _ = h.FreeBases(ctx, &proto.FreeBasesRequest{Bases: m.GetBases()})
		}
	})
	return nil
}

// silences: connections that say nothing, and calls that wait for what does not come.
func silences(ctx context.Context, path string, _ int) error {
	h, err := open(path)
	if err != nil {
		return err
	}
	defer h.close()
	var id atomic.Uint64
	many(ctx, 5000, func(i int) {
		switch {
		case i >= 128:
			_, _ = h.Attach(ctx, &proto.AttachRequest{Arena: id.Add(1), Size: 1 << 20})
			pause(ctx, 100*time.Millisecond)
		case i%2 == 0:
			c, err := silent(path)
			if err == nil {
				_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
				_, _ = c.Read(make([]byte, 1))
				c.Close()
			}
			pause(ctx, 50*time.Millisecond)
		default:
			if c, err := connect(path); err == nil { // and never Open
				pause(ctx, time.Second)
				c.close()
			}
			pause(ctx, 50*time.Millisecond)
		}
	})
	return nil
}

// seed is a program to change at random.
func seed(space uint64, a *shm.Arena) *proto.RunRequest {
	r := vector(space, 16)
	operand := backend.Operand{Range: r, Stride: 1}
	code := []backend.MapCode{{Op: backend.MapLoad}, {Op: backend.MapSquare}}
	return request([]backend.Step{
		backend.Write{Dst: r},
		backend.Invert{Dst: r, Src: r},
		backend.Map{Count: 16, Dst: operand, Args: []backend.Operand{operand}, Code: code},
		backend.Read{Src: r},
	}, &proto.Place{Bytes: wire.Region(a, 4096, 512), Progress: wire.Region(a, 0, 64)})
}

// mutate changes a few bytes.
func mutate(b []byte) []byte {
	for range rand.IntN(4) {
		switch at := rand.IntN(len(b) + 1); {
		case at == len(b):
			b = append(b, byte(rand.Uint32()))
		case rand.IntN(3) == 0:
			b = append(b[:at], b[at+rand.IntN(len(b)-at):]...)
		default:
			b[at] = byte(rand.Uint32())
		}
		if len(b) == 0 {
			return b
		}
	}
	return b
}

// scribble changes the first bytes of shared memory until ctx ends.
func scribble(ctx context.Context, b []byte) {
	for ctx.Err() == nil {
		for range 64 {
			b[rand.IntN(min(len(b), 8192))] = byte(rand.Uint32())
		}
		clear(b[:8])
		b[1] = 2 // a counter that is done, now and then
		time.Sleep(50 * time.Microsecond)
	}
}

// nonsense: requests of all methods, changed at random, over shared memory that
// changes meanwhile.
func nonsense(ctx context.Context, path string, requests int) error {
	var methods []string
	for _, m := range proto.Backend_ServiceDesc.Methods {
		methods = append(methods, m.MethodName)
	}
	var sent atomic.Int64
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	many(ctx, 4, func(int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		during, stop := context.WithCancel(ctx)
		defer stop()
		a, err := h.arena(1<<20, false)
		if err != nil {
			return
		}
		go scribble(during, a.Bytes())
		space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: 64})
		if err != nil {
			return
		}
		for range 500 {
			if n := sent.Add(1); ctx.Err() != nil || requests > 0 && n > int64(requests) {
				enough()
				return
			}
			method := "Run"
			var b []byte
			if rand.IntN(4) == 0 {
				if method = methods[rand.IntN(len(methods))]; method == "Lane" {
					continue
				}
				b = make([]byte, rand.IntN(64))
				for i := range b {
					b[i] = byte(rand.Uint32())
				}
			} else if b, err = wireformat.Marshal(seed(space.Space, a)); err == nil {
				b = mutate(b)
			}
			limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			_ = h.send(limited, method, b)
			cancel()
		}
	})
	fmt.Println("requests", sent.Load())
	return nil
}

// restlessLanes: messages in lanes, changed at random, in shared memory that changes
// while it is read.
func restlessLanes(ctx context.Context, path string, requests int) error {
	var sent atomic.Int64
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	many(ctx, 2, func(int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		during, stop := context.WithCancel(ctx)
		defer stop()
		a, err := h.arena(1<<20, false)
		if err != nil {
			return
		}
		to, err := h.arena(wire.LaneBytes, false)
		if err != nil {
			return
		}
		from, err := h.arena(wire.LaneBytes, true)
		if err != nil {
			return
		}
		space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: 64})
		if err != nil {
			return
		}
		go func() {
			_, _ = h.Lane(during, &proto.LaneRequest{Calls: wire.Region(to, 0, wire.LaneBytes), Answers: wire.Region(from, 0, wire.LaneBytes)})
		}()
		go scribble(during, a.Bytes())
		for number := uint32(1); number < 20_000; number++ {
			if n := sent.Add(1); ctx.Err() != nil || requests > 0 && n > int64(requests) {
				enough()
				return
			}
			message := mutate(laneCall(seed(space.Space, a)))
			shm.Mailbox(to.Bytes()).Post(number, message)
			to.Bytes()[shm.MailboxHead+rand.IntN(len(message)+1)]++ // while it is copied
			limited, cancel := context.WithTimeout(during, 100*time.Millisecond)
			_, err := shm.Mailbox(from.Bytes()).Await(limited, number)
			cancel()
			if err != nil {
				return // it waits for scalars, or the lane has ended
			}
		}
	})
	fmt.Println("requests", sent.Load())
	return nil
}

// halves: requests whose rest never comes, in as many calls as there may be.
func halves(ctx context.Context, path string, _ int) error {
	part := request([]backend.Step{backend.Map{Constants: make([]byte, 60<<10)}})
	many(ctx, 64, func(i int) {
		f, err := openFramed(ctx, path, 64<<10)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer f.close()
		method := "Run"
		if i%2 == 0 {
			method = "LoadBases"
		}
		for range 250 {
			if _, err := f.call(method, part, 900<<10); err != nil {
				return
			}
		}
		pause(ctx, time.Second)
		for stream := uint32(3); stream < 2*64; stream += 2 { // what is read meanwhile may be more
			for range 50 {
				if f.frames.WriteData(stream, false, make([]byte, 16<<10)) != nil {
					return
				}
			}
		}
		pause(ctx, 2*time.Second)
	})
	return nil
}

// reads is a program of n reads of a whole space.
func reads(space uint64, count, n int, answer *proto.Region) *proto.RunRequest {
	r := request(slices.Repeat([]backend.Step{backend.Read{Src: vector(space, count)}}, n))
	for i := range n {
		if answer != nil {
			r.Places = append(r.Places, &proto.Place{Step: uint32(i), Bytes: answer})
		}
	}
	return r
}

// largeAnswers: short programs that answer hundreds of megabytes.
func largeAnswers(ctx context.Context, path string, _ int) error {
	many(ctx, 8, func(i int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		const count = 1 << 12
		space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: count})
		if err != nil {
			return
		}
		a, err := h.arena(32*count, true)
		if err != nil {
			return
		}
		for n := 4000; ctx.Err() == nil && n > 0; n -= 100 {
			var answer *proto.Region
			if i%2 == 0 {
				answer = wire.Region(a, 0, 32*count)
			}
			_, _ = h.Run(ctx, reads(space.Space, count, n, answer))
		}
	})
	return nil
}

// unreadAnswers: answers that nobody reads.
func unreadAnswers(ctx context.Context, path string, _ int) error {
	h, err := open(path)
	if err != nil {
		return err
	}
	defer h.close()
	many(ctx, 24, func(int) {
		f, err := openFramed(ctx, path, 0)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer f.close()
		const count = 1 << 7 // a read answers wire.InlineAnswer
		// Nobody has read the space's number: it is the first one of the daemon's, or near.
		_, _ = f.call("NewSpace", &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: count}, 0)
		for i := range uint64(1 << 10) {
			if ctx.Err() != nil {
				return
			}
			if _, err := f.call("Run", reads(1+i%32, count, 1<<8, nil), 0); err != nil {
				return
			}
		}
		pause(ctx, time.Second)
	})
	return nil
}

// crumbs: bases and spaces of one element each, as many as there may be, and more of
// them kept than held.
func crumbs(ctx context.Context, path string, _ int) error {
	var made atomic.Int64
	many(ctx, 24, func(i int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		a, err := h.arena(4<<10, false)
		if err != nil {
			return
		}
		for range 20_000 {
			if ctx.Err() != nil {
				return
			}
			if made.Add(1)%4 == 0 {
				_, _ = h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: 1})
				continue
			}
			s, err := h.LoadBases(ctx)
			if err != nil {
				return
			}
			// Of other multiples each time: other bases.
			_ = s.Send(&proto.LoadRequest{
				Step: &proto.LoadRequest_Header{Header: &proto.LoadHeader{Curve: 1, Group: 1, Count: 1, Multiples: rand.Uint32() >> 1}},
			})
			_ = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Chunk{Chunk: wire.Region(a, 0, 64)}})
			_, _ = s.Recv()
			m, err := s.Recv()
			_ = s.CloseSend()
			if err == nil && i%2 == 0 {
				_, _ = h.FreeBases(ctx, &proto.FreeBasesRequest{Bases: m.GetBases()})
			}
		}
	})
	fmt.Println("requests", made.Load())
	return nil
}

// checkedLoads: bases whose points are to be checked, from many sessions.
func checkedLoads(ctx context.Context, path string, _ int) error {
	const size = 1 << 20
	many(ctx, 24, func(int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		a, err := h.arena(size, false)
		if err != nil {
			return
		}
		points := generatorOfBLS12381()
		for at := 0; at+len(points) <= size; at += len(points) {
			copy(a.Bytes()[at:], points)
		}
		many(ctx, 16, func(int) {
			s, err := h.LoadBases(ctx)
			if err != nil {
				pause(ctx, 100*time.Millisecond)
				return
			}
			_ = s.Send(&proto.LoadRequest{
				Step: &proto.LoadRequest_Header{
					Header: &proto.LoadHeader{Curve: uint32(backend.BLS12381), Group: 1, Count: size / 96, Check: true, Multiples: rand.Uint32() >> 1},
				},
			})
			_ = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Chunk{Chunk: wire.Region(a, 0, size/96*96)}})
			for {
				m, err := s.Recv()
				if err != nil {
					return
				}
				if m.GetBases() != 0 {
					_ = s.CloseSend()
					_, _ = h.FreeBases(ctx, &proto.FreeBasesRequest{Bases: m.GetBases()})
					return
				}
			}
		})
	})
	return nil
}

// pings: what is answered at once, as often as possible.
func pings(ctx context.Context, path string, _ int) error {
	many(ctx, 32, func(int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		many(ctx, 64, func(int) {
			if _, err := h.Ping(ctx, &proto.PingRequest{}); err != nil {
				pause(ctx, time.Millisecond)
			}
		})
	})
	return nil
}

// manyLanes: short programs in as many lanes as there may be.
func manyLanes(ctx context.Context, path string, _ int) error {
	many(ctx, 32, func(int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		during, stop := context.WithCancel(ctx)
		defer stop()
		space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: 64})
		if err != nil {
			return
		}
		var all sync.WaitGroup
		for i := range wire.MaxLanes {
			to, err := h.arena(wire.LaneBytes, false)
			if err != nil {
				break
			}
			from, err := h.arena(wire.LaneBytes, true)
			if err != nil {
				break
			}
			go func() {
				_, _ = h.Lane(during, &proto.LaneRequest{Calls: wire.Region(to, 0, wire.LaneBytes), Answers: wire.Region(from, 0, wire.LaneBytes)})
			}()
			all.Go(func() {
				r := reads(space.Space+uint64(i%2), 64, 1, nil) // half of them of no space
				for number := uint32(1); during.Err() == nil; number++ {
					r.Call = rand.Uint64()
					shm.Mailbox(to.Bytes()).Post(number, laneCall(r))
					if _, err := shm.Mailbox(from.Bytes()).Await(during, number); err != nil {
						return
					}
				}
			})
		}
		all.Wait()
	})
	return nil
}

// openFiles: descriptors that no call asks for, and connections.
func openFiles(ctx context.Context, path string, _ int) error {
	f, err := os.CreateTemp("", "open")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	many(ctx, 64, func(int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		for id := range uint64(wire.MaxDescriptors) {
			if h.channel.Send(shm.Message{Kind: shm.KindFile, ID: id}, f) != nil {
				return
			}
		}
		pause(ctx, time.Minute)
	})
	return nil
}

// frames: frames of HTTP/2 that ask for nothing, and calls that are refused because there
// are too many.
func frames(ctx context.Context, path string, _ int) error {
	many(ctx, 32, func(i int) {
		f, err := openFramed(ctx, path, 64<<10)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer f.close()
		for i%2 == 0 && ctx.Err() == nil {
			if _, err := f.call("Ping", &proto.PingRequest{}, 100); err != nil {
				return
			}
		}
		var b bytes.Buffer
		w := http2.NewFramer(&b, nil)
		for range 2000 {
			_ = w.WriteWindowUpdate(0, 1)
			_ = w.WriteRawFrame(0xfe, 0, 0, nil)
		}
		for ctx.Err() == nil {
			if _, err := f.calls.Write(b.Bytes()); err != nil {
				return
			}
		}
	})
	return nil
}

// work: programs of one step that is long and needs much memory beside its spaces.
func work(ctx context.Context, path string, _ int) error {
	const count = 1 << 18
	var kinds atomic.Uint64
	many(ctx, 4, func(int) {
		h, err := open(path)
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		defer h.close()
		space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: 3 * count})
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			return
		}
		one := make([]byte, 32)
		one[0] = 7
		at := func(i int) backend.Range {
			return backend.Range{Space: backend.SpaceID(space.Space), Offset: i * count, Count: count}
		}
		operand := func(i int) backend.Operand { return backend.Operand{Range: at(i), Stride: 1} }
		_, _ = h.Run(ctx, request([]backend.Step{backend.Powers{Dst: vector(space.Space, 3*count), First: one, Ratio: one}}))
		code := append([]backend.MapCode{{Op: backend.MapLoad}}, slices.Repeat([]backend.MapCode{{Op: backend.MapSquare}}, backend.MapCodes-1)...)
		long := []struct {
			times int
			step  backend.Step
		}{
			{100, backend.Map{Count: count, Dst: operand(0), Args: []backend.Operand{operand(1)}, Code: code}},
			{1, backend.Evaluate{Src: slices.Repeat([]backend.Range{at(1)}, 10_000), Point: one}},
			{1000, backend.Transform{Dst: at(0), Src: at(1), Batch: 1, To: backend.Reversed}},
			{1000, backend.Invert{Dst: at(0), Src: at(1)}},
			{1000, backend.Products{Dst: at(0), Src: at(1)}},
			{1000, backend.Divide{Dst: vector(space.Space, count-1), Src: at(1), Point: one}},
		}
		for ctx.Err() == nil {
			l := long[kinds.Add(1)%uint64(len(long))]
			r := request(slices.Repeat([]backend.Step{l.step}, l.times))
			limited, cancel := context.WithTimeout(ctx, 2*time.Second)
			if _, err := h.Run(limited, r); err != nil && os.Getenv("VERBOSE") != "" && limited.Err() == nil {
				fmt.Println(backend.StepName(l.step), err)
			}
			cancel()
			_, _ = h.Cancel(ctx, &proto.CancelRequest{Call: r.Call})
		}
	})
	return nil
}

// crowd keeps to the protocol and to every limit: that many sessions, each with as many calls
// on their way as one may have but for a few.
func crowd(sessions int) func(context.Context, string, int) error {
	const calls, count, steps = 60, 1 << 16, 100
	return func(ctx context.Context, path string, _ int) error {
		many(ctx, sessions, func(int) {
			h, err := open(path)
			if err != nil {
				pause(ctx, 20*time.Millisecond)
				return
			}
			defer h.close()
			space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: count})
			if err != nil {
				pause(ctx, 20*time.Millisecond)
				return
			}
			all := vector(space.Space, count)
			long := slices.Repeat([]backend.Step{backend.Invert{Dst: all, Src: all}}, steps)
			many(ctx, calls, func(int) { _, _ = h.Run(ctx, request(long)) })
		})
		return nil
	}
}

// generatorOfBLS12381 returns that of G1.
func generatorOfBLS12381() []byte {
	p, _ := new(big.Int).SetString("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab", 16)
	point := make([]byte, 96)
	for i, text := range []string{
		"17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb",
		"08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1",
	} {
		v, _ := new(big.Int).SetString(text, 16)
		v.Lsh(v, 384).Mod(v, p).FillBytes(point[48*i:][:48])
		slices.Reverse(point[48*i:][:48])
	}
	return point
}

// attackMain makes this process one attack, by the environment.
func attackMain() {
	name, path := os.Getenv(attackEnv), os.Getenv(socketEnv)
	limit, err := time.ParseDuration(os.Getenv(durationEnv))
	if err != nil {
		fmt.Println("error", err)
		return
	}
	requests, _ := strconv.Atoi(os.Getenv(requestsEnv))
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); os.Exit(2) }() // ends with the test
	if err := attacks[name](ctx, path, requests); err != nil {
		fmt.Println("error", err)
	}
}
