//go:build linux

package plugin

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// count is how many lanes a client has opened.
func (l *lanes) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// TestLanes: a caller has one lane, many have no more than there may be, and all
// get their own answers; a request without room goes the other way.
func TestLanes(t *testing.T) {
	c := mustOpen(t, spec(t, ""))
	x := newBN(1000)
	id := mustLoad(t, c, x.bases())
	one := func(from, n int) bool {
		scalars := x.scalars[32*from : 32*(from+n)]
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Offset: from, Count: n, Scalars: scalars}})
		if err != nil {
			t.Error(err)
			return false
		}
		return bytes.Equal(got[0], x.wantOf(from, n, scalars))
	}
	for i := range 50 {
		if !one(i, 1+i) {
			t.Fatal("a wrong answer")
		}
	}
	if n := c.lanes.count(); n != 1 {
		t.Errorf("%d lanes for one caller", n)
	}
	var callers sync.WaitGroup
	for k := range 4 * mostLanes {
		callers.Go(func() {
			for i := range 30 {
				if !one(k+i, 1+k) {
					t.Error("a wrong answer")
				}
			}
		})
	}
	callers.Wait()
	if n := c.lanes.count(); n < 2 || n > mostLanes {
		t.Errorf("%d lanes for %d callers", n, 4*mostLanes)
	}
	jobs := make([]backend.Job, laneRoom/64) // whose answers alone are too long
	for i := range jobs {
		jobs[i] = backend.Job{Bases: id, Offset: i, Count: 2, Scalars: x.scalars[32*i : 32*(i+2)]}
	}
	got, err := c.MSM(ctx, jobs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		if !bytes.Equal(got[i], x.wantOf(i, 2, jobs[i].Scalars)) {
			t.Fatalf("answer %d of %d is wrong", i, len(jobs))
		}
	}
}

// TestInstrumentedCalls: with options of gRPC's own, calls go through it.
func TestInstrumentedCalls(t *testing.T) {
	s := spec(t, "")
	s.GRPC = []grpc.DialOption{grpc.WithUserAgent("test")}
	c := mustOpen(t, s)
	check(t, c, 10)
	if n := c.lanes.count(); n != 0 {
		t.Errorf("%d lanes", n)
	}
}

// TestLaneRefuses: the plugin serves no lane that is none, and answers nonsense in
// one with an error.
func TestLaneRefuses(t *testing.T) {
	h := newByHand(t)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	calls, err := shm.NewArena(laneBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	answers, err := shm.NewAnswerArena(laneBytes)
	if err != nil {
		t.Fatal(err)
	}
	defer answers.Close()
	for _, a := range []*shm.Arena{calls, answers} {
		if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: a.ID(), Size: laneBytes}, a.File()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Attach(ctx, &proto.AttachRequest{Arena: a.ID(), Size: laneBytes, Answers: a.Answers()}); err != nil {
			t.Fatal(err)
		}
	}
	to, from := wire(calls, 0, laneBytes), wire(answers, 0, laneBytes)
	for what, r := range map[string]*proto.LaneRequest{
		"nowhere":               {},
		"without answers":       {Calls: to},
		"the wrong way round":   {Calls: from, Answers: to},
		"too short for calls":   {Calls: wire(calls, 8, laneBytes-8), Answers: from},
		"too short for answers": {Calls: to, Answers: wire(answers, 8, laneBytes-8)},
	} {
		_, err := h.Lane(ctx, r)
		invalid(t, what, err)
	}

	served := make(chan error, 1)
	go func() {
		_, err := h.Lane(ctx, &proto.LaneRequest{Calls: to, Answers: from})
		served <- err
	}()
	good, err := wireformat.Marshal(&proto.LaneCall{Call: &proto.LaneCall_Msm{Msm: &proto.MSMRequest{Call: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	number := uint32(0)
	for what, message := range map[string][]byte{"nothing": nil, "nonsense": {1, 2, 3}, "a call": good} {
		number++
		shm.Slot(calls.Bytes()).Post(number, message)
		b, err := shm.Slot(answers.Bytes()).Await(ctx, number)
		if err != nil {
			t.Fatal(err)
		}
		answer := &proto.LaneAnswer{}
		if err := wireformat.Unmarshal(b, answer); err != nil {
			t.Fatal(err)
		}
		told, failed := fromFailure(answer.GetFailure())
		if failed != (what != "a call") || failed && !errors.Is(told, backend.ErrInternal) {
			t.Errorf("%s: %v", what, told)
		}
	}
	shm.Slot(calls.Bytes()).Post(number+2, nil) // one is missing
	invalid(t, "a number too many", <-served)
	clear(calls.Bytes())
	go func() {
		_, err := h.Lane(ctx, &proto.LaneRequest{Calls: to, Answers: from})
		served <- err
	}()
	shm.Slot(calls.Bytes()).End(0)
	if err := <-served; err != nil {
		t.Errorf("after its end: %v", err)
	}
	var lanes sync.WaitGroup
	defer lanes.Wait()
	defer h.server.stop()
	clear(calls.Bytes())
	for range maxLanes {
		lanes.Go(func() { _, _ = h.Lane(ctx, &proto.LaneRequest{Calls: to, Answers: from}) })
	}
	eventually(t, 10*time.Second, "the lanes are served", func() bool { return h.server.lanes.Load() == maxLanes })
	_, err = h.Lane(ctx, &proto.LaneRequest{Calls: to, Answers: from})
	invalid(t, "one too many", err)
}
