package worker

import (
	"context"
	"fmt"
	"slices"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// What a job may cost before it is dead.
const (
	maxFailed = 3 // tries whose failure may be its fault
	maxLost   = 5 // workers that began it and were not heard of again
)

// triesFailed returns the reason of a job that ends because its tries have failed.
func triesFailed(r wire.Record) string {
	return fmt.Sprintf("%d tries failed, the last one: %s", r.Failed, r.Last)
}

// guilty returns why a job is not tried again, or "" while it may be. Failures of one worker
// alone may be the worker's fault.
func guilty(r wire.Record) string {
	switch {
	case r.Failed >= maxFailed && len(r.Workers) > 1:
		return triesFailed(r)
	case r.Begun > maxLost:
		return fmt.Sprintf("%d workers began it and were not heard of again", r.Begun-1)
	}
	return ""
}

// tries counts the tries of jobs in a stream, where a job that kills its workers leaves a trace.
// The server's count of deliveries would not do: it has those that are nobody's fault.
type tries struct{ link *wire.Link }

// begin notes that this worker begins the job, and returns what is known of it then: it may be too
// late for that.
func (t *tries) begin(ctx context.Context, id string) (wire.Record, error) {
	return t.link.ChangeRecord(ctx, id, func(r *wire.Record) { r.Begun++ })
}

// returned undoes begin.
func (t *tries) returned(ctx context.Context, id string) error {
	_, err := t.link.ChangeRecord(ctx, id, func(r *wire.Record) { r.Begun = max(0, r.Begun-1) })
	return err
}

// failed counts a failure of a worker.
func (t *tries) failed(ctx context.Context, id, worker string, why error) (wire.Record, error) {
	return t.link.ChangeRecord(ctx, id, func(r *wire.Record) {
		r.Begun, r.Failed, r.Last = max(0, r.Begun-1), r.Failed+1, why.Error()
		if !slices.Contains(r.Workers, worker) {
			r.Workers = append(slices.Clip(r.Workers), worker)
		}
	})
}
