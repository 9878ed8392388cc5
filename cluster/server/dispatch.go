package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/bounded"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// dispatcher hands jobs from the queue to the workers' stream, in the order of a schedule. It keeps
// few more jobs in that stream than workers can take, so that an urgent job that comes later waits
// for few others.
//
// A job stays in the queue until its end is stored. The workers' stream removes a message when its
// consumer takes it for acknowledged. If a job is lost this way, the dispatcher hands it out again.
//
// Two dispatchers at the same time do no harm: a job is in the workers' stream at most once at a
// time, and has one end.
type dispatcher struct {
	store
	cfg   Manager
	heard *bounded.Log    // warnings that tenants can cause
	ages  *ages           // of messages in queues and of notes
	ctx   context.Context // end cancels it
	stop  context.CancelFunc
	tasks chan struct{} // slots for removals, for which nobody waits
	wake  chan struct{}

	work   sync.WaitGroup // all work in the background
	ending sync.RWMutex   // read-locked while work is begun, locked to set over
	over   bool           // no more work may be begun

	mu       sync.Mutex
	lanes    map[string]*lane         // by tenant
	looks    map[string]chan struct{} // slots for looking up prerequisites, by tenant
	expired  map[string][]*waiting    // jobs that are too late and still have to be ended, by tenant
	schedule *schedule
	graph    *graph             // jobs that wait for others
	notes    cluster.Ledger     // what clients have used
	changed  bool               // notes have changed since they were stored
	room     int                // how many jobs may be handed out and not ended
	idle     int                // jobs handed out that no worker had at the last look
	handed   map[string]*handed // jobs handed out and still in the queue, by ID
	leaving  int                // jobs that are being removed from the queue
}

// lane is how a dispatcher listens to one tenant: to its queue and to its ends.
type lane struct {
	before uint64 // the queue's last message when listening began; jobs up to it may have been handed out before
	queue  ear
	ends   ear // what it has heard of is in the notes
}

// ear listens to a stream.
type ear struct {
	heard uint64 // the last message that was heard of
	// missed is a message that a look at the stream saw before it was heard of, and since the time of that
	// look. What was removed meanwhile is never heard of, so messages up to old, from before the last time that
	// listening began, are not waited for.
	missed, old uint64
	since       time.Time
	stop        func()
}

// deafFor is after how long a message that is not heard of makes the dispatcher listen anew. NATS's client
// does that by itself when two heartbeats are missing, but its request may wait 10 s for an answer while
// servers come and go. All of the tenant's jobs would wait with it.
const deafFor = 3 * time.Second

// deaf reports whether a message has not been heard of for deafFor. last is the last one that a look saw.
func (e *ear) deaf(last uint64, now time.Time) bool {
	if e.missed > max(e.heard, e.old) {
		return now.Sub(e.since) >= deafFor
	}
	e.missed, e.since = last, now
	return false
}

// handed is a job that was handed out.
type handed struct {
	w     *waiting    // nil until its message in the queue is read
	since time.Time   // zero while it is being handed out
	seq   uint64      // in the workers' stream; 0 if not known
	late  *time.Timer // ends the job when it is too late to begin it; nil if it never is
}

// lookahead returns how many jobs are handed out beyond those that fill the workers' slots. A
// worker whose job has ended takes one of them and need not wait for the manager.
func lookahead(slots int) int { return 1 + slots/8 }

// dispatch starts to hand out the jobs of all tenants, and goes on until run ends. starting bounds
// its first requests only.
func dispatch(starting, run context.Context, k *keeper) (*dispatcher, error) {
	ctx, stop := context.WithCancel(run)
	m := k.Manager
	d := &dispatcher{
		store: k.store, cfg: m, heard: k.heard, ages: k.ages, ctx: ctx, stop: stop,
		tasks: make(chan struct{}, mostTasks), looks: map[string]chan struct{}{}, expired: map[string][]*waiting{}, wake: make(chan struct{}, 1),
		schedule: newSchedule(m.Shares), graph: newGraph(), handed: map[string]*handed{}, lanes: map[string]*lane{},
		notes: cluster.Ledger{Clients: map[string]cluster.Usage{}, Keys: map[string]time.Time{}},
	}
	if err := d.begin(starting, k.everybody()); err != nil {
		stop()
		return nil, err
	}
	d.work.Go(func() { d.run(ctx) })
	return d, nil
}

// end stops the dispatcher. It returns when all work that was begun has ended.
func (d *dispatcher) end() {
	d.stop()
	d.ending.Lock()
	d.over = true
	d.ending.Unlock()
	d.work.Wait()
}

// mostTasks bounds how many removals are done at a time. mostLooks bounds how many prerequisites of
// one tenant are looked up at a time.
const (
	mostTasks = 32
	mostLooks = 8
)

// spawn waits for a slot and runs f in the background, such as a removal for which nobody waits.
func (d *dispatcher) spawn(f func()) { d.background(d.tasks, f) }

// look waits for a slot of a tenant and runs f, which looks something up, in the background. Each
// tenant has slots for itself, so that one with much to look up delays only itself.
func (d *dispatcher) look(tenant string, f func()) {
	d.mu.Lock()
	slots := d.looks[tenant]
	if slots == nil {
		slots = make(chan struct{}, mostLooks)
		d.looks[tenant] = slots
	}
	d.mu.Unlock()
	d.background(slots, f)
}

// background waits for one of the slots and runs f in a goroutine. It runs nothing once the
// dispatcher ends: messages still come then, until their consumers have stopped.
func (d *dispatcher) background(slots chan struct{}, f func()) {
	if !d.begins() {
		return
	}
	select {
	case slots <- struct{}{}:
	case <-d.ctx.Done():
		d.work.Done()
		return
	}
	go func() {
		defer d.work.Done()
		defer func() { <-slots }()
		f()
	}()
}

// begins counts a piece of work that the caller begins, who must call work.Done when it is done. It
// returns false if no more work may be begun. It does not wait for slots, because work that holds
// all of them may call it too.
func (d *dispatcher) begins() bool {
	d.ending.RLock()
	defer d.ending.RUnlock()
	if !d.over {
		d.work.Add(1)
	}
	return !d.over
}

// listening makes the client renew a consumer 4 s after the server that had it is gone: when two
// heartbeats are missing.
const listening = jetstream.PullHeartbeat(2 * time.Second)

// ledgerText is the ledger as it is stored.
type ledgerText struct {
	cluster.Ledger
	// Counted has the number of the last end whose cost is in the ledger, by tenant.
	Counted map[string]uint64 `json:"counted"`
}

// begin reads the ledger and which jobs are handed out, and starts to listen to the tenants.
func (d *dispatcher) begin(ctx context.Context, tenants []string) error {
	ledger, err := d.readLedger(ctx)
	if err != nil {
		return err
	}
	d.notes.Add(ledger.Ledger)
	d.notes.Names, d.changed = d.cfg.Names, true
	out, err := d.ids(ctx, wire.Jobs, wire.JobsPrefix)
	if err != nil {
		return err
	}
	for id := range out {
		d.schedule.begin(d.schedule.client(wire.TenantOfJob(id)), id)
		d.handed[id] = &handed{since: time.Now()}
	}
	d.room = lookahead(0)
	for _, tenant := range tenants {
		if err := d.open(ctx, tenant, ledger.Counted[tenant]); err != nil {
			return err
		}
	}
	return nil
}

// readLedger returns the ledger that is stored. It converts its times to this manager's clock,
// because another manager may have written them.
func (d *dispatcher) readLedger(ctx context.Context) (l ledgerText, err error) {
	notes, err := d.stream(ctx, wire.Notes)
	if err != nil {
		return l, err
	}
	d.ages.look(notes.CachedInfo())
	m, err := d.note(ctx, ledgerNote)
	if m == nil || err != nil {
		return l, err
	}
	if err := json.Unmarshal(m.Data, &l); err != nil {
		return l, fmt.Errorf("the ledger: %w", err)
	}
	if !l.At.IsZero() {
		l.shift(time.Now().Add(-d.ages.of(wire.Notes, m.Sequence, m.Time)).Sub(l.At))
	}
	return l, nil
}

// shift adds the difference of two clocks to the times in a ledger. It leaves them alone if clocks
// may drift by that much.
func (l *ledgerText) shift(by time.Duration) {
	if by.Abs() <= driftsBy {
		return
	}
	for key, at := range l.Keys {
		l.Keys[key] = at.Add(by)
	}
}

// open listens to a tenant's queue and ends, until the dispatcher ends or shut is called. The
// ledger has the costs of ends up to counted already.
func (d *dispatcher) open(ctx context.Context, tenant string, counted uint64) error {
	queue, err := d.stream(ctx, wire.Of(wire.Queue, tenant))
	if err != nil {
		return err
	}
	ends, err := d.stream(ctx, wire.Of(wire.Ends, tenant))
	if err != nil {
		return err
	}
	d.ages.look(queue.CachedInfo())
	l := &lane{before: queue.CachedInfo().State.LastSeq}
	l.ends.heard = min(counted, ends.CachedInfo().State.LastSeq)
	d.mu.Lock()
	d.lanes[tenant] = l
	d.mu.Unlock()
	err = d.listen(ctx, queue, l)
	if err == nil {
		err = d.listen(ctx, ends, l)
	}
	if err != nil {
		d.shut(tenant)
	}
	return err
}

// listen listens to a tenant's queue or ends from the first message on that was not heard of, until the
// dispatcher ends or the ear's stop is called.
func (d *dispatcher) listen(ctx context.Context, s jetstream.Stream, l *lane) error {
	kind, tenant := wire.Apart(s.CachedInfo().Config.Name)
	prefix, heard := wire.QueuePrefix, d.queued
	if kind == wire.Ends {
		prefix, heard = wire.EndsPrefix, d.ended
	}
	e := l.ear(kind)
	d.mu.Lock()
	from := e.heard + 1
	d.mu.Unlock()
	c, err := s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{prefix + tenant + ".>"}, HeadersOnly: kind == wire.Ends,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
	})
	if err != nil {
		return err
	}
	listens, err := c.Consume(func(m jetstream.Msg) { heard(d.ctx, m) }, listening)
	if err != nil {
		return err
	}
	unregister := context.AfterFunc(d.ctx, listens.Stop)
	d.mu.Lock()
	before := e.stop
	e.stop = func() {
		if unregister() {
			listens.Stop()
		}
	}
	d.mu.Unlock()
	if before != nil {
		before()
	}
	return nil
}

// listenAnew listens anew to streams whose messages the dispatcher does not hear of. A look saw the streams.
func (d *dispatcher) listenAnew(ctx context.Context, seen []*jetstream.StreamInfo, at time.Time) {
	for _, s := range seen {
		l, e := d.unheard(s, at)
		if e == nil {
			continue
		}
		d.cfg.Log.Warn("cluster: messages are not heard of; the stream is listened to anew", "stream", s.Config.Name)
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, deafFor)
			defer cancel()
			stream, err := d.link.JS.Stream(ctx, s.Config.Name)
			if err != nil {
				return err
			}
			return d.listen(ctx, stream, l)
		}()
		if err != nil { // the next look tries again
			d.cfg.Log.Warn("cluster: the stream does not answer", "stream", s.Config.Name, "problem", err)
			continue
		}
		d.mu.Lock()
		e.old = s.State.LastSeq
		d.mu.Unlock()
	}
}

// unheard returns what listens to a stream that a look saw, and its lane, if messages are not heard of.
func (d *dispatcher) unheard(s *jetstream.StreamInfo, at time.Time) (*lane, *ear) {
	kind, tenant := wire.Apart(s.Config.Name)
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.lanes[tenant]; l != nil {
		if e := l.ear(kind); e != nil && e.deaf(s.State.LastSeq, at) {
			return l, e
		}
	}
	return nil, nil
}

// ear returns what listens to a kind of streams, or nil if nothing does.
func (l *lane) ear(kind string) *ear {
	switch kind {
	case wire.Queue:
		return &l.queue
	case wire.Ends:
		return &l.ends
	}
	return nil
}

// first notes that a message was heard of, and reports whether it is the first time: a stream that is listened
// to anew may give it once more. The caller holds mu.
func (e *ear) first(seq uint64) bool {
	if seq <= e.heard {
		return false
	}
	e.heard = seq
	return true
}

// opened reports whether the dispatcher listens to a tenant.
func (d *dispatcher) opened(tenant string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lanes[tenant] != nil
}

// shut stops listening to a tenant.
func (d *dispatcher) shut(tenant string) {
	d.mu.Lock()
	var stops []func()
	if l := d.lanes[tenant]; l != nil {
		stops = append(stops, l.queue.stop, l.ends.stop)
	}
	delete(d.lanes, tenant)
	d.mu.Unlock()
	for _, stop := range stops {
		if stop != nil {
			stop()
		}
	}
}

// queued reads a job from a queue and puts it into the schedule, unless it was handed out before.
// It removes a message that is no job.
func (d *dispatcher) queued(ctx context.Context, m jetstream.Msg) {
	w := &waiting{since: time.Now()}
	tenant := tenantOf(m.Subject())
	meta, err := m.Metadata()
	if err == nil {
		w.seq = meta.Sequence.Stream
		d.mu.Lock()
		l := d.lanes[tenant]
		again := l != nil && !l.queue.first(w.seq)
		d.mu.Unlock()
		if again {
			return
		}
		w.since = w.since.Add(-d.ages.of(wire.Of(wire.Queue, tenant), w.seq, meta.Timestamp))
		err = json.Unmarshal(m.Data(), &w.job)
	}
	if err != nil || !w.job.Proper(wire.QueuePrefix, m.Subject()) || !w.job.Modest() {
		d.heard.Warn(tenant, "cluster: a message that is no job is thrown away", "subject", m.Subject())
		d.unqueue(ctx, w, m.Subject())
		return
	}
	if w.job.Within != 0 {
		w.until = w.since.Add(w.job.Within)
	}
	d.cfg.Log.Debug("cluster: a job is queued", "job", w.job.ID, "queued", w.seq)
	d.mu.Lock()
	h := d.handed[w.job.ID]
	if h != nil && h.w == nil { // the dispatcher before this one handed it out
		h.w = w
		d.expect(ctx, h)
	}
	d.mu.Unlock()
	if h == nil || h.w != w {
		d.add(ctx, w)
	}
}

// add puts a job into the schedule. A job with prerequisites waits for these first.
func (d *dispatcher) add(ctx context.Context, w *waiting) {
	if len(w.job.After) > 0 {
		d.hold(ctx, w)
		return
	}
	d.mu.Lock()
	d.schedule.add(w)
	d.mu.Unlock()
	d.hurry()
}

// hold makes a job wait until its prerequisites are proved.
func (d *dispatcher) hold(ctx context.Context, w *waiting) {
	d.mu.Lock()
	refused := d.graph.add(w)
	d.mu.Unlock()
	if refused != "" {
		d.look(wire.TenantOfJob(w.job.ID), func() { d.finish(ctx, w, wire.Blocked, refused) })
		return
	}
	for _, id := range w.job.After { // those that end from now on, d.ended resolves
		d.resolve(ctx, id)
	}
}

// resolve looks up whether and how a job has ended for which others wait. Those then go on or end.
func (d *dispatcher) resolve(ctx context.Context, id string) {
	d.look(wire.TenantOfJob(id), func() {
		if !d.waitedFor(id) { // those that waited have ended for another reason
			return
		}
		known, err := wire.Known(ctx, d.link, id)
		var end *wire.End
		if err == nil {
			end, err = d.endOf(ctx, id)
		}
		if err != nil { // those that wait stay in the queue and are found there
			if ctx.Err() == nil {
				d.cfg.Log.Warn("cluster: not known whether a prerequisite is proved", "job", id, "problem", err)
			}
			return
		}
		if end != nil || !known {
			d.goOn(ctx, id, end)
		}
	})
}

// goOn lets the jobs that wait for a job go on if it is proved, and ends them if it is not. end is
// nil if the cluster no longer knows the job.
func (d *dispatcher) goOn(ctx context.Context, id string, end *wire.End) {
	name := strings.TrimPrefix(id, wire.TenantOfJob(id)+".")
	kind, reason := wire.Blocked, ""
	switch {
	case end == nil:
		reason = fmt.Sprintf("the cluster no longer knows job %s, which is to be proved before", name)
	case end.Kind == wire.Cancelled:
		kind, reason = wire.Cancelled, fmt.Sprintf("job %s was cancelled, which is to be proved before", name)
	case end.Reason != "":
		reason = fmt.Sprintf("job %s, which is to be proved before, ended without a proof: %s", name, end.Reason)
	}
	d.mu.Lock()
	var blocked []*waiting
	if reason != "" {
		blocked = d.graph.failed(id)
	} else {
		for _, w := range d.graph.proved(id) {
			d.schedule.add(w)
		}
	}
	d.mu.Unlock()
	d.hurry()
	for _, w := range blocked {
		d.finish(ctx, w, kind, reason)
	}
}

// endOf returns the end of a job, or nil if it has none.
func (d *dispatcher) endOf(ctx context.Context, id string) (*wire.End, error) {
	there, err := d.hasEnd(ctx, id)
	if !there || err != nil {
		return nil, err
	}
	m, err := wire.LastOf(ctx, d.link, wire.EndsPrefix+id)
	if wire.Missing(err) {
		return nil, nil // it was removed meanwhile
	}
	if err != nil {
		return nil, err
	}
	return wire.ReadEnd(m.Data), nil
}

// hurry wakes run, which then looks for jobs that may be handed out.
func (d *dispatcher) hurry() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// ended counts what a job cost and removes the job from the queue.
func (d *dispatcher) ended(ctx context.Context, m jetstream.Msg) {
	id := strings.TrimPrefix(m.Subject(), wire.EndsPrefix)
	cost := wire.Cost{Outcome: wire.Proved} // counted if the worker does not say
	if text := m.Headers().Get(wire.CostHeader); text != "" {
		if err := json.Unmarshal([]byte(text), &cost); err != nil {
			d.cfg.Log.Warn("cluster: what a job cost is not known", "job", id, "problem", err)
		}
	}
	meta, err := m.Metadata()
	if err != nil {
		return
	}
	d.mu.Lock()
	if l := d.lanes[wire.TenantOfJob(id)]; l != nil {
		if !l.ends.first(meta.Sequence.Stream) {
			d.mu.Unlock()
			return
		}
		d.changed = true
	}
	d.cfg.Log.Debug("cluster: a job's end is heard", "job", id, "end", meta.Sequence.Stream)
	waited := d.graph.waitedFor(id)
	d.notes.Count(wire.TenantOfJob(id), cost)
	if _, out := d.schedule.out[id]; out || cost.Counts() > 0 {
		d.schedule.ended(id, cost.Counts())
	}
	w := d.takeOut(id, m.Headers().Get(jetstream.MsgIDHeader))
	d.mu.Unlock()
	d.hurry()
	if w != nil {
		d.unqueue(ctx, w, wire.QueuePrefix+id)
	}
	if !cost.Spare {
		d.drop(ctx, wire.WitnessesPrefix+id+".>")
	}
	d.drop(ctx, wire.TriesPrefix+id)
	if waited {
		d.resolve(ctx, id)
	}
}

// takeOut takes out a job whose end has an ID. It returns nil if it knows no such job: the one that it
// knows may have been sent again since. A job that has not been handed out here was handed out by
// another dispatcher, which led before or takes itself for the leader. It would be handed out once
// more, and its worker would wait for a witness that is gone. The caller holds mu.
func (d *dispatcher) takeOut(id, endID string) *waiting {
	of := func(w *waiting) bool { return strings.HasPrefix(endID, w.job.MsgID()+" ") }
	if h := d.handed[id]; h != nil {
		if h.w != nil && !of(h.w) {
			return nil
		}
		delete(d.handed, id)
		if h.late != nil {
			h.late.Stop()
		}
		return h.w
	}
	if w := d.schedule.remove(id); w != nil {
		if of(w) {
			return w
		}
		d.schedule.add(w)
	}
	if w := d.graph.remove(id); w != nil {
		if of(w) {
			return w
		}
		d.graph.add(w)
	}
	return nil
}

// run hands out jobs until ctx ends. Every cfg.Every it ends those that are too late.
func (d *dispatcher) run(ctx context.Context) {
	late := time.NewTicker(d.cfg.Every)
	defer late.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-late.C:
			d.mu.Lock()
			now := time.Now()
			all := append(d.schedule.late(now), d.graph.late(now)...)
			d.mu.Unlock()
			d.expire(ctx, all...)
		}
		for ctx.Err() == nil {
			w := d.next()
			if w == nil {
				break
			}
			d.hand(ctx, w)
		}
	}
}

// expire ends jobs that are too late to be begun. Those of one tenant end one after the other. The
// caller does not wait for that, because all jobs of a tenant may be late at once.
func (d *dispatcher) expire(ctx context.Context, all ...*waiting) {
	for _, w := range all {
		tenant := wire.TenantOfJob(w.job.ID)
		d.mu.Lock()
		_, busy := d.expired[tenant]
		d.expired[tenant] = append(d.expired[tenant], w)
		d.mu.Unlock()
		if !busy && d.begins() {
			go func() {
				defer d.work.Done()
				d.expireOf(ctx, tenant)
			}()
		}
	}
}

// expireOf ends jobs of a tenant that are too late, until none is left.
func (d *dispatcher) expireOf(ctx context.Context, tenant string) {
	for ctx.Err() == nil {
		d.mu.Lock()
		all := d.expired[tenant]
		if len(all) == 0 {
			delete(d.expired, tenant)
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		d.finish(ctx, all[0], wire.Late, wire.TooLate)
		d.mu.Lock()
		d.expired[tenant] = d.expired[tenant][1:]
		d.mu.Unlock()
	}
}

// next takes the next job that may be handed out. It returns nil if there is none.
func (d *dispatcher) next() *waiting {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.schedule.out) >= d.room {
		return nil
	}
	return d.schedule.next()
}

// hand hands out a job, unless it is too late or has ended.
func (d *dispatcher) hand(ctx context.Context, w *waiting) {
	id := w.job.ID
	notOut := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.schedule.ended(id, 0)
		delete(d.handed, id)
	}
	if w.late(time.Now()) {
		notOut()
		d.expire(ctx, w)
		return
	}
	if d.old(w) { // another dispatcher may have handed it out
		end, err := d.endOf(ctx, id)
		if err != nil {
			return // ctx has ended
		}
		if end != nil {
			notOut()
			d.unqueue(ctx, w, wire.QueuePrefix+w.job.ID)
			return
		}
	}
	err := d.publish(ctx, w)
	switch {
	case err == nil: // the workers' stream has it
	case ctx.Err() != nil:
		return
	default:
		d.cfg.Log.Warn("cluster: a job is not handed out", "job", id, "problem", err)
		notOut()
		d.spawn(func() { // it stays in the queue and is tried again after a second
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
				d.mu.Lock()
				d.schedule.add(w)
				d.mu.Unlock()
				d.hurry()
			}
		})
		return
	}
	d.mu.Lock()
	if w.job.Work.Check() == nil {
		for _, digest := range w.job.Work.Digests() {
			used(d.notes.Keys, wire.TenantOfJob(id)+".", digest, time.Now().UTC().Truncate(time.Second))
		}
	}
	d.changed = true
	d.mu.Unlock()
}

// mostUsed bounds for how many keys of a tenant the ledger notes the last use: the ledger is one
// message, and all tenants share its bytes.
const mostUsed = 300

// used notes that a tenant's key was used. If the tenant has too many keys, used forgets the one
// that was not used for the longest time.
func used(keys map[string]time.Time, prefix, digest string, now time.Time) {
	_, known := keys[prefix+digest]
	keys[prefix+digest] = now
	if known {
		return
	}
	n, oldest := 0, prefix+digest
	for key, at := range keys {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if n++; at.Before(keys[oldest]) {
			oldest = key
		}
	}
	if n > mostUsed {
		delete(keys, oldest)
	}
}

// old reports whether a job was in the queue when the dispatcher began.
func (d *dispatcher) old(w *waiting) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lanes[wire.TenantOfJob(w.job.ID)]
	return l == nil || w.seq <= l.before
}

// publish puts a job into the workers' stream, unless it is there already or has ended.
func (d *dispatcher) publish(ctx context.Context, w *waiting) error {
	id := w.job.ID
	job := w.job
	job.After, job.Within = nil, 0 // prerequisites are proved, and d.expect watches the time
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	h := &handed{w: w}
	d.mu.Lock()
	d.handed[id] = h
	d.mu.Unlock()
	seq, first, err := d.link.Once(ctx, &nats.Msg{Subject: wire.JobsPrefix + id, Data: text}, w.job.MsgID(),
		func(ctx context.Context) (bool, error) { return d.hasEnd(ctx, id) })
	d.mu.Lock()
	h.since, h.seq = time.Now(), seq
	if err == nil {
		d.expect(ctx, h)
	}
	d.mu.Unlock()
	d.cfg.Log.Debug("cluster: a job is handed out", "job", id, "queued", w.seq, "stored", seq, "first", first, "problem", err)
	return err
}

// expect sets the timer that ends a job which was handed out when it is too late to begin it. The
// caller holds mu.
func (d *dispatcher) expect(ctx context.Context, h *handed) {
	if h.w.until.IsZero() {
		return
	}
	h.late = time.AfterFunc(time.Until(h.w.until), func() {
		d.spawn(func() { d.tooLate(ctx, h) })
	})
}

// tooLate ends a job that was handed out and that no worker has begun in time. This clock decides,
// not those of workers: tooLate marks the job's record, and from then on workers do not begin the
// job. A worker that has begun it may finish it.
func (d *dispatcher) tooLate(ctx context.Context, h *handed) {
	id := h.w.job.ID
	d.mu.Lock()
	same := d.handed[id] == h // else its end was heard
	d.mu.Unlock()
	if !same {
		return
	}
	r, err := d.link.ChangeRecord(ctx, id, func(r *wire.Record) { r.Late = true })
	if err == nil && r.Begun == 0 {
		err = d.recall(ctx, id, h)
	}
	if err != nil {
		if ctx.Err() == nil {
			d.cfg.Log.Warn("cluster: a job that is too late is not ended", "job", id, "problem", err)
		}
		return
	}
	d.cfg.Log.Debug("cluster: it is too late to begin a job", "job", id, "begun", r.Begun)
	if r.Begun == 0 {
		d.finish(ctx, h.w, wire.Late, wire.TooLate)
	}
}

// recall removes a job from the workers' stream.
func (d *dispatcher) recall(ctx context.Context, id string, h *handed) error {
	d.mu.Lock()
	seq := h.seq
	d.mu.Unlock()
	if seq == 0 { // the dispatcher before this one handed it out, or it is being handed out now
		m, err := wire.LastOf(ctx, d.link, wire.JobsPrefix+id)
		if wire.Missing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		seq = m.Sequence
	}
	err := d.link.Delete(ctx, wire.Jobs, seq)
	d.cfg.Log.Debug("cluster: a job is taken back", "job", id, "stored", seq, "problem", err)
	return err
}

// again hands out jobs once more that the workers' stream has lost. These were handed out longer
// ago than after, are not with the workers, and have not ended.
func (d *dispatcher) again(ctx context.Context, after time.Duration) error {
	old := map[string]*handed{}
	d.mu.Lock()
	for id, h := range d.handed {
		if !h.since.IsZero() && time.Since(h.since) > after {
			old[id] = h
		}
	}
	d.mu.Unlock()
	if len(old) == 0 {
		return nil
	}
	there, err := d.ids(ctx, wire.Jobs, wire.JobsPrefix)
	if err != nil {
		return err
	}
	for id, h := range old {
		if there[id] {
			continue
		}
		known, err := d.hasEnd(ctx, id)
		if err != nil {
			return err
		}
		d.mu.Lock()
		same := d.handed[id] == h // else its end was heard
		lost := same && h.w != nil && !known
		if same && !lost {
			d.schedule.ended(id, 0) // its end says what it cost
			delete(d.handed, id)
		}
		d.mu.Unlock()
		switch {
		case lost:
			d.cfg.Log.Warn("cluster: a job was lost on its way to the workers and is handed out again", "job", id, "for", time.Since(h.since))
			if err := d.publish(ctx, h.w); err != nil {
				return err
			}
		case same && h.w != nil:
			d.unqueue(ctx, h.w, wire.QueuePrefix+id)
		}
	}
	d.hurry()
	return nil
}

// hasEnd reports whether a job has ended.
func (d *dispatcher) hasEnd(ctx context.Context, id string) (bool, error) {
	return d.link.Holds(ctx, wire.EndsPrefix+id)
}

// unqueue removes a job that has ended from the queue. Nobody waits for that: a job that stays is
// later found to have ended.
func (d *dispatcher) unqueue(ctx context.Context, w *waiting, subject string) {
	d.mu.Lock()
	d.leaving++
	d.mu.Unlock()
	d.spawn(func() {
		defer func() {
			d.mu.Lock()
			d.leaving--
			d.mu.Unlock()
		}()
		err := d.link.Purge(ctx, subject, w.seq+1)
		if err != nil && ctx.Err() == nil {
			d.cfg.Log.Warn("cluster: not removed from the queue", "job", w.job.ID, "problem", err)
		}
		d.cfg.Log.Debug("cluster: a job leaves the queue", "job", w.job.ID, "queued", w.seq, "problem", err)
	})
}

// drop removes what an ended job has left. Nobody waits for that: what stays is swept later.
func (d *dispatcher) drop(ctx context.Context, subject string) {
	d.spawn(func() {
		if err := d.link.Purge(ctx, subject, 0); err != nil && ctx.Err() == nil {
			d.cfg.Log.Warn("cluster: not removed", "what", subject, "problem", err)
		}
	})
}

// finish ends a job that no worker has begun.
func (d *dispatcher) finish(ctx context.Context, w *waiting, kind wire.Kind, reason string) {
	if _, err := d.conclude(ctx, w.job, kind, reason); err != nil {
		if ctx.Err() == nil {
			d.cfg.Log.Warn("cluster: not ended", "job", w.job.ID, "why", reason, "problem", err)
		}
		return
	}
	d.unqueue(ctx, w, wire.QueuePrefix+w.job.ID)
}

// conclude stores the end of a job, unless one is stored already. It returns the end that is
// stored, or nil if it was removed since.
func (d *dispatcher) conclude(ctx context.Context, job wire.Job, kind wire.Kind, reason string) (*wire.End, error) {
	end := &wire.End{Reason: reason, Caller: true, Kind: kind, Worker: "the server"}
	text, err := json.Marshal(end)
	if err != nil {
		return nil, err
	}
	cost, err := json.Marshal(wire.Cost{Outcome: wire.Outcome(kind)})
	if err != nil {
		return nil, err
	}
	m := &nats.Msg{Subject: wire.EndsPrefix + job.ID, Data: text, Header: nats.Header{wire.CostHeader: {string(cost)}}}
	_, first, err := d.link.Once(ctx, m, job.MsgID()+" "+string(kind)+" "+d.cfg.Name, nil)
	switch {
	case err != nil:
		return nil, err
	case !first:
		return d.endOf(ctx, job.ID)
	}
	return end, nil
}

// cancel ends a job that its client no longer wants, whether it waits or is handed out. Workers
// that have it hear of the cancellation themselves.
func (d *dispatcher) cancel(ctx context.Context, m *nats.Msg, id string) {
	d.mu.Lock()
	w := d.schedule.remove(id)
	if w == nil {
		w = d.graph.remove(id)
	}
	h := d.handed[id]
	d.mu.Unlock()
	end, err := d.conclude(ctx, wire.Job{ID: id}, wire.Cancelled, "its client cancelled it")
	if err == nil {
		err = d.link.Purge(ctx, wire.QueuePrefix+id, 0)
	}
	if err == nil && h != nil {
		err = d.recall(ctx, id, h)
	}
	if err != nil {
		d.cfg.Log.Warn("cluster: not cancelled", "job", id, "problem", err)
		if w != nil {
			d.add(ctx, w)
		}
		return
	}
	if end != nil && m.Reply != "" { // another end may have come first: that of its worker, or a proof
		_ = m.Respond([]byte(end.Kind)) // without an answer the client asks again
	}
}

// adjust sets how many jobs may be handed out. slots is how many jobs workers can have, inHand how
// many they have, and handedOut how many were handed out to them and not acknowledged; all three
// may be out of date. known is false if a worker has not answered, since inHand may be too low
// then.
func (d *dispatcher) adjust(slots, inHand, handedOut int, known bool) {
	idle := 0 // jobs given back, which no worker can take for a while
	if known {
		idle = max(0, handedOut-inHand)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// One look is not enough: it may ask a worker before that gets a job, and the server after.
	d.room = slots + lookahead(slots) + min(idle, d.idle)
	d.idle = idle
	d.hurry()
}

// deaf reports whether the queue has jobs of which the dispatcher has not heard, although it could
// hand them out.
func (d *dispatcher) deaf(queued uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.schedule.waits() + len(d.graph.held) + len(d.handed) + d.leaving
	for _, all := range d.expired {
		known += len(all)
	}
	return len(d.schedule.out) < d.room && queued > uint64(known)
}

// held returns how many jobs wait until others are proved.
func (d *dispatcher) held() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.graph.held)
}

// waitedFor reports whether other jobs wait for a job.
func (d *dispatcher) waitedFor(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.graph.waitedFor(id)
}

// keepLedger stores the ledger, if it has changed.
func (d *dispatcher) keepLedger(ctx context.Context) error {
	d.mu.Lock()
	changed := d.changed
	counted := map[string]uint64{}
	for tenant, l := range d.lanes {
		counted[tenant] = l.ends.heard
	}
	d.notes.At = time.Now()
	text, err := json.Marshal(ledgerText{d.notes, counted})
	d.changed = false
	d.mu.Unlock()
	if !changed || err != nil {
		return err
	}
	_, err = d.link.JS.Publish(ctx, wire.NotesPrefix+ledgerNote, text)
	if err != nil {
		d.mu.Lock()
		d.changed = true
		d.mu.Unlock()
	}
	return err
}

// classes returns how many jobs wait, and since when the oldest does, by tenant and priority.
func (d *dispatcher) classes() (all []cluster.Waiting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	type class struct {
		tenant   string
		priority int
	}
	found := map[class]cluster.Waiting{}
	for tenant, c := range d.schedule.clients {
		for _, w := range c.jobs {
			k := class{tenant, w.job.Priority}
			has, known := found[k]
			if !known {
				has = cluster.Waiting{Tenant: tenant, Priority: w.job.Priority, Since: w.since}
			}
			has.Jobs++
			if w.since.Before(has.Since) {
				has.Since = w.since
			}
			found[k] = has
		}
	}
	for w := range maps.Values(found) {
		all = append(all, w)
	}
	return all
}

// usage returns what each client's jobs have used.
func (d *dispatcher) usage() map[string]cluster.Usage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.notes.Clients)
}

// ledger returns a copy of what clients have used, and of when they used their keys.
func (d *dispatcher) ledger() cluster.Ledger {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := cluster.Ledger{Clients: map[string]cluster.Usage{}, Keys: map[string]time.Time{}}
	l.Add(d.notes)
	return l
}
