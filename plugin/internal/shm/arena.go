package shm

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/pippin-zk/pippin/backend"
)

// maxArena bounds one arena, so that sizes fit an int everywhere and no
// arithmetic on offsets can overflow: 1 TiB.
const maxArena = 1 << 40

// arenaIDs counts the arenas of this process. Ids are never reused, so a
// stale one can name nothing else.
var arenaIDs atomic.Uint64

// Arena is shared memory that this process writes: a memory-backed file that
// can no longer change its size. It is left out of core dumps. The methods
// may be called concurrently.
type Arena struct {
	id      uint64
	file    *os.File
	mem     []byte
	answers bool
	close   sync.Once
}

// NewArena creates an arena of size bytes, a multiple of PageSize, and
// touches all of it. It fails with backend.ErrOutOfMemory, or with
// backend.ErrUnsupported where the system has no sealed memory files.
func NewArena(size int) (*Arena, error) { return newArena(size, false) }

// NewAnswerArena makes memory as NewArena does that whoever attaches it writes too,
// whenever he likes.
func NewAnswerArena(size int) (*Arena, error) { return newArena(size, true) }

func newArena(size int, answers bool) (*Arena, error) {
	if size <= 0 || size%PageSize != 0 || size > maxArena {
		return nil, fmt.Errorf("%w: arena of %d bytes", backend.ErrInvalidInput, size)
	}
	file, mem, err := create(size, answers)
	if err != nil {
		return nil, err
	}
	return &Arena{id: arenaIDs.Add(1), file: file, mem: mem, answers: answers}, nil
}

// ID names the arena among all of this process. Never zero.
func (a *Arena) ID() uint64 { return a.id }

// Bytes returns the memory, writable, valid until Close.
func (a *Arena) Bytes() []byte { return a.mem }

// File returns the descriptor to send; it belongs to the arena.
func (a *Arena) File() *os.File { return a.file }

// Answers reports whether NewAnswerArena made it.
func (a *Arena) Answers() bool { return a.answers }

// Close unmaps the memory; whoever attached it keeps it.
func (a *Arena) Close() {
	a.close.Do(func() {
		unmap(a.mem)
		a.file.Close()
	})
}

// Mapping is another process's arena.
type Mapping struct {
	mem   []byte
	close sync.Once
}

// Attach maps an arena read-only from its descriptor and closes the descriptor,
// also when it fails. A file that is not size bytes long, or that could still
// shrink under the reader, is backend.ErrInvalidInput.
func Attach(f *os.File, size uint64) (*Mapping, error) { return newMapping(f, size, false) }

// AttachAnswers attaches an arena of NewAnswerArena, mapped writable. On any
// other it fails with backend.ErrUnsupported.
func AttachAnswers(f *os.File, size uint64) (*Mapping, error) { return newMapping(f, size, true) }

func newMapping(f *os.File, size uint64, writable bool) (*Mapping, error) {
	defer f.Close()
	if size == 0 || size > maxArena {
		return nil, fmt.Errorf("%w: shared segment of %d bytes", backend.ErrInvalidInput, size)
	}
	mem, err := attach(f, int(size), writable)
	if err != nil {
		return nil, err
	}
	return &Mapping{mem: mem}, nil
}

// Bytes returns the memory, valid until Close. Writing to it is a fault, unless
// AttachAnswers made the mapping.
func (m *Mapping) Bytes() []byte { return m.mem }

// Lock keeps the memory from being swapped to a disk, until Close.
func (m *Mapping) Lock() error { return lock(m.mem) }

// Close unmaps the memory.
func (m *Mapping) Close() { m.close.Do(func() { unmap(m.mem) }) }
