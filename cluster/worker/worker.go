// Package worker proves the jobs of a cluster. A worker takes several jobs at a
// time, keeps circuits and keys on its disk, and ends when its context does, after
// the jobs that it has. Jobs of a worker that dies are another one's within seconds.
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

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/bounded"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/internal/build"
)

// Config configures a worker. Ticket, Open and Cache are needed.
type Config struct {
	Ticket cluster.Ticket // a worker's
	// Open opens provers; Gnark has those of this module.
	Open Opener
	// Cache is a folder for circuits and keys, the user's alone.
	Cache string
	// CacheBytes is how many bytes it may have, 64 GiB when it is 0. What was used
	// least lately goes first.
	CacheBytes int64
	// Name is the worker's, of letters, digits, - and _; the host's and the
	// process's when it is empty. No two workers have one name.
	Name string
	// Jobs is how many it has at a time; 2 when it is 0, so that one is solved
	// while a card computes another one.
	Jobs int
	// Circuits is how many provers stay open, 4 when it is 0.
	Circuits int
	// Stall is how long a job may go without progress, 5 minutes when it is 0: a
	// solver makes none.
	Stall time.Duration
	// Drain is how long the jobs in hand have when the worker is to end, 30 s when
	// it is 0. Then they are given back.
	Drain time.Duration
	// Ends is how long a prover may take to end after its context, 10 s when it is
	// 0. One that takes longer is stuck, and its worker ends.
	Ends time.Duration
	// HandBack ends the worker when it is closed, without an end to its jobs: they are
	// given back at once, as when a machine is about to be taken away.
	HandBack <-chan struct{}
	// Meter is told what jobs take; nil is nobody.
	Meter Meter
	// Span begins a span of a trace for a job, whose client has sent what is carried; it
	// may be nil. The function that it returns is called at the end.
	Span func(ctx context.Context, job string, carried map[string]string) (context.Context, func(error))
	// Health is told of the worker, so that it can be asked; nil is nobody.
	Health *Health
	Log    *slog.Logger // nil is nowhere
}

// Health says whether a worker takes jobs. Its zero value is of one that has not begun;
// safe for concurrent use.
type Health struct{ w atomic.Pointer[Worker] }

// Ready returns nil while the worker is connected and takes jobs.
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

// Meter counts what a worker does. Its methods are called by several goroutines.
type Meter interface {
	// Phase tells how long a phase of a job took: open (its prover, with the fetching of
	// keys), witness (waiting for it), unseal, prove, store (the end).
	Phase(phase string, took time.Duration)
	// Ended tells that a job has ended here: proved, dead, late or cancelled.
	Ended(outcome string, cost cluster.Cost)
	// Try tells that a try has not ended a job: failed or returned.
	Try(outcome string)
	// Received tells that bytes of witnesses and keys came from the server.
	Received(bytes int)
}

// noMeter is a Meter that counts nothing.
type noMeter struct{}

func (noMeter) Phase(string, time.Duration) {}
func (noMeter) Ended(string, cluster.Cost)  {}
func (noMeter) Try(string)                  {}
func (noMeter) Received(int)                {}

// Opener opens a prover. Errors that wrap backend.ErrInvalidInput are the job's
// fault.
type Opener func(ctx context.Context, w cluster.Work, files Files) (Prover, error)

// Files are the paths of what gnark wrote. Their digests were compared when they came;
// a prover compares them again with File.
type Files struct{ Circuit, ProvingKey, VerifyingKey string }

// Prover makes proofs of one circuit with one key, for several jobs at a time.
type Prover interface {
	// Prove is a proof of the full witness that gnark marshaled, verified. It calls
	// Progress with its context whenever it has done something, and ends soon after
	// its context.
	//
	// Errors that wrap ErrJob or backend.ErrInvalidInput are the job's fault: it is
	// not tried again. Those of a backend that is gone, or of memory, are not the
	// job's: they cost it no try. Others do.
	Prove(ctx context.Context, witness []byte) ([]byte, error)
	Close() error
}

// Sized is a Prover that knows how many bytes its circuit's witnesses have, as gnark
// marshals them. Others are refused before they are unpacked.
type Sized interface{ WitnessBytes() int }

// ErrJob is wrapped by errors that are the job's fault.
var ErrJob = errors.New("the job's own fault")

// ErrStuck is wrapped by the error of a worker that ended because a prover did not:
// its process should be started anew.
var ErrStuck = errors.New("a prover makes no progress and does not end")

// Worker is a worker that has not begun, or runs, or ended.
type Worker struct {
	cfg     Config
	link    *wire.Link
	opening []*wire.OpeningKey // of witnesses, the cluster's first

	tries   *tries
	provers *provers
	log     *slog.Logger
	heard   *bounded.Log // what tenants are warned of

	drain context.CancelCauseFunc // of the context of Run: take no more jobs
	abort context.CancelCauseFunc // of the jobs

	mu      sync.Mutex
	inHand  map[string]*inHand // by job
	state   wire.State
	drainIn time.Duration
}

// notWord is what a host's name may have and a worker's may not.
var notWord = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// startWithin bounds the first requests to a server.
const startWithin = 30 * time.Second

// Run works until ctx ends, or it is drained, or cannot go on. It returns nil after
// the first two. Without a server at the beginning it fails; one that goes away later is waited
// for. Errors wrap a sentinel of package backend or ErrStuck.
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
	w := &Worker{cfg: cfg, inHand: map[string]*inHand{}, log: cfg.Log.With("worker", cfg.Name), drainIn: cfg.Drain,
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

// run takes jobs until ctx ends. Its first requests end with starting.
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

// listen answers requests for the worker's state, and drains when an administrator says
// so. Who begins while the server goes is heard of when it is there again.
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

// now returns the worker's state as others read it.
func (w *Worker) now() ([]byte, error) {
	w.mu.Lock()
	s := w.state
	s.InHand = slices.Sorted(maps.Keys(w.inHand))
	w.mu.Unlock()
	s.Circuits = w.provers.len()
	return json.Marshal(s)
}

// How takeJobs asks for a job. The server says every beat that it is there, so that a
// stream that has fallen silent is noticed after two. Several servers do not hear at once that
// whoever asked has gone, and hand out to him what comes meanwhile: they are asked for less long.
const (
	asksFor        = 10 * time.Second
	asksSeveralFor = 2 * time.Second
	beat           = time.Second
)

// takeJobs takes one job after the other while taking lives. After a job that failed for a
// reason of this worker's own it pauses, each time longer: a worker without a disk must
// not take every job there is. A server that does not answer is asked again soon: it says
// nothing of the worker.
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
			continue // nothing to do
		}
		if err := w.job(working, msg); err != nil {
			wait(pause, "cluster: one job at a time less for a while", err)
			pause = min(2*pause, longest)
			continue
		}
		pause = first
	}
}

// next asks for a job. It returns nil if there is none for a while.
func (w *Worker) next(ctx context.Context) (*nats.Msg, error) {
	within := asksFor
	if w.link.Replicas > 1 {
		within = asksSeveralFor
	}
	return w.link.Next(ctx, within, beat)
}
