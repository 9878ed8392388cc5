package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
)

// trailing is the environment variable that makes a process log all that happens to jobs.
const trailing = "PIPPIN_TEST_TRAIL"

// processLog returns a process's log: its warnings and, if trailing asks for that, what happens to
// jobs.
func processLog() *slog.Logger {
	level := slog.LevelWarn
	if os.Getenv(trailing) != "" {
		level = slog.LevelDebug
	}
	return slog.New(ofJobs{slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})})
}

// ofJobs passes on lines about jobs, and warnings.
type ofJobs struct{ slog.Handler }

func (h ofJobs) Handle(ctx context.Context, r slog.Record) error {
	keep := r.Level >= slog.LevelWarn
	r.Attrs(func(a slog.Attr) bool {
		keep = keep || a.Key == "job"
		return !keep
	})
	if !keep {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h ofJobs) WithAttrs(all []slog.Attr) slog.Handler { return ofJobs{h.Handler.WithAttrs(all)} }

// workerProcess works until it is killed: with fake provers, but for circom's circuits.
func workerProcess(ticket string) error {
	t, err := cluster.ReadTicket(ticket)
	if err != nil {
		return err
	}
	fake := fakes(func(_ context.Context, witness []byte) ([]byte, error) {
		if strings.HasPrefix(string(witness), "slow") {
			time.Sleep(time.Hour) // until this process is killed; without progress, but for less than Stall
		}
		if strings.HasPrefix(string(witness), "kill") {
			os.Exit(3)
		}
		if strings.HasPrefix(string(witness), "alice") {
			time.Sleep(40 * time.Millisecond) // jobs of the storm that take longer
		}
		time.Sleep(20 * time.Millisecond)
		return fakeProof(witness), nil
	})
	open := func(ctx context.Context, w cluster.Work, f worker.Files) (worker.Prover, error) {
		if w.System == cluster.Circom {
			return worker.Provers(nil)(ctx, w, f)
		}
		return fake(ctx, w, f)
	}
	leaves, notice := noticed(), make(chan struct{})
	go func() { <-leaves; close(notice) }()
	cfg := worker.Config{
		HandBack: notice, Ticket: t, Open: open, Cache: filepath.Join(filepath.Dir(ticket), "cache", fmt.Sprint(os.Getpid())), Jobs: 2,
	}
	if os.Getenv(trailing) != "" {
		cfg.Log = processLog()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return worker.Run(ctx, cfg)
}

// workerIn starts a worker in another process.
func workerIn(t *testing.T, r *rig) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PIPPIN_TEST_WORKER="+filepath.Join(r.dir, server.WorkerTicket))
	cmd.Stdout, cmd.Stderr = io.Discard, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// remote configures a server's process.
type remote struct {
	Dir, Listen string
	Room        int64
	Stuck       time.Duration
	Linger      time.Duration

	// For servers that are peers.
	Name, ListenPeers string
	Hosts, Peers      []string
	Clients           []string
	Shares            map[string]float64
}

// serverProcess runs a server and its manager, as msm cluster up does.
func serverProcess(text string) error {
	var cfg remote
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := processLog()
	s, err := server.Start(server.Config{Dir: cfg.Dir, Listen: cfg.Listen, Room: cfg.Room, Log: log,
		Name: cfg.Name, ListenPeers: cfg.ListenPeers, Hosts: cfg.Hosts, Peers: cfg.Peers, Clients: cfg.Clients, Shares: cfg.Shares})
	if err != nil {
		return err
	}
	defer s.Stop()
	k, err := s.Ticket(server.AdminTicket)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Wait(ctx) })
	group.Go(func() error {
		m := server.Manager{Ticket: k, Room: cfg.Room, Every: 100 * time.Millisecond, Stuck: cfg.Stuck, Linger: cfg.Linger, Log: log,
			Replicas: s.Replicas()}
		m.Names, m.Shares = s.Tenants()
		if len(cfg.Peers) > 0 {
			m.Name = cfg.Name
		}
		return m.Run(ctx, func() { fmt.Println("ready") })
	})
	return group.Wait()
}

// away is a rig whose server runs in another process.
type away struct {
	*rig
	remote remote
	prefix []string                  // of its command line
	start  func(cmd *exec.Cmd) error // called instead of cmd.Start
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process has ended
}

// newAway starts the process of a rig that has its settings.
func newAway(t *testing.T, a *away) *away {
	t.Helper()
	if a.rig == nil {
		a.rig = &rig{t: t, dir: folder(t), log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	}
	a.remote.Dir, a.remote.Listen = a.dir, "127.0.0.1:0"
	a.remote.Room = 1 << 30
	if a.start == nil {
		a.start = (*exec.Cmd).Start
	}
	a.up()
	t.Cleanup(func() { a.end(syscall.SIGKILL) })
	a.cfg.Ticket = a.ticket(server.AdminTicket)
	a.remote.Listen = strings.TrimPrefix(a.cfg.Ticket.URL, "nats://")
	return a
}

// up starts the process and waits until it is ready.
func (a *away) up() {
	a.t.Helper()
	text, err := json.Marshal(a.remote)
	if err != nil {
		a.t.Fatal(err)
	}
	line := append(a.prefix, os.Args[0])
	cmd, ended := exec.Command(line[0], line[1:]...), make(chan struct{})
	cmd.Env = append(os.Environ(), "PIPPIN_TEST_SERVER="+string(text))
	cmd.Stderr = a.t.Output()
	out, in, err := os.Pipe()
	if err != nil {
		a.t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout = in
	err = a.start(cmd)
	in.Close()
	if err != nil {
		a.t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(ended) }()
	a.cmd, a.ended = cmd, ended
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "ready\n" {
		a.end(syscall.SIGKILL)
		a.t.Fatalf("the server's process: %q, %v", said, err)
	}
}

// end sends a signal and waits for the end of the process.
func (a *away) end(s os.Signal) {
	_ = a.cmd.Process.Signal(s)
	<-a.ended
}

// TestServerRestarts restarts the server in the middle of many jobs, once after a kill and once in
// order.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	jobs, restarts := size(60, 200), size(2, 10)
	r := newAway(t, new(away))
	c := r.client()
	for _, name := range []string{"a", "b"} {
		r.work(func(c *worker.Config) { c.Name = name })
	}
	r.there(c, 2) // workers cannot begin without a server
	w := r.fakeWork("restart")
	ids := make(chan []string, 1)
	go func() { ids <- submitAll(t, c, w, jobs) }()
	for i := range restarts {
		time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
		r.end([]os.Signal{syscall.SIGKILL, syscall.SIGTERM}[i%2])
		r.up()
	}
	waitAll(t, c, <-ids)
	r.settled(c, jobs)
	measured(t, figure{What: "the server killed and restarted", Workers: 2, Jobs: jobs, Restarts: restarts, Proof: 20})
}
