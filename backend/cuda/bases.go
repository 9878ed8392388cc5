package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/internal/resident"
)

// bases is one set of bases. Every card with enough room has all of them. If no card has, or if
// MSMs are quicker so, each card has a part.
type bases struct {
	backend.Elements
	hints backend.Hints
	held  map[*card]held // under Backend.mu
}

// held is the range of the bases that one card has.
type held struct {
	span
	*msm.Bases
}

// on reports whether the cards together have all bases.
func (b *bases) on(on []*card) bool {
	for at := 0; at < b.Count; {
		to := at
		for _, c := range on {
			if h, ok := b.held[c]; ok && h.from <= at {
				to = max(to, h.to)
			}
		}
		if to == at {
			return false
		}
		at = to
	}
	return true
}

// copy loads the bases to a card from another that has all of them. It returns nil if none has, or
// if there is no room. No call may be in flight.
func (b *bases) copy(ctx context.Context, to *card, others []*card) (*msm.Bases, error) {
	room, err := to.msm.Room(ctx, b.Elements)
	if err != nil || !room {
		return nil, err
	}
	for _, c := range others {
		h, ok := b.held[c]
		if !ok || h.count() < b.Count {
			continue
		}
		// No multiples now: calls wait for this copy.
		pieces := backend.Bases{Curve: b.Curve, Group: b.Group, Count: b.Count, Pieces: h.Pieces(), Hints: backend.Hints{Multiples: 1}}
		loaded, err := to.msm.Load(ctx, &pieces, 0)
		if err == nil {
			to.msm.Prepare(loaded, b.hints)
		}
		return loaded, err
	}
	return nil, nil
}

// free gives the bases back. No call may use them any more.
func (b *bases) free() error {
	var errs []error
	for _, h := range b.held {
		errs = append(errs, h.Free())
	}
	return errors.Join(errs...)
}

// LoadBases copies bases to the cards: all of them to each card with enough room, or a part to each
// if no card has enough room or if MSMs of all bases are quicker so. A part for which its card has
// no room stays in host memory.
func (b *Backend) LoadBases(ctx context.Context, from backend.Bases) (_ backend.BasesID, err error) {
	end, err := b.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	defer resident.Caught(&err)
	if err := backend.Ended(ctx); err != nil {
		return 0, err
	}
	if err := from.Validate(); err != nil {
		return 0, err
	}
	on, err := b.cards()
	if err != nil {
		return 0, err
	}
	kept := &bases{Elements: from.Elements(), hints: from.Hints, held: make(map[*card]held)}
	on, parts, err := b.whereTo(ctx, on, kept)
	if err != nil {
		return 0, err
	}
	if err := kept.load(ctx, &from, on, parts); err != nil {
		return 0, errors.Join(err, kept.free())
	}
	id, err := b.keepBases(kept)
	if err != nil {
		return 0, errors.Join(err, kept.free())
	}
	return id, nil
}

// keepBases keeps bases that were loaded, unless the cards that hold them are lost.
func (b *Backend) keepBases(loaded *bases) (backend.BasesID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, on := b.liveLocked(); b.cause == nil && !loaded.on(on) {
		b.endLocked(fmt.Errorf("%w: a GPU was lost while bases were loaded to it alone", backend.ErrGone))
	}
	if b.cause != nil {
		return 0, b.cause
	}
	b.bases[loaded] = struct{}{}
	return b.kept.AddBases(loaded.Elements, loaded), nil
}

// whereTo chooses the cards for bases, and the range for each.
func (b *Backend) whereTo(ctx context.Context, on []*card, of *bases) (_ []*card, parts []span, err error) {
	room := make([]bool, len(on))
	if len(on) > 1 {
		err = eachCard(ctx, on, func(ctx context.Context, i int, c *card) (err error) {
			room[i], err = c.msm.Room(ctx, of.Elements)
			return lostIs(c, err, nil)
		})
		if err != nil {
			return nil, nil, err
		}
	}
	var whole []*card
	var memory []int64
	for i, c := range on {
		memory = append(memory, c.Budget())
		if room[i] {
			whole, parts = append(whole, c), append(parts, span{0, of.Count})
		}
	}
	switch {
	case whole == nil:
		return on, splitByMemory(of.Count, memory), nil
	case len(whole) == 1 || len(whole) < len(on):
		return whole, parts, nil
	}
	apart, err := b.apart(ctx, on, of)
	if apart {
		parts = splitByMemory(of.Count, slices.Repeat([]int64{1}, len(on)))
	}
	return whole, parts, err
}

// apart reports whether a part of the bases on each card is better than all of them on every card.
// It assumes that the cards are alike.
func (b *Backend) apart(ctx context.Context, on []*card, of *bases) (bool, error) {
	rule := cmp.Or(b.options.tests.apart, usualApart)
	part := of.Elements
	part.Count = of.Count / len(on)
	if part.Count < rule.least {
		return false, nil
	}
	var cost [2]float64
	for i, loaded := range []backend.Elements{of.Elements, part} {
		var err error
		cost[i], err = on[0].msm.CostOf(ctx, loaded, part.Count, of.hints)
		switch {
		case errors.Is(err, backend.ErrOutOfMemory):
			return false, nil
		case err != nil:
			return false, lostIs(on[0], err, nil)
		}
	}
	return cost[0] >= rule.gain*cost[1], nil
}

// lostIs returns instead if the card is lost, and otherwise err.
func lostIs(c *card, err, instead error) error {
	if err != nil && c.err() != nil {
		return instead
	}
	return err
}

// load loads parts of bases to cards at the same time. A card that is lost meanwhile gets nothing.
// That is no error if another card has its part.
func (b *bases) load(ctx context.Context, from *backend.Bases, on []*card, parts []span) error {
	sources, done, end := cut(from, parts)
	defer end()
	var mu sync.Mutex
	return eachCard(ctx, on, func(ctx context.Context, i int, c *card) error {
		defer done(i)
		loaded, err := c.msm.Load(ctx, &sources[i], parts[i].from)
		if err != nil {
			if len(on) == 1 {
				return err
			}
			return lostIs(c, err, nil)
		}
		mu.Lock()
		defer mu.Unlock()
		b.held[c] = held{parts[i], loaded}
		return nil
	})
}

// cut returns the parts of bases as separate sources, to be read at the same time. Call done(i)
// when part i is no longer read. After all parts are done, end waits until nothing reads from.
func cut(from *backend.Bases, parts []span) (sources []backend.Bases, done func(i int), end func()) {
	size := from.Curve.PointBytes(from.Group)
	done, end = func(int) {}, func() {}
	var readers []*reader
	if from.Pieces != nil && len(parts) > 1 {
		for _, p := range parts {
			readers = append(readers, newReader(span{p.from * size, p.to * size}))
		}
		var group sync.WaitGroup
		group.Go(func() { tee(from.All(), readers) })
		done, end = func(i int) { readers[i].leave() }, group.Wait
	}
	for i, p := range parts {
		s := *from
		s.Count = p.count()
		switch {
		case readers != nil:
			s.Pieces = readers[i].pieces
		case s.Bytes != nil:
			s.Bytes = s.Bytes[p.from*size : p.to*size]
		case s.File != nil:
			s.FileOffset += int64(p.from) * int64(size)
		}
		sources = append(sources, s)
	}
	return sources, done, end
}

// reader gets one range of bytes from pieces that several readers share.
type reader struct {
	want  span
	next  chan piece
	read  chan struct{} // the piece before is no longer used
	gone  chan struct{}
	leave func()
}

type piece struct {
	bytes []byte
	err   error
}

func newReader(want span) *reader {
	r := &reader{want: want, next: make(chan piece), read: make(chan struct{}), gone: make(chan struct{})}
	r.leave = sync.OnceFunc(func() { close(r.gone) })
	return r
}

// pieces yields the reader's range. It leaves when the reader has all of it.
func (r *reader) pieces(yield func([]byte, error) bool) {
	defer r.leave()
	for p := range r.next {
		if !yield(p.bytes, p.err) || p.err != nil {
			return
		}
		r.read <- struct{}{}
	}
}

// tee hands pieces to the readers until the pieces end or all readers have left. A piece is valid
// until every reader has read it.
func tee(pieces iter.Seq2[[]byte, error], readers []*reader) {
	defer func() {
		for _, r := range readers {
			close(r.next)
		}
	}()
	at := 0
	for p, err := range pieces {
		here := span{at, at + len(p)}
		at = here.to
		var given []*reader
		left := 0
		for _, r := range readers {
			from, to := max(r.want.from, here.from), min(r.want.to, here.to)
			if err == nil && from >= to {
				select {
				case <-r.gone:
					left++
				default:
				}
				continue
			}
			next := piece{err: err}
			if err == nil {
				next.bytes = p[from-here.from : to-here.from]
			}
			select {
			case r.next <- next:
				given = append(given, r)
			case <-r.gone:
				left++
			}
		}
		for _, r := range given {
			select {
			case <-r.read:
			case <-r.gone:
			}
		}
		if left == len(readers) {
			return
		}
	}
}

// FreeBases frees bases once the calls that use them have ended.
func (b *Backend) FreeBases(ctx context.Context, id backend.BasesID) error {
	return b.kept.FreeBases(ctx, id, func(kept *bases) error { return drop(b, b.bases, kept, kept.free) })
}

// drop takes kept out of its set and frees it. It counts as a call, so that no card is taken out or
// comes back meanwhile.
func drop[K comparable](b *Backend, set map[K]struct{}, kept K, free func() error) error {
	if err := b.calls.Acquire(context.Background(), 1); err != nil {
		return err
	}
	defer b.calls.Release(1)
	b.mu.Lock()
	delete(set, kept)
	b.mu.Unlock()
	return free()
}
