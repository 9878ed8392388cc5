package cuda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/resident"
	"github.com/pippin-zk/pippin/kernels"
)

// Options of Open. The zero value is the default.
type Options struct {
	// Devices lists the cards to use; "" is every card. A card is named by its number, as the
	// driver counts the cards that the process sees (0, 1,3 or 0-3), or by its UUID or the
	// beginning of it, as nvidia-smi -L prints it (GPU-..., or MIG-... for a part of a card).
	Devices string
	// Memory bounds each card's memory for bases and work, in bytes: 0 is what is free when the
	// card is opened, less a reserve for code.
	Memory int64
	// Tuning is the file of a tuning table for these cards, as msm tune writes it; Open fails if it
	// cannot be used. "" is the file of msmplan.TableFile if that exists and can be used, and
	// "none" is no file.
	Tuning string
	// Trace, if set, is told how long the stages of each turn of a call took on the device, in
	// order, with the call's context. Usage then has their sums. Each stage costs an event.
	Trace func(ctx context.Context, stages []backend.StageUsage)
	// Test finds a card that computes wrongly, of several: it computes on a backend of one card something
	// whose answer it knows, and returns an error if the answer is wrong. A card that only refuses is not
	// accused. nil has no card tested.
	Test func(ctx context.Context, card backend.Backend) error
	// Log records which cards are left out, lost, back or retired; nil discards it.
	Log *slog.Logger

	tests *hooks // nil except in tests
}

// hooks are what tests may change.
type hooks struct {
	retry time.Duration // pause before a lost card is tried again; 0 is leastPause
	rules rules         // when jobs are split
	apart apart         // when bases are; zero is usualApart
	// compute replaces a card's Compute; nil leaves it.
	compute func(of *msm.Computer) func(ctx context.Context, jobs []msm.Job) ([][]byte, error)
}

// Backend is all cards of a host, or some of them.
type Backend struct {
	options Options
	seats   []*seat
	info    backend.Info
	kept    *resident.Set[*bases, *space]

	// calls has a unit for each call. A card that comes back takes all units, so that no call is in
	// flight.
	calls *semaphore.Weighted
	// tight has one unit. The one program that waits for room takes it.
	tight *semaphore.Weighted

	mu       sync.Mutex
	inFlight int
	bases    map[*bases]struct{}
	spaces   map[*space]struct{}
	programs int           // programs in flight
	begun    int           // programs that have begun so far
	written  chan struct{} // closed and replaced whenever a program ends
	arenas   map[*arena]struct{}
	cause    error         // why the backend is gone
	lost     chan struct{} // closed when cause is set

	closing context.Context // ends when Close is called
	stop    context.CancelFunc
	healing sync.WaitGroup
	gone    chan struct{} // closed when the backend is gone, or by Close
}

var (
	_ backend.Backend  = (*Backend)(nil)
	_ backend.Programs = (*Backend)(nil)
	_ backend.Metered  = (*Backend)(nil)
	_ backend.Tester   = (*Backend)(nil)
)

const everyCall = 1 << 40

// Open opens the devices. Without a device, a driver or support in this program, the error wraps
// backend.ErrUnavailable and says what to do.
func Open(o Options) (*Backend, error) {
	if err := curves.Check(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.tests == nil {
		o.tests = &hooks{rules: usual}
	}
	seats, err := openSeats(o)
	if err != nil {
		return nil, err
	}
	b := &Backend{
		options: o, seats: seats, kept: resident.New[*bases, *space]("cuda"), calls: semaphore.NewWeighted(everyCall),
		tight: semaphore.NewWeighted(1),
		bases: make(map[*bases]struct{}), spaces: make(map[*space]struct{}), written: make(chan struct{}), arenas: make(map[*arena]struct{}),
		lost: make(chan struct{}), gone: make(chan struct{}),
		info: backend.Info{
			Name: "cuda", Version: "kernels " + kernels.Digest(), InProcess: true, Can: backend.Capabilities{
				MSM: backend.CurveGroups(), Elements: slices.Concat(backend.SpaceElements(), backend.PointElements()), Numbers: backend.NumberOps(),
			},
		},
	}
	b.closing, b.stop = context.WithCancel(context.Background())
	for _, s := range seats {
		b.info.Devices = append(b.info.Devices, s.card.describe())
		if err := b.spareCopies(s.card); err != nil {
			return nil, errors.Join(err, b.Close())
		}
		go b.watch(s.card)
	}
	go func() {
		defer close(b.gone)
		select {
		case <-b.lost:
		case <-b.kept.Done():
		}
	}()
	if b.tests() {
		if err := b.Test(context.Background()); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", backend.ErrUnavailable, err), b.Close())
		}
	}
	return b, nil
}

// Info describes the devices. Memory is what may be used of each.
func (b *Backend) Info() backend.Info { return b.info }

// Usage returns how long calls had the devices and waited for them.
func (b *Backend) Usage() backend.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all backend.Usage
	for _, s := range b.seats {
		u := s.before
		for _, c := range []*card{s.card, s.broken} {
			if c != nil {
				u.add(c)
			}
		}
		u.device.Retired = s.retired
		all.Devices = append(all.Devices, u.device)
		all.Stages = addStages(all.Stages, u.stages)
	}
	return all
}

// Done returns a channel that is closed by Close, and when the devices are lost to this process, or
// vectors or bases that only a lost one held. Then only a new process helps.
func (b *Backend) Done() <-chan struct{} { return b.gone }

// Ping reports whether the backend is gone. It asks the devices nothing.
func (b *Backend) Ping(ctx context.Context) error {
	if err := b.kept.Ping(ctx); err != nil {
		return err
	}
	return b.err()
}

// begin counts a call in; end counts it out.
func (b *Backend) begin(ctx context.Context) (end func(), err error) {
	leave, err := b.kept.Begin()
	if err != nil {
		return nil, err
	}
	if err := b.calls.Acquire(ctx, 1); err != nil {
		leave()
		return nil, backend.Ended(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != nil {
		b.calls.Release(1)
		leave()
		return nil, b.cause
	}
	b.inFlight++
	return func() {
		b.mu.Lock()
		b.inFlight--
		b.mu.Unlock()
		b.calls.Release(1)
		leave()
	}, nil
}

// Close waits for the calls in flight and gives everything back.
func (b *Backend) Close() error {
	bases, spaces, first := b.kept.Close()
	if !first {
		return nil
	}
	b.mu.Lock()
	b.stop()
	b.mu.Unlock()
	b.healing.Wait()
	errs := []error{b.release(bases, spaces)}
	for _, s := range b.seats {
		s.threads.close()
		for _, c := range []*card{s.card, s.broken} {
			if c != nil {
				if err := c.close(); err != nil {
					errs = append(errs, fmt.Errorf("CUDA device %d: %w", s.ordinal, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// release gives back all bases and spaces.
func (b *Backend) release(bases []*bases, spaces []*space) error {
	var errs []error
	for _, kept := range bases {
		errs = append(errs, kept.free())
	}
	for _, kept := range spaces {
		errs = append(errs, b.free(kept))
	}
	return errors.Join(errs...)
}
