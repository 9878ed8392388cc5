package cluster_test

import (
	"crypto/rand"
	"errors"
	"fmt"
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

// TestHostileTenant: a tenant that fills all that it may store, and floods managers with requests,
// costs another one no job. In streams that they shared the other's jobs were refused at once.
func TestHostileTenant(t *testing.T) {
	t.Parallel()
	const room = 64 << 20
	r := newRig(t, func(c *server.Config, m *server.Manager) {
		c.Clients, c.Room, m.Room = []string{"alice", "mallory"}, room, room
	})
	r.work(func(c *worker.Config) { c.Jobs = 4 })
	alice, mallory := server.TicketOf("alice"), server.TicketOf("mallory")
	link, err := r.ticket(mallory).Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	eve, full := r.tenant(mallory), make([]byte, 512<<10)
	_, _ = rand.Read(full) // else it is small when it is compressed
	for _, prefix := range []string{wire.WitnessesPrefix + eve, wire.KeysPrefix + eve, wire.QueuePrefix + eve} {
		size, refused := len(full), false
		if prefix == wire.QueuePrefix+eve {
			size = wire.MostDescriptor / 2
		}
		for i := 0; i < room/size && !refused; i++ {
			_, err := link.JS.Publish(t.Context(), prefix+fmt.Sprint(".x", i), full[:size])
			if refused = wire.Full(err); err != nil && !refused {
				t.Fatal(err)
			}
		}
		if !refused && prefix != wire.QueuePrefix+eve { // what is no job leaves the queue
			t.Error("all of the room is one tenant's: ", prefix)
		}
	}
	stop := make(chan struct{})
	var flood sync.WaitGroup
	for _, subject := range []string{
		wire.StatusPrefix + eve, wire.HelloPrefix + eve, wire.CancelPrefix + eve + ".x", wire.HoldsPrefix + "keys." + eve + ".x",
	} {
		flood.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
					_ = link.Conn.PublishRequest(subject, link.Conn.NewInbox(), nil)
				}
			}
		})
	}
	end := sync.OnceFunc(func() { close(stop); flood.Wait() })
	defer end()
	c := r.clientOf(alice)
	w := r.fakeWorkOf(alice, "beside it")
	began := time.Now()
	waitAll(t, c, submitAll(t, c, w, 40))
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("40 jobs of 20 ms took %v", took)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Error(err)
	}
	end()
	m := r.clientOf(mallory)
	if _, err := m.Submit(t.Context(), r.fakeWorkOf(alice, "x"), full); !errors.Is(err, cluster.ErrFull) {
		t.Error("a tenant whose room is full: ", err)
	}
}

// TestFormerTenant: the jobs of a client that is not listed any more are proved, with what its
// streams have, and some time later its streams are removed, so that others have the room.
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
