package device

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
)

// reserve is device memory left to the driver, for code and the stacks of threads.
const reserve = 1 << 30

// least is the free memory without which a card is not opened: with less it computes nothing.
const least = 8 << 20

// leastPatience is how long Open waits for that much. A process that has just ended may still be
// giving back what it had.
const leastPatience = 3 * time.Second

// remeasured is the shortest time between two looks at how much of an idle card is free.
const remeasured = time.Second

// lookedAgain is the shortest time between two looks while others have taken what could be used before.
const lookedAgain = 100 * time.Millisecond

// budget counts how many bytes of a card's memory are in use. Memory is taken in a turn and given
// back at any time.
type budget struct {
	most   int64   // Options.Memory; 0 is no bound
	spares []Spare // in the order in which they are dropped; under the turn

	mu    sync.Mutex
	limit int64 // changes as others take the card's memory and give it back
	best  int64 // the highest limit so far
	used  int64
}

// Spare is memory that its owner can do without, because he can make it again.
type Spare interface {
	// Held returns the bytes that Drop would give back.
	Held() int64
	// Drop gives some of them back if there are any: all, or as few as it can. Held and Drop are
	// called in somebody's turn.
	Drop() error
}

// share returns how much of free memory may be used: a reserve stays, but not more than half.
func share(free int64) int64 { return max(free-reserve, free/2) }

// widen raises the limit to what may be used now that so much is free.
func (b *budget) widen(free int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = max(b.limit, share(free+b.used))
	if b.most > 0 {
		b.limit = min(b.limit, b.most)
	}
	b.best = max(b.best, b.limit)
}

// narrow lowers the limit, since others have so much of the card that only this is free.
func (b *budget) narrow(free int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = min(b.limit, b.used+share(free))
}

// short reports whether others have taken what could be used before.
func (b *budget) short() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit < b.best
}

// left returns the bytes that are free or spare.
func (b *budget) left() int64 {
	b.mu.Lock()
	left := b.limit - b.used
	b.mu.Unlock()
	for _, s := range b.spares {
		left += s.Held()
	}
	return left
}

// room drops spare memory until size bytes are counted as used.
func (b *budget) room(size int64) error {
	if left := b.left(); size > left {
		return fmt.Errorf("%w: %d bytes on the device, %d of %d are left", backend.ErrOutOfMemory, size, max(left, 0), b.bound())
	}
	for !b.count(size) {
		if dropped, err := b.drop(); err != nil {
			return err
		} else if !dropped {
			return fmt.Errorf("%w: spare memory did not become free", backend.ErrInternal)
		}
	}
	return nil
}

// drop gives back the first spare memory. It reports whether there was any.
func (b *budget) drop() (bool, error) {
	for _, s := range b.spares {
		if s.Held() > 0 {
			return true, s.Drop()
		}
	}
	return false, nil
}

// bound returns the limit.
func (b *budget) bound() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit
}

// count counts size bytes as used if they are free. A negative size gives them back.
func (b *budget) count(size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if size > 0 && b.used+size > b.limit {
		return false
	}
	b.used += size
	return true
}

// measure sets the first limit. It waits a little for a card that is full to become less so.
func (d *Device) measure() error {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		free, total, err := d.driver.MemInfo()
		if err != nil {
			return err
		}
		if free >= least {
			d.budget.widen(free)
			return nil
		}
		if time.Since(began) > leastPatience {
			return fmt.Errorf("%w: %d bytes of the card's %d are free, and it needs %d at least: nvidia-smi shows who has the others",
				backend.ErrOutOfMemory, free, total, least)
		}
	}
}

// remeasure reads again how much is free, and tells the budget by widen or narrow. It is called in a
// turn, or while nobody else takes memory. An error leaves the budget as it is: the next call that
// matters will have it too.
func (d *Device) remeasure(tell func(free int64)) {
	d.freeing.Lock() // what is being given back is neither free nor unused
	defer d.freeing.Unlock()
	if free, _, err := d.driver.MemInfo(); err == nil {
		d.measured = time.Now()
		tell(free)
	}
}

// take counts size bytes as used. It drops spare memory as far as it must.
func (d *Device) take(size int64) error {
	if d.budget.count(size) {
		return nil
	}
	d.retry()
	d.remeasure(d.budget.widen)
	return d.budget.room(size)
}

// alloc takes memory within the budget. If the driver has less than the budget, since others have
// the card's memory, spare memory makes room here too.
func (d *Device) alloc(size int64) (*driver.Memory, error) {
	for {
		if err := d.take(size); err != nil {
			return nil, err
		}
		m, err := d.driver.Alloc(size)
		if err == nil {
			return m, nil
		}
		d.budget.count(-size)
		if !errors.Is(err, backend.ErrOutOfMemory) {
			return nil, err
		}
		d.remeasure(d.budget.narrow)
		if dropped, failed := d.budget.drop(); failed != nil || !dropped {
			return nil, errors.Join(err, failed)
		}
	}
}

// free gives back memory of alloc, which must have been wiped.
func (d *Device) free(m *driver.Memory) error {
	d.freeing.RLock()
	defer d.freeing.RUnlock()
	defer d.budget.count(-m.Size())
	return m.Free()
}
