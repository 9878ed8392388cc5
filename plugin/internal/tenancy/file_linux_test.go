package tenancy

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/plugin/internal/fake"
)

// TestFiles: a file that was read before is not read again, unless it changed.
func TestFiles(t *testing.T) {
	t.Parallel() // it waits for the clock
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
	if known(1) != flush(&in) || known(2) {
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

// TestMappedFile: a file that is changed through a mapping is read again, even if the page was
// changed before and has not gone to the disk since.
func TestMappedFile(t *testing.T) {
	t.Parallel() // it waits for the clock
	s := New(&fake.Backend{}, Options{Keep: 1 << 30})
	a := s.Open(1, 0)
	defer a.Close()
	points, changed := bases(1000, 1), bases(1000, 2)
	f, err := os.Create(filepath.Join(t.TempDir(), "points"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(points.Size()); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(points.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	copy(mem, points.Bytes)
	time.Sleep(settled + 50*time.Millisecond) // real time: it is the kernel's that counts
	in := points
	in.Bytes, in.File = nil, f
	right(t, a, mustLoad(t, a, in), points)
	copy(mem, changed.Bytes)
	right(t, a, mustLoad(t, a, in), changed)
}

// TestTimeThatNobodySets: a file that has changed is recognised as another one, even if its time of
// modification is set back.
func TestTimeThatNobodySets(t *testing.T) {
	t.Parallel() // it waits for the clock
	path := filepath.Join(t.TempDir(), "points")
	in := bases(10, 1)
	long := time.Now().Add(-time.Hour)
	var was [2]file
	for i := range was {
		if err := os.WriteFile(path, bases(10, byte(i)).Bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		in.Bytes, in.File = nil, f
		if _, ok := identify(&in, 1); ok {
			t.Error("a file that has just changed is known by its time")
		}
		time.Sleep(settled + 50*time.Millisecond) // real time: it is the kernel's that counts
		ok := false
		if was[i], ok = identify(&in, 1); !ok || was[i].mtime.Sec != long.Unix() {
			t.Fatalf("%+v, %v", was[i], ok)
		}
	}
	if was[0] == was[1] {
		t.Error("a file that has changed is taken for what it was")
	}
}
