package resident

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/engine"
	"github.com/pippin-zk/pippin/vector"
)

// Ahead is a session for a proof's programs that is opened while the constraint system is
// solved: that takes a millisecond.
type Ahead[S comparable] struct {
	field    *vector.Field[S]
	engine   *engine.Engine
	elements int

	cancel  context.CancelFunc
	opening sync.WaitGroup
	session *vector.Session[S] // nil when there is none after opening
}

// MostAhead bounds the bytes of a session that is opened ahead, for its memory is the
// proof's for the time of solving too. On another process's device of more than 8 GiB, a part of that memory is
// the bound: to take 1.8 GB of an H200's takes 5 ms.
const (
	MostAhead = 256 << 20
	partAhead = 32
)

// mostAhead returns the bound where an engine's backend computes.
func mostAhead(e *engine.Engine) int {
	i := e.Info()
	if i.InProcess || len(i.Devices) == 0 {
		return MostAhead
	}
	least := slices.MinFunc(i.Devices, func(a, b backend.Device) int { return cmp.Compare(a.Memory, b.Memory) })
	return max(MostAhead, int(least.Memory/partAhead))
}

// OpenAhead opens a session of so many elements in the background, unless that is large (MostAhead). Close the
// result.
func OpenAhead[S comparable](ctx context.Context, f *vector.Field[S], e *engine.Engine, elements int) *Ahead[S] {
	a := &Ahead[S]{field: f, engine: e, elements: elements}
	ctx, a.cancel = context.WithCancel(ctx)
	if elements*f.Curve().ScalarBytes() <= mostAhead(e) {
		a.opening.Go(func() {
			// What is wrong is found again by Repeat.
			if s, err := f.Open(ctx, e, elements); err == nil {
				a.session = s
			}
		})
	}
	return a
}

// Repeat does what vector.Field.Repeat does, first with the session if there is one. Call
// it once.
func (a *Ahead[S]) Repeat(ctx context.Context, run func(context.Context, *vector.Session[S]) error) (by string, err error) {
	if a.opening.Wait(); a.session != nil {
		return a.session.Repeat(ctx, run)
	}
	return a.field.Repeat(ctx, a.engine, a.elements, run)
}

// Close closes the session if it was not used. It does nothing to nil.
func (a *Ahead[S]) Close() {
	if a == nil {
		return
	}
	a.cancel()
	if a.opening.Wait(); a.session != nil {
		_ = a.session.Close() // its backend is gone, and the memory with it
	}
}

// LoadBeside calls loads, which make a key's bases resident, at the same time, with a session of so
// many elements open meanwhile, and more: as many as a proof's programs over the key have, and what
// transforms and MSMs need to work. Bases that then find no room stay on the host and go to the backend
// with every call. Without the session they could take all room, and every program would fail for want
// of memory.
func LoadBeside[S comparable](ctx context.Context, f *vector.Field[S], e *engine.Engine, elements int,
	loads ...func(context.Context) error) error {
	if Elsewhere(e, f.Curve()) {
		for _, n := range []int{elements + elements/2 + workElements, elements + workElements, elements} {
			s, err := f.Open(ctx, e, n)
			if err == nil {
				defer s.Close() // its error is that of a backend that is gone
				break
			}
			// Without room for either, the proof's own session says why.
		}
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, load := range loads {
		all.Go(func() error { return load(ctx) })
	}
	return all.Wait()
}

// workElements is 128 MiB on BN254: tables of transforms have up to that, and MSMs need some 50 MB to work.
const workElements = 1 << 22
