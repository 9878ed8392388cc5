package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// ledger returns what clients have used, as the manager has noted it last, and how long ago.
func (c *Client) ledger(ctx context.Context) (l Ledger, age time.Duration, err error) {
	m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return c.link.Last(ctx, wire.NotesPrefix+"ledger")
	})
	switch {
	case wire.Missing(err):
		return l, 0, nil
	case err != nil:
		return l, 0, refusal(ctx, err)
	}
	notes, err := c.link.JS.Stream(ctx, wire.Notes)
	if err != nil {
		return l, 0, refusal(ctx, err)
	}
	return l, max(0, notes.CachedInfo().TimeStamp.Sub(m.Time)), json.Unmarshal(m.Data, &l)
}

// administers refuses clients whose ticket is no administrator's.
func (c *Client) administers() error {
	if !c.admin {
		return fmt.Errorf("%w: the ticket is no administrator's", backend.ErrInvalidInput)
	}
	return nil
}

// Retry sends dead jobs again, all if none is named, and returns the IDs of those that it
// has sent. A job whose witness is no longer there stays dead; witnesses of jobs that
// failed through their own fault go at once, others after a day. It needs an
// administrator's ticket.
func (c *Client) Retry(ctx context.Context, ids ...string) (sent []string, err error) {
	if err := c.administers(); err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		subjects, err := c.all(ctx, wire.Dead, wire.DeadPrefix)
		if err != nil {
			return nil, err
		}
		for _, subject := range subjects {
			ids = append(ids, strings.TrimPrefix(subject, wire.DeadPrefix))
		}
		slices.Sort(ids)
	}
	for _, id := range ids {
		if err := c.own(id); err != nil {
			return sent, err
		}
		again, err := c.retry(ctx, id)
		if err != nil {
			return sent, fmt.Errorf("job %s: %w", id, err)
		}
		if again {
			sent = append(sent, id)
		}
	}
	return sent, nil
}

// retry sends a dead job again if its witness is there.
func (c *Client) retry(ctx context.Context, id string) (bool, error) {
	m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return c.link.Last(ctx, wire.DeadPrefix+id)
	})
	if wire.Missing(err) {
		return false, fmt.Errorf("%w: it is not among the dead jobs", backend.ErrInvalidInput)
	}
	if err != nil {
		return false, refusal(ctx, err)
	}
	var job wire.Job
	if err := json.Unmarshal(m.Data, &job); err != nil {
		return false, fmt.Errorf("%w: a dead job: %w", backend.ErrInternal, err)
	}
	for i := range job.Witness.Chunks {
		_, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return c.link.Last(ctx, fmt.Sprintf("%s.%d", job.Witness.Subject, i))
		})
		if wire.Missing(err) {
			return false, nil
		}
		if err != nil {
			return false, refusal(ctx, err)
		}
	}
	job.Retry++
	job.Within, job.After = 0, nil // they were proved
	// Its end goes first: a job that has one is not done again.
	for _, prefix := range []string{wire.EndsPrefix, wire.DeadPrefix} {
		if err := c.link.Purge(ctx, prefix+id, 0); err != nil {
			return false, refusal(ctx, err)
		}
	}
	if err := c.requeue(ctx, job); err != nil {
		return false, err
	}
	return true, nil
}

// requeue publishes a job whose witness stays if that fails.
func (c *Client) requeue(ctx context.Context, job wire.Job) error {
	text, err := json.Marshal(job)
	if err != nil {
		return err
	}
	_, err = wire.Ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
		return c.link.JS.Publish(ctx, wire.QueuePrefix+job.ID, text, jetstream.WithMsgID(job.MsgID()))
	})
	return refusal(ctx, err)
}

// StoredKey is a circuit or key that the cluster has.
type StoredKey struct {
	Tenant string `json:"tenant"`
	Client string `json:"client"` // the tenant's name, as far as it has one
	Digest string `json:"digest"`
	// Bytes is how many it has there, compressed, at most.
	Bytes uint64 `json:"bytes"`
	// Used is when a job needed it last, or when it was added, by the clocks of the servers.
	Used time.Time `json:"used"`
	// Idle is how long ago that was, by the same clocks.
	Idle time.Duration `json:"idle"`
	// Waiting reports whether a job that waits or is in hand needs it.
	Waiting bool `json:"waiting,omitempty"`
}

// Keys returns the circuits and keys that the cluster has, those first that were not used
// for longest. It needs an administrator's ticket.
func (c *Client) Keys(ctx context.Context) ([]StoredKey, error) {
	if err := c.administers(); err != nil {
		return nil, err
	}
	ledger, since, err := c.ledger(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := c.needed(ctx)
	if err != nil {
		return nil, err
	}
	streams, err := c.link.Streams(ctx)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	clocks := map[string]time.Time{} // what the clocks of streams say
	for _, s := range streams {
		clocks[s.Config.Name] = s.TimeStamp
	}
	subjects, err := c.all(ctx, wire.Keys, wire.KeysPrefix)
	if err != nil {
		return nil, err
	}
	all := []StoredKey{}
	for _, subject := range subjects {
		name, is := strings.CutSuffix(strings.TrimPrefix(subject, wire.KeysPrefix), ".manifest")
		tenant, digest, ok := strings.Cut(name, ".")
		if !is || !ok {
			continue
		}
		m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return c.link.Last(ctx, subject)
		})
		if wire.Missing(err) {
			continue
		}
		if err != nil {
			return nil, refusal(ctx, err)
		}
		var o wire.Object
		if err := json.Unmarshal(m.Data, &o); err != nil {
			return nil, fmt.Errorf("%w: the key %s: %w", backend.ErrInternal, name, err)
		}
		k := StoredKey{
			Tenant: tenant, Client: ledger.Name(tenant), Digest: digest, Bytes: o.MostBytes(), Waiting: waiting[name],
			Used: m.Time, Idle: max(0, clocks[wire.StreamOf(subject)].Sub(m.Time)),
		}
		if at, known := ledger.Keys[name]; known {
			if idle := max(0, ledger.At.Sub(at)) + since; idle < k.Idle {
				k.Used, k.Idle = at, idle
			}
		}
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b StoredKey) int {
		return cmp.Or(cmp.Compare(b.Idle, a.Idle), strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Digest, b.Digest))
	})
	return all, nil
}

// needed returns the keys, as TENANT.DIGEST, that jobs need which wait or are in hand.
func (c *Client) needed(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	for kind, prefix := range map[string]string{wire.Queue: wire.QueuePrefix, wire.Jobs: wire.JobsPrefix} {
		subjects, err := c.all(ctx, kind, prefix)
		if err != nil {
			return nil, err
		}
		for _, subject := range subjects {
			m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return c.link.Last(ctx, subject) })
			if wire.Missing(err) {
				continue // it has moved on
			}
			if err != nil {
				return nil, refusal(ctx, err)
			}
			var job wire.Job
			if err := json.Unmarshal(m.Data, &job); err != nil {
				continue // no worker will take it
			}
			for _, digest := range job.Work.Digests() {
				all[wire.TenantOfJob(job.ID)+"."+digest] = true
			}
		}
	}
	return all, nil
}

// RemoveKey removes a circuit or key from the cluster. Clients that added it must do so
// again before their next job of it; workers that have it on their disk go on. It needs an
// administrator's ticket.
func (c *Client) RemoveKey(ctx context.Context, k StoredKey) error {
	if err := c.administers(); err != nil {
		return err
	}
	return refusal(ctx, c.link.Purge(ctx, wire.KeysPrefix+k.Tenant+"."+k.Digest+".>", 0))
}

// all returns the subjects that begin with a prefix, of all streams of a kind.
func (c *Client) all(ctx context.Context, kind, prefix string) (all []string, err error) {
	streams, err := c.link.Streams(ctx)
	if err != nil {
		return nil, refusal(ctx, err)
	}
	for _, s := range streams {
		if of, _ := wire.Apart(s.Config.Name); of != kind {
			continue
		}
		subjects, err := c.link.Subjects(ctx, s.Config.Name, prefix+">")
		if err != nil {
			return nil, refusal(ctx, err)
		}
		all = slices.AppendSeq(all, maps.Keys(subjects))
	}
	return all, nil
}
