package tenancy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
)

// sparse returns count bases in a file that is one hole. Files are identified by offset too, so
// each offset gives other bases.
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
		return backend.Bases{
			Curve: backend.BN254, Group: backend.G1, Count: count, File: f, FileOffset: offset, Hints: backend.Hints{Multiples: int(offset)},
		}
	}
}

// TestRoom: what all sessions hold, and what those of one user hold, is counted in sum, even when
// holding it costs the user nothing.
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
	mustLoad(t, a, known) // held by another session of the user
	if _, err := again.NewSpace(ctx, backend.ScalarOf(backend.BN254), 1); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("vectors of user 1: %v", err)
	}
	if again.held != one {
		t.Errorf("a session that has %d bytes is charged for %d", one, again.held)
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
	// Bases that nobody holds make room; those that another session holds do not.
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

// TestCopies: loads take no more memory to hash in than the limit, however many of one user's there
// are.
func TestCopies(t *testing.T) {
	s := New(&fake.Backend{}, Options{Copies: 64 << 20, UserCopies: 32 << 20})
	// all takes as much as one user gets.
	all := func(user int) (taken []int64) {
		for range 1000 {
			n, err := s.takeCopy(user, 1<<30)
			if err != nil {
				if !errors.Is(err, backend.ErrOutOfMemory) {
					t.Error(err)
				}
				break
			}
			taken = append(taken, n)
		}
		return taken
	}
	taken := all(1)
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
	one, two, three := all(1), all(2), all(3)
	if s.room.copying > 64<<20 || len(two) == 0 || len(three) > 0 {
		t.Errorf("%d bytes are used, and a third user has %d", s.room.copying, three)
	}
	for user, taken := range map[int][]int64{1: one, 2: two, 3: three} {
		for _, n := range taken {
			s.giveCopy(user, n)
		}
	}
	if s.room.copying != 0 || len(s.room.copyingOf) != 0 {
		t.Errorf("counted at the end: %+v", s.room)
	}
	points := bases(50_000, 1)
	a := s.Open(1, 0)
	defer a.Close()
	right(t, a, mustLoad(t, a, points), points)
	few := New(&fake.Backend{}, Options{Copies: 4 << 20, UserCopies: 4 << 20}) // a copy is a MiB
	b := few.Open(1, 0)
	defer b.Close()
	var reads atomic.Int64
	right(t, b, mustLoad(t, b, claimed(t, points, &reads)), points)
	if s.room.copying != 0 {
		t.Errorf("%d bytes to copy in are counted after a load", s.room.copying)
	}
}

// TestAnswersHaveRoom: a short program may have long answers. They are counted before it computes.
func TestAnswersHaveRoom(t *testing.T) {
	const one = 6400
	s := New(&fake.Backend{}, Options{Room: 4 * footprint(one), UserRoom: 2 * footprint(one)})
	a := s.Open(1, 0)
	defer a.Close()
	id, err := a.NewSpace(ctx, backend.ScalarOf(backend.BN254), one/32)
	if err != nil {
		t.Fatal(err)
	}
	read := backend.Read{Src: backend.Range{Space: id, Count: one / 32}}
	release, err := a.HoldAnswers([]backend.Step{read})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.HoldAnswers([]backend.Step{read}); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a second answer: %v", err)
	}
	release()
	many := slices.Repeat([]backend.Step{read}, 1000)
	if _, err := a.HoldAnswers(many); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a thousand answers: %v", err)
	}
	read.Src.Count = backend.MaxCount
	if _, err := a.HoldAnswers([]backend.Step{read}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("an answer that there is not: %v", err)
	}
	read.Src.Space = 7
	if _, err := a.HoldAnswers([]backend.Step{read}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("of no space: %v", err)
	}
	if got := s.room.users[1]; got != footprint(one) {
		t.Errorf("%d bytes are held in the end", got)
	}
}

// TestCrumbs: bases of one point each are not kept by the million, and releasing one does not go
// over all.
func TestCrumbs(t *testing.T) {
	const most = 100
	inner := &fake.Backend{}
	s := New(inner, Options{Keep: most * footprint(64)})
	a := s.Open(1, 0)
	defer a.Close()
	b := bases(1, 1)
	for i := range 10 * most {
		b.Hints.Multiples = i
		if err := a.FreeBases(ctx, mustLoad(t, a, b)); err != nil {
			t.Fatal(err)
		}
	}
	if inner.Bases() != most || s.idle.Len() != most || len(s.kept) != most {
		t.Errorf("%d sets of bases are kept, %d, %d", inner.Bases(), s.idle.Len(), len(s.kept))
	}
	if st := s.Usage().Daemon; st.Resident != most*64 || st.Unheld != most*64 {
		t.Errorf("%+v", st)
	}
}
