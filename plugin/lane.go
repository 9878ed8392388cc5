package plugin

import (
	"context"
	"errors"
	"sync"

	wireformat "google.golang.org/protobuf/proto"

	"github.com/pippin-zk/pippin/plugin/internal/process"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// mostLanes is the largest number of lanes of a client.
const mostLanes = 8

var _ = [wire.MaxLanes - mostLanes]struct{}{}

// lanes are the lanes of one client.
type lanes struct {
	c              *Client
	on             bool // the plugin serves lanes
	calls, answers *shm.Pool

	mu     sync.Mutex
	free   []*lane
	opened int
	ending bool
	served sync.WaitGroup // lanes that the plugin serves
}

// lane is the short way of small calls: a mailbox of shared memory in each direction. It carries
// one call at a time, and its user has it alone until give.
//
//	        offset  0        4        8             64              16 KiB
//	               +--------+--------+-------------+----------------+
//	host  --call-->| number | length |      0      |   RunRequest   |--> plugin
//	               +--------+--------+-------------+----------------+
//	host <-answer--| number | length |      0      |   LaneAnswer   |<-- plugin
//	               +--------+--------+-------------+----------------+
//
// The writer stores the message and its length first and the number of the call last. The reader
// sleeps in the kernel until the number changes (futex), so no other thread has to run in between.
// An answer has the number of its call.
type lane struct {
	call, answer *shm.Region
	number       uint32 // of the last call
}

func (l *lanes) init(c *Client, on bool) {
	l.c, l.on = c, on
	pool := func(answers bool) *shm.Pool {
		return shm.NewPool(shm.PoolOptions{Budget: mostLanes * wire.LaneBytes, MaxArenas: 1, Answers: answers})
	}
	l.calls, l.answers = pool(false), pool(true)
}

// take returns a lane for a call, which the caller gives back with give, and the message to post
// there. It returns nil if the call must go through gRPC.
func (l *lanes) take(ctx context.Context, k *call) (*lane, []byte) {
	answers := 0
	for _, n := range k.sizes {
		answers += n + 8 // as a field of the message
	}
	if !l.on || answers > wire.LaneRoom || k.size > wire.LaneRoom {
		return nil, nil
	}
	message, err := wireformat.Marshal(k.req)
	if err != nil || len(message) > wire.LaneRoom {
		return nil, nil
	}
	return l.idle(ctx), message
}

// idle returns a lane that nobody uses, or nil.
func (l *lanes) idle(ctx context.Context) *lane {
	l.mu.Lock()
	if n := len(l.free); n > 0 {
		found := l.free[n-1] // the last one used: its thread has slept least
		l.free = l.free[:n-1]
		l.mu.Unlock()
		return found
	}
	if l.ending || l.opened == mostLanes {
		l.mu.Unlock()
		return nil
	}
	l.opened++
	l.mu.Unlock()
	return l.open(ctx)
}

// open makes the plugin serve one more lane. If there is no room for it, no lane is opened any
// more.
func (l *lanes) open(ctx context.Context) *lane {
	var made lane
	if err := l.makeRoom(ctx, &made); err != nil {
		made.release()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.opened--; ctx.Err() == nil {
			l.opened = mostLanes
		}
		return nil
	}
	l.served.Go(func() {
		_, err := l.c.rpc.Lane(l.c.ctx, &proto.LaneRequest{
			Calls:   wire.Region(made.call.Arena(), made.call.Offset(), wire.LaneBytes),
			Answers: wire.Region(made.answer.Arena(), made.answer.Offset(), wire.LaneBytes),
		})
		l.left(err)
	})
	return &made
}

// makeRoom takes zeroed memory for a lane and shows it to the plugin.
func (l *lanes) makeRoom(ctx context.Context, made *lane) (err error) {
	if made.call, err = l.calls.Keep(ctx, wire.LaneBytes); err != nil {
		return err
	}
	if made.answer, err = l.answers.Keep(ctx, wire.LaneBytes); err != nil {
		return err
	}
	return errors.Join(l.c.arenas.attach(ctx, made.call), l.c.arenas.attach(ctx, made.answer))
}

// left handles the end of a lane in the plugin. Unless we ended it, the plugin is lost.
func (l *lanes) left(err error) {
	l.mu.Lock()
	ending := l.ending
	l.mu.Unlock()
	_, said := wire.FromStatus(err)
	switch {
	case ending, !said && l.c.peer.ExitedWithin(process.ExitGrace):
	case err == nil:
		l.c.lost(errors.New("it ends"))
	default:
		l.c.nonsense("it left a lane: %v", err)
	}
}

func (l *lanes) give(back *lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending {
		back.release()
		return
	}
	l.free = append(l.free, back)
}

// end ends all lanes and waits until the plugin serves none. No lane may have a call.
func (l *lanes) end() {
	l.mu.Lock()
	l.ending = true
	free := l.free
	l.free = nil
	l.mu.Unlock()
	for _, f := range free {
		shm.Mailbox(f.call.Bytes()).End(f.number)
	}
	l.served.Wait()
	for _, f := range free {
		f.release()
	}
}

func (l *lanes) close() {
	l.calls.Close()
	l.answers.Close()
}

func (l *lane) release() {
	for _, r := range []*shm.Region{l.call, l.answer} {
		if r != nil {
			r.Release()
		}
	}
}

// ask posts a call.
func (l *lane) ask(message []byte) {
	l.number++
	shm.Mailbox(l.call.Bytes()).Post(l.number, message)
}

// await waits for the answer to the call that was asked.
func (l *lane) await(ctx context.Context) (*proto.LaneAnswer, error) {
	message, err := shm.Mailbox(l.answer.Bytes()).Await(ctx, l.number)
	if err != nil {
		return nil, err
	}
	answer := &proto.LaneAnswer{}
	err = wireformat.Unmarshal(message, answer)
	for _, b := range [][]byte{message, l.answer.Bytes()[shm.MailboxHead:][:len(message)]} {
		clear(b) // it may hold elements of vectors that were read
	}
	return answer, err
}
