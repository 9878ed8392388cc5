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
	"github.com/pippin-zk/pippin/cluster/internal/bounded"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Manager keeps the streams of a cluster in order. Several may do so at a time; one
// is needed. Its zero value but for Ticket is ready.
type Manager struct {
	Ticket cluster.Ticket // an administrator's
	// Room is the most bytes that the streams may have together; 0 is all that the server has.
	// Each gets its share: keys cannot crowd out proofs.
	Room int64
	// Replicas is on how many servers streams are, one when 0.
	Replicas int
	// Every is how often the manager looks at the cluster, each second when it is 0.
	Every time.Duration
	// Stuck is how long jobs may wait beside workers that are free, without any
	// being handed out, before the consumer is made anew; 15 s when it is 0.
	Stuck time.Duration
	// Orphan is how long a witness may be there without its job, an hour when 0.
	Orphan time.Duration
	// KeepDead is how long the manager keeps the sealed witness of a job whose failure was not the
	// job's fault, so that the job can be sent again; a day when 0. Such witnesses take at most
	// half of the room for witnesses.
	KeepDead time.Duration
	// Linger is how long a result stays that its client has taken, a minute when 0. Another worker
	// may still be at the job, and must find that it has ended.
	Linger time.Duration
	// Name is this manager's, the host's when it is empty. Of several with different
	// names one hands out jobs, and another one when that has been silent for 5 s.
	Name string
	// Shares are parts of the cards' time and of the room, of 1, that are reserved for tenants;
	// the others divide the rest. Server.Tenants has them.
	Shares map[string]float64
	// Names are those of tenants, for people. Nobody else is let in; nil is a server of somebody
	// else, where whoever comes is a tenant.
	Names map[string]string
	// Figures is called after each look, unless it is nil.
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
	link, err := m.Ticket.Connect("pippin manager")
	if err != nil {
		return err
	}
	defer link.Close()
	if _, err := link.JS.AccountInfo(ctx); m.Replicas < 2 && hasNoJetStream(err) {
		return fmt.Errorf("%w: the server at %s has no JetStream for this user: enable it there", backend.ErrUnavailable, m.Ticket.URL)
	}
	link.Replicas, link.Manages = max(1, m.Replicas), true
	k := &keeper{
		Manager: m, store: store{link}, fingerprint: m.Ticket.Fingerprint, orphans: map[string]time.Time{},
		tenants: map[string]*tenant{}, workers: map[string]seen{}, ages: newAges(link.Replicas > 1), heard: bounded.New(m.Log),
	}
	for name := range m.Names {
		k.tenants[name] = &tenant{}
	}
	if err := k.ensure(ctx); err != nil {
		return err
	}
	defer k.follow()
	if err := k.lead(ctx, ctx); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	desk := newDesk(ctx)
	defer desk.close()
	err = k.answer(desk)
	if err == nil {
		err = wire.Flush(ctx, link.Conn)
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
	orphans map[string]time.Time // witnesses without a job, since when
	memory  memory
	ages    *ages
	heard   *bounded.Log // what tenants are warned of
	leader  struct {     // the last note of who leads
		seq   uint64
		since time.Time
	}

	making sync.Mutex // held while streams are made

	mu          sync.Mutex
	fingerprint string // of the key that witnesses are sealed with
	dispatcher  *dispatcher
	tenants     map[string]*tenant // that have streams, or are to have them
	workers     map[string]seen    // by name, those that were heard of lately
	states      []cluster.Worker   // what they said at the last look
	silent      []string
}

// tenant is what a keeper knows of one.
type tenant struct {
	retired bool                 // it is not let in any more
	idle    time.Time            // since when a retired one has no jobs
	taken   map[string]time.Time // results that may go, since when

	survey   cluster.Status // of its streams, and when that was looked up
	surveyed time.Time
}

// everybody returns the tenants that have streams.
func (k *keeper) everybody() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.tenants))
}

// retired reports whether a tenant is not let in any more.
func (k *keeper) retired(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tenants[name]
	return t != nil && t.retired
}

// seen is a worker that was heard of.
type seen struct {
	jobs     int // at a time
	draining bool
	at       time.Time
}

// here notes a worker that begins.
func (k *keeper) here(m *nats.Msg) {
	var s cluster.Worker
	if err := json.Unmarshal(m.Data, &s); err != nil || !wire.Name.MatchString(s.Name) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.workers[s.Name] = seen{s.Jobs, s.Draining, time.Now()}
}

// count notes the workers that have answered and those that are connected, and returns how
// many jobs all can have at a time that were heard of lately.
func (k *keeper) count(states []cluster.Worker, silent []string, now time.Time) (slots int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.states, k.silent = states, silent
	for _, s := range states {
		k.workers[s.Name] = seen{s.Jobs, s.Draining, now}
	}
	for _, name := range silent {
		if s, known := k.workers[name]; known {
			k.workers[name] = seen{s.jobs, s.draining, now}
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
	if v.workers, v.silent, err = cluster.Workers(ctx, k.link.Conn); err != nil {
		return v, err
	}
	c, err := k.link.JS.Consumer(ctx, wire.Jobs, wire.Workers)
	if err == nil {
		v.streams, err = k.link.Streams(ctx)
	}
	if err == nil {
		err = k.complete(ctx, v.streams)
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
	for _, s := range v.streams {
		switch kind, _ := wire.Apart(s.Config.Name); kind {
		case wire.Jobs:
			v.jobs = s.State.Msgs
		case wire.Queue:
			v.queued += s.State.Msgs
			k.ages.look(s)
		case wire.Notes:
			k.ages.look(s)
		}
	}
	if d := k.leading(); d != nil {
		v.leads, v.deaf = true, d.deaf(v.queued)
	}
	return v, nil
}

// complete asks for those of the cluster's streams that are not among found, as one that has no
// leader is not, and returns jetstream.ErrStreamNotFound if one is not there.
func (k *keeper) complete(ctx context.Context, found []*jetstream.StreamInfo) error {
	there := map[string]bool{}
	for _, s := range found {
		there[s.Config.Name] = true
	}
	for _, cfg := range k.wanted() {
		if there[cfg.Name] {
			continue
		}
		if _, err := k.link.JS.Stream(ctx, cfg.Name); err != nil {
			return err
		}
	}
	return nil
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
	k.figure(d, v)
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
	if err := k.link.JS.DeleteConsumer(ctx, wire.Jobs, wire.Workers); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
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
func (k *keeper) figure(d *dispatcher, v view) {
	if k.Figures == nil {
		return
	}
	f := cluster.Figures{
		Leads: d != nil, Ready: v.consumer.NumPending, InHand: v.consumer.NumAckPending,
		Workers: v.workers, Silent: v.silent, At: time.Now(),
	}
	f.Ledger.Names = k.Names
	if d != nil {
		f.Queue, f.Held, f.Ledger, f.Usage = d.classes(), d.held(), d.ledger(), d.usage
		f.Taken = k.taken()
	}
	for _, s := range v.streams {
		kind, tenant := wire.Apart(s.Config.Name)
		stored := cluster.Stored{
			Name: strings.TrimPrefix(kind, "pippin_"), Tenant: tenant, Messages: s.State.Msgs, Bytes: s.State.Bytes, Room: s.Config.MaxBytes,
		}
		if k.retired(tenant) {
			stored.Room = 0 // it may have what it holds
		}
		f.Streams = append(f.Streams, stored)
	}
	k.Figures(f)
}
