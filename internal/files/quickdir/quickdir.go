// Package quickdir has folders for tests of programs that wait for every write to be on
// the disk, as the cluster's server does. On a disk that other programs write much to, a
// linker for instance, each of these writes waits for seconds: such a test would measure
// the disk. A folder of this package is in memory where the machine has one.
package quickdir

import (
	"os"
	"testing"

	"github.com/pippin-zk/pippin/internal/files"
)

// shared is where Linux keeps files in memory.
const shared = "/dev/shm"

// enough is the room below which the disk is taken: containers often have 64 MiB there.
const enough = 2 << 30

// New returns a folder that is removed when the test ends; what a killed test leaves is in
// memory until somebody removes /dev/shm/pippin-test-*. It is t.TempDir's where no
// memory can be had.
func New(t testing.TB) string {
	t.Helper()
	if free, ok := files.Free(shared); !ok || free < enough {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(shared, "pippin-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
