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
	// Devices lists the cards to use; "" is all of them. A card is named by its number,
	// as the driver counts those that the process sees (0, 1,3 or 0-3), or by its UUID,
	// as nvidia-smi -L writes it, or the beginning of that.
	Devices string
	// Memory bounds the memory for bases and work of each card, in bytes: 0 is
	// what is free when it is opened, less a reserve for code.
	Memory int64
	// Tuning is the file of a table of the cards' own by which MSMs are planned, as msm
	// tune writes it; one that cannot be used is an error of Open. "" is the file of
	// msmplan.TableFile where it is and can be used, "none" none.
	Tuning string
	// Trace, when set, is told how long the stages of each turn of a call took on
	// the device, in order, with the call's context. Usage has their sums then. It
	// costs an event a stage.
	Trace func(ctx context.Context, stages []backend.StageUsage)
	// Log hears of cards that are left out, lost, and back; nil discards it.
	Log *slog.Logger

	tests *hooks // nil but in tests
}

// hooks are what tests change.
type hooks struct {
	retry time.Duration // before a lost card is tried again; 0 is leastPause
	rules rules         // of splitting jobs
	apart apart         // bases; zero is usualApart
	// compute is what Compute of a card becomes; nil leaves it.
	compute func(of *msm.Computer) func(ctx context.Context, jobs []msm.Job) ([][]byte, error)
}

// Backend is the cards of a host, or some of them.
type Backend struct {
	options Options
	seats   []*seat
	info    backend.Info
	kept    *resident.Set[*bases, *space]

	// calls has a unit taken by each call, and all of them while a card comes back.
	calls *semaphore.Weighted
	// tight has one unit, for the program that waits for room.
	tight *semaphore.Weighted

	mu       sync.Mutex
	inFlight int
	bases    map[*bases]struct{}
	spaces   map[*space]struct{}
	programs int           // on their way
	begun    int           // programs, until now
	written  chan struct{} // closed, and made anew, when a program has ended
	arenas   map[*arena]struct{}
	cause    error         // why the backend is gone
	lost     chan struct{} // closed when cause is there

	closing context.Context // ends with Close
	stop    context.CancelFunc
	healing sync.WaitGroup
	gone    chan struct{} // closed when the backend is gone, or by Close
}

var (
	_ backend.Backend  = (*Backend)(nil)
	_ backend.Programs = (*Backend)(nil)
	_ backend.Metered  = (*Backend)(nil)
)

const everyCall = 1 << 40

// Open opens the devices. Where there is none, no driver or no support in this
// program, the error wraps backend.ErrUnavailable and says what to do.
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
	return b, nil
}

// Info describes the devices; Memory is what may be used of each.
func (b *Backend) Info() backend.Info { return b.info }

// Usage returns how long calls had the devices, and waited for them.
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
		all.Devices = append(all.Devices, u.device)
		all.Stages = addStages(all.Stages, u.stages)
	}
	return all
}

// Done returns a channel that Close closes, and that is closed when the devices, or what
// was on one of them alone, are lost to this process. Only a new process mends that.
func (b *Backend) Done() <-chan struct{} { return b.gone }

// Ping asks for nothing of the devices: it says whether the backend is gone.
func (b *Backend) Ping(ctx context.Context) error {
	if err := b.kept.Ping(ctx); err != nil {
		return err
	}
	return b.err()
}

// begin enters a call, which end leaves.
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
	var errs []error
	for _, kept := range bases {
		errs = append(errs, kept.free())
	}
	for _, kept := range spaces {
		errs = append(errs, b.free(kept))
	}
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
