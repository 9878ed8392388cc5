package serve

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/plugin"
	"github.com/pippin-zk/pippin/plugin/internal/fake"
	"github.com/pippin-zk/pippin/plugin/internal/plugintest"
	"github.com/pippin-zk/pippin/plugin/internal/proto"
	"github.com/pippin-zk/pippin/plugin/internal/shm"
	"github.com/pippin-zk/pippin/plugin/internal/wire"
)

// Requests to a file system that is a process (linux/fuse.h).
const (
	fuseLookup  = 1
	fuseForget  = 2
	fuseGetattr = 3
	fuseOpen    = 14
	fuseRead    = 15
	fuseStatfs  = 17
	fuseRelease = 18
	fuseFlush   = 25
	fuseInit    = 26
)

// hangingEnv makes the test binary a file system. Its value is the size of the file in bytes.
const hangingEnv = "PIPPIN_TEST_HANGING"

// hanging is a file system with one file, "key". The file can be opened and looked at, but neither
// read nor asked what it is. It is another process, because a process that waits for a file system
// which it serves itself cannot even be killed.
type hanging struct {
	mu    sync.Mutex
	asked map[uint32][]uint32 // what each thread asked
}

// mountHanging mounts a hanging file system until the test ends.
func mountHanging(t *testing.T, size int) (h *hanging, file string) {
	t.Helper()
	device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no file systems that are processes: ", err)
	}
	dir := t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", device.Fd(), os.Getuid(), os.Getgid())
	if err := unix.Mount("hanging", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		device.Close()
		t.Skip("mounting one: ", err)
	}
	h = &hanging{asked: map[uint32][]uint32{}}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), hangingEnv+"="+strconv.Itoa(size))
	cmd.ExtraFiles = []*os.File{device}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	device.Close()
	if err != nil {
		_ = unix.Unmount(dir, unix.MNT_DETACH)
		t.Fatal(err)
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var thread, what uint32
			if _, err := fmt.Sscan(lines.Text(), &thread, &what); err == nil {
				h.mu.Lock()
				h.asked[thread] = append(h.asked[thread], what)
				h.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // this also ends what hangs
		<-heard
		_ = cmd.Wait()
		_ = unix.Unmount(dir, unix.MNT_DETACH)
	})
	return h, filepath.Join(dir, "key")
}

// serveHanging answers requests for a while, whatever becomes of the test, and reports them.
func serveHanging(size uint64) {
	time.AfterFunc(time.Minute, func() { os.Exit(1) })
	const device = 3
	b := make([]byte, 1<<17)
	for {
		_, err := unix.Read(device, b)
		switch {
		case err == nil:
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT):
			continue
		default:
			return
		}
		what, thread := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[32:])
		fmt.Println(thread, what)
		if what == fuseForget || what == fuseRead || what == fuseStatfs {
			continue
		}
		answer, status := answerHanging(what, binary.LittleEndian.Uint64(b[16:]), size)
		head := binary.LittleEndian.AppendUint32(nil, uint32(16+len(answer)))
		head = binary.LittleEndian.AppendUint32(head, uint32(-int32(status)))
		head = append(head, b[8:16]...)
		_, _ = unix.Write(device, append(head, answer...))
	}
}

// answerHanging returns the answer about a node, 1 the folder and 2 the file.
func answerHanging(what uint32, node, bytes uint64) (answer []byte, status unix.Errno) {
	words := func(w ...uint32) (b []byte) {
		for _, v := range w {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	attributes := func(node uint64) []byte {
		mode, size := uint32(unix.S_IFDIR|0o755), uint64(0)
		if node == 2 {
			mode, size = unix.S_IFREG|0o644, bytes
		}
		b := binary.LittleEndian.AppendUint64(nil, node)
		b = binary.LittleEndian.AppendUint64(b, size)
		b = append(b, make([]byte, 4*8+3*4)...) // blocks, times
		return append(b, words(mode, 1, 0, 0, 0, 4096, 0)...)
	}
	switch what {
	case fuseInit:
		return append(words(7, 31, 0, 0, 16|12<<16, 1<<16, 1, 0), make([]byte, 64-32)...), 0
	case fuseLookup:
		return append(append(words(2, 0, 0, 0), make([]byte, 6*4)...), attributes(2)...), 0
	case fuseGetattr:
		return append(make([]byte, 16), attributes(node)...), 0
	case fuseOpen:
		return words(1, 0, 0, 0), 0
	case fuseFlush, fuseRelease:
		return nil, 0
	}
	return nil, unix.ENOSYS
}

// by returns what this process asked, or what others asked.
func (h *hanging) by(others bool) (asked []uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for thread, all := range h.asked {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		for _, what := range all {
			if (err != nil) == others && what != fuseInit {
				asked = append(asked, what)
			}
		}
	}
	return asked
}

// TestFileElsewhere: a file on a file system that may not answer is not read through its
// descriptor. The host is asked for the points instead.
func TestFileElsewhere(t *testing.T) {
	on := &fake.Backend{}
	h := serveByHand(t, on, on)
	if _, err := h.Open(ctx, &proto.OpenRequest{}); err != nil {
		t.Fatal(err)
	}
	const n = 10
	f := plugintest.NewBN(n).File(t)
	for id, kind := range []string{"ext4", "fuse"} {
		plugintest.On(t, f, kind)
		if err := h.channel.Send(shm.Message{Kind: shm.KindFile, ID: uint64(id)}, f); err != nil {
			t.Fatal(err)
		}
		s, err := h.LoadBases(ctx)
		if err == nil {
			header := &proto.LoadHeader{Curve: 1, Group: 1, Count: n, File: &proto.FileSource{Id: uint64(id)}}
			err = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Header{Header: header}})
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Recv()
		if err != nil || (m.GetWanted() != nil) != (kind == "fuse") || on.Files.Load() != 1 {
			t.Errorf("%s: %v, %v, %d read", kind, m, err, on.Files.Load())
		}
		_ = s.CloseSend()
	}
}

// TestFileThatHangs: a file that cannot be read costs its host a call, which ends in time. It costs
// the daemon nothing: it answers, dies when it is killed, and the next one serves.
func TestFileThatHangs(t *testing.T) {
	const n = 1000
	h, path := mountHanging(t, 64*n)
	socket := filepath.Join(t.TempDir(), "d.sock")
	open := func() (c *plugin.Client) {
		plugintest.Eventually(t, time.Minute, "a daemon serves", func() (ok bool) {
			var err error
			c, err = plugin.Open(ctx, plugin.Spec{Name: "daemon", Socket: socket})
			return err == nil
		})
		t.Cleanup(func() { c.Close() })
		return c
	}
	d := daemonProcess(t, wire.Daemon{Socket: socket}, "")
	c := open()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	limited, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = c.LoadBases(limited, backend.Bases{Curve: backend.BN254, Group: backend.G1, Count: n, File: f})
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 5*time.Second {
		t.Errorf("a load with a limit of 0.3 s: %v after %v", err, took)
	}
	plugintest.Check(t, c, 100)

	if asked := h.by(true); len(asked) > 0 {
		t.Errorf("the daemon asked the file system %v: it has the descriptor", asked)
	}
	if asked := h.by(false); !slices.Contains(asked, fuseRead) || slices.Contains(asked, fuseStatfs) {
		t.Errorf("the host asked %v", asked)
	}

	// A host that sends the descriptor all the same is asked for the points.
	by := dialByHand(t, socket)
	if err := by.channel.Send(shm.Message{Kind: shm.KindFile, ID: 1}, f); err != nil {
		t.Fatal(err)
	}
	soon, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	s, err := by.LoadBases(soon)
	if err == nil {
		err = s.Send(&proto.LoadRequest{Step: &proto.LoadRequest_Header{Header: &proto.LoadHeader{Curve: 1, Group: 1, Count: n,
			File: &proto.FileSource{Id: 1}}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.Recv(); err != nil || m.GetWanted() == nil {
		t.Errorf("%v, %v", m, err)
	}
	plugintest.Check(t, c, 100)
	for _, what := range h.by(true) {
		if what != fuseFlush && what != fuseRelease { // it closes the file
			t.Errorf("the daemon asked the file system %v", what)
		}
	}

	began = time.Now()
	if err := d.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = d.Wait()
	if took := time.Since(began); took > time.Second {
		t.Errorf("the daemon was gone %v after SIGKILL", took)
	}
	daemonProcess(t, wire.Daemon{Socket: socket}, "")
	c = open()
	t.Logf("another daemon %v after SIGKILL", time.Since(began))
	plugintest.Check(t, c, 100)
}
