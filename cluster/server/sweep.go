package server

import (
	"context"
	"strings"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// forget removes what a client began to store. Its subject is ForgetPrefix, the stream's
// name for people, the tenant, which the server has compared with the client's, and what
// is removed.
func (k *keeper) forget(ctx context.Context, subject string) {
	what := "pippin." + strings.TrimPrefix(subject, wire.ForgetPrefix)
	if id, is := strings.CutPrefix(what, wire.EndsPrefix); is {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.dispatcher != nil && wire.ID.MatchString(id) {
			k.taken[id] = time.Now()
		}
		return
	}
	for name, prefix := range map[string]string{wire.Witnesses: wire.WitnessesPrefix, wire.Keys: wire.KeysPrefix} {
		if !strings.HasPrefix(what, prefix) {
			continue
		}
		s, err := k.js.Stream(ctx, name)
		if err == nil {
			err = wire.Object{Subject: what}.Delete(ctx, s)
		}
		if err != nil {
			k.Log.Warn("cluster: not removed", "what", what, "problem", err)
		}
	}
}

// release removes results that clients have taken, some time ago and with their job gone:
// as long as a job is there, its end keeps it from being done again.
func (k *keeper) release(ctx context.Context, now time.Time) error {
	var ids []string
	k.mu.Lock()
	for id, since := range k.taken {
		if now.Sub(since) > k.Linger {
			ids = append(ids, id)
		}
	}
	k.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	jobs, err := k.present(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if d := k.leading(); jobs[id] || d != nil && d.waitedFor(id) {
			continue
		}
		if err := k.purge(ctx, wire.Ends, wire.EndsPrefix+id); err != nil {
			return err
		}
		k.mu.Lock()
		delete(k.taken, id)
		k.mu.Unlock()
	}
	return nil
}

// sweep removes witnesses whose job is not there: those of clients that died before
// they had a job, and of workers that died after its end. Those of dead jobs stay longer.
func (k *keeper) sweep(ctx context.Context, now time.Time) error {
	store, err := k.js.Stream(ctx, wire.Witnesses)
	if err != nil {
		return err
	}
	witnesses, err := subjects(ctx, store, wire.WitnessesPrefix)
	if err != nil {
		return err
	}
	// The jobs come second: one that comes between has its witness already.
	jobs, err := k.present(ctx)
	if err != nil {
		return err
	}
	letters, err := k.js.Stream(ctx, wire.Dead)
	if err != nil {
		return err
	}
	dead, err := subjects(ctx, letters, wire.DeadPrefix)
	if err != nil {
		return err
	}
	for id := range k.seen {
		if !witnesses[id] || jobs[id] {
			delete(k.seen, id)
		}
	}
	info := store.CachedInfo()
	crowded := info.Config.MaxBytes > 0 && info.State.Bytes > uint64(info.Config.MaxBytes)/2
	for id := range witnesses {
		if jobs[id] {
			continue
		}
		since, known := k.seen[id]
		if !known {
			k.seen[id] = now
			continue
		}
		keep := k.Orphan
		if dead[id] && !crowded {
			keep = max(keep, k.KeepDead)
		}
		if now.Sub(since) > keep {
			if err := (wire.Object{Subject: wire.WitnessesPrefix + id}).Delete(ctx, store); err != nil {
				return err
			}
		}
	}
	return nil
}
