package cluster_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
)

// trio is a cluster of three servers, all in this process.
type trio struct {
	t       *testing.T
	cfg     [3]server.Config
	servers [3]*server.Server
	stop    [3]func()
}

// freePorts returns addresses on loopback that were free a moment ago.
func freePorts(t *testing.T, n int) (all []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all
}

func newTrio(t *testing.T) *trio {
	t.Helper()
	r := &trio{t: t}
	ports := freePorts(t, 6)
	for i := range r.cfg {
		var peers []string
		for j := range r.cfg {
			if j != i {
				peers = append(peers, ports[3+j])
			}
		}
		r.cfg[i] = server.Config{Dir: folder(t), Listen: ports[i], Hosts: ports[:3], Room: 1 << 30,
			Name: string(rune('a' + i)), Peers: peers, ListenPeers: ports[3+i]}
	}
	for i := range r.cfg {
		r.up(i)
		if i == 0 {
			text, err := os.ReadFile(filepath.Join(r.cfg[0].Dir, "identity.json"))
			for _, other := range r.cfg[1:] {
				if err == nil {
					err = os.WriteFile(filepath.Join(other.Dir, "identity.json"), text, 0o600)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		for i := range r.cfg {
			r.down(i)
		}
	})
	return r
}

// up starts a server and its manager.
func (r *trio) up(i int) {
	r.t.Helper()
	s, err := server.Start(r.cfg[i])
	if err != nil {
		r.t.Fatal(err)
	}
	ticket, err := s.Ticket(server.AdminTicket)
	if err != nil {
		r.t.Fatal(err)
	}
	m := server.Manager{Ticket: ticket, Every: 200 * time.Millisecond, Room: s.Room(), Replicas: s.Replicas(), Name: s.Name(),
		Log: slog.New(slog.NewTextHandler(r.t.Output(), nil))}
	m.Names, m.Shares = s.Tenants()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil { // like a systemd unit that is started again
			if err := m.Run(ctx, func() {}); err != nil && ctx.Err() == nil {
				r.t.Log("manager", s.Name(), err)
				time.Sleep(100 * time.Millisecond)
			}
		}
	})
	r.servers[i] = s
	r.stop[i] = sync.OnceFunc(func() { cancel(); s.Stop(); running.Wait() })
}

func (r *trio) down(i int) { r.stop[i]() }

func (r *trio) ticket(name string) cluster.Ticket {
	r.t.Helper()
	t, err := cluster.ReadTicket(filepath.Join(r.cfg[0].Dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// TestThreeServers: jobs go on while one server of three after another is away, the first one
// included, and each job has its one right answer. Servers vote by the clock, so this test runs
// before the tests of this package that run together.
func TestThreeServers(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	r := newTrio(t)
	var c *cluster.Client
	eventually(t, "the streams are there", func() bool {
		var err error
		if c, err = cluster.Connect(r.ticket(server.ClientTicket)); err != nil {
			t.Log(err)
		}
		return err == nil
	})
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	for _, name := range []string{"one", "two"} {
		cfg := worker.Config{Name: name, Ticket: r.ticket(server.WorkerTicket), Open: fakes(nil),
			Cache: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
		workers.Go(func() {
			if err := worker.Run(ctx, cfg); err != nil {
				t.Error(err)
			}
		})
	}
	home := &rig{t: t, dir: r.cfg[0].Dir, log: slog.Default()}
	home.cfg.Ticket = r.ticket(server.AdminTicket)
	w := home.fakeWork("three")
	ids := submitAll(t, c, w, 10)
	waitAll(t, c, ids)
	for i := range size(1, 3) {
		r.down(i)
		more := submitAll(t, c, w, 10)
		waitAll(t, c, more)
		ids = append(ids, more...)
		r.up(i)
		waitAll(t, c, submitAll(t, c, w, 10))
	}
	streams, err := home.admin().Streams(t.Context())
	if err != nil || len(streams) != len(wire.Shared(0, 3))+len(wire.Own("x", 1, 0, 3)) {
		t.Errorf("%d streams, %v", len(streams), err)
	}
	for _, s := range streams {
		if s.Config.Replicas != 3 {
			t.Error(s.Config.Name)
		}
	}
	waitAll(t, c, ids[:10])
}
