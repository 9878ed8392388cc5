package device

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// Turn is the exclusive use of a card until End.
type Turn struct {
	// Compute is the stream for kernels, and Copy is for copies beside them. Beside is for kernels
	// that need few blocks while those of Compute need many: they prepare what later kernels of
	// Compute read, or end what earlier ones began. It has the higher priority for free blocks.
	Compute, Copy, Beside *driver.Stream

	dev    *Device
	card   *Turn           // of a LongTurn that is not paused: the turn that passes the card on
	ctx    context.Context // of the call whose turn it is, for the trace
	order  *driver.Event   // orders the wipe before what follows on the other streams
	tracer tracer

	work    *driver.Memory // nil if there is none
	lent    bool           // Work has given it out in this turn
	secret  int64          // how many bytes, from the first on, must be overwritten
	since   time.Time      // when the first of them were given out
	queued  bool           // something may run that nobody has waited for
	results *driver.Host   // pinned; nil if there are none
	ends    []func()       // see OnEnd
}

func newTurn(d *Device) (_ *Turn, err error) {
	t := &Turn{dev: d}
	t.tracer.turn = t
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	for _, s := range []**driver.Stream{&t.Compute, &t.Copy} {
		if *s, err = d.driver.NewStream(); err != nil {
			return nil, err
		}
	}
	if t.Beside, err = d.driver.NewUrgentStream(); err != nil {
		return nil, err
	}
	if t.order, err = d.driver.NewEvent(false); err != nil {
		return nil, err
	}
	d.budget.spares = append(d.budget.spares, t)
	return t, nil
}

// Available returns how many bytes Work or Keep could take. While others have the card's memory, it looks
// whether they have given it back: a call that plans with too little is refused without asking the driver.
func (t *Turn) Available() int64 {
	d := t.dev
	if d.budget.short() && time.Since(d.measured) > lookedAgain {
		d.remeasure(d.budget.widen)
	}
	return d.budget.left()
}

// Work returns size bytes of work memory, until the next Work or End. Their contents are undefined
// at first. The first secret bytes are overwritten once nobody has had a turn for a while (see
// End); the others hold nothing secret and are not. If there is too little memory, the error wraps
// backend.ErrOutOfMemory and no work memory is left.
func (t *Turn) Work(size, secret int64) (driver.Span, error) {
	if t.work == nil || t.work.Size() < size || t.crowds(size) {
		if err := t.Drop(); err != nil {
			return driver.Span{}, err
		}
		m, err := t.dev.alloc(size)
		if err != nil {
			return driver.Span{}, fmt.Errorf("work memory of %d bytes: %w", size, err)
		}
		t.work = m
	}
	t.lent, t.queued = true, true
	if t.secret == 0 {
		t.since = time.Now()
	}
	t.secret = max(t.secret, secret)
	return t.work.Span().Slice(0, size), nil
}

// crowds reports whether work memory from before has more beyond size than the card has left beside it. Then the
// turn takes less, for what it takes later, such as tables of transforms, is counted as left when it is planned.
func (t *Turn) crowds(size int64) bool { return t.work.Size()-size > t.dev.budget.left()-t.Held() }

// leastResults is the least pinned memory that is taken for results. Open takes that much, so that a
// machine that pins none says so then.
const leastResults = 1 << 16

// Results returns size bytes of pinned memory for results, until the next Results or End.
func (t *Turn) Results(size int64) (*driver.Host, error) {
	if t.results != nil && t.results.Span().Size() >= size {
		return t.results, nil
	}
	if t.results != nil {
		if err := t.results.Free(); err != nil {
			return nil, err
		}
		t.results = nil
	}
	h, err := t.dev.driver.AllocHost(max(size, leastResults))
	if err != nil {
		return nil, err
	}
	t.results = h
	return h, nil
}

// Keep takes memory that stays. The error wraps backend.ErrOutOfMemory if there is no room for it,
// or if suffices says that too little would be left for work.
func (t *Turn) Keep(size int64, suffices func(left int64) error) (*Memory, error) {
	if err := suffices(t.Available() - size); err != nil {
		return nil, err
	}
	m, err := t.dev.alloc(size)
	if err != nil {
		return nil, err
	}
	return &Memory{t.dev, m}, nil
}

// Spare registers memory of Keep as memory that its owner can make again.
func (t *Turn) Spare(s Spare) { t.dev.budget.spares = append(t.dev.budget.spares, s) }

// OnEnd makes the turn call f when it ends, before the next turn begins.
func (t *Turn) OnEnd(f func()) { t.ends = append(t.ends, f) }

// Send copies to the card on the stream Copy. It does not wait if the card can read src by itself.
// Other memory is copied when it returns.
func (t *Turn) Send(dst driver.Span, src []byte) error {
	if h, ok := t.dev.driver.FindHost(src); ok {
		return t.Copy.Upload(dst, h)
	}
	return t.Copy.Write(dst, src)
}

// Waited says that the caller has waited for everything that it queued, so that End need not wait.
func (t *Turn) Waited() { t.queued = false }

// Secrets in work memory, on the stacks of kernels and in shared memory are overwritten when the
// card has had no turn for idle. A card that is never idle overwrites them at the end of a turn,
// once they are older than keeps allows.
const (
	idle     = 5 * time.Millisecond
	mostKept = 100 * time.Millisecond
)

// keeps returns how long a busy card keeps secret bytes: at least mostKept. The next turn waits for
// the wiping, and overwrites most of the memory anyway. So large memory is kept longer: 50 ms for
// each GB, up to a second. A card that overwrites 2 GB in a millisecond then spends a hundredth of
// its time on it.
func keeps(secret int64) time.Duration {
	const longest, share, bytesPerNanosecond = time.Second, 100, 2e3
	return min(max(mostKept, time.Duration(share*float64(secret)/bytesPerNanosecond)), longest)
}

// Pause lets waiting calls use the card during a turn of LongTurn, and waits until it has the card
// again. Before that it waits for what was queued. Work memory, results and streams stay as they
// are. What the caller has read under the turn may have changed. After an error only End may be
// called.
func (t *Turn) Pause(ctx context.Context) error {
	if t.card == nil || !t.dev.Contended() {
		return nil
	}
	if err := t.settle(); err != nil {
		return err
	}
	t.tracer.report()
	t.dev.pass(t.card)
	err := backend.Yield(ctx)
	// After an error too: End hands the work memory on, for which it needs the turn.
	again, waits := t.dev.wait(context.WithoutCancel(ctx))
	t.card, t.queued = again, true
	return errors.Join(err, waits, t.Mark("pause"))
}

// End passes the turn on. If the call failed, it first waits for whatever was queued, so that
// nothing reads the caller's memory any more. It wipes pinned memory at once, and the card as idle
// and keeps say.
func (t *Turn) End() error {
	d := t.dev
	err := t.settle()
	for _, old := range append(d.idleLong, t) {
		if old.secret > 0 && time.Since(old.since) > keeps(old.secret) {
			err = errors.Join(err, old.wipe())
		}
	}
	t.tracer.report()
	if t.results != nil {
		t.results.Wipe()
	}
	for _, f := range t.ends {
		f()
	}
	t.lent, t.ctx, t.ends = false, nil, nil
	card := t
	if t.card != nil {
		card, t.card = t.card, nil
		d.idleLong = append(d.idleLong, t)
		d.long--
	}
	d.pass(card)
	d.sweep.Reset(idle)
	return err
}

// sweepIdle wipes if nobody has the turn. If somebody has, his End starts the timer again.
func (d *Device) sweepIdle() {
	select {
	case t, open := <-d.turns:
		if !open {
			return
		}
		for _, old := range append(d.idleLong, t) {
			if old.secret > 0 {
				old.ctx = context.Background()
				// If this fails, the card has failed, and the next call says so.
				_ = errors.Join(old.Mark("idle"), old.wipe())
				old.tracer.report()
				old.ctx = nil
			}
		}
		d.retry()
		if time.Since(d.measured) > remeasured {
			d.remeasure(d.budget.widen)
		}
		d.turns <- t
	default:
	}
}

// wipe queues the overwriting of secrets. Everything before it has been waited for, and what is
// queued later runs after it.
func (t *Turn) wipe() error {
	if t.secret == 0 || t.work == nil {
		return nil
	}
	err := errors.Join(
		t.Compute.Fill(t.work.Span().Slice(0, t.secret), 0),
		t.dev.erase(t.Compute),
		t.Mark("wipe"),
		t.Compute.Record(t.order),
		t.Copy.Wait(t.order),
		t.Beside.Wait(t.order),
	)
	if err == nil {
		t.secret = 0
	}
	return err
}

// settle waits for what was queued.
func (t *Turn) settle() error {
	if !t.queued {
		return nil
	}
	t.queued = false
	return errors.Join(t.Copy.Synchronize(), t.Beside.Synchronize(), t.Compute.Synchronize())
}

// Held returns the bytes of work memory that no turn uses. A Turn is a Spare.
func (t *Turn) Held() int64 {
	if t.work == nil || t.lent {
		return 0
	}
	return t.work.Size()
}

// Drop wipes the work memory and gives it back.
func (t *Turn) Drop() error {
	if t.work == nil {
		return nil
	}
	err := errors.Join(t.settle(), t.wipe(), t.Compute.Synchronize())
	m := t.work
	t.work, t.secret, t.lent = nil, 0, false
	return t.dev.wiped(m, err)
}

func (t *Turn) close() error {
	errs := []error{t.Drop()}
	if t.results != nil {
		errs = append(errs, t.results.Free())
	}
	if t.order != nil {
		errs = append(errs, t.order.Close())
	}
	for _, s := range []*driver.Stream{t.Compute, t.Copy, t.Beside} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}
