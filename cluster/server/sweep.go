package server

import (
	"context"
	"time"

	"github.com/pippin-zk/pippin/cluster/internal/wire"
)

// release removes results that clients took longer than Linger ago. A result stays while its job is
// there, because it keeps the job from being done again, and while another job waits for it.
func (k *keeper) release(ctx context.Context, now time.Time) error {
	due := map[string][]string{} // by tenant
	k.mu.Lock()
	for name, t := range k.tenants {
		for id, since := range t.taken {
			if now.Sub(since) > k.Linger {
				due[name] = append(due[name], id)
			}
		}
	}
	k.mu.Unlock()
	for name, ids := range due {
		jobs, err := k.present(ctx, name)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if d := k.leading(); jobs[id] || d != nil && d.waitedFor(id) {
				continue
			}
			if err := k.link.Purge(ctx, wire.EndsPrefix+id, 0); err != nil {
				return err
			}
			k.mu.Lock()
			if t := k.tenants[name]; t != nil {
				delete(t.taken, id)
			}
			k.mu.Unlock()
		}
	}
	return nil
}

// sweep removes what nobody needs any more and nobody has removed.
func (k *keeper) sweep(ctx context.Context, now time.Time) error {
	for _, name := range k.everybody() {
		if err := k.sweepWitnesses(ctx, name, now); err != nil {
			return err
		}
		if err := k.sweepTries(ctx, name); err != nil {
			return err
		}
		if err := k.retire(ctx, name, now); err != nil {
			return err
		}
	}
	return nil
}

// mostOrphans bounds how many witnesses without a job are noted of one tenant. Others are noted
// when some of these are gone.
const mostOrphans = 100_000

// sweepWitnesses removes a tenant's witnesses that have no job. Clients left them that died before
// they stored the job. Witnesses of dead jobs stay longer.
func (k *keeper) sweepWitnesses(ctx context.Context, name string, now time.Time) error {
	witnesses, err := k.idsOf(ctx, wire.WitnessesPrefix, name)
	if err != nil {
		return err
	}
	// Jobs are read second: a job that is stored between the two reads has had its witness before.
	jobs, err := k.present(ctx, name)
	if err != nil {
		return err
	}
	dead, err := k.idsOf(ctx, wire.DeadPrefix, name)
	if err != nil {
		return err
	}
	noted := 0 // of this tenant
	for id := range k.orphans {
		switch {
		case wire.TenantOfJob(id) != name:
		case !witnesses[id] || jobs[id]:
			delete(k.orphans, id)
		default:
			noted++
		}
	}
	store, err := k.stream(ctx, wire.Of(wire.Witnesses, name))
	if err != nil {
		return err
	}
	info := store.CachedInfo()
	crowded := info.Config.MaxBytes > 0 && info.State.Bytes > uint64(info.Config.MaxBytes)/2
	for id := range witnesses {
		if jobs[id] {
			continue
		}
		since, known := k.orphans[id]
		if !known && noted < mostOrphans {
			k.orphans[id] = now
			noted++
		}
		if !known {
			continue
		}
		keep := k.Orphan
		if dead[id] && !crowded {
			keep = max(keep, k.KeepDead)
		}
		if now.Sub(since) > keep {
			if err := k.link.Purge(ctx, wire.WitnessesPrefix+id+".>", 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepTries removes records of tries that have no job. A worker wrote them after the job's end.
func (k *keeper) sweepTries(ctx context.Context, name string) error {
	tries, err := k.idsOf(ctx, wire.TriesPrefix, name)
	if err != nil || len(tries) == 0 {
		return err
	}
	jobs, err := k.present(ctx, name) // read second, as in sweepWitnesses
	if err != nil {
		return err
	}
	for id := range tries {
		if jobs[id] {
			continue
		}
		if err := k.link.Purge(ctx, wire.TriesPrefix+id, 0); err != nil {
			return err
		}
	}
	return nil
}

// retire removes the streams of a retired tenant that has had no jobs for Orphan.
func (k *keeper) retire(ctx context.Context, name string, now time.Time) error {
	d := k.leading()
	if !k.retired(name) || d == nil {
		return nil
	}
	k.mu.Lock()
	t := k.tenants[name]
	k.mu.Unlock()
	jobs, err := k.present(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case len(jobs) > 0:
		t.idle = time.Time{}
		return nil
	case t.idle.IsZero():
		t.idle = now
	}
	if now.Sub(t.idle) <= k.Orphan {
		return nil
	}
	k.ages.forget(wire.Of(wire.Queue, name))
	k.ages.forget(wire.Of(wire.Dead, name))
	k.Log.Warn("cluster: the streams of a client are removed that is not let in any more", "tenant", name)
	d.shut(name)
	for _, cfg := range wire.Own(name, 0, 0, 1) {
		if err := k.remove(ctx, cfg.Name); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.tenants, name)
	return nil
}
