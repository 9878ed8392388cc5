package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// What a job may cost before it is dead.
const (
	maxFailed = 3 // tries whose failure may be its fault
	maxLost   = 5 // workers that began it and were not heard of again
)

// record is what is known of a job's tries.
type record struct {
	Begun  int    `json:"begun"` // and neither failed nor returned
	Failed int    `json:"failed"`
	Last   string `json:"last,omitempty"` // failure
	// Workers are the names of those that failed.
	Workers []string `json:"workers,omitempty"`
}

// failed returns the reason of a job that ends because of its failures.
func (r record) failed() string {
	return fmt.Sprintf("%d tries failed, the last one: %s", r.Failed, r.Last)
}

// guilty returns why a job is not tried again, or "" while it may be. Failures of one
// worker alone may be the worker's fault.
func (r record) guilty() string {
	switch {
	case r.Failed >= maxFailed && len(r.Workers) > 1:
		return r.failed()
	case r.Begun > maxLost:
		return fmt.Sprintf("%d workers began it and were not heard of again", r.Begun-1)
	}
	return ""
}

// tries counts them in a stream, where the workers of a job that kills them have
// left word. The server's count of deliveries would not do: those that are nobody's
// fault are in it.
type tries struct{ link *wire.Link }

func (t *tries) begin(ctx context.Context, id string) (guilty string, err error) {
	r, err := t.change(ctx, id, func(r *record) { r.Begun++ })
	return r.guilty(), err
}

// returned undoes begin.
func (t *tries) returned(ctx context.Context, id string) error {
	_, err := t.change(ctx, id, func(r *record) { r.Begun = max(0, r.Begun-1) })
	return err
}

// failed counts a failure of a worker.
func (t *tries) failed(ctx context.Context, id, worker string, why error) (record, error) {
	return t.change(ctx, id, func(r *record) {
		r.Begun, r.Failed, r.Last = max(0, r.Begun-1), r.Failed+1, why.Error()
		if !slices.Contains(r.Workers, worker) {
			r.Workers = append(slices.Clip(r.Workers), worker)
		}
	})
}

// change replaces a record, whoever else does so at the time. A record that nobody
// has written is tried first: most jobs are begun once.
func (t *tries) change(ctx context.Context, id string, f func(*record)) (record, error) {
	subject := wire.TriesPrefix + id
	var old record
	var seq uint64
	for {
		next := old
		f(&next)
		text, err := json.Marshal(next)
		if err != nil {
			return next, err
		}
		_, err = wire.Ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
			return t.link.JS.Publish(ctx, subject, text, jetstream.WithExpectLastSequencePerSubject(seq))
		})
		if !wire.Conflict(err) {
			return next, err
		}
		m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return t.link.Last(ctx, subject)
		})
		switch {
		case wire.Missing(err):
			old, seq = record{}, 0
			continue
		case err != nil:
			return old, err
		}
		seq, old = m.Sequence, record{}
		if err := json.Unmarshal(m.Data, &old); err != nil {
			return old, err
		}
	}
}
