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

// ledger returns the ledger as the manager last stored it, and its age.
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

// administers refuses a client whose ticket is not an administrator's.
func (c *Client) administers() error {
	if !c.admin {
		return fmt.Errorf("%w: the ticket is no administrator's", backend.ErrInvalidInput)
	}
	return nil
}

// Retry sends dead jobs again, all of them if ids is empty, and returns the IDs of those that it
// sent. A job stays dead if its witness is gone: the witness of a job that was itself at fault is
// deleted at once, others after a day. Retry needs an administrator's ticket.
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

// retry sends a dead job again if its witness is still stored.
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
	job.Within, job.After = 0, nil // the prerequisites were proved before
	// The end must be removed first: a job that has one is not done again.
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

// requeue publishes a job. Unlike publish it keeps the witness if that fails.
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

// StoredKey is a circuit or key that the cluster stores.
type StoredKey struct {
	Tenant string `json:"tenant"`
	Client string `json:"client"` // the tenant's name, or the tenant if it has none
	Digest string `json:"digest"`
	// Bytes is an upper bound of the compressed size.
	Bytes uint64 `json:"bytes"`
	// Used is when a job last needed the object, or when it was added, by the servers' clocks.
	Used time.Time `json:"used"`
	// Idle is the time since Used, by the same clocks.
	Idle time.Duration `json:"idle"`
	// Waiting reports whether the object is needed by a job that waits or that a worker has.
	Waiting bool `json:"waiting,omitempty"`
}

// Keys returns the circuits and keys that the cluster stores, the longest unused first. It needs an
// administrator's ticket.
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
	clocks := map[string]time.Time{} // time of each stream's clock
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

// needed returns the keys, as TENANT.DIGEST, that are needed by jobs that wait or that workers
// have.
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
				continue // the job has left the stream
			}
			if err != nil {
				return nil, refusal(ctx, err)
			}
			var job wire.Job
			if err := json.Unmarshal(m.Data, &job); err != nil {
				continue // it is no job, and no worker will take it
			}
			for _, digest := range job.Work.Digests() {
				all[wire.TenantOfJob(job.ID)+"."+digest] = true
			}
		}
	}
	return all, nil
}

// RemoveKey removes a circuit or key from the cluster. Clients must add it again before their next
// job that needs it. Workers that have it on their disk go on using it. RemoveKey needs an
// administrator's ticket.
func (c *Client) RemoveKey(ctx context.Context, k StoredKey) error {
	if err := c.administers(); err != nil {
		return err
	}
	return refusal(ctx, c.link.Purge(ctx, wire.KeysPrefix+k.Tenant+"."+k.Digest+".>", 0))
}

// all returns the subjects with a prefix, from all streams of a kind.
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
