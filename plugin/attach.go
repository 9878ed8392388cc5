package plugin

import (
	"context"
	"strconv"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// arenas records which arenas the plugin has mapped.
type arenas struct {
	c       *Client
	stop    []func()
	sending *semaphore.Weighted
	flights singleflight.Group // by the arena's id

	mu       sync.Mutex
	attached map[uint64]bool
}

func (a *arenas) init(c *Client) {
	a.c = c
	a.sending = semaphore.NewWeighted(maxAttaching)
	a.attached = map[uint64]bool{}
	for _, p := range []*shm.Pool{c.pool, c.staging, c.replies} {
		a.stop = append(a.stop, p.Watch(a.dropped))
	}
}

// attach makes sure that the plugin has mapped the arena of a region, to which the caller holds a
// reference. It waits no longer than ctx, but the attaching goes on, since others may wait for it
// too.
func (a *arenas) attach(ctx context.Context, r *shm.Region) error {
	if a.has(r.Arena()) {
		return nil
	}
	r.Retain() // keeps the arena from being dropped meanwhile
	done := a.flights.DoChan(strconv.FormatUint(r.Arena().ID(), 10), func() (any, error) {
		return nil, a.send(r.Arena())
	})
	result := make(chan error, 1)
	a.c.background(func() {
		result <- (<-done).Err
		r.Release()
	})
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return backend.Ended(ctx)
	}
}

func (a *arenas) has(arena *shm.Arena) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.attached[arena.ID()]
}

func (a *arenas) send(arena *shm.Arena) error {
	if a.has(arena) {
		return nil // a flight that has just ended did it
	}
	if err := a.sending.Acquire(a.c.ctx, 1); err != nil {
		return a.c.lost(err)
	}
	defer a.sending.Release(1)
	size := uint64(len(arena.Bytes()))
	if err := a.c.channel.Send(shm.Message{Kind: shm.KindArena, ID: arena.ID(), Size: size}, arena.File()); err != nil {
		return a.c.lost(err)
	}
	if _, err := a.c.rpc.Attach(a.c.ctx, &proto.AttachRequest{Arena: arena.ID(), Size: size, Answers: arena.Answers()}); err != nil {
		return a.c.failure(err, false)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attached[arena.ID()] = true
	return nil
}

// dropped tells the plugin that an arena is gone, so that the plugin unmaps it. A pool calls it
// with its lock held.
func (a *arenas) dropped(arena uint64) {
	a.mu.Lock()
	ok := a.attached[arena]
	delete(a.attached, arena)
	a.mu.Unlock()
	if ok {
		a.c.background(func() {
			// If a plugin fails here, the memory only stays mapped.
			_, _ = a.c.rpc.Detach(a.c.ctx, &proto.DetachRequest{Arena: arena})
		})
	}
}

func (a *arenas) close() {
	for _, stop := range a.stop {
		stop()
	}
}
