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
	// Compute is the stream for kernels, Copy for what is copied beside them, and
	// Beside for kernels that prepare what those of Compute need later: they have
	// the blocks that become free before these.
	Compute, Copy, Beside *driver.Stream

	dev    *Device
	card   *Turn           // of LongTurn, while it is not paused: what passes the card on
	ctx    context.Context // whose turn it is, for the trace
	order  *driver.Event   // of the wipe and what is on the other stream
	tracer tracer

	work    *driver.Memory // nil when there is none
	lent    bool           // Work gave it out in this turn
	secret  int64          // bytes from its beginning on that are to be overwritten
	since   time.Time      // when the first of them were given out
	queued  bool           // something may run that was not waited for
	results *driver.Host   // pinned; nil when there is none
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

// Available returns the bytes that Work or Keep could have.
func (t *Turn) Available() int64 { return t.dev.budget.left() }

// Work returns size bytes of work memory, until the next Work or End. What they hold at
// first is undefined. The first secret bytes are overwritten once nobody has had a turn
// for a while (see End), and the others, which hold what everybody may know, are not.
// When there are not as many, the error wraps backend.ErrOutOfMemory and no work memory
// is left.
func (t *Turn) Work(size, secret int64) (driver.Span, error) {
	if t.work == nil || t.work.Size() < size {
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

// Results returns size bytes of pinned memory for what comes back, until the next Results
// or End.
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
	h, err := t.dev.driver.AllocHost(max(size, 1<<16))
	if err != nil {
		return nil, err
	}
	t.results = h
	return h, nil
}

// Keep takes memory that stays. When there is no room for it, or suffices says
// that what would be left for work is not enough, the error wraps
// backend.ErrOutOfMemory.
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

// Spare registers memory of Keep that its owner can make again.
func (t *Turn) Spare(s Spare) { t.dev.budget.spares = append(t.dev.budget.spares, s) }

// OnEnd makes the turn call f when it ends, before anybody else has it.
func (t *Turn) OnEnd(f func()) { t.ends = append(t.ends, f) }

// Send copies to the card on the stream Copy: memory that the card can read by
// itself without waiting, any other before it returns.
func (t *Turn) Send(dst driver.Span, src []byte) error {
	if h, ok := t.dev.driver.FindHost(src); ok {
		return t.Copy.Upload(dst, h)
	}
	return t.Copy.Write(dst, src)
}

// Waited says that the caller has waited for everything that it queued, so that End
// need not.
func (t *Turn) Waited() { t.queued = false }

// What is secret in the work memory, on the stacks of kernels and in shared memory is
// overwritten when the card has had no turn for idle. A card that is never idle overwrites
// it at the end of a turn, once it is older than keeps allows.
const (
	idle     = 5 * time.Millisecond
	mostKept = 100 * time.Millisecond
)

// keeps returns how long a busy card keeps secret bytes, at least mostKept. The next turn
// waits for the wiping, and writes over most of the memory anyway. So large memory is kept
// longer, 50 ms for a GB and up to a second: a card that overwrites 2 GB in a millisecond
// then spends a hundredth of its time on it.
func keeps(secret int64) time.Duration {
	const longest, share, bytesPerNanosecond = time.Second, 100, 2e3
	return min(max(mostKept, time.Duration(share*float64(secret)/bytesPerNanosecond)), longest)
}

// Pause lets calls use the card that wait for it, in a turn of LongTurn, and waits until
// it has the card again. It first waits for what was queued. The work memory, the results
// and the streams stay as they are; what was read under the turn may have changed. An
// error ends the turn but for End.
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
	// Also after an error: End hands the work memory on, which takes the turn.
	again, waits := t.dev.wait(context.WithoutCancel(ctx))
	t.card, t.queued = again, true
	return errors.Join(err, waits, t.Mark("pause"))
}

// End passes the turn on. What was queued and not waited for, because the call
// failed, is waited for first, so that nothing reads the caller's memory any
// more; and everything is wiped, pinned memory at once and the card as idle has it.
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
	secret, card := t.secret > 0, t
	if t.card != nil {
		card, t.card = t.card, nil
		d.idleLong = append(d.idleLong, t)
		d.long--
	}
	d.pass(card)
	if secret {
		d.sweep.Reset(idle)
	}
	return err
}

// sweepIdle wipes where nobody has the turn: whoever has it comes here again.
func (d *Device) sweepIdle() {
	select {
	case t, open := <-d.turns:
		if !open {
			return
		}
		for _, old := range append(d.idleLong, t) {
			if old.secret > 0 {
				old.ctx = context.Background()
				// What cannot be wiped is of a card that fails: the next call says so.
				_ = errors.Join(old.Mark("idle"), old.wipe())
				old.tracer.report()
				old.ctx = nil
			}
		}
		d.turns <- t
	default:
	}
}

// wipe queues the overwriting of what is secret. Everything before it has been waited
// for, and what is queued after it comes after it.
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

// Held returns the bytes of work memory that nobody has: Turn is Spare.
func (t *Turn) Held() int64 {
	if t.work == nil || t.lent {
		return 0
	}
	return t.work.Size()
}

// Drop gives the work memory back, wiped.
func (t *Turn) Drop() error {
	if t.work == nil {
		return nil
	}
	err := errors.Join(t.settle(), t.wipe(), t.Compute.Synchronize())
	if t.dev.driver.Err() != nil {
		err = nil // a lost device's memory goes with the process
	}
	m := t.work
	t.work, t.secret, t.lent = nil, 0, false
	return errors.Join(err, t.dev.free(m))
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
