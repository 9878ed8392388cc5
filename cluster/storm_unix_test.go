//go:build unix

package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
)

// party is a process of the storm that is started again whenever it ends.
type party struct {
	env string

	mu  sync.Mutex
	cmd *exec.Cmd
}

// run starts the process again and again until ctx ends.
func (p *party) run(ctx context.Context) {
	for ctx.Err() == nil {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), p.env)
		cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
		p.mu.Lock()
		err := cmd.Start()
		if err == nil {
			p.cmd = cmd
		}
		p.mu.Unlock()
		if err == nil {
			done := make(chan struct{})
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
		case <-time.After(time.Second): // as RestartSec
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

// where says in which streams a job is.
func where(r *rig, id string) string {
	_, js, err := r.cfg.Ticket.Connect("where")
	if err != nil {
		return err.Error()
	}
	defer js.Conn().Close()
	said := ""
	for _, from := range wire.WhereJobsAre {
		s, err := wire.Stream(context.Background(), js, from.Stream)
		if err == nil {
			_, err = s.GetLastMsgForSubject(context.Background(), from.Prefix+id)
		}
		said += fmt.Sprintf("%s: %v; ", from.Stream, err)
	}
	c, err := js.Consumer(context.Background(), wire.Jobs, wire.Workers)
	if err != nil {
		return said + err.Error()
	}
	return said + fmt.Sprintf("%d wait for workers, %d are in hand", c.CachedInfo().NumPending, c.CachedInfo().NumAckPending)
}

// TestStorm runs three servers and four workers as processes that are killed, stopped and
// told to leave at random, and two clients of different shares whose jobs have priorities,
// deadlines and cancellations: every job that was neither cancelled nor late has its one
// right proof, shares are kept within a tenth, and what is more urgent is earlier.
// scripts/cluster-storm runs it for half an hour.
func TestStorm(t *testing.T) {
	if *storm == 0 {
		t.Skip("-storm says how long; TestThreeServers and TestClientShares are its short forms")
	}
	ports := freePorts(t, 6)
	shares := map[string]float64{"alice": 0.7}
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	var servers, workers []*party
	var dirs []string
	for i := range 3 {
		cfg := remote{Dir: t.TempDir(), Listen: ports[i], Room: 1 << 30, Name: string(rune('a' + i)), ListenPeers: ports[3+i],
			Hosts: ports[:3], Clients: []string{"alice", "bob"}, Shares: shares}
		for j := range 3 {
			if j != i {
				cfg.Peers = append(cfg.Peers, ports[3+j])
			}
		}
		text, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, cfg.Dir)
		if i > 0 {
			identity := filepath.Join(dirs[0], "identity.json")
			eventually(t, "the first server has made its identity", func() bool { _, err := os.Stat(filepath.Join(dirs[0], server.AdminTicket)); return err == nil })
			id, err := os.ReadFile(identity)
			if err == nil {
				err = os.WriteFile(filepath.Join(cfg.Dir, "identity.json"), id, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		p := &party{env: "PIPPIN_TEST_SERVER=" + string(text)}
		servers = append(servers, p)
		running.Go(func() { p.run(ctx) })
	}
	r := &rig{t: t, dir: dirs[0]}
	r.cfg.Ticket = r.ticket(server.AdminTicket)
	var admin *cluster.Client
	eventually(t, "the streams are there", func() (ok bool) {
		var err error
		admin, err = cluster.Connect(r.cfg.Ticket)
		return err == nil
	})
	defer admin.Close()
	for range 4 {
		p := &party{env: "PIPPIN_TEST_WORKER=" + filepath.Join(r.dir, server.WorkerTicket)}
		workers = append(workers, p)
		running.Go(func() { p.run(ctx) })
	}
	f := figure{What: "storm", Servers: 3, Workers: 4, Seconds: storm.Seconds(), Proof: 20, Shares: map[string]float64{}, Waits: map[string]float64{}}

	// A worker of this cluster whose key for witnesses is another one's.
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
	// What happens to processes. One server at a time: two of three are needed.
	rage.Go(func() {
		for {
			select {
			case <-raging.Done():
				return
			case <-time.After(time.Duration(1000+rand.IntN(4000)) * time.Millisecond):
			}
			w := workers[rand.IntN(len(workers))]
			switch rand.IntN(10) {
			case 0, 1, 2:
				w.signal(syscall.SIGKILL)
				f.Kills++
			case 3, 4:
				w.signal(syscall.SIGUSR1)
				f.Notices++
			case 5:
				w.signal(syscall.SIGTERM)
				f.Kills++
			case 6:
				w.signal(syscall.SIGSTOP)
				time.Sleep(5 * time.Second)
				w.signal(syscall.SIGCONT)
				f.Stops++
			case 7:
				s := servers[rand.IntN(len(servers))]
				s.signal(syscall.SIGSTOP)
				time.Sleep(time.Duration(rand.IntN(5000)) * time.Millisecond)
				s.signal(syscall.SIGCONT)
				f.Stops++
			default:
				servers[rand.IntN(len(servers))].signal([]os.Signal{syscall.SIGKILL, syscall.SIGTERM}[rand.IntN(2)])
				f.Restarts++
				time.Sleep(5 * time.Second) // until it has caught up
			}
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
		}
		began := time.Now()
		id, err := c.Submit(ctx, w, witness, o)
		if err != nil {
			t.Errorf("%s: %v", witness, err)
			return
		}
		cancelled := false
		if kind == 5 {
			time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
			if cancelled, err = c.Cancel(ctx, id); err != nil {
				t.Errorf("%s: %v", witness, err)
			}
		}
		patient, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		proof, err := c.Wait(patient, id)
		if patient.Err() != nil {
			t.Errorf("%s: job %s has no end, and is %s", witness, id, where(r, id))
			return
		}
		count(&f.Jobs)
		switch {
		case cancelled && errors.Is(err, cluster.ErrCancelled):
			count(&f.Cancelled)
		case !o.Deadline.IsZero() && errors.Is(err, cluster.ErrLate):
			count(&f.Late)
		case cancelled || err != nil || !bytes.Equal(proof, fakeProof(witness)):
			t.Errorf("%s, job %s: %x, %v", witness, id, proof, err)
		case kind != 4:
			mu.Lock()
			k := fmt.Sprintf("%s, %d", name, o.Priority)
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
	if n := msgs(wire.Ends); n != uint64(jobs) {
		t.Errorf("%d ends of %d jobs", n, jobs)
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
	}
	if f.Refused == 0 {
		t.Error("no worker with a wrong key was refused")
	}
	measured(t, f)
}
