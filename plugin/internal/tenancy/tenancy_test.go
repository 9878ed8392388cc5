package tenancy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
)

var ctx = context.Background()

// bases returns n points of BN254 G1, different for each seed.
func bases(n int, seed byte) backend.Bases {
	b := backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: make([]byte, 64*n)}
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b.Bytes)
	return b
}

// claimed returns b as bases that are read piece by piece if their digest is not known.
func claimed(t testing.TB, b backend.Bases, reads *atomic.Int64) backend.Bases {
	t.Helper()
	d, err := b.Digest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	points := b.Bytes
	b.Bytes, b.Memo = nil, backend.Known(d)
	b.Pieces = func(yield func([]byte, error) bool) {
		reads.Add(1)
		for at := 0; at < len(points); at += 1000 {
			if !yield(points[at:min(at+1000, len(points))], nil) {
				return
			}
		}
	}
	return b
}

func mustLoad(t testing.TB, s *Session, b backend.Bases) backend.BasesID {
	t.Helper()
	id, err := s.LoadBases(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// right computes one MSM and compares its answer.
func right(t testing.TB, s *Session, id backend.BasesID, b backend.Bases) {
	t.Helper()
	scalars := make([]byte, 32*b.Count)
	_, _ = rand.NewChaCha8([32]byte{99}).Read(scalars)
	got, err := s.MSM(ctx, []backend.Job{{Bases: id, Count: b.Count, Input: backend.Input{Bytes: scalars}}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(scalars)
	l := b.Elements()
	if !bytes.Equal(got[0], fake.Point(l, b.Bytes, 0, b.Count, sum[:])) {
		t.Error("wrong answer")
	}
}

// TestOneCopy: a user's sessions with the same bases hold them once, even if both load them at the
// same time. Bases that no session holds are found again.
func TestOneCopy(t *testing.T) {
	inner := &fake.Backend{}
	s := New(inner, Options{Keep: 1 << 30})
	a, b := s.Open(1, 0), s.Open(1, 0)
	points := bases(5000, 1)
	var reads atomic.Int64
	ids := make([]backend.BasesID, 8)
	var wg sync.WaitGroup
	for i, of := range []*Session{a, b, a, b, a, b, a, b} {
		wg.Go(func() { ids[i] = mustLoad(t, of, claimed(t, points, &reads)) })
	}
	wg.Wait()
	if inner.Bases() != 1 || reads.Load() != 1 {
		t.Errorf("%d copies, read %d times", inner.Bases(), reads.Load())
	}
	if n := len(s.loading); n != 0 {
		t.Errorf("%d loads are still waited for", n)
	}
	if st := s.Usage().Daemon; st.Resident != points.Size() || st.Unheld != 0 || st.Sessions != 2 || st.Recognised != 7 {
		t.Errorf("%+v", st)
	}
	right(t, a, ids[0], points)
	if err := a.FreeBases(ctx, ids[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := a.MSM(ctx, []backend.Job{{Bases: ids[0]}}); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("freed bases: %v", err)
	}
	right(t, a, ids[2], points) // loaded twice and freed once: still there
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	right(t, b, ids[1], points)
	b.Close()
	if st := s.Usage().Daemon; inner.Bases() != 1 || st.Unheld != points.Size() || st.Sessions != 0 {
		t.Errorf("%d copies, %+v", inner.Bases(), st)
	}
	c := s.Open(1, 0)
	defer c.Close()
	right(t, c, mustLoad(t, c, claimed(t, points, &reads)), points)
	// Without a known digest they are read, but even then they are held once.
	right(t, c, mustLoad(t, c, points), points)
	if reads.Load() != 1 || inner.Bases() != 1 {
		t.Errorf("read %d times, %d copies", reads.Load(), inner.Bases())
	}
	// Other hints make other bases.
	other := points
	other.Hints.Multiples = 1
	mustLoad(t, c, other)
	if inner.Bases() != 2 {
		t.Errorf("%d copies with two wishes", inner.Bases())
	}
}

// TestLies: bases are identified by the digest of what came, whatever was said.
func TestLies(t *testing.T) {
	inner := &fake.Backend{}
	s := New(inner, Options{Keep: 1 << 30})
	liar, victim := s.Open(1, 0), s.Open(2, 0)
	defer liar.Close()
	defer victim.Close()
	evil, good := bases(100, 1), bases(100, 2)
	d, err := good.Digest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	evil.Memo = backend.Known(d)
	if _, err := liar.LoadBases(ctx, evil); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("a lie: %v", err)
	}
	if inner.Bases() != 0 || s.Usage().Daemon.Resident != 0 {
		t.Errorf("a lie left %d sets of bases", inner.Bases())
	}
	if s.room.apart != 0 || len(s.room.users) != 0 {
		t.Errorf("a lie is counted: %+v", s.room)
	}
	right(t, victim, mustLoad(t, victim, good), good)

	// What changes while it is read is hashed as the backend sees it.
	moving := bases(1000, 3)
	first := bytes.Clone(moving.Bytes)
	pieces := moving
	pieces.Bytes = nil
	pieces.Pieces = func(yield func([]byte, error) bool) {
		shared := bytes.Clone(first[:32000])
		if !yield(shared, nil) {
			return
		}
		clear(shared)
		yield(first[32000:], nil)
	}
	right(t, liar, mustLoad(t, liar, pieces), moving)
	right(t, victim, mustLoad(t, victim, moving), moving)
	s.freeing.Wait()
	if inner.Bases() != 2 {
		t.Errorf("%d sets of bases", inner.Bases())
	}
}

// TestLeastRecentlyUsed: bases that nobody holds are kept up to the limit. They are freed when the
// backend has no more room.
func TestLeastRecentlyUsed(t *testing.T) {
	inner := &fake.Backend{}
	one := int64(6400)
	s := New(inner, Options{Keep: 3 * footprint(one)})
	a := s.Open(1, 0)
	defer a.Close()
	var reads atomic.Int64
	use := func(seeds ...byte) (read int64) {
		before := reads.Load()
		for _, seed := range seeds {
			if err := a.FreeBases(ctx, mustLoad(t, a, claimed(t, bases(100, seed), &reads))); err != nil {
				t.Fatal(err)
			}
		}
		return reads.Load() - before
	}
	if n := use(1, 2, 3, 1, 2, 3); n != 3 {
		t.Errorf("three sets that fit were read %d times", n)
	}
	if n := use(1, 4); n != 1 { // and 2 goes
		t.Errorf("a fourth one: %d read", n)
	}
	if n := use(3, 1, 4); n != 0 {
		t.Errorf("those used last: %d read", n)
	}
	if n := use(2); n != 1 {
		t.Errorf("the one used least: %d read", n)
	}
	if st := s.Usage().Daemon; st.Resident > 3*one || inner.Bases() != 3 {
		t.Errorf("%+v", st)
	}
	inner.Room = 3*one + 1
	held := mustLoad(t, a, bases(300, 5)) // needs all of it
	right(t, a, held, bases(300, 5))
	if inner.Bases() != 1 {
		t.Errorf("%d sets of bases beside one that needs all room", inner.Bases())
	}
	if _, err := a.LoadBases(ctx, bases(100, 6)); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("no room: %v", err)
	}
	right(t, a, held, bases(300, 5))
}

// TestQuota: the error says what was wanted and what there is.
func TestQuota(t *testing.T) {
	s := New(&fake.Backend{}, Options{Keep: 1 << 30})
	a, b := s.Open(1, 20000), s.Open(2, 0)
	defer b.Close()
	points := bases(200, 1) // 12800 bytes
	mustLoad(t, b, points)
	id := mustLoad(t, a, points)
	_, err := a.LoadBases(ctx, bases(200, 2))
	if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), "12800 bytes") || !strings.Contains(err.Error(), "20000") {
		t.Errorf("bases beyond the quota: %v", err)
	}
	lie, truth := bases(50, 3), bases(50, 4)
	d, err := truth.Digest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	lie.Memo = backend.Known(d)
	if _, err := a.LoadBases(ctx, lie); !errors.Is(err, backend.ErrInvalidInput) || a.held != points.Size() {
		t.Errorf("a load that fails: %v, %d bytes are held", err, a.held)
	}
	space, err := a.NewSpace(ctx, backend.ScalarOf(backend.BN254), 225) // 7200 bytes
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.NewSpace(ctx, backend.ScalarOf(backend.BN254), 1); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a space beyond the quota: %v", err)
	}
	if err := a.FreeSpace(ctx, space); err != nil {
		t.Fatal(err)
	}
	if err := a.FreeBases(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := a.LoadBases(ctx, bases(312, 2)); err != nil { // 19968
		t.Errorf("after all was given back: %v", err)
	}
	a.Close()
	if a.held != 0 {
		t.Errorf("%d bytes are counted after the end", a.held)
	}
}

// TestApart: no session can name what another has.
func TestApart(t *testing.T) {
	inner := &fake.Backend{}
	s := New(inner, Options{})
	a, b := s.Open(1, 0), s.Open(1, 0)
	space, err := a.NewSpace(ctx, backend.ScalarOf(backend.BN254), 4)
	if err != nil {
		t.Fatal(err)
	}
	secret := make([]byte, 4*32)
	secret[0] = 42
	all := backend.Range{Space: space, Count: 4}
	if _, err := a.Run(ctx, []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: secret}}}); err != nil {
		t.Fatal(err)
	}
	id := mustLoad(t, a, bases(4, 1))
	for what, f := range map[string]func() error{
		"read a vector": func() error { _, err := b.Run(ctx, []backend.Step{backend.Read{Src: all}}); return err },
		"write a vector": func() error {
			_, err := b.Run(ctx, []backend.Step{backend.Write{Dst: all, Input: backend.Input{Bytes: secret}}})
			return err
		},
		"free a vector": func() error { return b.FreeSpace(ctx, space) },
		"use bases":     func() error { _, err := b.MSM(ctx, []backend.Job{{Bases: id, Count: 0}}); return err },
		"free bases":    func() error { return b.FreeBases(ctx, id) },
	} {
		if err := f(); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("another session could %s: %v", what, err)
		}
	}
	got, err := a.Run(ctx, []backend.Step{backend.Read{Src: all}})
	if err != nil || !bytes.Equal(got[0], secret) {
		t.Errorf("its own vector: %v", err)
	}
	a.Close()
	if inner.Spaces() != 0 || inner.Bases() != 0 {
		t.Errorf("%d spaces and %d bases after the end of their session", inner.Spaces(), inner.Bases())
	}
	if _, err := a.MSM(ctx, nil); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	b.Close()
}

// TestTurns: a turn goes to the session that has had the least time.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		turns.patience = 24 * time.Hour
		busy, quiet := queue{user: &user{}}, queue{user: &user{}}
		var mu sync.Mutex
		var order []string
		took := func() string {
			mu.Lock()
			defer mu.Unlock()
			defer func() { order = nil }()
			return strings.Join(order, "")
		}
		var wg sync.WaitGroup
		use := func(name string, l *queue, d time.Duration) {
			wg.Go(func() {
				_, leave, err := turns.enter(ctx, l)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				time.Sleep(d)
				leave()
			})
			synctest.Wait()
		}
		for range 6 {
			use("b", &busy, 10*time.Millisecond)
		}
		use("q", &quiet, time.Millisecond)
		use("q", &quiet, time.Millisecond)
		if turns.length() != 7 {
			t.Errorf("%d wait", turns.length())
		}
		wg.Wait()
		// busy has had a turn before quiet comes. quiet's two turns are short.
		if got := took(); got != "bqqbbbbb" {
			t.Errorf("order %s", got)
		}
		// A session that pauses saves nothing up.
		use("b", &busy, 10*time.Millisecond)
		for range 3 {
			use("q", &quiet, 10*time.Millisecond)
			use("b", &busy, 10*time.Millisecond)
		}
		took()
		wg.Wait()
		if got := took(); got != "qbqbqb" && got != "qbqbbq" {
			t.Errorf("after a pause %s", got)
		}
		// A call that gives up leaves no gap.
		for range 2 {
			use("q", &quiet, time.Hour)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, _, err := turns.enter(short, &quiet); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		wg.Wait()
		if turns.free != 1 || turns.waiting+len(turns.running)+len(turns.users) != 0 || !busy.idle() || !quiet.idle() || !quiet.user.idle() {
			t.Errorf("%+v, %+v, %+v", turns, busy, quiet)
		}
	})
}

// TestCountersAreOnesOwn: the calls, loads and memory that a session reads are only those of the
// session, whatever others do. The user who runs the daemon reads those of all.
func TestCountersAreOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const owner = 7
		s := New(&fake.Backend{Delay: time.Second}, Options{Keep: 1 << 30, Turns: 1, Owner: owner})
		a, spy, all := s.Open(1, 0), s.Open(2, 0), s.Open(owner, 0)
		points := bases(100, 1)
		right(t, spy, mustLoad(t, spy, points), points)
		before := spy.Usage()
		id := mustLoad(t, a, points)
		mustLoad(t, a, claimed(t, points, new(atomic.Int64)))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { right(t, a, id, points) })
		}
		time.Sleep(1500 * time.Millisecond)
		if now := spy.Usage(); !reflect.DeepEqual(now, before) {
			t.Errorf("another session's calls show: %+v, then %+v", before, now)
		}
		of := a.Usage()
		if d := of.Devices[0]; len(of.Devices) != 1 || d != (backend.DeviceUsage{Busy: 1500 * time.Millisecond, Waited: time.Second, Calls: 2}) {
			t.Errorf("of 3 calls that take a second, after 1.5 s: %+v", of.Devices)
		}
		if *of.Daemon != (backend.DaemonUsage{Sessions: 1, Resident: 2 * points.Size(), Waiting: 1, Recognised: 1}) {
			t.Errorf("its own: %+v", *of.Daemon)
		}
		if d := all.Usage().Daemon; d.Sessions != 3 || d.Resident != points.Size() || d.Waiting != 1 || d.Recognised != 1 {
			t.Errorf("of all: %+v", *d)
		}
		wg.Wait()
		if err := a.FreeBases(ctx, id); err != nil {
			t.Fatal(err)
		}
		if n := a.Usage().Daemon.Resident; n != points.Size() {
			t.Errorf("%d bytes of bases after half of them are free", n)
		}
		for _, o := range []*Session{a, spy, all} {
			o.Close()
		}
		s.freeing.Wait()
	})
}

// onHost is a fake that computes on this machine's processors.
type onHost struct{ *fake.Backend }

func (o onHost) Info() backend.Info {
	i := o.Backend.Info()
	i.Devices = []backend.Device{{Host: true}}
	return i
}

// TestLoadsAreNoCalls: where loads take turns with calls, they are not counted as calls.
func TestLoadsAreNoCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(onHost{&fake.Backend{}}, Options{Keep: 1 << 30, Turns: 1})
		o := s.Open(1, 0)
		defer o.Close()
		points := bases(100, 1)
		id := mustLoad(t, o, points)
		if d := o.Usage().Devices; len(d) != 1 || d[0] != (backend.DeviceUsage{}) {
			t.Errorf("a load counts as %+v", d)
		}
		right(t, o, id, points)
		if d := o.Usage().Devices; len(d) != 1 || d[0].Calls != 1 {
			t.Errorf("a load and a call: %+v", d)
		}
	})
}

// TestPatience: a user who computes nothing gets an extra turn when the others do not give theirs
// away, one for each user.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		long, other := queue{user: &user{}}, &user{}
		_, leave, err := turns.enter(ctx, &long)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, end, err := turns.enter(ctx, &queue{user: other})
		if took := time.Since(began); err != nil || took != patience {
			t.Errorf("%v, after %v", err, took)
		}
		for _, of := range []*user{other, long.user} {
			short, cancel := context.WithTimeout(ctx, time.Hour)
			if _, _, err := turns.enter(short, &queue{user: of}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a second one of a user's: %v", err)
			}
			cancel()
		}
		end()
		// Patience counts from the call, not from an earlier one that gave up.
		short, cancel := context.WithTimeout(ctx, patience/2)
		defer cancel()
		if _, _, err := turns.enter(short, &queue{user: other}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		began = time.Now()
		_, end, err = turns.enter(ctx, &queue{user: other})
		if took := time.Since(began); err != nil || took != patience {
			t.Errorf("%v, after %v", err, took)
		}
		end()
		leave()
		if turns.free != 1 || len(turns.users) != 0 {
			t.Errorf("%+v", turns)
		}
	})
}

// TestYield: a long call gives its turn away between its parts, and all of its goroutines wait
// meanwhile. Users have the same time, however many sessions and calls one has.
func TestYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const part = time.Millisecond
		turns := newTurns(1)
		turns.patience = time.Hour
		var inside, most, mine, theirs atomic.Int64
		var wg sync.WaitGroup
		// long computes in two goroutines until end.
		end := time.Now().Add(time.Second)
		long := func(l *queue, parts *atomic.Int64) {
			wg.Go(func() {
				during, leave, err := turns.enter(ctx, l)
				if err != nil {
					t.Error(err)
					return
				}
				defer leave()
				var both sync.WaitGroup
				for range 2 {
					both.Go(func() {
						for time.Now().Before(end) && backend.Yield(during) == nil {
							if n := inside.Add(1); n > most.Load() {
								most.Store(n)
							}
							time.Sleep(part)
							inside.Add(-1)
							parts.Add(1)
						}
					})
				}
				both.Wait()
			})
		}
		one, other := &user{}, &user{}
		for range 3 {
			long(&queue{user: one}, &mine)
		}
		time.Sleep(100 * time.Millisecond)
		first := mine.Load()
		long(&queue{user: other}, &theirs)
		wg.Wait()
		a, b := mine.Load()-first, theirs.Load()
		if a+b < 1500 || b < a/2 || a < b/2 {
			t.Errorf("in the same time one user of three sessions computed %d parts, another of one %d", a, b)
		}
		if most.Load() > 4 { // the last parts of one beside the first of the other
			t.Errorf("%d goroutines computed at a time", most.Load())
		}
		if turns.free != 1 || len(turns.users) != 0 {
			t.Errorf("%+v", turns)
		}
	})
}

// TestNoneStarves: a call of one session is answered soon while another session has many.
func TestNoneStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(&fake.Backend{Delay: time.Second}, Options{Turns: 2})
		greedy, modest := s.Open(1, 0), s.Open(2, 0)
		points := bases(10, 1)
		g, m := mustLoad(t, greedy, points), mustLoad(t, modest, points)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { right(t, greedy, g, points) })
		}
		time.Sleep(1500 * time.Millisecond)
		for range 3 {
			began := time.Now()
			right(t, modest, m, points)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("a call of a second took %v beside 50 of another session", took)
			}
		}
		wg.Wait()
		greedy.Close()
		modest.Close()
	})
}

// TestStalledScalars: a session whose scalars do not come does not keep others from computing, and
// is answered once they have come.
func TestStalledScalars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(&fake.Backend{Step: 10}, Options{Turns: 1})
		slow, quick := s.Open(1, 0), s.Open(2, 0)
		points := bases(100, 1)
		idSlow, idQuick := mustLoad(t, slow, points), mustLoad(t, quick, points)
		all, scalars := make([]byte, 3200), make([]byte, 3200)
		_, _ = rand.NewChaCha8([32]byte{7}).Read(all)
		copy(scalars, all[:1600])
		var there atomic.Int64
		ready := func(ctx context.Context, n int) error {
			for there.Load() < int64(n) {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(10 * time.Millisecond):
				}
			}
			return nil
		}
		there.Store(50)
		done := make(chan error, 1)
		go func() {
			got, err := slow.MSM(ctx, []backend.Job{{Bases: idSlow, Count: 100, Input: backend.Input{Bytes: scalars, Ready: ready}}})
			sum := sha256.Sum256(all)
			if err == nil && !bytes.Equal(got[0], fake.Point(points.Elements(), points.Bytes, 0, 100, sum[:])) {
				err = errors.New("wrong answer")
			}
			done <- err
		}()
		synctest.Wait()
		began := time.Now()
		right(t, quick, idQuick, points)
		if took := time.Since(began); took > patience {
			t.Errorf("waited %v for a session that stands", took)
		}
		time.Sleep(2 * defaultStall)
		began = time.Now()
		right(t, quick, idQuick, points)
		if took := time.Since(began); took > 0 {
			t.Errorf("it has the turn again for %v", took)
		}
		copy(scalars, all)
		there.Store(100)
		if err := <-done; err != nil {
			t.Error(err)
		}
		// An error of the input is returned as the call's.
		failing := func(context.Context, int) error { return fmt.Errorf("%w: no witness", backend.ErrInvalidInput) }
		if _, err := slow.MSM(ctx, []backend.Job{{Bases: idSlow, Count: 100,
			Input: backend.Input{Bytes: scalars, Ready: failing}}}); !errors.Is(err, backend.ErrInvalidInput) {
			t.Error(err)
		}
		slow.Close()
		quick.Close()
	})
}

// deaf is a backend that does not notice the cancelling of a call.
type deaf struct {
	*fake.Backend
	runs int
}

func (d *deaf) MSM(ctx context.Context, jobs []backend.Job) ([][]byte, error) {
	d.runs++
	return d.Backend.MSM(context.WithoutCancel(ctx), jobs)
}

// TestLateAnswer: an answer that comes although the input stalled is returned.
func TestLateAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &deaf{Backend: &fake.Backend{}}
		s := New(inner, Options{}).Open(1, 0)
		points := bases(10, 1)
		id := mustLoad(t, s, points)
		late := func(context.Context, int) error { time.Sleep(2 * defaultStall); return nil }
		scalars := make([]byte, 320)
		_, err := s.MSM(ctx, []backend.Job{{Bases: id, Count: 10, Input: backend.Input{Bytes: scalars, Ready: late}}})
		if err != nil || inner.runs != 1 {
			t.Errorf("%v, computed %d times", err, inner.runs)
		}
		s.Close()
	})
}

// attentive is a backend that notes whether inputs are still to come when a program begins.
type attentive struct {
	*fake.Backend
	late []bool
}

func (b *attentive) Run(ctx context.Context, steps []backend.Step) ([][]byte, error) {
	late := false
	for _, step := range steps {
		backend.WithInput(step, func(in *backend.Input, _ int) { late = late || in.Ready != nil })
	}
	b.late = append(b.late, late)
	return b.Backend.Run(ctx, steps)
}

// TestWhatWritesBeginsOnce: a program that changes a space begins when all of its input is there,
// because it cannot begin again. Any other begins at once.
func TestWhatWritesBeginsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &attentive{Backend: &fake.Backend{Step: 1}}
		s := New(inner, Options{Keep: 1 << 30}).Open(1, 0)
		points := bases(10, 1)
		id := mustLoad(t, s, points)
		space, err := s.NewSpace(ctx, backend.ScalarOf(backend.BN254), 10)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		in := backend.Input{Bytes: make([]byte, 320), Ready: func(context.Context, int) error {
			time.Sleep(time.Until(began.Add(time.Second)))
			return nil
		}}
		all := backend.Range{Space: space, Count: 10}
		for _, steps := range [][]backend.Step{
			{backend.Write{Dst: all, Input: in}},
			{backend.Job{Bases: id, Count: 10, Input: in}, backend.Read{Src: all}},
		} {
			if _, err := s.Run(ctx, steps); err != nil {
				t.Error(err)
			}
			began = time.Now()
		}
		if !slices.Equal(inner.late, []bool{false, true}) {
			t.Errorf("inputs were to come when the programs began: %v", inner.late)
		}
		s.Close()
	})
}

// TestStalledLoad: a session that loads what another session loads waits for it, but not if it
// stalls.
func TestStalledLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &fake.Backend{}
		s := New(inner, Options{Keep: 1 << 30})
		standing, waiting := s.Open(1, 0), s.Open(1, 0)
		points := bases(1000, 1)
		var reads atomic.Int64
		stands := claimed(t, points, &reads)
		goOn := make(chan struct{})
		whole := stands.Pieces
		stands.Pieces = func(yield func([]byte, error) bool) {
			at := 0
			whole(func(p []byte, err error) bool {
				if at++; at == 2 {
					<-goOn
				}
				return yield(p, err)
			})
		}
		first := make(chan backend.BasesID, 1)
		go func() { first <- mustLoad(t, standing, stands) }()
		synctest.Wait()
		began := time.Now()
		id := mustLoad(t, waiting, claimed(t, points, &reads))
		if took := time.Since(began); took < defaultStall || took > 2*defaultStall {
			t.Errorf("it waited %v for a load that stands", took)
		}
		right(t, waiting, id, points)
		close(goOn)
		right(t, standing, <-first, points)
		if inner.Bases() != 1 {
			t.Errorf("%d copies in the end", inner.Bases())
		}
		standing.Close()
		waiting.Close()
	})
}

// TestSlowLoad: a session that loads what another session loads waits while that load moves, but
// never longer than a minute.
func TestSlowLoad(t *testing.T) {
	for seconds, want := range map[int]struct {
		reads int64
		took  time.Duration // at most
	}{10: {1, 11 * time.Second}, 300: {2, longestWait + 301*time.Second + defaultStall}} {
		synctest.Test(t, func(t *testing.T) {
			s := New(&fake.Backend{}, Options{Keep: 1 << 30})
			slow, waiting := s.Open(1, 0), s.Open(1, 0)
			points := bases(seconds*1000/64+1, 1) // a piece of 1000 bytes each second
			var reads atomic.Int64
			moving := claimed(t, points, &reads)
			whole := moving.Pieces
			moving.Pieces = func(yield func([]byte, error) bool) {
				whole(func(p []byte, err error) bool {
					time.Sleep(time.Second)
					return yield(p, err)
				})
			}
			var both sync.WaitGroup
			both.Go(func() { mustLoad(t, slow, moving) })
			synctest.Wait()
			began := time.Now()
			mustLoad(t, waiting, moving)
			took := time.Since(began)
			both.Wait()
			if n := reads.Load(); n != want.reads || took > want.took || want.reads == 2 && took < longestWait {
				t.Errorf("of a load of %d s: %d reads, the second session waited %v", seconds, n, took)
			}
			slow.Close()
			waiting.Close()
		})
	}
}

// crowded is a backend that notes how many bases it holds when more are loaded.
type crowded struct {
	*fake.Backend
	most int
}

func (c *crowded) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	c.most = max(c.most, c.Backend.Bases())
	return c.Backend.LoadBases(ctx, b)
}

// TestMakesPlaceBeforeItLoads: bases that nobody holds are freed before a load would exceed the
// limit.
func TestMakesPlaceBeforeItLoads(t *testing.T) {
	inner := &crowded{Backend: &fake.Backend{}}
	s := New(inner, Options{Keep: 3 * footprint(6400)})
	a := s.Open(1, 0)
	defer a.Close()
	for seed := range byte(8) {
		if err := a.FreeBases(ctx, mustLoad(t, a, bases(100, seed))); err != nil {
			t.Fatal(err)
		}
	}
	if inner.most != 2 || inner.Bases() != 3 {
		t.Errorf("%d sets of bases beside one that is loaded, and %d in the end, where three may be", inner.most, inner.Bases())
	}
}

// short is a backend that runs out of memory after it has read the points, while it holds other
// bases, and that frees slowly.
type short struct {
	*fake.Backend
	loads int
	slow  time.Duration
}

func (b *short) LoadBases(ctx context.Context, bases backend.Bases) (backend.BasesID, error) {
	b.loads++
	full := b.Backend.Bases() > 0 && b.slow == 0
	id, err := b.Backend.LoadBases(ctx, bases)
	if err == nil && full {
		_ = b.Backend.FreeBases(ctx, id)
		err = backend.ErrOutOfMemory
	}
	return id, err
}

func (b *short) FreeBases(ctx context.Context, id backend.BasesID) error {
	time.Sleep(b.slow)
	return b.Backend.FreeBases(ctx, id)
}

// TestRoomIsMadeOnce: a load that finds no memory is tried once more after the bases that nobody
// holds are freed, if its points can be read again.
func TestRoomIsMadeOnce(t *testing.T) {
	var reads atomic.Int64
	for what, c := range map[string]struct {
		points      backend.Bases
		held        bool // the bases that take the memory are held
		loads, left int
		fails       bool
	}{
		"nobody holds what is there":   {points: bases(100, 2), loads: 2, left: 1},
		"points that come once":        {points: claimed(t, bases(100, 2), &reads), loads: 1, left: 0, fails: true},
		"somebody holds what is there": {points: bases(100, 2), held: true, loads: 1, left: 1, fails: true},
	} {
		inner := &short{Backend: &fake.Backend{}}
		s := New(inner, Options{Keep: 1 << 30})
		a := s.Open(1, 0)
		first := mustLoad(t, a, bases(100, 1))
		if !c.held {
			if err := a.FreeBases(ctx, first); err != nil {
				t.Fatal(err)
			}
		}
		inner.loads = 0
		_, err := a.LoadBases(ctx, c.points)
		if _, digested := c.points.KnownDigest(); !c.fails {
			var d backend.Digest
			if d, err = c.points.Digest(ctx); err != nil || s.kept[key{digest: d}] == nil || digested {
				t.Errorf("%s: they are not known by their digest: %v", what, err)
			}
		}
		if c.fails != errors.Is(err, backend.ErrOutOfMemory) || !c.fails && err != nil || inner.loads != c.loads || inner.Bases() != c.left {
			t.Errorf("%s: %v after %d loads, %d sets of bases are there", what, err, inner.loads, inner.Bases())
		}
		a.Close()
	}
}

// TestHoldersAreCharged: bases that a user holds count once for the user, by whatever session, from
// whatever source and however often, for as long as the user holds them.
func TestHoldersAreCharged(t *testing.T) {
	one := footprint(6400)
	s := New(&fake.Backend{}, Options{Keep: 1 << 30, UserRoom: 2 * one})
	a, b := s.Open(1, 0), s.Open(1, 0)
	defer a.Close()
	defer b.Close()
	var reads atomic.Int64
	held := func(when string, want int64) {
		t.Helper()
		if got := s.room.users[1]; got != want*one || s.room.apart != 0 {
			t.Errorf("%s: %d bytes are counted for the user, want %d, and %d on their way", when, got, want*one, s.room.apart)
		}
	}
	free := func(s *Session, ids ...backend.BasesID) {
		t.Helper()
		for _, id := range ids {
			if err := s.FreeBases(ctx, id); err != nil {
				t.Fatal(err)
			}
		}
	}
	points := bases(100, 1)
	first, again := mustLoad(t, a, points), mustLoad(t, b, points)
	held("read twice", 1)
	free(a, first)
	held("freed once", 1)
	free(b, again)
	held("freed twice", 0)
	first, again = mustLoad(t, a, claimed(t, points, &reads)), mustLoad(t, b, claimed(t, points, &reads))
	held("found twice", 1)
	second := mustLoad(t, a, bases(100, 2))
	held("another one", 2)
	if _, err := b.LoadBases(ctx, bases(100, 3)); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a third one: %v", err)
	}
	free(a, second)
	third := mustLoad(t, a, bases(100, 3))
	if _, err := a.LoadBases(ctx, claimed(t, bases(100, 2), &reads)); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("one that is there, beside two others: %v", err)
	}
	held("refused", 2)
	free(a, third, first)
	free(b, again)
	held("nothing", 0)
	if n := reads.Load(); n != 0 {
		t.Errorf("what is there is read %d times", n)
	}
}

// TestNobodyLearnsThatBasesAreThere: loading what another user has takes no longer than loading
// what nobody has, even if the second copy is freed slowly.
func TestNobodyLearnsThatBasesAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &short{Backend: &fake.Backend{}, slow: time.Second}
		s := New(inner, Options{Keep: 1 << 30})
		owner, other := s.Open(1, 0), s.Open(2, 0)
		mustLoad(t, owner, bases(100, 1))
		began := time.Now()
		mustLoad(t, other, bases(100, 1))
		if took := time.Since(began); took > 0 {
			t.Errorf("it takes %v longer", took)
		}
		s.freeing.Wait()
		if inner.Bases() != 1 {
			t.Errorf("%d copies", inner.Bases())
		}
		owner.Close()
		other.Close()
	})
}

// TestDigestIsNoKey: the digest alone does not give anyone another user's bases. With the points a
// user gets them, but only after all points have been read and loaded, as if nobody had them.
func TestDigestIsNoKey(t *testing.T) {
	inner := &fake.Backend{}
	s := New(inner, Options{Keep: 1 << 30})
	owner, thief := s.Open(1, 0), s.Open(2, 0)
	defer owner.Close()
	defer thief.Close()
	points := bases(5000, 1)
	var reads atomic.Int64
	id := mustLoad(t, owner, claimed(t, points, &reads))
	d, err := points.Digest(ctx)
	if err != nil {
		t.Fatal(err)
	}
	other := bases(5000, 2)
	other.Memo = backend.Known(d)
	if _, err := thief.LoadBases(ctx, other); !errors.Is(err, backend.ErrInvalidInput) {
		t.Errorf("another user's digest with points of one's own: %v", err)
	}
	if st := s.Usage().Daemon; st.Recognised != 0 {
		t.Errorf("%+v", st)
	}
	// A user who has the same points loads them as if nobody had: they are read once, and given to
	// the backend once.
	before, pieces := reads.Load(), inner.Pieces.Load()
	theirs := mustLoad(t, thief, claimed(t, points, &reads))
	if reads.Load() != before+1 || inner.Pieces.Load() == pieces {
		t.Errorf("read %d times, %d pieces for the backend", reads.Load()-before, inner.Pieces.Load()-pieces)
	}
	s.freeing.Wait()
	if inner.Bases() != 1 {
		t.Errorf("%d copies", inner.Bases())
	}
	right(t, thief, theirs, points)
	// From now on both know them.
	before = reads.Load()
	mustLoad(t, thief, claimed(t, points, &reads))
	mustLoad(t, owner, claimed(t, points, &reads))
	if reads.Load() != before {
		t.Error("who brought the points before has them read again")
	}
	right(t, owner, id, points)
}

// TestNobodyWaitsForAnothersLoad: one user's load of a key neither delays nor hastens another
// user's load of the same key.
func TestNobodyWaitsForAnothersLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(&fake.Backend{}, Options{Keep: 1 << 30})
		standing, other := s.Open(1, 0), s.Open(2, 0)
		points := bases(1000, 1)
		var reads atomic.Int64
		stands := claimed(t, points, &reads)
		goOn := make(chan struct{})
		whole := stands.Pieces
		stands.Pieces = func(yield func([]byte, error) bool) { <-goOn; whole(yield) }
		first := make(chan backend.BasesID, 1)
		go func() { first <- mustLoad(t, standing, stands) }()
		synctest.Wait()
		began := time.Now()
		right(t, other, mustLoad(t, other, claimed(t, points, &reads)), points)
		if took := time.Since(began); took > 0 {
			t.Errorf("it waited %v for another user's load", took)
		}
		close(goOn)
		right(t, standing, <-first, points)
		s.freeing.Wait()
		standing.Close()
		other.Close()
	})
}

// TestHeavyWaits: while a user computes who has had less time, long calls of another user wait,
// even if there is a turn for them.
func TestHeavyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2)
		heavy, light := &user{}, &user{}
		var parts atomic.Int64
		var wg sync.WaitGroup
		end := time.Now().Add(time.Second)
		for range 2 {
			wg.Go(func() {
				during, leave, err := turns.enter(ctx, &queue{user: heavy})
				if err != nil {
					t.Error(err)
					return
				}
				defer leave()
				for time.Now().Before(end) && backend.Yield(during) == nil {
					time.Sleep(time.Millisecond)
					parts.Add(1)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		_, leave, err := turns.enter(ctx, &queue{user: light})
		if took := time.Since(began); err != nil || took > slice+time.Millisecond {
			t.Errorf("%v, after %v", err, took)
		}
		time.Sleep(5 * time.Millisecond) // they come to the end of their parts
		before := parts.Load()
		time.Sleep(30 * time.Millisecond)
		if n := parts.Load() - before; n > 0 {
			t.Errorf("%d parts beside another user's call", n)
		}
		leave()
		time.Sleep(10 * time.Millisecond)
		if parts.Load() == before {
			t.Error("they do not go on")
		}
		wg.Wait()
		if turns.free != 2 || len(turns.users) != 0 {
			t.Errorf("%+v", turns)
		}
	})
}

// counting is a backend that tells how many loads it has under way.
type counting struct {
	*fake.Backend
	now, most atomic.Int64
}

func (c *counting) LoadBases(ctx context.Context, b backend.Bases) (backend.BasesID, error) {
	from := b.Pieces
	b.Pieces = func(yield func([]byte, error) bool) {
		for p, err := range from {
			c.most.Store(max(c.most.Load(), c.now.Add(1)))
			time.Sleep(time.Millisecond)
			more := yield(p, err)
			c.now.Add(-1)
			if !more {
				return
			}
		}
	}
	return c.Backend.LoadBases(ctx, b)
}

// TestLoadsTakeTurns: points are hashed and passed on in turns. A load whose points do not come has
// no turn.
func TestLoadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &counting{Backend: &fake.Backend{}}
		s := New(inner, Options{Keep: 1 << 30, Copies: 1 << 30, UserCopies: 5 << 20}) // a copy is a MiB
		s.loads = newTurns(1)
		a, other := s.Open(1, 0), s.Open(2, 0)
		come := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			b := bases(1<<15, 0)
			points := b.Bytes
			b.Bytes = nil
			b.Pieces = func(yield func([]byte, error) bool) {
				if yield(points[:1<<20], nil) {
					<-come
					yield(points[1<<20:], nil)
				}
			}
			mustLoad(t, a, b)
		})
		synctest.Wait()
		for i := range 16 {
			wg.Go(func() { mustLoad(t, a, bases(100, byte(i+1))) })
		}
		began := time.Now()
		mustLoad(t, other, bases(100, 100))
		if took := time.Since(began); took > 4*time.Millisecond {
			t.Errorf("another user's load took %v", took)
		}
		time.Sleep(time.Second)
		close(come)
		wg.Wait()
		if n := inner.most.Load(); n != 1 {
			t.Errorf("%d loads at a time", n)
		}
		if s.loads.free != 1 || len(s.loads.users) != 0 {
			t.Errorf("%+v", s.loads)
		}
		a.Close()
		other.Close()
	})
}
