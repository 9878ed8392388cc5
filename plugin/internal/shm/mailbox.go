package shm

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pippin-zk/pippin/backend"
)

// Mailbox is shared memory in which one process leaves messages for another, one at a
// time: the next when it knows from elsewhere that the one before was read. Whoever
// waits for one sleeps in the kernel, in a thread of its own, and is woken by
// whoever posts it: nobody else has to run in between. It begins with the message's
// number (4 bytes, atomic) and length (4), little-endian.
type Mailbox []byte

// MailboxHead is the bytes before a message, for which a mailbox has room after them.
const MailboxHead = 64

// mailboxEnd is added to the number of the last message when there will be no other.
const mailboxEnd = 1 << 31

// Post leaves a message, for which there is room, under the number after that of the
// message before; the first one's is 1, and that of the one after 2^32-1 is 0.
func (m Mailbox) Post(number uint32, message []byte) {
	copy(m[MailboxHead:], message)
	half(m[4:]).Store(uint32(len(message)))
	m.publish(number)
}

// End tells the reader that no message comes after the one of this number.
func (m Mailbox) End(number uint32) { m.publish(number + mailboxEnd) }

func (m Mailbox) publish(number uint32) {
	w := half(m)
	w.Store(number)
	futexWake(w)
}

// Look looks for the message of a number without sleeping, for so long at most and while it may, and
// reports whether something has come. Threads that want the processor have it meanwhile.
func (m Mailbox) Look(number uint32, most time.Duration, may func() bool) bool {
	w := half(m)
	for start := time.Now(); w.Load() == number-1; yield() {
		if !may() || time.Since(start) > most {
			return false
		}
	}
	return true
}

// Await waits for the message of a number, while that of the one before is there,
// and copies it. After End it is backend.ErrClosed; what no writer of messages
// leaves is backend.ErrInternal.
func (m Mailbox) Await(ctx context.Context, number uint32) ([]byte, error) {
	w := half(m)
	defer wokenAtEnd(ctx, w)()
	for {
		switch v := w.Load(); v {
		case number - 1:
		case number:
			n := half(m[4:]).Load()
			if int64(n) > int64(len(m)-MailboxHead) {
				return nil, fmt.Errorf("%w: a message of %d bytes where %d have room", backend.ErrInternal, n, len(m)-MailboxHead)
			}
			return append([]byte(nil), m[MailboxHead:MailboxHead+int(n)]...), nil
		case number - 1 + mailboxEnd:
			return nil, fmt.Errorf("%w: no more messages", backend.ErrClosed)
		default:
			return nil, fmt.Errorf("%w: message %d, %d was to come", backend.ErrInternal, v, number)
		}
		if err := backend.Ended(ctx); err != nil {
			return nil, err
		}
		futexWait(w, number-1, 0)
	}
}

// wakeAgain is the pause between two wakes of one whose context has ended.
const wakeAgain = 100 * time.Microsecond

// wokenAtEnd has whoever sleeps at w woken when ctx ends, until awake is called.
func wokenAtEnd(ctx context.Context, w *atomic.Uint32) (awake func()) {
	var left atomic.Bool
	stop := context.AfterFunc(ctx, func() {
		// Again, for the waiter may be about to sleep.
		for !left.Load() {
			futexWake(w)
			time.Sleep(wakeAgain)
		}
	})
	return func() {
		stop()
		left.Store(true)
	}
}
