package shm

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
)

// mailboxes returns a mailbox as its writer has it, and as its reader, who may not write.
func mailboxes(t *testing.T, size int) (to, from Mailbox) {
	t.Helper()
	a, err := NewArena(size)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Attach(across(t, a), uint64(size))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); m.Close() })
	return a.Bytes(), m.Bytes()
}

// TestMailbox has messages of all lengths go there and back, past the last number.
func TestMailbox(t *testing.T) {
	const size = 2 * PageSize
	const first = math.MaxUint32 - 1000
	askTo, askFrom := mailboxes(t, size)
	answerTo, answerFrom := mailboxes(t, size)
	half(askTo).Store(first)
	half(answerTo).Store(first)
	done := make(chan error, 1)
	go func() {
		for number := uint32(first + 1); ; number++ {
			message, err := askFrom.Await(ctx, number)
			if err != nil {
				done <- err
				return
			}
			answerTo.Post(number, message)
		}
	}()
	number := uint32(first)
	for i := range 3000 {
		number++
		want := bytes.Repeat([]byte{byte(i)}, i*3%(size-MailboxHead+1))
		askTo.Post(number, want)
		got, err := answerFrom.Await(ctx, number)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("message %d of %d bytes: %d, %v", number, len(want), len(got), err)
		}
	}
	askTo.End(number)
	if err := <-done; !errors.Is(err, backend.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestMailboxSleeps: the kernel lets who may only read sleep there until he is woken.
func TestMailboxSleeps(t *testing.T) {
	to, from := mailboxes(t, PageSize)
	limit := unix.NsecToTimespec((20 * time.Millisecond).Nanoseconds())
	_, _, errno := unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(half(from))), opWait, 0, uintptr(unsafe.Pointer(&limit)), 0, 0)
	if errno != unix.ETIMEDOUT {
		t.Fatalf("waiting with a limit: %v", errno)
	}
	woken := make(chan struct{})
	go func() {
		defer close(woken)
		if _, err := from.Await(ctx, 1); err != nil {
			t.Error(err)
		}
	}()
	time.Sleep(10 * time.Millisecond) // it sleeps now, or else is not tested this time
	to.Post(1, nil)
	select {
	case <-woken:
	case <-time.After(time.Minute):
		t.Error("not woken")
	}
}

// TestMailboxLooks: a look finds a message that comes meanwhile, and ends after its time or when it
// may not go on.
func TestMailboxLooks(t *testing.T) {
	to, from := mailboxes(t, PageSize)
	always := func() bool { return true }
	start := time.Now()
	if from.Look(1, time.Millisecond, always) || time.Since(start) < time.Millisecond {
		t.Errorf("a look of 1 ms has ended after %v", time.Since(start))
	}
	looks := 0
	if from.Look(1, time.Minute, func() bool { looks++; return looks < 100 }) || looks != 100 {
		t.Errorf("it went on for %d looks", looks)
	}
	go func() {
		time.Sleep(time.Millisecond)
		to.Post(1, nil)
	}()
	if !from.Look(1, time.Minute, always) {
		t.Error("it has not found the message")
	}
}

// TestMailboxEnds: the end of a context ends a wait, whenever it comes, and nothing
// that a broken writer leaves is believed.
func TestMailboxEnds(t *testing.T) {
	to, from := mailboxes(t, PageSize)
	for i := range 200 {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			for range i {
				half(from).Load()
			}
			cancel()
		}()
		if _, err := from.Await(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	for what, leave := range map[string]func(){
		"a number too many": func() { to.publish(3) },
		"one before":        func() { to.publish(math.MaxUint32) },
		"a length beyond":   func() { half(to[4:]).Store(PageSize - MailboxHead + 1); to.publish(1) },
		"a huge length":     func() { half(to[4:]).Store(math.MaxUint32); to.publish(1) },
	} {
		leave()
		if _, err := from.Await(ctx, 1); !errors.Is(err, backend.ErrInternal) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
