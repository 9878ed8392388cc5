package serve

import (
	"log/slog"
	"sync"

	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// What a plugin's main function has asked for before Plugin.
var (
	dumps bool
	locks bool
)

// AllowDumps leaves the memory of this process open to debuggers, to other processes of its user,
// and to a core file when it crashes. Without it none of these can read the secrets there. Call it
// before Plugin.
func AllowDumps() { dumps = true }

// LockArenas keeps hosts' shared memory from being swapped to a disk, as far as the limit of locked
// memory allows. Memory that cannot be locked is used all the same. Call it before Plugin.
func LockArenas() { locks = true }

// unlocked logs only once that memory could not be locked.
var unlocked sync.Once

// lock locks an arena if LockArenas was called.
func lock(m *shm.Mapping, log *slog.Logger) {
	if !locks {
		return
	}
	if err := m.Lock(); err != nil {
		unlocked.Do(func() {
			log.Warn("shared memory is not locked, and may be swapped to a disk: raise the limit (ulimit -l, LimitMEMLOCK=)",
				"bytes", len(m.Bytes()), "error", err)
		})
	}
}
