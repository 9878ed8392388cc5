package worker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// The failures after which a job is dead.
const (
	maxFailed = 3 // failed tries, which may be the job's fault
	maxLost   = 5 // workers that began the job and were not heard of again
)

// triesFailed returns the reason of a job that ends because its tries have failed.
func triesFailed(r wire.Record) string {
	return fmt.Sprintf("%d tries failed, the last one: %s", r.Failed, r.Last)
}

// guilty returns why a job is not tried again, or "" while it may be. Tries that failed on one
// worker only may be that worker's fault.
func guilty(r wire.Record) string {
	switch {
	case r.Failed >= maxFailed && len(r.Workers) > 1:
		return triesFailed(r)
	case r.Begun > maxLost:
		return fmt.Sprintf("%d workers began it and were not heard of again", r.Begun-1)
	}
	return ""
}

// lost returns the time that workers were missed which began a job and were not heard of again.
func lost(r wire.Record) time.Duration { return time.Duration(max(0, r.Begun-1)) * wire.AckWait }

// tries counts the tries of jobs in a stream, so that a job that kills its workers leaves a trace.
// The server's count of deliveries would not do, because it includes deliveries that are nobody's
// fault.
type tries struct{ link *wire.Link }

// begin notes that this worker begins the job, and returns the job's record. The record may say
// that it is too late to begin.
func (t *tries) begin(ctx context.Context, id string) (wire.Record, error) {
	return t.link.ChangeRecord(ctx, id, func(r *wire.Record) { r.Begun++ })
}

// returned undoes begin, for a job that is given back.
func (t *tries) returned(ctx context.Context, id string) error {
	_, err := t.link.ChangeRecord(ctx, id, func(r *wire.Record) { r.Begun = max(0, r.Begun-1) })
	return err
}

// failed counts a try that failed on a worker.
func (t *tries) failed(ctx context.Context, id, worker string, why error) (wire.Record, error) {
	return t.link.ChangeRecord(ctx, id, func(r *wire.Record) {
		r.Begun, r.Failed, r.Last = max(0, r.Begun-1), r.Failed+1, why.Error()
		if !slices.Contains(r.Workers, worker) {
			r.Workers = append(slices.Clip(r.Workers), worker)
		}
	})
}
