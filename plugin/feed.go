package plugin

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// chunkBytes is how much is copied before the counter is moved and the context looked at again.
const chunkBytes = 1 << 20

// inlineBytes is the size up to which scalars are copied before the request is sent. For fewer
// bytes a goroutine and a counter would take as long as the copy.
const inlineBytes = 128 << 10

// feed copies the scalars of one job to shared memory while the plugin already works. The counter
// tells the plugin how far the copy is.
type feed struct {
	dst     []byte // nil if the caller writes to shared memory himself
	src     []byte
	counter *shm.Counter
	ready   func(ctx context.Context, n int) error // Input.Ready of the job, or nil
	scalar  int                                    // bytes of a scalar
}

// run returns when all scalars are ready or ctx ends. Then src is no longer read.
func (f *feed) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	chunk := chunkBytes / f.scalar * f.scalar
	chunks := (len(f.src) + chunk - 1) / chunk
	var (
		order   sync.Mutex // over next and ready, which must be asked in order
		next    int
		publish sync.Mutex // over done, through and the counter
		done    = make([]bool, chunks)
		through int
	)
	// take returns the next chunk to copy, or chunks when none is left.
	take := func() (int, error) {
		order.Lock()
		defer order.Unlock()
		if next == chunks {
			return chunks, nil
		}
		if err := backend.Ended(ctx); err != nil {
			return chunks, err
		}
		if f.ready != nil {
			if err := f.ready(ctx, min((next+1)*chunk, len(f.src))/f.scalar); err != nil {
				return chunks, err
			}
		}
		next++
		return next - 1, nil
	}
	work := func() error {
		for {
			i, err := take()
			if i == chunks {
				return err
			}
			to := min((i+1)*chunk, len(f.src))
			if f.dst != nil {
				copy(f.dst[i*chunk:to], f.src[i*chunk:to])
			}
			publish.Lock()
			done[i] = true
			for through < chunks && done[through] {
				through++
			}
			f.counter.Set(min(through*chunk, len(f.src)))
			publish.Unlock()
		}
	}
	workers := 1
	if f.dst != nil {
		workers = min(shm.Workers(len(f.src)), chunks)
	}
	for range workers {
		group.Go(work)
	}
	return group.Wait()
}

// runFeeds runs the feeds that copy in the order of the jobs, and the others beside them. When it
// returns, none reads the caller's memory.
func runFeeds(ctx context.Context, feeds []feed) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		for i := range feeds {
			if feeds[i].dst == nil {
				continue
			}
			if err := feeds[i].run(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range feeds {
		if feeds[i].dst == nil {
			group.Go(func() error { return feeds[i].run(ctx) })
		}
	}
	return group.Wait()
}
