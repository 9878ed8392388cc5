package cluster_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
)

// one submits a job and waits until it has ended.
func one(t *testing.T, c *cluster.Client, w cluster.Work, witness []byte) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	id, err := c.Submit(ctx, w, witness)
	if err != nil {
		t.Fatal(err)
	}
	return c.Wait(ctx, id)
}

// state returns the state of the only worker.
func state(t *testing.T, c *cluster.Client) cluster.Worker {
	t.Helper()
	var s cluster.Status
	eventually(t, "the only worker answers", func() bool {
		var err error
		s, err = c.Status(t.Context())
		return err == nil && len(s.Workers) == 1
	})
	return s.Workers[0]
}

// TestSlowJobIsKept: a proof may take longer than the server waits for a sign of life. Its worker
// keeps the job as long as the job makes progress.
func TestSlowJobIsKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var calls atomic.Int32
	r.work(func(c *worker.Config) {
		c.Stall = 2 * time.Second
		c.Open = fakes(func(ctx context.Context, witness []byte) ([]byte, error) {
			calls.Add(1)
			for end := time.Now().Add(wire.AckWait + time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				worker.Progress(ctx)
			}
			return fakeProof(witness), ctx.Err()
		})
	})
	if _, err := one(t, r.client(), r.fakeWork("slow"), number(1)); err != nil || calls.Load() != 1 {
		t.Error(calls.Load(), err)
	}
}

// TestProgressNotLife: a prover that lives but makes no progress loses its job, and a try of the
// job is counted.
func TestProgressNotLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var calls atomic.Int32
	r.work(func(c *worker.Config) {
		c.Stall = 3 * time.Second // fetching and opening make progress within this time, even on a busy machine
		c.Open = fakes(func(ctx context.Context, witness []byte) ([]byte, error) {
			if calls.Add(1) == 1 {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			return fakeProof(witness), nil
		})
	})
	c := r.client()
	if _, err := one(t, c, r.fakeWork("stalls"), number(1)); err != nil || calls.Load() != 2 {
		t.Error(calls.Load(), err)
	}
	if s := state(t, r.clientOf(server.AdminTicket)); s.Failed != 1 || s.Returned != 0 || !strings.Contains(s.LastError, "no progress") {
		t.Errorf("%+v", s)
	}
}

// TestFirstAnswerWins: if two workers have a job, it gets one answer, the first.
func TestFirstAnswerWins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	begun, release := make(chan struct{}, 2), make(chan struct{})
	slow := r.work(func(c *worker.Config) {
		c.Name, c.Jobs = "slow", 1 // with more jobs at a time, this worker would get the job again and know that it has it
		c.Open = fakes(func(context.Context, []byte) ([]byte, error) {
			begun <- struct{}{}
			<-release
			return []byte("late"), nil
		})
	})
	c := r.client()
	id, err := c.Submit(t.Context(), r.fakeWork("twice"), number(1))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	// Delete the consumer, so that the job is handed out again.
	js := r.admin().JS
	r.work(func(c *worker.Config) {
		c.Name = "quick"
		c.Open = fakes(func(context.Context, []byte) ([]byte, error) { return []byte("first"), nil })
	})
	if err := js.DeleteConsumer(t.Context(), wire.Jobs, wire.Workers); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if proof, err := c.Wait(ctx, id); err != nil || string(proof) != "first" {
		t.Errorf("%s, %v", proof, err)
	}
	close(release)
	if err := slow(); err != nil { // its late answer is thrown away
		t.Error(err)
	}
	if proof, err := c.Wait(ctx, id); err != nil || string(proof) != "first" {
		t.Errorf("%s, %v", proof, err)
	}
	r.settled(c, 1)
}

// TestInfrastructureCostsNoTry: if a backend is gone, no try is counted, however often that
// happens.
func TestInfrastructureCostsNoTry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var calls atomic.Int32
	r.work(func(c *worker.Config) {
		c.Jobs = 8 // only the job that failed pauses
		c.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
			if calls.Add(1) <= 7 {
				return nil, fmt.Errorf("the card: %w", backend.ErrGone)
			}
			return fakeProof(witness), nil
		})
	})
	c := r.client()
	if _, err := one(t, c, r.fakeWork("gone"), number(1)); err != nil {
		t.Error(err)
	}
	if s := state(t, r.clientOf(server.AdminTicket)); s.Failed != 0 || s.Returned != 7 {
		t.Errorf("%+v", s)
	}
}

// TestDead: a job that fails three times, or panics, is listed as dead with the reason. Other jobs
// go on.
func TestDead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(func(c *worker.Config) {
		c.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
			switch binary.BigEndian.Uint64(witness) {
			case 1:
				return nil, errTest
			case 2:
				panic("secret")
			case 3:
				return nil, fmt.Errorf("%w: wrong", worker.ErrJob)
			}
			return fakeProof(witness), nil
		})
	})
	c, w := r.client(), r.fakeWork("dead")
	for n, want := range map[int]string{1: "3 tries failed, the last one: " + errTest.Error(), 2: "panicked", 3: "wrong"} {
		_, err := one(t, c, w, number(n))
		fault := backend.ErrInternal
		if n == 3 {
			fault = backend.ErrInvalidInput
		}
		if !errors.Is(err, cluster.ErrDead) || !errors.Is(err, fault) || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%d: %v", n, err)
		}
	}
	if _, err := one(t, c, w, number(4)); err != nil {
		t.Error(err)
	}
	r.settledBut(2, 4) // witnesses of the jobs that may be sent again
	s, err := c.Status(t.Context())
	if err != nil || len(s.Dead) != 3 {
		t.Errorf("%+v, %v", s.Dead, err)
	}
}

// relay leads to the server. It can fall silent: connections stay open, but nothing comes through
// any more, while new ones work. It can also break a connection, once.
type relay struct {
	listener net.Listener
	breakAt  atomic.Pointer[string] // neither this nor anything after it comes through
	mu       sync.Mutex
	silent   map[net.Conn]bool
}

func newRelay(t *testing.T, to string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &relay{listener: l, silent: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.silent[in] = false
			p.mu.Unlock()
			go p.pass(in, in, out)
			go p.pass(in, out, in)
		}
	}()
	return p
}

func (p *relay) pass(key, from, to net.Conn) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		silent := p.silent[key]
		p.mu.Unlock()
		if err != nil {
			return
		}
		if silent {
			continue
		}
		if at := p.breakAt.Load(); at != nil && bytes.Contains(buf[:n], []byte(*at)) && p.breakAt.CompareAndSwap(at, nil) {
			from.Close()
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// through returns a ticket whose holder connects through the relay.
func (p *relay) through(k cluster.Ticket) cluster.Ticket {
	k.Dial = p.listener.Addr().String()
	return k
}

// fallSilent silences the open connections and returns their number.
func (p *relay) fallSilent() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.silent {
		p.silent[c] = true
	}
	return len(p.silent)
}

// TestSilence: a worker and a client notice a connection that is open but silent.
func TestSilence(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newRelay(t, r.listen)
	c, err := cluster.Connect(p.through(r.ticket(server.ClientTicket)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begun := make(chan struct{}, 10)
	r.work(func(c *worker.Config) {
		c.Ticket = p.through(c.Ticket)
		c.Open = fakes(func(ctx context.Context, witness []byte) ([]byte, error) {
			begun <- struct{}{}
			time.Sleep(200 * time.Millisecond)
			return fakeProof(witness), nil
		})
	})
	ids := submitAll(t, c, r.fakeWork("silence"), 4)
	<-begun
	if n := p.fallSilent(); n < 2 {
		t.Errorf("%d connections came this way", n)
	}
	began := time.Now()
	waitAll(t, c, ids)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("after %v", took)
	}
	r.settled(c, 4)
}

// TestBeginsWhileServerGoes: a worker whose connection breaks at its first message goes on. Before,
// it ended: two workers that began while their server was killed left 60 jobs without a worker.
func TestBeginsWhileServerGoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := newRelay(t, r.listen)
	at := "PUB " + wire.Here
	p.breakAt.Store(&at)
	end := r.work(func(c *worker.Config) { c.Ticket = p.through(c.Ticket) })
	c := r.client()
	waitAll(t, c, submitAll(t, c, r.fakeWork("begins"), 2))
	if p.breakAt.Load() != nil {
		t.Error("no connection was broken")
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// TestDrain: a worker that drains ends within its time. The jobs that it gives back are not charged
// with a try.
func TestDrain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	begun := make(chan struct{}, 10)
	leaves := r.work(func(c *worker.Config) {
		c.Name = "leaves"
		c.Open = fakes(func(ctx context.Context, _ []byte) ([]byte, error) {
			begun <- struct{}{}
			<-ctx.Done() // longer than any drain
			return nil, ctx.Err()
		})
	})
	c, admin := r.client(), r.clientOf(server.AdminTicket)
	id, err := c.Submit(t.Context(), r.fakeWork("drain"), number(0))
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := admin.Drain(t.Context(), "nobody", 0); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
	began := time.Now()
	if err := admin.Drain(t.Context(), "leaves", 300*time.Millisecond); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := leaves(); err != nil {
		t.Error(err)
	}
	r.work(nil)
	waitAll(t, c, []string{id})
	if s := state(t, c); s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// TestLeavesWithoutAServer: a worker that is to end while the server is away ends, and is not taken
// for stuck.
func TestLeavesWithoutAServer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	begun := make(chan struct{}, 1)
	leaves := r.work(func(c *worker.Config) {
		c.Drain, c.Ends = 10*time.Millisecond, 15*time.Second // beside other work
		c.Open = fakes(func(ctx context.Context, _ []byte) ([]byte, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
	})
	if _, err := r.client().Submit(t.Context(), r.fakeWork("leaves"), number(0)); err != nil {
		t.Fatal(err)
	}
	<-begun
	r.down()
	if err := leaves(); err != nil {
		t.Error(err)
	}
}

// TestStuckProverEndsTheWorker: a prover that does not end with its context ends its worker,
// because nothing in the process can stop it.
func TestStuckProverEndsTheWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	forever := make(chan struct{})
	defer close(forever)
	cfg := worker.Config{Ticket: r.ticket(server.WorkerTicket), Cache: t.TempDir(), Stall: 200 * time.Millisecond,
		Drain: 100 * time.Millisecond, Ends: 500 * time.Millisecond, Log: r.log,
		Open: fakes(func(context.Context, []byte) ([]byte, error) { <-forever; return nil, errTest })}
	c := r.client()
	if _, err := c.Submit(t.Context(), r.fakeWork("stuck"), number(0)); err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(t.Context(), cfg); !errors.Is(err, worker.ErrStuck) {
		t.Error(err)
	}
}

// TestConsumer: workers may have as many jobs in hand as they take at a time. A consumer that hands
// out nothing is made anew.
func TestConsumer(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *server.Config, m *server.Manager) { m.Stuck = time.Second })
	js := r.admin().JS
	r.work(func(c *worker.Config) { c.Name, c.Jobs = "two", 2 })
	r.work(func(c *worker.Config) { c.Name, c.Jobs = "three", 3 })
	eventually(t, "MaxAckPending follows the workers", func() bool {
		c, err := js.Consumer(t.Context(), wire.Jobs, wire.Workers)
		return err == nil && c.CachedInfo().Config.MaxAckPending == 5
	})
	if _, err := js.PauseConsumer(t.Context(), wire.Jobs, wire.Workers, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	c := r.client()
	waitAll(t, c, submitAll(t, c, r.fakeWork("stuck"), 10))
	r.settled(c, 10)
}

// TestTriesMove: the stream of tries is made anew if its storage is not the one that it should
// have, for example after one server has become three, or three one.
func TestTriesMove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stop()
	js := r.admin().JS
	for _, cfg := range wire.Shared(r.server.Room(), 3) {
		if cfg.Name != wire.Tries {
			continue
		}
		if cfg.Storage != jetstream.FileStorage {
			t.Error("of three servers tries are in memory")
		}
		cfg.Replicas = 1
		if err := js.DeleteStream(t.Context(), cfg.Name); err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	r.manage()
	s, err := js.Stream(t.Context(), wire.Tries)
	if err != nil {
		t.Fatal(err)
	}
	if s.CachedInfo().Config.Storage != jetstream.MemoryStorage {
		t.Error("of one server tries are in files")
	}
	r.work(nil)
	c := r.client()
	waitAll(t, c, submitAll(t, c, r.fakeWork("tries"), 2))
}

// TestSilentWorker: a worker that does not answer who is there keeps its job.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *server.Config, m *server.Manager) { m.Stuck = time.Second })
	link, err := r.ticket(server.WorkerTicket).Connect(wire.WorkerPrefix + "silent")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	nc := link.Conn
	if _, err := nc.SubscribeSync(wire.Who + ".silent"); err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(wire.Here, []byte(`{"name":"silent","jobs":2}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client().Submit(t.Context(), r.fakeWork("silent"), number(1)); err != nil {
		t.Fatal(err)
	}
	consumer, err := r.admin().JS.Consumer(t.Context(), wire.Jobs, wire.Workers)
	if err != nil {
		t.Fatal(err)
	}
	made := consumer.CachedInfo().Created
	msg, err := link.Next(t.Context(), time.Minute, time.Second)
	if err != nil || msg == nil {
		t.Fatal(msg, err)
	}
	r.work(nil) // this worker has nothing to do
	for end := time.Now().Add(2 * wire.AckWait); time.Now().Before(end); time.Sleep(wire.AckWait / 4) {
		if err := msg.InProgress(); err != nil {
			t.Fatal(err)
		}
		if info, err := consumer.Info(t.Context()); err != nil || !info.Created.Equal(made) {
			t.Fatal("the consumer was made anew", err)
		}
	}
}

// TestNothingExpiresByTheClock: a clock that jumps deletes nothing.
func TestNothingExpiresByTheClock(t *testing.T) {
	for _, s := range append(wire.Shared(0, 1), wire.Own("x", 1, 0, 1)...) {
		if s.MaxAge != 0 {
			t.Errorf("%s forgets after %v", s.Name, s.MaxAge)
		}
	}
	if c := wire.Consumer(1); c.InactiveThreshold != 0 || c.MaxDeliver > 0 || c.PauseUntil != nil {
		t.Errorf("%+v", c)
	}
}

// TestOrphans: a witness without a job is removed, one with a job stays.
func TestOrphans(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(_ *server.Config, m *server.Manager) { m.Orphan = 300 * time.Millisecond })
	link := r.admin()
	c := r.client()
	ids := submitAll(t, c, r.fakeWork("orphans"), 2)
	orphan := r.tenant(server.ClientTicket) + ".orphan"
	if _, err := wire.Put(t.Context(), link, wire.WitnessesPrefix+orphan, bytes.NewReader(number(1))); err != nil {
		t.Fatal(err)
	}
	has := func(id string) bool {
		there, err := link.Holds(t.Context(), wire.WitnessesPrefix+id+".>")
		return err == nil && there
	}
	eventually(t, "the orphan goes", func() bool { return !has(orphan) })
	for _, id := range ids {
		if !has(id) {
			t.Error("a witness is gone whose job waits")
		}
	}
	r.work(nil)
	waitAll(t, c, ids)
}

// TestDiskFull: the store refuses what it has no room for. It loses nothing that it has accepted,
// and accepts more when that has ended.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *server.Config, m *server.Manager) { c.Room, m.Room = 6<<20, 6<<20 })
	c, w := r.client(), r.fakeWork("full")
	witness := func(i int) []byte { // random, so that it cannot be compressed
		b := make([]byte, 300<<10)
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(b)
		return b
	}
	taken := map[string]int{}
	var err error
	for i := 0; ; i++ {
		var id string
		if id, err = c.Submit(t.Context(), w, witness(i)); err != nil {
			break
		}
		if taken[id] = i; i > 30 {
			t.Fatal("there is no end")
		}
	}
	if !errors.Is(err, cluster.ErrFull) || len(taken) < 3 {
		t.Fatal(len(taken), err)
	}
	r.work(nil)
	for id, i := range taken {
		if proof, err := c.Wait(t.Context(), id); err != nil || !bytes.Equal(proof, fakeProof(witness(i))) {
			t.Error(err)
		}
	}
	eventually(t, "there is room again", func() bool { _, err = c.Submit(t.Context(), w, witness(0)); return err == nil })
}

// TestCacheIsChecked: a worker notices a changed file on its disk, and keeps its cache within the
// limit.
func TestCacheIsChecked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	w := r.fakeWork("cache")
	if err := os.WriteFile(filepath.Join(dir, w.Circuit), []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.work(func(c *worker.Config) { c.Cache, c.CacheBytes = dir, 10 })
	c := r.client()
	if _, err := one(t, c, w, number(1)); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	if _, err := one(t, c, r.fakeWork("another circuit"), number(1)); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() == w.Circuit {
		t.Error(files, err)
	}
	missing := w
	missing.ProvingKey = strings.Repeat("ab", 32)
	if _, err := one(t, c, missing, number(1)); !errors.Is(err, cluster.ErrDead) || !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
	missing.ProvingKey = "../../" + missing.ProvingKey[6:]
	if _, err := one(t, c, missing, number(1)); !errors.Is(err, cluster.ErrDead) || !errors.Is(err, backend.ErrInvalidInput) {
		t.Error(err)
	}
}

// TestDamagedObject: if the server's copy of a key has other bytes, the key's jobs end and are not
// tried for ever.
func TestDamagedObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	link := r.admin()
	w := r.fakeWork("damaged")
	w.Circuit = strings.Repeat("ab", 32)
	if err := wire.PutKey(t.Context(), link, r.tenant(server.ClientTicket),
		w.Circuit, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Fatal(err)
	}
	r.work(func(c *worker.Config) { c.Jobs = 8 })
	if _, err := one(t, r.client(), w, number(1)); !errors.Is(err, cluster.ErrDead) || !strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
}

// TestBadWorker: a worker that fails faster than others work cannot end a job alone.
func TestBadWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.work(func(c *worker.Config) {
		c.Name, c.Jobs = "bad", 4
		c.Open = fakes(func(context.Context, []byte) ([]byte, error) { return nil, errTest })
	})
	r.work(func(c *worker.Config) {
		c.Name, c.Jobs = "good", 1
		c.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
			time.Sleep(200 * time.Millisecond)
			return fakeProof(witness), nil
		})
	})
	c := r.client()
	r.there(c, 2)
	waitAll(t, c, submitAll(t, c, r.fakeWork("bad"), 10))
	r.settled(c, 10)
}

// TestForeignKeys: if a ticket's key for witnesses is another cluster's, or is missing, a worker
// ends and a client is refused at the start. A witness that was sealed with such a key anyway ends
// its job. A job that names another job's witness is thrown away, and that witness is left alone.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k := r.ticket(server.WorkerTicket)
	k.Open = "x"
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := worker.Run(within, worker.Config{Ticket: k, Open: fakes(nil), Cache: t.TempDir()}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Error("a key that is none:", err)
	}
	foreign := r.ticket(server.ClientTicket)
	var err error
	if foreign.Seal, _, err = wire.NewSealing(); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Connect(foreign); !errors.Is(err, backend.ErrInvalidInput) || !strings.Contains(err.Error(), "another cluster's") {
		t.Error("another cluster's key to seal with:", err)
	}
	if _, k.Open, err = wire.NewSealing(); err != nil {
		t.Fatal(err)
	}
	if err := worker.Run(within, worker.Config{Ticket: k, Open: fakes(nil), Cache: t.TempDir()}); !errors.Is(err,
		backend.ErrInvalidInput) || !strings.Contains(err.Error(), "another cluster's") {
		t.Error("another cluster's key to open with:", err)
	}
	own, w := r.client(), r.fakeWork("foreign")
	link := r.admin()
	put := func(k cluster.Ticket, id string, n int) wire.Object {
		t.Helper()
		seal, err := wire.ReadSealing(k.Seal)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := seal.Seal(id, w, number(n))
		if err != nil {
			t.Fatal(err)
		}
		o, err := wire.Put(t.Context(), link, wire.WitnessesPrefix+id, bytes.NewReader(sealed))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	// No job has this witness: only the thief could have it removed.
	id := r.tenant(server.ClientTicket) + ".robbed"
	thief := r.tenant(server.ClientTicket) + ".thief"
	text, err := json.Marshal(wire.Job{ID: thief, Work: w, Witness: put(r.ticket(server.ClientTicket), id, 0)})
	if err == nil {
		_, err = link.JS.Publish(t.Context(), wire.JobsPrefix+thief, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.work(func(c *worker.Config) { c.Jobs = 8 })
	stranger := wire.Job{ID: r.tenant(server.ClientTicket) + ".stranger", Work: w}
	stranger.Witness = put(foreign, stranger.ID, 1)
	if text, err = json.Marshal(stranger); err == nil {
		_, err = link.JS.Publish(t.Context(), wire.JobsPrefix+stranger.ID, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Wait(within, stranger.ID); !errors.Is(err, cluster.ErrDead) || !strings.Contains(err.Error(), "of one cluster") {
		t.Error("sealed for others:", err)
	}
	msgs := r.messages()
	eventually(t, "the thief is gone", func() bool { return msgs(wire.Jobs) == 0 })
	if _, err := link.Last(t.Context(), wire.WitnessesPrefix+id+".0"); err != nil {
		t.Error("the other job's witness:", err)
	}
}

// TestKilledWorkers kills workers at random, and replaces each.
func TestKilledWorkers(t *testing.T) {
	t.Parallel()
	kills, workers := size(3, 50), 3
	jobs := kills * 40
	r := newRig(t)
	c := r.client()
	var all []*exec.Cmd
	for range workers {
		all = append(all, workerIn(t, r))
	}
	defer func() {
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	ids := submitAll(t, c, r.fakeWork("killed"), jobs)
	for range kills {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		i := rand.IntN(workers)
		_ = all[i].Process.Kill()
		_ = all[i].Wait()
		all[i] = workerIn(t, r)
	}
	waitAll(t, c, ids)
	r.settled(c, jobs)
	measured(t, figure{What: "workers killed", Workers: workers, Jobs: jobs, Kills: kills, Proof: 20})
}

// TestCostOfAKill measures the time that is lost when a worker with a job in hand is killed.
func TestCostOfAKill(t *testing.T) {
	t.Parallel()
	const limit = 5 * time.Second
	kills := size(1, 10)
	r := newRig(t)
	c := r.client()
	w := r.fakeWork("cost")
	var took []float64
	for i := range kills {
		cmd := workerIn(t, r)
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		if _, err := one(t, c, w, number(i)); err != nil { // the worker is warm after this
			t.Fatal(err)
		}
		witness := fmt.Appendf(nil, "slow %d", i)
		slow, err := c.Submit(t.Context(), w, witness)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "it has the job", func() bool {
			s, err := c.Status(t.Context())
			return err == nil && len(s.Workers) == 1 && len(s.Workers[0].InHand) == 1
		})
		end := r.work(nil)
		r.there(c, 2)
		_ = cmd.Process.Kill()
		killed := time.Now()
		if proof, err := c.Wait(t.Context(), slow); err != nil || !bytes.Equal(proof, fakeProof(witness)) {
			t.Error(err)
		}
		took = append(took, time.Since(killed).Seconds()*1e3)
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(took)
	most := took[kills-1]
	measured(t, figure{What: "a worker killed with a job in hand", Workers: 2, Jobs: 2 * kills,
		Kills: kills, Count: kills, Median: took[kills/2], Max: most})
	if bound := float64(limit.Milliseconds()); most > bound && *long || most > 4*bound { // in short runs other tests run beside this one
		t.Errorf("%v ms", most)
	}
}

// TestAlone: a job that an earlier worker has begun and not ended is proved alone, and others go on after it.
func TestAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w, link := r.client(), r.fakeWork("alone"), r.admin()
	suspects := map[string]bool{}
	ids := submitAll(t, c, w, 8)
	for _, i := range []int{1, 2, 5} {
		suspects[string(fakeProof(number(i)))] = true
		if _, err := link.ChangeRecord(t.Context(), ids[i], func(r *wire.Record) { r.Begun = 1 }); err != nil {
			t.Fatal(err)
		}
	}
	var now, most atomic.Int64 // jobs at work
	r.work(func(cfg *worker.Config) {
		cfg.Jobs = 4
		cfg.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
			defer now.Add(-1)
			beside, proof := now.Add(1)-1, fakeProof(witness)
			for i := 0; i < 5 || i < 25 && !suspects[string(proof)] && most.Load() == 0; i++ { // however late others come
				time.Sleep(20 * time.Millisecond)
				if beside = max(beside, now.Load()-1); beside > 0 && i >= 4 {
					break
				}
			}
			if suspects[string(proof)] && beside > 0 {
				t.Errorf("%d jobs beside one that may end the worker", beside)
			}
			for old := most.Load(); beside > old && !most.CompareAndSwap(old, beside); old = most.Load() {
			}
			return proof, nil
		})
	})
	waitAll(t, c, ids)
	if most.Load() == 0 {
		t.Error("no jobs were at work side by side, and this test checks nothing")
	}
}

// TestKillingJob: a job that ends its workers ends after five of them, its client pays for their time, and all
// others are proved.
func TestKillingJob(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c, w := r.client(), r.fakeWork("kills")
	before := submitAll(t, c, w, 20)
	killing, err := c.Submit(t.Context(), w, []byte("kill"))
	if err != nil {
		t.Fatal(err)
	}
	after := submitAll(t, c, w, 20)
	ctx, end := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer end()
	for range 2 {
		workers.Go(func() {
			for ctx.Err() == nil {
				cmd := workerIn(t, r)
				stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
				_ = cmd.Wait()
				stop()
			}
		})
	}
	waitAll(t, c, before)
	waitAll(t, c, after)
	if _, err := c.Wait(t.Context(), killing); !errors.Is(err, cluster.ErrDead) || !strings.Contains(err.Error(), "5 workers began it") {
		t.Error("the job that ends workers: ", err)
	}
	m, err := r.admin().Last(t.Context(), wire.EndsPrefix+killing)
	if err != nil {
		t.Fatal(err)
	}
	var cost wire.Cost
	if err := json.Unmarshal([]byte(m.Header.Get(wire.CostHeader)), &cost); err != nil {
		t.Fatal(err)
	}
	if least := 5 * float64(wire.AckWait.Milliseconds()); cost.Counts() < least {
		t.Errorf("its client pays %.0f ms, five workers were missed for %.0f", cost.Counts(), least)
	}
}
