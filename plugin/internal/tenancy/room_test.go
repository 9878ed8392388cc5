package tenancy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
)

// sparse is count bases in a file that is one hole. Each offset is other bases, by
// which files are known.
func sparse(t *testing.T, count int) func(offset int64) backend.Bases {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	return func(offset int64) backend.Bases {
		return backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: count, File: f, FileOffset: offset, Hints: backend.Hints{Multiples: int(offset)}}
	}
}

// TestRoom: what all sessions hold, and what those of one user do, is counted in sum,
// also when it costs the user nothing.
func TestRoom(t *testing.T) {
	const one = 6400
	inner := &fake.Backend{}
	s := New(inner, Options{Keep: 1 << 30, Room: 4 * footprint(one), UserRoom: 2 * footprint(one)})
	a, again, b, c := s.Open(1, 0), s.Open(1, 0), s.Open(2, 0), s.Open(3, 0)
	load := sparse(t, one/64)
	mustLoad(t, a, load(0))
	first := mustLoad(t, again, load(1))
	if _, err := again.LoadBases(ctx, load(2)); !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "one user") {
		t.Errorf("a third of user 1: %v", err)
	}
	known := load(1)
	d, err := known.Digest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	known.Memo = backend.Known(d)
	mustLoad(t, a, known) // held by another session of his
	if _, err := again.NewSpace(ctx, backend.ScalarOf(backend.BN254), 1); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("vectors of user 1: %v", err)
	}
	mustLoad(t, b, load(3))
	space, err := b.NewSpace(ctx, backend.ScalarOf(backend.BN254), one/32)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.LoadBases(ctx, load(4)); !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "all sessions") {
		t.Errorf("a fifth of all: %v", err)
	}
	if err := b.FreeSpace(ctx, space); err != nil {
		t.Fatal(err)
	}
	mustLoad(t, c, load(4))
	if _, err := c.LoadBases(ctx, load(5)); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a fifth of all: %v", err)
	}
	// What nobody holds makes place; what another session holds does not.
	if err := again.FreeBases(ctx, first); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LoadBases(ctx, load(5)); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a fifth of all while it is held: %v", err)
	}
	a.Close()
	mustLoad(t, c, load(5))
	for _, s := range []*Session{again, b, c} {
		s.Close()
	}
	if len(s.room.users) != 0 || s.room.apart != 0 {
		t.Errorf("counted after the end: %+v", s.room)
	}
}

// TestCopies: loads on their way take no more memory to be hashed in than there may
// be, however many of a user's there are.
func TestCopies(t *testing.T) {
	s := New(&fake.Backend{}, Options{Copies: 64 << 20, UserCopies: 32 << 20})
	var taken []int64
	for {
		n, err := s.takeCopy(1, 1<<30)
		if err != nil {
			if !errors.Is(err, backend.ErrOutOfMemory) {
				t.Error(err)
			}
			break
		}
		taken = append(taken, n)
	}
	if len(taken) < 12 || s.room.copying > 32<<20 {
		t.Errorf("%d loads, %d bytes", len(taken), s.room.copying)
	}
	if n, err := s.takeCopy(2, 1<<30); err != nil || n != 8<<20 {
		t.Errorf("another user has %d bytes, %v", n, err)
	}
	for _, n := range taken {
		s.giveCopy(1, n)
	}
	s.giveCopy(2, 8<<20)
	if s.room.copying != 0 || len(s.room.copyingOf) != 0 {
		t.Errorf("counted at the end: %+v", s.room)
	}
	points := bases(50_000, 1)
	a := s.Open(1, 0)
	defer a.Close()
	right(t, a, mustLoad(t, a, points), points)
}
