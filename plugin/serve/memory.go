package serve

import (
	"log/slog"
	"sync"

	"github.com/pippin-zk/pippin/plugin/internal/shm"
)

// What a plugin's main function asks for before Plugin.
var (
	dumps bool
	locks bool
)

// AllowDumps leaves the memory of this process open to debuggers, to other processes of its
// user, and to a core file when it crashes. Without it none of these can read the secrets
// there. It is called before Plugin.
func AllowDumps() { dumps = true }

// LockArenas keeps shared memory of hosts from being swapped to a disk, as far as the limit of
// locked memory allows. What cannot be locked is used all the same. It is called before Plugin.
func LockArenas() { locks = true }

// unlocked tells the log once what could not be locked.
var unlocked sync.Once

// lock locks an arena if it is to be.
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
