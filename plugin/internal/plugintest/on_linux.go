package plugintest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/plugin/internal/filesystem"
)

// On has a file be on a file system of some kind, for this process and until the test ends. It
// skips the test where the file is in memory, which is known otherwise.
func On(t *testing.T, f *os.File, kind string) {
	t.Helper()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_GET_SEALS, 0); err == nil {
		t.Skip("the folder for temporary files is in memory")
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	was := filesystem.Mounts
	t.Cleanup(func() { filesystem.Mounts = was })
	filesystem.Mounts = filepath.Join(t.TempDir(), "mounts")
	line := fmt.Sprintf("1 1 %d:%d / / rw - %s none rw\n", unix.Major(st.Dev), unix.Minor(st.Dev), kind)
	if err := os.WriteFile(filesystem.Mounts, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
}
