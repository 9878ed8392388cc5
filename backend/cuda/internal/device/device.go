package device

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/nvml"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/resident"
)

// Options of Open. The zero value is the default.
type Options struct {
	// Memory bounds the device memory in use, in bytes: 0 is what is free, less a reserve for code.
	// How much that is changes with what others have of the device.
	Memory int64
	// Trace, if set, is told after every turn how long its phases took on the device (Turn.Mark),
	// in order, with the context of the turn. Device.Usage then has their sums. It costs an event
	// for each phase, and a wait for the last.
	Trace func(ctx context.Context, phases []backend.StageUsage)
}

// Device is one open card. Its methods may be called from any goroutine. Those of a Turn may be
// called only by whoever has the turn.
type Device struct {
	driver *driver.Device
	code   *code
	budget budget
	// freeing is held for reading while memory is given back, and for writing while it is measured.
	freeing  sync.RWMutex
	measured time.Time      // when; under the turn
	wiper    *driver.Stream // for memory that is given back
	unwiped  unwiped
	trace    func(context.Context, []backend.StageUsage)
	meter    resident.Meter
	stages   struct {
		sync.Mutex
		sums []backend.StageUsage
	}

	stack   atomic.Int64 // the most bytes that a thread has left on its stack since the last wipe
	erasers struct {
		sync.Mutex
		of map[string]*eraser
	}

	// turns holds the turn while nobody has it. It is a channel, so that waiting for it ends with a
	// context.
	turns   chan *Turn
	waiting atomic.Int64 // calls that wait for the turn
	sweep   *time.Timer  // its timer starts the wiping of an idle card

	// Under the turn: the turns of LongTurn that nobody has, and how many have not ended.
	idleLong []*Turn
	long     int
}

// Open opens the card with an ordinal. Without a device, a driver or support in this program, the
// error wraps backend.ErrUnavailable and says what to do.
func Open(ordinal int, o Options) (_ *Device, err error) {
	drv, err := driver.Open(ordinal)
	if err != nil {
		return nil, err
	}
	d := &Device{driver: drv, code: newCode(drv), trace: o.Trace, turns: make(chan *Turn, 1)}
	d.erasers.of = make(map[string]*eraser)
	defer func() {
		if err != nil {
			d.abandon()
		}
	}()
	d.budget.most = o.Memory
	if err := d.measure(); err != nil {
		return nil, err
	}
	if d.wiper, err = drv.NewStream(); err != nil {
		return nil, err
	}
	t, err := newTurn(d)
	if err != nil {
		return nil, err
	}
	if _, err := t.Results(leastResults); err != nil {
		t.close()
		if errors.Is(err, backend.ErrOutOfMemory) {
			err = fmt.Errorf("no pinned memory on the host, which the card copies from: raise the limits of locked memory "+
				"(ulimit -l unlimited, docker run --ulimit memlock=-1) and of the container's memory: %w", err)
		}
		return nil, err
	}
	d.sweep = time.AfterFunc(idle, d.sweepIdle)
	d.turns <- t
	return d, nil
}

// abandon gives back what a device has that Open does not return.
func (d *Device) abandon() {
	if d.wiper != nil {
		d.wiper.Close()
	}
	d.driver.Close()
}

// Driver returns the card for what needs no turn: events, additional streams, registered memory.
// Memory on the card is taken through a Turn.
func (d *Device) Driver() *driver.Device { return d.driver }

// Budget returns how many bytes of the card's memory may be used at the moment.
func (d *Device) Budget() int64 { return d.budget.bound() }

// Turn waits for the turn to use the card. Turn.End passes it on.
func (d *Device) Turn(ctx context.Context) (*Turn, error) {
	t, err := d.wait(ctx)
	if err != nil {
		return nil, err
	}
	t.ctx = ctx
	return t, nil
}

// LongTurn waits for the turn as Turn does. The returned turn has separate streams, work memory and
// results, which stay while Pause lets others use the card.
func (d *Device) LongTurn(ctx context.Context) (*Turn, error) {
	card, err := d.wait(ctx)
	if err != nil {
		return nil, err
	}
	var t *Turn
	if n := len(d.idleLong); n > 0 {
		t, d.idleLong = d.idleLong[n-1], d.idleLong[:n-1]
	} else if t, err = newTurn(d); err != nil {
		d.pass(card)
		return nil, err
	}
	d.long++
	t.ctx, t.card = ctx, card
	return t, nil
}

// Contended reports whether a call waits for the turn.
func (d *Device) Contended() bool { return d.waiting.Load() > 0 }

// pass gives the turn to a call that waits for it.
func (d *Device) pass(t *Turn) {
	d.meter.End()
	d.turns <- t
}

// wait waits for the turn.
func (d *Device) wait(ctx context.Context) (*Turn, error) {
	if err := backend.Ended(ctx); err != nil {
		return nil, err
	}
	asked := time.Now()
	d.waiting.Add(1)
	defer d.waiting.Add(-1)
	select {
	case t, open := <-d.turns:
		if !open {
			return nil, fmt.Errorf("%w: CUDA device %d", backend.ErrClosed, d.driver.Info().Ordinal)
		}
		d.meter.Begin(time.Since(asked))
		return t, nil
	case <-ctx.Done():
		return nil, backend.Ended(ctx)
	}
}

// Usage returns how long turns had the card and waited for it, and how much energy the card has
// used. With a trace it also returns how long phases took on it.
func (d *Device) Usage() (backend.DeviceUsage, []backend.StageUsage) {
	used := d.meter.Usage()
	used.Energy, _ = nvml.Energy(d.driver.Info().UUID) // this does not keep turns waiting
	d.stages.Lock()
	defer d.stages.Unlock()
	return used, slices.Clone(d.stages.sums)
}

// Close waits for the turn and gives everything back. Closing twice is no error.
func (d *Device) Close() error {
	t, open := <-d.turns
	for ; open && d.long > 0; t, open = <-d.turns {
		d.turns <- t // a long turn is paused, and must end first
		time.Sleep(time.Millisecond)
	}
	if !open {
		return nil
	}
	d.sweep.Stop()
	close(d.turns)
	var errs []error
	for _, t := range append(d.idleLong, t) {
		errs = append(errs, t.close())
	}
	d.retry() // what stays ends with the context
	errs = append(errs, d.wiper.Close())
	return errors.Join(append(errs, d.code.close(), d.driver.Close())...)
}
