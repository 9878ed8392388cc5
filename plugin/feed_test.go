//go:build linux

package plugin

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

const scalarBytes = 96 // no chunk is a whole number of these

// newFeeds returns feeds that copy sizes bytes each to shared memory, which the race detector does
// not watch. It would report races there, because it does not see that the counter orders the bytes.
func newFeeds(t *testing.T, sizes ...int) []feed {
	t.Helper()
	counters := shm.NewCounters()
	all, err := counters.Acquire(t.Context(), len(sizes))
	if err != nil {
		t.Fatal(err)
	}
	pool := shm.NewPool(shm.PoolOptions{})
	regions, err := pool.Acquire(t.Context(), sizes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range regions {
			r.Release()
		}
		pool.Close()
		counters.Release(all)
		counters.Close()
	})
	feeds := make([]feed, len(sizes))
	for i, size := range sizes {
		feeds[i] = feed{src: plugintest.Random(size), dst: regions[i].Bytes()[:size], counter: all[i], scalar: scalarBytes}
	}
	return feeds
}

// says reports whether the feed's counter says that n bytes are there.
func (f *feed) says(n int) bool {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	r := f.counter.Region()
	return shm.NewWaiters(1).Wait(over, r.Bytes()[f.counter.Offset()-r.Offset():], n, len(f.src)) == nil
}

// soon runs f, and fails if f does not end soon.
func soon(t *testing.T, f func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, errors.New("it waits for ever"))
	defer cancel()
	return f(ctx)
}

// TestFeed: all bytes arrive, scalars are asked for in order and before they are copied, and the
// counter never says more than has arrived.
func TestFeed(t *testing.T) {
	const chunk = chunkBytes / scalarBytes * scalarBytes
	for _, size := range []int{scalarBytes, chunk, 5 * chunk, 7*chunk + scalarBytes} {
		for _, copies := range []bool{true, false} {
			f := &newFeeds(t, size)[0]
			if !copies {
				f.dst = nil
			}
			var asked []int
			f.ready = func(_ context.Context, n int) error {
				for at := 0; copies && at+chunk <= size && f.says(at+chunk); at += chunk {
					if !bytes.Equal(f.dst[at:at+chunk], f.src[at:at+chunk]) {
						t.Errorf("the counter says that there are more than %d bytes, where they are not", at)
					}
				}
				if before := len(asked); before > 0 {
					from := (asked[before-1]) * scalarBytes
					if copies && bytes.Equal(f.dst[from:min(from+scalarBytes, size)], f.src[from:min(from+scalarBytes, size)]) {
						t.Errorf("scalar %d was copied before it was ready", asked[before-1])
					}
					if f.says(from + 1) {
						t.Errorf("the counter says more than %d scalars, which are ready", asked[before-1])
					}
				}
				asked = append(asked, n)
				return nil
			}
			if err := soon(t, f.run); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			if copies && !bytes.Equal(f.dst, f.src) {
				t.Errorf("%d bytes: not all were copied", size)
			}
			if !f.says(size) {
				t.Errorf("%d bytes: the counter does not say that all are there", size)
			}
			if !slices.IsSorted(asked) || asked[len(asked)-1] != size/scalarBytes || len(asked) < size/chunkBytes {
				t.Errorf("%d bytes: asked for %v scalars of %d", size, asked, size/scalarBytes)
			}
		}
	}
}

// TestFeedEnds: a feed ends with the job's error or with the context. Scalars that were not ready
// do not count.
func TestFeedEnds(t *testing.T) {
	own := errors.New("no witness")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, copies := range []bool{true, false} {
		f := &newFeeds(t, 4*chunkBytes/scalarBytes*scalarBytes)[0]
		if !copies {
			f.dst = nil
		}
		ready := 0
		f.ready = func(_ context.Context, n int) error {
			if n*scalarBytes > 2*chunkBytes {
				return own
			}
			ready = n * scalarBytes
			return nil
		}
		if err := soon(t, f.run); err != own {
			t.Errorf("a job that fails: %v", err)
		}
		if !f.says(0) || f.says(ready+1) || ready == 0 {
			t.Errorf("%d bytes were ready, and the counter says more", ready)
		}
		f = &newFeeds(t, chunkBytes/scalarBytes*scalarBytes)[0]
		f.ready = func(context.Context, int) error {
			t.Error("asked although the call is over")
			return nil
		}
		if err := f.run(ended); !errors.Is(err, context.Canceled) || f.says(1) {
			t.Errorf("a call that is over: %v", err)
		}
	}
}

// TestFeeds: feeds that copy run one after the other, in the order in which the plugin computes.
// The others run beside them.
func TestFeeds(t *testing.T) {
	feeds := newFeeds(t, 3*chunkBytes/scalarBytes*scalarBytes, scalarBytes, 2*chunkBytes/scalarBytes*scalarBytes, scalarBytes)
	feeds[3].dst = nil
	came := make(chan struct{})
	feeds[0].ready = func(ctx context.Context, _ int) error { // waits for the last feed, which runs beside it
		select {
		case <-came:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	feeds[3].ready = func(context.Context, int) error { close(came); return nil }
	for _, i := range []int{1, 2} {
		feeds[i].ready = func(context.Context, int) error {
			if !feeds[i-1].says(len(feeds[i-1].src)) {
				t.Errorf("job %d is copied before job %d", i, i-1)
			}
			return nil
		}
	}
	if err := soon(t, func(ctx context.Context) error { return runFeeds(ctx, feeds) }); err != nil {
		t.Fatal(err)
	}
	for i, f := range feeds {
		if !f.says(len(f.src)) || f.dst != nil && !bytes.Equal(f.dst, f.src) {
			t.Errorf("job %d is not there", i)
		}
	}
	own := errors.New("no witness")
	for _, i := range []int{1, 3} {
		feeds = newFeeds(t, scalarBytes, scalarBytes, scalarBytes, scalarBytes)
		feeds[3].dst = nil
		feeds[i].ready = func(context.Context, int) error { return own }
		if err := soon(t, func(ctx context.Context) error { return runFeeds(ctx, feeds) }); err != own {
			t.Errorf("job %d fails: %v", i, err)
		}
	}
}
