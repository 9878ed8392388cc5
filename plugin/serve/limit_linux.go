package serve

import (
	"context"
	"net"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/tap"

	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// slow waits until n more are within a user's limit. It does not wait while no other user is
// connected.
func (d *daemon) slow(ctx context.Context, of *rate.Limiter, n int) {
	if d.users.Load() > 1 {
		if wait := of.ReserveN(time.Now(), n).Delay(); wait > 0 {
			shm.SleepUntil(ctx, wait)
		}
	}
}

// slowConn is a connection that counts the bytes it reads.
type slowConn struct {
	net.Conn
	read func(n int)
}

func (c *slowConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.read(n)
	}
	return n, err
}

// admit implements tap.ServerInHandle. It counts a call before anything of it is received, and
// delays the connection of a user who makes too many.
func (d *daemon) admit(s *server) tap.ServerInHandle {
	of := s.account
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		d.slow(s.ctx, of.calls, 1) // not ctx: a call may set itself a time that is over at once
		size := int64(streamBytes)
		if info.FullMethodName == proto.Backend_LoadBases_FullMethodName {
			size += wire.MaxMessage // its requests are not received one after the other
		}
		if err := d.calls.take(of.user, size); err != nil {
			d.slow(s.ctx, of.calls, refusedCalls)
			return ctx, wire.ToStatus(err)
		}
		context.AfterFunc(ctx, func() { d.calls.give(of.user, size) })
		return ctx, nil
	}
}
