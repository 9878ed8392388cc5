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

// Manager keeps the streams of a cluster in order. A cluster needs one, and may have several at a
// time. With Ticket alone it is ready to Run.
type Manager struct {
	Ticket cluster.Ticket // an administrator's
	// Room is the most bytes that the streams may have together; 0 is all that the server has. Each
	// stream gets a share of it, so that keys cannot crowd out proofs.
	Room int64
	// Replicas is how many servers hold each stream; 0 is one.
	Replicas int
	// Every is how often the manager looks at the cluster; 0 is each second.
	Every time.Duration
	// Stuck is how long jobs may wait beside free workers without any being handed out. After that
	// the manager makes the consumer anew; 0 is 15 s.
	Stuck time.Duration
	// Orphan is how long a witness may be there without its job; 0 is an hour.
	Orphan time.Duration
	// KeepDead is how long the manager keeps the sealed witness of a job whose failure was not the
	// job's fault, so that the job can be sent again; 0 is a day. Such witnesses take at most half
	// of the room for witnesses.
	KeepDead time.Duration
	// Linger is how long a result stays after its client has taken it; 0 is a minute. Another
	// worker may still be at the job, and must find that it has ended.
	Linger time.Duration
	// Name is the name of this manager; empty is the host's name. Of several managers with
	// different names one hands out jobs. When it has been silent for 5 s, another one does.
	Name string
	// Shares are the parts of 1 of the cards' time and of the room that are reserved for tenants.
	// The others divide the rest. Server.Tenants returns them.
	Shares map[string]float64
	// Names are the tenants' names for people. Tenants without one are not let in. nil is for
	// somebody else's server, where everybody who comes is a tenant.
	Names map[string]string
	// Figures is called after each look, if it is not nil.
	Figures func(cluster.Figures)
	Log     *slog.Logger // with nil nothing is logged
}

// slack is how long a worker counts as being there after it was last heard of.
const slack = 10 * time.Second

// Run makes the streams, calls ready, and looks after the streams until ctx ends. It fails with
// backend.ErrUnavailable if the server cannot have them.
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
	k := m.keeper(link)
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

// keeper returns the manager at work over a link.
func (m Manager) keeper(link *wire.Link) *keeper {
	k := &keeper{
		Manager: m, store: store{link}, fingerprint: m.Ticket.Fingerprint, orphans: map[string]time.Time{},
		tenants: map[string]*tenant{}, workers: map[string]seen{}, ages: newAges(link.Replicas > 1), heard: bounded.New(m.Log),
	}
	for name := range m.Names {
		k.tenants[name] = &tenant{}
	}
	return k
}

// hasNoJetStream reports whether an error says that JetStream is not there for the user.
func hasNoJetStream(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

// looksFor bounds one look at the streams. Requests to a stream without a leader are not answered,
// and this look then ends and says so.
const looksFor = 20 * time.Second

var errNoAnswer = fmt.Errorf("%w: the server has not answered for %v", backend.ErrUnavailable, looksFor)

// keeper is a manager at work. It measures all times on the monotonic clock, so a wall clock that
// jumps changes nothing.
type keeper struct {
	Manager
	store
	orphans map[string]time.Time // since when a witness has been without a job, by job ID
	memory  memory
	ages    *ages
	heard   *bounded.Log // warnings that tenants can cause
	leader  struct {     // the last note that says who leads, and when it was first seen
		seq   uint64
		since time.Time
	}

	making sync.Mutex // held while streams are made

	mu          sync.Mutex
	fingerprint string // of the key that seals witnesses
	dispatcher  *dispatcher
	tenants     map[string]*tenant // tenants that have streams or will get them, by name
	workers     map[string]seen    // workers heard of lately, by name
	states      []cluster.Worker   // what workers answered at the last look
	silent      []string
}

// tenant is what a keeper knows of one tenant.
type tenant struct {
	retired bool                 // it is no longer let in
	idle    time.Time            // since when a retired tenant has had no jobs
	taken   map[string]time.Time // when results were taken, by job ID; release removes them

	survey   cluster.Status // what its streams said of its status, and when
	surveyed time.Time
}

// everybody returns the names of the tenants that have streams.
func (k *keeper) everybody() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.tenants))
}

// retired reports whether a tenant is no longer let in.
func (k *keeper) retired(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tenants[name]
	return t != nil && t.retired
}

// seen is what a keeper knows of a worker.
type seen struct {
	jobs     int // how many it takes at a time
	draining bool
	at       time.Time
}

// here notes a worker that starts.
func (k *keeper) here(m *nats.Msg) {
	var s cluster.Worker
	if err := json.Unmarshal(m.Data, &s); err != nil || !wire.Name.MatchString(s.Name) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.workers[s.Name] = seen{s.Jobs, s.Draining, time.Now()}
}

// count notes the workers that have answered and those that are connected. It returns how many jobs
// the workers heard of lately can have at a time, all together.
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

// observe looks at the workers, the workers' consumer and the streams.
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
		case wire.Notes, wire.Dead:
			k.ages.look(s)
		}
	}
	if d := k.leading(); d != nil {
		v.leads, v.deaf = true, d.deaf(v.queued)
	}
	return v, nil
}

// complete asks for those of the cluster's streams that are missing in found, which lacks a stream
// without a leader. It returns jetstream.ErrStreamNotFound if a stream does not exist.
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

// act does what a look has decided. It also tells the dispatcher what the look has seen.
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
		d.listenAnew(ctx, v.streams, v.at)
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

// tidy removes what nobody needs any more, and hands out again what was lost.
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

// figure calls Figures with what this manager knows of the cluster.
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
			stored.Room = 0 // it keeps what it holds and gets no more
		}
		f.Streams = append(f.Streams, stored)
	}
	k.Figures(f)
}
