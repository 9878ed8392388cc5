package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
)

// TestHostileTenant: a tenant fills all that it may store, floods managers with requests and the
// log with refusals, and names others' subjects. Another tenant loses no job. When tenants shared
// streams, the other's jobs were refused at once.
func TestHostileTenant(t *testing.T) {
	t.Parallel()
	const room = 64 << 20
	said := &warnings{to: t.Output()}
	r := newRig(t, func(c *server.Config, m *server.Manager) {
		c.Clients, c.Room, m.Room = []string{"alice", "mallory"}, room, room
		c.Log = slog.New(slog.NewTextHandler(said, nil))
		m.Log = c.Log
	})
	r.work(func(c *worker.Config) { c.Jobs = 4 })
	alice, mallory := server.TicketOf("alice"), server.TicketOf("mallory")
	h := newHostile(t, r, mallory, alice)
	said.tenant.Store(&h.tenant)
	if endless := h.fill(t.Context(), room); endless != nil {
		t.Errorf("all of the room is one tenant's: %q", endless)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var flood sync.WaitGroup
	for range 4 {
		flood.Go(func() { h.flood(ctx, 100*time.Microsecond) })
	}
	for range 4 {
		flood.Go(func() { h.burden(ctx, time.Millisecond) })
	}
	c := r.clientOf(alice)
	w := r.fakeWorkOf(alice, "beside it")
	began := time.Now()
	waitAll(t, c, submitAll(t, c, w, 40))
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("40 jobs of 20 ms took %v", took)
	}
	if s, err := c.Status(t.Context()); err != nil || s.Results != 40 {
		t.Errorf("%d results, %v", s.Results, err)
	}
	end()
	flood.Wait()
	t.Logf("%d requests, %d warnings", h.done.Load(), said.n.Load())
	if n := said.n.Load(); n > 40 && time.Since(began) < time.Minute {
		t.Errorf("%d lines in the log", n)
	}
	var refused error // its own requests, the first one too, may wait behind those of its flood
	for limit := time.Now().Add(time.Minute); !errors.Is(refused, cluster.ErrFull) && time.Now().Before(limit); {
		m, err := cluster.Connect(r.ticket(mallory))
		if err != nil {
			refused = err
			continue
		}
		_, refused = m.Submit(t.Context(), r.fakeWorkOf(alice, "x"), h.junk)
		m.Close()
	}
	if !errors.Is(refused, cluster.ErrFull) {
		t.Error("a tenant whose room is full: ", refused)
	}
}

// TestManyLateOfOthers: a tenant whose jobs are all late at once does not hold up another tenant.
// The other's job is proved while those end one after the other.
func TestManyLateOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *server.Config, _ *server.Manager) { c.Clients = []string{"alice", "mallory"} })
	alice, mallory := server.TicketOf("alice"), server.TicketOf("mallory")
	h := newHostile(t, r, mallory, alice)
	c, w, link, msgs := r.clientOf(alice), r.fakeWorkOf(alice, "in time"), r.admin(), r.messages()
	const jobs, within = 3000, 5 * time.Second
	ids := submitAll(t, c, w, 2)
	eventually(t, "the first is handed out, and there is room for no other", func() bool { return msgs(wire.Jobs) == 1 })
	began := time.Now()
	for i := range jobs {
		id := h.tenant + fmt.Sprint(".late", i)
		text, err := json.Marshal(wire.Job{ID: id, Witness: wire.Object{Subject: wire.WitnessesPrefix + id}, Within: within - time.Since(began)})
		if err == nil {
			_, err = h.link.JS.PublishAsync(wire.QueuePrefix+id, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	<-h.link.JS.PublishAsyncComplete()
	ended := func() int {
		t.Helper()
		s, err := link.Subjects(t.Context(), wire.Of(wire.Ends, h.tenant), ">")
		if err != nil {
			t.Fatal(err)
		}
		return len(s)
	}
	eventually(t, "the first jobs that are too late end", func() bool { return ended() > 0 })
	r.work(nil)
	waitAll(t, c, ids)
	n := ended()
	if t.Logf("%d of %d had ended", n, jobs); n > 2*jobs/3 {
		t.Error("it waited for jobs of the other")
	}
	eventually(t, "they end", func() bool { return ended() == jobs })
}

// TestFormerTenant: the jobs of a client that is no longer listed are still proved, from what its
// streams hold. Some time later the streams are removed, so that others have the room.
func TestFormerTenant(t *testing.T) {
	t.Parallel()
	var cfg server.Config
	r := newRig(t, func(c *server.Config, m *server.Manager) {
		c.Clients, m.Orphan = []string{"alice"}, 300*time.Millisecond
		cfg = *c
	})
	alice := server.TicketOf("alice")
	c, tenant := r.clientOf(alice), r.tenant(alice)
	id, err := c.Submit(t.Context(), r.fakeWorkOf(alice, "former"), number(1))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	r.down()
	cfg.Listen, cfg.Clients = r.listen, nil
	r.start(cfg)
	admin, proved := r.clientOf(server.AdminTicket), make(chan error, 1)
	go func() { _, err := admin.Wait(t.Context(), id); proved <- err }()
	r.work(nil)
	if err := <-proved; err != nil {
		t.Error(err)
	}
	link := r.admin()
	eventually(t, "its streams are removed", func() bool {
		streams, err := link.Streams(t.Context())
		return err == nil && !slices.ContainsFunc(streams, func(s *jetstream.StreamInfo) bool { return strings.HasSuffix(s.Config.Name, tenant) })
	})
	own := r.client()
	waitAll(t, own, submitAll(t, own, r.fakeWork("after"), 3))
}
