package server

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
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
