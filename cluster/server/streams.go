package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// ensure makes the streams and the consumer that are not there, as after a restart
// of the server, which keeps Tries in memory only. Streams that have another share of the
// room than before get theirs, but none less than it holds. Those that shrink go first,
// since together they may never reserve more than the server has.
func (k *keeper) ensure(ctx context.Context) error {
	streams := wire.Streams(k.Room, max(1, k.Replicas))
	growth := map[string]int64{}
	for i := range streams {
		cfg := &streams[i]
		has, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.StreamInfo, error) {
			s, err := k.js.Stream(ctx, cfg.Name)
			if err != nil {
				if errors.Is(err, jetstream.ErrStreamNotFound) {
					err = nil
				}
				return jetstream.StreamInfo{}, err
			}
			return *s.CachedInfo(), nil
		})
		if err != nil {
			return err
		}
		if cfg.MaxBytes > 0 {
			cfg.MaxBytes = max(cfg.MaxBytes, int64(has.State.Bytes))
		}
		growth[cfg.Name] = cfg.MaxBytes - has.Config.MaxBytes
		if cfg.Name == wire.Tries && has.Config.Name != "" && has.Config.Storage != cfg.Storage {
			// One server has become three, or the other way round. Tries are counted anew.
			if _, err := wire.Ask(ctx, func(ctx context.Context) (struct{}, error) {
				err := k.js.DeleteStream(ctx, cfg.Name)
				if errors.Is(err, jetstream.ErrStreamNotFound) {
					err = nil
				}
				return struct{}{}, err
			}); err != nil {
				return err
			}
		}
		if cfg.Name == wire.Witnesses {
			if old := wire.SetFingerprint(cfg, has.Config.Metadata, k.Ticket.Fingerprint); old != "" && old != k.Ticket.Fingerprint && k.Ticket.Fingerprint != "" {
				k.Log.Warn("cluster: witnesses are sealed with another key from now on: clients and workers need their tickets again")
			}
		}
	}
	slices.SortStableFunc(streams, func(a, b jetstream.StreamConfig) int { return cmp.Compare(growth[a.Name], growth[b.Name]) })
	for _, cfg := range streams {
		_, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return k.js.CreateOrUpdateStream(ctx, cfg) })
		if err != nil {
			return fmt.Errorf("%w: the stream %s: %w", backend.ErrUnavailable, cfg.Name, err)
		}
	}
	there, err := wire.Ask(ctx, func(ctx context.Context) (bool, error) {
		_, err := k.js.Consumer(ctx, wire.Jobs, wire.Workers)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return false, nil
		}
		return true, err
	})
	if there || err != nil {
		return err
	}
	return k.consumer(ctx, 1)
}

// consumer makes the workers' consumer, or changes it, for so many jobs in hand.
func (k *keeper) consumer(ctx context.Context, inHand int) error {
	_, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return k.js.CreateOrUpdateConsumer(ctx, wire.Jobs, wire.Consumer(inHand))
	})
	return err
}
