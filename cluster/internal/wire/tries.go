package wire

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Record counts a job's tries.
type Record struct {
	Begun  int    `json:"begun"` // tries that have begun and have neither failed nor been returned
	Failed int    `json:"failed"`
	Last   string `json:"last,omitempty"` // the last failure
	// Workers are the names of the workers whose tries failed.
	Workers []string `json:"workers,omitempty"`
	// Late says that it is too late to begin the job. The manager sets it, by its clock, so that
	// workers need no clock.
	Late bool `json:"late,omitempty"`
}

// ChangeRecord updates a job's record by compare and swap, and tries again when somebody else was
// first. It begins by assuming that there is no record, because most jobs are tried once.
func (l *Link) ChangeRecord(ctx context.Context, id string, f func(*Record)) (Record, error) {
	subject := TriesPrefix + id
	var old Record
	var seq uint64
	for {
		next := old
		f(&next)
		text, err := json.Marshal(next)
		if err != nil {
			return next, err
		}
		_, err = Ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
			return l.JS.Publish(ctx, subject, text, jetstream.WithExpectLastSequencePerSubject(seq))
		})
		if !Conflict(err) {
			return next, err
		}
		m, err := Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) { return l.Last(ctx, subject) })
		switch {
		case Missing(err):
			old, seq = Record{}, 0
			continue
		case err != nil:
			return old, err
		}
		seq, old = m.Sequence, Record{}
		if err := json.Unmarshal(m.Data, &old); err != nil {
			return old, fmt.Errorf("the record of job %s: %w", id, err)
		}
	}
}
