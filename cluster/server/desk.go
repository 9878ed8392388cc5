package server

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// desk does the requests of each tenant one after the other, and those of different tenants at the
// same time. So a tenant that asks too much delays nobody else.
type desk struct {
	ctx  context.Context
	stop context.CancelFunc
	work sync.WaitGroup

	mu    sync.Mutex
	lines map[string][]func(context.Context) // requests that wait, by tenant; a tenant with an entry is being served
}

func newDesk(ctx context.Context) *desk {
	ctx, stop := context.WithCancel(ctx)
	return &desk{ctx: ctx, stop: stop, lines: map[string][]func(context.Context){}}
}

// close cancels what is being done, and returns when it has ended.
func (d *desk) close() {
	d.stop()
	d.mu.Lock()
	d.lines = nil
	d.mu.Unlock()
	d.work.Wait()
}

// longestLine bounds how many requests of one tenant wait. Further ones are not answered; whoever
// asked asks again. A line of longLine or more pauses for pace after each request, so that a tenant
// that asks without end does not keep the servers busy.
const (
	longestLine = 256
	longLine    = 16
	pace        = 10 * time.Millisecond
)

// put adds a request to the line of its tenant. It drops the request if the line is full or the
// desk is closed.
func (d *desk) put(tenant string, do func(context.Context)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	line, busy := d.lines[tenant]
	if d.lines == nil || len(line) >= longestLine {
		return
	}
	d.lines[tenant] = append(line, do)
	if !busy {
		d.work.Go(func() { d.serve(tenant) })
	}
}

// serve does a tenant's requests until there are no more.
func (d *desk) serve(tenant string) {
	for {
		d.mu.Lock()
		line := d.lines[tenant]
		if len(line) == 0 {
			delete(d.lines, tenant)
			d.mu.Unlock()
			return
		}
		d.lines[tenant] = line[1:]
		d.mu.Unlock()
		line[0](d.ctx)
		if len(line) >= longLine {
			select {
			case <-d.ctx.Done():
			case <-time.After(pace):
			}
		}
	}
}

// managers is the queue group for requests that only one of the managers answers.
const managers = "managers"

// answer subscribes to all requests that clients, workers and administrators send to managers.
func (k *keeper) answer(at *desk) error {
	for _, s := range []struct {
		subject, group string
		do             nats.MsgHandler
	}{
		{wire.Hello, managers, k.greet},
		{wire.HelloPrefix + "*", managers, func(m *nats.Msg) {
			tenant := strings.TrimPrefix(m.Subject, wire.HelloPrefix)
			at.put(tenant, func(ctx context.Context) { k.hello(ctx, m, tenant) })
		}},
		{wire.Status, "", func(m *nats.Msg) { at.put("", func(ctx context.Context) { k.tally(ctx, m) }) }},
		{wire.StatusPrefix + "*", "", func(m *nats.Msg) {
			tenant := strings.TrimPrefix(m.Subject, wire.StatusPrefix)
			at.put(tenant, func(ctx context.Context) { k.status(ctx, m, tenant) })
		}},
		{wire.HoldsPrefix + ">", managers, func(m *nats.Msg) {
			subject := wire.Prefix + strings.TrimPrefix(m.Subject, wire.HoldsPrefix)
			at.put(tenantOf(subject), func(ctx context.Context) { k.holds(ctx, m, subject) })
		}},
		{wire.ForgetPrefix + ">", "", func(m *nats.Msg) {
			subject := wire.Prefix + strings.TrimPrefix(m.Subject, wire.ForgetPrefix)
			if id, is := strings.CutPrefix(subject, wire.EndsPrefix); is {
				k.took(id)
			} else {
				at.put(tenantOf(subject), func(ctx context.Context) { k.forget(ctx, subject) })
			}
		}},
		{wire.CancelPrefix + ">", "", func(m *nats.Msg) {
			id := strings.TrimPrefix(m.Subject, wire.CancelPrefix)
			at.put(wire.TenantOfJob(id), func(ctx context.Context) { k.cancel(ctx, m, id) })
		}},
		{wire.Roster, "", k.roster},
		{wire.Here, "", k.here},
	} {
		var err error
		if s.group == "" {
			_, err = k.link.Conn.Subscribe(s.subject, s.do)
		} else {
			_, err = k.link.Conn.QueueSubscribe(s.subject, s.group, s.do)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tenantOf returns the tenant of a subject such as pippin.keys.TENANT.DIGEST.
func tenantOf(subject string) string {
	tokens := strings.SplitN(subject, ".", 4)
	if len(tokens) < 3 {
		return ""
	}
	return tokens[2]
}

// respond answers a request.
func (k *keeper) respond(m *nats.Msg, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = m.Respond(text)
	}
	if err != nil {
		k.Log.Debug("cluster: not answered", "request", m.Subject, "problem", err)
	}
}

// hello greets a client. On somebody else's server it first makes the streams of a client that is
// new.
func (k *keeper) hello(ctx context.Context, m *nats.Msg, name string) {
	if k.Names == nil && wire.Name.MatchString(name) {
		if err := k.welcome(ctx, name); err != nil {
			k.heard.Warn("", "cluster: no streams for a client", "tenant", name, "problem", err)
			return
		}
	}
	k.greet(m)
}

// greet tells whoever connects what they need to know.
func (k *keeper) greet(m *nats.Msg) {
	k.mu.Lock()
	g := wire.Greeting{Protocol: wire.Protocol, Replicas: k.link.Replicas, Fingerprint: k.fingerprint}
	k.mu.Unlock()
	k.respond(m, g)
}

// status answers how a tenant's jobs are, if this manager leads: only the leader knows which
// results were taken. It leaves out other tenants' jobs, and errors, of what it says about workers.
func (k *keeper) status(ctx context.Context, m *nats.Msg, name string) {
	if k.leading() == nil {
		return
	}
	s, err := k.survey(ctx, name)
	if err != nil {
		k.Log.Debug("cluster: no status", "problem", err)
		return
	}
	inHand := 0
	k.mu.Lock()
	s.Silent = slices.Clone(k.silent)
	for _, w := range k.states {
		w.InHand = slices.DeleteFunc(slices.Clone(w.InHand), func(id string) bool { return wire.TenantOfJob(id) != name })
		w.LastError = ""
		s.Workers = append(s.Workers, w)
		inHand += len(w.InHand)
	}
	k.mu.Unlock()
	s.InHand(inHand)
	s.HaveBeenTaken(k.taken()[name])
	k.respond(m, s)
}

// surveyFor is how long a survey of a tenant's streams is used before they are looked up again.
const surveyFor = 100 * time.Millisecond

// survey returns what a tenant's streams say about its status. The desk does a tenant's requests
// one after the other, so no other request uses what is remembered here.
func (k *keeper) survey(ctx context.Context, name string) (s cluster.Status, err error) {
	k.mu.Lock()
	t := k.tenants[name]
	if t != nil && time.Since(t.surveyed) < surveyFor {
		s = t.survey
		k.mu.Unlock()
		return s, nil
	}
	k.mu.Unlock()
	s, err = cluster.Survey(ctx, k.link, name, k.ages.of)
	if err == nil && t != nil {
		k.mu.Lock()
		t.survey, t.surveyed = s, time.Now()
		k.mu.Unlock()
	}
	return s, err
}

// tally answers an administrator with what this manager has counted, if it leads.
func (k *keeper) tally(ctx context.Context, m *nats.Msg) {
	d := k.leading()
	if d == nil {
		return
	}
	s, err := cluster.Survey(ctx, k.link, "", k.ages.of)
	if err != nil {
		k.Log.Debug("cluster: no status", "problem", err)
		return
	}
	t := cluster.Tally{Ledger: cluster.Ledger{Clients: d.usage(), Names: k.Names, At: time.Now()}, Ages: map[string]time.Duration{}}
	for _, d := range s.Dead {
		t.Ages[d.ID] = d.Age
	}
	for _, n := range k.taken() {
		t.Taken += n
	}
	k.respond(m, t)
}

// taken returns how many results were taken and are still there, by tenant.
func (k *keeper) taken() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]int{}
	for name, t := range k.tenants {
		if len(t.taken) > 0 {
			all[name] = len(t.taken)
		}
	}
	return all
}

// holds answers whether a stream has a message with a subject.
func (k *keeper) holds(ctx context.Context, m *nats.Msg, subject string) {
	there, err := k.link.Holds(ctx, subject)
	if err != nil {
		k.Log.Debug("cluster: not known what a stream has", "subject", subject, "problem", err)
		return
	}
	text := wire.No
	if there {
		text = wire.Yes
	}
	if err := m.Respond(text); err != nil {
		k.Log.Debug("cluster: not answered", "request", m.Subject, "problem", err)
	}
}

// mostTaken bounds how many results of a tenant are noted as taken. Others stay until there is no
// room.
const mostTaken = 100_000

// took notes that the result of a job has been taken.
func (k *keeper) took(id string) {
	if !wire.ID.MatchString(id) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.tenants[wire.TenantOfJob(id)]
	if k.dispatcher == nil || t == nil || len(t.taken) >= mostTaken {
		return
	}
	if t.taken == nil {
		t.taken = map[string]time.Time{}
	}
	t.taken[id] = time.Now()
}

// forget removes what a client began to store. The tenant in the subject is the client's: NATS lets
// a client ask for no other.
func (k *keeper) forget(ctx context.Context, subject string) {
	if kind, tenant := wire.Apart(wire.StreamOf(subject)); tenant == "" || kind != wire.Witnesses && kind != wire.Keys {
		return
	}
	if err := k.link.Purge(ctx, subject+".>", 0); err != nil && ctx.Err() == nil {
		k.Log.Warn("cluster: not removed", "what", subject, "problem", err)
	}
}

// cancel tells workers that nobody wants a job any more. It ends the job if this manager leads.
func (k *keeper) cancel(ctx context.Context, m *nats.Msg, id string) {
	if !wire.ID.MatchString(id) {
		return
	}
	if err := k.link.Conn.Publish(wire.StopPrefix+id, nil); err != nil {
		k.Log.Debug("cluster: workers are not told that a job is cancelled", "job", id, "problem", err)
	}
	if d := k.leading(); d != nil {
		d.cancel(ctx, m, id)
	}
}

// roster answers which workers were heard of lately.
func (k *keeper) roster(m *nats.Msg) {
	k.mu.Lock()
	known := []cluster.Worker{}
	for _, name := range slices.Sorted(maps.Keys(k.workers)) {
		w := k.workers[name]
		known = append(known, cluster.Worker{Name: name, Jobs: w.jobs, Draining: w.draining})
	}
	k.mu.Unlock()
	k.respond(m, known)
}
