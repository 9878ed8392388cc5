package backendutil

import (
	"context"
	"errors"
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

// Loaded is what CheckJobs and CheckSteps need to know of loaded bases or of a
// space, whose Group is zero.
type Loaded struct {
	Curve backend.Curve
	Group backend.Group
	Count int
}

// CheckJobs validates a batch as MSM's contract has it: known bases, ranges
// inside them, lengths that match, references to earlier jobs. lookup
// answers for an id, or false when it is not loaded.
func CheckJobs(jobs []backend.Job, lookup func(backend.BasesID) (Loaded, bool)) error {
	for i := range jobs {
		j := &jobs[i]
		bad := func(format string, a ...any) error {
			return fmt.Errorf("%w: job %d: "+format, append([]any{backend.ErrInvalidInput, i}, a...)...)
		}
		b, ok := lookup(j.Bases)
		if !ok {
			return bad("bases %d are not loaded", j.Bases)
		}
		if j.Offset < 0 || j.Count < 0 || j.Offset > b.Count || j.Count > b.Count-j.Offset {
			return bad("range of %d from %d in %d bases", j.Count, j.Offset, b.Count)
		}
		if j.SameAs == 0 {
			if want := j.Count * b.Curve.ScalarBytes(); len(j.Scalars) != want {
				return bad("%d bytes for %d scalars of %v, want %d", len(j.Scalars), j.Count, b.Curve, want)
			}
			continue
		}
		if j.SameAs < 0 || j.SameAs > i || j.Scalars != nil || j.Ready != nil {
			return bad("scalars of job %d: must be an earlier job, with no scalars given here", j.SameAs-1)
		}
		src := &jobs[j.SameAs-1]
		of, ok := lookup(src.Bases)
		if !ok || src.SameAs != 0 || src.Count != j.Count || of.Curve != b.Curve {
			return bad("scalars of job %d: its curve, count and own scalars must fit", j.SameAs-1)
		}
	}
	return nil
}

// Source is the job whose scalars jobs[i] uses: itself, or what SameAs names.
func Source(jobs []backend.Job, i int) *backend.Job {
	if s := jobs[i].SameAs; s > 0 {
		return &jobs[s-1]
	}
	return &jobs[i]
}

// Wait waits for the first n scalars of a job, and makes of Ready's error what
// the contract says.
func Wait(ctx context.Context, j *backend.Job, n int) error {
	if j.Ready == nil {
		return backend.Ended(ctx)
	}
	err := j.Ready(ctx, n)
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: scalars that do not come: %w", backend.ErrInvalidInput, err)
}

// Caught turns a panic of this goroutine into an error that wraps
// backend.ErrInternal. It is to be deferred.
func Caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: panic: %v", backend.ErrInternal, p)
	}
}
