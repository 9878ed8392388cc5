package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/internal/files/quickdir"
)

// house is a cluster in which nothing happens by itself, because its manager looks once an hour.
// Alice has a key and two jobs. A worker has one of the jobs.
type house struct {
	t             *testing.T
	server        *Server
	admin         *wire.Link
	alice, worker *wire.Link
	tenants       map[string]string // by ticket
	job           *nats.Msg         // the job that the worker has
	waiting       string            // ID of the job that waits
}

// newHouse starts a house. It ends with the test.
func newHouse(t *testing.T) *house {
	t.Helper()
	dir := quickdir.New(t)
	s, err := Start(Config{
		Dir: dir, Listen: "127.0.0.1:0", Clients: []string{"alice", "mallory"}, Workers: []string{"good", "bad"}, Room: 1 << 30,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	h := &house{t: t, server: s, tenants: map[string]string{}}
	for _, name := range []string{AdminTicket, TicketOf("alice"), TicketOf("mallory"), WorkerTicketOf("good"), WorkerTicketOf("bad")} {
		h.ticket(name)
	}
	m := Manager{Every: time.Hour, Room: s.Room()}
	m.Ticket = h.ticket(AdminTicket)
	m.Names, m.Shares = s.Tenants()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- m.Run(ctx, func() { close(ready) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	h.admin, h.alice, h.worker = h.link(AdminTicket), h.link(TicketOf("alice")), h.link(WorkerTicketOf("good"))
	alice := h.tenants[TicketOf("alice")]
	h.check(wire.PutKey(t.Context(), h.alice, alice, strings.Repeat("ab", 32), to("a key")))
	client, err := cluster.Connect(h.ticket(TicketOf("alice")))
	h.check(err)
	t.Cleanup(client.Close)
	for range 3 { // one for the worker, one beside it, one that waits
		h.waiting, err = client.Submit(t.Context(), cluster.Work{System: "fake"}, []byte("witness"))
		h.check(err)
	}
	h.job, err = h.worker.Next(t.Context(), 10*time.Second, time.Second)
	h.check(err)
	stop := make(chan struct{})
	var beats sync.WaitGroup
	beats.Go(func() { // the job stays this worker's
		for {
			select {
			case <-stop:
				return
			case <-time.After(wire.AckWait / 8):
				_ = h.job.InProgress()
			}
		}
	})
	t.Cleanup(func() { close(stop); beats.Wait() })
	return h
}

func (h *house) check(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) ticket(name string) cluster.Ticket {
	h.t.Helper()
	k, err := h.server.Ticket(name)
	h.check(err)
	h.tenants[name], err = k.Tenant()
	h.check(err)
	return k
}

// link connects with a ticket.
func (h *house) link(name string) *wire.Link {
	h.t.Helper()
	l, err := h.ticket(name).Connect("test")
	h.check(err)
	h.t.Cleanup(l.Close)
	return l
}

// state is what may change in a cluster: its streams except those of one tenant, their consumers,
// and what others hear.
func (h *house) state(but string) map[string]string {
	h.t.Helper()
	all := map[string]string{}
	streams, err := h.admin.Streams(h.t.Context())
	h.check(err)
	for _, s := range streams {
		if strings.HasSuffix(s.Config.Name, but) {
			continue
		}
		st, cfg := s.State, h.text(s.Config)
		all[s.Config.Name] = fmt.Sprintln(cfg, st.Msgs, st.FirstSeq, st.LastSeq, st.NumDeleted)
		stream, err := h.admin.JS.Stream(h.t.Context(), s.Config.Name)
		h.check(err)
		for c := range stream.ListConsumers(h.t.Context()).Info() {
			all[s.Config.Name+" "+c.Name] = fmt.Sprintln(h.text(c.Config), c.AckFloor.Stream, c.NumAckPending, c.Delivered.Consumer)
		}
	}
	return all
}

func (h *house) text(v any) string {
	h.t.Helper()
	text, err := json.Marshal(v)
	h.check(err)
	return string(text)
}

// spy notes what somebody hears, except for requests of managers.
func (h *house) spy(l *wire.Link, subjects ...string) func() []string {
	h.t.Helper()
	var mu sync.Mutex
	heard := map[string]bool{}
	for _, subject := range subjects {
		_, err := l.Conn.Subscribe(subject, func(m *nats.Msg) {
			if strings.HasPrefix(m.Reply, wire.Inbox(h.tenants[AdminTicket])) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			heard[m.Subject] = true
		})
		h.check(err)
	}
	h.check(l.Conn.Flush())
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Sorted(maps.Keys(heard))
	}
}

// subjects are all subjects of the system, with all of Alice's and the worker's.
func (h *house) subjects() []string {
	alice, good := h.tenants[TicketOf("alice")], h.tenants[WorkerTicketOf("good")]
	taken := strings.TrimPrefix(h.job.Subject, wire.JobsPrefix)
	digest := strings.Repeat("ab", 32)
	all := []string{
		wire.Who, wire.Who + ".x", wire.Drain, wire.Drain + ".x", wire.Here, wire.Roster, wire.Status, wire.AnswerPrefix + "x.states",
		wire.NotesPrefix + ledgerNote, wire.NotesPrefix + leaderNote, h.job.Reply, wire.HelloPrefix + alice, wire.StatusPrefix + alice,
		wire.KeysPrefix + alice + "." + digest + ".manifest", wire.ForgetPrefix + "keys." + alice + "." + digest,
		wire.HoldsPrefix + "keys." + alice + "." + digest + ".manifest", wire.Inbox(alice) + ".x", wire.Inbox(good) + ".x",
		"$SYS.REQ.SERVER.PING", "$SYS.REQ.SERVER.PING.CONNZ", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.ACCOUNT.pippin.CONNECT",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.CONSUMER.MSG.NEXT." + wire.Jobs + "." + wire.Workers,
	}
	for _, id := range []string{taken, h.waiting, alice + ".forged"} {
		for _, prefix := range []string{
			wire.QueuePrefix, wire.JobsPrefix, wire.EndsPrefix, wire.EndedPrefix, wire.TriesPrefix, wire.DeadPrefix,
			wire.CancelPrefix, wire.StopPrefix, wire.ForgetPrefix + "ends.", wire.ForgetPrefix + "witnesses.",
		} {
			all = append(all, prefix+id)
		}
		all = append(all, wire.WitnessesPrefix+id+".0")
	}
	streams := wire.Shared(0, 1)
	for _, tenant := range h.tenants {
		streams = append(streams, wire.Own(tenant, 1, 0, 1)...)
	}
	for _, s := range streams {
		for _, of := range []string{
			"STREAM.PURGE", "STREAM.DELETE", "STREAM.UPDATE", "STREAM.CREATE", "STREAM.SNAPSHOT", "STREAM.MSG.DELETE", "CONSUMER.CREATE",
		} {
			all = append(all, "$JS.API."+of+"."+s.Name)
		}
	}
	return append(all, "$JS.API.CONSUMER.DELETE."+wire.Jobs+"."+wire.Workers, "$JS.API.CONSUMER.CREATE."+wire.Jobs+".spy")
}

// requests returns a request for each subject of a grant. Where the subject has a job in it, it is
// one of a job.
func requests(g grant, job string) (all []string) {
	for _, subject := range slices.Concat(g.ask, g.stream) {
		subject = strings.Replace(subject, ".*.", ".keys.", 1)
		all = append(all, strings.Replace(subject, ">", job, 1))
	}
	return all
}

// bodies are what a request may carry. The hostile client has also stored them, so that the server
// answers with them.
var bodies = []string{
	"", "0s", "+TERM", "{}", `{"reason":"mallory was here","caller":true}`,
	`{"stream_name":"pippin_jobs","config":{"ack_policy":"none"}}`, `{"filter":">"}`,
}

// TestDeputies sends every request that a role may send. Each names every subject of the system in
// turn as the place for its answer, and as the place to which it is traced. Nothing outside of what
// is the asker's may change, and nobody else may hear of it. When all tickets shared one account,
// all of this was possible: the server, managers and workers answered with their own rights.
func TestDeputies(t *testing.T) {
	for role, of := range map[string]string{"client": TicketOf("mallory"), "worker": WorkerTicketOf("bad")} {
		t.Run(role, func(t *testing.T) {
			h := newHouse(t)
			mallory := h.tenants[TicketOf("mallory")]
			bad, g, job := h.link(of), clientGrant(mallory), "x"
			if role == "worker" {
				g = workerGrant(h.tenants[of], slices.Collect(maps.Keys(h.server.names)))
				job = mallory + ".x"
			}
			asks := requests(g, job)
			if role == "client" {
				for i, body := range bodies {
					key := fmt.Sprintf("%s%s.body%d", wire.KeysPrefix, mallory, i)
					_, err := bad.JS.Publish(t.Context(), key, []byte(body))
					h.check(err)
					asks = append(asks, "$JS.API.DIRECT.GET."+wire.StreamOf(key)+"."+key)
				}
			}
			h.heeds(bad, asks)
			// A subject to which it may publish itself needs no deputy.
			subjects := slices.DeleteFunc(h.subjects(), func(s string) bool { return own(g, s) })
			before := h.state(mallory)
			alice, good := h.tenants[TicketOf("alice")], h.tenants[WorkerTicketOf("good")]
			hears := map[string]func() []string{
				"alice":  h.spy(h.alice, wire.Inbox(alice)+".>", wire.EndedPrefix+alice+".>"),
				"worker": h.spy(h.worker, wire.Who, wire.Who+".*", wire.Drain, wire.Drain+".*", wire.StopPrefix+">", wire.Inbox(good)+".>"),
				"admin":  h.spy(h.admin, slices.DeleteFunc(slices.Clone(subjects), func(s string) bool { return s == h.job.Reply })...),
			}
			for _, ask := range asks {
				for _, reply := range subjects {
					for _, body := range bodies {
						h.check(bad.Conn.PublishRequest(ask, reply, []byte(body)))
					}
					m := nats.NewMsg(ask)
					m.Header.Set("Nats-Trace-Dest", reply)
					h.check(bad.Conn.PublishMsg(m))
				}
				h.check(bad.Conn.FlushTimeout(time.Minute))
			}
			time.Sleep(500 * time.Millisecond) // for what managers do afterwards
			for who, heard := range hears {
				// Cancelling one's job tells all workers, because any of them may have it.
				stopped := func(subject string) bool { return role == "client" && subject == wire.StopPrefix+mallory+"."+job }
				if all := slices.DeleteFunc(heard(), stopped); len(all) > 0 {
					t.Errorf("%s hears %q", who, all)
				}
			}
			after := h.state(mallory)
			if role == "worker" {
				delete(before, wire.Tries) // a worker may write there
			}
			for what, was := range before {
				if after[what] != was {
					t.Errorf("%s was\n%sand is\n%s", what, was, after[what])
				}
			}
			for what := range after {
				if _, was := before[what]; !was && what != wire.Tries {
					t.Errorf("%s is new", what)
				}
			}
			t.Logf("%d requests with %d subjects each", len(asks), len(subjects))
		})
	}
}

// own reports whether the holder of a grant may publish to a subject directly.
func own(g grant, subject string) bool {
	return slices.ContainsFunc(slices.Concat(g.ask, g.stream), func(may string) bool { return matches(may, subject) })
}

// matches reports whether a subject matches a pattern.
func matches(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range p {
		switch {
		case token == ">":
			return i < len(s)
		case i >= len(s) || token != "*" && token != s[i]:
			return false
		}
	}
	return len(p) == len(s)
}

// heeds checks that requests which have an answer get it at the asker's own inbox. Otherwise
// TestDeputies would send requests to nobody and find nothing.
func (h *house) heeds(l *wire.Link, asks []string) {
	h.t.Helper()
	silent := []string{wire.ForgetPrefix, wire.CancelPrefix, wire.Here, wire.AnswerPrefix, "$JS.ACK."}
	for _, ask := range asks {
		if slices.ContainsFunc(silent, func(prefix string) bool { return strings.HasPrefix(ask, prefix) }) {
			continue
		}
		ctx, cancel := context.WithTimeout(h.t.Context(), 5*time.Second)
		body := []byte(nil)
		if strings.Contains(ask, ".MSG.NEXT.") {
			body = []byte(`{"no_wait":true}`)
		}
		if _, err := l.Conn.RequestWithContext(ctx, ask, body); err != nil {
			h.t.Errorf("%s is not answered: %v", ask, err)
		}
		cancel()
	}
}

// to returns a function that sets a text.
func to(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}
