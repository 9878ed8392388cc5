package plugin

import (
	"context"
	"fmt"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// buffer is a region that a caller has from Alloc. A call reads it as one of readers until the call
// returns to its caller. A cancelled call has returned; until it ends in the plugin, it holds only
// a reference to the region.
type buffer struct {
	region *shm.Region

	mu      sync.Mutex
	readers int
	freed   bool
	idle    sync.Cond
}

// Alloc implements backend.Allocator. The memory is zero. It fails with
// backend.ErrOutOfMemory when three quarters of the budget of shared memory
// are used up: the rest is for calls, which wait for each other. A
// buffer stays valid after Close and after the plugin's death.
func (c *Client) Alloc(ctx context.Context, size int) (_ backend.Buffer, err error) {
	run, end, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end(&err)
	if size < 0 {
		return nil, fmt.Errorf("%w: buffer of %d bytes", backend.ErrInvalidInput, size)
	}
	r, err := c.pool.Keep(run, max(size, 1))
	if err != nil {
		return nil, err
	}
	b := &buffer{region: r}
	b.idle.L = &b.mu
	r.Owner = b
	if err := c.arenas.attach(run, r); err != nil {
		r.Release()
		return nil, err
	}
	if size == 0 {
		return &emptyBuffer{b}, nil
	}
	return b, nil
}

// emptyBuffer is a buffer of no bytes.
type emptyBuffer struct{ *buffer }

func (emptyBuffer) Bytes() []byte { return nil }

// Bytes returns the memory until Free.
func (b *buffer) Bytes() []byte { return b.region.Bytes() }

// Free waits for the calls that read the buffer. It does not wait for what a cancelled call left
// running: the memory is wiped when that has ended too.
func (b *buffer) Free() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed {
		return
	}
	b.freed = true
	for b.readers > 0 {
		b.idle.Wait()
	}
	b.region.Release()
}

// enter counts a reader in; leave counts it out.
func (b *buffer) enter() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers++
}

func (b *buffer) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readers--; b.readers == 0 {
		b.idle.Broadcast()
	}
}
