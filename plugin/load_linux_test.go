package plugin

import (
	"bytes"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
)

// TestFileElsewhere: of a file on a file system that may not answer the points are sent, and not
// its descriptor; the answers are the same.
func TestFileElsewhere(t *testing.T) {
	c, points := mustOpen(t, spec(t, "")), plugintest.NewBN(100_000)
	b := points.Bases()
	b.Bytes, b.File = nil, points.File(t)
	for _, kind := range []string{"ext4", "fuse"} {
		plugintest.On(t, b.File, kind)
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
