// Package extent divides memory that was taken once among parts that come and go.
package extent

import (
	"fmt"
	"slices"
	"sync"

	"github.com/pippin-zk/pippin/backend"
)

// Room is memory for a number of elements. It is safe for concurrent use.
type Room struct {
	size int

	mu   sync.Mutex
	free []Part          // by offset, none touching another
	live map[uint64]Part // those taken, by their numbers
	last uint64
}

// Part is Count elements from Offset on.
type Part struct{ Offset, Count int }

// New returns a room of size elements, all free.
func New(size int) *Room {
	r := &Room{size: size, live: map[uint64]Part{}}
	if size > 0 {
		r.free = []Part{{0, size}}
	}
	return r
}

// Left returns how many elements are free.
func (r *Room) Left() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.free {
		n += p.Count
	}
	return n
}

// Take takes n elements in a row, until Give. id is never zero. Without so many in a row
// the error wraps backend.ErrOutOfMemory.
func (r *Room) Take(n int) (id uint64, p Part, err error) {
	if n < 0 {
		return 0, Part{}, fmt.Errorf("%w: %d elements", backend.ErrInvalidInput, n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	best := -1 // the smallest that is large enough
	left, longest := 0, 0
	for i, f := range r.free {
		if f.Count >= n && (best < 0 || f.Count < r.free[best].Count) {
			best = i
		}
		left, longest = left+f.Count, max(longest, f.Count)
	}
	switch {
	case n == 0:
	case best < 0:
		return 0, Part{}, fmt.Errorf("%w: %d elements, of the session's %d are %d free and %d in a row",
			backend.ErrOutOfMemory, n, r.size, left, longest)
	default:
		f := &r.free[best]
		p.Offset = f.Offset
		if f.Offset, f.Count = f.Offset+n, f.Count-n; f.Count == 0 {
			r.free = slices.Delete(r.free, best, best+1)
		}
	}
	p.Count = n
	r.last++
	r.live[r.last] = p
	return r.last, p, nil
}

// Give gives back what Take took under an id. Anything else, such as a part of that,
// changes nothing.
func (r *Room) Give(id uint64, p Part) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if taken, ok := r.live[id]; !ok || taken != p {
		return
	}
	delete(r.live, id)
	if p.Count == 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(r.free, p.Offset, func(f Part, offset int) int { return f.Offset - offset })
	r.free = slices.Insert(r.free, i, p)
	if i+1 < len(r.free) && p.Offset+p.Count == r.free[i+1].Offset {
		r.free[i].Count += r.free[i+1].Count
		r.free = slices.Delete(r.free, i+1, i+2)
	}
	if i > 0 && r.free[i-1].Offset+r.free[i-1].Count == p.Offset {
		r.free[i-1].Count += r.free[i].Count
		r.free = slices.Delete(r.free, i, i+1)
	}
}

// Has reports whether what was taken under an id was not given back.
func (r *Room) Has(id uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.live[id]
	return ok
}
