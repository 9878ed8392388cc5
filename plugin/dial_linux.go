package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/trust"
	"github.com/pippin-zk/pippin/plugin/internal/process"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// dial opens a session with the daemon at spec.Socket.
func dial(ctx context.Context, spec Spec) (*Client, error) {
	fail := func(err error) (*Client, error) {
		if ctx.Err() == nil && !errors.Is(err, backend.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		}
		return nil, fmt.Errorf("daemon %s: %w", spec.Socket, err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, spec.StartTimeout, fmt.Errorf("no answer within %v", spec.StartTimeout))
	defer cancel()
	channel, pid, err := connectTo(limited, spec.Socket)
	if err != nil {
		return fail(err)
	}
	ours, theirs, err := streams()
	if err != nil {
		channel.Close()
		return fail(err)
	}
	err = channel.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, theirs)
	theirs.Close()
	if err != nil {
		channel.Close()
		ours.Close()
		return fail(err)
	}
	conn, err := grpc.NewClient("passthrough:"+spec.Name, append(slices.Clone(spec.GRPC),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the two ends of a pair
		grpc.WithContextDialer(dialled(ours)),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxReply)),
		grpc.WithIdleTimeout(0))...)
	if err != nil {
		channel.Close()
		ours.Close()
		return fail(err)
	}
	l := newLink(spec.Socket, pid, channel, func() { conn.Close(); ours.Close() })
	rpc := proto.NewBackendClient(conn)
	info, reply, err := describe(limited, spec, rpc)
	if err != nil {
		l.Leave()
		return fail(err)
	}
	info.PID, info.Executable = pid, spec.Socket
	if reply.SharedMemory > 0 {
		spec.limit(reply.SharedMemory)
	}
	return newClient(spec, info, reply, rpc, channel, l), nil
}

// connectTo connects to a socket and reads the daemon's first message. pid is the daemon's process,
// or 0 if it is not visible from here.
func connectTo(ctx context.Context, path string) (_ *shm.Channel, pid int, err error) {
	owner, err := socketOwner(path)
	if err != nil {
		return nil, 0, err
	}
	// Ask the kernel to add the sender to each message. The credentials of the socket itself are
	// those of whoever bound it, which may be a service manager.
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		cerr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
		return errors.Join(err, cerr)
	}}
	c, err := d.DialContext(ctx, "unixpacket", path)
	if err != nil {
		return nil, 0, unreached(err)
	}
	conn := c.(*net.UnixConn)
	defer func() {
		if err != nil {
			conn.Close()
		}
	}()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	b := make([]byte, wire.GreetingHead+wire.MaxRefusal+1)
	oob := make([]byte, 256)
	n, oobn, _, _, err := conn.ReadMsgUnix(b, oob)
	if err != nil {
		if ctx.Err() != nil {
			return nil, 0, backend.Ended(ctx)
		}
		return nil, 0, fmt.Errorf("it ended before it said anything: %w", err)
	}
	hello, err := wire.ReadGreeting(b[:n])
	if err != nil {
		return nil, 0, err
	}
	sender, err := senderOf(oob[:oobn])
	if err != nil {
		return nil, 0, err
	}
	if uid := int(sender.Uid); uid != 0 && uid != os.Geteuid() && uid != owner {
		return nil, 0, fmt.Errorf("user %d listens there, and the socket was not put there by root, user "+
			"%d or him: scalars are secrets", uid, os.Geteuid())
	}
	return shm.ChannelOf(conn), int(sender.Pid), hello.Accept()
}

// unreached adds advice to the error if nobody listens or this user may not connect.
func unreached(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("no daemon listens there; start it: msm serve, or systemctl start pippin-daemon.socket: %w", err)
	case errors.Is(err, unix.EACCES):
		return fmt.Errorf("user %d may not connect: run the prover as the daemon's user, or have the daemon "+
			"started with --group and a group that user %d is in: %w", os.Geteuid(), os.Geteuid(), err)
	}
	return err
}

// senderOf returns the sender of a message, as the kernel reports it.
func senderOf(oob []byte) (*unix.Ucred, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range msgs {
		if cred, err := unix.ParseUnixCredentials(&msgs[i]); err == nil {
			return cred, nil
		}
	}
	return nil, errors.New("the kernel does not say who listens there")
}

// socketOwner returns the user who may listen at a socket. Whoever listens is shown scalars, so it
// refuses a socket that anybody but root, this user and the daemon's user could have put there. The
// folder may belong to a user to whom root or this user must have given it, as in /run: he is the
// daemon's user and the answer. Otherwise the answer is the owner of the socket.
func socketOwner(path string) (owner int, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return 0, err
	}
	owner = -1
	dir := filepath.Dir(path)
	for {
		_, terr := trust.Folder(dir)
		if terr == nil {
			break
		}
		if errors.Is(terr, os.ErrNotExist) {
			return 0, unreached(unix.ENOENT)
		}
		st, err := os.Lstat(dir)
		if err != nil {
			return 0, unreached(err)
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok || !st.IsDir() || trust.OthersWrite(dir, st) || owner >= 0 && owner != int(sys.Uid) ||
			sys.Uid == 0 || int(sys.Uid) == os.Geteuid() {
			return 0, fmt.Errorf("others could have put the socket there: %w", terr)
		}
		owner, dir = int(sys.Uid), filepath.Dir(dir)
	}
	if owner < 0 {
		if st, err := os.Lstat(path); err != nil {
			return 0, unreached(err)
		} else if sys, ok := st.Sys().(*syscall.Stat_t); ok {
			owner = int(sys.Uid)
		}
	}
	return owner, nil
}

// streams returns the two ends of a new connection for calls.
func streams() (ours net.Conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("a pair of sockets: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "calls")
	mine := os.NewFile(uintptr(fds[0]), "calls")
	defer mine.Close()
	if ours, err = net.FileConn(mine); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// dialled returns a dialer that hands out an existing connection.
func dialled(c net.Conn) func(context.Context, string) (net.Conn, error) {
	var used sync.Once
	return func(context.Context, string) (conn net.Conn, err error) {
		err = errors.New("the connection to the daemon has ended")
		used.Do(func() { conn, err = c, nil })
		return conn, err
	}
}

// link is a client's peer when it is a daemon.
type link struct {
	process.Lifetime
	path    string
	process int
	channel *shm.Channel
	close   func()
}

var _ peer = (*link)(nil)

// newLink watches the channel: when the channel ends, the daemon is gone.
func newLink(path string, pid int, channel *shm.Channel, hangUp func()) *link {
	life, exit := process.NewLifetime()
	l := &link{Lifetime: life, path: path, process: pid, channel: channel, close: sync.OnceFunc(func() {
		channel.Close()
		hangUp()
	})}
	go func() {
		// The daemon sends nothing here; reading only shows when it ends.
		for {
			_, f, err := channel.Receive()
			if f != nil {
				f.Close()
			}
			if err != nil && !errors.Is(err, backend.ErrInvalidInput) {
				break
			}
		}
		l.close()
		exit()
	}()
	return l
}

func (l *link) End(patience time.Duration) {
	l.ExitedWithin(patience)
	l.Leave()
}

// Kill ends the connection. The daemon itself is not this process's to kill.
func (l *link) Kill(context.Context) error {
	l.close()
	return nil
}

func (l *link) Leave() {
	l.close()
	<-l.Exited()
}

func (l *link) PID() int { return l.process }

func (l *link) Obituary() string {
	how := "still connected"
	if l.HasExited() {
		how = "the connection has ended"
	}
	return fmt.Sprintf("daemon at %s (process %d): %s", l.path, l.process, how)
}
