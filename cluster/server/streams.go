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

// wanted returns the configurations of all streams that the cluster needs, without regard to what
// they hold now.
func (k *keeper) wanted() []jetstream.StreamConfig {
	k.mu.Lock()
	defer k.mu.Unlock()
	var listed []string
	for name, t := range k.tenants {
		if !t.retired {
			listed = append(listed, name)
		}
	}
	parts := parts(listed, k.Shares)
	streams := wire.Shared(k.Room, k.link.Replicas)
	for name := range k.tenants {
		streams = append(streams, wire.Own(name, parts[name], k.Room, k.link.Replicas)...)
	}
	return streams
}

// leastPart is the least part of 1 that a tenant gets of the room.
const leastPart = 0.02

// parts divides the room between tenants. A tenant with a share of the cards' time gets the same
// share of the room. The others divide the rest. Each gets leastPart at least, before all parts are
// scaled to 1 together.
func parts(tenants []string, shares map[string]float64) map[string]float64 {
	rest, others := 1.0, 0
	for _, name := range tenants {
		if share, has := shares[name]; has {
			rest -= share
		} else {
			others++
		}
	}
	parts, sum := map[string]float64{}, 0.0
	for _, name := range tenants {
		part, has := shares[name]
		if !has {
			part = rest / float64(others)
		}
		parts[name] = max(part, leastPart)
		sum += parts[name]
	}
	for name := range parts {
		parts[name] /= sum
	}
	return parts
}

// forLast is how many bytes the streams of ends and of dead jobs of a retired tenant may grow
// beyond what they hold: its last jobs are still proved.
const forLast = 4 << 20

// ensure makes the streams and the consumer that are missing. After a restart of the server Tries
// is missing, which is in memory only. A stream whose part of the room has changed gets the new
// part, but not less than it holds. Streams that shrink go first, because all streams together may
// never reserve more than the server has.
func (k *keeper) ensure(ctx context.Context) error {
	k.making.Lock()
	defer k.making.Unlock()
	has, err := k.existing(ctx)
	if err != nil {
		return err
	}
	streams := k.wanted()
	growth := map[string]int64{}
	for i := range streams {
		cfg := &streams[i]
		old := has[cfg.Name]
		if err := k.keepWhatIsThere(ctx, cfg, old); err != nil {
			return err
		}
		growth[cfg.Name] = cfg.MaxBytes - old.Config.MaxBytes
	}
	slices.SortStableFunc(streams, func(a, b jetstream.StreamConfig) int { return cmp.Compare(growth[a.Name], growth[b.Name]) })
	for _, cfg := range streams {
		_, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return k.link.JS.CreateOrUpdateStream(ctx, cfg) })
		if err != nil {
			return fmt.Errorf("%w: the stream %s: %w", backend.ErrUnavailable, cfg.Name, err)
		}
	}
	there, err := wire.Ask(ctx, func(ctx context.Context) (bool, error) {
		_, err := k.link.JS.Consumer(ctx, wire.Jobs, wire.Workers)
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

// keepWhatIsThere adapts the configuration of a stream to what the stream is and holds now.
func (k *keeper) keepWhatIsThere(ctx context.Context, cfg *jetstream.StreamConfig, old jetstream.StreamInfo) error {
	kind, name := wire.Apart(cfg.Name)
	if cfg.MaxBytes > 0 {
		held := int64(old.State.Bytes)
		if k.retired(name) && (kind == wire.Ends || kind == wire.Dead) {
			held += forLast
		}
		cfg.MaxBytes = max(cfg.MaxBytes, held)
	}
	switch {
	case cfg.Name == wire.Notes:
		before := wire.SetFingerprint(cfg, old.Config.Metadata, k.Ticket.Fingerprint)
		if own := k.Ticket.Fingerprint; before != "" && own != "" && before != own {
			k.Log.Warn("cluster: witnesses are sealed with another key from now on: clients and workers need their tickets again")
		}
		k.mu.Lock()
		k.fingerprint = cmp.Or(k.Ticket.Fingerprint, before)
		k.mu.Unlock()
	case cfg.Name == wire.Tries && old.Config.Name != "" && old.Config.Storage != cfg.Storage:
		// One server has become three, or three one. Tries are counted anew.
		return k.remove(ctx, cfg.Name)
	}
	return nil
}

// existing returns the streams that exist, and notes their tenants. Those that are not listed are
// marked as retired.
func (k *keeper) existing(ctx context.Context) (map[string]jetstream.StreamInfo, error) {
	names, err := wire.Ask(ctx, func(ctx context.Context) (all []string, err error) {
		found := k.link.JS.StreamNames(ctx, jetstream.WithStreamListSubject(wire.Prefix+">"))
		for name := range found.Name() {
			all = append(all, name)
		}
		return all, found.Err()
	})
	if err != nil {
		return nil, err
	}
	all := map[string]jetstream.StreamInfo{}
	for _, name := range names {
		s, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.Stream, error) {
			s, err := k.link.JS.Stream(ctx, name)
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return nil, nil
			}
			return s, err
		})
		if err != nil {
			return nil, err
		}
		if s == nil {
			continue
		}
		all[name] = *s.CachedInfo()
		kind, tenantName := wire.Apart(name)
		if kind == wire.Queue && tenantName == "" {
			return nil, errOld
		}
		k.mu.Lock()
		if kind == wire.Queue && k.tenants[tenantName] == nil {
			k.tenants[tenantName] = &tenant{retired: k.Names != nil}
		}
		k.mu.Unlock()
	}
	return all, nil
}

// errOld refuses the streams of a version in which all tenants shared them.
var errOld = fmt.Errorf("%w: the streams are of an older version of pippin, in which tenants shared them. "+
	"Let that version end its jobs and clients take their results, then remove its streams "+
	"(of msm cluster up: the folder jetstream in --dir, on each of several servers) and start this one. Tickets stay as they are; "+
	"clients add their circuits again", backend.ErrUnavailable)

// remove removes a stream.
func (k *keeper) remove(ctx context.Context, stream string) error {
	_, err := wire.Ask(ctx, func(ctx context.Context) (struct{}, error) {
		err := k.link.JS.DeleteStream(ctx, stream)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			err = nil
		}
		return struct{}{}, err
	})
	return err
}

// welcome makes the streams of a tenant if they are missing, and starts to hand out its jobs.
func (k *keeper) welcome(ctx context.Context, name string) error {
	k.mu.Lock()
	_, known := k.tenants[name]
	if !known {
		k.tenants[name] = &tenant{}
	}
	k.mu.Unlock()
	if !known {
		if err := k.ensure(ctx); err != nil {
			k.mu.Lock()
			delete(k.tenants, name)
			k.mu.Unlock()
			return err
		}
	}
	if d := k.leading(); d != nil && !d.opened(name) {
		return d.open(ctx, name, 0)
	}
	return nil
}

// consumer makes or changes the workers' consumer, which leaves at most inHand jobs with workers at
// a time.
func (k *keeper) consumer(ctx context.Context, inHand int) error {
	_, err := wire.Ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return k.link.JS.CreateOrUpdateConsumer(ctx, wire.Jobs, wire.Consumer(inHand))
	})
	return err
}
