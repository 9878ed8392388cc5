package cuda

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/device"
	"github.com/pippin-zk/pippin/backend/cuda/internal/msm"
	"github.com/pippin-zk/pippin/backend/cuda/internal/vector"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/msmplan"
	"github.com/pippin-zk/pippin/kernels"
)

// card is a GPU that is open, until it is closed or lost.
type card struct {
	*device.Device
	msm     *msm.Computer
	vectors *vector.Computer
	compute func(ctx context.Context, jobs []msm.Job) ([][]byte, error) // msm's
	closed  chan struct{}
	wrong   atomic.Pointer[error] // its wrong answer, if it gave one
}

// err returns why the card must not be used any more: its driver lost it, or it computes wrongly.
func (c *card) err() error {
	if wrong := c.wrong.Load(); wrong != nil {
		return *wrong
	}
	return c.Driver().Err()
}

func openCard(ordinal int, o Options) (*card, error) {
	dev, err := device.Open(ordinal, device.Options{Memory: o.Memory, Trace: o.Trace})
	if err != nil {
		return nil, err
	}
	computer, err := msm.New(dev)
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	if err := tune(computer, dev.Driver().Info().Name, o); err != nil {
		return nil, errors.Join(err, computer.Close(), dev.Close())
	}
	c := &card{Device: dev, msm: computer, vectors: vector.New(dev, computer), compute: computer.Compute, closed: make(chan struct{})}
	if o.tests.compute != nil {
		c.compute = o.tests.compute(computer)
	}
	return c, nil
}

// tune gives a computer the tuning table for this card, if there is one.
func tune(c *msm.Computer, card string, o Options) error {
	path := msmplan.OwnFile(o.Tuning, card)
	if path == "" {
		return nil
	}
	own, err := msmplan.ReadTable(path)
	if err == nil {
		err = c.Tune(own)
	}
	switch {
	case err == nil || o.Tuning == "" && errors.Is(err, fs.ErrNotExist):
		return nil
	case o.Tuning == "":
		o.Log.Warn("a table of tuning is not used", "reason", err)
		return nil
	}
	return fmt.Errorf("%w: tuning: %w", backend.ErrUnavailable, err)
}

func (c *card) close() error {
	close(c.closed)
	return errors.Join(c.vectors.Close(), c.msm.Close(), c.Device.Close())
}

// describe describes the card for users.
func (c *card) describe() backend.Device {
	info, memory := c.Driver().Info(), c.Budget()
	return backend.Device{
		Name: info.Name, Memory: uint64(memory),
		Detail: fmt.Sprintf("%s, %v, kernels %s, %d MiB to compute with, %v", info.UUID, info, kernels.Digest(), memory>>20, c.msm.Tuning()),
	}
}

// seat is the place of a GPU in a backend, which stays when the GPU is lost.
type seat struct {
	ordinal int
	speed   float64 // of the card; that of the fastest card is 1
	threads *threads

	// Under Backend.mu:
	card    *card  // nil while it is lost
	broken  *card  // the lost card, to be reset
	retired string // why it is not opened again, for users; "" if it may be
	tries   int    // to get it back, since it last answered
	queued  float64
	before  usage // of earlier cards in this seat
}

// usage says how cards were used.
type usage struct {
	device backend.DeviceUsage
	stages []backend.StageUsage
}

// add adds the usage of a card.
func (u *usage) add(c *card) {
	device, stages := c.Usage()
	u.device.Busy += device.Busy
	u.device.Waited += device.Waited
	u.device.Calls += device.Calls
	u.device.Energy = device.Energy // the card itself counts it
	u.device.Multiples += c.msm.Multiples()
	u.stages = addStages(u.stages, stages)
}

// addStages returns a new list with the sums by name.
func addStages(to, more []backend.StageUsage) []backend.StageUsage {
	to = slices.Clone(to)
	for _, m := range more {
		i := slices.IndexFunc(to, func(s backend.StageUsage) bool { return s.Name == m.Name })
		if i < 0 {
			to = append(to, m)
		} else {
			to[i].Busy += m.Busy
		}
	}
	return to
}

// openSeats opens the cards that a list names. If the list names all cards, it leaves out those
// that cannot be opened, unless none can.
func openSeats(o Options) ([]*seat, error) {
	there, err := driver.Devices()
	if err != nil {
		return nil, err
	}
	chosen, err := choose(o.Devices, there)
	if err != nil {
		return nil, err
	}
	seats := make([]*seat, len(chosen))
	errs := make([]error, len(chosen))
	var group errgroup.Group
	for i, ordinal := range chosen {
		group.Go(func() error {
			c, err := openCard(ordinal, o)
			errs[i] = err
			info := there[ordinal]
			seats[i] = &seat{ordinal: ordinal, card: c, threads: threadsNear(info.PCI),
				speed: float64(max(info.Multiprocessors, 1)) * float64(max(info.ClockKHz, 1))}
			return nil
		})
	}
	_ = group.Wait()
	var open []*seat
	fastest := 0.0
	for i, s := range seats {
		if errs[i] == nil {
			open, fastest = append(open, s), max(fastest, s.speed)
		}
	}
	if err := errors.Join(errs...); err != nil && (o.Devices != "" || len(open) == 0) {
		for _, s := range open {
			err = errors.Join(err, s.card.close())
		}
		return nil, err
	}
	for i, err := range errs {
		if err != nil {
			o.Log.Warn("a GPU is left out", "ordinal", chosen[i], "reason", err)
		}
	}
	for _, s := range open {
		s.speed /= fastest
	}
	return open, nil
}

// liveLocked returns the seats whose cards are there, and these cards. The caller holds mu.
func (b *Backend) liveLocked() (seats []*seat, on []*card) {
	for _, s := range b.seats {
		if s.card != nil {
			seats, on = append(seats, s), append(on, s.card)
		}
	}
	return seats, on
}

// cards returns the cards that are there, or b.err if there are none.
func (b *Backend) cards() ([]*card, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, on := b.liveLocked()
	if b.cause != nil {
		return nil, b.cause
	}
	return on, nil
}

// err returns why the backend is gone, or nil.
func (b *Backend) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// watch takes a card out when its driver reports it as lost.
func (b *Backend) watch(c *card) {
	select {
	case <-c.Driver().Lost():
		b.lose(c)
	case <-c.closed:
	}
}

// lose takes out a card that was lost. If the other cards have everything that it had, the backend
// goes on with them and tries to get it back. Otherwise the backend is gone, and whoever opens
// another loads everything again.
func (b *Backend) lose(c *card) {
	cause := c.err()
	b.mu.Lock()
	defer b.mu.Unlock()
	var s *seat
	for _, other := range b.seats {
		if other.card == c {
			s = other
		}
	}
	if s == nil || b.closing.Err() != nil {
		return
	}
	s.card, s.broken = nil, c
	wrong := c.wrong.Load() != nil
	if wrong {
		s.retired = cause.Error()
	}
	if err := b.completeLocked(); err != nil {
		b.endLocked(fmt.Errorf("%w, and %w", cause, err))
		return
	}
	if wrong {
		b.options.Log.Error("a GPU computes wrongly, the others go on", "ordinal", s.ordinal, "reason", cause)
		return
	}
	b.options.Log.Warn("a GPU was lost, the others go on", "ordinal", s.ordinal, "reason", cause)
	b.healing.Go(func() { b.heal(s) })
}

// endLocked ends the backend for the reason cause. The caller holds mu.
func (b *Backend) endLocked(cause error) {
	if b.cause == nil {
		b.cause = cause
		close(b.lost)
	}
}

// completeLocked returns an error that says what is lost, or nil if the cards that are there have
// everything that is kept. The caller holds mu.
func (b *Backend) completeLocked() error {
	_, on := b.liveLocked()
	if len(on) == 0 {
		return fmt.Errorf("%w: there is no other GPU", backend.ErrGone)
	}
	for bases := range b.bases {
		if !bases.on(on) {
			return fmt.Errorf("%w: bases were on it alone", backend.ErrGone)
		}
	}
	for s := range b.spaces {
		if len(b.validLocked(s)) == 0 {
			return fmt.Errorf("%w: vectors were on it alone", backend.ErrGone)
		}
	}
	return nil
}

// heal tries to get a lost card back until the backend ends. The pauses between its tries grow.
func (b *Backend) heal(s *seat) {
	for {
		b.mu.Lock()
		tries := s.tries
		s.tries++
		b.mu.Unlock()
		wait := time.NewTimer(b.options.tests.pause(tries))
		select {
		case <-wait.C:
		case <-b.closing.Done():
			wait.Stop()
			return
		}
		err := b.alone(func() error { return b.reopen(s) })
		if b.closing.Err() != nil {
			return
		}
		switch {
		case err == nil:
			b.options.Log.Info("a lost GPU is back", "ordinal", s.ordinal)
			return
		case errors.Is(err, errWrong):
			b.options.Log.Error("a lost GPU computes wrongly and is not used any more", "ordinal", s.ordinal, "reason", err)
			return
		}
		b.options.Log.Warn("a lost GPU does not come back yet", "ordinal", s.ordinal, "reason", err)
	}
}

// mostWait is how long new calls are held up while those in flight end. One of these may wait for
// its scalars, and must not stop the others for long.
const mostWait = 2 * time.Second

// alone runs f while no call is in flight, because the other cards read memory that a lost card had
// registered.
func (b *Backend) alone(f func() error) error {
	ctx, cancel := context.WithTimeout(b.closing, mostWait)
	defer cancel()
	if err := b.calls.Acquire(ctx, everyCall); err != nil {
		return fmt.Errorf("calls on the others do not end within %v: %w", mostWait, err)
	}
	defer b.calls.Release(everyCall)
	return f()
}

// reopen opens a lost card again and gives it what the others have. No call may be in flight.
func (b *Backend) reopen(s *seat) error {
	ctx := b.closing
	b.mu.Lock()
	broken := s.broken
	if s.broken = nil; broken != nil {
		s.before.add(broken)
	}
	b.mu.Unlock()
	if broken != nil {
		close(broken.closed)
		broken.msm.Quiet()
		broken.Driver().Reset()
	}
	c, err := openCard(s.ordinal, b.options)
	if err != nil {
		return err
	}
	if err := b.test(ctx, s, c); err != nil {
		b.mu.Lock()
		s.retired = err.Error()
		b.mu.Unlock()
		return errors.Join(err, c.close())
	}
	copies, err := b.copies(ctx, c)
	if err == nil {
		err = b.spareCopies(c)
	}
	if err != nil {
		return errors.Join(err, c.close()) // which frees what was copied
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for of, loaded := range copies {
		of.held[c] = held{span{0, of.Count}, loaded}
	}
	_, others := b.liveLocked()
	s.card = c
	for a := range b.arenas {
		_ = a.register(append(others, c)) // if it fails, it is read the slow way
	}
	go b.watch(c)
	return nil
}

// copies loads to a card the kept bases that another card has, as far as there is room.
func (b *Backend) copies(ctx context.Context, to *card) (map[*bases]*msm.Bases, error) {
	b.mu.Lock()
	_, others := b.liveLocked()
	kept := slices.Collect(maps.Keys(b.bases))
	cause := b.cause
	b.mu.Unlock()
	copies := make(map[*bases]*msm.Bases)
	for _, of := range kept {
		if cause != nil {
			break
		}
		var loaded *msm.Bases
		if loaded, cause = of.copy(ctx, to, others); loaded != nil {
			copies[of] = loaded
		}
	}
	return copies, cause
}

// pause returns how long to wait before a lost card is tried again. It grows with every try.
func (h *hooks) pause(tries int) time.Duration {
	least := h.retry
	if least == 0 {
		least = leastPause
	}
	return min(least<<min(tries, 16), mostPause)
}

const (
	leastPause = time.Second
	mostPause  = 2 * time.Minute
)

// eachCard runs f for cards at the same time and returns the first error.
func eachCard(ctx context.Context, on []*card, f func(ctx context.Context, i int, c *card) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range on {
		group.Go(func() error { return f(ctx, i, c) })
	}
	return group.Wait()
}
