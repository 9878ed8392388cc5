package local

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/resident"
)

// gnark-crypto's MultiExp cannot be cancelled. So a call whose context can end computes each chunk
// on a copy of its scalars: when the context ends, the call returns at once, because nothing that
// its caller may touch is read any more. The chunk that it had begun runs to its end, uses the
// bases until then, and wipes the copy; FreeBases and Close wait for it. Smaller chunks would leave
// less behind, but two of 2^20 points take 7 % longer than one of 2^21.

// mostCopied is how many scalars are computed on copies at the same time. It counts those of calls
// that were given up, so that they do not pile up.
const mostCopied = 4 * DefaultChunk

// Call is one call of MSM, or of a program.
type Call struct {
	// GivenUp says that a computation of the call may still run after the call.
	GivenUp atomic.Bool

	mayEnd bool           // its context can end
	begun  sync.WaitGroup // computations that were begun
}

// NewCall begins a call with the context ctx.
func NewCall(ctx context.Context) *Call { return &Call{mayEnd: ctx.Done() != nil} }

// Ended calls release once no computation of the call runs any more. It does not wait for that.
func (c *Call) Ended(release func()) {
	if !c.GivenUp.Load() {
		release()
		return
	}
	go func() {
		c.begun.Wait()
		release()
	}()
}

// Attempt calls do. When ctx ends it returns at once and do runs on.
func (c *Call) Attempt(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	c.begun.Go(func() {
		var err error
		defer func() { done <- err }()
		defer resident.Caught(&err)
		err = do()
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		c.GivenUp.Store(true)
		return backend.Ended(ctx)
	}
}

// copies is the room for scalars that are computed on copies.
type copies struct{ left *semaphore.Weighted }

func newCopies() copies { return copies{semaphore.NewWeighted(mostCopied)} }

// add calls do with a copy of n scalars. When ctx ends it returns at once and do runs on.
func (k copies) add(ctx context.Context, c *Call, n int, scalars []byte, do func(scalars []byte) error) error {
	room := int64(min(n, mostCopied))
	if k.left.Acquire(ctx, room) != nil {
		return backend.Ended(ctx)
	}
	own := layout.Bytes(make([]uint64, len(scalars)/8))
	Parts(len(own), func(lo, hi int) { copy(own[lo:hi], scalars[lo:hi]) })
	return c.Attempt(ctx, func() error {
		defer k.left.Release(room)
		defer Parts(len(own), func(lo, hi int) { clear(own[lo:hi]) })
		return do(own)
	})
}

// Parts calls do for parts of 0 to n, on all processors if n is large.
func Parts(n int, do func(lo, hi int)) {
	const least = 1 << 20
	all := min(runtime.GOMAXPROCS(0), n/least+1)
	var g sync.WaitGroup
	for p := range all {
		g.Go(func() { do(p*n/all, (p+1)*n/all) })
	}
	g.Wait()
}
