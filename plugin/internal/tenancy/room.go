package tenancy

import (
	"fmt"

	"github.com/pippin-zk/pippin/backend"
)

// room counts the memory that sessions hold, under Shared.mu. Bases count once in total, and once
// for each user who holds them, however many sessions do.
type room struct {
	// apart is the bytes of vectors, and of bases being loaded, which Shared.resident does not
	// count yet.
	apart int64
	users map[int]int64
	// copying is the bytes of the copies from which bases are hashed.
	copying   int64
	copyingOf map[int]int64
}

// reserve counts memory for a user, until unreserve. If there is too little in total, it frees
// bases that nobody holds. It fails with backend.ErrOutOfMemory.
func (s *Shared) reserve(user int, size int64) error {
	size = footprint(size)
	for {
		s.mu.Lock()
		err := s.fitsUserLocked(user, size)
		if used := s.resident + s.room.apart; err == nil && s.o.Room > 0 && size > s.o.Room-used {
			err = fmt.Errorf("%w: %d bytes, more than is left of the %d that bases and vectors of all sessions may have",
				backend.ErrOutOfMemory, size, s.o.Room)
		}
		if err == nil {
			s.room.apart += size
			s.room.users[user] += size
		}
		full := err != nil && s.fitsUserLocked(user, size) == nil
		s.mu.Unlock()
		if !full || !s.evictOne(always) {
			return err
		}
	}
}

// fitsUserLocked returns an error if a user may not have that many more bytes.
func (s *Shared) fitsUserLocked(user int, size int64) error {
	if held := s.room.users[user]; s.o.UserRoom > 0 && size > s.o.UserRoom-held {
		return fmt.Errorf("%w: %d bytes, and this user's sessions hold %d of the %d bytes of bases and "+
			"vectors that one user may; free some, or raise the daemon's --quota-memory",
			backend.ErrOutOfMemory, size, held, s.o.UserRoom)
	}
	return nil
}

func (s *Shared) unreserve(user int, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.apart -= footprint(size)
	s.unchargeLocked(user, footprint(size))
}

func (s *Shared) unchargeLocked(user int, size int64) {
	if s.room.users[user] -= size; s.room.users[user] == 0 {
		delete(s.room.users, user)
	}
}

// Sizes in bytes of the copies from which bases are hashed. They are whole parts of a digest,
// because all processors hash these.
const (
	mostCopy  = 16 << 20
	leastCopy = 1 << 20
)

// takeCopy reserves memory for a copy of bases of a size, until giveCopy, and returns how many
// bytes it has: at most a quarter of what is left, unless that is below leastCopy.
func (s *Shared) takeCopy(user int, size int64) (int64, error) {
	n := min(size, mostCopy)
	if s.o.Copies == 0 {
		return n, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := min(s.o.Copies-s.room.copying, s.o.UserCopies-s.room.copyingOf[user])
	n = min(n, max(leastCopy, left/4/leastCopy*leastCopy))
	if n > left {
		return 0, fmt.Errorf("%w: %d bytes to hash bases in, more than is left of %d", backend.ErrOutOfMemory, n, s.o.Copies)
	}
	s.room.copying += n
	s.room.copyingOf[user] += n
	return n, nil
}

func (s *Shared) giveCopy(user int, size int64) {
	if s.o.Copies == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.copying -= size
	if s.room.copyingOf[user] -= size; s.room.copyingOf[user] == 0 {
		delete(s.room.copyingOf, user)
	}
}
