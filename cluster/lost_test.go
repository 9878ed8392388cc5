package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
)

// loses makes the workers' stream lose all jobs, like a consumer that takes them for acknowledged.
func (r *rig) loses() {
	r.t.Helper()
	if err := r.admin().Purge(r.t.Context(), wire.JobsPrefix+">", 0); err != nil {
		r.t.Fatal(err)
	}
}

// TestLostJobs: jobs that were handed out and that the workers' stream then loses are still proved,
// whether or not a manager is there when they are lost. They are proved even if the loss comes so
// soon that the server still knows the messages' IDs.
func TestLostJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *server.Config, m *server.Manager) { m.Stuck = 300 * time.Millisecond })
	c, w, msgs := r.client(), r.fakeWork("lost"), r.messages()
	ids := submitAll(t, c, w, 2) // one of them is handed out, although there is no worker
	out := func() bool { return msgs(wire.Jobs) == 1 }
	eventually(t, "a job is handed out", out)
	r.loses()
	eventually(t, "it is handed out again", out)
	r.stop()
	r.loses()
	r.manage()
	r.work(nil)
	waitAll(t, c, ids)
	r.settled(c, len(ids))
}

// TestNameAgain: once a named job's result is gone, a job with the same name is a new one, however
// soon it comes.
func TestNameAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *server.Config, m *server.Manager) { m.Linger = time.Millisecond })
	c, w, msgs := r.client(), r.fakeWork("again"), r.messages()
	var proofs atomic.Int64
	r.work(func(cfg *worker.Config) {
		cfg.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
			proofs.Add(1)
			return fakeProof(witness), nil
		})
	})
	for n := range 2 {
		id, err := c.Submit(t.Context(), w, number(0), cluster.JobOptions{Name: "block-17"})
		if err != nil {
			t.Fatal(err)
		}
		waitAll(t, c, []string{id})
		if got := proofs.Load(); got != int64(n+1) {
			t.Errorf("%d proofs after %d jobs", got, n+1)
		}
		eventually(t, "the result goes once it is taken", func() bool {
			if err := c.Taken(id); err != nil {
				t.Fatal(err)
			}
			return msgs(wire.Ends) == 0 && msgs(wire.Queue) == 0 && msgs(wire.Witnesses) == 0
		})
	}
}

// ends stores a job's end and does no more, like a process that is gone right afterwards.
func (r *rig) ends(id string, end any) {
	r.t.Helper()
	link := r.admin()
	check := func(err error) {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
	}
	m, err := wire.LastOf(r.t.Context(), link, wire.QueuePrefix+id)
	check(err)
	var job wire.Job
	check(json.Unmarshal(m.Data, &job))
	text, err := json.Marshal(end)
	check(err)
	e, _ := end.(wire.End)
	cost, err := json.Marshal(wire.Cost{Outcome: wire.Failed, Spare: e.Spare()})
	check(err)
	said := &nats.Msg{Subject: wire.EndsPrefix + id, Data: text, Header: nats.Header{wire.CostHeader: {string(cost)}}}
	_, err = link.JS.PublishMsg(r.t.Context(), said, jetstream.WithMsgID(job.MsgID()+" test"))
	check(err)
}

// TestEndedWithItsManager: if a manager ends after a job has ended and before it has removed the
// job's witness, the next manager removes it. Witnesses of jobs that may be sent again stay.
// Before, witnesses stayed until the sweep, an hour later.
func TestEndedWithItsManager(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w := r.client(), r.fakeWork("ended")
	submit := func(name string, after ...string) string { t.Helper(); return submitAfter(t, c, w, name, after...) }
	first := submit("first")
	ends := map[string]any{
		first:                  wire.End{Reason: "its client cancelled it", Caller: true, Kind: wire.Cancelled, Worker: "the server"},
		submit("after", first): wire.End{Reason: "job first was cancelled", Caller: true, Kind: wire.Cancelled, Worker: "the server"},
		submit("late"):         wire.End{Reason: "its deadline passed", Caller: true, Kind: wire.Late, Worker: "the server"},
		submit("proved"):       wire.End{Proof: fakeProof([]byte("proved")), Worker: "one"},
		submit("unreadable"):   "no end",
		submit("dead"):         wire.End{Reason: "3 tries failed", Worker: "one"},
	}
	r.stop()
	r.loses()
	for id, e := range ends {
		r.ends(id, e)
	}
	r.manage()
	r.settledBut(1, len(ends))
}

// TestDeadOnce: a dead job that another worker finds dead again keeps its witness, so that it can
// be sent again.
func TestDeadOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w, msgs := r.client(), r.fakeWork("dead"), r.messages()
	ids := submitAll(t, c, w, 1)
	eventually(t, "the job is handed out", func() bool { return msgs(wire.Jobs) == 1 })
	r.ends(ids[0], wire.End{Reason: "3 tries failed", Worker: "another"})
	r.work(nil)
	r.settledBut(1, 1)
}

// TestJobsAreNotPurged: jobs that were handed out and are then cancelled or late are removed from
// the workers' stream one by one. Before, they were purged: the server that led the consumer then
// noted alone what it had delivered, and jobs were lost if it was killed at that moment.
func TestJobsAreNotPurged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	link, c, w, msgs := r.admin(), r.client(), r.fakeWork("not purged"), r.messages()
	var purges, deletions atomic.Int64
	_, err := link.Conn.Subscribe("$JS.EVENT.ADVISORY.API", func(m *nats.Msg) {
		var a struct{ Subject string }
		_ = json.Unmarshal(m.Data, &a)
		switch a.Subject {
		case "$JS.API.STREAM.PURGE." + wire.Jobs:
			purges.Add(1)
		case "$JS.API.STREAM.MSG.DELETE." + wire.Jobs:
			deletions.Add(1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	out := func(n uint64) {
		t.Helper()
		eventually(t, "jobs are handed out", func() bool { return msgs(wire.Jobs) == n })
	}
	id := submitAll(t, c, w, 1)[0]
	out(1)
	if in, err := c.Cancel(t.Context(), id); err != nil || !in {
		t.Error(in, err)
	}
	out(0)
	late, err := c.Submit(t.Context(), w, number(1), cluster.JobOptions{Deadline: time.Now().Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(t.Context(), late); !errors.Is(err, cluster.ErrLate) {
		t.Error(err)
	}
	out(0)
	eventually(t, "both were removed", func() bool { return deletions.Load() == 2 })
	if n := purges.Load(); n > 0 {
		t.Errorf("%d purges", n)
	}
	r.settled(c, 2)
}

// TestLateAfterFailing: a job that was begun in time and failed is not begun again after its
// deadline. A job that a worker still has at its deadline ends with its proof.
func TestLateAfterFailing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w := r.client(), r.fakeWork("late")
	var tries atomic.Int64
	deadline := time.Now().Add(5 * time.Second)
	r.work(func(cfg *worker.Config) {
		cfg.Jobs = 2
		cfg.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
			time.Sleep(time.Until(deadline) + time.Second)
			if string(witness) == "fails" {
				tries.Add(1)
				return nil, errTest
			}
			return fakeProof(witness), nil
		})
	})
	soon := cluster.JobOptions{Deadline: deadline}
	slow, err := c.Submit(t.Context(), w, []byte("slow"), soon)
	if err != nil {
		t.Fatal(err)
	}
	fails, err := c.Submit(t.Context(), w, []byte("fails"), soon)
	if err != nil {
		t.Fatal(err)
	}
	if proof, err := c.Wait(t.Context(), slow); err != nil || !bytes.Equal(proof, fakeProof([]byte("slow"))) {
		t.Errorf("a job that was begun in time: %v", err)
	}
	if _, err := c.Wait(t.Context(), fails); !errors.Is(err, cluster.ErrLate) || tries.Load() != 1 {
		t.Errorf("a job that has failed: %v, after %d tries", err, tries.Load())
	}
	r.settled(c, 2)
}

// TestProtocol: a program of another version of the protocol than its cluster's says so in one line
// and ends.
func TestProtocol(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stop()
	link := r.admin()
	for name, answer := range map[string]string{"0": `{"replicas":1}`, "newer": `{"protocol":3,"replicas":1}`} {
		sub, err := link.Conn.Subscribe(wire.Hello+".>", func(m *nats.Msg) { _ = m.Respond([]byte(answer)) })
		if err == nil {
			err = link.Conn.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = cluster.Connect(r.ticket(server.ClientTicket))
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "update the older one") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		_ = sub.Unsubscribe()
	}
}
