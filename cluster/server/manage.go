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
	if _, err := js.AccountInfo(ctx); m.Replicas < 2 && (errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)) {
		return fmt.Errorf("%w: the server at %s has no JetStream for this user: enable it there", backend.ErrUnavailable, m.Ticket.URL)
	}
	k := &keeper{Manager: m, nc: nc, js: js, seen: map[string]time.Time{}, workers: map[string]seen{}, taken: map[string]time.Time{}}
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

// looksFor bounds one look at the streams, so that a stream without a leader is said to be
// one.
const looksFor = 20 * time.Second

var errNoAnswer = fmt.Errorf("%w: the server has not answered for %v", backend.ErrUnavailable, looksFor)

// keeper is a manager at work. All of its times are differences on the monotonic
// clock: a wall clock that jumps changes nothing.
type keeper struct {
	Manager
	nc   *nats.Conn
	js   jetstream.JetStream
	seen map[string]time.Time // witnesses without a job, since when

	handedOut uint64 // deliveries at the last look
	still     sight  // of jobs that wait beside free workers while that does not change
	torn      sight  // of jobs that the consumer does not know of
	deaf      sight  // of jobs that the dispatcher could hand out and does not know of
	swept     time.Time
	compared  time.Time // what was handed out, with what is there
	leader    struct {  // the last note of who leads
		seq   uint64
		since time.Time
	}

	mu         sync.Mutex
	dispatcher *dispatcher          // while this manager leads
	workers    map[string]seen      // by name, those that were heard of lately
	taken      map[string]time.Time // results that may go, since when
}

// sight is since when each look has seen something. One look is not enough, however long ago
// the look before was: what it compares is not of one moment.
type sight struct{ since time.Time }

// look takes what a look has seen, and returns for how long that has been there.
func (s *sight) look(there bool, now time.Time) time.Duration {
	switch {
	case !there:
		s.since = time.Time{}
		return 0
	case s.since.IsZero():
		s.since = now
	}
	return now.Sub(s.since)
}

// leading returns the dispatcher of a manager that leads, else nil.
func (k *keeper) leading() *dispatcher {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dispatcher
}

// lead begins or ends to hand out jobs, as it is this manager's turn or another one's. What
// it begins goes on until run ends.
func (k *keeper) lead(ctx, run context.Context) error {
	mine, err := k.leads(ctx)
	if err != nil {
		return err
	}
	if !mine {
		k.follow()
		return nil
	}
	if k.leading() != nil {
		return nil
	}
	d, err := k.dispatch(ctx, run)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dispatcher = d
	return nil
}

// follow hands out no more jobs.
func (k *keeper) follow() {
	k.mu.Lock()
	d := k.dispatcher
	k.dispatcher = nil
	clear(k.taken) // results of these names may be others' when this leads again
	k.mu.Unlock()
	if d != nil {
		d.end()
	}
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

// ensure makes the streams and the consumer that are not there, as after a restart
// of the server, which keeps Tries in memory only. Streams that have another share of the
// room than before get theirs, but none less than it holds. Those that shrink go first,
// since together they may never reserve more than the server has.
func (k *keeper) ensure(ctx context.Context) error {
	streams := wire.Streams(k.Room, max(1, k.Replicas))
	growth := map[string]int64{}
	for i := range streams {
		cfg := &streams[i]
		has, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.StreamInfo, error) {
			s, err := k.js.Stream(ctx, cfg.Name)
			if err != nil {
				if errors.Is(err, jetstream.ErrStreamNotFound) {
					err = nil
				}
				return jetstream.StreamInfo{}, err
			}
			return *s.CachedInfo(), nil
		})
		if err != nil {
			return err
		}
		if cfg.MaxBytes > 0 {
			cfg.MaxBytes = max(cfg.MaxBytes, int64(has.State.Bytes))
		}
		growth[cfg.Name] = cfg.MaxBytes - has.Config.MaxBytes
		if cfg.Name == wire.Tries && has.Config.Name != "" && has.Config.Storage != cfg.Storage {
			// One server has become three, or the other way round. Tries are counted anew.
			if _, err := wire.Ask(ctx, func(ctx context.Context) (struct{}, error) {
				err := k.js.DeleteStream(ctx, cfg.Name)
				if errors.Is(err, jetstream.ErrStreamNotFound) {
					err = nil
				}
				return struct{}{}, err
			}); err != nil {
				return err
			}
		}
		if cfg.Name == wire.Witnesses {
			if old := wire.SetFingerprint(cfg, has.Config.Metadata, k.Ticket.Fingerprint); old != "" && old != k.Ticket.Fingerprint && k.Ticket.Fingerprint != "" {
				k.Log.Warn("cluster: witnesses are sealed with another key from now on: clients and workers need their tickets again")
			}
		}
	}
	slices.SortStableFunc(streams, func(a, b jetstream.StreamConfig) int { return cmp.Compare(growth[a.Name], growth[b.Name]) })
	for _, cfg := range streams {
		_, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return k.js.CreateOrUpdateStream(ctx, cfg) })
		if err != nil {
			return fmt.Errorf("%w: the stream %s: %w", backend.ErrUnavailable, cfg.Name, err)
		}
	}
	there, err := wire.Ask(ctx, func(ctx context.Context) (bool, error) {
		_, err := k.js.Consumer(ctx, wire.Jobs, wire.Workers)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return false, nil
		}
		return true, err
	})
	if there || err != nil {
		return err
	}
	return k.consumer(ctx, 1)
}

func (k *keeper) consumer(ctx context.Context, inHand int) error {
	_, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return k.js.CreateOrUpdateConsumer(ctx, wire.Jobs, wire.Consumer(inHand))
	})
	return err
}

func (k *keeper) look(ctx, run context.Context) error {
	if err := k.lead(ctx, run); err != nil {
		return err
	}
	states, silent, err := cluster.Workers(ctx, k.nc)
	if err != nil {
		return err
	}
	c, err := k.js.Consumer(ctx, wire.Jobs, wire.Workers)
	if err == nil {
		_, err = k.js.Stream(ctx, wire.Tries)
	}
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrStreamNotFound):
		k.Log.Warn("cluster: streams are missing and made anew", "problem", err)
		k.follow() // what it knows may be gone
		return k.ensure(ctx)
	case err != nil:
		return err
	}
	now := time.Now()
	free, inHand := 0, 0
	for _, s := range states {
		inHand += len(s.InHand)
		if !s.Draining {
			free += s.Jobs - len(s.InHand)
		}
	}
	jobs := k.count(states, silent, now)
	info := c.CachedInfo()
	if want := max(1, jobs); info.Config.MaxAckPending != want || info.Config.AckWait != wire.AckWait {
		if err := k.consumer(ctx, want); err != nil {
			return err
		}
	}
	d := k.leading()
	if d != nil {
		d.adjust(jobs, inHand, info.NumAckPending, len(silent) == 0)
		if err := d.store(ctx); err != nil {
			return err
		}
	}
	if err := k.figure(ctx, d, states, silent, info); err != nil {
		return err
	}
	// What is in the hands of those that do not answer is not known.
	waits := info.NumPending > 0 || info.NumAckPending > inHand && len(silent) == 0
	still := k.still.look(waits && free > 0 && info.Delivered.Consumer == k.handedOut, now)
	k.handedOut = info.Delivered.Consumer
	// After a server was killed a consumer may take jobs for done that are there.
	queue, err := k.js.Stream(ctx, wire.Jobs)
	if err != nil {
		return err
	}
	torn := k.torn.look(queue.CachedInfo().State.Msgs > info.NumPending+uint64(info.NumAckPending), now)
	if d == nil { // the manager that leads does so
		k.deaf, k.still, k.torn = sight{}, sight{}, sight{}
	} else if queue, err := k.js.Stream(ctx, wire.Queue); err != nil {
		return err
	} else if msgs := queue.CachedInfo().State.Msgs; k.deaf.look(d.deaf(msgs), now) > k.Stuck {
		k.Log.Warn("cluster: jobs are in the queue that were not heard of; it is read anew", "jobs", msgs)
		k.deaf = sight{}
		k.follow()
		return nil // the next look leads again
	} else if max(still, torn) > k.Stuck {
		k.Log.Warn("cluster: jobs wait and none is handed out; the consumer is made anew", "waiting", info.NumPending, "handed_out", info.NumAckPending, "in_hand", inHand, "free", free)
		if err := k.js.DeleteConsumer(ctx, wire.Jobs, wire.Workers); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
		k.still, k.torn = sight{}, sight{}
		return k.consumer(ctx, jobs)
	}
	if d != nil {
		if err := k.release(ctx, now); err != nil {
			return err
		}
		if after := k.Stuck / 3; now.Sub(k.compared) > after {
			k.compared = now
			if err := d.again(ctx, after); err != nil {
				return err
			}
		}
	}
	if now.Sub(k.swept) > min(k.Orphan, k.KeepDead, time.Minute) {
		k.swept = now
		return k.sweep(ctx, now)
	}
	return nil
}

// figure tells what this manager knows of the cluster.
func (k *keeper) figure(ctx context.Context, d *dispatcher, states []cluster.Worker, silent []string, jobs *jetstream.ConsumerInfo) error {
	if k.Figures == nil {
		return nil
	}
	f := cluster.Figures{Leads: d != nil, Ready: jobs.NumPending, InHand: jobs.NumAckPending, Workers: states, Silent: silent, At: time.Now()}
	if d != nil {
		f.Queue, f.Held, f.Ledger = d.classes(), d.held(), d.ledger()
	}
	for _, cfg := range wire.Streams(0, 1) {
		s, err := k.js.Stream(ctx, cfg.Name)
		if err != nil {
			return err
		}
		info := s.CachedInfo()
		f.Streams = append(f.Streams, cluster.Stored{Name: strings.TrimPrefix(cfg.Name, "pippin_"), Messages: info.State.Msgs, Bytes: info.State.Bytes, Room: info.Config.MaxBytes})
	}
	k.Figures(f)
	return nil
}

// forget removes what a client began to store. Its subject is ForgetPrefix, the stream's
// name for people, the tenant, which the server has compared with the client's, and what
// is removed.
func (k *keeper) forget(ctx context.Context, subject string) {
	what := "pippin." + strings.TrimPrefix(subject, wire.ForgetPrefix)
	if id, is := strings.CutPrefix(what, wire.EndsPrefix); is {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.dispatcher != nil && wire.ID.MatchString(id) {
			k.taken[id] = time.Now()
		}
		return
	}
	for name, prefix := range map[string]string{wire.Witnesses: wire.WitnessesPrefix, wire.Keys: wire.KeysPrefix} {
		if !strings.HasPrefix(what, prefix) {
			continue
		}
		s, err := k.js.Stream(ctx, name)
		if err == nil {
			err = wire.Object{Subject: what}.Delete(ctx, s)
		}
		if err != nil {
			k.Log.Warn("cluster: not removed", "what", what, "problem", err)
		}
	}
}

// release removes results that clients have taken, some time ago and with their job gone:
// as long as a job is there, its end keeps it from being done again.
func (k *keeper) release(ctx context.Context, now time.Time) error {
	var ids []string
	k.mu.Lock()
	for id, since := range k.taken {
		if now.Sub(since) > k.Linger {
			ids = append(ids, id)
		}
	}
	k.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	jobs, err := k.present(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if d := k.leading(); jobs[id] || d != nil && d.waitedFor(id) {
			continue
		}
		if err := k.purge(ctx, wire.Ends, wire.EndsPrefix+id); err != nil {
			return err
		}
		k.mu.Lock()
		delete(k.taken, id)
		k.mu.Unlock()
	}
	return nil
}

// present returns the jobs that wait or are handed out.
func (k *keeper) present(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	for _, from := range wire.WhereJobsAre {
		s, err := k.js.Stream(ctx, from.Stream)
		if err != nil {
			return nil, err
		}
		ids, err := subjects(ctx, s, from.Prefix)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, ids)
	}
	return all, nil
}

// sweep removes witnesses whose job is not there: those of clients that died before
// they had a job, and of workers that died after its end. Those of dead jobs stay longer.
func (k *keeper) sweep(ctx context.Context, now time.Time) error {
	store, err := k.js.Stream(ctx, wire.Witnesses)
	if err != nil {
		return err
	}
	witnesses, err := subjects(ctx, store, wire.WitnessesPrefix)
	if err != nil {
		return err
	}
	// The jobs come second: one that comes between has its witness already.
	jobs, err := k.present(ctx)
	if err != nil {
		return err
	}
	letters, err := k.js.Stream(ctx, wire.Dead)
	if err != nil {
		return err
	}
	dead, err := subjects(ctx, letters, wire.DeadPrefix)
	if err != nil {
		return err
	}
	for id := range k.seen {
		if !witnesses[id] || jobs[id] {
			delete(k.seen, id)
		}
	}
	info := store.CachedInfo()
	crowded := info.Config.MaxBytes > 0 && info.State.Bytes > uint64(info.Config.MaxBytes)/2
	for id := range witnesses {
		if jobs[id] {
			continue
		}
		since, known := k.seen[id]
		if !known {
			k.seen[id] = now
			continue
		}
		keep := k.Orphan
		if dead[id] && !crowded {
			keep = max(keep, k.KeepDead)
		}
		if now.Sub(since) > keep {
			if err := (wire.Object{Subject: wire.WitnessesPrefix + id}).Delete(ctx, store); err != nil {
				return err
			}
		}
	}
	return nil
}

// subjects returns the jobs' IDs that follow a prefix in the subjects of a stream.
func subjects(ctx context.Context, s jetstream.Stream, prefix string) (map[string]bool, error) {
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for subject := range info.State.Subjects {
		tokens := strings.SplitN(strings.TrimPrefix(subject, prefix), ".", 3)
		ids[strings.Join(tokens[:min(2, len(tokens))], ".")] = true
	}
	return ids, nil
}
