package plugin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/filesystem"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

// TestFileElsewhere: of a file on a file system that may not answer the points are sent, and not
// its descriptor; the answers are the same.
func TestFileElsewhere(t *testing.T) {
	was := filesystem.Mounts
	defer func() { filesystem.Mounts = was }()
	c, points := mustOpen(t, spec(t, "")), plugintest.NewBN(100_000)
	b := points.Bases()
	b.Bytes, b.File = nil, points.File(t)
	var st unix.Stat_t
	if err := unix.Fstat(int(b.File.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"ext4", "fuse"} {
		line := fmt.Sprintf("1 1 %d:%d / / rw - %s none rw\n", unix.Major(st.Dev), unix.Minor(st.Dev), kind)
		filesystem.Mounts = filepath.Join(t.TempDir(), "mounts")
		if err := os.WriteFile(filesystem.Mounts, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		src, err := c.sendFile(&b)
		if err != nil || (src != nil) != (kind == "ext4") {
			t.Errorf("%s: %v, %v", kind, src, err)
		}
		id := plugintest.Load(t, c, b)
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 100_000, Input: backend.Input{Bytes: points.Scalars}}})
		if err != nil || !bytes.Equal(got[0], points.Want()) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
