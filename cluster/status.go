package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// Worker is what a worker says of itself.
type Worker = wire.State

// Status is what a cluster does.
type Status struct {
	Waiting   uint64   `json:"waiting"`    // jobs that nobody has
	HandedOut int      `json:"handed_out"` // jobs that workers have
	Bytes     uint64   `json:"bytes"`      // of all streams
	Workers   []Worker `json:"workers"`
	Dead      []Dead   `json:"dead"`
}

// Dead is a job that ended without a proof.
type Dead struct {
	ID     string    `json:"id"`
	Work   Work      `json:"work"`
	Reason string    `json:"reason"`
	Worker string    `json:"worker"`
	At     time.Time `json:"at"`
}

// answersWithin is how long the answers of workers are waited for.
const answersWithin = 300 * time.Millisecond

// Workers asks who is there. Those that do not answer within 0.3 s are left out.
func Workers(ctx context.Context, nc *nats.Conn) ([]Worker, error) {
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(wire.Who, inbox, nil); err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	within, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	var all []Worker
	for {
		m, err := sub.NextMsgWithContext(within)
		switch {
		case ctx.Err() != nil:
			return nil, backend.Ended(ctx)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			slices.SortFunc(all, func(a, b Worker) int { return strings.Compare(a.Name, b.Name) })
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		if len(m.Data) == 0 { // nobody is there
			continue
		}
		var s Worker
		if err := json.Unmarshal(m.Data, &s); err != nil {
			return nil, fmt.Errorf("%w: the state of a worker: %w", backend.ErrInternal, err)
		}
		all = append(all, s)
	}
}

// Status is what the cluster does now, with the last dead jobs first.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	if s.Workers, err = Workers(ctx, c.nc); err != nil {
		return s, err
	}
	for _, cfg := range wire.Streams(0) {
		stream, err := wire.Stream(ctx, c.js, cfg.Name)
		if err != nil {
			return s, err
		}
		s.Bytes += stream.CachedInfo().State.Bytes
	}
	consumer, err := c.js.Consumer(ctx, wire.Jobs, wire.Workers)
	if err != nil {
		return s, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	s.Waiting, s.HandedOut = consumer.CachedInfo().NumPending, consumer.CachedInfo().NumAckPending
	s.Dead, err = c.dead(ctx)
	return s, err
}

// shown is how many dead jobs a status has.
const shown = 20

func (c *Client) dead(ctx context.Context) ([]Dead, error) {
	stream, err := wire.Stream(ctx, c.js, wire.Dead)
	if err != nil {
		return nil, err
	}
	all := []Dead{}
	state := stream.CachedInfo().State
	for seq := state.LastSeq; seq >= max(1, state.FirstSeq) && len(all) < shown; seq-- {
		m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return stream.GetMsg(ctx, seq) })
		if wire.Missing(err) {
			continue
		}
		if err != nil {
			return nil, refusal(ctx, err)
		}
		var d struct {
			wire.Job
			wire.End
		}
		if err := json.Unmarshal(m.Data, &d); err != nil {
			return nil, fmt.Errorf("%w: a dead job: %w", backend.ErrInternal, err)
		}
		all = append(all, Dead{d.ID, d.Work, d.Reason, d.Worker, m.Time})
	}
	return all, nil
}

// Drain has a worker, or all for the name "", take no more jobs, give back after
// within those that it has not ended, and leave; it returns when they have left. An
// administrator's ticket is needed. It fails with backend.ErrUnavailable when a worker
// is still there some seconds after within.
func (c *Client) Drain(ctx context.Context, name string, within time.Duration) error {
	subject := wire.Drain
	if name != "" {
		if !wire.ID.MatchString(name) {
			return fmt.Errorf("%w: %q is no worker's name", backend.ErrInvalidInput, name)
		}
		subject += "." + name
	}
	there := func(workers []Worker) []string {
		var names []string
		for _, w := range workers {
			if name == "" || w.Name == name {
				names = append(names, w.Name)
			}
		}
		return names
	}
	workers, err := Workers(ctx, c.nc)
	if err != nil {
		return err
	}
	names := there(workers)
	if len(names) == 0 {
		return fmt.Errorf("%w: no worker %s", backend.ErrInvalidInput, cmp.Or(name, "is there"))
	}
	if err := c.nc.Publish(subject, []byte(within.String())); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	begun, absent := time.Now(), 0
	for {
		if workers, err = Workers(ctx, c.nc); err != nil {
			return err
		}
		still := slices.DeleteFunc(there(workers), func(n string) bool { return !slices.Contains(names, n) })
		if absent++; len(still) > 0 {
			absent = 0
		}
		if absent == 2 { // a busy one may miss one question
			return nil
		}
		if time.Since(begun) > within+leaveWithin {
			return fmt.Errorf("%w: still there: %s", backend.ErrUnavailable, strings.Join(still, ", "))
		}
	}
}

// leaveWithin is how long a worker that has drained may take to leave.
const leaveWithin = 10 * time.Second
