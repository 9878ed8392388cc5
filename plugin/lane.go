package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// A lane is the short way of a call: what is asked and answered lies in shared
// memory, and the two that speak sleep in the kernel until the other has written.
// gRPC has half a dozen goroutines on the way, each of which a processor that has
// nothing to do must be woken for. One call at a time is in a lane. Those for which
// none is free, and those that are long, go through gRPC.
const (
	laneBytes = 16 << 10 // of each slot
	laneRoom  = laneBytes - shm.SlotHead
	mostLanes = 8 // of a host; maxLanes is what a plugin serves
)

var _ = [maxLanes - mostLanes]struct{}{}

// lanes is those of a client.
type lanes struct {
	c              *Client
	on             bool // there may be lanes
	calls, answers *shm.Pool

	mu     sync.Mutex
	free   []*lane
	opened int
	ending bool
	served sync.WaitGroup // by the plugin
}

// lane is one call after the other, its user's alone.
type lane struct {
	call, answer *shm.Region
	number       uint32 // of the last call
}

func (l *lanes) init(c *Client, on bool) {
	l.c, l.on = c, on
	pool := func(answers bool) *shm.Pool {
		return shm.NewPool(shm.PoolOptions{Budget: mostLanes * laneBytes, MaxArenas: 1, Answers: answers})
	}
	l.calls, l.answers = pool(false), pool(true)
}

// take is a lane for a call, until give, and the message to post there, or nil: the
// call goes through gRPC.
func (l *lanes) take(ctx context.Context, k *call) (*lane, []byte) {
	answers := 0
	for _, n := range k.sizes {
		answers += n + 8 // as a field of the message
	}
	if !l.on || answers > laneRoom || wireformat.Size(k.asked) > laneRoom {
		return nil, nil
	}
	message, err := wireformat.Marshal(k.asked)
	if err != nil {
		return nil, nil
	}
	return l.idle(ctx), message
}

// idle is a lane that nobody uses, or nil.
func (l *lanes) idle(ctx context.Context) *lane {
	l.mu.Lock()
	if n := len(l.free); n > 0 {
		found := l.free[n-1] // whose thread has slept least
		l.free = l.free[:n-1]
		l.mu.Unlock()
		return found
	}
	if l.ending || l.opened == mostLanes {
		l.mu.Unlock()
		return nil
	}
	l.opened++
	l.mu.Unlock()
	return l.open(ctx)
}

// open has the plugin serve a lane more. Where there is no room for it nobody asks
// again.
func (l *lanes) open(ctx context.Context) *lane {
	var made lane
	if err := l.makeRoom(ctx, &made); err != nil {
		made.release()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.opened--; ctx.Err() == nil {
			l.opened = mostLanes
		}
		return nil
	}
	l.served.Go(func() {
		_, err := l.c.rpc.Lane(l.c.ctx, &proto.LaneRequest{
			Calls:   wire(made.call.Arena(), made.call.Offset(), laneBytes),
			Answers: wire(made.answer.Arena(), made.answer.Offset(), laneBytes),
		})
		l.left(err)
	})
	return &made
}

// makeRoom takes memory for a lane and shows it to the plugin. It is zero.
func (l *lanes) makeRoom(ctx context.Context, made *lane) (err error) {
	if made.call, err = l.calls.Keep(ctx, laneBytes); err != nil {
		return err
	}
	if made.answer, err = l.answers.Keep(ctx, laneBytes); err != nil {
		return err
	}
	return errors.Join(l.c.arenas.attach(ctx, made.call), l.c.arenas.attach(ctx, made.answer))
}

// left is told that the plugin serves a lane no more.
func (l *lanes) left(err error) {
	l.mu.Lock()
	ending := l.ending
	l.mu.Unlock()
	_, said := fromStatus(err)
	switch {
	case ending, !said && l.c.peer.exitedWithin(exitGrace):
	case err == nil:
		l.c.lost(errors.New("it ends"))
	default:
		l.c.nonsense("it left a lane: %v", err)
	}
}

func (l *lanes) give(back *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		back.release()
		return
	}
	l.free = append(l.free, back)
}

// end has the plugin serve none any more, and waits for that. No call is in a lane.
func (l *lanes) end() {
	l.mu.Lock()
	l.ending = true
	free := l.free
	l.free = nil
	l.mu.Unlock()
	for _, f := range free {
		shm.Slot(f.call.Bytes()).End(f.number)
	}
	l.served.Wait()
	for _, f := range free {
		f.release()
	}
}

func (l *lanes) close() {
	l.calls.Close()
	l.answers.Close()
}

func (l *lane) release() {
	for _, r := range []*shm.Region{l.call, l.answer} {
		if r != nil {
			r.Release()
		}
	}
}

// ask posts a call.
func (l *lane) ask(message []byte) {
	l.number++
	shm.Slot(l.call.Bytes()).Post(l.number, message)
}

// await waits for the answer to what was asked.
func (l *lane) await(ctx context.Context) (*proto.LaneAnswer, error) {
	message, err := shm.Slot(l.answer.Bytes()).Await(ctx, l.number)
	if err != nil {
		return nil, err
	}
	answer := &proto.LaneAnswer{}
	err = wireformat.Unmarshal(message, answer)
	for _, b := range [][]byte{message, l.answer.Bytes()[shm.SlotHead:][:len(message)]} {
		clear(b) // it may be what was read of vectors
	}
	return answer, err
}

// Lane serves a lane.
func (s *server) Lane(ctx context.Context, r *proto.LaneRequest) (*proto.LaneReply, error) {
	if err := s.serveLane(ctx, r); err != nil {
		return nil, toStatus(err)
	}
	return &proto.LaneReply{}, nil
}

func (s *server) serveLane(ctx context.Context, r *proto.LaneRequest) error {
	if s.lanes.Add(1) > maxLanes {
		s.lanes.Add(-1)
		return refused("more than %d lanes", maxLanes)
	}
	defer s.lanes.Add(-1)
	h := &held{s: s}
	defer h.release()
	calls, err := h.region(r.GetCalls(), false)
	if err != nil {
		return err
	}
	answers, err := h.region(r.GetAnswers(), true)
	if err != nil {
		return err
	}
	if len(calls) < laneBytes || len(answers) < laneBytes {
		return refused("a lane of %d and %d bytes", len(calls), len(answers))
	}
	// A call that has come is answered, whatever ends the lane.
	more, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.inLanes, cancel)()
	for number := uint32(1); ; number++ {
		message, err := shm.Slot(calls).Await(more, number)
		switch {
		case errors.Is(err, backend.ErrClosed), err != nil && s.inLanes.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		shm.Slot(answers).Post(number, s.inLane(ctx, message))
	}
}

// inLane answers what was asked in a lane.
func (s *server) inLane(ctx context.Context, message []byte) []byte {
	call, answer := &proto.LaneCall{}, &proto.LaneAnswer{}
	err := wireformat.Unmarshal(message, call)
	switch c := call.GetCall().(type) {
	case *proto.LaneCall_Msm:
		answer.Answers, err = s.msm(ctx, c.Msm)
	case *proto.LaneCall_Run:
		answer.Answers, err = s.run(ctx, c.Run)
	default:
		if err == nil {
			err = errors.New("neither MSMs nor a program")
		}
		err = refused("a call in a lane: %v", err)
	}
	if err != nil {
		answer.Failure, _ = toFailure(err)
	}
	b, err := wireformat.Marshal(answer)
	if err == nil && len(b) > laneRoom {
		err = fmt.Errorf("%w: an answer of %d bytes in a lane that has room for %d", backend.ErrGone, len(b), laneRoom)
	}
	if err != nil {
		failure, _ := toFailure(err)
		b, _ = wireformat.Marshal(&proto.LaneAnswer{Failure: failure})
	}
	return b
}
