package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

// TestRoom: however old what a look has seen is, no more jobs are out than workers can have and
// those that wait beside them. Jobs that workers gave back do not count once two looks have seen
// that.
func TestRoom(t *testing.T) {
	d := &dispatcher{schedule: newSchedule(nil), graph: newGraph(), wake: make(chan struct{}, 1), handed: map[string]*handed{}}
	for i := range 10 {
		add(d.schedule, "a", i, 0, time.Time{})
	}
	want := func(n int, when string) {
		t.Helper()
		got := 0
		for d.next() != nil {
			got++
		}
		if got != n {
			t.Errorf("%d jobs are handed out, not %d, %s", got, n, when)
		}
	}
	d.adjust(1, 0, 0, true)
	want(2, "to one who can have one")
	d.adjust(1, 0, 0, true)
	want(0, "after a look from before that")
	d.adjust(1, 0, 1, true)
	want(0, "when the worker was asked before it had the job")
	d.adjust(1, 1, 1, true)
	d.adjust(1, 0, 1, true)
	want(0, "when that is so again")
	d.adjust(1, 0, 1, true)
	want(1, "when the job was given back")
	d.adjust(1, 0, 1, false)
	want(0, "when it is not known who has it")
	d.adjust(1, 1, 1, true)
	d.schedule.ended("a.0", 1)
	want(0, "when the job was taken again, and one has ended")
	d.schedule.ended("a.1", 1)
	want(1, "when two have ended")
}

// TestUsedKeys: however many keys a tenant names, the ledger keeps the ones that it used last, and
// those of other tenants.
func TestUsedKeys(t *testing.T) {
	begun := time.Unix(1e9, 0)
	keys := map[string]time.Time{"other.x": begun}
	for i := range 2 * mostUsed {
		used(keys, "a.", fmt.Sprint(i), begun.Add(time.Duration(i)*time.Second))
	}
	_, last := keys[fmt.Sprint("a.", 2*mostUsed-1)]
	_, before := keys[fmt.Sprint("a.", mostUsed-1)]
	if _, others := keys["other.x"]; len(keys) != mostUsed+1 || !others || !last || before {
		t.Errorf("%d keys, others' %v, the last %v, an old one %v", len(keys), others, last, before)
	}
}

// TestEndsWhileBusy: a dispatcher can end while work holds all slots and begins more work, and
// still more waits for a slot.
func TestEndsWhileBusy(t *testing.T) {
	d := &dispatcher{tasks: make(chan struct{}, 1), looks: map[string]chan struct{}{}}
	d.ctx, d.stop = context.WithCancel(t.Context())
	var did atomic.Int64
	for range 10 * mostLooks {
		go d.look("eve", func() {
			<-d.ctx.Done()
			time.Sleep(10 * time.Millisecond) // until end waits
			d.spawn(func() { did.Add(1) })
		})
	}
	time.Sleep(10 * time.Millisecond)
	ended := make(chan struct{})
	go func() { d.end(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	before := did.Load()
	d.spawn(func() { did.Add(1) })
	d.look("eve", func() { did.Add(1) })
	if time.Sleep(10 * time.Millisecond); did.Load() != before {
		t.Error("it begins something after its end")
	}
}

// TestLooksOfOthers: a tenant whose lookups all take long delays no other tenant.
func TestLooksOfOthers(t *testing.T) {
	d := &dispatcher{tasks: make(chan struct{}, 1), looks: map[string]chan struct{}{}}
	d.ctx, d.stop = context.WithCancel(t.Context())
	defer d.end()
	for range 10 * mostLooks {
		go d.look("eve", func() { <-d.ctx.Done() })
	}
	time.Sleep(10 * time.Millisecond)
	looked := make(chan struct{})
	go d.look("alice", func() { close(looked) })
	select {
	case <-looked:
	case <-time.After(time.Minute):
		t.Error("another tenant's look waits")
	}
}

// TestEndedElsewhere: a job that another dispatcher has handed out is taken out when its end is
// heard, and is not handed out once more. A job that was sent again since stays.
func TestEndedElsewhere(t *testing.T) {
	job := func(name string, retry int, after ...string) *waiting {
		return &waiting{job: wire.Job{ID: "a." + name, Retry: retry, After: after}}
	}
	for name, c := range map[string]struct {
		w     *waiting
		endID string
		over  bool
	}{
		"in the queue":                      {job("x", 0), "a.x worker", true},
		"waits for another":                 {job("x", 0, "a.before"), "a.x worker", true},
		"the end of a retry":                {job("x", 1), "a.x-retry-1 worker", true},
		"was sent again":                    {job("x", 1), "a.x worker", false},
		"was sent again, waits for another": {job("x", 1, "a.before"), "a.x worker", false},
		"a name that begins alike":          {job("x", 0), "a.xy worker", false},
	} {
		d := &dispatcher{schedule: newSchedule(nil), graph: newGraph(), handed: map[string]*handed{}, room: 1}
		if len(c.w.job.After) == 0 {
			d.schedule.add(c.w)
		} else {
			d.graph.add(c.w)
		}
		if got := d.takeOut(c.w.job.ID, c.endID); (got == c.w) != c.over || got == nil == c.over {
			t.Errorf("%s: it is taken out: %v", name, got != nil)
		}
		for _, w := range d.graph.proved("a.before") {
			d.schedule.add(w)
		}
		if w := d.next(); (w == nil) != c.over {
			t.Errorf("%s: it is handed out once more: %v", name, w != nil)
		}
	}
	var late atomic.Int64
	d := &dispatcher{schedule: newSchedule(nil), graph: newGraph(), handed: map[string]*handed{}}
	w := job("x", 0)
	d.handed["a.x"] = &handed{w: w, late: time.AfterFunc(20*time.Millisecond, func() { late.Add(1) })}
	if d.takeOut("a.x", "a.x-retry-1 worker") != nil || len(d.handed) != 1 {
		t.Error("the end of another publication takes out a job that was handed out")
	}
	if d.takeOut("a.x", "a.x worker") != w || len(d.handed) != 0 || d.takeOut("a.x", "a.x worker") != nil {
		t.Error("a job that was handed out is not taken out once")
	}
	if time.Sleep(40 * time.Millisecond); late.Load() != 0 {
		t.Error("a job that has ended becomes too late")
	}
}

// TestEar: a message that a look saw before it was heard of makes the dispatcher deaf once deafFor is over, unless
// it is heard of meanwhile. What it has begun to listen for anew is not missed again.
func TestEar(t *testing.T) {
	begun := time.Unix(1e9, 0)
	e := &ear{heard: 5}
	at := func(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }
	for i, c := range []struct {
		seconds   float64
		last      uint64
		heard     uint64
		old, deaf bool
	}{
		{0, 5, 5, false, false},    // all is heard of
		{60, 7, 5, false, false},   // two are on their way
		{62, 9, 6, false, false},   // and still one of them
		{62.9, 9, 6, false, false}, //
		{63, 9, 6, false, true},    // for too long
		{64, 9, 7, false, false},   // it came late
		{66.9, 9, 7, false, false}, // others are missed since then only
		{67, 9, 7, true, true},     // listening begins anew
		{68, 9, 7, false, false},   //
		{99, 9, 7, false, false},   // 8 and 9 were removed
		{100, 10, 7, false, false}, // a new one is missed
		{103, 10, 7, false, true},  //
	} {
		e.heard = c.heard
		if deaf := e.deaf(c.last, at(c.seconds)); deaf != c.deaf {
			t.Errorf("look %d, after %v s: deaf %v", i, c.seconds, deaf)
		}
		if c.old {
			e.old = c.last
		}
	}
	if e.first(7) || !e.first(8) || e.first(8) {
		t.Error("messages are heard of twice, or never")
	}
}

// TestDeafDispatcher: a dispatcher whose consumers have fallen silent hears of a job and of an end within some
// seconds, each once.
func TestDeafDispatcher(t *testing.T) {
	s, err := Start(Config{Dir: quickdir.New(t), Listen: "127.0.0.1:0", Clients: []string{"alice"}, Room: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	m := Manager{Every: time.Second, Stuck: time.Hour, Orphan: time.Hour, KeepDead: time.Hour, Linger: time.Hour, Room: s.Room(), Name: "m",
		Log: slog.New(slog.DiscardHandler)}
	m.Names, m.Shares = s.Tenants()
	ticket := func(name string) cluster.Ticket {
		t.Helper()
		k, err := s.Ticket(name)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	m.Ticket = ticket(AdminTicket)
	alice, err := ticket(TicketOf("alice")).Tenant()
	if err != nil {
		t.Fatal(err)
	}
	link, err := m.Ticket.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	link.Replicas, link.Manages = 1, true
	k := m.keeper(link)
	if err := k.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer k.follow()
	if err := k.lead(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	d := k.leading()
	heard := func() (queue, ends uint64) {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.lanes[alice].queue.heard, d.lanes[alice].ends.heard
	}
	send := func(n int) {
		t.Helper()
		// No job, so that it is thrown away when it is heard of.
		if _, err := link.JS.Publish(t.Context(), fmt.Sprint(wire.QueuePrefix, alice, ".x", n), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := link.JS.Publish(t.Context(), fmt.Sprint(wire.EndsPrefix, alice, ".x", n), nil); err != nil {
			t.Fatal(err)
		}
	}
	until := func(n uint64, what string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			if q, e := heard(); q == n && e == n {
				return
			} else if time.Now().After(end) {
				t.Fatalf("%s: %d jobs and %d ends are heard of, want %d", what, q, e, n)
			}
			if err := k.look(t.Context(), t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(1)
	until(1, "at first")
	d.mu.Lock()
	silent := []func(){d.lanes[alice].queue.stop, d.lanes[alice].ends.stop}
	d.mu.Unlock()
	for _, stop := range silent {
		stop()
	}
	send(2)
	until(2, "after both fell silent")
	send(3)
	until(3, "in the end")
	if u := d.notes.Clients[alice]; u.Proved != 3 {
		t.Errorf("%d ends are counted", u.Proved)
	}
}
