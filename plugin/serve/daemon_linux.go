package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/trust"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/tenancy"
	"github.com/pippin-zk/pippin/plugin/internal/text"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// defaultSessions is the default of Daemon.Sessions.
const defaultSessions = 64

// Limits of time: see the fields hello, open and grace of daemon.
const (
	helloLimit = time.Second
	openLimit  = 5 * time.Second
	endLimit   = 10 * time.Second
)

// maxSilent is how many connections of one user may wait that have not sent their first message.
const maxSilent = 16

// connectionFiles is how many descriptors a session uses: one for its socket and one for its calls.
const connectionFiles = 2

// maxComplaints is how many lines about sessions are logged in a second.
const maxComplaints = 8

// daemon serves one backend to several sessions.
type daemon struct {
	wire.Daemon
	group   int // -1 for none
	log     *slog.Logger
	options []grpc.ServerOption
	shared  *tenancy.Shared
	exit    func(code int)
	hello   time.Duration // how long a host may take to send its first message
	open    time.Duration // and then to call Open
	grace   time.Duration // how long calls may go on computing when the daemon is told to end
	// answers bounds the bytes of arenas for answers. Their pages may count as this process's: the
	// host that made them can give them back to the system at any time, and writing an answer takes
	// new ones.
	answers *budget
	calls   *budget // bytes of requests and replies that gRPC holds
	files   *budget // descriptors

	mu       sync.Mutex
	sessions map[*server]serving
	begun    int              // sessions
	accounts map[int]*account // of users who are connected
	users    atomic.Int64     // how many are connected
	ending   bool
	said     complaints
	work     sync.WaitGroup
}

// serving is the connection and the gRPC server of a session.
type serving struct {
	conn  *net.UnixConn
	calls *grpc.Server
}

// serveDaemon serves until a signal ends the process.
func serveDaemon(open Opener, text string, options []grpc.ServerOption) error {
	var d wire.Daemon
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("%w: the settings of a daemon: %w", backend.ErrInvalidInput, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	group, err := groupID(&d)
	if err != nil {
		return err
	}
	l, release, err := listen(&d, group)
	if err != nil {
		return err
	}
	defer release()
	if os.Getenv("GOMEMLIMIT") == "" {
		// This makes the collector free in time what past loads have left.
		debug.SetMemoryLimit(shm.DefaultBudget() / 2 * 3)
	}
	b, err := open(ctx, log)
	if err != nil {
		l.Close()
		return err
	}
	info := b.Info()
	log.Info("a daemon serves", "socket", d.Socket, "backend", info.Name, "version", info.Version, "group", d.Group)
	go func() {
		<-b.Done()
		if ctx.Err() == nil {
			log.Error("the backend is gone: its device is lost to this process")
			os.Exit(exitGone)
		}
	}()
	notify("READY=1")
	served := newDaemon(d, group, b, log, options)
	if w, ok := backend.As[UsageWatcher](b); ok {
		w.WatchUsage(served.shared.Usage)
	}
	served.serve(ctx, l)
	done := make(chan error, 1)
	go func() { done <- b.Close() }()
	select {
	case err = <-done:
	case <-time.After(orphanGrace):
	}
	log.Info("the daemon has ended")
	return err
}

func newDaemon(d wire.Daemon, group int, b backend.Backend, log *slog.Logger, options []grpc.ServerOption) *daemon {
	half := shm.DefaultBudget()
	var own int64 // bytes of the devices that have memory of their own
	host := false
	for _, dev := range b.Info().Devices {
		if host = host || dev.Host; !dev.Host {
			own += int64(dev.Memory)
		}
	}
	if d.Sessions <= 0 {
		d.Sessions = defaultSessions
	}
	if d.Shared <= 0 {
		d.Shared = half
	}
	if d.Keep == 0 {
		d.Keep = half
		if own > 0 {
			d.Keep = own / 2
		}
	}
	served := &daemon{
		Daemon: d, group: group, log: log, options: options, exit: os.Exit, hello: helloLimit, open: openLimit, grace: endLimit,
		sessions: map[*server]serving{}, accounts: map[int]*account{},
	}
	served.answers = newBudget("bytes of shared memory for answers", half/2, served.most(half/2))
	served.calls = newBudget("bytes of calls and replies that wait", half/4, served.most(half/4))
	var open unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &open) == nil {
		// The other half is for descriptors that are open briefly, and for the backend.
		most := int64(min(open.Cur, 1<<20)) / 2
		served.files = newBudget("open files", most, served.most(most))
	} else {
		served.files = newBudget("open files", 0, 0)
	}
	o := tenancy.Options{Keep: d.Keep, Turns: d.Turns, Owner: os.Geteuid(), Log: log, Copies: half / 4, UserCopies: served.most(half / 4)}
	if host {
		o.Room = half // the system kills a process that takes more memory than there is
		o.Keep = min(o.Keep, half)
	}
	if group >= 0 {
		o.UserRoom = max(served.most(max(own, o.Room)), d.Memory)
	}
	served.shared = tenancy.New(b, o)
	return served
}

// most returns how much of all one user may have. That is half if other users may connect, so that
// no user keeps all others out.
func (d *daemon) most(all int64) int64 {
	if d.group < 0 {
		return all
	}
	return (all + 1) / 2
}

// groupID returns the number of the group, or -1 if there is none.
func groupID(d *wire.Daemon) (int, error) {
	if d.Group == "" {
		return -1, nil
	}
	if n, err := strconv.ParseUint(d.Group, 10, 31); err == nil {
		return int(n), nil
	}
	g, err := user.LookupGroup(d.Group)
	if err != nil {
		return 0, fmt.Errorf("%w: group %q: %w", backend.ErrInvalidInput, d.Group, err)
	}
	return strconv.Atoi(g.Gid)
}

// notify tells the daemon's state to a service manager that has asked for it.
func notify(state string) {
	if at := os.Getenv("NOTIFY_SOCKET"); at != "" {
		if c, err := net.Dial("unixgram", at); err == nil {
			_, _ = c.Write([]byte(state))
			c.Close()
		}
	}
}

// serve accepts sessions until ctx ends. Then it lets calls that compute end for at most grace, and
// returns when no session is left or grace is over.
func (d *daemon) serve(ctx context.Context, l *net.UnixListener) {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for pause := time.Millisecond; ; {
		conn, err := l.AcceptUnix()
		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			if err == nil {
				conn.Close()
			}
			d.end()
			return
		case err != nil: // such as no more open files, which may last for a while
			d.log.Error("accepting a session", "error", err, "again in", pause)
			time.Sleep(pause)
			pause = min(2*pause, time.Second)
		default:
			pause = time.Millisecond
			d.work.Go(func() { d.meet(conn) })
		}
	}
}

// end ends the sessions for serve.
func (d *daemon) end() {
	notify("STOPPING=1")
	over := time.Now().Add(d.grace)
	d.mu.Lock()
	d.ending = true
	all := d.sessions
	d.sessions = nil
	d.mu.Unlock()
	for s := range all {
		s.mu.Lock()
		s.broken = fmt.Errorf("%w: the daemon was told to end", backend.ErrGone)
		s.mu.Unlock()
	}
	for s, at := range all {
		go func() {
			for time.Now().Before(over) && s.busy() {
				time.Sleep(5 * time.Millisecond)
			}
			// The answers of the last calls are sent first. Then the host closes.
			s.endLanes()
			late := time.AfterFunc(time.Until(over), func() { at.conn.Close() })
			defer late.Stop()
			at.calls.GracefulStop()
			at.conn.Close()
		}()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.work.Wait()
	}()
	select {
	case <-done:
	case <-time.After(time.Until(over)):
	}
}

// wasOpened reports whether the host has called Open.
func (s *server) wasOpened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opening
}

// busy reports whether calls compute.
func (s *server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls) > 0
}

// meet decides whether a connection is served, and serves it.
func (d *daemon) meet(conn *net.UnixConn) {
	defer conn.Close()
	peer, err := shm.PeerOf(conn)
	hello := wire.Greeting{Oldest: wire.ProtocolVersion, Newest: wire.ProtocolVersion}
	if err == nil {
		hello.Refusal = d.refusal(peer)
	} else {
		hello.Refusal = err.Error()
	}
	var of *account
	if hello.Refusal == "" {
		of, hello.Refusal = d.greet(peer.User)
	}
	if hello.Refusal == "" {
		defer d.leave(of)
		if err := d.files.take(of.user, connectionFiles); err == nil {
			defer d.files.give(of.user, connectionFiles)
		} else {
			hello.Refusal = err.Error()
		}
	}
	if hello.Refusal != "" {
		d.complain("a session was refused", peer, hello.Refusal)
	}
	_ = conn.SetDeadline(time.Now().Add(d.hello))
	if _, err := conn.Write(hello.Bytes()); err != nil || hello.Refusal != "" {
		return
	}
	stream, err := d.stream(conn)
	if err != nil {
		d.complain("a session did not begin", peer, err.Error())
		return
	}
	defer stream.Close()
	if refusal := d.begin(of); refusal != "" {
		d.complain("a session was refused", peer, refusal)
		return
	}
	defer d.finish(of)
	_ = conn.SetDeadline(time.Time{})
	d.session(conn, stream, peer, of)
}

// complaints counts what was logged about sessions in the last second.
type complaints struct {
	since   time.Time
	n, left int // lines logged, and lines left out
}

// complain logs that a connection was refused. A peer cannot make it log more than maxComplaints
// lines in a second.
func (d *daemon) complain(what string, peer shm.Peer, cause string) {
	if d.mayLog() {
		d.log.Warn(what, "process", peer.PID, "user", peer.User, "cause", cause)
	}
}

// mayLog reports whether another line about sessions may be logged in this second.
func (d *daemon) mayLog() bool {
	d.mu.Lock()
	c := &d.said
	left := 0
	if now := time.Now(); now.Sub(c.since) > time.Second {
		left = c.left
		*c = complaints{since: now}
	}
	c.n++
	silent := c.n > maxComplaints
	if silent {
		c.left++
	}
	d.mu.Unlock()
	if left > 0 {
		d.log.Warn("sessions came, went or were refused", "unlogged", left)
	}
	return !silent
}

// refusal returns why a peer may not connect, or "".
func (d *daemon) refusal(p shm.Peer) string {
	if p.User == os.Geteuid() || d.group >= 0 && p.Has(d.group) {
		return ""
	}
	if d.group >= 0 {
		return fmt.Sprintf("user %d is neither user %d, who runs it, nor in its group %s: add him to the group and log in anew",
			p.User, os.Geteuid(), d.Group)
	}
	return fmt.Sprintf("user %d is not user %d, who runs it: run the prover as that user, or the daemon "+
		"with --group and a group that both are in", p.User, os.Geteuid())
}

// greet counts a connection of a user, until leave, or returns why there is no room. The connection
// becomes a session only after the host's first message.
func (d *daemon) greet(user int) (of *account, refusal string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of = d.accounts[user]
	if of == nil {
		of = newAccount()
		of.user = user
	}
	if refusal = d.fullLocked(of); refusal != "" {
		return nil, refusal
	}
	if of.connections-of.sessions >= maxSilent {
		return nil, fmt.Sprintf("%d connections of user %d have not said anything yet", maxSilent, user)
	}
	of.connections++
	d.accounts[user] = of
	d.users.Store(int64(len(d.accounts)))
	return of, ""
}

// fullLocked returns why a user may not begin a session, or "".
func (d *daemon) fullLocked(of *account) string {
	switch most := int(d.most(int64(d.Sessions))); {
	case d.ending:
		return "it is ending"
	case d.begun >= d.Sessions:
		return fmt.Sprintf("there are %d sessions, as many as it takes: end one, or raise --sessions", d.begun)
	case of.sessions >= most:
		return fmt.Sprintf("user %d has %d sessions, as many as one user may: end one, or raise --sessions", of.user, of.sessions)
	}
	return ""
}

// begin turns a connection into a session, until finish, or returns why there is no room for it.
func (d *daemon) begin(of *account) (refusal string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if refusal = d.fullLocked(of); refusal == "" {
		of.sessions++
		d.begun++
	}
	return refusal
}

func (d *daemon) finish(of *account) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of.sessions--
	d.begun--
}

// leave stops counting a connection.
func (d *daemon) leave(of *account) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if of.connections--; of.connections == 0 {
		delete(d.accounts, of.user)
		d.users.Store(int64(len(d.accounts)))
	}
}

// stream returns the connection for calls, which the host sends as its first message.
func (d *daemon) stream(conn *net.UnixConn) (net.Conn, error) {
	m, f, err := shm.ChannelOf(conn).Receive()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if m.Kind != shm.KindConnection || m.ID != wire.ProtocolVersion {
		return nil, wire.Refused("a first message of kind %d and version %d", m.Kind, m.ID)
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, wire.Refused("a connection: %v", err)
	}
	if u, ok := c.(*net.UnixConn); !ok || u.LocalAddr().Network() != "unix" {
		c.Close()
		return nil, wire.Refused("a connection that is no SOCK_STREAM unix socket")
	}
	return c, nil
}

// session serves a host until it is gone, and then gives back what the session had.
func (d *daemon) session(conn *net.UnixConn, stream net.Conn, peer shm.Peer, of *account) {
	log := d.log.With("process", peer.PID, "user", peer.User)
	s := newServer(func(context.Context, *slog.Logger) (backend.Backend, error) {
		return d.shared.Open(peer.User, d.Memory), nil
	}, log, new(slog.LevelVar), of)
	s.inbox.files, s.inbox.user = d.files, of.user
	s.session, s.exit = &session{shared: d.Shared, answers: d.answers, calls: d.calls}, d.exit
	s.session.lane = func(ctx context.Context) { d.slow(ctx, of.inLanes, 1) }
	stream = &slowConn{stream, func(n int) { d.slow(s.ctx, of.bytes, n) }}
	g := grpc.NewServer(slices.Concat(d.options, limits(),
		[]grpc.ServerOption{grpc.ConnectionTimeout(d.hello), grpc.InTapHandle(d.admit(s))})...)
	s.register(g)
	d.mu.Lock()
	if d.sessions != nil {
		d.sessions[s] = serving{conn, g}
	}
	ending := d.ending
	d.mu.Unlock()
	if ending {
		stream.Close()
		return
	}
	silent := time.AfterFunc(d.open, func() {
		if !s.wasOpened() {
			conn.Close()
		}
	})
	defer silent.Stop()
	if d.mayLog() {
		log.Info("a session begins")
	}
	began := time.Now()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = g.Serve(only(stream, func() { conn.Close() }))
	}()
	if err := s.inbox.serve(shm.ChannelOf(conn)); err != nil && !errors.Is(err, net.ErrClosed) {
		log.Warn("descriptor channel", "error", err)
	}
	s.stop()
	g.Stop()
	<-served
	s.dropReplies()
	if err := s.shut(); err != nil {
		log.Warn("closing a session", "error", err)
	}
	s.inbox.drop()
	d.mu.Lock()
	delete(d.sessions, s)
	d.mu.Unlock()
	if d.mayLog() {
		log.Info("a session has ended", "after", time.Since(began).Round(time.Millisecond))
	}
}

// lone is a listener that accepts one connection, which exists already.
type lone struct {
	conn chan net.Conn
	addr net.Addr
	done chan struct{}
	once sync.Once
}

// only returns a listener that accepts c once. ended is called when the server has closed c.
func only(c net.Conn, ended func()) *lone {
	l := &lone{conn: make(chan net.Conn, 1), addr: c.LocalAddr(), done: make(chan struct{})}
	l.conn <- &endingConn{Conn: c, ended: ended}
	return l
}

func (l *lone) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *lone) Addr() net.Addr { return l.addr }

func (l *lone) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// endingConn calls ended when it has been closed.
type endingConn struct {
	net.Conn
	ended func()
}

func (c *endingConn) Close() error {
	defer c.ended()
	return c.Conn.Close()
}

// listenFD is the first descriptor that a service manager passes.
const listenFD = 3

// listen binds the socket, or takes the one that a service manager has bound. release unlocks the
// socket's path.
func listen(d *wire.Daemon, group int) (l *net.UnixListener, release func(), err error) {
	if os.Getenv("LISTEN_PID") == strconv.Itoa(os.Getpid()) {
		l, err := inherited()
		return l, func() {}, err
	}
	if !filepath.IsAbs(d.Socket) || len(d.Socket) > wire.MaxSocketPath {
		return nil, nil, fmt.Errorf("%w: the path of a daemon's socket is absolute and at most %d bytes long: %q",
			backend.ErrInvalidInput, wire.MaxSocketPath, d.Socket)
	}
	dir := filepath.Dir(d.Socket)
	mode := os.FileMode(0o700)
	if group >= 0 {
		mode = 0o755
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return nil, nil, fmt.Errorf("%w: the folder of the socket: %w", backend.ErrUnavailable, err)
	}
	if _, err := trust.Folder(dir); err != nil {
		return nil, nil, fmt.Errorf("%w: others could put a socket of theirs in the place of %s: %w", backend.ErrUnavailable, d.Socket, err)
	}
	unlock, err := lockSocket(d.Socket)
	if err != nil {
		return nil, nil, err
	}
	if err := clearStale(d.Socket); err != nil {
		unlock()
		return nil, nil, err
	}
	mask := unix.Umask(0o177)
	l, err = net.ListenUnix("unixpacket", &net.UnixAddr{Name: d.Socket, Net: "unixpacket"})
	unix.Umask(mask)
	if err == nil && group >= 0 {
		if err = os.Chown(d.Socket, -1, group); err == nil {
			err = trust.DropList(d.Socket) // otherwise users in the folder's default list could connect too
		}
		if err == nil {
			err = os.Chmod(d.Socket, 0o660)
		}
		if err != nil {
			l.Close()
		}
	}
	if err != nil {
		unlock()
		return nil, nil, fmt.Errorf("%w: the socket %s: %w", backend.ErrUnavailable, d.Socket, err)
	}
	return l, unlock, nil
}

// inherited returns the socket that a service manager has passed.
func inherited() (*net.UnixListener, error) {
	if n := os.Getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("%w: %s sockets were passed, want 1", backend.ErrUnavailable, n)
	}
	unix.CloseOnExec(listenFD)
	f := os.NewFile(listenFD, "socket")
	defer f.Close()
	any, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("%w: the socket that was passed: %w", backend.ErrUnavailable, err)
	}
	l, ok := any.(*net.UnixListener)
	if !ok || l.Addr().Network() != "unixpacket" {
		any.Close()
		return nil, fmt.Errorf("%w: the socket that was passed is not a SOCK_SEQPACKET unix socket (ListenSequentialPacket=)",
			backend.ErrUnavailable)
	}
	l.SetUnlinkOnClose(false)
	return l, nil
}

// lockSocket makes this process the only daemon of a path, until unlock or its end.
func lockSocket(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: the lock of the socket: %w", backend.ErrUnavailable, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: locking %s: %w", backend.ErrUnavailable, f.Name(), err)
		}
		who := make([]byte, 16)
		n, _ := f.ReadAt(who, 0)
		return nil, fmt.Errorf("%w: another daemon, process %s, serves at %s: stop it, or choose another --socket",
			backend.ErrUnavailable, text.Line(string(who[:n]), len(who)), path)
	}
	_ = f.Truncate(0)
	_, _ = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	return func() { f.Close() }, nil
}

// clearStale removes a socket that an earlier daemon has left behind.
func clearStale(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: the socket: %w", backend.ErrUnavailable, err)
	case st.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("%w: %s is there and is no socket: choose another --socket", backend.ErrUnavailable, path)
	}
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("%w: somebody listens at %s who is no daemon of pippin: choose another --socket", backend.ErrUnavailable, path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("%w: a socket that was left behind: %w", backend.ErrUnavailable, err)
	}
	return nil
}
