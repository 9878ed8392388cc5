//go:build !linux

package shm

import (
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

func unsupported() error {
	return fmt.Errorf("%w: plugins need sealed memory files, which %s does not have; use a backend in process",
		backend.ErrUnsupported, runtime.GOOS)
}

func create(int, bool) (*os.File, []byte, error)      { return nil, nil, unsupported() }
func attach(*os.File, int, bool) ([]byte, error)      { return nil, unsupported() }
func unmap([]byte)                                    {}
func lock([]byte) error                               { return unsupported() }
func socketpair() (ours, theirs *os.File, _ error)    { return nil, nil, unsupported() }
func rights(*os.File) []byte                          { return nil }
func futexWait(*atomic.Uint32, uint32, time.Duration) {}
func futexWake(*atomic.Uint32)                        {}
func yield()                                          {}
func parseRights([]byte) ([]*os.File, error)          { return nil, unsupported() }

const truncated = 0

func DefaultBudget() int64 { return 1 << 30 }
