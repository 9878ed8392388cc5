package cpu

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cpu/internal/local"
	"github.com/pippin-zk/pippin/internal/curves"
	"github.com/pippin-zk/pippin/internal/layout"
	"github.com/pippin-zk/pippin/internal/resident"
)

// space is memory for vectors or numbers.
type space struct {
	size   int // of an element
	memory []byte

	mu sync.Mutex
	// left are the programs that were given up and still compute on the space. Each channel is
	// closed when its program ends.
	left []<-chan struct{}
}

// settle waits until no program that was given up computes on the space.
func (s *space) settle(ctx context.Context) error {
	s.mu.Lock()
	left := slices.Clone(s.left)
	s.mu.Unlock()
	for _, ended := range left {
		select {
		case <-ended:
		case <-ctx.Done():
			return backend.Ended(ctx)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = slices.DeleteFunc(s.left, func(ended <-chan struct{}) bool { return slices.Contains(left, ended) })
	return nil
}

// leave records that a program was given up and uses the space until ended is closed.
func (s *space) leave(ended <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, ended)
}

// at returns the memory of a range, which lies within the space.
func (s *space) at(r backend.Range) []byte {
	return s.memory[r.Offset*s.size : (r.Offset+r.Count)*s.size]
}

// memoryUnknown is how much memory is assumed if the system does not tell.
const memoryUnknown = 16 << 30

// room is the memory for spaces, in bytes. What does not fit is refused, because Go ends the
// process if the system runs out of memory.
type room struct {
	all  int64
	used atomic.Int64
}

func newRoom(machine uint64) *room {
	if machine == 0 {
		machine = memoryUnknown
	}
	return &room{all: int64(min(machine, 1<<62))}
}

// take takes size bytes, which give gives back. If there is no room, its error says how many bytes
// there are.
func (r *room) take(size int64) error {
	for {
		used := r.used.Load()
		if size > r.all-used {
			return fmt.Errorf("%w: %d bytes for vectors, %d of %d are in use", backend.ErrOutOfMemory, size, used, r.all)
		}
		if r.used.CompareAndSwap(used, used+size) {
			return nil
		}
	}
}

func (r *room) give(size int64) { r.used.Add(-size) }

func (l *inProcess) NewSpace(ctx context.Context, e backend.Element, count int) (_ backend.SpaceID, err error) {
	end, err := l.Residents.Begin()
	if err != nil {
		return 0, err
	}
	defer end()
	defer resident.Caught(&err)
	if err := backend.Ended(ctx); err != nil {
		return 0, err
	}
	if err := curves.Check(); err != nil {
		return 0, err
	}
	of := backend.Elements{Element: e, Count: count}
	size, err := of.Size()
	if err != nil {
		return 0, err
	}
	if !l.About.Can.HasPrograms(e) {
		return 0, fmt.Errorf("%w: a space of %v", backend.ErrUnsupported, e)
	}
	if err := l.room.take(size); err != nil {
		return 0, err
	}
	s := &space{size: e.Bytes(), memory: layout.Bytes(make([]uint64, (size+7)/8))[:size]}
	return l.Residents.AddSpace(of, s), nil
}

func (l *inProcess) FreeSpace(ctx context.Context, id backend.SpaceID) error {
	return l.Residents.FreeSpace(ctx, id, l.wipe)
}

// wipe zeroes a space that is no longer used.
func (l *inProcess) wipe(s *space) error {
	local.Parts(len(s.memory), func(lo, hi int) { clear(s.memory[lo:hi]) })
	l.room.give(int64(len(s.memory)))
	return nil
}
