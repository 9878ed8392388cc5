//go:build linux

package serve

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// TestLaneRefuses: the plugin refuses to serve memory that is no lane, and answers nonsense in a
// lane with an error.
func TestLaneRefuses(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	calls, err := shm.NewArena(wire.LaneBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	answers, err := shm.NewAnswerArena(wire.LaneBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	long, err := shm.NewArena(2 * wire.LaneBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	for _, a := range []*shm.Arena{calls, answers, long} {
		size := uint64(len(a.Bytes()))
		if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: a.ID(), Size: size}, a.File()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Attach(ctx, &proto.AttachRequest{Arena: a.ID(), Size: size, Answers: a.Answers()}); err != nil {
			t.Fatal(err)
		}
	}
	to, from := wire.Region(calls, 0, wire.LaneBytes), wire.Region(answers, 0, wire.LaneBytes)
	if err := h.channel.Send(shm.Message{Kind: shm.KindArena, Size: 2 * wire.LaneBytes}, long.File()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Attach(ctx, &proto.AttachRequest{Size: 2 * wire.LaneBytes}); err != nil { // the arena 0
		t.Fatal(err)
	}
	for what, r := range map[string]*proto.LaneRequest{
		"nowhere":               {},
		"without answers":       {Calls: to},
		"the wrong way round":   {Calls: from, Answers: to},
		"too short for calls":   {Calls: wire.Region(calls, 8, wire.LaneBytes-8), Answers: from},
		"too long":              {Calls: wire.Region(long, 0, 2*wire.LaneBytes), Answers: from},
		"too short for answers": {Calls: to, Answers: wire.Region(answers, 8, wire.LaneBytes-8)},
	} {
		invalid(t, what, laneRefused(h, r))
	}

	served := make(chan error, 1)
	go func() {
		_, err := h.Lane(ctx, &proto.LaneRequest{Calls: to, Answers: from})
		served <- err
	}()
	good, err := wireformat.Marshal(&proto.RunRequest{Call: 1, Program: backend.EncodeSteps(nil)})
	if err != nil {
		t.Fatal(err)
	}
	bad, err := wireformat.Marshal(&proto.RunRequest{Call: 2, Program: backend.EncodeSteps([]backend.Step{nil})})
	if err != nil {
		t.Fatal(err)
	}
	number := uint32(0)
	for what, message := range map[string][]byte{"nonsense": {1, 2, 3}, "a step of no kind": bad, "a call": good} {
		number++
		shm.Mailbox(calls.Bytes()).Post(number, message)
		b, err := shm.Mailbox(answers.Bytes()).Await(ctx, number)
		if err != nil {
			t.Fatal(err)
		}
		answer := &proto.LaneAnswer{}
		if err := wireformat.Unmarshal(b, answer); err != nil {
			t.Fatal(err)
		}
		told, failed := wire.FromFailure(answer.GetFailure())
		if failed != (what != "a call") || failed && !errors.Is(told, backend.ErrInternal) {
			t.Errorf("%s: %v", what, told)
		}
	}
	shm.Mailbox(calls.Bytes()).Post(number+2, nil) // one is missing
	invalid(t, "a number too many", <-served)
	clear(calls.Bytes())
	go func() {
		_, err := h.Lane(ctx, &proto.LaneRequest{Calls: to, Answers: from})
		served <- err
	}()
	shm.Mailbox(calls.Bytes()).End(0)
	if err := <-served; err != nil {
		t.Errorf("after its end: %v", err)
	}
	var lanes sync.WaitGroup
	defer lanes.Wait()
	defer h.server.stop()
	clear(calls.Bytes())
	for range wire.MaxLanes {
		lanes.Go(func() { _, _ = h.Lane(ctx, &proto.LaneRequest{Calls: to, Answers: from}) })
	}
	plugintest.Eventually(t, time.Minute, "the lanes are served", func() bool { return h.server.lanes.Load() == wire.MaxLanes })
	invalid(t, "one too many", laneRefused(h, &proto.LaneRequest{Calls: to, Answers: from}))
}

// laneRefused returns why a lane is refused. A lane that is served would wait for calls.
func laneRefused(h *byHand, r *proto.LaneRequest) error {
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := h.Lane(within, r)
	return err
}

// TestLooksForCalls: a lane finds a call that has come and stops looking after a while; it does not
// look while a lane computes or another one looks.
func TestLooksForCalls(t *testing.T) {
	a, err := shm.NewArena(wire.LaneBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	calls := shm.Mailbox(a.Bytes())
	var all alert
	all.lookFor(calls, 1)
	calls.Post(1, nil)
	all.lookFor(calls, 1)
	if all.looking.Load() {
		t.Error("it looks on")
	}
	var none shm.Mailbox // a look at it panics
	all.computing.Store(1)
	all.lookFor(none, 2)
	all.computing.Store(0)
	all.looking.Store(true)
	all.lookFor(none, 2)
	if !all.looking.Load() {
		t.Error("one that did not look has ended another's")
	}
}
