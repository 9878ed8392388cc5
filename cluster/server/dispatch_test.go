package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
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
