package server

import (
	"context"
	"maps"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// store is the streams of a cluster, as a manager and its dispatcher ask for them.
type store struct{ js jetstream.JetStream }

// note returns a note and its sequence number, 0 if there is none.
func (s store) note(ctx context.Context, name string) ([]byte, uint64, error) {
	notes, err := wire.Stream(ctx, s.js, wire.Notes)
	if err != nil {
		return nil, 0, err
	}
	m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return notes.GetLastMsgForSubject(ctx, wire.NotesPrefix+name)
	})
	if wire.Missing(err) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	return m.Data, m.Sequence, nil
}

// present returns the jobs that wait or are handed out.
func (s store) present(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	for _, from := range wire.WhereJobsAre {
		in, err := s.js.Stream(ctx, from.Stream)
		if err != nil {
			return nil, err
		}
		ids, err := subjects(ctx, in, from.Prefix)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, ids)
	}
	return all, nil
}

// drop removes the witness of a job.
func (s store) drop(ctx context.Context, id string) error {
	return s.purge(ctx, wire.Witnesses, wire.WitnessesPrefix+id+".>")
}

// purge removes what has a subject.
func (s store) purge(ctx context.Context, stream, subject string) error {
	_, err := wire.Ask(ctx, func(ctx context.Context) (struct{}, error) {
		from, err := s.js.Stream(ctx, stream)
		if err == nil {
			err = from.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		return struct{}{}, err
	})
	return err
}

// subjects returns the jobs' IDs that follow a prefix in the subjects of a stream.
func subjects(ctx context.Context, s jetstream.Stream, prefix string) (map[string]bool, error) {
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for subject := range info.State.Subjects {
		tokens := strings.SplitN(strings.TrimPrefix(subject, prefix), ".", 3)
		ids[strings.Join(tokens[:min(2, len(tokens))], ".")] = true
	}
	return ids, nil
}
