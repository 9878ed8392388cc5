//go:build cuda && cgo && linux && (amd64 || arm64)

package device

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/backend/cuda/internal/cudatest"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/internal/cuda/memory"
)

func TestMain(m *testing.M) {
	cudatest.WithKernels()
	os.Exit(m.Run())
}

// open opens the fake device and closes it when the test ends. By then all memory must have been
// given back, wiped.
func open(t *testing.T, o Options) *Device {
	t.Helper()
	cudatest.OnFake(t)
	unwiped := func() int64 { return fakecuda.Counter("unwiped_memory") + fakecuda.Counter("unwiped") }
	before := unwiped()
	d, err := Open(0, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(d.Close(), d.Close()); err != nil {
			t.Error(err)
		}
		if n := unwiped() - before; n != 0 {
			t.Errorf("%d pieces of memory were given back as they were", n)
		}
		if l := d.Driver().Live(); l != (driver.Live{}) {
			t.Errorf("not given back: %+v", l)
		}
	})
	return d
}

func take(t *testing.T, d *Device) *Turn {
	t.Helper()
	turn, err := d.Turn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func end(t *testing.T, turn *Turn) {
	t.Helper()
	if err := turn.End(); err != nil {
		t.Fatal(err)
	}
}

// all accepts any remaining room.
func all(int64) error { return nil }

// content reads what is on the device.
func content(t *testing.T, d *Device, s driver.Span) []byte {
	t.Helper()
	stream, err := d.Driver().NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	b := make([]byte, s.Size())
	if err := stream.Read(b, s); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTurns(t *testing.T) {
	d := open(t, Options{})
	turn := take(t, d)
	cause := errors.New("not worth the wait")
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := d.Turn(ctx)
		waiting <- err
	}()
	cancel(cause)
	if err := <-waiting; !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("a wait given up: %v", err)
	}
	if _, err := d.Turn(ctx); !errors.Is(err, cause) {
		t.Errorf("a turn after the end: %v", err)
	}
	next := make(chan *Turn)
	go func() {
		turn, err := d.Turn(t.Context())
		if err != nil {
			t.Error(err)
		}
		next <- turn
	}()
	select {
	case <-next:
		t.Fatal("two have the turn")
	case <-time.After(10 * time.Millisecond):
	}
	end(t, turn)
	end(t, <-next)
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Turn(t.Context()); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("a turn on a closed device: %v", err)
	}
}

// idles waits until an idle card has been wiped.
func idles(t *testing.T, d *Device) {
	t.Helper()
	cudatest.Eventually(t, "an idle card is wiped", func() bool {
		turn := <-d.turns
		defer func() { d.turns <- turn }()
		return turn.secret == 0
	})
}

// TestWorkMemoryIsWiped: on an idle card no secret is left, whether the turn succeeded or was given
// up. The bytes after the secret ones stay as they were.
func TestWorkMemoryIsWiped(t *testing.T) {
	const size, secret = 10_000, 6000
	d := open(t, Options{})
	for name, finish := range map[string]func(*Turn) error{
		"success": func(turn *Turn) error {
			turn.Waited()
			return turn.Compute.Synchronize()
		},
		"failure": func(*Turn) error { return nil },
		"a second, smaller request": func(turn *Turn) error {
			_, err := turn.Work(size/2, secret/2)
			return err
		},
	} {
		turn := take(t, d)
		work, err := turn.Work(size, secret)
		if err != nil {
			t.Fatal(err)
		}
		results, err := turn.Results(100)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(turn.Compute.Fill(work, 0xee),
			turn.Compute.Download(results.Span().Slice(0, 100), work.Slice(0, 100)), finish(turn)); err != nil {
			t.Fatal(err)
		}
		end(t, turn)
		idles(t, d)
		left := content(t, d, turn.work.Span())
		if !bytes.Equal(left[:secret], make([]byte, secret)) {
			t.Errorf("%s: secrets are left on the device", name)
		}
		if !bytes.Equal(left[secret:size], bytes.Repeat([]byte{0xee}, size-secret)) {
			t.Errorf("%s: more than the secrets is overwritten", name)
		}
		if slices.ContainsFunc(results.Bytes(), func(b byte) bool { return b != 0 }) {
			t.Errorf("%s: results are left in pinned memory", name)
		}
	}
	// If a turn needs more work memory, the smaller is given back, wiped: the end of the test
	// checks that.
	turn := take(t, d)
	if _, err := turn.Work(size, size); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Work(2*size, 2*size); err != nil {
		t.Fatal(err)
	}
	end(t, turn)
}

// TestWipedInUse: turns that follow each other are not wiped one by one, but no secret is kept for
// long.
func TestWipedInUse(t *testing.T) {
	const secret = 1000
	d := open(t, Options{})
	for age, want := range map[time.Duration]int64{0: secret, 2 * mostKept: 0} {
		turn := take(t, d)
		if _, err := turn.Work(secret, secret); err != nil {
			t.Fatal(err)
		}
		turn.Waited()
		turn.since = time.Now().Add(-age)
		var left int64
		turn.OnEnd(func() { left = turn.secret })
		end(t, turn)
		if left != want {
			t.Errorf("%d bytes are left at the end of a turn, %v after they came; want %d", left, age, want)
		}
		idles(t, d)
	}
}

// TestLargeMemoryIsKeptLonger: calls that leave gigabytes and take longer than mostKept are not
// wiped one by one, but nothing is kept for more than a second.
func TestLargeMemoryIsKeptLonger(t *testing.T) {
	d := open(t, Options{})
	turn := take(t, d)
	const there = 1000
	if _, err := turn.Work(there, there); err != nil {
		t.Fatal(err)
	}
	turn.secret, turn.since = 9<<30, time.Now().Add(-2*mostKept) // as after a call of 200 ms
	var left int64
	turn.OnEnd(func() { left, turn.secret = turn.secret, there })
	end(t, turn)
	if left == 0 {
		t.Error("9 GiB are wiped at the end of every call of 200 ms")
	}
	for secret, want := range map[int64]time.Duration{1: mostKept, 1 << 30: mostKept, 10e9: 500 * time.Millisecond, 1 << 40: time.Second} {
		if got := keeps(secret); got != want {
			t.Errorf("%d bytes are kept for %v, want %v", secret, got, want)
		}
	}
}

// TestThreadsAreWiped: what a kernel left on stacks and in shared memory is overwritten, the stacks
// by a kernel that reaches as far.
func TestThreadsAreWiped(t *testing.T) {
	const secret = 0x5ec2e7
	d := open(t, Options{})
	for _, stack := range []int{512, 2048, 512} {
		of, ok := memory.ForStack(strconv.Itoa(stack))
		if !ok {
			t.Fatalf("no kernels for stacks of %d bytes", stack)
		}
		leave, err := Load(d, of.Overwrite)
		if err != nil {
			t.Fatal(err)
		}
		inspect, err := Load(d, of.Inspect)
		if err != nil {
			t.Fatal(err)
		}
		e, err := d.eraser(int64(stack))
		if err != nil {
			t.Fatal(err)
		}
		if err := inspect.SetMaxDynamicShared(e.wide.Shared); err != nil {
			t.Fatal(err)
		}
		left := func(turn *Turn) uint32 {
			m, err := turn.Work(8, 8)
			if err != nil {
				t.Fatal(err)
			}
			different := make([]byte, 8)
			if err := errors.Join(
				turn.Compute.Fill(m, 0),
				inspect.LaunchShaped(turn.Compute, e.wide, memory.Inspect{SharedWords: e.wide.Shared / 4, Different: Address(m)}),
				turn.Compute.Read(different, m),
			); err != nil {
				t.Fatal(err)
			}
			return binary.LittleEndian.Uint32(different[4:])
		}
		turn := take(t, d)
		if err := errors.Join(
			leave.LaunchShaped(turn.Compute, e.stacks, memory.Overwrite{Value: secret}),
			leave.LaunchShaped(turn.Compute, e.wide, memory.Overwrite{Value: secret, SharedWords: e.wide.Shared / 4}),
		); err != nil {
			t.Fatal(err)
		}
		if left(turn) == 0 {
			t.Error("nothing was left")
		}
		if got := d.stack.Load(); got != int64(stack) {
			t.Errorf("stacks of %d bytes are to be wiped, want %d", got, stack)
		}
		launches := fakecuda.Calls("cuLaunchCooperativeKernel")
		end(t, turn)
		idles(t, d)
		if n := fakecuda.Calls("cuLaunchCooperativeKernel") - launches; n != 2 {
			t.Errorf("%d launches for stacks and shared memory, want 2", n)
		}
		turn = take(t, d)
		if n := left(turn); n != 0 {
			t.Errorf("%d words of shared memory are left", n)
		}
		end(t, turn)
		idles(t, d)
	}
	if _, err := d.eraser(1 << 20); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("stacks that nothing overwrites: %v", err)
	}
}

// TestMemoryStays: memory stays until it is freed, and is wiped then. The end of the test checks
// that.
func TestMemoryStays(t *testing.T) {
	d := open(t, Options{})
	turn := take(t, d)
	m, err := turn.Keep(1000, all)
	if err != nil {
		t.Fatal(err)
	}
	end(t, turn)
	data := bytes.Repeat([]byte{1, 2, 3, 4}, 250)
	pieces := func(all []byte) func(func([]byte, error) bool) {
		return func(yield func([]byte, error) bool) { _ = yield(all[:300], nil) && yield(all[300:], nil) }
	}
	if err := d.Write(t.Context(), m.Span(), pieces(data)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content(t, d, m.Span()), data) {
		t.Error("it does not hold what was written")
	}
	if err := d.Write(t.Context(), m.Span(), pieces(data[:999])); err == nil {
		t.Error("pieces may end early")
	}
	if err := d.Write(t.Context(), m.Span(), pieces(append(data, 1))); err == nil {
		t.Error("pieces may be too many")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Write(ctx, m.Span(), pieces(data)); !errors.Is(err, context.Canceled) {
		t.Errorf("a write that was given up: %v", err)
	}
	if err := m.Free(); err != nil {
		t.Error(err)
	}
}

// cache is spare memory.
type cache struct {
	*Memory
	drops int
}

func (c *cache) Held() int64 {
	if c.Memory == nil {
		return 0
	}
	return c.Size()
}

func (c *cache) Drop() error {
	if c.Memory == nil {
		return nil
	}
	m := c.Memory
	c.Memory = nil
	c.drops++
	return m.Free()
}

// TestBudget: kept memory, work memory and spare memory share one budget. Spare memory is dropped
// only if its room is needed.
func TestBudget(t *testing.T) {
	const budget = 10_000
	d := open(t, Options{Memory: budget})
	turn := take(t, d)
	available := func(want int64) {
		t.Helper()
		if got := turn.Available(); got != want {
			t.Errorf("%d bytes available, want %d", got, want)
		}
	}
	available(budget)
	if _, err := turn.Work(4000, 4000); err != nil {
		t.Fatal(err)
	}
	available(budget - 4000)
	if _, err := turn.Keep(6001, all); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("in place of work memory that is in use: %v", err)
	}
	end(t, turn)

	turn = take(t, d)
	available(budget) // between turns work memory is spare
	m, err := turn.Keep(3000, all)
	if err != nil {
		t.Fatal(err)
	}
	if turn.Held() != 4000 {
		t.Error("work memory was dropped without need")
	}
	kept, err := turn.Keep(2000, all)
	if err != nil {
		t.Fatal(err)
	}
	c := &cache{Memory: kept}
	turn.Spare(c)
	available(budget - 3000)

	tooLittle := errors.New("too little")
	if _, err := turn.Keep(1000, func(left int64) error {
		if left != budget-4000 {
			t.Errorf("%d bytes would be left", left)
		}
		return tooLittle
	}); !errors.Is(err, tooLittle) {
		t.Errorf("kept, although too little would be left: %v", err)
	}
	if _, err := turn.Keep(7001, all); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("more than there is: %v", err)
	}
	end(t, turn)

	turn = take(t, d)
	if _, err := turn.Work(7001, 0); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("more than there is: %v", err)
	}
	if c.drops != 0 {
		t.Error("spare memory was dropped in vain")
	}
	if _, err := turn.Work(7000, 7000); err != nil {
		t.Error(err)
	}
	if c.drops != 1 {
		t.Errorf("spare memory was dropped %d times", c.drops)
	}
	end(t, turn)
	if err := m.Free(); err != nil {
		t.Error(err)
	}
	turn = take(t, d)
	available(budget)
	end(t, turn)
}

// TestLargeWorkMemoryMakesRoom: a turn that needs little keeps the large work memory of the one before, unless
// that has most of what is left of the card.
func TestLargeWorkMemoryMakesRoom(t *testing.T) {
	d := open(t, Options{Memory: 10_000})
	for _, c := range []struct{ before, size, want int64 }{{4000, 1000, 4000}, {6000, 3000, 6000}, {6000, 1000, 1000}, {9000, 1000, 1000}} {
		turn := take(t, d)
		if _, err := turn.Work(c.before, c.before); err != nil {
			t.Fatal(err)
		}
		end(t, turn)
		turn = take(t, d)
		if _, err := turn.Work(c.size, c.size); err != nil {
			t.Fatal(err)
		}
		if turn.work.Size() != c.want {
			t.Errorf("after %d bytes a turn that needs %d has %d, want %d", c.before, c.size, turn.work.Size(), c.want)
		}
		if m, err := turn.Keep(10_000-c.want, all); err != nil {
			t.Errorf("what is left is not to be had: %v", err)
		} else if err := m.Free(); err != nil {
			t.Error(err)
		}
		end(t, turn)
	}
}

// TestBudgetFollowsTheCard: what may be used grows when others give the card's memory back, and shrinks
// when they take it. Spare memory makes room also where the driver refuses and not the budget.
func TestBudgetFollowsTheCard(t *testing.T) {
	const mib = 1 << 20
	cudatest.OnFake(t)
	other, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	takeAllBut := func(leave int64) *driver.Memory {
		t.Helper()
		free, _, err := other.MemInfo()
		if err != nil {
			t.Fatal(err)
		}
		m, err := other.Alloc(free - leave)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	give := func(m interface{ Free() error }) {
		t.Helper()
		if err := m.Free(); err != nil {
			t.Error(err)
		}
	}
	held := takeAllBut(64 * mib)
	d, err := Open(0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if b := d.Budget(); b != 32*mib {
		t.Errorf("a budget of %d MiB, of 64 that are free", b/mib)
	}
	give(held)

	turn := take(t, d)
	large, err := turn.Keep(512*mib, all)
	if err != nil {
		t.Fatalf("512 MiB on a card that has become free: %v", err)
	}
	spare, err := turn.Keep(128*mib, all)
	if err != nil {
		t.Fatal(err)
	}
	c := &cache{Memory: spare}
	turn.Spare(c)
	held = takeAllBut(mib)
	m, err := turn.Keep(32*mib, all)
	if err != nil {
		t.Fatalf("32 MiB on a full card, with 128 MiB that are spare: %v", err)
	}
	if c.drops != 1 {
		t.Errorf("spare memory was dropped %d times", c.drops)
	}
	if _, err := turn.Keep(512*mib, all); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("more than is free: %v", err)
	}
	if left := turn.Available(); left > 97*mib {
		t.Errorf("%d MiB are said to be left, of 97 that are free", left/mib)
	}
	end(t, turn)

	give(held)
	d.measured = time.Time{}
	end(t, take(t, d))
	cudatest.Eventually(t, "an idle card sees that it has become free", func() bool { return d.Budget() > 1024*mib })

	turn = take(t, d)
	held = takeAllBut(mib)
	if _, err := turn.Keep(64*mib, all); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("64 MiB of one that is free: %v", err)
	}
	give(held)
	time.Sleep(lookedAgain)
	if left := turn.Available(); left < 512*mib {
		t.Errorf("%d MiB are said to be left in the turn in which the card becomes free", left/mib)
	}
	end(t, turn)
	give(large)
	give(m)
}

// TestUnwipedMemoryIsKept: memory that cannot be overwritten is not given back before it can.
func TestUnwipedMemoryIsKept(t *testing.T) {
	keep := func(t *testing.T, d *Device, size int64) *Memory {
		turn := take(t, d)
		defer end(t, turn)
		m, err := turn.Keep(size, all)
		if err == nil {
			err = turn.Compute.Fill(m.Span(), 7)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, rule := range []string{"cuMemsetD8Async@1=2", "cuStreamSynchronize@1=2", "cuMemsetD8Async@1+=2"} {
		for how, retry := range map[string]func(t *testing.T, d *Device){
			"idle": func(_ *testing.T, d *Device) { d.sweepIdle() },
			"another is freed": func(t *testing.T, d *Device) {
				if err := keep(t, d, 1000).Free(); err != nil {
					t.Error(err)
				}
			},
			"no room": func(t *testing.T, d *Device) {
				turn := take(t, d)
				defer end(t, turn)
				if _, err := turn.Work(9000, 9000); err != nil {
					t.Error(err)
				}
			},
			"closed": func(t *testing.T, d *Device) {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			},
		} {
			t.Run(rule+", "+how, func(t *testing.T) {
				d := open(t, Options{Memory: 10_000})
				secret := keep(t, d, 4000)
				d.sweep.Stop()
				cudatest.Fail(t, rule)
				if err := secret.Free(); err == nil || !strings.Contains(err.Error(), "4000 bytes of the card stay taken") {
					t.Errorf("Free: %v", err)
				}
				fakecuda.Reset()
				if n := d.Driver().Live().Memory; n != 4000 || d.budget.used != 4000 {
					t.Errorf("%d bytes are taken, %d count as taken, want 4000", n, d.budget.used)
				}
				if retry(t, d); len(d.unwiped.kept) != 0 {
					t.Errorf("%d pieces are still kept", len(d.unwiped.kept))
				}
			})
		}
	}
}

// TestUnwipedWorkMemoryIsKept: work memory that is dropped unwiped is kept as other memory is.
func TestUnwipedWorkMemoryIsKept(t *testing.T) {
	d := open(t, Options{Memory: 10_000})
	turn := take(t, d)
	work, err := turn.Work(4000, 4000)
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Compute.Fill(work, 7); err != nil {
		t.Fatal(err)
	}
	end(t, turn)
	turn = take(t, d)
	cudatest.Fail(t, "cuMemsetD8Async@1=2")
	if err := turn.Drop(); err == nil || len(d.unwiped.kept) != 1 {
		t.Errorf("dropped: %v, %d pieces are kept", err, len(d.unwiped.kept))
	}
	if _, err := turn.Work(9000, 9000); err != nil {
		t.Errorf("once it can be overwritten: %v", err)
	}
	end(t, turn)
}

// written returns memory that has something in it.
func written(t *testing.T, d *Device) *Memory {
	t.Helper()
	turn := take(t, d)
	m, err := turn.Keep(1000, all)
	if err == nil {
		err = turn.Compute.Fill(m.Span(), 7)
	}
	if err != nil {
		t.Fatal(err)
	}
	end(t, turn)
	return m
}

// TestMemoryEndsWithTheContext: memory that can never be overwritten is not given back: it ends with the
// context.
func TestMemoryEndsWithTheContext(t *testing.T) {
	cudatest.OnFake(t)
	unwiped, abandoned := fakecuda.Counter("unwiped_memory"), fakecuda.Counter("abandoned")
	d, err := Open(0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := written(t, d)
	cudatest.Fail(t, "cuMemsetD8Async@1+=2")
	if err := m.Free(); err == nil {
		t.Error("freed unwiped")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if n := fakecuda.Counter("abandoned") - abandoned; n != 1 {
		t.Errorf("%d pieces ended with the context, want 1", n)
	}
	if n := fakecuda.Counter("unwiped_memory") - unwiped; n != 0 {
		t.Errorf("%d pieces were given back as they were", n)
	}
}

// TestFreeWithoutAStream: on a card on which no stream can be had, memory is overwritten all the same.
func TestFreeWithoutAStream(t *testing.T) {
	d := open(t, Options{})
	m := written(t, d)
	cudatest.Fail(t, "cuStreamCreate@1+=2")
	if err := m.Free(); err != nil {
		t.Error(err)
	}
	if n := d.Driver().Live().Memory; n != 0 {
		t.Errorf("%d bytes are taken", n)
	}
}

// TestMemoryOfALostDevice: memory of a lost device is given back without an error, and its bytes
// are counted as free.
func TestMemoryOfALostDevice(t *testing.T) {
	const illegalAddress = "700"
	cudatest.OnFake(t)
	d, err := Open(0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	turn := take(t, d)
	m, err := turn.Keep(1000, all)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Work(1000, 1000); err != nil {
		t.Fatal(err)
	}
	turn.since = time.Now().Add(-2 * mostKept)
	cudatest.Fail(t, "cuMemsetD8Async@1="+illegalAddress)
	if err := turn.End(); !errors.Is(err, backend.ErrGone) {
		t.Errorf("the turn that loses the device ends with %v", err)
	}
	if err := errors.Join(m.Free(), d.Close()); err != nil {
		t.Error(err)
	}
}

// TestTrace: the phases of a turn are reported once, at its end, and the wipe after it.
func TestTrace(t *testing.T) {
	told := make(chan []backend.StageUsage, 10)
	d := open(t, Options{Trace: func(ctx context.Context, p []backend.StageUsage) {
		if ctx == nil {
			t.Error("no context")
		}
		told <- p
	}})
	turn := take(t, d)
	work, err := turn.Work(100, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(turn.Mark("start"), turn.Compute.Fill(work, 1), turn.Mark("fill")); err != nil {
		t.Fatal(err)
	}
	if len(told) != 0 {
		t.Error("told before the end")
	}
	end(t, turn)
	fill, wipe := <-told, <-told
	idles(t, d)
	end(t, take(t, d))
	if len(fill) != 1 || fill[0].Name != "fill" || len(wipe) != 1 || wipe[0].Name != "wipe" || len(told) != 0 {
		t.Fatalf("told %v, %v and %d more", fill, wipe, len(told))
	}
	use, sums := d.Usage()
	if !slices.Equal(sums, []backend.StageUsage{fill[0], wipe[0]}) {
		t.Errorf("told %v and %v, sums %v", fill, wipe, sums)
	}
	if use.Calls != 2 || use.Busy <= 0 {
		t.Errorf("usage %+v", use)
	}
}
