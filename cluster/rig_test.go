package cluster_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark/logger"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
	"github.com/pippin-zk/pippin/internal/record"
)

// The flags that scripts/long sets for cluster-storm and bench-cluster.
var (
	storm      = flag.Duration("storm", 0, "how long TestStorm takes")
	long       = flag.Bool("long", false, "tests take as long as those scripts want")
	recordFile = flag.String("record", "", "file for what tests have measured")
)

// size returns brief or, with -long, lasting.
func size(brief, lasting int) int {
	if *long {
		return lasting
	}
	return brief
}

// folder returns a new folder for a test. With -long it is on the disk, whose speed is measured
// too.
func folder(t *testing.T) string {
	t.Helper()
	if *long {
		return t.TempDir()
	}
	return quickdir.New(t)
}

// figure is one run in the record.
type figure struct {
	Op          string  `json:"op"`
	What        string  `json:"what"`
	Workers     int     `json:"workers"`
	Jobs        int     `json:"jobs"`
	Proof       float64 `json:"proof_ms,omitempty"`    // how long fake provers sleep
	Constraints int     `json:"constraints,omitempty"` // of the circuit of real proofs
	Bytes       int     `json:"witness_bytes,omitempty"`
	Kills       int     `json:"kills,omitempty"`
	Restarts    int     `json:"restarts,omitempty"`
	Count       int     `json:"count,omitempty"`
	Median      float64 `json:"median_ms,omitempty"`
	Max         float64 `json:"max_ms,omitempty"`
	Rate        float64 `json:"jobs_a_second,omitempty"`

	// The fields that only the storm fills.
	Servers   int     `json:"servers,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"`
	Cancelled int     `json:"cancelled,omitempty"`
	Late      int     `json:"late,omitempty"`
	Stops     int     `json:"stops,omitempty"`   // SIGSTOP lasting some seconds
	Notices   int     `json:"notices,omitempty"` // SIGUSR1 to a worker
	Refused   int     `json:"refused,omitempty"` // workers with a wrong key
	Fills     int     `json:"disks_filled,omitempty"`
	Moves     int     `json:"servers_moved,omitempty"`
	Hostile   int64   `json:"hostile_requests,omitempty"` // requests of the hostile tenant
	// Redelivered counts, by reason, the jobs that came to a worker once more, and Unexplained
	// those for which no reason is known. ByChance is for which part of the other jobs a reason
	// would be found. Lost counts jobs that were neither with the workers nor ended, and were handed
	// out again.
	Redelivered map[string]int     `json:"redelivered,omitempty"`
	Unexplained *int               `json:"redelivered_unexplained,omitempty"`
	ByChance    float64            `json:"explained_by_chance,omitempty"`
	Lost        *int               `json:"lost_by_the_workers_stream,omitempty"`
	Beyond      *int               `json:"late_beyond_own_queue,omitempty"`
	Standstills map[string]float64 `json:"longest_standstill_ms,omitempty"` // between two ends of a tenant's jobs
	Shares      map[string]float64 `json:"shares,omitempty"`
	Waits       map[string]float64 `json:"median_ms_by_priority,omitempty"`

	Share   float64 `json:"share,omitempty"` // of the rate of an equal number of provers without a cluster
	Load    float64 `json:"load"`            // of the machine at the end: mean number of processes that want to run, over a minute
	Checked bool    `json:"checked"`
}

// figures holds what the tests have measured.
var figures struct {
	sync.Mutex
	runs []figure
}

// measured adds a run to the record unless the test has failed.
func measured(t *testing.T, f figure) {
	f.Op, f.Checked = "cluster", !t.Failed()
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &f.Load)
	}
	t.Logf("%+v", f)
	figures.Lock()
	defer figures.Unlock()
	figures.runs = append(figures.runs, f)
}

// TestMain runs the tests. In a process that is to be a worker or a server, it runs that instead.
func TestMain(m *testing.M) {
	for name, run := range map[string]func(string) error{"PIPPIN_TEST_WORKER": workerProcess, "PIPPIN_TEST_SERVER": serverProcess} {
		if arg := os.Getenv(name); arg != "" {
			if err := run(arg); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	logger.Disable()
	// Most tests wait for intervals of the protocol, so they can run together.
	if err := flag.Set("test.parallel", "16"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if code == 0 && *recordFile != "" {
		commit, _ := exec.Command("git", "rev-parse", "HEAD").Output()
		text, err := json.MarshalIndent(record.Record[figure]{Machine: record.ThisMachine(strings.TrimSpace(string(commit))),
			Runs: figures.runs}, "", "  ")
		if err == nil {
			err = os.WriteFile(*recordFile, append(text, '\n'), 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// rig is a cluster that runs in this process.
type rig struct {
	t      *testing.T
	dir    string
	listen string
	server *server.Server
	stop   func() // stops the manager
	cfg    server.Manager
	log    *slog.Logger
	looks  atomic.Int64 // counts the manager's looks at the cluster, unless the test has Figures
}

// newRig starts a server and a manager that looks at the cluster often.
func newRig(t *testing.T, change ...func(*server.Config, *server.Manager)) *rig {
	t.Helper()
	r := &rig{t: t, dir: folder(t), log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	cfg := server.Config{Dir: r.dir, Listen: "127.0.0.1:0", Room: 1 << 30}
	r.cfg = server.Manager{Every: 100 * time.Millisecond, Log: r.log}
	for _, f := range change {
		f(&cfg, &r.cfg)
	}
	if r.cfg.Figures == nil {
		r.cfg.Figures = func(cluster.Figures) { r.looks.Add(1) }
	}
	r.start(cfg)
	t.Cleanup(func() { r.down() })
	return r
}

func (r *rig) start(cfg server.Config) {
	r.t.Helper()
	s, err := server.Start(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.server = s
	if r.cfg.Ticket, err = s.Ticket(server.AdminTicket); err != nil {
		r.t.Fatal(err)
	}
	r.cfg.Names, r.cfg.Shares = s.Tenants()
	r.cfg.Replicas = s.Replicas()
	r.listen = strings.TrimPrefix(r.cfg.Ticket.URL, "nats://")
	r.manage()
}

// manage starts the manager.
func (r *rig) manage() {
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- r.cfg.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		r.t.Fatal(err)
	}
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	})
}

func (r *rig) down() {
	r.stop()
	r.server.Stop()
}

func (r *rig) ticket(name string) cluster.Ticket {
	r.t.Helper()
	t, err := cluster.ReadTicket(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	t.Dial = r.cfg.Ticket.Dial
	return t
}

func (r *rig) client() *cluster.Client { return r.clientOf(server.ClientTicket) }

func (r *rig) clientOf(name string) *cluster.Client {
	r.t.Helper()
	c, err := cluster.Connect(r.ticket(name))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// work starts a worker. It returns a function that ends the worker and waits for it.
func (r *rig) work(change func(*worker.Config)) (end func() error) {
	cfg := worker.Config{Open: fakes(nil), Cache: folder(r.t), Log: r.log}
	if _, err := os.Stat(filepath.Join(r.dir, server.WorkerTicket)); err == nil {
		cfg.Ticket = r.ticket(server.WorkerTicket)
	}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, cfg) }()
	end = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	r.t.Cleanup(func() {
		if err := end(); err != nil {
			r.t.Log("a worker ended: ", err)
		}
	})
	return end
}

// there waits until the given number of workers answer.
func (r *rig) there(c *cluster.Client, workers int) {
	r.t.Helper()
	eventually(r.t, fmt.Sprint(workers, " workers answer"), func() bool {
		s, err := c.Status(r.t.Context())
		return err == nil && len(s.Workers) == workers
	})
}

// tenant returns the tenant of a ticket.
func (r *rig) tenant(ticket string) string {
	r.t.Helper()
	tenant, err := r.ticket(ticket).Tenant()
	if err != nil {
		r.t.Fatal(err)
	}
	return tenant
}

// fakeWork stores a work's objects and returns the work, which fake provers prove.
func (r *rig) fakeWork(name string) cluster.Work { return r.fakeWorkOf(server.ClientTicket, name) }

// fakeWorkOf is fakeWork for the holder of a ticket.
func (r *rig) fakeWorkOf(ticket, name string) cluster.Work {
	r.t.Helper()
	link := r.admin()
	write := func(w io.Writer) error { _, err := io.WriteString(w, name); return err }
	digest, err := wire.Digest(write)
	if err == nil {
		err = wire.PutKey(r.t.Context(), link, r.tenant(ticket), digest, write)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return cluster.Work{System: "fake", Circuit: digest, ProvingKey: digest, VerifyingKey: digest}
}

// fakeProof returns the proof that a fake prover makes.
func fakeProof(witness []byte) []byte {
	h := sha256.Sum256(witness)
	return h[:]
}

// number returns a witness for fake provers.
func number(n int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// fakes returns an Opener of provers whose Prove is f. Without f a proof takes 20 ms.
func fakes(f func(ctx context.Context, witness []byte) ([]byte, error)) worker.Opener {
	if f == nil {
		f = func(ctx context.Context, witness []byte) ([]byte, error) {
			time.Sleep(20 * time.Millisecond)
			return fakeProof(witness), nil
		}
	}
	return func(ctx context.Context, _ cluster.Work, files worker.Files) (worker.Prover, error) {
		return fake(f), worker.Read(ctx, files.Circuit, func(io.Reader) error { return nil })
	}
}

type fake func(ctx context.Context, witness []byte) ([]byte, error)

func (f fake) Prove(ctx context.Context, witness []byte) ([]byte, error) { return f(ctx, witness) }
func (f fake) Close() error                                              { return nil }

// submitAll submits n jobs and returns their IDs.
func submitAll(t *testing.T, c *cluster.Client, w cluster.Work, n int) []string {
	t.Helper()
	var ids []string
	for i := range n {
		id, err := c.Submit(t.Context(), w, number(i))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// submitAfter submits a named job that must be proved after others, and returns its ID. Its witness
// is the name.
func submitAfter(t *testing.T, c *cluster.Client, w cluster.Work, name string, after ...string) string {
	t.Helper()
	id, err := c.Submit(t.Context(), w, []byte(name), cluster.JobOptions{Name: name, After: after})
	if err != nil {
		t.Fatal(name, err)
	}
	return id
}

// waitAll waits for all jobs and checks that each has its one right answer.
func waitAll(t *testing.T, c *cluster.Client, ids []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() {
			proof, err := c.Wait(ctx, id)
			if err != nil || !bytes.Equal(proof, fakeProof(number(i))) {
				t.Errorf("job %s: %x, %v", id, proof, err)
			}
		})
	}
	all.Wait()
}

// eventually waits until f holds.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen: " + what)
		}
	}
}

// admin returns an administrator's connection, which is closed when the test ends.
func (r *rig) admin() *wire.Link {
	r.t.Helper()
	link, err := r.cfg.Ticket.Connect("test")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(link.Close)
	return link
}

// messages returns a function that counts the messages of all streams of a kind.
func (r *rig) messages() func(kind string) uint64 {
	r.t.Helper()
	link := r.admin()
	return func(kind string) (n uint64) {
		r.t.Helper()
		streams, err := link.Streams(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, s := range streams {
			if of, _ := wire.Apart(s.Config.Name); of == kind {
				n += s.State.Msgs
			}
		}
		return n
	}
}

// endsOf counts the ends of a client's jobs that were ever stored. Those that were not taken go, the
// oldest first, when a tenth of the client's room is full.
func (r *rig) endsOf(name string) uint64 {
	r.t.Helper()
	ends, err := r.admin().JS.Stream(r.t.Context(), wire.Of(wire.Ends, r.tenant(server.TicketOf(name))))
	if err != nil {
		r.t.Fatal(err)
	}
	return ends.CachedInfo().State.LastSeq
}

// settled waits until nothing is left of jobs, and checks that each has ended once.
func (r *rig) settled(c *cluster.Client, jobs int) {
	r.t.Helper()
	r.settledBut(0, jobs)
}

// settledBut is settled where the witnesses of some dead jobs stay.
func (r *rig) settledBut(witnesses uint64, jobs int) {
	r.t.Helper()
	msgs := r.messages()
	eventually(r.t, "jobs and witnesses are gone", func() bool {
		return msgs(wire.Queue) == 0 && msgs(wire.Jobs) == 0 && msgs(wire.Witnesses) == witnesses
	})
	if n := msgs(wire.Ends); n != uint64(jobs) {
		r.t.Errorf("%d ends of %d jobs", n, jobs)
	}
}

var errTest = errors.New("a fault of the test's")
