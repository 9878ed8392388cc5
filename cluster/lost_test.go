package cluster_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
)

// loses has the workers' stream lose all jobs, as a consumer does that takes them for
// acknowledged.
func (r *rig) loses() {
	r.t.Helper()
	_, js, err := r.cfg.Ticket.Connect("test")
	if err != nil {
		r.t.Fatal(err)
	}
	defer js.Conn().Close()
	r.purge(js, wire.Jobs)
}

// TestLostJobs: jobs that were handed out and that the workers' stream loses have their
// proofs, whether or not their manager is there when that happens, and soon after, when the
// server would still know the messages' IDs.
func TestLostJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *server.Config, m *server.Manager) { m.Stuck = 300 * time.Millisecond })
	c, w, msgs := r.client(), r.fakeWork("lost"), r.messages()
	ids := submitAll(t, c, w, 2) // one of which is handed out: there is no worker
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

// TestNameAgain: when a named job's result is gone a job of the same name is another one,
// however soon it comes.
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
