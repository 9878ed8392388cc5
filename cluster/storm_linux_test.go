package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
)

// party is a process of the storm. It is started again whenever it ends.
type party struct {
	command func() *exec.Cmd
	log     string // file for its output

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// run starts the process again and again until ctx ends.
func (p *party) run(ctx context.Context, t *testing.T) {
	said, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Error(err)
		return
	}
	defer said.Close()
	for ctx.Err() == nil {
		done := make(chan struct{})
		p.mu.Lock()
		cmd := p.command()
		cmd.Stderr = said
		err := cmd.Start()
		if err == nil {
			p.cmd, p.done = cmd, done
		}
		p.mu.Unlock()
		if err == nil {
			go func() { _ = cmd.Wait(); close(done) }()
			select {
			case <-done:
			case <-ctx.Done():
				_ = cmd.Process.Kill()
				<-done
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // like systemd's RestartSec
		}
	}
}

func (p *party) signal(s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s)
	}
}

// workerParty is a party that runs a worker.
func workerParty(ticket, log string) *party {
	return &party{log: log, command: func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PIPPIN_TEST_WORKER="+ticket, trailing+"=1")
		return cmd
	}}
}

// front is an address that stays the same when the server behind it moves, like a host's name.
type front struct {
	l  net.Listener
	to atomic.Pointer[string]
}

func newFront(t *testing.T) *front {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{l: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.pass(c)
		}
	}()
	return f
}

// pass connects a caller with the server to which the front leads now, until one of them hangs up.
func (f *front) pass(c net.Conn) {
	defer c.Close()
	out, err := net.Dial("tcp", *f.to.Load())
	if err != nil {
		return
	}
	defer out.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{c, out}, {out, c}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}

func (f *front) address() string { return f.l.Addr().String() }

// machine is a server of the storm: a process with its disk, which can move to another place.
type machine struct {
	party
	t      *testing.T
	cfg    remote
	prefix []string // begins its command line, so that it sees its disk
	home   string   // where the server sees the disk
	disk   string   // where this process sees it
	places int      // number of places in which it has been
	client *front
	peers  *front
}

// settle gives the server another place: a new folder and new ports.
func (m *machine) settle() {
	m.places++
	at := freePorts(m.t, 2)
	m.cfg.Listen, m.cfg.ListenPeers = at[0], at[1]
	m.cfg.Dir = filepath.Join(m.home, strconv.Itoa(m.places))
	m.client.to.Store(&at[0])
	m.peers.to.Store(&at[1])
}

// newMachine makes a machine whose disk has 1.25 GiB.
func newMachine(t *testing.T, name, log string) *machine {
	t.Helper()
	m := &machine{t: t, home: t.TempDir(), client: newFront(t), peers: newFront(t)}
	m.prefix, m.disk = smallDisk(t, m.home, 1280)
	m.log = log
	m.cfg = remote{Name: name, Room: 1 << 30}
	m.settle()
	m.command = func() *exec.Cmd {
		text, err := json.Marshal(m.cfg)
		if err != nil {
			t.Error(err)
		}
		line := append(slices.Clone(m.prefix), os.Args[0])
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Env = append(os.Environ(), "PIPPIN_TEST_SERVER="+string(text), trailing+"=1")
		return cmd
	}
	return m
}

// file returns the path of a file in the server's folder, as this process sees it.
func (m *machine) file(name string) string {
	return filepath.Join(m.disk, filepath.Base(m.cfg.Dir), name)
}

// move kills the server and starts it in another place, with its folder.
func (m *machine) move() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.cmd.Process.Kill()
	<-m.done
	old := m.file("")
	m.settle()
	return os.Rename(old, m.file(""))
}

// fill fills the server's disk for a while, as others with files on it may.
func (m *machine) fill(long time.Duration) error {
	path := filepath.Join(m.disk, "ballast")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for size := 1 << 20; size >= 4096; size /= 2 { // the last of the room in small pieces
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return errors.Join(err, f.Close(), os.Remove(path))
		}
	}
	time.Sleep(long)
	return errors.Join(f.Close(), os.Remove(path))
}

// where tells the streams in which a job is.
func where(r *rig, id string) string {
	link, err := r.cfg.Ticket.Connect("where")
	if err != nil {
		return err.Error()
	}
	defer link.Close()
	said := ""
	for _, prefix := range []string{wire.QueuePrefix, wire.JobsPrefix} {
		_, err := link.Last(context.Background(), prefix+id)
		said += fmt.Sprintf("%s: %v; ", prefix, err)
	}
	c, err := link.JS.Consumer(context.Background(), wire.Jobs, wire.Workers)
	if err != nil {
		return said + err.Error()
	}
	return said + fmt.Sprintf("%d wait for workers, %d are in hand", c.CachedInfo().NumPending, c.CachedInfo().NumAckPending)
}

// lagging returns a stream that has no leader, or one of whose servers is away or behind. It
// returns "" if there is none.
func lagging(ctx context.Context, js jetstream.JetStream) string {
	listing, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	names := js.StreamNames(listing)
	for name := range names.Name() {
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		s, err := js.Stream(one, name)
		cancel()
		if err != nil {
			return name + ": " + err.Error()
		}
		at := s.CachedInfo().Cluster
		if at == nil || at.Leader == "" || len(at.Replicas) != 2 {
			return fmt.Sprintf("%s: %+v", name, at)
		}
		for _, p := range at.Replicas {
			if !p.Current || p.Offline {
				return fmt.Sprintf("%s on %s: current %v, offline %v, %d behind", name, p.Name, p.Current, p.Offline, p.Lag)
			}
		}
	}
	if err := names.Err(); err != nil {
		return err.Error()
	}
	return ""
}

// copyFile copies a file, creating its folder. Only the user may read the copy.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestStorm runs three servers and four workers as processes, which are killed, stopped and told to
// leave at random. The servers' disks fill, and the servers move to other places. Two clients of
// different shares submit jobs with priorities, deadlines and cancellations. Every job that was
// neither cancelled nor late has its one right proof, shares are kept within a tenth, and more
// urgent jobs are earlier.
//
// A third client is hostile every other half minute: it fills its part of the room, purges, floods
// managers and names the others' subjects. Meanwhile no job of the others waits longer than its own
// queue explains. Each time that a job came to a worker once more has a known reason, and no stream
// has lost a job.
//
// scripts/long cluster-storm runs the test for half an hour. With -artifacts it keeps what every
// process said about each job.
func TestStorm(t *testing.T) {
	if *storm == 0 {
		t.Skip("-storm says how long; TestThreeServers and TestClientShares are its short forms")
	}
	said := trail{t.ArtifactDir()}
	logOf := func(name string) string { return filepath.Join(said.dir, name+".log") }
	heard, err := os.Create(logOf("clients"))
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	note := slog.New(slog.NewTextHandler(heard, nil))

	shares := map[string]float64{"alice": 0.7}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	var servers []*machine
	var workers []*party
	for i := range 3 {
		name := string(rune('a' + i))
		servers = append(servers, newMachine(t, name, logOf("server-"+name)))
	}
	for i, m := range servers {
		m.cfg.Clients, m.cfg.Shares = []string{"alice", "bob", "mallory"}, shares
		for _, other := range servers {
			m.cfg.Hosts = append(m.cfg.Hosts, other.client.address())
			if other != m {
				m.cfg.Peers = append(m.cfg.Peers, other.peers.address())
			}
		}
		if i > 0 {
			eventually(t, "the first server has made its identity", func() bool {
				_, err := os.Stat(servers[0].file(server.AdminTicket))
				return err == nil
			})
			copyFile(t, servers[0].file("identity.json"), m.file("identity.json"))
		}
		running.Go(func() { m.run(ctx, t) })
	}
	r := &rig{t: t, dir: t.TempDir()}
	for _, name := range []string{
		server.AdminTicket, server.WorkerTicket, server.TicketOf("alice"), server.TicketOf("bob"), server.TicketOf("mallory"),
	} {
		eventually(t, "the first server has written its tickets", func() bool {
			_, err := os.Stat(servers[0].file(name))
			return err == nil
		})
		copyFile(t, servers[0].file(name), filepath.Join(r.dir, name))
	}
	r.cfg.Ticket = r.ticket(server.AdminTicket)
	var admin *cluster.Client
	eventually(t, "the streams are there", func() (ok bool) {
		var err error
		admin, err = cluster.Connect(r.cfg.Ticket)
		return err == nil
	})
	defer admin.Close()
	for i := range 4 {
		p := workerParty(filepath.Join(r.dir, server.WorkerTicket), logOf(fmt.Sprint("worker-", i)))
		workers = append(workers, p)
		running.Go(func() { p.run(ctx, t) })
	}
	js := r.admin().JS
	// caughtUp waits until no server is behind, because two of three are needed.
	caughtUp := func(after string) {
		var behind string
		for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
			if behind = lagging(ctx, js); behind == "" {
				return
			}
			if time.Now().After(end) {
				t.Errorf("the servers do not agree three minutes after %s: %s", after, behind)
				return
			}
		}
	}
	f := figure{What: "storm", Servers: 3, Workers: 4, Seconds: storm.Seconds(), Proof: 20,
		Shares: map[string]float64{}, Waits: map[string]float64{}}

	// This worker has another cluster's key for witnesses.
	foreign := r.ticket(server.WorkerTicket)
	_, open, err := wire.NewSealing()
	if err != nil {
		t.Fatal(err)
	}
	foreign.Open = open
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	if err := foreign.Write(wrong); err != nil {
		t.Fatal(err)
	}
	raging, calm := context.WithTimeout(ctx, *storm)
	defer calm()
	var rage sync.WaitGroup
	rage.Go(func() {
		for raging.Err() == nil {
			cmd := exec.CommandContext(raging, os.Args[0])
			cmd.Env = append(os.Environ(), "PIPPIN_TEST_WORKER="+wrong)
			if out, err := cmd.CombinedOutput(); raging.Err() == nil && bytes.Contains(out, []byte("another cluster's")) {
				f.Refused++
			} else if raging.Err() == nil && err == nil {
				t.Error("a worker with a wrong key ended well")
			}
			select {
			case <-raging.Done():
			case <-time.After(5 * time.Second):
			}
		}
	})
	// It is noted here when the servers agree again after something was done to one of them. They
	// need a moment to see that one is away.
	var disturbed atomic.Int64 // when something was last done to a server, in nanoseconds; 0 if they have agreed since
	rage.Go(func() {
		for raging.Err() == nil {
			select {
			case <-raging.Done():
				return
			case <-time.After(500 * time.Millisecond):
			}
			at := disturbed.Load()
			if at == 0 || time.Since(time.Unix(0, at)) < 3*time.Second || lagging(raging, js) != "" {
				continue
			}
			if disturbed.CompareAndSwap(at, 0) {
				note.Info(saysAgree)
			}
		}
	})
	// Processes are killed, stopped and so on here, one server at a time, because two of three are
	// needed.
	rage.Go(func() {
		var fate []string
		for {
			select {
			case <-raging.Done():
				return
			case <-time.After(time.Duration(1000+rand.IntN(4000)) * time.Millisecond):
			}
			if len(fate) == 0 { // each of these once, in another order each time
				fate = []string{"worker killed", "worker killed", "worker killed", "notice", "notice", "worker leaves", "worker stops",
					"server stops", "server killed", "server leaves", "disk fills", "server moves", "nothing"}
				rand.Shuffle(len(fate), func(i, j int) { fate[i], fate[j] = fate[j], fate[i] })
			}
			what := fate[0]
			fate = fate[1:]
			if what == "nothing" { // then what the hostile tenant causes is seen alone
				select {
				case <-raging.Done():
					return
				case <-time.After(40 * time.Second):
				}
				continue
			}
			i, m := rand.IntN(len(workers)), servers[rand.IntN(len(servers))]
			w := workers[i]
			if strings.HasPrefix(what, "worker") || what == "notice" {
				note.Info(saysStorm, "what", what, "to", fmt.Sprint("worker-", i))
			} else {
				before := map[string]string{"disk fills": "what came before a full disk", "server moves": "what came before a move"}
				if why := before[what]; why != "" {
					caughtUp(why)
				}
				note.Info(saysStorm, "what", what, "to", "server-"+m.cfg.Name)
				disturbed.Store(math.MaxInt64) // until it is over
			}
			switch what {
			case "worker killed":
				w.signal(syscall.SIGKILL)
				f.Kills++
			case "notice":
				w.signal(syscall.SIGUSR1)
				f.Notices++
			case "worker leaves":
				w.signal(syscall.SIGTERM)
				f.Kills++
			case "worker stops":
				w.signal(syscall.SIGSTOP)
				time.Sleep(5 * time.Second)
				w.signal(syscall.SIGCONT)
				f.Stops++
			case "server stops":
				m.signal(syscall.SIGSTOP)
				time.Sleep(time.Duration(rand.IntN(5000)) * time.Millisecond)
				m.signal(syscall.SIGCONT)
				f.Stops++
			case "server killed", "server leaves":
				m.signal(map[string]os.Signal{"server killed": syscall.SIGKILL, "server leaves": syscall.SIGTERM}[what])
				f.Restarts++
				disturbed.Store(time.Now().UnixNano())
				time.Sleep(5 * time.Second) // until the server has caught up
			case "disk fills":
				if err := m.fill(5 * time.Second); err != nil {
					t.Error(err)
				}
				f.Fills++
				disturbed.Store(time.Now().UnixNano())
				caughtUp("a disk was full")
			case "server moves":
				if err := m.move(); err != nil {
					t.Error(err)
				}
				f.Moves++
				disturbed.Store(time.Now().UnixNano())
				caughtUp("a server moved")
			}
			disturbed.CompareAndSwap(math.MaxInt64, time.Now().UnixNano())
		}
	})

	// Start the hostile tenant.
	mallory, hostility := newHostile(t, r, server.TicketOf("mallory"), server.TicketOf("alice")), new(atomic.Int64) // counts changes
	rage.Go(func() {
		const turn = 30 * time.Second
		for raging.Err() == nil {
			select {
			case <-raging.Done():
				return
			case <-time.After(turn):
			}
			hostility.Add(1)
			note.Info(saysRage)
			at, over := context.WithTimeout(raging, turn)
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() { mallory.flood(at, time.Millisecond) })
			}
			all.Go(func() { mallory.burden(at, 10*time.Millisecond) })
			all.Go(func() { mallory.fill(at, 1<<30) })
			all.Wait()
			over()
			mallory.empty()
			hostility.Add(1)
			note.Info(saysCalm)
		}
	})

	var mu sync.Mutex
	waits := map[string][]float64{}
	count := func(n *int) { mu.Lock(); *n++; mu.Unlock() }
	job := func(c *cluster.Client, w cluster.Work, name string, i, n int) {
		witness := fmt.Appendf(nil, "%s %d %d", name, i, n)
		o := cluster.JobOptions{}
		kind := rand.IntN(20)
		switch {
		case kind < 4:
			o.Priority = 5
		case kind == 4:
			o.Deadline = time.Now().Add(time.Duration(rand.IntN(500)) * time.Millisecond)
		case kind == 6:
			o.Deadline = time.Now().Add(2 * time.Minute) // as long as any job may take
		}
		began, turn := time.Now(), hostility.Load()
		id, err := c.Submit(ctx, w, witness, o)
		if err != nil {
			t.Errorf("%s: %v", witness, err)
			return
		}
		note.Info(saysSent, "job", id, "priority", o.Priority, "deadline", o.Deadline, "began", began)
		cancelled := false
		if kind == 5 {
			time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
			if cancelled, err = c.Cancel(ctx, id); err != nil {
				t.Errorf("%s: %v", witness, err)
			}
			note.Info("cancelled", "job", id, "in_time", cancelled)
		}
		patient, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		proof, err := c.Wait(patient, id)
		if patient.Err() != nil {
			t.Errorf("%s: job %s has no end, and is %s%s", witness, id, where(r, id), said.of(id))
			return
		}
		note.Info(saysHeard, "job", id, "problem", err)
		count(&f.Jobs)
		switch {
		case cancelled && errors.Is(err, cluster.ErrCancelled):
			count(&f.Cancelled)
		case kind == 4 && errors.Is(err, cluster.ErrLate):
			count(&f.Late)
		case cancelled || err != nil || !bytes.Equal(proof, fakeProof(witness)):
			t.Errorf("%s, job %s: %x, %v%s", witness, id, proof, err, said.of(id))
		case kind != 4:
			mu.Lock()
			k := fmt.Sprintf("%s, %d", name, o.Priority)
			if turn%2 == 1 {
				k += beside
			}
			waits[k] = append(waits[k], float64(time.Since(began).Microseconds())/1e3)
			mu.Unlock()
		}
	}
	var clients sync.WaitGroup
	for _, name := range []string{"alice", "bob"} {
		c := r.clientOf(server.TicketOf(name))
		var w cluster.Work
		eventually(t, "the work is stored", func() bool {
			w = r.fakeWorkOf(server.TicketOf(name), "storm")
			return true
		})
		for i := range 24 {
			clients.Go(func() {
				for n := 0; raging.Err() == nil; n++ {
					job(c, w, name, i, n)
				}
			})
		}
	}
	began := time.Now()
	rage.Wait()
	clients.Wait()
	f.Rate = float64(f.Jobs) / time.Since(began).Seconds()

	jobs := f.Jobs
	msgs := r.messages()
	left := func() (queued, handed uint64) { return msgs(wire.Queue), msgs(wire.Jobs) }
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		queued, handed := left()
		if queued == 0 && handed == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d jobs are left in the queue, %d are handed out: %s", queued, handed, where(r, "x.x"))
		}
	}
	ended := r.endsOf("alice") + r.endsOf("bob")
	if ended != uint64(jobs) {
		t.Errorf("%d ends of %d jobs", ended, jobs)
	}
	sum := 0.0
	eventually(t, "all is counted", func() bool {
		s, err := admin.Status(t.Context())
		if err != nil {
			return false
		}
		var ended uint64
		sum = 0
		for tenant, u := range s.Ledger.Clients {
			if s.Ledger.Name(tenant) == "mallory" {
				continue
			}
			ended += u.Proved + u.Cancelled + u.Late + u.Dead
			f.Shares[s.Ledger.Name(tenant)] = u.Milliseconds
			sum += u.Milliseconds
		}
		return ended == uint64(jobs)
	})
	for name := range f.Shares {
		f.Shares[name] = math.Round(1e4*f.Shares[name]/sum) / 1e4
	}
	if math.Abs(f.Shares["alice"]-shares["alice"]) > 0.1 {
		t.Errorf("shares: %v", f.Shares)
	}
	for k, all := range waits {
		slices.Sort(all)
		f.Waits[k] = all[len(all)/2]
	}
	for _, name := range []string{"alice", "bob"} {
		if f.Waits[name+", 5"] > 0.7*f.Waits[name+", 0"] {
			t.Errorf("%s's urgent jobs take %v ms, others %v", name, f.Waits[name+", 5"], f.Waits[name+", 0"])
		}
		// All processes share the machine's processors, so the hostile tenant's requests cost
		// everybody some.
		if alone, with := f.Waits[name+", 0"], f.Waits[name+", 0"+beside]; with > 3*alone+500 {
			t.Errorf("%s's jobs take %v ms beside a hostile tenant, %v without", name, with, alone)
		}
	}
	f.Hostile = mallory.done.Load()
	if said.explain(t, &f); *f.Unexplained > 0 || *f.Lost > 0 {
		t.Errorf("%d jobs were delivered once more without a reason, %d were lost", *f.Unexplained, *f.Lost)
	}
	if said.lateness(t, &f, map[string]string{
		r.tenant(server.TicketOf("alice")): "alice", r.tenant(server.TicketOf("bob")): "bob",
	}); *f.Beyond > 0 {
		t.Errorf("%d jobs waited longer than their own queue explains", *f.Beyond)
	}
	if f.Refused == 0 || f.Fills == 0 || f.Moves == 0 {
		t.Errorf("%d workers with a wrong key were refused, %d disks were full, %d servers moved; a storm takes some minutes",
			f.Refused, f.Fills, f.Moves)
	}
	measured(t, f)
}
