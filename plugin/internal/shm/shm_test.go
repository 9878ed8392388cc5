//go:build linux

package shm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
)

var ctx = context.Background()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func pair(t *testing.T) (a, b *Channel) {
	t.Helper()
	a, theirs, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	b, err = NewChannel(theirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// across sends an arena's descriptor and returns what the other side gets.
func across(t *testing.T, a *Arena) *os.File {
	t.Helper()
	host, plugin := pair(t)
	want := Message{Kind: KindArena, ID: a.ID(), Size: uint64(len(a.Bytes()))}
	if err := host.Send(want, a.File()); err != nil {
		t.Fatal(err)
	}
	got, f, err := plugin.Receive()
	if err != nil || got != want {
		t.Fatalf("received %+v, %v", got, err)
	}
	return f
}

// TestAnswerArena: what the other side writes is seen, and an arena for inputs
// can be mapped for writing by nobody.
func TestAnswerArena(t *testing.T) {
	const size = 1 << 20
	pool := NewPool(PoolOptions{Budget: 2 * size, Answers: true})
	defer pool.Close()
	rs, err := pool.Acquire(ctx, size)
	if err != nil {
		t.Fatal(err)
	}
	a := rs[0].Arena()
	if !a.Answers() {
		t.Fatal("the pool's arena is not for answers")
	}
	m, err := AttachAnswers(across(t, a), uint64(len(a.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	m.Bytes()[size-1] = 7
	if a.Bytes()[size-1] != 7 {
		t.Error("not the same memory")
	}
	seen := make(chan bool, 1)
	pool.wiped = func(b []byte) { seen <- b[size-1] == 0 }
	rs[0].Release()
	if !<-seen || m.Bytes()[size-1] != 0 {
		t.Error("an answer was not wiped")
	}
	m.Close()

	input, err := NewArena(size)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	if _, err := AttachAnswers(across(t, input), size); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("an arena for inputs, mapped for writing: %v", err)
	}
}

func TestArenaIsShared(t *testing.T) {
	const size = 1 << 20
	a, err := NewArena(size)
	if err != nil {
		t.Fatal(err)
	}
	f := across(t, a)
	m, err := Attach(f, size)
	if err != nil {
		t.Fatal(err)
	}
	a.Bytes()[size-1] = 7
	if m.Bytes()[size-1] != 7 {
		t.Fatal("the mapping does not see what the arena holds")
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	// Both mappings of this arena (one of another test may still be on its way
	// out): private to nobody, left out of core dumps, and the attached one
	// read-only.
	var st unix.Stat_t
	if err := unix.Fstat(int(a.File().Fd()), &st); err != nil {
		t.Fatal(err)
	}
	var flags []string
	mapped := regexp.MustCompile(fmt.Sprintf(" %d +/memfd:pippin-arena", st.Ino))
	for _, part := range mapped.Split(string(maps), -1)[1:] {
		_, rest, _ := strings.Cut(part, "VmFlags:")
		line, _, _ := strings.Cut(rest, "\n")
		flags = append(flags, line+" ")
		if !strings.Contains(line, " dd ") {
			t.Errorf("mapping without DONTDUMP: %s", line)
		}
	}
	if len(flags) != 2 {
		t.Fatalf("%d mappings, want 2", len(flags))
	}
	if strings.Contains(flags[0], " wr ") == strings.Contains(flags[1], " wr ") {
		t.Errorf("one mapping must be writable and one not: %q", flags)
	}
	a.Close()
	if m.Bytes()[size-1] != 7 {
		t.Fatal("the mapping lost its memory with the arena")
	}
	m.Close()
}

func TestArenaCannotChange(t *testing.T) {
	a, err := NewArena(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	f := across(t, a)
	defer f.Close()
	fd := int(f.Fd())
	for _, size := range []int64{0, 1 << 10, 1 << 20} {
		if err := unix.Ftruncate(fd, size); !errors.Is(err, unix.EPERM) {
			t.Errorf("ftruncate to %d: %v", size, err)
		}
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); !errors.Is(err, unix.EPERM) {
		t.Errorf("adding a seal: %v", err)
	}
	if _, err := unix.Mmap(fd, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); !errors.Is(err, unix.EPERM) {
		t.Errorf("mapping for writing: %v", err)
	}
	if _, err := unix.Write(fd, []byte{1}); !errors.Is(err, unix.EPERM) {
		t.Errorf("write: %v", err)
	}
}

func TestAttachRefuses(t *testing.T) {
	const size = 1 << 16
	const all = required | unix.F_SEAL_FUTURE_WRITE
	holed := func(flags, seals int, length, there int64) *os.File {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|flags)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(fd, length); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fallocate(fd, 0, 0, there); err != nil {
			t.Fatal(err)
		}
		if seals != 0 {
			if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
				t.Fatal(err)
			}
		}
		return os.NewFile(uintptr(fd), "test")
	}
	memfd := func(flags, seals int, length int64) *os.File { return holed(flags, seals, length, length) }
	plain, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.Truncate(size); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*os.File{
		"unsealed":          memfd(unix.MFD_ALLOW_SEALING, 0, size),
		"sealing forbidden": memfd(0, 0, size),
		"may shrink":        memfd(unix.MFD_ALLOW_SEALING, all&^unix.F_SEAL_SHRINK, size),
		"may be resealed":   memfd(unix.MFD_ALLOW_SEALING, all&^unix.F_SEAL_SEAL, size),
		"may get holes":     memfd(unix.MFD_ALLOW_SEALING, all&^unix.F_SEAL_FUTURE_WRITE, size),
		"has a hole":        holed(unix.MFD_ALLOW_SEALING, all, size, size-PageSize),
		"truncated":         memfd(unix.MFD_ALLOW_SEALING, all, size-PageSize),
		"longer":            memfd(unix.MFD_ALLOW_SEALING, all, size+PageSize),
		"ordinary file":     plain,
	} {
		if _, err := Attach(f, size); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
		if f.Close() == nil {
			t.Errorf("%s: the descriptor was left open", name)
		}
	}
	for _, bad := range []uint64{0, 1 << 62} {
		if _, err := Attach(memfd(unix.MFD_ALLOW_SEALING, all, size), bad); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%d bytes: %v", bad, err)
		}
	}
	for _, bad := range []int{-1, 0, 1, PageSize + 1} {
		if _, err := NewArena(bad); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("arena of %d: %v", bad, err)
		}
	}
}

func TestChannelRefuses(t *testing.T) {
	host, plugin := pair(t)
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	good := make([]byte, messageSize)
	copy(good, []byte{0x70, 0x70, 0x66, 0x64, 1})
	two := unix.UnixRights(int(f.Fd()), int(f.Fd()))
	before := fds(t)
	for name, m := range map[string][2][]byte{
		"short":           {good[:messageSize-1], rights(f)},
		"long":            {append(good, 0), rights(f)},
		"magic":           {make([]byte, messageSize), rights(f)},
		"no descriptor":   {good, nil},
		"two descriptors": {good, two},
	} {
		if _, _, err := host.conn.WriteMsgUnix(m[0], m[1], nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := plugin.Receive(); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := fds(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
	if err := host.Send(Message{Kind: KindFile, ID: 3}, f); err != nil {
		t.Fatal(err)
	}
	m, got, err := plugin.Receive()
	if err != nil || m.ID != 3 || m.Kind != KindFile {
		t.Fatalf("after refusals: %+v, %v", m, err)
	}
	got.Close()
	host.Close()
	if _, _, err := plugin.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := NewChannel(r); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a pipe as channel: %v", err)
	}
}

func fds(t *testing.T) int {
	t.Helper()
	e, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(e)
}

// TestPoolNeverTwice hands regions out and back at random, from several
// goroutines that each write their own mark over the whole of theirs.
func TestPoolNeverTwice(t *testing.T) {
	p := NewPool(PoolOptions{Budget: 24 << 20, MaxArenas: 6})
	defer p.Close()
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			mark := byte(g + 1)
			for range 60 {
				sizes := make([]int, 1+r.IntN(3))
				for i := range sizes {
					sizes[i] = 1 + r.IntN(1<<uint(8+r.IntN(13)))
				}
				over := r.IntN(2) == 0
				acquire := p.Acquire
				if over {
					acquire = p.Overwrite
					sizes = append(sizes, backgroundWipe+r.IntN(2)*PageSize)
				}
				got, err := acquire(ctx, sizes...)
				if err != nil {
					t.Error(err)
					return
				}
				for i, reg := range got {
					b := reg.Bytes()
					if len(b) != sizes[i] || reg.Offset()%PageSize != 0 {
						t.Errorf("region of %d at %d, want %d", len(b), reg.Offset(), sizes[i])
					}
					for j, x := range b {
						if x != 0 && !over {
							t.Errorf("byte %d of a new region is %d", j, x)
							return
						}
						b[j] = mark
					}
				}
				runtime.Gosched()
				for _, reg := range got {
					if i := bytes.IndexFunc(reg.Bytes(), func(x rune) bool { return byte(x) != mark }); i >= 0 {
						t.Errorf("somebody else wrote to my region")
					}
					reg.Release()
				}
			}
		})
	}
	wg.Wait()
	for end := time.Now().Add(5 * time.Second); p.InUse() != 0; {
		if time.Now().After(end) {
			t.Fatalf("%d bytes still in use", p.InUse())
		}
		time.Sleep(time.Millisecond)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var total int64
	for _, a := range p.arenas {
		total += int64(len(a.mem))
		if len(a.free) != 1 || a.free[0] != (extent{0, len(a.mem)}) || len(a.live) != 0 {
			t.Errorf("an unused arena is in pieces: %v", a.free)
		}
	}
	if total != p.total || total > p.budget || len(p.arenas) > p.maxArenas || p.transient != 0 {
		t.Errorf("total %d of %d, budget %d, %d arenas, %d transient", p.total, total, p.budget, len(p.arenas), p.transient)
	}
}

func TestPoolWipes(t *testing.T) {
	for _, size := range []int{10, PageSize, backgroundWipe + 5} {
		p := NewPool(PoolOptions{Budget: 16 << 20})
		seen := make(chan error, 1)
		p.wiped = func(b []byte) {
			var err error
			for i, x := range b {
				if x != 0 {
					err = fmt.Errorf("byte %d of %d is %d after the wipe", i, len(b), x)
					break
				}
			}
			seen <- err
		}
		rs, err := p.Acquire(ctx, size)
		if err != nil {
			t.Fatal(err)
		}
		b := rs[0].Bytes()
		for i := range b {
			b[i] = 0xff
		}
		rs[0].Retain()
		rs[0].Release()
		if b[size-1] != 0xff {
			t.Fatal("wiped while it was referred to")
		}
		rs[0].Release()
		if err := <-seen; err != nil {
			t.Error(err)
		}
		p.Close()
	}
}

// TestKeepLeaves: what is kept leaves a quarter of the budget to those who wait for each other.
func TestKeepLeaves(t *testing.T) {
	const mib = 1 << 20
	p := NewPool(PoolOptions{Budget: 8 * mib, Leaves: true})
	defer p.Close()
	four, err := p.Keep(ctx, 4*mib)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Keep(ctx, 3*mib); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("7 of 8 MiB are kept: %v", err)
	}
	two, err := p.Keep(ctx, 2*mib)
	if err != nil {
		t.Fatal(err)
	}
	call, err := p.Acquire(ctx, 2*mib)
	if err != nil {
		t.Fatalf("nothing is left to calls: %v", err)
	}
	two.Release()
	three, err := p.Keep(ctx, mib)
	if err != nil {
		t.Errorf("what was given back is not there to be kept again: %v", err)
	}
	for _, r := range append(call, four, three) {
		r.Release()
	}
	p.Limit(4 * mib)
	if _, err := p.Keep(ctx, 4*mib); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("4 MiB of a budget that was lowered to 4 are kept: %v", err)
	}
}

func TestPoolBudget(t *testing.T) {
	const mib = 1 << 20
	p := NewPool(PoolOptions{Budget: 8 * mib})
	defer p.Close()
	var dropped []uint64
	defer p.Watch(func(id uint64) { dropped = append(dropped, id) })()

	if _, err := p.Acquire(ctx, 9*mib); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Fatalf("above the budget: %v", err)
	}
	kept, err := p.Keep(ctx, mib)
	if err != nil {
		t.Fatal(err)
	}
	// Makes arenas, gives up what is unused, and keeps to the budget.
	for _, size := range []int{mib, 2 * mib, 3 * mib, 6 * mib, 4 * mib, 6 * mib} {
		rs, err := p.Acquire(ctx, size)
		if err != nil {
			t.Fatalf("%d MiB: %v", size/mib, err)
		}
		rs[0].Release()
		for p.InUse() != mib {
			time.Sleep(time.Millisecond)
		}
		if p.total > p.budget {
			t.Fatalf("%d of %d", p.total, p.budget)
		}
	}
	if len(dropped) == 0 {
		t.Error("no arena was given up")
	}
	// What a caller keeps does not come back by itself: no waiting.
	big, err := p.Keep(ctx, 6*mib)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Acquire(ctx, 2*mib); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Fatalf("budget kept by callers: %v", err)
	}
	big.Release()
	// What a call holds does.
	rs, err := p.Acquire(ctx, 6*mib)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := p.Acquire(short, 2*mib); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, rs[0].Release)
	rs, err = p.Acquire(ctx, 3*mib, 3*mib)
	if err != nil {
		t.Fatalf("after waiting: %v", err)
	}
	p.Close()
	if _, err := p.Acquire(ctx, 1); !errors.Is(err, backend.ErrClosed) {
		t.Fatalf("closed: %v", err)
	}
	kept.Bytes()[0] = 1 // still there
	kept.Release()
	for _, r := range rs {
		r.Release()
	}
	for p.InUse() != 0 {
		time.Sleep(time.Millisecond)
	}
	if len(p.arenas) != 0 || p.total != 0 {
		t.Errorf("a closed pool keeps %d arenas of %d bytes", len(p.arenas), p.total)
	}
}

func TestPoolFind(t *testing.T) {
	p := NewPool(PoolOptions{Budget: 16 << 20})
	defer p.Close()
	a, err := p.Keep(ctx, 3*PageSize-100)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Keep(ctx, PageSize)
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := p.Acquire(ctx, PageSize)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		of   []byte
		r    *Region
		off  int
	}{
		{"whole", a.Bytes(), a, 0},
		{"part", a.Bytes()[100:200], a, 100},
		{"last byte", a.Bytes()[3*PageSize-101:], a, 3*PageSize - 101},
		{"other", b.Bytes()[8:], b, 8},
		{"nothing", a.Bytes()[:0], nil, 0},
		{"heap", make([]byte, 100), nil, 0},
		{"beyond the end", a.Arena().Bytes()[a.Offset() : a.Offset()+3*PageSize], nil, 0},
		{"two regions", a.Arena().Bytes()[min(a.Offset(), b.Offset()):][:4*PageSize], nil, 0},
		{"not the caller's", hidden[0].Bytes(), nil, 0},
		{"free", a.Arena().Bytes()[1<<20:][:8], nil, 0},
	} {
		r, off, ok := p.Find(c.of)
		if ok != (c.r != nil) || r != c.r || off != c.off {
			t.Errorf("%s: %v at %d, %v", c.name, r, off, ok)
		}
		if ok {
			r.Release()
		}
	}
	bytesOfA := a.Bytes()
	a.Release()
	if _, _, ok := p.Find(bytesOfA); ok {
		t.Error("a released region is found")
	}
	b.Release()
	hidden[0].Release()
}

func TestCounter(t *testing.T) {
	s := NewCounters()
	cs, err := s.Acquire(ctx, 100)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, c := range cs {
		if seen[c.Offset()] || c.Offset()%CounterSize != 0 {
			t.Fatalf("counter at %d", c.Offset())
		}
		seen[c.Offset()] = true
	}
	c := cs[0]
	mem := c.Arena().Bytes()[c.Offset():][:8]
	wait := func(need int) chan error {
		done := make(chan error, 1)
		go func() { done <- NewWaiters(1).Wait(ctx, mem, need, 1000) }()
		return done
	}
	if err := <-wait(0); err != nil {
		t.Fatal(err)
	}
	w := wait(500)
	c.Set(499)
	select {
	case err := <-w:
		t.Fatalf("too early: %v", err)
	case <-time.After(5 * time.Millisecond):
	}
	c.Set(1000)
	if err := <-w; err != nil {
		t.Fatal(err)
	}
	c.Set(1001)
	if err := <-wait(1); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("beyond the end: %v", err)
	}
	c.Set(3)
	w = wait(4)
	c.Poison()
	if err := <-w; !errors.Is(err, context.Canceled) {
		t.Errorf("poisoned: %v", err)
	}
	c.Set(0)
	ended, cancel := context.WithCancel(ctx)
	time.AfterFunc(5*time.Millisecond, cancel)
	if err := NewWaiters(1).Wait(ended, mem, 4, 1000); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	s.Release(cs)
	again, err := s.Acquire(ctx, 128)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range again {
		if v := word(c.bytes()).Load(); v != 0 {
			t.Fatalf("a new counter is %d", v)
		}
	}
	s.Release(again)
	s.Close()
	if s.pool.total != 0 {
		t.Errorf("%d bytes are kept", s.pool.total)
	}
}

// TestPoolWaitsForWipe: the next call of the same size takes the memory that
// is just being wiped rather than touch as much again.
func TestPoolWaitsForWipe(t *testing.T) {
	p := NewPool(PoolOptions{Budget: 64 << 20})
	defer p.Close()
	wiping := make(chan struct{})
	p.wiped = func([]byte) { <-wiping }
	const size = 4 << 20
	rs, err := p.Acquire(ctx, size)
	if err != nil {
		t.Fatal(err)
	}
	first := rs[0].Arena()
	rs[0].Release()
	time.AfterFunc(20*time.Millisecond, func() { close(wiping) })
	if rs, err = p.Acquire(ctx, size); err != nil {
		t.Fatal(err)
	}
	if rs[0].Arena() != first || len(p.arenas) != 1 {
		t.Errorf("%d arenas", len(p.arenas))
	}
	rs[0].Release()
}

// TestPoolOverwrite: a region to be written over is not wiped when the next one of its
// size comes soon, whoever else asks gets zeros, and nothing stays when nobody comes,
// when the room is needed, or when the pool is closed.
func TestPoolOverwrite(t *testing.T) {
	const size = backgroundWipe + PageSize
	for name, end := range map[string]func(t *testing.T, p *Pool){
		"nobody comes": func(*testing.T, *Pool) {},
		"another size": func(t *testing.T, p *Pool) {
			rs, err := p.Overwrite(ctx, size-1)
			if err != nil {
				t.Fatal(err)
			}
			if i := bytes.IndexByte(rs[0].Bytes(), 0xff); i >= 0 {
				t.Errorf("byte %d is what another wrote", i)
			}
			rs[0].Release()
		},
		"zeros": func(t *testing.T, p *Pool) {
			rs, err := p.Acquire(ctx, size)
			if err != nil {
				t.Fatal(err)
			}
			if i := bytes.IndexByte(rs[0].Bytes(), 0xff); i >= 0 {
				t.Errorf("byte %d is what another wrote", i)
			}
			rs[0].Release()
		},
		"two of which one has no room": func(t *testing.T, p *Pool) {
			if _, err := p.Overwrite(ctx, size, 3*size); !errors.Is(err, backend.ErrOutOfMemory) {
				t.Fatal(err)
			}
		},
		"the pool is closed": func(t *testing.T, p *Pool) { p.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPool(PoolOptions{Budget: 3 * size})
			defer p.Close()
			wipes := make(chan struct{}, 10)
			p.wiped = func(b []byte) {
				if bytes.IndexByte(b, 0xff) >= 0 {
					t.Error("not wiped")
				}
				wipes <- struct{}{}
			}
			var memory *byte
			for i := range 5 {
				rs, err := p.Overwrite(ctx, size)
				if err != nil {
					t.Fatal(err)
				}
				b := rs[0].Bytes()
				if i > 0 && &b[0] != memory {
					t.Error("the memory was not used again")
				}
				memory = &b[0]
				for j := range b {
					b[j] = 0xff
				}
				rs[0].Release()
			}
			if len(wipes) > 1 { // one, if this process was away for long
				t.Errorf("%d wipes between calls", len(wipes))
			}
			end(t, p)
			for deadline := time.Now().Add(5 * time.Second); p.InUse() != 0; {
				if time.Now().After(deadline) {
					t.Fatalf("%d bytes still in use", p.InUse())
				}
				time.Sleep(time.Millisecond)
			}
			if len(wipes) == 0 {
				t.Error("nothing was wiped")
			}
			if p.transient != 0 {
				t.Errorf("%d transient", p.transient)
			}
		})
	}
}

// TestLargeRequestIsNotStarved: small requests that would fit do not overtake
// a large one that waits for room.
func TestLargeRequestIsNotStarved(t *testing.T) {
	const mib = 1 << 20
	p := NewPool(PoolOptions{Budget: 8 * mib})
	defer p.Close()
	held, err := p.Acquire(ctx, 6*mib)
	if err != nil {
		t.Fatal(err)
	}
	large := make(chan error, 1)
	go func() {
		rs, err := p.Acquire(ctx, 7*mib)
		if err == nil {
			rs[0].Release()
		}
		large <- err
	}()
	for p.turn.TryAcquire(1) { // until the large one waits
		p.turn.Release(1)
		time.Sleep(time.Millisecond)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := p.Acquire(short, mib); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a small request overtook a large one: %v", err)
	}
	held[0].Release()
	if err := <-large; err != nil {
		t.Error(err)
	}
	// The one that waited behind it is not lost, nor held up by one that gave up.
	rs, err := p.Acquire(ctx, mib)
	if err != nil {
		t.Fatal(err)
	}
	rs[0].Release()

	// The storm that it was found in: one large request in a crowd.
	const small = 200
	var wg sync.WaitGroup
	var served atomic.Int64
	stop := make(chan struct{})
	for range 32 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				rs, err := p.Acquire(ctx, mib)
				if err != nil {
					t.Error(err)
					return
				}
				served.Add(1)
				runtime.Gosched()
				rs[0].Release()
			}
		})
	}
	for range 5 {
		for from := served.Load(); served.Load() < from+small; {
			runtime.Gosched()
		}
		before := served.Load()
		rs, err := p.Acquire(ctx, 7*mib)
		if err != nil {
			t.Fatal(err)
		}
		if after := served.Load(); after > before+small {
			t.Errorf("%d small requests were served while a large one waited", after-before)
		}
		rs[0].Release()
	}
	close(stop)
	wg.Wait()
}

// TestGrowingHoldsUpNobody: while memory is touched for one request, what the
// others need is at hand.
func TestGrowingHoldsUpNobody(t *testing.T) {
	const mib = 1 << 20
	p := NewPool(PoolOptions{Budget: 64 * mib})
	defer p.Close()
	rs, err := p.Acquire(ctx, mib)
	if err != nil {
		t.Fatal(err)
	}
	rs[0].Release()
	touching, touched := make(chan struct{}), make(chan struct{})
	p.create = func(size int) (*Arena, error) {
		close(touching)
		<-touched
		return NewArena(size)
	}
	type result struct {
		rs  []*Region
		err error
	}
	large := make(chan result, 1)
	go func() {
		rs, err := p.Acquire(ctx, 32*mib, mib) // a part is there already
		large <- result{rs, err}
	}()
	<-touching
	small, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for range 3 {
		rs, err := p.Acquire(small, mib/2)
		if err != nil {
			t.Fatalf("a request that fits waits for another's memory: %v", err)
		}
		rs[0].Release()
	}
	// One that gives up leaves nothing behind, nor does one whose pool is closed.
	short, stop := context.WithTimeout(ctx, 10*time.Millisecond)
	defer stop()
	if _, err := p.Acquire(short, 16*mib); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	close(touched)
	got := <-large
	if got.err != nil || len(got.rs) != 2 || len(got.rs[0].Bytes()) != 32*mib || len(got.rs[1].Bytes()) != mib {
		t.Fatalf("%d regions, %v", len(got.rs), got.err)
	}
	for _, r := range got.rs {
		r.Release()
	}
	p.create = func(size int) (*Arena, error) {
		p.Close()
		return NewArena(size)
	}
	if _, err := p.Acquire(ctx, 60*mib); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	for end := time.Now().Add(10 * time.Second); p.InUse() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are in use", p.InUse())
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.arenas) != 0 || p.total != 0 || p.transient != 0 {
		t.Errorf("%d arenas of %d bytes, %d transient", len(p.arenas), p.total, p.transient)
	}
}

// TestUnusedMemoryGoesBack: an arena that nobody uses for a while is given up,
// one that is used again and again is not.
func TestUnusedMemoryGoesBack(t *testing.T) {
	const idle = 200 * time.Millisecond
	p := NewPool(PoolOptions{Budget: 64 << 20, Idle: idle})
	defer p.Close()
	var mu sync.Mutex
	var dropped []uint64
	defer p.Watch(func(id uint64) { mu.Lock(); defer mu.Unlock(); dropped = append(dropped, id) })()
	drops := func() int { mu.Lock(); defer mu.Unlock(); return len(dropped) }
	kept, err := p.Keep(ctx, 100)
	if err != nil {
		t.Fatal(err)
	}
	other, err := p.Acquire(ctx, 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	arena := other[0].Arena().ID()
	other[0].Release()
	last := time.Now()
	for range 10 { // in use now and then: it stays
		rs, err := p.Acquire(ctx, 8<<20)
		if err != nil {
			t.Fatal(err)
		}
		if now := time.Now(); rs[0].Arena().ID() != arena && now.Sub(last) < idle {
			t.Error("an arena in steady use was given up")
		}
		arena = rs[0].Arena().ID()
		rs[0].Release()
		last = time.Now()
		time.Sleep(idle / 8)
	}
	before := drops()
	for end := time.Now().Add(10 * time.Second); drops() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("idle memory is kept")
		}
	}
	p.mu.Lock()
	if len(p.arenas) != 1 || p.arenas[0].Arena != kept.Arena() || p.total != int64(len(kept.Arena().Bytes())) {
		t.Errorf("%d arenas of %d bytes, one is in use", len(p.arenas), p.total)
	}
	p.mu.Unlock()
	kept.Bytes()[0] = 1 // still there
	kept.Release()
	for end := time.Now().Add(10 * time.Second); drops() == before+1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the last arena is kept")
		}
	}
}

// TestClone: a copy is one, and shares nothing, whether one goroutine makes it or several.
func TestClone(t *testing.T) {
	for _, n := range []int{0, 1, 5000, 2*parallelGrain + 5, 20 * parallelGrain} {
		b := bytes.Repeat([]byte{1, 2, 3}, n/3+1)[:n]
		c := Clone(b)
		if !bytes.Equal(b, c) {
			t.Fatalf("%d bytes differ", n)
		}
		if n > 0 {
			if c[n-1]++; bytes.Equal(b, c) {
				t.Errorf("%d bytes are shared", n)
			}
		}
	}
}

func BenchmarkWipe(b *testing.B) {
	a, err := NewArena(256 << 20)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	b.SetBytes(int64(len(a.Bytes())))
	for b.Loop() {
		Wipe(a.Bytes())
	}
}

func BenchmarkFirstTouch(b *testing.B) {
	const size = 256 << 20
	b.SetBytes(size)
	for b.Loop() {
		a, err := NewArena(size)
		if err != nil {
			b.Fatal(err)
		}
		a.Close()
	}
}

func BenchmarkCopy(b *testing.B) {
	const size = 256 << 20
	a, err := NewArena(size)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	src := make([]byte, size)
	Wipe(src)
	b.SetBytes(size)
	for b.Loop() {
		Copy(a.Bytes(), src)
	}
}
