package serve

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/tap"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/tenancy"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// silentConnection connects to a daemon and answers its greeting.
func silentConnection(t *testing.T, path string) (*net.UnixConn, wire.Greeting) {
	t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	b := make([]byte, 2048)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	g, err := wire.ReadGreeting(b[:n])
	if err != nil {
		t.Fatal(err)
	}
	return c, g
}

// TestSilentConnections: a connection that sends nothing takes nobody's session. A user may have
// only a few of them.
func TestSilentConnections(t *testing.T) {
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{Sessions: 2}, func(d *daemon) { d.hello = time.Hour })
	for range maxSilent {
		if _, g := silentConnection(t, d.path); g.Refusal != "" {
			t.Fatalf("a connection was refused: %s", g.Refusal)
		}
	}
	if _, g := silentConnection(t, d.path); !strings.Contains(g.Refusal, "have not said anything") {
		t.Errorf("one more was refused with %q", g.Refusal)
	}
	if d.begun != 0 {
		t.Errorf("%d sessions of silent connections", d.begun)
	}
	d.mu.Lock()
	refusal := d.fullLocked(newAccount())
	d.mu.Unlock()
	if refusal != "" {
		t.Errorf("another user is refused: %s", refusal)
	}
}

// TestSilentConnectionsEnd: every kind of silent connection is closed.
func TestSilentConnectionsEnd(t *testing.T) {
	if helloLimit > time.Second {
		t.Errorf("a connection may say nothing for %v", helloLimit)
	}
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{}, func(d *daemon) { d.hello, d.open = 10*time.Millisecond, 20*time.Millisecond })
	for what, say := range map[string]func(c *net.UnixConn){
		"nothing": func(*net.UnixConn) {},
		"no HTTP/2": func(c *net.UnixConn) {
			ours, theirs := streams(t)
			t.Cleanup(func() { ours.Close() })
			_ = shm.ChannelOf(c).Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, theirs)
			theirs.Close()
		},
		"no Open": func(c *net.UnixConn) {
			ours, theirs := streams(t)
			t.Cleanup(func() { ours.Close() })
			_ = shm.ChannelOf(c).Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, theirs)
			theirs.Close()
			_, _ = ours.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
			go func() { _, _ = io.Copy(io.Discard, ours) }()
		},
	} {
		c, _ := silentConnection(t, d.path)
		say(c)
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("%s: the connection does not end: %v", what, err)
		}
	}
	plugintest.Eventually(t, time.Minute, "all are counted out", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.begun == 0 && len(d.accounts) == 0
	})
}

// TestUsersSessions: if other users may connect, one user gets half of the sessions.
func TestUsersSessions(t *testing.T) {
	d := newDaemon(wire.Daemon{Sessions: 4}, 54321, &fake.Backend{}, (&plugintest.Capture{}).Logger(), nil)
	enter := func(user int) string {
		of, refusal := d.greet(user)
		if refusal == "" {
			refusal = d.begin(of)
		}
		return refusal
	}
	for i, want := range []string{"", "", "user 1 has 2 sessions"} {
		if got := enter(1); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("session %d of user 1: %q, want %q", i, got, want)
		}
	}
	for range 2 {
		if got := enter(2); got != "" {
			t.Errorf("another user: %s", got)
		}
	}
	if got := enter(3); !strings.Contains(got, "4 sessions") {
		t.Errorf("a third user: %q", got)
	}
	of := d.accounts[1]
	d.finish(of)
	d.leave(of)
	if got := enter(3); got != "" {
		t.Errorf("after one has ended: %s", got)
	}
}

// TestComplaints: a user who is refused all the time does not fill the log.
func TestComplaints(t *testing.T) {
	log := &plugintest.Capture{}
	d := newDaemon(wire.Daemon{}, -1, &fake.Backend{}, log.Logger(), nil)
	for range 1000 {
		d.complain("a session was refused", shm.Peer{User: 7}, "why")
	}
	if n := strings.Count(log.String(), "refused"); n > 4*maxComplaints {
		t.Errorf("%d lines", n)
	}
	if d.mayLog() {
		t.Error("sessions that come and go are logged beside them")
	}
	d.said.since = time.Time{}
	d.complain("a session was refused", shm.Peer{User: 7}, "why")
	if !strings.Contains(log.String(), "unlogged=") {
		t.Errorf("nothing says how many were left out: %s", log)
	}
}

// TestAnswersQuota: arenas for answers count in sum and for each user, because their pages may
// become the daemon's.
func TestAnswersQuota(t *testing.T) {
	const size = 1 << 20
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{}, func(d *daemon) { d.answers.all, d.answers.user = 3*size, 2*size })
	attach := func(h *byHandSession) error {
		a, err := shm.NewAnswerArena(size)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Close)
		if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: a.ID(), Size: size}, a.File()); err != nil {
			t.Fatal(err)
		}
		_, err = h.Attach(ctx, &proto.AttachRequest{Arena: a.ID(), Size: size, Answers: true})
		return err
	}
	a, b := dialByHand(t, d.path), dialByHand(t, d.path)
	for _, h := range []*byHandSession{a, b} {
		if err := attach(h); err != nil {
			t.Fatal(err)
		}
	}
	if remote, ok := wire.FromStatus(attach(b)); !ok || !remote.Is(backend.ErrOutOfMemory) {
		t.Errorf("a third of one user: %v", remote)
	}
	other := os.Geteuid() + 1
	if err := d.answers.take(other, size); err != nil {
		t.Errorf("another user's: %v", err)
	}
	if err := d.answers.take(other, size); !errors.Is(err, backend.ErrOutOfMemory) {
		t.Errorf("a fourth of all: %v", err)
	}
	d.answers.give(other, size)
	a.Close()
	plugintest.Eventually(t, 10*time.Second, "what a session had is given back", func() bool {
		d.answers.mu.Lock()
		defer d.answers.mu.Unlock()
		return d.answers.used == size
	})
	if err := attach(b); err != nil {
		t.Errorf("after the other session has ended: %v", err)
	}
}

// TestCallsCount: a call counts from the moment that it begins, whatever has come of it. A load
// counts as its largest message.
func TestCallsCount(t *testing.T) {
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{}, func(d *daemon) { d.calls.all, d.calls.user = 3<<20, 3<<20 })
	a, b := dialByHand(t, d.path), dialByHand(t, d.path)
	during, end := context.WithCancel(ctx)
	defer end()
	load := func(h *byHandSession) proto.Backend_LoadBasesClient {
		s, err := h.LoadBases(during)
		if err == nil {
			err = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Header{Header: &proto.LoadHeader{Curve: 1, Group: 1, Count: 1}}})
		}
		if err != nil && !errors.Is(err, io.EOF) { // EOF: it is refused already, Recv says why
			t.Fatal(err)
		}
		return s
	}
	load(a)
	load(b)
	plugintest.Eventually(t, 10*time.Second, "two loads are counted", func() bool { return d.calls.now() == 2*(streamBytes+wire.MaxMessage) })
	_, err := load(a).Recv()
	if remote, ok := wire.FromStatus(err); !ok || !remote.Is(backend.ErrOutOfMemory) {
		t.Errorf("a third load: %v", err)
	}
	if _, err := b.Ping(ctx, &proto.PingRequest{}); err != nil {
		t.Errorf("a ping beside them: %v", err)
	}
	end()
	plugintest.Eventually(t, 10*time.Second, "what has ended is counted no more", func() bool { return d.calls.now() == 0 })
}

// now returns how many bytes are counted.
func (a *budget) now() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.used
}

// TestRepliesCount: a reply counts until its host has read it, or is gone.
func TestRepliesCount(t *testing.T) {
	const count = wire.InlineAnswer / 32
	var ran atomic.Int64
	d := startDaemon(t, &fake.Backend{Started: func() { ran.Add(1) }}, wire.Daemon{})
	h := dialByHand(t, d.path)
	space, err := h.NewSpace(ctx, &proto.NewSpaceRequest{Element: &proto.Element{Kind: 1, Curve: 1}, Count: 2 * count})
	if err != nil {
		t.Fatal(err)
	}
	program := func(n, count int, places ...*proto.Place) *proto.RunRequest {
		one := backend.Read{Src: backend.Range{Space: backend.SpaceID(space.Space), Count: count}}
		steps := backend.EncodeSteps(slices.Repeat([]backend.Step{one}, n))
		return &proto.RunRequest{Call: rand.Uint64(), Program: steps, Places: places}
	}
	reads := func(n, count int) error {
		reply, err := h.Run(ctx, program(n, count))
		if err == nil && (len(reply.Answers) != n || len(reply.Answers[n-1]) != 32*count) {
			t.Errorf("%d answers", len(reply.Answers))
		}
		return err
	}
	limit := func(all int64) {
		d.calls.mu.Lock()
		defer d.calls.mu.Unlock()
		d.calls.all, d.calls.user = all, all
	}
	for range 20 {
		if err := reads(64, count); err != nil {
			t.Fatal(err)
		}
	}
	plugintest.Eventually(t, 10*time.Second, "replies that were read are counted no more", func() bool { return d.calls.now() == 0 })
	invalid(t, "an answer that is too large for a reply", reads(1, count+1))
	limit(3 * streamBytes)
	before := ran.Load()
	if remote, ok := wire.FromStatus(reads(64, count)); !ok || !remote.Is(backend.ErrOutOfMemory) || ran.Load() != before {
		t.Errorf("a reply that there is no room for: %v after %d programs", remote, ran.Load()-before)
	}
	a, err := shm.NewAnswerArena(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: a.ID(), Size: 1 << 20}, a.File()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Attach(ctx, &proto.AttachRequest{Arena: a.ID(), Size: 1 << 20, Answers: true}); err != nil {
		t.Fatal(err)
	}
	var places []*proto.Place
	for i := range 64 {
		places = append(places, &proto.Place{Step: uint32(i), Bytes: wire.Region(a, 0, wire.InlineAnswer)})
	}
	if _, err := h.Run(ctx, program(64, count, places...)); err != nil {
		t.Errorf("answers that go to shared memory: %v", err)
	}
	if err := reads(1, count); err != nil {
		t.Errorf("a small one: %v", err)
	}
	limit(0)
	s := &server{session: &session{calls: d.calls}, account: &account{user: 7}}
	var last *reply
	for range 4 {
		held, err := s.hold(&proto.RunReply{Answers: [][]byte{make([]byte, smallReply)}})
		if err != nil {
			t.Fatal(err)
		}
		last = held.(*reply)
	}
	counted := d.calls.of[7]
	last.release()
	if n := d.calls.of[7]; n < 3*smallReply || counted-n != n/3 {
		t.Errorf("three replies are counted as %d bytes, and four as %d", n, counted)
	}
	s.dropReplies()
	last.release()
	if n := d.calls.of[7]; n != 0 {
		t.Errorf("%d bytes of a session that is over", n)
	}
}

// TestFloods: a user who makes more calls than the limit is delayed while others are connected.
func TestFloods(t *testing.T) {
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{})
	h := dialByHand(t, d.path)
	d.mu.Lock()
	of := d.accounts[os.Geteuid()]
	d.mu.Unlock()
	of.calls.SetBurst(1)
	of.calls.SetLimit(100)
	twenty := func() time.Duration {
		within, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		began := time.Now()
		for range 20 {
			if _, err := h.Ping(within, &proto.PingRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(began)
	}
	other, refusal := d.greet(os.Geteuid() + 1)
	if refusal != "" {
		t.Fatal(refusal)
	}
	if took := twenty(); took < 180*time.Millisecond {
		t.Errorf("20 calls of a user who may make 100 in a second took %v", took)
	}
	over, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	began := time.Now()
	admit := d.admit(&server{ctx: ctx, account: of})
	for range 20 { // calls whose time is over are delayed too
		_, _ = admit(over, &tap.Info{})
	}
	if took := time.Since(began); took < 180*time.Millisecond {
		t.Errorf("20 calls whose time was over took %v", took)
	}
	d.leave(other)
	of.calls.SetLimit(0.01) // a user who is alone is not delayed
	twenty()
}

// TestRefusedCalls: a user who calls again and again, although these calls have all the memory that
// they may, is delayed: a refusal takes time of processors too.
func TestRefusedCalls(t *testing.T) {
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{}, func(d *daemon) { d.calls.all, d.calls.user = 1, 1 })
	of := newAccount()
	of.calls.SetLimit(1000)
	of.calls.SetBurst(refusedCalls)
	d.users.Store(2)
	admit := d.admit(&server{ctx: ctx, account: of})
	began := time.Now()
	for range 21 {
		if _, err := admit(ctx, &tap.Info{}); err == nil {
			t.Fatal("it is admitted")
		}
	}
	if took := time.Since(began); took < 20*refusedCalls*time.Millisecond {
		t.Errorf("21 refusals of a user who may make 1000 calls in a second took %v", took)
	}
}

// TestSocketHasNoList: users whom the folder's default access control list names may not connect.
func TestSocketHasNoList(t *testing.T) {
	dir := t.TempDir()
	all := make([]byte, 4)
	for i, e := range [][2]byte{{1, 7}, {2, 7}, {4, 5}, {16, 7}, {32, 0}} {
		all = append(all, e[0], 0, e[1], 0, 255, 255, 255, 255)
		if i == 1 { // another user
			copy(all[len(all)-4:], []byte{254, 255, 0, 0})
		}
	}
	all[0] = 2
	if err := unix.Setxattr(dir, "system.posix_acl_default", all, 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("no access control lists on this file system: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{Socket: filepath.Join(dir, "d.sock"), Group: strconv.Itoa(os.Getegid())})
	st, err := os.Lstat(d.path)
	if err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if _, err := unix.Getxattr(d.path, "system.posix_acl_access", nil); !errors.Is(err, unix.ENODATA) {
		t.Errorf("the socket has a list: %v", err)
	}
}

// TestSpy: a ping tells a guest nothing about other sessions, and tells the owner what all did.
func TestSpy(t *testing.T) {
	for name, owner := range map[string]int{"the owner": os.Geteuid(), "a guest": os.Geteuid() + 1} {
		b := &fake.Backend{}
		d := startDaemon(t, b, wire.Daemon{}, func(d *daemon) {
			if owner != os.Geteuid() {
				d.shared = tenancy.New(b, tenancy.Options{Owner: owner})
			}
		})
		victim, spy := mustOpen(t, d.spec()), mustOpen(t, d.spec())
		looks := func() backend.Usage {
			if err := spy.Ping(ctx); err != nil {
				t.Fatal(err)
			}
			return spy.Usage()
		}
		before := looks()
		plugintest.Check(t, victim, 1000)
		if now := looks(); reflect.DeepEqual(now, before) != (owner != os.Geteuid()) || now.Daemon.Sessions == 0 {
			t.Errorf("%s reads %+v %+v, and after another's MSM %+v %+v", name, before, *before.Daemon, now, *now.Daemon)
		}
	}
}

// TestFilesCount: descriptors that nobody asks for count for their user, as sessions do.
func TestFilesCount(t *testing.T) {
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{}, func(d *daemon) { d.files.all, d.files.user = connectionFiles+2, connectionFiles+2 })
	h := dialByHand(t, d.path)
	for id := range uint64(3) {
		if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: id, Size: 1}, os.Stdin); err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.Attach(ctx, &proto.AttachRequest{Arena: 2, Size: 1})
	if remote, ok := wire.FromStatus(err); !ok || !remote.Is(backend.ErrOutOfMemory) {
		t.Errorf("a third descriptor: %v", err)
	}
	if _, g := silentConnection(t, d.path); !strings.Contains(g.Refusal, "open files") {
		t.Errorf("another session: %q", g.Refusal)
	}
	_, err = h.Attach(ctx, &proto.AttachRequest{Arena: 1, Size: 1})
	invalid(t, "no arena", err)
	if n := d.files.now(); n != connectionFiles+1 {
		t.Errorf("%d descriptors are counted after one was asked for", n)
	}
	h.Close()
	plugintest.Eventually(t, 10*time.Second, "what a session had is counted no more", func() bool { return d.files.now() == 0 })
}
