package cuda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/vector"
	"github.com/pippin-zk/pippin/internal/resident"
)

// space is a space of vectors. A card that has used it since it was last written has a copy.
// Programs that only read it may run on any card. Those that write it run on one card at a time;
// another card copies what they wrote when it needs it.
type space struct {
	backend.Elements
	copying *semaphore.Weighted // one unit, for the program that makes or renews a copy

	// Under Backend.mu:
	copies  map[*card]*copied
	version int   // how many programs have written it
	writers int   // programs that are writing it now
	at      *card // the card on which they are
	active  bool  // the last program wrote it, or none has used it yet
}

// copied is the copy of a space on one card.
type copied struct {
	*vector.Space
	version int // the space's version that it holds
	users   int // programs that use it, and copies being made of it
}

// bytes returns the size of the space on each card.
func (s *space) bytes() int64 { return int64(s.Count) * int64(s.Element.Bytes()) }

// free gives back all copies of a space. No program may use it any more.
func (b *Backend) free(s *space) error {
	b.mu.Lock()
	copies := s.copies
	s.copies = nil
	b.mu.Unlock()
	var errs []error
	for _, c := range copies {
		errs = append(errs, c.Free())
	}
	return errors.Join(errs...)
}

// validLocked returns the cards that are there and have a valid copy of a space: one that holds
// what programs wrote. The caller holds mu.
func (b *Backend) validLocked(s *space) (on []*card) {
	_, cards := b.liveLocked()
	for _, c := range cards {
		if s.hasLocked(c) {
			on = append(on, c)
		}
	}
	return on
}

// hasLocked reports whether a card has a valid copy. The caller holds Backend.mu.
func (s *space) hasLocked(c *card) bool {
	return s.copies[c] != nil && s.copies[c].version == s.version
}

// forNew returns the cards for a new space, the best first: the card with the fewest active spaces,
// and of several the one with the shortest queue. The vectors of a key, which proofs only read, are
// not active.
func (b *Backend) forNew() ([]*card, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != nil {
		return nil, b.cause
	}
	seats, on := b.liveLocked()
	spaces := make(map[*card]int)
	for s := range b.spaces {
		if s.active {
			for _, c := range b.validLocked(s) {
				spaces[c]++
			}
		}
	}
	slices.SortStableFunc(seats, func(a, b *seat) int {
		return cmp.Or(cmp.Compare(spaces[a.card], spaces[b.card]), cmp.Compare(a.queued, b.queued))
	})
	for i, s := range seats {
		on[i] = s.card
	}
	return on, nil
}

// NewSpace takes memory for elements on the best card of forNew that has room.
func (b *Backend) NewSpace(ctx context.Context, e backend.Element, count int) (_ backend.SpaceID, err error) {
	end, err := b.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	defer resident.Caught(&err)
	cards, err := b.forNew()
	if err != nil {
		return 0, err
	}
	var refused error
	for _, on := range cards {
		made, err := on.vectors.NewSpace(ctx, backend.Elements{Element: e, Count: count})
		if err == nil {
			id, err := b.keepSpace(made, on)
			if err != nil {
				return 0, errors.Join(err, made.Free())
			}
			return id, nil
		}
		switch {
		case on.err() != nil:
			b.lose(on)
		case !errors.Is(err, backend.ErrOutOfMemory):
			return 0, err
		}
		refused = cmp.Or(refused, err)
	}
	return 0, cmp.Or(b.err(), refused)
}

// keepSpace keeps a space that was made on a card, unless the card is lost.
func (b *Backend) keepSpace(made *vector.Space, on *card) (backend.SpaceID, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := cmp.Or(b.cause, on.err()); err != nil {
		return 0, err
	}
	s := &space{Elements: made.Elements, copying: semaphore.NewWeighted(1), copies: map[*card]*copied{on: {Space: made}}, active: true}
	b.spaces[s] = struct{}{}
	return b.kept.AddSpace(s.Elements, s), nil
}

// FreeSpace wipes a space once the programs that use it have ended.
func (b *Backend) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	return b.kept.FreeSpace(ctx, id, func(s *space) error { return drop(b, b.spaces, s, func() error { return b.free(s) }) })
}

// use is a space that a program uses.
type use struct {
	*space
	id     backend.SpaceID
	writes bool
}

// uses returns the spaces that a program uses, and which it writes.
func uses(steps []backend.Step, of map[backend.SpaceID]*resident.Entry[*space]) []use {
	writes := make(map[backend.SpaceID]bool)
	for _, s := range steps {
		for _, a := range backend.Accesses(s) {
			writes[a.Space] = writes[a.Space] || a.Writes
		}
	}
	var all []use
	for id, r := range of {
		all = append(all, use{r.Kept, id, writes[id]})
	}
	return all
}

// gather picks a card for a program and makes valid copies of its spaces there. It waits
// for programs that write those spaces on another card, and for room. If no card has room
// and no other program runs, it returns backend.ErrOutOfMemory. The caller calls end when
// the program is done, and says whether the card was lost.
func (b *Backend) gather(ctx context.Context, all []use) (on *card, copies map[backend.SpaceID]*copied, end func(lost bool), err error) {
	full := make(map[*card]bool) // cards without room
	alone := true                // no other program was under way when they had no room
	last := false                // this is the program that waits for room
	var refused error
	for {
		b.mu.Lock()
		if b.cause != nil {
			b.mu.Unlock()
			return nil, nil, nil, b.cause
		}
		on, wait := b.chooseLocked(all, full)
		if on == nil {
			written, others := b.written, b.programs > 0
			b.mu.Unlock()
			switch {
			case !wait && alone:
				return nil, nil, nil, refused
			case !wait && !last: // one at a time: else two could wait for each other for ever
				if err := b.tight.Acquire(ctx, 1); err != nil {
					return nil, nil, nil, backend.Ended(ctx)
				}
				defer b.tight.Release(1)
				last = true
			case wait || others:
				select {
				case <-written:
				case <-ctx.Done():
					return nil, nil, nil, backend.Ended(ctx)
				}
			}
			clear(full)
			alone = true
			continue
		}
		for _, u := range all {
			if u.writes {
				u.writers++
				u.at = on
			}
		}
		b.programs++
		b.begun++
		begun := b.begun
		alone = alone && b.programs == 1
		b.mu.Unlock()

		copies = make(map[backend.SpaceID]*copied)
		for _, u := range all {
			var c *copied
			if c, err = b.bring(ctx, u.space, on); err != nil {
				break
			}
			copies[u.id] = c
		}
		if err == nil {
			return on, copies, func(lost bool) { b.leave(all, copies, on, true, lost) }, nil
		}
		alone = b.leave(all, copies, on, false, false) == begun && alone
		switch {
		case on.err() != nil:
			b.lose(on)
		case errors.Is(err, backend.ErrOutOfMemory):
			full[on] = true
			refused = cmp.Or(refused, fmt.Errorf("a program's vectors together on one GPU: %w", err))
		default:
			return nil, nil, nil, err
		}
	}
}

// chooseLocked picks the card for a program. If other programs are writing a space that it writes,
// that is their card. Otherwise it is the card to which the least must be copied: first of what the
// program writes, then of what it reads. Without a card, wait says whether to wait until others
// have written; if not, no card will do. The caller holds mu.
func (b *Backend) chooseLocked(all []use, full map[*card]bool) (on *card, wait bool) {
	for _, u := range all {
		if !u.writes || u.writers == 0 {
			continue
		}
		if on != nil && on != u.at || full[u.at] {
			return nil, true
		}
		on = u.at
	}
	seats, _ := b.liveLocked()
	if on != nil {
		there := slices.ContainsFunc(seats, func(s *seat) bool { return s.card == on })
		if !there {
			on = nil // its programs end soon
		}
		return on, !there
	}
	var best [3]float64
	for _, s := range seats {
		if full[s.card] {
			continue
		}
		cost := [3]float64{2: s.queued}
		for _, u := range all {
			switch {
			case u.hasLocked(s.card):
			case u.writes:
				cost[0] += float64(u.bytes())
			default:
				cost[1] += float64(u.bytes())
			}
		}
		if on == nil || slices.Compare(cost[:], best[:]) < 0 {
			on, best = s.card, cost
		}
	}
	return on, false
}

// bring gives a card a valid copy of a space, and counts a use of it.
func (b *Backend) bring(ctx context.Context, s *space, on *card) (*copied, error) {
	if c := b.found(s, on); c != nil {
		return c, nil
	}
	if err := s.copying.Acquire(ctx, 1); err != nil {
		return nil, backend.Ended(ctx)
	}
	defer s.copying.Release(1)
	for {
		if c := b.found(s, on); c != nil { // another program has brought it
			return c, nil
		}
		c, source, err := b.renew(ctx, s, on)
		if err == nil || source == nil || source.err() == nil {
			return c, err
		}
		b.lose(source)
	}
}

// leftToWork is the share, one in leftToWork, of a card's memory that copies leave free. Vectors
// that come together on one card must not fill it, because its programs need memory too.
const leftToWork = 8

// renew makes a copy on a card or renews an old one, and counts a use. It also returns the card
// from which it copied. The caller holds the space's copying.
func (b *Backend) renew(ctx context.Context, s *space, on *card) (c *copied, source *card, err error) {
	b.mu.Lock()
	valid := b.validLocked(s)
	if len(valid) == 0 {
		defer b.mu.Unlock()
		return nil, nil, cmp.Or(b.cause, fmt.Errorf("%w: no GPU has the vectors", backend.ErrInternal))
	}
	source = valid[0]
	from, version := s.copies[source], s.version
	c = s.copies[on]
	fresh := c == nil
	if fresh {
		c = &copied{version: -1}
		s.copies[on] = c
	}
	c.users++
	from.users++
	b.mu.Unlock()
	if fresh {
		if err = b.fits(on); err == nil {
			c.Space, err = on.vectors.NewSpace(ctx, s.Elements)
		}
	}
	if err == nil && version > 0 { // otherwise nobody has written it, and zeros are right
		err = c.CopyFrom(ctx, from.Space)
	}
	b.mu.Lock()
	from.users--
	if err == nil {
		c.version = version
	} else {
		c.users--
		if fresh {
			delete(s.copies, on)
		}
	}
	b.mu.Unlock()
	if err != nil && c.Space != nil && fresh {
		err = errors.Join(err, c.Free())
	}
	if err != nil {
		return nil, source, err
	}
	return c, source, nil
}

// fits drops copies on a card that other cards have too, until the spaces on it leave the memory
// free that they must.
func (b *Backend) fits(on *card) error {
	for {
		b.mu.Lock()
		var taken int64
		for s := range b.spaces {
			if s.copies[on] != nil {
				taken += s.bytes()
			}
		}
		b.mu.Unlock()
		most := on.Budget() - on.Budget()/leftToWork
		if taken <= most {
			return nil
		}
		spare := copiesOn{b, on}
		if spare.Held() == 0 {
			return fmt.Errorf("%w: vectors of %d bytes on one GPU, which has %d for them", backend.ErrOutOfMemory, taken, most)
		}
		if err := spare.Drop(); err != nil {
			return err
		}
	}
}

// found returns the valid copy on a card and counts a use of it, or returns nil.
func (b *Backend) found(s *space, on *card) *copied {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !s.hasLocked(on) {
		return nil
	}
	s.copies[on].users++
	return s.copies[on]
}

// leave ends a program; ran says whether it has run. It returns how many programs have begun. If
// the card is lost, the spaces that the program was to write are as they were before, if other
// cards have them.
func (b *Backend) leave(all []use, copies map[backend.SpaceID]*copied, on *card, ran, lost bool) (begun int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.programs--
	for _, u := range all {
		c := copies[u.id]
		if c != nil {
			c.users--
		}
		if u.writes {
			u.writers--
		}
		if !ran {
			continue
		}
		u.active = u.writes
		if u.writes && !lost {
			u.version++
			c.version = u.version
		}
	}
	close(b.written)
	b.written = make(chan struct{})
	if ran && !lost && on.err() != nil && b.cause == nil {
		// The card was lost after the program; lose did not know yet what the program had written.
		if err := b.completeLocked(); err != nil {
			b.endLocked(err)
		}
	}
	return b.begun
}

// copiesOn are the copies of spaces on a card that are out of date or that other cards have too.
// They are a device.Spare: reading such a space here again costs a copy from another card.
type copiesOn struct {
	*Backend
	card *card
}

// spareLocked yields the copies that may be dropped. The caller holds mu.
func (c copiesOn) spareLocked(yield func(*space, *copied) bool) {
	for s := range c.spaces {
		d := s.copies[c.card]
		if d == nil || d.users > 0 {
			continue
		}
		valid := c.validLocked(s)
		if len(valid) == 0 || len(valid) == 1 && valid[0] == c.card {
			continue
		}
		if !yield(s, d) {
			return
		}
	}
}

// Held returns the bytes of the copies that may be dropped.
func (c copiesOn) Held() (bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s := range c.spareLocked {
		bytes += s.bytes()
	}
	return bytes
}

// spareCopies registers a card's copies as spare memory, if there are other cards.
func (b *Backend) spareCopies(c *card) error {
	if len(b.seats) == 1 {
		return nil
	}
	turn, err := c.Turn(b.closing)
	if err != nil {
		return err
	}
	turn.Spare(copiesOn{b, c})
	return turn.End()
}

// Drop gives one copy back.
func (c copiesOn) Drop() error {
	c.mu.Lock()
	var dropped *copied
	for s, d := range c.spareLocked {
		delete(s.copies, c.card)
		dropped = d
		break
	}
	c.mu.Unlock()
	if dropped == nil {
		return nil
	}
	return dropped.Free()
}
