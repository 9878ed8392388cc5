package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// A processor that has slept takes some 0.1 ms longer for a small MSM (docs/lab/boundary.md). So one
// lane of the process looks for its next call for a while before it sleeps, where there are
// processors for it and no lane computes.
const (
	awakeFor       = 5 * time.Millisecond // as long as a backend leaves what it computed with
	leastToBeAwake = 4                    // processors
)

// alert is the lanes of the process as staying awake needs them.
type alert struct {
	computing atomic.Int32 // lanes
	looking   atomic.Bool  // one
}

var lanesOfAll alert

// lookFor looks for a lane's next call, if this lane may.
func (a *alert) lookFor(calls shm.Mailbox, number uint32) {
	idle := func() bool { return a.computing.Load() == 0 }
	if !idle() || !a.looking.CompareAndSwap(false, true) {
		return
	}
	defer a.looking.Store(false)
	calls.Look(number, awakeFor, idle)
}

// Lane serves a lane.
func (s *server) Lane(ctx context.Context, r *proto.LaneRequest) (*proto.LaneReply, error) {
	if err := s.serveLane(ctx, r); err != nil {
		return nil, wire.ToStatus(err)
	}
	return &proto.LaneReply{}, nil
}

func (s *server) serveLane(ctx context.Context, r *proto.LaneRequest) error {
	if s.lanes.Add(1) > wire.MaxLanes {
		s.lanes.Add(-1)
		return wire.Refused("more than %d lanes", wire.MaxLanes)
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
	if len(calls) != wire.LaneBytes || len(answers) != wire.LaneBytes {
		return wire.Refused("a lane of %d and %d bytes", len(calls), len(answers))
	}
	// A call that has come is answered, even if the lane ends meanwhile.
	more, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.inLanes, cancel)()
	mayLook := runtime.GOMAXPROCS(0) >= leastToBeAwake
	for number := uint32(1); ; number++ {
		if mayLook && number > 1 {
			lanesOfAll.lookFor(calls, number)
		}
		message, err := shm.Mailbox(calls).Await(more, number)
		switch {
		case errors.Is(err, backend.ErrClosed), err != nil && s.inLanes.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if s.session != nil {
			s.session.lane(ctx)
		}
		shm.Mailbox(answers).Post(number, s.inLane(ctx, message))
	}
}

// inLane answers one call of a lane.
func (s *server) inLane(ctx context.Context, message []byte) []byte {
	lanesOfAll.computing.Add(1)
	defer lanesOfAll.computing.Add(-1)
	call, answer := &proto.RunRequest{}, &proto.LaneAnswer{}
	held, err := s.decode(ctx, message, call)
	if err == nil {
		defer held()
		var steps []backend.Step
		if steps, err = s.steps(ctx, call); err == nil {
			answer.Answers, err = s.run(ctx, call, steps)
		}
	} else {
		err = wire.Refused("a call in a lane: %v", err)
	}
	if err != nil {
		answer.Failure, _ = wire.ToFailure(err)
	}
	b, err := wireformat.Marshal(answer)
	if err == nil && len(b) > wire.LaneRoom {
		err = fmt.Errorf("%w: an answer of %d bytes in a lane that has room for %d", backend.ErrGone, len(b), wire.LaneRoom)
	}
	if err != nil {
		failure, _ := wire.ToFailure(err)
		b, _ = wireformat.Marshal(&proto.LaneAnswer{Failure: failure})
	}
	return b
}
