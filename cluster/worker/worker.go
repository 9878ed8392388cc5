// Package worker proves the jobs of a cluster. A worker takes several jobs at a time and keeps
// circuits and keys on its disk. When its context ends, it finishes the jobs that it has and ends.
// If a worker dies, other workers get its jobs within seconds.
package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/bounded"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/internal/build"
)

// Config configures a worker. Ticket, Open and Cache are needed.
type Config struct {
	Ticket cluster.Ticket // a worker's
	// Open opens provers. Provers returns one for those of this module.
	Open Opener
	// Cache is a folder for circuits and keys that only this user may read.
	Cache string
	// CacheBytes bounds the bytes in Cache; 0 means 64 GiB. What was used least lately goes first.
	CacheBytes int64
	// Name is the worker's name, of letters, digits, - and _, at most 64. If it is empty, the name
	// is made from the host's name and the process's number. No two workers may have the same name.
	Name string
	// Jobs is how many jobs the worker has at a time; 0 means 2, so that one is solved while a card
	// computes another.
	Jobs int
	// Circuits is how many provers stay open; 0 means 4.
	Circuits int
	// Stall is how long a job may go without progress; 0 means 5 minutes. It must be longer than
	// solving a circuit takes, because a solver reports no progress.
	Stall time.Duration
	// Drain is how long the jobs in hand may go on when the worker is to end; 0 means 30 s. Then
	// they are given back.
	Drain time.Duration
	// Ends is how long a prover may take to end after its context has ended; 0 means 10 s. If it
	// takes longer, it is stuck, and the worker ends.
	Ends time.Duration
	// HandBack, when closed, ends the worker and gives its jobs back at once, for example when the
	// machine is about to be taken away.
	HandBack <-chan struct{}
	// Meter counts what the worker does; it may be nil.
	Meter Meter
	// Span begins a span of a trace for a job; it may be nil. carried is what the job's client has
	// sent of the trace. The function that Span returns is called when this worker's try ends.
	Span func(ctx context.Context, job string, carried map[string]string) (context.Context, func(error))
	// Health, if not nil, reports the state of this worker to others.
	Health *Health
	Log    *slog.Logger // nil discards
}

// Health says whether a worker takes jobs. The zero value belongs to a worker that has not begun.
// It is safe for concurrent use.
type Health struct{ w atomic.Pointer[Worker] }

// Ready returns nil if the worker is connected and takes jobs, and otherwise an error that says why
// not.
func (h *Health) Ready() error {
	w := h.w.Load()
	if w == nil {
		return errors.New("the worker has not begun")
	}
	w.mu.Lock()
	draining := w.state.Draining
	w.mu.Unlock()
	switch {
	case draining:
		return errors.New("the worker is draining")
	case !w.link.Conn.IsConnected():
		return errors.New("the worker has no connection to its server")
	}
	return nil
}

// Meter counts what a worker does. Several goroutines call its methods.
type Meter interface {
	// Phase reports the time that a phase of a job took. The phases are open (opening the prover
	// and fetching the keys), witness (waiting for the witness), unseal, prove and store (storing
	// the end).
	Phase(phase string, took time.Duration)
	// Ended reports that this worker has ended a job: proved, dead, late or cancelled.
	Ended(outcome string, cost cluster.Cost)
	// Try reports a try that did not end its job: failed or returned.
	Try(outcome string)
	// Received reports bytes of witnesses that came from the server.
	Received(bytes int)
}

// noMeter is a Meter that counts nothing.
type noMeter struct{}

func (noMeter) Phase(string, time.Duration) {}
func (noMeter) Ended(string, cluster.Cost)  {}
func (noMeter) Try(string)                  {}
func (noMeter) Received(int)                {}

// Opener opens a prover. An error that wraps backend.ErrInvalidInput is the job's fault.
type Opener func(ctx context.Context, w cluster.Work, files Files) (Prover, error)

// Files are the paths of what gnark or snarkjs wrote. Their digests were checked when they were fetched.
// An Opener checks them again by reading with Read. A work of cluster.Circom has only the ProvingKey.
type Files struct{ Circuit, ProvingKey, VerifyingKey string }

// Prover makes proofs of one circuit with one key. Several jobs may use it at a time.
type Prover interface {
	// Prove returns a verified proof for a full witness, which is as the client sent it. It calls
	// Progress with its context whenever it has done something, and returns soon after its context
	// has ended.
	//
	// If an error wraps ErrJob or backend.ErrInvalidInput, the job is at fault and is not tried
	// again. If a backend is gone or memory is short, the job is not at fault and no try is
	// counted. Any other error counts as a failed try.
	Prove(ctx context.Context, witness []byte) ([]byte, error)
	Close() error
}

// Sized is a Prover that knows the size in bytes of its circuit's witnesses, as clients send them.
// Witnesses of another size are refused before they are unpacked.
type Sized interface{ WitnessBytes() int }

// ErrJob is wrapped by an error that is the job's fault.
var ErrJob = errors.New("the job's own fault")

// ErrStuck is wrapped by the error of a worker that ended because a prover did not end. Its process
// should be started anew.
var ErrStuck = errors.New("a prover makes no progress and does not end")

// Worker is a worker, from before it begins until it has ended.
type Worker struct {
	cfg     Config
	link    *wire.Link
	opening []*wire.OpeningKey // the keys that open witnesses, the cluster's present one first

	tries   *tries
	provers *provers
	room    *semaphore.Weighted // Jobs: one for each job that is at work, all for one that must be alone
	log     *slog.Logger
	heard   *bounded.Log // warnings that tenants cause

	drain context.CancelCauseFunc // ends taking jobs, as the end of Run's context does
	abort context.CancelCauseFunc // ends the jobs

	mu      sync.Mutex
	inHand  map[string]*inHand // by the job's ID
	state   wire.State
	drainIn time.Duration
}

// notWord matches what a host's name may have and a worker's name may not.
var notWord = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// startWithin bounds the first requests to a server.
const startWithin = 30 * time.Second

// Run works until ctx ends, until it is drained, or until it cannot go on. It returns nil in the
// first two cases. It fails if there is no server when it begins; if the server goes away later,
// Run waits for it. Errors wrap a sentinel of package backend or ErrStuck.
func Run(ctx context.Context, cfg Config) (err error) {
	host, _ := os.Hostname()
	cfg.Name = cmp.Or(cfg.Name, fmt.Sprintf("%.40s-%d", notWord.ReplaceAllString(host, "-"), os.Getpid()))
	cfg.Jobs, cfg.Circuits, cfg.CacheBytes = cmp.Or(cfg.Jobs, 2), cmp.Or(cfg.Circuits, 4), cmp.Or(cfg.CacheBytes, 64<<30)
	cfg.Stall, cfg.Drain = cmp.Or(cfg.Stall, 5*time.Minute), cmp.Or(cfg.Drain, 30*time.Second)
	cfg.Ends = cmp.Or(cfg.Ends, 10*time.Second)
	switch {
	case !wire.Name.MatchString(cfg.Name):
		return fmt.Errorf("%w: %q is no worker's name: letters, digits, - and _, at most 64", backend.ErrInvalidInput, cfg.Name)
	case cfg.Open == nil || cfg.Jobs < 0 || cfg.Circuits < 0:
		return fmt.Errorf("%w: a worker needs an Open, and numbers above 0", backend.ErrInvalidInput)
	case cfg.Ticket.Open == "":
		return fmt.Errorf("%w: the ticket is no worker's", backend.ErrInvalidInput)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Meter == nil {
		cfg.Meter = noMeter{}
	}
	w := &Worker{cfg: cfg, inHand: map[string]*inHand{}, room: semaphore.NewWeighted(int64(cfg.Jobs)),
		log: cfg.Log.With("worker", cfg.Name), drainIn: cfg.Drain,
		state: wire.State{Name: cfg.Name, Jobs: cfg.Jobs, Version: build.This().Version}}
	w.heard = bounded.New(w.log)
	if w.link, err = cfg.Ticket.Connect(wire.WorkerPrefix + cfg.Name); err != nil {
		return err
	}
	defer w.link.Close()
	for _, text := range append([]string{cfg.Ticket.Open}, cfg.Ticket.OpenBefore...) {
		key, err := wire.ReadOpening(text)
		if err != nil {
			return err
		}
		w.opening = append(w.opening, key)
	}
	starting, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	if err := w.link.Greet(starting, wire.Hello, w.opening[0].Fingerprint()); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	w.tries = &tries{w.link}
	cache, err := newCache(cfg.Cache, cfg.CacheBytes, w.link)
	if err != nil {
		return err
	}
	w.provers = newProvers(cache, cfg.Open, cfg.Circuits, w.log)
	defer func() { err = errors.Join(err, w.provers.close()) }()
	return w.run(ctx, starting)
}

// run takes jobs until ctx ends or the worker is drained. starting bounds its first requests.
func (w *Worker) run(ctx, starting context.Context) error {
	taking, drain := context.WithCancelCause(ctx)
	working, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	defer drain(nil)
	w.drain, w.abort = drain, abort
	if err := w.listen(starting); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	if w.cfg.Health != nil {
		w.cfg.Health.w.Store(w)
	}
	ended := make(chan struct{})
	var takers sync.WaitGroup
	for range w.cfg.Jobs {
		takers.Go(func() { w.takeJobs(taking, working) })
	}
	go func() { takers.Wait(); close(ended) }()

	handBack := w.cfg.HandBack
	select {
	case <-taking.Done():
	case <-handBack:
		drain(errNotice)
		handBack = nil
		w.mu.Lock()
		w.drainIn = 0
		w.mu.Unlock()
	}
	w.mu.Lock()
	w.state.Draining = true
	within := w.drainIn
	w.mu.Unlock()
	w.log.Info("cluster: draining", "within", within)
	var err error
	if cause := context.Cause(taking); errors.Is(cause, ErrStuck) {
		err = cause
	}
	select {
	case <-ended:
		return err
	case <-handBack:
	case <-time.After(within):
	}
	abort(errGivenBack)
	select {
	case <-ended:
		return err
	case <-time.After(w.cfg.Ends):
		return errors.Join(err, fmt.Errorf("%w: after %v and %v", ErrStuck, within, w.cfg.Ends))
	}
}

var (
	errNotice    = errors.New("the machine goes")
	errDrained   = errors.New("drained by an administrator")
	errGivenBack = errors.New("given back: the worker ends")
)

// listen answers requests for the worker's state, stops jobs that were cancelled, and drains if an
// administrator says so. It tells managers that the worker is here; if the server is away just
// then, it tells them once the server is back.
func (w *Worker) listen(ctx context.Context) error {
	answer := func(m *nats.Msg) {
		text, err := w.now()
		if err == nil {
			err = m.Respond(text)
		}
		if err != nil {
			w.log.Debug("cluster: not answered who is there", "problem", err)
		}
	}
	_, err := w.link.Conn.Subscribe(wire.Who, answer)
	if err == nil {
		_, err = w.link.Conn.Subscribe(wire.Who+"."+w.cfg.Name, answer)
	}
	if err == nil {
		_, err = w.link.Conn.Subscribe(wire.StopPrefix+">", func(m *nats.Msg) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if h := w.inHand[strings.TrimPrefix(m.Subject, wire.StopPrefix)]; h != nil {
				h.cancel(errCancelled)
			}
		})
	}
	for _, subject := range []string{wire.Drain, wire.Drain + "." + w.cfg.Name} {
		if err == nil {
			_, err = w.link.Conn.Subscribe(subject, func(m *nats.Msg) {
				if d, err := time.ParseDuration(string(m.Data)); err == nil && d >= 0 {
					w.mu.Lock()
					w.drainIn = d
					w.mu.Unlock()
				}
				w.drain(errDrained)
			})
		}
	}
	var text []byte
	if err == nil {
		text, err = w.now()
	}
	if err == nil {
		_, err = wire.Ask(ctx, func(context.Context) (struct{}, error) { return struct{}{}, w.link.Conn.Publish(wire.Here, text) })
	}
	if err == nil {
		err = wire.Flush(ctx, w.link.Conn)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	return nil
}

// now returns the worker's present state in JSON.
func (w *Worker) now() ([]byte, error) {
	w.mu.Lock()
	s := w.state
	s.InHand = slices.Sorted(maps.Keys(w.inHand))
	w.mu.Unlock()
	s.Circuits = w.provers.len()
	return json.Marshal(s)
}

// takeJobs asks for a job for asksFor at a time. The server sends a sign of life every beat, so
// that a stream that has fallen silent is noticed after two beats. With several servers the request
// is shorter: they do not all hear at once that a worker has gone, and would hand out jobs to it
// meanwhile.
const (
	asksFor        = 10 * time.Second
	asksSeveralFor = 2 * time.Second
	beat           = time.Second
)

// takeJobs takes one job after the other until taking ends. After a job that failed for this
// worker's own reasons it pauses, each time longer, because a worker without a disk must not take
// every job there is. If the server does not answer, takeJobs asks again soon, because that says
// nothing about the worker.
func (w *Worker) takeJobs(taking, working context.Context) {
	const first, longest, longestAsking = 250 * time.Millisecond, 30 * time.Second, time.Second
	pause, asking := first, first
	wait := func(pause time.Duration, said string, why error) {
		w.log.Warn(said, "for", pause, "problem", why)
		select {
		case <-taking.Done():
		case <-time.After(pause):
		}
	}
	for taking.Err() == nil {
		msg, err := w.next(taking)
		switch {
		case taking.Err() != nil && msg == nil:
			return
		case err != nil:
			wait(asking, "cluster: the server has no answer when asked for a job", err)
			asking = min(2*asking, longestAsking)
			continue
		}
		asking = first
		if msg == nil {
			continue // there is no job
		}
		if err := w.job(working, msg); err != nil {
			wait(pause, "cluster: one job at a time less for a while", err)
			pause = min(2*pause, longest)
			continue
		}
		pause = first
	}
}

// next asks for a job. It returns nil if none came.
func (w *Worker) next(ctx context.Context) (*nats.Msg, error) {
	within := asksFor
	if w.link.Replicas > 1 {
		within = asksSeveralFor
	}
	return w.link.Next(ctx, within, beat)
}
