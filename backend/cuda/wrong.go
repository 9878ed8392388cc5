package cuda

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/resident"
)

// errWrong is why a card is retired.
var errWrong = errors.New("it computes wrongly")

// Test implements backend.Tester. A backend that was opened with one card is not tested: whoever calls it
// can find out by any call.
func (b *Backend) Test(ctx context.Context) (err error) {
	if !b.tests() {
		return fmt.Errorf("%w: tests of GPUs", backend.ErrUnsupported)
	}
	end, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	defer resident.Caught(&err)
	b.mu.Lock()
	seats, on := b.liveLocked()
	b.mu.Unlock()
	_ = eachCard(ctx, on, func(ctx context.Context, i int, c *card) error {
		if wrong := b.test(ctx, seats[i], c); wrong != nil {
			c.wrong.Store(&wrong)
			b.lose(c)
		}
		return nil
	})
	if err := b.err(); err != nil {
		return err
	}
	return backend.Ended(ctx)
}

// tests reports whether there are tests of cards.
func (b *Backend) tests() bool { return len(b.seats) > 1 && b.options.Test != nil }

// test has one card compute what Options.Test asks for, and returns an error if it computes wrongly.
func (b *Backend) test(ctx context.Context, s *seat, c *card) (err error) {
	if b.options.Test == nil {
		return nil
	}
	one := b.only(s, c)
	defer one.Close()
	if err := b.options.Test(ctx, one); err != nil {
		return fmt.Errorf("GPU %d (%s): %w: %w", s.ordinal, c.Driver().Info().UUID, errWrong, err)
	}
	return nil
}

// only returns a backend of one card of b. Closing it leaves the card open.
func (b *Backend) only(s *seat, c *card) *oneCard {
	one := &Backend{
		options: b.options, seats: []*seat{{ordinal: s.ordinal, speed: 1, threads: s.threads, card: c}}, info: b.info,
		kept: resident.New[*bases, *space]("cuda"), calls: semaphore.NewWeighted(everyCall), tight: semaphore.NewWeighted(1),
		bases: make(map[*bases]struct{}), spaces: make(map[*space]struct{}), written: make(chan struct{}), arenas: make(map[*arena]struct{}),
		lost: make(chan struct{}), gone: make(chan struct{}),
	}
	one.info.Devices = []backend.Device{c.describe()}
	one.closing, one.stop = context.WithCancel(b.closing)
	return &oneCard{one}
}

// oneCard is a backend of a card that belongs to another backend.
type oneCard struct{ *Backend }

// Close gives back what was taken on the card.
func (o *oneCard) Close() error {
	bases, spaces, _ := o.kept.Close()
	o.stop()
	return o.release(bases, spaces)
}
