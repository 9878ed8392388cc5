package plugin

import (
	"context"
	"sync"

	"github.com/pippin-zk/pippin/plugin/shm"
)

// chunkBytes is how much is copied between two looks at the context and two
// steps of the counter.
const chunkBytes = 1 << 20

// inlineBytes is the size up to which scalars are copied before the request
// is sent: a goroutine and a counter would cost as much.
const inlineBytes = 128 << 10

// feed brings the scalars of one job to shared memory while the plugin
// already works, and tells it by the counter how far it is.
type feed struct {
	dst     []byte // nil when the caller writes to shared memory himself
	src     []byte
	counter *shm.Counter
	ready   func(ctx context.Context, n int) error // the job's, or nil
	scalar  int                                    // bytes of a scalar
}

// run works until all is ready or ctx ends. src is not read any more when it
// returns.
func (f *feed) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	chunk := chunkBytes / f.scalar * f.scalar
	chunks := (len(f.src) + chunk - 1) / chunk
	var (
		order   sync.Mutex // over next and ready, which must be asked in order
		next    int
		publish sync.Mutex // over done, through and the counter
		done    = make([]bool, chunks)
		through int
	)
	take := func() (int, bool) {
		order.Lock()
		defer order.Unlock()
		if next == chunks || ctx.Err() != nil {
			return 0, false
		}
		if f.ready != nil {
			if err := f.ready(ctx, min((next+1)*chunk, len(f.src))/f.scalar); err != nil {
				cancel(err)
				return 0, false
			}
		}
		next++
		return next - 1, true
	}
	work := func() {
		for {
			i, ok := take()
			if !ok {
				return
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
	var wg sync.WaitGroup
	for range workers {
		wg.Go(work)
	}
	wg.Wait()
	if through < chunks {
		return context.Cause(ctx)
	}
	return nil
}

// runFeeds runs the copying ones in the order of the jobs and the others
// beside them. None reads the caller's memory when it returns.
func runFeeds(ctx context.Context, feeds []feed) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	run := func(f *feed) {
		if err := f.run(ctx); err != nil {
			cancel(err)
		}
	}
	wg.Go(func() {
		for i := range feeds {
			if feeds[i].dst != nil {
				run(&feeds[i])
			}
		}
	})
	for i := range feeds {
		if feeds[i].dst == nil {
			wg.Go(func() { run(&feeds[i]) })
		}
	}
	wg.Wait()
	return context.Cause(ctx)
}
