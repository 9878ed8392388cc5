package cluster_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nuid"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// hostile is a tenant that harms others as far as its ticket lets it.
type hostile struct {
	link   *wire.Link
	tenant string
	other  string // the tenant that it attacks
	job    string // a job of the other tenant
	junk   []byte // as large as a message may be here; it cannot be compressed
	done   atomic.Int64
}

// newHostile connects with a ticket and closes the connection when the test ends.
func newHostile(t *testing.T, r *rig, ticket, other string) *hostile {
	t.Helper()
	link, err := r.ticket(ticket).Connect("hostile")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	h := &hostile{link: link, tenant: r.tenant(ticket), other: r.tenant(other), junk: make([]byte, 512<<10)}
	h.job = h.other + ".x"
	_, _ = rand.Read(h.junk)
	return h
}

// fill stores witnesses, keys and messages that are no jobs until there is no room. It returns the
// prefixes whose room never ended.
func (h *hostile) fill(ctx context.Context, room int) (endless []string) {
	for _, prefix := range []string{wire.WitnessesPrefix, wire.KeysPrefix, wire.QueuePrefix} {
		junk := h.junk
		if prefix == wire.QueuePrefix {
			junk = junk[:wire.MostDescriptor/2]
		}
		full := false
		for i := 0; i < room/len(junk) && !full && ctx.Err() == nil; i++ {
			_, err := h.link.JS.Publish(ctx, prefix+h.tenant+fmt.Sprint(".x", i), junk)
			full = wire.Full(err)
			h.done.Add(1)
		}
		if !full && prefix != wire.QueuePrefix { // the manager removes what is no job from the queue
			endless = append(endless, prefix)
		}
	}
	return endless
}

// empty removes what fill stored.
func (h *hostile) empty() {
	for _, kind := range []string{"witnesses.", "keys."} {
		for i := range 1000 {
			_ = h.link.Conn.Publish(wire.ForgetPrefix+kind+h.tenant+fmt.Sprint(".x", i), nil)
		}
	}
}

// flood sends managers and streams every request that the ticket allows, as fast as pause lets it.
// For the answers it names subjects of the other tenant and of the system, and it publishes to
// those as well.
func (h *hostile) flood(ctx context.Context, pause time.Duration) {
	asks := []string{
		wire.StatusPrefix + h.tenant, wire.HelloPrefix + h.tenant, wire.CancelPrefix + h.tenant + ".x",
		wire.HoldsPrefix + "keys." + h.tenant + ".x", wire.ForgetPrefix + "ends." + h.tenant + ".x",
	}
	others := []string{
		wire.QueuePrefix + h.job, wire.EndsPrefix + h.job, wire.CancelPrefix + h.job, wire.ForgetPrefix + "keys." + h.other,
		wire.Drain, wire.Who, wire.Here, wire.Roster, wire.Status, wire.JobsPrefix + h.job, wire.TriesPrefix + h.job, wire.StopPrefix + h.job,
		"$JS.API.STREAM.PURGE." + wire.Of(wire.Queue, h.other), "$JS.API.STREAM.DELETE." + wire.Jobs,
		"$JS.API.CONSUMER.DELETE." + wire.Jobs + "." + wire.Workers, "$JS.API.STREAM.MSG.DELETE." + wire.Jobs,
	}
	for i := 0; ctx.Err() == nil; i++ {
		ask, other := asks[i%len(asks)], others[i%len(others)]
		_ = h.link.Conn.PublishRequest(ask, other, []byte("0s"))
		_ = h.link.Conn.PublishRequest(ask, h.link.Conn.NewInbox(), nil)
		if i%10 == 0 {
			_ = h.link.Conn.Publish(other, []byte("0s"))
		}
		h.done.Add(2)
		time.Sleep(pause)
	}
}

// burden submits jobs that cost a manager memory and no card: they wait for jobs that nobody knows,
// or for themselves. It also stores messages in the queue that are no jobs.
func (h *hostile) burden(ctx context.Context, pause time.Duration) {
	for i := 0; ctx.Err() == nil; i++ {
		id := h.tenant + "." + nuid.Next()
		job := wire.Job{ID: id, Witness: wire.Object{Subject: wire.WitnessesPrefix + id}, After: []string{h.tenant + ".never"}}
		switch i % 3 {
		case 1:
			for range wire.MostPrerequisites / 2 {
				job.After = append(job.After, h.tenant+"."+nuid.Next())
			}
		case 2:
			job.After, job.Within = []string{id}, 1
		}
		_, _ = h.link.JS.Publish(ctx, wire.QueuePrefix+id+"-none", []byte("{}"))
		text, err := json.Marshal(job)
		if err == nil {
			_, _ = h.link.JS.Publish(ctx, wire.QueuePrefix+id, text)
		}
		h.done.Add(1)
		time.Sleep(pause)
	}
}

// warnings counts a log's warnings that name a tenant.
type warnings struct {
	to     io.Writer
	tenant atomic.Pointer[string]
	n      atomic.Int64
}

func (w *warnings) Write(text []byte) (int, error) {
	s, of := string(text), w.tenant.Load()
	if of != nil && strings.Contains(s, *of) && (strings.Contains(s, "level=WARN") || strings.Contains(s, "level=ERROR")) {
		w.n.Add(1)
	}
	return w.to.Write(text)
}
