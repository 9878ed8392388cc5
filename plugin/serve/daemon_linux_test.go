package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// served is a daemon in this process.
type served struct {
	*daemon
	fake  *fake.Backend
	path  string
	log   *plugintest.Capture
	stop  context.CancelFunc
	ended chan struct{}
}

// startDaemon serves a fake backend in this process. set changes the daemon's defaults before it
// serves.
func startDaemon(t testing.TB, b *fake.Backend, d wire.Daemon, set ...func(*daemon)) *served {
	t.Helper()
	r := &served{fake: b, log: &plugintest.Capture{}, ended: make(chan struct{})}
	if d.Socket == "" {
		d.Socket = filepath.Join(t.TempDir(), "d.sock")
	}
	r.path = d.Socket
	group, err := groupID(&d)
	if err != nil {
		t.Fatal(err)
	}
	l, release, err := listen(&d, group)
	if err != nil {
		t.Fatal(err)
	}
	r.daemon = newDaemon(d, group, b, r.log.Logger(), nil)
	r.exit = func(code int) { t.Errorf("the daemon would exit with status %d", code) }
	for _, f := range set {
		f(r.daemon)
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() {
		defer close(r.ended)
		defer release()
		r.serve(ctx, l)
	}()
	t.Cleanup(func() { stop(); <-r.ended })
	return r
}

func (r *served) spec() plugin.Spec {
	return plugin.Spec{Name: "daemon", Socket: r.path, StartTimeout: 20 * time.Second}
}

// TestDaemonSessions: two clients hold one key once, and their vectors apart. The next client finds
// what was loaded, and nothing is read.
func TestDaemonSessions(t *testing.T) {
	d := startDaemon(t, &fake.Backend{Step: 100}, wire.Daemon{})
	a, b := mustOpen(t, d.spec()), mustOpen(t, d.spec())
	if i := a.Info(); i.Name != "fake" || i.InProcess || i.PID != os.Getpid() || len(i.Can.MSM) != 8 {
		t.Errorf("%+v", i)
	}
	const n = 50_000
	points := plugintest.NewBN(n)
	ids := map[*plugin.Client]backend.BasesID{}
	for _, c := range []*plugin.Client{a, b} {
		if err := c.Ping(ctx); err != nil {
			t.Fatal(err)
		}
		ids[c] = plugintest.Load(t, c, points.Bases())
	}
	pieces := d.fake.Pieces.Load()
	again := plugintest.Load(t, a, points.Bases())
	if again == ids[a] {
		t.Error("bases that are loaded twice have one id, and would be freed at once")
	}
	if d.fake.Bases() != 1 || d.fake.Pieces.Load() != pieces {
		t.Errorf("%d sets of bases; %d pieces read, then %d", d.fake.Bases(), pieces, d.fake.Pieces.Load())
	}
	var calls sync.WaitGroup
	for c, id := range ids {
		for range 4 {
			calls.Go(func() {
				for range 5 {
					got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: points.Scalars}}})
					if err != nil || !bytes.Equal(got[0], points.Want()) {
						t.Errorf("wrong answer, or %v", err)
					}
				}
			})
		}
	}
	calls.Wait()
	for _, f := range []func() error{
		func() error { return a.FreeBases(ctx, ids[a]) },
		func() error { return a.FreeBases(ctx, again) },
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	plugintest.Check(t, b, 1000)

	// Vectors, and answers in shared memory that the daemon writes.
	elements := bytes.Repeat(plugintest.Element(7), 3000)
	space := plugintest.Space(t, b, 3000)
	got, err := b.Run(ctx, plugintest.WriteRead(space, elements))
	if err != nil || !bytes.Equal(got[1], elements) {
		t.Errorf("a vector came back otherwise: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	plugintest.Eventually(t, time.Minute, "the end of a session frees its vectors", func() bool { return d.fake.Spaces() == 0 })
	if err := a.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	if u := a.Usage(); u.Daemon == nil || u.Daemon.Resident == 0 || u.Daemon.Recognised == 0 || len(u.Devices) != 1 {
		t.Errorf("usage %+v", u)
	}
	if err := a.Test(ctx); err != nil || a.Usage().Devices[0].Retired != "tested" {
		t.Errorf("after a test of devices: %v, %+v", err, a.Usage())
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	plugintest.Eventually(t, time.Minute, "the sessions end", func() bool {
		st := d.shared.Usage().Daemon
		return st.Sessions == 0 && st.Unheld == st.Resident && d.fake.Arenas.Load() == 0
	})
	c := mustOpen(t, d.spec())
	pieces = d.fake.Pieces.Load()
	id := plugintest.Load(t, c, points.Bases())
	if d.fake.Pieces.Load() != pieces {
		t.Error("what was loaded before is read again")
	}
	f := points.File(t)
	fromFile := points.Bases()
	fromFile.Bytes, fromFile.File = nil, f
	plugintest.Check(t, c, 10)
	plugintest.Load(t, c, fromFile)
	if answer, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: n, Input: backend.Input{Bytes: points.Scalars}}}); err != nil ||
		!bytes.Equal(answer[0], points.Want()) {
		t.Errorf("wrong answer, or %v", err)
	}
}

// proverEnv makes the test binary a prover at the socket that its argument names.
const proverEnv = "PIPPIN_TEST_PROVER"

// proverMain is a prover in another process. It holds what it can, and is in the middle of a call
// until it is killed.
func proverMain(socket string) {
	c, err := plugin.Open(context.Background(), plugin.Spec{Name: "daemon", Socket: socket})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	shared, own := plugintest.NewBN(1000), plugintest.NewBN(1500)
	_, err = c.LoadBases(context.Background(), shared.Bases())
	if err == nil {
		var id backend.BasesID
		if id, err = c.LoadBases(context.Background(), own.Bases()); err == nil {
			_, err = c.NewSpace(context.Background(), backend.ScalarOf(backend.BN254), 1<<16)
		}
		if err == nil {
			fmt.Println("ready")
			_, err = c.MSM(context.Background(),
				[]backend.Job{{Bases: id, Count: 1500, Input: backend.Input{Bytes: own.Scalars, Ready: func(ctx context.Context, n int) error {
					select {} // for ever in the middle
				}}}})
		}
	}
	fmt.Println("error", err)
}

// prover starts this test binary as a prover at a socket, and returns its first line.
func prover(t *testing.T, socket string, attr *syscall.SysProcAttr) (*exec.Cmd, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if attr != nil && attr.Credential != nil { // another user, who may not read the folder where tests are built
		at := filepath.Join(filepath.Dir(socket), "prover")
		b, err := os.ReadFile(exe)
		if _, there := os.Lstat(at); err == nil && there != nil {
			err = os.WriteFile(at, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		exe = at
	}
	cmd := exec.Command(exe, socket)
	cmd.Env = append(os.Environ(), proverEnv+"=1", "TMPDIR=/tmp")
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	lines.Scan()
	return cmd, lines.Text()
}

// TestDaemonKilledProver: a prover that is killed in the middle of a call leaves nothing behind,
// and does not affect another prover's calls.
func TestDaemonKilledProver(t *testing.T) {
	d := startDaemon(t, &fake.Backend{Step: 100, Delay: time.Millisecond}, wire.Daemon{})
	c := mustOpen(t, d.spec())
	b := plugintest.NewBN(1000)
	id := plugintest.Load(t, c, b.Bases())
	cmd, line := prover(t, d.path, nil)
	if line != "ready" {
		t.Fatal(line)
	}
	if st := d.shared.Usage().Daemon; st.Sessions != 2 || d.fake.Bases() != 2 || d.fake.Spaces() != 1 {
		t.Errorf("before: %+v, %d spaces", st, d.fake.Spaces())
	}
	over := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for {
			got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 1000, Input: backend.Input{Bytes: b.Scalars}}})
			if err == nil && !bytes.Equal(got[0], b.Want()) {
				err = errors.New("wrong answer")
			}
			select {
			case <-over:
			default:
				if err == nil {
					continue
				}
			}
			done <- err
			return
		}
	}()
	began := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	plugintest.Eventually(t, time.Minute, "its memory is given back", func() bool {
		st := d.shared.Usage().Daemon
		return st.Sessions == 1 && d.fake.Spaces() == 0 && st.Unheld == int64(len(plugintest.NewBN(1500).Points))
	})
	t.Logf("%v after its death all is given back", time.Since(began).Round(time.Millisecond))
	close(over)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// daemonProcess starts the test plugin as a daemon.
func daemonProcess(t *testing.T, d wire.Daemon, mode string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(plugintest.Dir(t), plugin.Prefix+"test"), wire.ServeArgument, string(text))
	cmd.Env = append(os.Environ(), "TESTPLUGIN="+mode)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// TestDaemonOfAServiceManager: a socket that was passed is served. Hosts learn who serves it, not
// who bound it. The daemon's successor serves hosts that connect in between.
func TestDaemonOfAServiceManager(t *testing.T) {
	exe := filepath.Join(plugintest.Dir(t), plugin.Prefix+"test") // built before a host waits
	path := filepath.Join(t.TempDir(), "d.sock")
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path + ".notify", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer told.Close()
	var first *exec.Cmd
	for range 2 {
		opened := make(chan *plugin.Client, 1)
		go func() { // before anybody serves
			c, err := plugin.Open(ctx, plugin.Spec{Name: "daemon", Socket: path})
			if err != nil {
				t.Error(err)
			}
			opened <- c
		}()
		cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" serve "$1"`, exe, `{"socket":"`+path+`"}`)
		cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "NOTIFY_SOCKET="+path+".notify")
		cmd.ExtraFiles = []*os.File{f}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		c := <-opened
		if c == nil {
			t.FailNow()
		}
		if c.Info().PID != cmd.Process.Pid {
			t.Errorf("process %d serves, not %d", c.Info().PID, cmd.Process.Pid)
		}
		plugintest.Check(t, c, 1000)
		_ = told.SetReadDeadline(time.Now().Add(20 * time.Second))
		state := make([]byte, 64)
		if n, err := told.Read(state); err != nil || !strings.HasSuffix(string(state[:n]), "=1") {
			t.Errorf("told %q, %v", state[:n], err)
		}
		if first == nil {
			first = cmd
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("told to end: %v", err)
			}
			<-c.Done()
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDaemonKilled: when a daemon is killed in the middle, its hosts get ErrGone at once. Its
// successor answers at the socket that it left behind.
func TestDaemonKilled(t *testing.T) {
	d := wire.Daemon{Socket: filepath.Join(t.TempDir(), "d.sock")}
	spec := plugin.Spec{Name: "daemon", Socket: d.Socket, Memory: plugin.NewMemory(0)}
	defer spec.Memory.Close()
	if _, err := plugin.Open(ctx, spec); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "msm serve") {
		t.Errorf("without a daemon: %v", err)
	}
	b := plugintest.NewBN(20_000)
	for round := range 4 {
		cmd := daemonProcess(t, d, "")
		var c *plugin.Client
		plugintest.Eventually(t, time.Minute, "the daemon answers", func() bool {
			var err error
			c, err = plugin.Open(ctx, spec)
			return err == nil
		})
		if c.Info().PID != cmd.Process.Pid {
			t.Errorf("process %d, want %d", c.Info().PID, cmd.Process.Pid)
		}
		id := plugintest.Load(t, c, b.Bases())
		time.AfterFunc(time.Duration(round)*20*time.Millisecond, func() { _ = cmd.Process.Kill() })
		for {
			got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 20_000, Input: backend.Input{Bytes: b.Scalars}}})
			if err != nil {
				if !errors.Is(err, backend.ErrGone) || !strings.Contains(err.Error(), d.Socket) {
					t.Errorf("a dead daemon: %v", err)
				}
				break
			}
			if !bytes.Equal(got[0], b.Want()) {
				t.Fatal("wrong answer")
			}
		}
		<-c.Done()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	}
}

// TestDaemonEnds: a daemon that is told to end lets calls that compute end, and lets no others
// begin.
func TestDaemonEnds(t *testing.T) {
	d := startDaemon(t, &fake.Backend{Delay: 300 * time.Millisecond}, wire.Daemon{})
	began := make(chan struct{}, 10)
	d.fake.Started = func() { began <- struct{}{} }
	c, idle := mustOpen(t, d.spec()), mustOpen(t, d.spec())
	b := plugintest.NewBN(1000)
	id := plugintest.Load(t, c, b.Bases())
	plugintest.Check(t, idle, 10)
	<-began
	done := make(chan error, 1)
	go func() {
		got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 1000, Input: backend.Input{Bytes: b.Scalars}}})
		if err == nil && !bytes.Equal(got[0], b.Want()) {
			err = errors.New("wrong answer")
		}
		done <- err
	}()
	<-began
	d.stop()
	if err := <-done; err != nil {
		t.Errorf("a call that computed: %v", err)
	}
	begin := time.Now()
	<-d.ended
	if took := time.Since(begin); took > endLimit/2 {
		t.Errorf("it ended %v after its last call", took)
	}
	if _, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 1000, Input: backend.Input{Bytes: b.Scalars}}}); !errors.Is(err,
		backend.ErrGone) {
		t.Errorf("a call after the end: %v", err)
	}
	if _, err := os.Lstat(d.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	if _, err := plugin.Open(ctx, d.spec()); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("opening it afterwards: %v", err)
	}
}

// TestDaemonSocket: a socket has one daemon. A socket that was left behind is replaced, and nothing
// else is.
func TestDaemonSocket(t *testing.T) {
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{})
	st, err := os.Lstat(d.path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	two := wire.Daemon{Socket: d.path}
	if _, _, err := listen(&two, -1); !errors.Is(err, backend.ErrUnavailable) ||
		!strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Errorf("two daemons: %v", err)
	}
	plugintest.Check(t, mustOpen(t, d.spec()), 100)

	dir := t.TempDir()
	stale := wire.Daemon{Socket: filepath.Join(dir, "stale")}
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: stale.Socket, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := plugin.Open(ctx, plugin.Spec{Name: "daemon", Socket: stale.Socket}); !errors.Is(err, backend.ErrUnavailable) ||
		!strings.Contains(err.Error(), "msm serve") {
		t.Errorf("a socket without a daemon: %v", err)
	}
	plugintest.Check(t, mustOpen(t, startDaemon(t, &fake.Backend{}, stale).spec()), 100)

	file := wire.Daemon{Socket: filepath.Join(dir, "file")}
	if err := os.WriteFile(file.Socket, []byte("important"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := listen(&file, -1); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a file in the socket's place: %v", err)
	}
	foreign := wire.Daemon{Socket: filepath.Join(dir, "foreign")}
	other, err := net.Listen("unix", foreign.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, _, err := listen(&foreign, -1); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("somebody else's socket: %v", err)
	}
	if _, err := plugin.Open(ctx, plugin.Spec{Name: "daemon", Socket: foreign.Socket}); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("connecting to somebody else's socket: %v", err)
	}
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	anyones := wire.Daemon{Socket: filepath.Join(open, "s")}
	if _, _, err := listen(&anyones, -1); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a folder that anybody can write to: %v", err)
	}
	// Like /tmp: a socket in a subfolder that belongs to the user is taken, one directly in the
	// folder is not.
	if err := os.Chmod(open, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if _, _, err := listen(&anyones, -1); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a folder that anybody can write to, with the sticky bit: %v", err)
	}
	owns := wire.Daemon{Socket: filepath.Join(open, "own", "s")}
	l, remove, err := listen(&owns, -1)
	if err != nil {
		t.Fatalf("a folder of one's own in one with the sticky bit: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	remove()
	for _, path := range []string{"relative", "/" + strings.Repeat("x", 107)} {
		if _, _, err := listen(&wire.Daemon{Socket: path}, -1); !errors.Is(err, backend.ErrInvalidInput) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestDaemonUsers: the daemon's user and members of its group may connect, and nobody else,
// whatever the mode of the socket is.
func TestDaemonUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	const nobody, members = 65534, 54321
	dir, err := os.MkdirTemp("/tmp", "daemon") // t.TempDir is below a folder that only root may enter
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	as := func(groups ...uint32) *syscall.SysProcAttr {
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: groups}}
	}
	alone := startDaemon(t, &fake.Backend{}, wire.Daemon{Socket: filepath.Join(dir, "alone")})
	_, line := prover(t, alone.path, as(members))
	if !strings.Contains(line, "user 65534 may not connect") || !strings.Contains(line, "--group") {
		t.Errorf("the mode of the socket: %s", line)
	}
	if err := os.Chmod(alone.path, 0o666); err != nil {
		t.Fatal(err)
	}
	_, line = prover(t, alone.path, as(members))
	if !strings.Contains(line, "user 65534 is not user 0") || !strings.Contains(line, "--group") {
		t.Errorf("another user: %s", line)
	}
	grouped := startDaemon(t, &fake.Backend{}, wire.Daemon{Socket: filepath.Join(dir, "grouped"), Group: fmt.Sprint(members)})
	if st, err := os.Lstat(grouped.path); err != nil || st.Mode().Perm() != 0o660 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if _, line = prover(t, grouped.path, as(members)); line != "ready" {
		t.Errorf("a member of the group: %s", line)
	}
	if err := os.Chmod(grouped.path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, line = prover(t, grouped.path, as()); !strings.Contains(line, "nor in its group 54321") {
		t.Errorf("no member of the group: %s", line)
	}
}

// TestDaemonQuota: the error says what was wanted and what there is. The client stays within what
// it may have.
func TestDaemonQuota(t *testing.T) {
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{Memory: 1 << 20, Shared: 8 << 20, Sessions: 2})
	c := mustOpen(t, d.spec())
	_, err := c.LoadBases(ctx, plugintest.NewBN(1<<15).Bases())
	if !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), fmt.Sprint(64<<15)) ||
		!strings.Contains(err.Error(), fmt.Sprint(1<<20)) {
		t.Errorf("bases: %v", err)
	}
	plugintest.Check(t, c, 1<<13)
	var calls sync.WaitGroup
	b := plugintest.NewBN(1 << 13)
	id := plugintest.Load(t, c, b.Bases())
	for range 40 { // more than it may have at a time
		calls.Go(func() {
			many := bytes.Repeat(b.Scalars, 1)
			if got, err := c.MSM(ctx, []backend.Job{{Bases: id, Count: 1 << 13, Input: backend.Input{Bytes: many}}}); err != nil ||
				!bytes.Equal(got[0], b.Want()) {
				t.Errorf("a call within what it may have: %v", err)
			}
		})
	}
	calls.Wait()
	if _, err := c.Alloc(ctx, 5<<20); !errors.Is(err, backend.ErrOutOfMemory) || !strings.Contains(err.Error(), fmt.Sprint(4<<20)) {
		t.Errorf("shared memory: %v", err)
	}
	// A client that does not is refused.
	arena, err := shm.NewArena(16 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer arena.Close()
	h := dialByHand(t, d.path)
	if err := h.channel.Send(shm.Message{Kind: shm.KindArena, ID: 1 << 40, Size: 16 << 20}, arena.File()); err != nil {
		t.Fatal(err)
	}
	_, err = h.Attach(ctx, &proto.AttachRequest{Arena: 1 << 40, Size: 16 << 20})
	remote, ok := wire.FromStatus(err)
	if !ok || !remote.Is(backend.ErrOutOfMemory) || !strings.Contains(remote.Text, fmt.Sprint(16<<20)) ||
		!strings.Contains(remote.Text, fmt.Sprint(8<<20)) {
		t.Errorf("an arena beyond the quota: %v", err)
	}
	plugintest.Check(t, c, 100)
	if _, err := plugin.Open(ctx, d.spec()); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "2 sessions") {
		t.Errorf("a third session of two: %v", err)
	}
}

// byHandSession is a session with a daemon in which a test may send anything.
type byHandSession struct {
	proto.BackendClient
	channel *shm.Channel
	Close   func()
}

// dialByHand opens a session with a daemon.
func dialByHand(t *testing.T, path string) *byHandSession {
	t.Helper()
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 2048)); err != nil { // the greeting
		t.Fatal(err)
	}
	h := &byHandSession{channel: shm.ChannelOf(c)}
	ours, theirs := streams(t)
	if err := h.channel.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, theirs); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	conn, err := grpc.NewClient("passthrough:x", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return ours, nil }))
	if err != nil {
		t.Fatal(err)
	}
	h.BackendClient = proto.NewBackendClient(conn)
	h.Close = sync.OnceFunc(func() { conn.Close(); ours.Close(); h.channel.Close() })
	t.Cleanup(h.Close)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	return h
}

// streams makes the two ends of a connection for calls.
func streams(t *testing.T) (ours net.Conn, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine := os.NewFile(uintptr(fds[0]), "calls")
	defer mine.Close()
	if ours, err = net.FileConn(mine); err != nil {
		t.Fatal(err)
	}
	return ours, os.NewFile(uintptr(fds[1]), "calls")
}

// TestDaemonNonsense: whatever one client sends, the daemon goes on serving others.
func TestDaemonNonsense(t *testing.T) {
	d := startDaemon(t, &fake.Backend{}, wire.Daemon{Sessions: 4}, func(d *daemon) { d.hello = 200 * time.Millisecond })
	connected := func() (*net.UnixConn, *shm.Channel) {
		t.Helper()
		c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: d.path, Net: "unixpacket"})
		if err != nil {
			t.Fatal(err)
		}
		hello := make([]byte, 2048)
		if n, err := c.Read(hello); err != nil {
			t.Fatal(err)
		} else if g, err := wire.ReadGreeting(hello[:n]); err != nil || g.Accept() != nil {
			t.Fatal(g, err)
		}
		return c, shm.ChannelOf(c)
	}
	file, err := os.Open(d.path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stream := func() (net.Conn, *os.File) {
		t.Helper()
		return streams(t)
	}
	for what, f := range map[string]func(c *net.UnixConn, ch *shm.Channel){
		"nothing":        func(c *net.UnixConn, _ *shm.Channel) {},
		"an end":         func(c *net.UnixConn, _ *shm.Channel) { c.Close() },
		"text":           func(c *net.UnixConn, _ *shm.Channel) { _, _ = c.Write([]byte("GET / HTTP/1.1")) },
		"a long message": func(c *net.UnixConn, _ *shm.Channel) { _, _ = c.Write(make([]byte, 100_000)) },
		"a file": func(_ *net.UnixConn, ch *shm.Channel) {
			_ = ch.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, file)
		},
		"an arena": func(_ *net.UnixConn, ch *shm.Channel) { _ = ch.Send(shm.Message{Kind: shm.KindArena, ID: 1}, file) },
		"its own end": func(c *net.UnixConn, ch *shm.Channel) {
			f, _ := c.File()
			defer f.Close()
			_ = ch.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, f)
		},
		"an older version": func(_ *net.UnixConn, ch *shm.Channel) {
			_, theirs := stream()
			defer theirs.Close()
			_ = ch.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion - 1}, theirs)
		},
		"a newer version": func(_ *net.UnixConn, ch *shm.Channel) {
			_, theirs := stream()
			defer theirs.Close()
			_ = ch.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion + 1}, theirs)
		},
		"a stream that is no gRPC": func(_ *net.UnixConn, ch *shm.Channel) {
			ours, theirs := stream()
			_ = ch.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, theirs)
			theirs.Close()
			_, _ = ours.Write(bytes.Repeat([]byte{0xff}, 1000))
			t.Cleanup(func() { ours.Close() })
		},
		"half a preface": func(_ *net.UnixConn, ch *shm.Channel) {
			ours, theirs := stream()
			_ = ch.Send(shm.Message{Kind: shm.KindConnection, ID: wire.ProtocolVersion}, theirs)
			theirs.Close()
			_, _ = ours.Write([]byte("PRI * HTTP/2.0\r\n"))
			ours.Close()
		},
	} {
		c, ch := connected()
		f(c, ch)
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("%s: the connection does not end: %v", what, err)
		}
		c.Close()
	}
	// Calls without Open, descriptors that nobody asks for, bases of a wrong digest.
	flood := dialByHand(t, d.path)
	for i := range 100 {
		_ = flood.channel.Send(shm.Message{Kind: shm.KindFile, ID: uint64(1000 + i)}, file)
	}
	c, h := mustOpen(t, d.spec()), dialByHand(t, d.path)
	b := plugintest.NewBN(100)
	load := func(digest []byte) error {
		s, err := h.LoadBases(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.CloseSend() }()
		_ = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Header{Header: &proto.LoadHeader{Curve: 1, Group: 1, Count: 100, Digest: digest}}})
		m, err := s.Recv()
		if err == nil && m.GetWanted() != nil {
			_ = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Abort{Abort: &proto.LoadAbort{}}})
			_, err = s.Recv()
		}
		return err
	}
	invalid(t, "a short digest", load([]byte("short")))
	if err := load(make([]byte, 32)); err == nil {
		t.Error("a load that was given up is accepted")
	}
	lie := b.Bases()
	lie.Memo = backend.Known(backend.Digest{1})
	if _, err := c.LoadBases(ctx, lie); backend.FaultOf(err) != backend.FaultBackend {
		t.Errorf("a wrong digest: %v", err)
	}
	plugintest.Check(t, c, 1000)
	if d.fake.Bases() != 1 {
		t.Errorf("%d sets of bases", d.fake.Bases())
	}
	c.Close()
	h.Close()
	flood.Close()
	plugintest.Eventually(t, time.Minute, "no session is left", func() bool { return d.shared.Usage().Daemon.Sessions == 0 })
}

// TestDaemonPanics: after a panic in the backend all sessions end, because all use it.
func TestDaemonPanics(t *testing.T) {
	d := wire.Daemon{Socket: filepath.Join(t.TempDir(), "d.sock")}
	cmd := daemonProcess(t, d, "panic")
	var a *plugin.Client
	plugintest.Eventually(t, time.Minute, "the daemon answers", func() bool {
		c, err := plugin.Open(ctx, plugin.Spec{Name: "daemon", Socket: d.Socket})
		a = c
		return err == nil
	})
	defer a.Close()
	b := mustOpen(t, plugin.Spec{Name: "daemon", Socket: d.Socket})
	points := plugintest.NewBN(10)
	id := plugintest.Load(t, a, points.Bases())
	if _, err := a.MSM(ctx, []backend.Job{{Bases: id, Count: 10, Input: backend.Input{Bytes: points.Scalars}}}); !errors.Is(err,
		backend.ErrGone) {
		t.Error(err)
	}
	select {
	case <-b.Done():
	case <-time.After(20 * time.Second):
		t.Error("the other session goes on")
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitGone {
		t.Errorf("the daemon ended with %v", err)
	}
}

// BenchmarkDaemonLoadsAgain measures a prover that loads what the daemon holds: with a digest that
// it knows, from a file that was read before, and from memory.
func BenchmarkDaemonLoadsAgain(b *testing.B) {
	const n = 1 << 22
	d := startDaemon(b, &fake.Backend{}, wire.Daemon{})
	c := mustOpen(b, d.spec())
	points := backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, Bytes: make([]byte, 64*n)}
	plugintest.Load(b, c, points)
	digest, err := points.Digest(ctx)
	if err != nil {
		b.Fatal(err)
	}
	known, file := points, points
	known.Memo = backend.Known(digest)
	file.Bytes = nil
	if file.File, err = os.Create(filepath.Join(b.TempDir(), "points")); err == nil {
		_, err = file.File.Write(points.Bytes)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer file.File.Close()
	time.Sleep(2500 * time.Millisecond) // until the file's last change is long enough ago
	plugintest.Load(b, c, file)
	for _, of := range []struct {
		name  string
		bases backend.Bases
	}{{"known", known}, {"file", file}, {"memory", points}} {
		b.Run(of.name, func(b *testing.B) {
			b.SetBytes(points.Size())
			for b.Loop() {
				if err := c.FreeBases(ctx, plugintest.Load(b, c, of.bases)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
