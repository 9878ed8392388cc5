package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
)

// gate is the Prove of a fake prover. It notes the order of the witnesses, and each call waits
// until the test lets it go.
type gate struct {
	mu    sync.Mutex
	order []string
	open  chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) prove(ctx context.Context, witness []byte) ([]byte, error) {
	g.mu.Lock()
	g.order = append(g.order, string(witness))
	g.mu.Unlock()
	select {
	case <-g.open:
		return fakeProof(witness), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (g *gate) begun() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.order)
}

// busy starts a worker that takes one job at a time. The worker has a first job in its hands, and a
// second is handed out.
func (r *rig) busy(c *cluster.Client, w cluster.Work, g *gate, change func(*worker.Config)) (ids []string) {
	r.t.Helper()
	r.work(func(cfg *worker.Config) {
		cfg.Open, cfg.Jobs = fakes(g.prove), 1
		if change != nil {
			change(cfg)
		}
	})
	for i := range 2 {
		id, err := c.Submit(r.t.Context(), w, []byte(fmt.Sprint("first ", i)))
		if err != nil {
			r.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	eventually(r.t, "the first job is begun", func() bool { return len(g.begun()) == 1 })
	msgs := r.messages()
	eventually(r.t, "the second job is handed out", func() bool { return msgs(wire.Jobs) == 2 })
	seen := r.looks.Load()
	eventually(r.t, "the manager knows who has what", func() bool { return r.looks.Load() > seen+2 })
	return ids
}

// TestPriorities: of the waiting jobs, those of a higher priority are begun first, and among equals
// those with the earlier deadline.
func TestPriorities(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w, g := r.client(), r.fakeWork("priorities"), newGate()
	ids := r.busy(c, w, g, nil)
	soon := time.Now().Add(time.Hour)
	for name, o := range map[string]cluster.JobOptions{
		"low": {Priority: -1}, "later": {Deadline: soon.Add(time.Hour)}, "soon": {Deadline: soon}, "high": {Priority: 7}, "some time": {},
	} {
		id, err := c.Submit(t.Context(), w, []byte(name), o)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	time.Sleep(200 * time.Millisecond)
	close(g.open)
	for _, id := range ids {
		if _, err := c.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := g.begun(); !slices.Equal(got[2:], []string{"high", "soon", "later", "some time", "low"}) {
		t.Errorf("the order was %q", got)
	}
	r.settled(c, len(ids))
}

// TestDeadline: a job whose deadline has passed is not begun, whether it is in the queue or handed
// out.
func TestDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w, g := r.client(), r.fakeWork("deadline"), newGate()
	ids := r.busy(c, w, g, nil)
	late, err := c.Submit(t.Context(), w, []byte("late"), cluster.JobOptions{Deadline: time.Now().Add(50 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Minute) // a job that is handed out would wait for the gate
	defer cancel()
	if _, err := c.Wait(soon, late); !errors.Is(err, cluster.ErrDead) || !errors.Is(err, cluster.ErrLate) {
		t.Error("in the queue:", err)
	}
	close(g.open)
	waitFor(t, c, ids)
	r.settled(c, len(ids)+1)
	if slices.Contains(g.begun(), "late") {
		t.Error("it was begun")
	}

	// This job is handed out while there is no worker.
	r2 := newRig(t)
	c, w = r2.client(), r2.fakeWork("deadline")
	id, err := c.Submit(t.Context(), w, []byte("late"), cluster.JobOptions{Deadline: time.Now().Add(200 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	r2.work(func(cfg *worker.Config) { cfg.Open = fakes(g.prove) })
	if _, err := c.Wait(t.Context(), id); !errors.Is(err, cluster.ErrLate) {
		t.Error("handed out:", err)
	}
	r2.settled(c, 1)
}

func waitFor(t *testing.T, c *cluster.Client, ids []string) {
	t.Helper()
	for _, id := range ids {
		if _, err := c.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCancel: a cancelled job is not proved, whether it waits, is handed out, or is in the hands of
// a worker. That worker goes on with other jobs.
func TestCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w, g := r.client(), r.fakeWork("cancel"), newGate()
	ids := r.busy(c, w, g, nil)
	waits, err := c.Submit(t.Context(), w, []byte("waits"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{waits, ids[1], ids[0]} {
		if in, err := c.Cancel(t.Context(), id); err != nil || !in {
			t.Error(in, err)
		}
		if _, err := c.Wait(t.Context(), id); !errors.Is(err, cluster.ErrDead) || !errors.Is(err, cluster.ErrCancelled) {
			t.Error(err)
		}
	}
	close(g.open)
	more, err := c.Submit(t.Context(), w, []byte("more"))
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, []string{more})
	if in, err := c.Cancel(t.Context(), more); err != nil || in {
		t.Error("a job that has ended was cancelled in time", err)
	}
	r.settled(c, 4)
	if got := g.begun(); !slices.Equal(got, []string{"first 0", "more"}) {
		t.Errorf("begun: %q", got)
	}
	s, err := r.clientOf(server.AdminTicket).Status(t.Context())
	if err != nil || len(s.Dead) != 0 {
		t.Errorf("cancelled jobs are dead letters: %+v, %v", s.Dead, err)
	}
	eventually(t, "the ledger has them", func() bool {
		s, err := r.clientOf(server.AdminTicket).Status(t.Context())
		u := s.Ledger.Clients[r.tenant(server.ClientTicket)]
		return err == nil && u.Proved == 1 && u.Cancelled == 3 && u.Milliseconds > 0 && s.Ledger.Name(r.tenant(server.ClientTicket)) == "client"
	})
	if _, err := c.Cancel(t.Context(), "nobody.x-1"); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("another one's job:", err)
	}
}

// TestCancelledProve: if the context of a Prove ends, its job is not proved.
func TestCancelledProve(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client()
	s := setOf(t, cluster.Groth16, ecc.BN254)
	p, err := c.Add(t.Context(), s.ccs, s.pk, s.vk, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := p.Prove(ctx, witnessOf(t, ecc.BN254, 3, 9)); done <- err }()
	eventually(t, "the job is there", func() bool { s, err := c.Status(t.Context()); return err == nil && s.Waiting == 1 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.settled(c, 1)
	// The job's deadline is its context's.
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := p.Prove(ctx, witnessOf(t, ecc.BN254, 3, 9)); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, cluster.ErrLate) {
		t.Error(err)
	}
	r.settled(c, 2)
	r.work(func(c *worker.Config) { c.Open = worker.Provers(nil) })
	if _, err := p.With(cluster.JobOptions{Priority: 1}).Prove(t.Context(), witnessOf(t, ecc.BN254, 3, 9)); err != nil {
		t.Error(err)
	}
}

// TestCancelledWithoutManager: if the context of a Prove ends while no manager runs, the next one ends its job.
func TestCancelledWithoutManager(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.client()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	s := setOf(t, cluster.Groth16, ecc.BN254)
	p, err := c.Add(t.Context(), s.ccs, s.pk, s.vk, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, err := p.Prove(ctx, witnessOf(t, ecc.BN254, 3, 9)); done <- err }()
	eventually(t, "the job is there", func() bool { s, err := c.Status(t.Context()); return err == nil && s.Waiting == 1 })
	r.stop()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	time.Sleep(100 * time.Millisecond) // so that what is sent once is lost
	r.manage()
	r.settled(c, 1)
}

// TestClientShares: two clients that always have jobs get cards by their shares, even if one
// client's jobs take longer.
func TestClientShares(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *server.Config, _ *server.Manager) {
		c.Clients, c.Shares = []string{"alice", "bob"}, map[string]float64{"alice": 0.7}
	})
	takes := map[byte]time.Duration{'a': 150 * time.Millisecond, 'b': 50 * time.Millisecond}
	held := size(100, 600) // jobs are held from this one on, in the order in which they begin, until the shares are read
	type job struct {
		client  *cluster.Client
		id      string
		witness []byte
	}
	// All jobs are submitted before the first begins. Bob's jobs cost no more than alice's, so
	// alice begins at most seven in ten and bob at most six. Both always have jobs that wait,
	// and however slow the machine is, nothing depends on when the shares are read.
	var jobs []job
	for _, name := range []string{"alice", "bob"} {
		c, w := r.clientOf(server.TicketOf(name)), r.fakeWorkOf(server.TicketOf(name), "shares")
		for i := range held * 9 / 10 {
			witness := fmt.Appendf(nil, "%s %d", name, i)
			id, err := c.Submit(t.Context(), w, witness)
			if err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, job{c, id, witness})
		}
	}
	var mu sync.Mutex
	begun := map[string]int{} // the place in the order in which jobs began, from 1 on
	read := make(chan struct{})
	for i := range 2 {
		r.work(func(cfg *worker.Config) {
			cfg.Jobs, cfg.Name = 2, fmt.Sprint("w", i)
			cfg.Open = fakes(func(ctx context.Context, witness []byte) ([]byte, error) {
				mu.Lock()
				place, again := begun[string(witness)]
				if !again {
					place = len(begun) + 1
					begun[string(witness)] = place
				}
				mu.Unlock()
				if place >= held {
					select {
					case <-read:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				time.Sleep(takes[witness[0]])
				return fakeProof(witness), nil
			})
		})
	}
	admin := r.clientOf(server.AdminTicket)
	var a, b cluster.Usage
	eventually(t, "the jobs that are not held are proved", func() bool {
		s, err := admin.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a, b = s.Ledger.Clients[r.tenant(server.TicketOf("alice"))], s.Ledger.Clients[r.tenant(server.TicketOf("bob"))]
		return a.Proved+b.Proved >= uint64(held-1)
	})
	close(read)
	share := a.Milliseconds / (a.Milliseconds + b.Milliseconds)
	t.Logf("alice has %.3f of %.0f ms with %d jobs, bob has %d jobs", share, a.Milliseconds+b.Milliseconds, a.Proved, b.Proved)
	if math.Abs(share-0.7) > 0.05 {
		t.Errorf("alice has %.3f, her share is 0.7", share)
	}
	for _, j := range jobs {
		if proof, err := j.client.Wait(t.Context(), j.id); err != nil || !bytes.Equal(proof, fakeProof(j.witness)) {
			t.Errorf("%s: a wrong proof, %v", j.witness, err)
		}
	}
}

// TestNamedJobs: jobs with one name are one job, whoever submits the name again, and however far
// the job is.
func TestNamedJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w := r.client(), r.fakeWork("names")
	o := cluster.JobOptions{Name: "block-17"}
	first, err := c.Submit(t.Context(), w, number(1), o)
	if err != nil {
		t.Fatal(err)
	}
	again := func(when string) {
		if id, err := r.client().Submit(t.Context(), w, number(2), o); err != nil || id != first {
			t.Error(when, id, err)
		}
	}
	again("while it waits")
	r.work(nil)
	if proof, err := c.Wait(t.Context(), first); err != nil || !bytes.Equal(proof, fakeProof(number(1))) {
		t.Error(proof, err)
	}
	r.settled(c, 1)
	again("when it has ended")
	r.settled(c, 1)
	if _, err := c.Submit(t.Context(), w, number(1), cluster.JobOptions{Name: "block.17"}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
}

// TestTaken: a result is kept until it is taken, and is removed then.
func TestTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *server.Config, m *server.Manager) { m.Linger = 300 * time.Millisecond })
	c := r.client()
	r.work(nil)
	ids := submitAll(t, c, r.fakeWork("taken"), 3)
	waitAll(t, c, ids)
	waitAll(t, c, ids)
	for _, id := range ids[1:] {
		if err := c.Taken(id); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "two results are gone", func() bool { s, err := c.Status(t.Context()); return err == nil && s.Results == 1 })
	waitAll(t, c, ids[:1])
	if err := c.Taken("x.y"); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("another one's result:", err)
	}
}

// TestCounts: status and metrics distinguish results that wait to be taken from results that were
// taken and are not removed yet. When a client has its proof, the end of its job is counted
// already.
func TestCounts(t *testing.T) {
	t.Parallel()
	var first atomic.Pointer[cluster.Figures]
	var last atomic.Pointer[cluster.Figures]
	r := newRig(t, func(_ *server.Config, m *server.Manager) {
		m.Figures = func(f cluster.Figures) {
			first.CompareAndSwap(nil, &f)
			last.Store(&f)
		}
	})
	c, tenant := r.client(), r.tenant(server.ClientTicket)
	r.work(nil)
	eventually(t, "the manager has looked", func() bool { return first.Load() != nil })
	ids := submitAll(t, c, r.fakeWork("counts"), 3)
	waitAll(t, c, ids)
	eventually(t, "they are counted", func() bool { return first.Load().Usage()[tenant].Proved == 3 })
	for _, id := range ids[1:] {
		if err := c.Taken(id); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []*cluster.Client{c, r.clientOf(server.AdminTicket)} {
		var s cluster.Status
		eventually(t, "the manager has heard that they are taken", func() (ok bool) {
			var err error
			s, err = of.Status(t.Context())
			return err == nil && s.Taken == 2
		})
		if s.Results != 1 {
			t.Errorf("%d results wait to be taken", s.Results)
		}
		if s.Ledger != nil && s.Ledger.Clients[tenant].Proved != 3 {
			t.Errorf("%+v", s.Ledger)
		}
	}
	eventually(t, "metrics say so", func() bool { return last.Load().Taken[tenant] == 2 })
	for _, s := range last.Load().Streams {
		if s.Name == "ends" && s.Tenant == tenant && s.Messages != 3 {
			t.Errorf("%+v", s)
		}
	}
}

// TestRetry: a dead job is sent again and proved. A job that was itself at fault has no witness any
// more.
func TestRetry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w, admin := r.client(), r.fakeWork("retry"), r.clientOf(server.AdminTicket)
	end := r.work(func(cfg *worker.Config) {
		cfg.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
			if string(witness) == "wrong" {
				return nil, worker.ErrJob
			}
			return nil, errTest
		})
	})
	id, err := c.Submit(t.Context(), w, number(4))
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := c.Submit(t.Context(), w, []byte("wrong"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{id, wrong} {
		if _, err := c.Wait(t.Context(), id); !errors.Is(err, cluster.ErrDead) {
			t.Fatal(err)
		}
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Retry(t.Context()); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("with a client's ticket:", err)
	}
	if sent, err := admin.Retry(t.Context()); err != nil || !slices.Equal(sent, []string{id}) {
		t.Fatal(sent, err)
	}
	r.work(nil)
	waitProof := func() {
		t.Helper()
		if proof, err := c.Wait(t.Context(), id); err != nil || !bytes.Equal(proof, fakeProof(number(4))) {
			t.Error(proof, err)
		}
	}
	waitProof()
	r.settled(c, 2)
	if s, err := admin.Status(t.Context()); err != nil || len(s.Dead) != 1 || s.Dead[0].ID != wrong {
		t.Errorf("%+v, %v", s.Dead, err)
	}
	if _, err := admin.Retry(t.Context(), id); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("a job that is not dead:", err)
	}
}

// TestKeysThatNothingUses: keys that no job uses are distinguished from others, and can be removed.
func TestKeysThatNothingUses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, admin := r.client(), r.clientOf(server.AdminTicket)
	old, used := r.fakeWork("old"), r.fakeWork("used")
	before := time.Now()
	id, err := c.Submit(t.Context(), used, number(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Keys(t.Context()); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("with a client's ticket:", err)
	}
	keys := func() []cluster.StoredKey {
		t.Helper()
		all, err := admin.Keys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	eventually(t, "clients have names", func() bool { return keys()[0].Client == "client" })
	if all := keys(); len(all) != 2 || all[0].Digest != old.Circuit || all[0].Waiting || !all[1].Waiting ||
		all[1].Client != "client" || all[1].Bytes == 0 {
		t.Errorf("%+v", all)
	}
	r.work(nil)
	waitFor(t, c, []string{id})
	r.settled(c, 1)
	eventually(t, "the use is noted", func() bool { all := keys(); return len(all) == 2 && all[1].Used.After(before.Add(-time.Second)) })
	if err := admin.RemoveKey(t.Context(), keys()[0]); err != nil {
		t.Fatal(err)
	}
	if all := keys(); len(all) != 1 || all[0].Digest != used.Circuit || all[0].Waiting {
		t.Errorf("%+v", all)
	}
	if _, err := one(t, c, old, number(1)); !errors.Is(err, cluster.ErrDead) || !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("a job of a key that was removed:", err)
	}
}

// TestHandBack: a worker whose machine is taken away gives its jobs back at once. Another worker
// has them before they could be missed.
func TestHandBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w, g := r.client(), r.fakeWork("hand back"), newGate()
	notice := make(chan struct{})
	done := make(chan error, 1)
	cfg := worker.Config{Ticket: r.ticket(server.WorkerTicket), Open: fakes(g.prove), Cache: t.TempDir(),
		Name: "spot", HandBack: notice, Drain: time.Hour, Log: r.log}
	go func() { done <- worker.Run(t.Context(), cfg) }()
	id, err := c.Submit(t.Context(), w, number(1))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is begun", func() bool { return len(g.begun()) == 1 })
	began := time.Now()
	close(notice)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the worker is still there")
	}
	r.work(nil)
	if proof, err := c.Wait(t.Context(), id); err != nil || !bytes.Equal(proof, fakeProof(number(1))) {
		t.Error(proof, err)
	}
	t.Logf("proved %v after the notice", time.Since(began))
	r.settled(c, 1)
}

// TestWorkersTickets: each worker has its ticket, and a worker that is no longer listed is not let
// in.
func TestWorkersTickets(t *testing.T) {
	t.Parallel()
	var cfg server.Config
	r := newRig(t, func(c *server.Config, _ *server.Manager) { c.Workers = []string{"a", "b"}; cfg = *c })
	if _, err := cluster.ReadTicket(r.dir + "/" + server.WorkerTicket); err == nil {
		t.Error("there is a ticket for every worker")
	}
	b := r.ticket(server.WorkerTicketOf("b"))
	r.work(func(c *worker.Config) { c.Ticket = r.ticket(server.WorkerTicketOf("a")) })
	c := r.client()
	waitAll(t, c, submitAll(t, c, r.fakeWork("tickets"), 2))
	r.down()
	cfg.Listen, cfg.Workers = r.listen, []string{"a"}
	r.start(cfg)
	if err := worker.Run(t.Context(), worker.Config{Ticket: b, Open: fakes(nil), Cache: t.TempDir()}); !errors.Is(err,
		backend.ErrUnavailable) {
		t.Error("who is not listed any more is let in:", err)
	}
	waitAll(t, c, submitAll(t, c, r.fakeWork("tickets"), 2))
}

// TestTwoManagers: one of two managers hands out jobs. When it is gone, the other one does.
func TestTwoManagers(t *testing.T) {
	t.Parallel()
	leads := make(chan string, 100)
	r := newRig(t, func(_ *server.Config, m *server.Manager) {
		m.Name = "a"
		m.Figures = func(f cluster.Figures) { note(leads, "a", f.Leads) }
	})
	stopA := r.stop
	r.cfg.Name, r.cfg.Figures = "b", func(f cluster.Figures) { note(leads, "b", f.Leads) }
	r.manage()
	time.Sleep(time.Second)
	for len(leads) > 0 {
		if who := <-leads; who != "a" {
			t.Error("two lead")
		}
	}
	c := r.client()
	w := r.fakeWork("two")
	ids := submitAll(t, c, w, 20)
	stopA()
	r.work(nil)
	waitAll(t, c, ids)
	r.settled(c, 20)
	if s, err := r.clientOf(server.AdminTicket).Status(t.Context()); err != nil || s.Workers[0].Done != 20 {
		t.Error("a job was done twice", s.Workers, err)
	}
	eventually(t, "the ledger is right", func() bool {
		s, err := r.clientOf(server.AdminTicket).Status(t.Context())
		return err == nil && s.Ledger.Clients[r.tenant(server.ClientTicket)].Proved == 20
	})
}

func note(to chan<- string, who string, leads bool) {
	if leads {
		select {
		case to <- who:
		default:
		}
	}
}

// TestRotation: after a rotation the old tickets are refused. A job that waited meanwhile is proved
// by a worker with a new ticket.
func TestRotation(t *testing.T) {
	t.Parallel()
	var cfg server.Config
	r := newRig(t, func(c *server.Config, _ *server.Manager) { cfg = *c })
	old := map[string]cluster.Ticket{server.ClientTicket: r.ticket(server.ClientTicket), server.WorkerTicket: r.ticket(server.WorkerTicket)}
	before := r.client()
	id, err := before.Submit(t.Context(), r.fakeWork("rotation"), number(1))
	if err != nil {
		t.Fatal(err)
	}
	before.Close()
	r.down()
	cfg.Listen, cfg.Rotate = r.listen, true
	r.start(cfg)
	for name, ticket := range old {
		if _, err := cluster.Connect(ticket); !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("the old %s is let in: %v", name, err)
		}
	}
	r.work(nil)
	admin := r.clientOf(server.AdminTicket)
	if proof, err := admin.Wait(t.Context(), id); err != nil || !bytes.Equal(proof, fakeProof(number(1))) {
		t.Error(proof, err)
	}
	c := r.client()
	waitAll(t, c, submitAll(t, c, r.fakeWork("rotation"), 2))
}

// TestTraceIsCarried: the trace in the client's context reaches the worker's context, and the job's
// cost reaches the meter.
func TestTraceIsCarried(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w := r.client(), r.fakeWork("trace")
	type key struct{}
	c.Trace(func(ctx context.Context) map[string]string {
		return map[string]string{"traceparent": ctx.Value(key{}).(string)}
	})
	begun, ended := make(chan string, 1), make(chan error, 1)
	m := &meter{phases: map[string]int{}}
	r.work(func(cfg *worker.Config) {
		cfg.Meter = m
		cfg.Span = func(ctx context.Context, job string, carried map[string]string) (context.Context, func(error)) {
			begun <- job + " " + carried["traceparent"]
			return context.WithValue(ctx, key{}, "in the job"), func(err error) { ended <- err }
		}
		cfg.Open = fakes(func(ctx context.Context, witness []byte) ([]byte, error) {
			if ctx.Value(key{}) != "in the job" {
				t.Error("the prover's context is not the span's")
			}
			return fakeProof(witness), nil
		})
	})
	id, err := c.Submit(context.WithValue(t.Context(), key{}, "here"), w, number(1))
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, c, []string{id})
	if said := <-begun; said != id+" here" {
		t.Error(said)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended != 1 || m.bytes == 0 || m.phases["prove"] != 1 || m.phases["open"] != 1 || m.phases["witness"] != 1 || m.phases["store"] != 1 {
		t.Errorf("%+v", m)
	}
}

// meter notes what a worker reports.
type meter struct {
	mu     sync.Mutex
	phases map[string]int
	ended  int
	bytes  int
}

func (m *meter) note(f func()) { m.mu.Lock(); defer m.mu.Unlock(); f() }

func (m *meter) Phase(phase string, _ time.Duration) { m.note(func() { m.phases[phase]++ }) }
func (m *meter) Ended(string, cluster.Cost)          { m.note(func() { m.ended++ }) }
func (m *meter) Try(string)                          {}
func (m *meter) Received(n int)                      { m.note(func() { m.bytes += n }) }

// TestPrerequisites: a job is begun once its prerequisites are proved, even if the manager has been
// restarted in between. If a prerequisite fails or is cancelled, the job ends with an error that
// names it.
func TestPrerequisites(t *testing.T) {
	t.Parallel()
	var held atomic.Int64
	r := newRig(t, func(_ *server.Config, m *server.Manager) {
		m.Figures = func(f cluster.Figures) { held.Store(int64(f.Held)) }
	})
	c, w, g := r.client(), r.fakeWork("prerequisites"), newGate()
	prove := func(ctx context.Context, witness []byte) ([]byte, error) {
		proof, err := g.prove(ctx, witness)
		if err == nil && strings.HasPrefix(string(witness), "bad") {
			err = fmt.Errorf("%w: %w", worker.ErrJob, errTest)
		}
		return proof, err
	}
	r.work(func(cfg *worker.Config) { cfg.Open, cfg.Jobs = fakes(prove), 4 })
	submit := func(name string, after ...string) string { t.Helper(); return submitAfter(t, c, w, name, after...) }
	for _, bad := range [][]string{{"unknown"}, {"self"}, {"no name!"}} {
		_, err := c.Submit(t.Context(), w, []byte("self"), cluster.JobOptions{Name: "self", After: bad})
		if !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), bad[0]) {
			t.Errorf("after %s: %v", bad, err)
		}
	}
	leaf := submit("leaf")
	good := []string{leaf, submit("other-leaf"), submit("node", leaf, "other-leaf"), submit("root", "node")}
	bad := []string{submit("bad"), submit("after-bad", "bad", "leaf"), submit("after-after-bad", "after-bad")}
	eventually(t, "the leaves are begun", func() bool { return len(g.begun()) == 3 })
	gone := []string{submit("held", "root"), submit("after-held", "held")}
	if in, err := c.Cancel(t.Context(), gone[0]); err != nil || !in {
		t.Fatal(in, err)
	}
	for i, name := range []string{"its client cancelled it", "held"} {
		if _, err := c.Wait(t.Context(), gone[i]); !errors.Is(err, cluster.ErrCancelled) || !strings.Contains(err.Error(), name) {
			t.Error(gone[i], err)
		}
	}
	r.stop()
	held.Store(0)
	r.manage()
	eventually(t, "four jobs are held", func() bool { return held.Load() == 4 })
	if begun := g.begun(); len(begun) != 3 {
		t.Errorf("begun: %q", begun)
	}
	close(g.open)
	waitFor(t, c, good)
	order := g.begun()
	if at := func(name string) int { return slices.Index(order, name) }; at("node") < 2 || at("root") < at("node") {
		t.Errorf("the order was %q", order)
	}
	if _, err := c.Wait(t.Context(), bad[0]); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
	for i, name := range []string{"bad", "after-bad"} {
		_, err := c.Wait(t.Context(), bad[i+1])
		if !errors.Is(err, cluster.ErrDead) || !errors.Is(err, cluster.ErrBlocked) || !strings.Contains(err.Error(), "job "+name+",") {
			t.Error(bad[i+1], err)
		}
	}
	if len(order) != 5 {
		t.Errorf("begun: %q", order)
	}

	// These prerequisites have ended, well or not, before the job that waits for them is submitted.
	last := submit("last", "root")
	if _, err := c.Wait(t.Context(), last); err != nil {
		t.Error(err)
	}
	if _, err := c.Wait(t.Context(), submit("last-bad", "bad")); !errors.Is(err, cluster.ErrBlocked) {
		t.Error(err)
	}
	r.settled(c, len(good)+len(bad)+len(gone)+2)
}

// TestPrerequisiteIsKept: a result that was taken stays while a job waits for it and for others.
func TestPrerequisiteIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *server.Config, m *server.Manager) { m.Linger = time.Millisecond })
	c, w, g := r.client(), r.fakeWork("kept"), newGate()
	r.work(func(cfg *worker.Config) {
		cfg.Open = fakes(func(ctx context.Context, witness []byte) ([]byte, error) {
			if string(witness) == "slow" {
				return g.prove(ctx, witness)
			}
			return fakeProof(witness), nil
		})
	})
	submit := func(name string, after ...string) string {
		t.Helper()
		id, err := c.Submit(t.Context(), w, []byte(name), cluster.JobOptions{After: after})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	slow, quick := submit("slow"), submit("quick")
	both := submit("both", slow, quick)
	waitFor(t, c, []string{quick})
	if err := c.Taken(quick); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * r.cfg.Every)
	r.stop()
	r.manage() // the new manager has to find it
	close(g.open)
	waitFor(t, c, []string{slow, both})
}
