package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Manager keeps the streams of a cluster in order. Several may do so at a time; one
// is needed. Its zero value but for Ticket is ready.
type Manager struct {
	Ticket cluster.Ticket // an administrator's
	// Room is the most bytes that the streams may have together, 0 as many as the
	// server has. Each gets its share: keys cannot crowd out proofs.
	Room int64
	// Replicas is on how many servers streams are, one when 0.
	Replicas int
	// Every is how often is looked, each second when it is 0.
	Every time.Duration
	// Stuck is how long jobs may wait beside workers that are free, without any
	// being handed out, before the consumer is made anew; 15 s when it is 0.
	Stuck time.Duration
	// Orphan is how long a witness may be there without its job, an hour when 0.
	Orphan time.Duration
	// KeepDead is how long the sealed witness of a job is kept that failed through no
	// fault of its own, so that it can be sent again, a day when 0. Such witnesses take
	// at most half of the room for witnesses.
	KeepDead time.Duration
	// Linger is how long the result of a job stays that its client has taken, a minute
	// when 0: another worker may still be at it.
	Linger time.Duration
	// Name is this manager's, the host's when it is empty. Of several with different
	// names one hands out jobs, and another one when that has been silent for 5 s.
	Name string
	// Shares are parts of the cards' time, of 1, that are reserved for tenants; the others
	// divide the rest. Server.Tenants has them.
	Shares map[string]float64
	// Names are those of tenants, for people.
	Names map[string]string
	// Figures is called each time that this has looked, nil by nobody.
	Figures func(cluster.Figures)
	Log     *slog.Logger // nil is nowhere
}

// slack is how long a worker that is not heard counts as one that is there.
const slack = 10 * time.Second

// Run makes the streams, calls ready, and looks after the streams until ctx ends. It
// fails with backend.ErrUnavailable when the server cannot have them.
func (m Manager) Run(ctx context.Context, ready func()) error {
	m.Every, m.Stuck, m.Orphan = cmp.Or(m.Every, time.Second), cmp.Or(m.Stuck, 5*wire.AckWait), cmp.Or(m.Orphan, time.Hour)
	m.KeepDead, m.Linger = cmp.Or(m.KeepDead, 24*time.Hour), cmp.Or(m.Linger, time.Minute)
	if m.Name == "" {
		m.Name, _ = os.Hostname()
	}
	if m.Log == nil {
		m.Log = slog.New(slog.DiscardHandler)
	}
	nc, js, err := m.Ticket.Connect("pippin manager")
	if err != nil {
		return err
	}
	defer nc.Close()
	if _, err := js.AccountInfo(ctx); m.Replicas < 2 && hasNoJetStream(err) {
		return fmt.Errorf("%w: the server at %s has no JetStream for this user: enable it there", backend.ErrUnavailable, m.Ticket.URL)
	}
	k := &keeper{Manager: m, store: store{js}, nc: nc, seen: map[string]time.Time{}, workers: map[string]seen{}, taken: map[string]time.Time{}}
	if err := k.ensure(ctx); err != nil {
		return err
	}
	defer k.follow()
	if err := k.lead(ctx, ctx); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	_, err = nc.Subscribe(wire.ForgetPrefix+">", func(msg *nats.Msg) { k.forget(ctx, msg.Subject) })
	if err == nil {
		_, err = nc.Subscribe(wire.CancelPrefix+">", func(msg *nats.Msg) {
			if d := k.leading(); d != nil {
				d.cancel(ctx, msg)
			}
		})
	}
	if err == nil {
		_, err = nc.Subscribe(wire.Roster, k.roster)
	}
	if err == nil {
		_, err = nc.Subscribe(wire.Here, k.here)
	}
	if err == nil {
		err = wire.Flush(ctx, nc)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	ready()
	tick := time.NewTicker(m.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		looking, cancel := context.WithTimeoutCause(ctx, looksFor, errNoAnswer)
		if err := k.look(looking, ctx); err != nil && ctx.Err() == nil {
			m.Log.Warn("cluster", "problem", err)
		}
		cancel()
	}
}

// hasNoJetStream reports whether an error says that the user has no JetStream.
func hasNoJetStream(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// looksFor bounds one look at the streams, so that a stream without a leader is said to be
// one.
const looksFor = 20 * time.Second

var errNoAnswer = fmt.Errorf("%w: the server has not answered for %v", backend.ErrUnavailable, looksFor)

// keeper is a manager at work. All of its times are differences on the monotonic
// clock: a wall clock that jumps changes nothing.
type keeper struct {
	Manager
	store
	nc     *nats.Conn
	seen   map[string]time.Time // witnesses without a job, since when
	memory memory
	leader struct { // the last note of who leads
		seq   uint64
		since time.Time
	}

	mu         sync.Mutex
	dispatcher *dispatcher          // while this manager leads
	workers    map[string]seen      // by name, those that were heard of lately
	taken      map[string]time.Time // results that may go, since when
}

type seen struct {
	jobs int // at a time
	at   time.Time
}

// roster answers with the names of the workers that were heard of lately.
func (k *keeper) roster(m *nats.Msg) {
	k.mu.Lock()
	names := slices.Sorted(maps.Keys(k.workers))
	k.mu.Unlock()
	text, err := json.Marshal(names)
	if err == nil {
		err = m.Respond(text)
	}
	if err != nil {
		k.Log.Debug("cluster: not answered which workers there are", "problem", err)
	}
}

// here notes a worker that begins.
func (k *keeper) here(m *nats.Msg) {
	var s cluster.Worker
	if err := json.Unmarshal(m.Data, &s); err != nil || !wire.Name.MatchString(s.Name) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.workers[s.Name] = seen{s.Jobs, time.Now()}
}

// count notes the workers that have answered and those that are connected, and returns how
// many jobs all can have at a time that were heard of lately.
func (k *keeper) count(states []cluster.Worker, silent []string, now time.Time) (slots int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range states {
		k.workers[s.Name] = seen{s.Jobs, now}
	}
	for _, name := range silent {
		if s, known := k.workers[name]; known {
			k.workers[name] = seen{s.jobs, now}
		}
	}
	for name, s := range k.workers {
		if now.Sub(s.at) > slack {
			delete(k.workers, name)
			continue
		}
		slots += s.jobs
	}
	return slots
}

// look looks at the cluster once, decides what follows, and does it.
func (k *keeper) look(ctx, run context.Context) error {
	if err := k.lead(ctx, run); err != nil {
		return err
	}
	v, err := k.observe(ctx)
	if err != nil {
		return err
	}
	p, next := k.decide(v, k.memory)
	k.memory = next
	return k.act(ctx, v, p)
}

// observe looks at workers, the workers' consumer and the streams.
func (k *keeper) observe(ctx context.Context) (v view, err error) {
	if v.workers, v.silent, err = cluster.Workers(ctx, k.nc); err != nil {
		return v, err
	}
	c, err := k.js.Consumer(ctx, wire.Jobs, wire.Workers)
	if err == nil {
		_, err = k.js.Stream(ctx, wire.Tries)
	}
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		v.missing = err
		return v, nil
	}
	if err != nil {
		return v, err
	}
	v.at, v.consumer = time.Now(), *c.CachedInfo()
	v.slots = k.count(v.workers, v.silent, v.at)
	for name, n := range map[string]*uint64{wire.Jobs: &v.jobs, wire.Queue: &v.queued} {
		s, err := k.js.Stream(ctx, name)
		if err != nil {
			return v, err
		}
		*n = s.CachedInfo().State.Msgs
	}
	if d := k.leading(); d != nil {
		v.leads, v.deaf = true, d.deaf(v.queued)
	}
	return v, nil
}

// act does what a look has come to. The dispatcher is told what the look has seen.
func (k *keeper) act(ctx context.Context, v view, p plan) error {
	if p.remake {
		k.Log.Warn("cluster: streams are missing and made anew", "problem", v.missing)
		k.follow() // what it knows may be gone
		return k.ensure(ctx)
	}
	if p.inHand > 0 {
		if err := k.consumer(ctx, p.inHand); err != nil {
			return err
		}
	}
	d := k.leading()
	inHand, free := v.hands()
	if d != nil {
		d.adjust(v.slots, inHand, v.consumer.NumAckPending, len(v.silent) == 0)
		if err := d.keepLedger(ctx); err != nil {
			return err
		}
	}
	if err := k.figure(ctx, d, v); err != nil {
		return err
	}
	switch {
	case p.reread:
		k.Log.Warn("cluster: jobs are in the queue that were not heard of; it is read anew", "jobs", v.queued)
		k.follow()
		return nil // the next look leads again
	case p.rebuild:
		k.Log.Warn("cluster: jobs wait and none is handed out; the consumer is made anew",
			"waiting", v.consumer.NumPending, "handed_out", v.consumer.NumAckPending, "in_hand", inHand, "free", free)
		return k.rebuild(ctx, v.slots)
	}
	return k.tidy(ctx, d, v.at, p)
}

// rebuild makes the workers' consumer anew.
func (k *keeper) rebuild(ctx context.Context, slots int) error {
	if err := k.js.DeleteConsumer(ctx, wire.Jobs, wire.Workers); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	k.memory.still, k.memory.torn = sight{}, sight{}
	return k.consumer(ctx, slots)
}

// tidy removes what nobody needs any more, and hands out what was lost.
func (k *keeper) tidy(ctx context.Context, d *dispatcher, now time.Time, p plan) error {
	if p.release {
		if err := k.release(ctx, now); err != nil {
			return err
		}
	}
	if p.compare && d != nil {
		if err := d.again(ctx, k.lost()); err != nil {
			return err
		}
	}
	if p.sweep {
		return k.sweep(ctx, now)
	}
	return nil
}

// figure tells what this manager knows of the cluster.
func (k *keeper) figure(ctx context.Context, d *dispatcher, v view) error {
	if k.Figures == nil {
		return nil
	}
	f := cluster.Figures{
		Leads: d != nil, Ready: v.consumer.NumPending, InHand: v.consumer.NumAckPending,
		Workers: v.workers, Silent: v.silent, At: time.Now(),
	}
	if d != nil {
		f.Queue, f.Held, f.Ledger = d.classes(), d.held(), d.ledger()
	}
	for _, cfg := range wire.Streams(0, 1) {
		s, err := k.js.Stream(ctx, cfg.Name)
		if err != nil {
			return err
		}
		info := s.CachedInfo()
		f.Streams = append(f.Streams, cluster.Stored{
			Name: strings.TrimPrefix(cfg.Name, "pippin_"), Messages: info.State.Msgs, Bytes: info.State.Bytes, Room: info.Config.MaxBytes,
		})
	}
	k.Figures(f)
	return nil
}
