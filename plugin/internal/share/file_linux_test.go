package share

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/plugin/internal/fake"
)

// TestFiles: a file that was read before is not read again, unless it changed.
func TestFiles(t *testing.T) {
	inner := &fake.Backend{}
	s := New(inner, Options{Keep: 1 << 30})
	a, b := s.Open(1, 0), s.Open(2, 0)
	defer a.Close()
	defer b.Close()
	points := bases(1000, 1)
	path := filepath.Join(t.TempDir(), "points")
	if err := os.WriteFile(path, points.Bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := points
	in.Bytes, in.File = nil, f
	known := func(user int) bool {
		identity, ok := identify(&in, user)
		if !ok {
			return false
		}
		_, seen := s.seen(identity)
		return seen
	}
	right(t, a, mustLoad(t, a, in), points)
	if known(1) {
		t.Error("a file that has just been written is known by its time")
	}
	time.Sleep(settled + 50*time.Millisecond) // real time: it is the kernel's that counts
	right(t, a, mustLoad(t, a, in), points)
	if !known(1) || known(2) {
		t.Errorf("known to its user %v, to another %v", known(1), known(2))
	}
	right(t, a, mustLoad(t, a, in), points)
	right(t, b, mustLoad(t, b, in), points)
	s.freeing.Wait()
	if inner.Bases() != 1 {
		t.Errorf("%d copies", inner.Bases())
	}
	changed := bases(1000, 2)
	if _, err := f.WriteAt(changed.Bytes, 0); err != nil {
		t.Fatal(err)
	}
	right(t, a, mustLoad(t, a, in), changed)
}
