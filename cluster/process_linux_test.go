package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pippin-zk/pippin/cluster"
	"github.com/pippin-zk/pippin/cluster/internal/wire"
	"github.com/pippin-zk/pippin/cluster/server"
	"github.com/pippin-zk/pippin/cluster/worker"
)

// smallDisk mounts a disk of some MiB. Only processes whose command line begins with prefix see it.
// Others find its root at path.
func smallDisk(t *testing.T, dir string, size int) (prefix []string, path string) {
	t.Helper()
	script := `mount -t tmpfs -o size="$1" none "$2" && echo mounted && exec cat`
	cmd := exec.Command("unshare", "-Urm", "sh", "-c", script, "sh", fmt.Sprintf("%dm", size), dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe() // the pipe closes when this process ends
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("no unshare: ", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Skip("this system lets nobody have mounts of his own")
	}
	pid := fmt.Sprint(cmd.Process.Pid)
	return []string{"nsenter", "-t", pid, "-U", "-m", "--preserve-credentials", "--"}, filepath.Join("/proc", pid, "root", dir)
}

// TestNoSpace: others fill the server's disk while jobs wait, and the server ends. Once there is
// room and it is started again, as systemd does it, the jobs that it had accepted are proved.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	a := &away{rig: &rig{t: t, dir: folder(t), log: slog.New(slog.NewTextHandler(t.Output(), nil))}}
	store := filepath.Join(a.dir, "jetstream")
	if err := os.Mkdir(store, 0o700); err != nil {
		t.Fatal(err)
	}
	var disk string
	a.prefix, disk = smallDisk(t, store, 24)
	r := newAway(t, a)
	c, w := r.client(), r.fakeWork("no space")
	ids := submitAll(t, c, w, 10)

	ballast, err := os.Create(filepath.Join(disk, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer ballast.Close()
	for err = nil; err == nil; {
		_, err = ballast.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { <-r.ended; cancel() }()
	for err = nil; err == nil && len(ids) < 1000; { // blocks that were begun still have room
		var id string
		if id, err = c.Submit(ctx, w, number(len(ids))); err == nil {
			ids = append(ids, id)
		}
	}
	t.Logf("after %d jobs: %v", len(ids), err)
	select {
	case <-r.ended:
	case <-time.After(time.Minute):
		t.Fatal("the server goes on without a disk")
	}
	if err := ballast.Truncate(0); err != nil {
		t.Fatal(err)
	}
	r.up()
	r.work(nil)
	id, err := c.Submit(t.Context(), w, number(len(ids)))
	if err != nil {
		t.Fatal(err)
	}
	waitAll(t, c, append(ids, id))
}

// clock is the wall clock of a process, which a test sets. The process's monotonic clock goes on.
type clock struct {
	ahead  time.Duration // before the system's clock, when a process starts
	memory *os.File      // memory of the process
	offset int64         // address of the number of seconds added
}

// clockCode replaces the function for clocks in the page that the kernel maps into each process and
// that Go calls. It makes the system call instead, and for CLOCK_REALTIME adds the number of
// seconds that follows the code.
var clockCode = []byte{
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov  eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jne  ret
	0x48, 0x8b, 0x15, 0x0e, 0x00, 0x00, 0x00, // mov  rdx, [rip + 14]
	0x48, 0x01, 0x16, // add  [rsi], rdx
	0xc3,                                                       // ret
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, // up to the seconds
	0, 0, 0, 0, 0, 0, 0, 0,
}

// start starts a process with the clock, which is installed before the process's first instruction.
func (c *clock) start(cmd *exec.Cmd) error {
	runtime.LockOSThread() // the thread that starts the process must also trace it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil || !status.Stopped() {
		return fmt.Errorf("the process has not stopped: %v, %w", status, err)
	}
	return errors.Join(c.install(cmd.Process.Pid), syscall.PtraceDetach(cmd.Process.Pid))
}

// install replaces the function in a stopped process.
func (c *clock) install(pid int) error {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	var from, to int64
	for line := range strings.Lines(string(maps)) {
		if strings.HasSuffix(line, "[vdso]\n") {
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err != nil {
				return err
			}
		}
	}
	if c.memory, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0); err != nil {
		return err
	}
	page := make([]byte, to-from)
	if _, err := c.memory.ReadAt(page, from); err != nil {
		return err
	}
	f, err := elf.NewFile(bytes.NewReader(page))
	if err != nil {
		return err
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(clockCode)) {
			at := from + int64(s.Value)
			c.offset = at + int64(len(clockCode)) - 8
			if _, err := c.memory.WriteAt(clockCode, at); err != nil {
				return err
			}
			return c.set(c.ahead)
		}
	}
	return errors.New("the kernel's page has no clock")
}

// set sets how far the clock is before or after the system's.
func (c *clock) set(by time.Duration) error {
	_, err := c.memory.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(int64(by/time.Second))), c.offset)
	return err
}

// jump sets the clock while the process runs.
func (c *clock) jump(t *testing.T, by time.Duration) {
	t.Helper()
	if err := c.set(by); err != nil {
		t.Fatal(err)
	}
}

// TestClockJumps moves the server's clock by hours, forward and back, between jobs and during them.
// It also kills a worker after the clock went back. By the server's clock the killed worker's job
// is then in hand for hours.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the clock is code for amd64")
	}
	var now clock
	r := newAway(t, &away{start: now.start, remote: remote{Stuck: 2 * time.Second}})
	defer now.memory.Close()
	c := r.client()
	end := r.work(nil)
	w := r.fakeWork("clock")
	var ids []string
	for i, by := range []time.Duration{time.Hour, -time.Hour, 24 * time.Hour, -24 * time.Hour, 0} {
		for range 5 {
			id, err := c.Submit(t.Context(), w, number(len(ids)))
			if err != nil {
				t.Fatal(i, err)
			}
			ids = append(ids, id)
		}
		now.jump(t, by)
	}
	waitAll(t, c, ids)
	if err := end(); err != nil {
		t.Error(err)
	}

	cmd := workerIn(t, r.rig)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	slow, err := c.Submit(t.Context(), w, []byte("slow"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a worker has the job", func() bool {
		s, err := c.Status(t.Context())
		return err == nil && len(s.Workers) == 1 && len(s.Workers[0].InHand) == 1
	})
	now.jump(t, -2*time.Hour)
	_ = cmd.Process.Kill()
	r.work(nil)
	if proof, err := c.Wait(t.Context(), slow); err != nil || !bytes.Equal(proof, fakeProof([]byte("slow"))) {
		t.Error(err)
	}
	r.settled(c, len(ids)+1)
}

// TestClocksDiffer: the clock of the server and its manager is an hour before or behind everybody
// else's, and a worker's differs the other way. A second manager does not take the lead because of
// that. Jobs that have ten seconds are proved. Jobs are late when their time is over and not
// before, even if the server is restarted meanwhile. Reported ages are right. Before, a client
// whose clock was behind had all of its proofs late.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the clock is code for amd64")
	}
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			of, workers := &clock{ahead: by}, &clock{ahead: -by}
			r := newAway(t, &away{start: of.start, remote: remote{Stuck: 2 * time.Second}})
			c, w, msgs := r.client(), r.fakeWork("clocks"), r.messages()
			r.cfg.Name, r.cfg.Room, r.cfg.Every = "second", r.remote.Room, 100*time.Millisecond
			r.cfg.Names = map[string]string{r.tenant(server.ClientTicket): "client"}
			r.manage()
			t.Cleanup(r.stop)
			submit := func(within time.Duration) (id string, began time.Time) {
				t.Helper()
				began = time.Now()
				id, err := c.Submit(t.Context(), w, number(0), cluster.JobOptions{Deadline: began.Add(within)})
				if err != nil {
					t.Fatal(err)
				}
				return id, began
			}
			// There is no worker: one job is handed out, and the others wait.
			late := func(what string, id string, began time.Time, within time.Duration) {
				t.Helper()
				if _, err := c.Wait(t.Context(), id); !errors.Is(err, cluster.ErrLate) {
					t.Errorf("%s: %v", what, err)
				}
				// Ages come from clocks that are read together, but for the time of a message.
				if took := time.Since(began); took < within-100*time.Millisecond || took > 30*time.Second {
					t.Errorf("%s: late after %v", what, took)
				}
			}
			id, began := submit(3 * time.Second)
			eventually(t, "it is handed out", func() bool { return msgs(wire.Jobs) == 1 })
			late("handed out", id, began, 3*time.Second)
			eventually(t, "it is taken back", func() bool { return msgs(wire.Jobs) == 0 })
			submit(time.Hour) // is handed out, so that the jobs after it wait
			id, began = submit(time.Second)
			late("in the queue", id, began, time.Second)
			short, _ := submit(3 * time.Second)
			long, _ := submit(10 * time.Minute)
			if note, err := r.admin().Last(t.Context(), wire.NotesPrefix+"leader"); err != nil || string(note.Data) == "second" {
				t.Errorf("the second manager leads: %v", err)
			}
			r.end(syscall.SIGKILL)
			time.Sleep(3 * time.Second)
			r.up()
			of.jump(t, 0) // while the long job waits
			if _, err := c.Wait(t.Context(), short); !errors.Is(err, cluster.ErrLate) {
				t.Errorf("its time was over while the server was away: %v", err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "PIPPIN_TEST_WORKER="+filepath.Join(r.dir, server.WorkerTicket))
			if err := workers.start(cmd); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); workers.memory.Close(); of.memory.Close() }()
			if proof, err := c.Wait(t.Context(), long); err != nil || !bytes.Equal(proof, fakeProof(number(0))) {
				t.Errorf("a job whose time is not over: %v", err)
			}
			for range 5 {
				id, _ := submit(10 * time.Second)
				if _, err := c.Wait(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
			// The ledger that tells the age has a stamp from before the jump until a manager's next look.
			admin := r.clientOf(server.AdminTicket)
			eventually(t, "the age of a key is right", func() bool {
				keys, err := admin.Keys(t.Context())
				return err == nil && len(keys) == 1 && keys[0].Idle < 10*time.Minute
			})
		})
	}
}

// TestClockJumpsBetween: the server's clock jumps by an hour, forward or back, between two moments
// that are compared. Of two jobs with deadlines the earlier is first. A result stays for Linger after
// it was taken, and no longer. Clients and administrators are told how long ago a job died.
func TestClockJumpsBetween(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the clock is code for amd64")
	}
	const linger = 3 * time.Second
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			of := &clock{}
			r := newAway(t, &away{start: of.start, remote: remote{Stuck: 2 * time.Second, Linger: linger}})
			defer of.memory.Close()
			c, w, msgs, link := r.client(), r.fakeWork("between"), r.messages(), r.admin()
			submit := func(witness string, within time.Duration) string {
				t.Helper()
				o := cluster.JobOptions{Deadline: time.Now().Add(within)}
				id, err := c.Submit(t.Context(), w, []byte(witness), o)
				if err != nil {
					t.Fatal(err)
				}
				return id
			}
			first := submit("first", time.Minute)
			eventually(t, "one is handed out, and the others wait", func() bool { return msgs(wire.Jobs) == 1 })
			last := submit("last", 3*time.Minute)
			of.jump(t, by)
			second := submit("second", 2*time.Minute)
			r.work(func(c *worker.Config) {
				c.Jobs = 1
				c.Open = fakes(func(_ context.Context, witness []byte) ([]byte, error) {
					if string(witness) == "dead" {
						return nil, worker.ErrJob
					}
					return fakeProof(witness), nil
				})
			})
			place := map[string]uint64{} // of each end in the stream
			for _, id := range []string{first, second, last} {
				eventually(t, "it has ended", func() bool {
					end, err := link.Last(t.Context(), wire.EndsPrefix+id)
					if err == nil {
						place[id] = end.Sequence
					}
					return err == nil
				})
			}
			if place[first] > place[second] || place[second] > place[last] {
				t.Errorf("the jobs ended as number %d, %d and %d", place[first], place[second], place[last])
			}

			of.jump(t, 0)
			if _, err := c.Wait(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			taken := time.Now()
			if err := c.Taken(first); err != nil {
				t.Fatal(err)
			}
			time.Sleep(linger / 3) // until it is heard
			of.jump(t, by)
			gone := func() bool {
				_, err := link.Last(t.Context(), wire.EndsPrefix+first)
				return wire.Missing(err)
			}
			eventually(t, "the result that was taken is removed", gone)
			if stayed := time.Since(taken); stayed < linger-200*time.Millisecond || stayed > linger+30*time.Second {
				t.Errorf("a result that was taken stayed for %v", stayed)
			}

			before := time.Now()
			if _, err := c.Wait(t.Context(), submit("dead", time.Minute)); !errors.Is(err, cluster.ErrDead) {
				t.Fatal(err)
			}
			died := time.Now()
			of.jump(t, 0)
			time.Sleep(3 * time.Second)
			for name, asks := range map[string]*cluster.Client{"a client": c, "an administrator": r.clientOf(server.AdminTicket)} {
				s, err := asks.Status(t.Context())
				if err != nil || len(s.Dead) != 1 {
					t.Fatalf("%s: %+v, %v", name, s.Dead, err)
				}
				if age, least, most := s.Dead[0].Age, time.Since(died), time.Since(before); age < least-2*time.Second || age > most+time.Second {
					t.Errorf("%s: the job died %v ago, told is %v", name, least, age)
				}
			}
		})
	}
}

// hasStopped reports whether all threads of a process have stopped.
func hasStopped(t *testing.T, pid int) bool {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, state, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// TestBusyWorker: a worker that answers slowly is waited for. One that does not answer is named as
// silent, and told to leave once it can hear that again.
func TestBusyWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.clientOf(server.AdminTicket)
	cmd := workerIn(t, r)
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	defer func() { _ = cmd.Process.Kill(); <-ended }()
	var name string
	eventually(t, "the worker is there", func() bool {
		s, err := c.Status(t.Context())
		if err == nil && len(s.Workers) == 1 {
			name = s.Workers[0].Name
		}
		return name != ""
	})
	signal := func(s os.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	// stopped asks while the worker is stopped, either for a second or all the time.
	stopped := func(all bool, ask func(context.Context) error) {
		var second <-chan time.Time
		done := make(chan error)
		signal(syscall.SIGSTOP)
		eventually(t, "it has stopped", func() bool { return hasStopped(t, cmd.Process.Pid) })
		if !all {
			second = time.After(time.Second)
		}
		go func() { done <- ask(t.Context()) }()
		var err error
		select {
		case err = <-done:
			if !all {
				<-second
			}
			signal(syscall.SIGCONT)
		case <-second:
			signal(syscall.SIGCONT)
			err = <-done
		}
		if err != nil {
			t.Error(err)
		}
	}
	var s cluster.Status
	status := func(ctx context.Context) (err error) { s, err = c.Status(ctx); return err }
	eventually(t, "a slow answer is waited for", func() bool {
		stopped(false, status)
		return len(s.Workers) == 1 && s.Workers[0].Name == name && len(s.Silent) == 0
	})
	eventually(t, "who does not answer is named", func() bool {
		stopped(true, status)
		return len(s.Workers) == 0 && slices.Equal(s.Silent, []string{name})
	})
	stopped(false, func(ctx context.Context) error { return c.Drain(ctx, name, time.Second) })
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("it is still there")
	}
}
