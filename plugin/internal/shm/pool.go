package shm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/pippin-zk/pippin/backend"
)

// PoolOptions configure a Pool. The zero value is the default.
type PoolOptions struct {
	// Budget bounds the bytes of all arenas together; 0 is half of the memory
	// that this process may have.
	Budget int64
	// MaxArenas bounds their number; 0 is 32. A plugin refuses more than 64.
	MaxArenas int
	// Public says that nothing secret goes through: regions are not wiped,
	// and hold what their last user left.
	Public bool
	// Answers has arenas of NewAnswerArena.
	Answers bool
	// Leaves has Keep leave a quarter of the budget to Acquire and Overwrite: what is kept does not come
	// back while others wait.
	Leaves bool
	// Idle is how long an arena that nobody uses is kept; 0 is a minute.
	Idle time.Duration
}

// Pool hands out regions of shared memory. Arenas grow on demand, are kept
// and reused, and are given up when nobody has used them for a while or to
// make room for a larger one. Who asks first is served first. A region is
// zero when Acquire or Keep hands it out and is wiped after its release, before it can
// become another's, unless the pool is Public. One to be written over (Overwrite) may
// hold what one of the same size held, and is wiped when nobody has taken it for
// idleWipe. The methods may be called concurrently.
type Pool struct {
	budget    int64
	leaves    bool
	maxArenas int
	public    bool
	idle      time.Duration

	// turn is of those who ask, in their order: none overtakes one that waits
	// for more than he needs.
	turn *semaphore.Weighted

	mu        sync.Mutex
	arenas    []*poolArena
	total     int64 // bytes of arenas and of those being made
	making    int   // arenas being made
	transient int   // regions that will come back by themselves, or are wiped now
	changed   chan struct{}
	closed    bool
	dropped   map[int]func(arena uint64)
	watchers  int
	expiry    *time.Timer // nil, or running until expire

	create func(size int) (*Arena, error) // NewArena, or a test's
	wiped  func([]byte)                   // for tests: sees a region after its wipe
}

// poolArena is an arena with its free extents and live regions, each sorted
// by offset and neither overlapping.
type poolArena struct {
	*Arena
	free []extent
	live []*Region
	used time.Time // when live became empty
}

type extent struct{ off, size int }

// Region is page-aligned shared memory of an arena, counted by reference: the
// last Release wipes it and gives it back.
type Region struct {
	pool  *Pool
	arena *poolArena
	ext   extent
	size  int
	refs  int // under pool.mu
	kept  bool
	over  bool        // written over by whoever has it
	dirty bool        // it was taken with what another wrote
	wipe  *time.Timer // of one released to be written over, until somebody takes it or wipes it; under pool.mu

	// Owner is for whoever acquired the region; set it before the bytes are
	// shown to anyone else.
	Owner any
}

// NewPool makes an empty pool; it takes memory when it is first asked.
func NewPool(o PoolOptions) *Pool {
	if o.Budget <= 0 {
		o.Budget = DefaultBudget()
	}
	if o.MaxArenas <= 0 {
		o.MaxArenas = 32
	}
	if o.Idle <= 0 {
		o.Idle = time.Minute
	}
	create := NewArena
	if o.Answers {
		create = NewAnswerArena
	}
	return &Pool{
		budget: o.Budget, leaves: o.Leaves, maxArenas: o.MaxArenas, public: o.Public, idle: o.Idle,
		create: create, turn: semaphore.NewWeighted(1), changed: make(chan struct{}), dropped: map[int]func(uint64){},
	}
}

// Acquire hands out one region a size, all of them or none, so that calls
// that need several cannot wait for each other. When the budget is used up
// it waits for regions that other calls will release, and whoever asks
// meanwhile waits behind it; when no region will come back it fails with
// backend.ErrOutOfMemory. The sizes are in bytes, above 0.
func (p *Pool) Acquire(ctx context.Context, sizes ...int) ([]*Region, error) {
	return p.acquire(ctx, use{}, sizes)
}

// Overwrite acquires regions of which the caller writes every byte before anybody
// reads it: calls one after the other do not wait for wiping, nor share the memory's
// bandwidth with it.
func (p *Pool) Overwrite(ctx context.Context, sizes ...int) ([]*Region, error) {
	return p.acquire(ctx, use{over: true}, sizes)
}

// Keep acquires one region that its owner holds for as long as he
// likes, so that nobody waits for it. It fails with backend.ErrOutOfMemory
// too when too much would be kept.
func (p *Pool) Keep(ctx context.Context, size int) (*Region, error) {
	rs, err := p.acquire(ctx, use{keep: true}, []int{size})
	if err != nil {
		return nil, err
	}
	return rs[0], nil
}

// use is what regions are for.
type use struct{ keep, over bool }

func (p *Pool) acquire(ctx context.Context, of use, sizes []int) ([]*Region, error) {
	var all int64
	for _, s := range sizes {
		if s <= 0 || s > maxArena {
			return nil, fmt.Errorf("%w: shared region of %d bytes", backend.ErrInvalidInput, s)
		}
		all += int64(roundUp(s, PageSize))
	}
	p.mu.Lock()
	budget := p.budget
	p.mu.Unlock()
	if all > budget {
		return nil, fmt.Errorf("%w: %d bytes of shared memory asked, the budget is %d", backend.ErrOutOfMemory, all, budget)
	}
	got, made, err := p.inTurn(ctx, of, sizes)
	if made == nil {
		return got, err
	}
	select {
	case g := <-made:
		return g.regions, g.err
	case <-ctx.Done():
		go func() {
			for _, r := range (<-made).regions {
				r.Release()
			}
		}()
		return nil, backend.Ended(ctx)
	}
}

// grown is the regions of a request for which an arena was made.
type grown struct {
	regions []*Region
	err     error
}

// inTurn answers a request when those before it are answered: by regions, or
// by an arena that is being made, which holds up nobody else.
func (p *Pool) inTurn(ctx context.Context, of use, sizes []int) ([]*Region, <-chan grown, error) {
	if p.turn.Acquire(ctx, 1) != nil {
		return nil, nil, backend.Ended(ctx)
	}
	defer p.turn.Release(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.closed {
			return nil, nil, errPoolClosed
		}
		if err := backend.Ended(ctx); err != nil {
			return nil, nil, err
		}
		if of.keep && p.leaves {
			kept, most := p.sizeLocked(func(r *Region) bool { return r.kept && r.refs > 0 }), p.budget-p.budget/4
			if kept+int64(sizes[0]) > most {
				return nil, nil, fmt.Errorf("%w: %d bytes of shared memory to keep, %d of %d are kept",
					backend.ErrOutOfMemory, sizes[0], kept, most)
			}
		}
		got, missing := p.placeLocked(sizes, of)
		if missing == 0 {
			return got, nil, nil
		}
		p.unplaceLocked(got)
		p.wipeWaitingLocked()
		switch {
		case p.making > 0 || p.wipedSoonLocked(missing) || (!p.canGrowLocked(missing) && p.transient > 0):
			changed := p.changed
			p.mu.Unlock()
			select {
			case <-changed:
			case <-ctx.Done():
			}
			p.mu.Lock()
		case p.canGrowLocked(missing):
			// What canGrowLocked has given up is missing now as well.
			if got, missing = p.placeLocked(sizes, of); p.fitsLocked(missing) {
				return nil, p.growLocked(got, sizes, missing, of), nil
			}
			p.unplaceLocked(got)
		default:
			return nil, nil, fmt.Errorf("%w: %v bytes of shared memory asked, %d of a budget of %d are in use",
				backend.ErrOutOfMemory, sizes, p.usedLocked(), p.budget)
		}
	}
}

var errPoolClosed = fmt.Errorf("%w: shared memory pool", backend.ErrClosed)

// placeLocked takes a best fit for every size that finds one. The others are nil,
// and missing is how many bytes in one arena would surely be enough for them.
func (p *Pool) placeLocked(sizes []int, of use) (got []*Region, missing int) {
	got = make([]*Region, len(sizes))
	for i, size := range sizes {
		if of.over {
			if got[i] = p.takeWaitingLocked(size); got[i] != nil {
				continue
			}
		}
		need := roundUp(size, PageSize)
		var best *poolArena
		at := 0
		for _, a := range p.arenas {
			for i, e := range a.free {
				if e.size >= need && (best == nil || e.size < best.free[at].size) {
					best, at = a, i
				}
			}
		}
		if best == nil {
			missing += need
			continue
		}
		got[i] = p.takeLocked(best, at, size, of)
	}
	return got, missing
}

// takeLocked makes a region at the start of free extent i of an arena.
func (p *Pool) takeLocked(a *poolArena, i, size int, of use) *Region {
	r := &Region{pool: p, arena: a, ext: extent{a.free[i].off, roundUp(size, PageSize)}, size: size, refs: 1, kept: of.keep, over: of.over}
	a.takeLocked(i, r)
	if !of.keep {
		p.transient++
	}
	return r
}

// takeWaitingLocked makes a region of one that waits to be wiped and has exactly that size,
// if there is one.
func (p *Pool) takeWaitingLocked(size int) *Region {
	for _, a := range p.arenas {
		for i, r := range a.live {
			if r.wipe == nil || r.size != size {
				continue
			}
			r.wipe.Stop()
			r.wipe = nil
			a.live[i] = &Region{pool: p, arena: a, ext: r.ext, size: size, refs: 1, over: true, dirty: true}
			return a.live[i]
		}
	}
	return nil
}

// wipeWaitingLocked has what waits to be wiped wiped now.
func (p *Pool) wipeWaitingLocked() {
	for _, a := range p.arenas {
		for _, r := range a.live {
			if r.wipe != nil {
				r.wipe.Reset(0)
			}
		}
	}
}

// unplaceLocked gives regions of placeLocked back that nobody has seen.
func (p *Pool) unplaceLocked(got []*Region) {
	for _, r := range got {
		if r == nil {
			continue
		}
		if r.dirty {
			r.refs = 0
			r.wipeLaterLocked()
			continue
		}
		r.arena.giveLocked(r)
		if !r.kept {
			p.transient--
		}
	}
}

// wipedSoonLocked reports whether a region that is being wiped will make the room: a
// wipe is many times faster than touching new memory.
func (p *Pool) wipedSoonLocked(size int) bool {
	for _, a := range p.arenas {
		for _, r := range a.live {
			if r.refs == 0 && r.ext.size >= size {
				return true
			}
		}
	}
	return false
}

// canGrowLocked reports whether an arena of that size may be made, after giving up
// arenas that nobody uses if that makes the room.
func (p *Pool) canGrowLocked(size int) bool {
	if p.fitsLocked(size) {
		return true
	}
	var idle int64
	for _, a := range p.arenas {
		if len(a.live) == 0 {
			idle += int64(len(a.mem))
		}
	}
	if idle == 0 || p.total-idle+int64(size) > p.budget {
		return false
	}
	p.dropIdleLocked(0)
	return p.fitsLocked(size)
}

// fitsLocked reports whether an arena of that size may be made beside the others.
func (p *Pool) fitsLocked(size int) bool {
	return p.total+int64(size) <= p.budget && len(p.arenas)+p.making < p.maxArenas
}

// minArena is the size of the first arena; the next ones double the total.
const minArena = 2 << 20

// growLocked makes an arena of at least missing bytes, and takes from it what got does not
// have yet. It does so in the background: a large arena takes long.
func (p *Pool) growLocked(got []*Region, sizes []int, missing int, of use) <-chan grown {
	want := max(int64(roundUp(missing, minArena)), p.total, minArena)
	want = max(int64(missing), min(want, (p.budget-p.total)/PageSize*PageSize))
	p.total += want
	p.making++
	made := make(chan grown, 1)
	go func() {
		arena, err := p.create(int(want))
		p.mu.Lock()
		defer p.mu.Unlock()
		p.making--
		if err == nil && p.closed {
			arena.Close()
			err = errPoolClosed
		}
		if err != nil {
			p.total -= want
			p.unplaceLocked(got)
			got = nil
			p.sweepLocked()
		} else {
			a := &poolArena{Arena: arena, free: []extent{{0, int(want)}}}
			p.arenas = append(p.arenas, a)
			for i := range got {
				if got[i] == nil {
					got[i] = p.takeLocked(a, 0, sizes[i], of)
				}
			}
		}
		p.wakeLocked()
		made <- grown{got, err}
	}()
	return made
}

// dropIdleLocked gives up the arenas that nobody has used for that long.
func (p *Pool) dropIdleLocked(least time.Duration) {
	now := time.Now()
	p.arenas = slices.DeleteFunc(p.arenas, func(a *poolArena) bool {
		if len(a.live) > 0 || now.Sub(a.used) < least {
			return false
		}
		p.total -= int64(len(a.mem))
		a.Close()
		for _, f := range p.dropped {
			f(a.id)
		}
		return true
	})
}

// sweepLocked drops the unused arenas of a closed pool, and sees to it that an open
// one drops them in time.
func (p *Pool) sweepLocked() {
	if p.closed {
		p.dropIdleLocked(0)
		return
	}
	if p.expiry != nil {
		return
	}
	for _, a := range p.arenas {
		if len(a.live) == 0 {
			p.expiry = time.AfterFunc(p.idle, p.expire)
			return
		}
	}
}

// expire gives up what has been idle long enough, and comes back for the rest.
func (p *Pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expiry = nil
	p.dropIdleLocked(p.idle)
	p.sweepLocked()
}

func (p *Pool) wakeLocked() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Pool) usedLocked() int64 { return p.sizeLocked(func(*Region) bool { return true }) }

// sizeLocked returns the bytes of live regions for which of holds.
func (p *Pool) sizeLocked(of func(*Region) bool) (n int64) {
	for _, a := range p.arenas {
		for _, r := range a.live {
			if of(r) {
				n += int64(r.ext.size)
			}
		}
	}
	return n
}

// Limit lowers the budget to at most so many bytes. Arenas that are there stay
// until they are given up.
func (p *Pool) Limit(budget int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = min(p.budget, budget)
}

// InUse returns the bytes of regions that are handed out or still being wiped.
func (p *Pool) InUse() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.usedLocked()
}

// Watch calls f, which must not block nor use the pool, when an arena is
// given up; the result ends that.
func (p *Pool) Watch(f func(arena uint64)) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers++
	id := p.watchers
	p.dropped[id] = f
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.dropped, id)
	}
}

// Find returns the region that holds all of b, which must not be empty, with
// a reference added for the caller to Release, and where in it b starts.
// Only regions of Keep are found: no other's bytes are ever a caller's.
func (p *Pool) Find(b []byte) (r *Region, offset int, ok bool) {
	if len(b) == 0 {
		return nil, 0, false
	}
	addr := address(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.arenas {
		base := address(a.mem)
		if addr < base || addr-base >= uintptr(len(a.mem)) {
			continue
		}
		off := int(addr - base)
		i, exact := slices.BinarySearchFunc(a.live, off, func(r *Region, off int) int { return r.ext.off - off })
		if !exact {
			i--
		}
		if i < 0 {
			return nil, 0, false
		}
		r := a.live[i]
		if !r.kept || r.refs == 0 || off-r.ext.off > r.size || len(b) > r.size-(off-r.ext.off) {
			return nil, 0, false
		}
		r.refs++
		return r, off - r.ext.off, true
	}
	return nil, 0, false
}

// Close gives up all memory that is not in use, after wiping what waits for that, and
// the rest as it is released. Acquire fails from now on. Closing twice is no error.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.expiry != nil {
		p.expiry.Stop()
	}
	var waiting []*Region
	for _, a := range p.arenas {
		for _, r := range a.live {
			if r.wipe != nil {
				r.wipe.Stop()
				r.wipe = nil
				waiting = append(waiting, r)
			}
		}
	}
	p.sweepLocked()
	p.wakeLocked()
	p.mu.Unlock()
	for _, r := range waiting {
		r.recycle()
	}
}

// Bytes returns the region's memory, valid until its last Release.
func (r *Region) Bytes() []byte {
	return r.arena.mem[r.ext.off : r.ext.off+r.size : r.ext.off+r.size]
}

// Arena returns where the region lies.
func (r *Region) Arena() *Arena { return r.arena.Arena }

// Offset returns where in the arena.
func (r *Region) Offset() int { return r.ext.off }

// Retain adds a reference.
func (r *Region) Retain() {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	r.refs++
}

// backgroundWipe is the size from which a wipe is not worth waiting for.
const backgroundWipe = 256 << 10

// idleWipe is how long a large region that is written over by whoever has it waits for
// the next one before it is wiped.
const idleWipe = 5 * time.Millisecond

// Release drops a reference. After the last one the region is wiped, in the
// background when it is large, and then free.
func (r *Region) Release() {
	p := r.pool
	p.mu.Lock()
	r.refs--
	last := r.refs == 0
	if last && r.kept {
		p.transient++ // it comes back after the wipe
	}
	waits := last && r.over && !p.public && !p.closed && r.size >= backgroundWipe
	if waits {
		r.wipeLaterLocked()
		p.wakeLocked()
	}
	p.mu.Unlock()
	switch {
	case !last || waits:
	case p.public || r.size < backgroundWipe:
		r.recycle()
	default:
		go r.recycle()
	}
}

// wipeLaterLocked has the region wiped in idleWipe, unless somebody takes it.
func (r *Region) wipeLaterLocked() {
	r.wipe = time.AfterFunc(idleWipe, func() {
		r.pool.mu.Lock()
		due := r.wipe != nil
		r.wipe = nil
		r.pool.mu.Unlock()
		if due {
			r.recycle()
		}
	})
}

func (r *Region) recycle() {
	p := r.pool
	mem := r.arena.mem[r.ext.off : r.ext.off+r.ext.size]
	if !p.public {
		Wipe(mem)
	}
	if p.wiped != nil {
		p.wiped(mem)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.arena.giveLocked(r)
	p.transient--
	p.sweepLocked()
	p.wakeLocked()
}

// takeLocked moves the start of free extent i to r.
func (a *poolArena) takeLocked(i int, r *Region) {
	if e := &a.free[i]; e.size == r.ext.size {
		a.free = slices.Delete(a.free, i, i+1)
	} else {
		e.off += r.ext.size
		e.size -= r.ext.size
	}
	at, _ := slices.BinarySearchFunc(a.live, r.ext.off, func(r *Region, off int) int { return r.ext.off - off })
	a.live = slices.Insert(a.live, at, r)
}

// giveLocked makes r's extent free again and joins it with its neighbours.
func (a *poolArena) giveLocked(r *Region) {
	at, _ := slices.BinarySearchFunc(a.live, r.ext.off, func(r *Region, off int) int { return r.ext.off - off })
	if a.live = slices.Delete(a.live, at, at+1); len(a.live) == 0 {
		a.used = time.Now()
	}
	i, _ := slices.BinarySearchFunc(a.free, r.ext.off, func(e extent, off int) int { return e.off - off })
	a.free = slices.Insert(a.free, i, r.ext)
	if i+1 < len(a.free) && a.free[i].off+a.free[i].size == a.free[i+1].off {
		a.free[i].size += a.free[i+1].size
		a.free = slices.Delete(a.free, i+1, i+2)
	}
	if i > 0 && a.free[i-1].off+a.free[i-1].size == a.free[i].off {
		a.free[i-1].size += a.free[i].size
		a.free = slices.Delete(a.free, i, i+1)
	}
}
