package server

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// store reads the streams of a cluster for a manager and its dispatcher.
type store struct{ link *wire.Link }

// stream returns a stream. It fails with backend.ErrUnavailable if the stream does not exist.
func (s store) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	found, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return s.link.JS.Stream(ctx, name) })
	if err != nil {
		return nil, fmt.Errorf("%w: the cluster's stream %s: %w", backend.ErrUnavailable, name, err)
	}
	return found, nil
}

// note returns a note, or nil if there is none.
func (s store) note(ctx context.Context, name string) (*jetstream.RawStreamMsg, error) {
	m, err := wire.Ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.link.Last(ctx, wire.NotesPrefix+name)
	})
	if wire.Missing(err) {
		return nil, nil
	}
	return m, err
}

// present returns the IDs of a tenant's jobs that wait or are handed out.
func (s store) present(ctx context.Context, tenant string) (map[string]bool, error) {
	all := map[string]bool{}
	for _, prefix := range []string{wire.QueuePrefix, wire.JobsPrefix} {
		ids, err := s.idsOf(ctx, prefix, tenant)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, ids)
	}
	return all, nil
}

// idsOf returns the IDs of a tenant's jobs that are in subjects with a prefix.
func (s store) idsOf(ctx context.Context, prefix, tenant string) (map[string]bool, error) {
	return s.idsIn(ctx, wire.StreamOf(prefix+tenant+"."), prefix, prefix+tenant+".>")
}

// ids returns the IDs of all tenants' jobs that are in subjects of a stream with a prefix.
func (s store) ids(ctx context.Context, stream, prefix string) (map[string]bool, error) {
	return s.idsIn(ctx, stream, prefix, prefix+">")
}

func (s store) idsIn(ctx context.Context, stream, prefix, filter string) (map[string]bool, error) {
	subjects, err := s.link.Subjects(ctx, stream, filter)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for subject := range subjects {
		tokens := strings.SplitN(strings.TrimPrefix(subject, prefix), ".", 3)
		ids[strings.Join(tokens[:min(2, len(tokens))], ".")] = true
	}
	return ids, nil
}
