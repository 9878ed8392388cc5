//go:build cuda && cgo && linux && (amd64 || arm64)

package driver

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
	"github.com/pippin-zk/pippin/internal/cuda/driver/internal/loader"
)

// The tests in this file run on any driver: the fake, or a GPU's.
var (
	needDevice = flag.Bool("need-device", false, "fail where there is no device, instead of skipping")
	fatbin     = flag.String("fatbin", "", "testdata/kernels.cu, compiled for the GPU (not needed on the fake driver)")
	foreign    = flag.String("foreign", "", "a cubin for another compute capability than the GPU's")
	hostMemory = flag.Int("host-memory", 8<<20, "bytes to register and copy")
)

// open returns device 0. At the end of the test nothing may be left on it.
func open(t *testing.T) *Device {
	t.Helper()
	if _, err := Devices(); err != nil {
		if errors.Is(err, backend.ErrUnavailable) && !*needDevice {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	d, err := Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if live := d.Live(); live != (Live{}) {
			t.Errorf("left on the device: %+v", live)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if !fakecuda.Present() {
			return
		}
		for _, name := range []string{"memory", "allocations", "pinned", "registered", "streams", "events", "modules",
			"contexts", "pageable", "overruns", "unwiped", "abandoned", "spun"} {
			if n := fakecuda.Counter(name); n != 0 {
				t.Errorf("the fake driver counts %d %s", n, name)
			}
		}
		fakecuda.Reset()
	})
	return d
}

// try ends the test on an error.
func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got does what try does, for a call with a result.
func got[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		try(t, err)
		return v
	}
}

func stream(t *testing.T, d *Device) *Stream {
	t.Helper()
	s := got(d.NewStream())(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func alloc(t *testing.T, d *Device, size int64) *Memory {
	t.Helper()
	m := got(d.Alloc(size))(t)
	t.Cleanup(func() {
		if err := m.Free(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

func kernels(t *testing.T, d *Device) *Module {
	t.Helper()
	image := []byte("any image")
	if !fakecuda.Present() {
		if *fatbin == "" {
			t.Skip("a GPU needs -fatbin")
		}
		image = got(os.ReadFile(*fatbin))(t)
	}
	m := got(d.LoadModule(image))(t)
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestDevices(t *testing.T) {
	d := open(t)
	all := got(Devices())(t)
	if len(all) == 0 || all[0] != d.Info() {
		t.Fatalf("%+v and %+v", all, d.Info())
	}
	i := d.Info()
	t.Logf("%+v", i)
	t.Log("functions of CUDA that this driver lacks: ", loader.Missing())
	if i.Name == "" || i.Memory < 1<<28 || i.Compute.Major < 5 || i.Driver < 11000 || i.Multiprocessors < 1 ||
		i.SharedPerBlock < 48<<10 || i.RegistersPerMultiprocessor < 1<<15 || !strings.HasPrefix(i.UUID, "GPU-") || len(i.UUID) != 40 {
		t.Errorf("implausible: %+v", i)
	}
	if v, err := d.Attribute(AttrMultiprocessors); err != nil || v != i.Multiprocessors {
		t.Errorf("%d multiprocessors, %v", v, err)
	}
	free, total, err := d.MemInfo()
	if err != nil || total <= 0 || free <= 0 || free > total {
		t.Errorf("%d free of %d, %v", free, total, err)
	}
	if _, err := Open(len(all)); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("a device too many: %v", err)
	}
	if _, err := Open(-1); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("device -1: %v", err)
	}
	if err := InitLibrary("libother.so"); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("a library chosen too late: %v", err)
	}
}

// What Write puts on the device comes back by Read, for sizes around the
// staging memory's, and neither touches its neighbours.
func TestReadWrite(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	for _, size := range []int{1, 3, 4096, stageSize - 1, stageSize, stageSize + 1, 2 * stageSize, 5*stageSize + 7} {
		m := alloc(t, d, int64(size)+2)
		try(t, s.Fill(m.Span(), 0x5a))
		data := random(size)
		inner := m.Span().Slice(1, int64(size))
		try(t, s.Write(inner, data))
		back := make([]byte, size+2)
		try(t, s.Read(back, m.Span()))
		if !bytes.Equal(back[1:size+1], data) || back[0] != 0x5a || back[size+1] != 0x5a {
			t.Fatalf("%d bytes come back changed", size)
		}
		copied := alloc(t, d, int64(size))
		try(t, s.Copy(copied.Span(), inner))
		back = make([]byte, size)
		try(t, s.Read(back, copied.Span()))
		if !bytes.Equal(back, data) {
			t.Fatalf("%d bytes change on the device", size)
		}
	}
	m := alloc(t, d, 16)
	try(t, s.Write(m.Span().Slice(3, 0), nil))
	try(t, s.Read(nil, m.Span().Slice(3, 0)))
	try(t, s.Fill(Span{}, 1))
	try(t, s.Upload(Span{}, HostSpan{}))
	for name, err := range map[string]error{
		"long write":      s.Write(m.Span(), make([]byte, 17)),
		"short read":      s.Read(make([]byte, 15), m.Span()),
		"write outside":   s.Write(m.Span().Slice(16, 1), make([]byte, 1)),
		"read outside":    s.Read(nil, m.Span().Slice(17, 0)),
		"copy of sizes":   s.Copy(m.Span(), m.Span().Slice(0, 8)),
		"fill outside":    s.Fill(m.Span().Slice(8, 9), 0),
		"upload of sizes": s.Upload(m.Span(), HostSpan{}),
	} {
		if !errors.Is(err, backend.ErrInternal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPinned(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	const size = 3 << 20
	h := got(d.AllocHost(size))(t)
	b := h.Bytes()
	if len(b) != size || !zero(b) {
		t.Fatalf("%d bytes of pinned memory, zero: %v", len(b), zero(b))
	}
	m := alloc(t, d, size)
	data := random(size)
	copy(b, data)
	try(t, s.Upload(m.Span(), h.Span()))
	try(t, s.Synchronize())
	h.Wipe()
	if !zero(b) {
		t.Error("not wiped")
	}
	try(t, s.Download(h.Span().Slice(0, 1000), m.Span().Slice(5, 1000)))
	try(t, s.Synchronize())
	if !bytes.Equal(b[:1000], data[5:1005]) || !zero(b[1000:]) {
		t.Error("download of a part is wrong")
	}
	found, ok := d.FindHost(b[7:99])
	if !ok || found.Size() != 92 || &found.Bytes()[0] != &b[7] {
		t.Error("a slice of pinned memory is not found")
	}
	if _, ok := d.FindHost(data); ok {
		t.Error("the heap is found to be pinned")
	}
	// Read and Write of pinned memory need no stage.
	try(t, s.Read(b, m.Span()))
	if !bytes.Equal(b, data) {
		t.Error("read into pinned memory is wrong")
	}
	if live := d.Live(); live.Pinned != size || live.Memory != size || live.Allocations != 2 {
		t.Errorf("%+v", live)
	}
	if err := s.Upload(m.Span(), h.Span().Slice(1, size)); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("slice outside pinned memory: %v", err)
	}
	span := h.Span()
	try(t, h.Free())
	try(t, h.Free())
	if err := s.Upload(m.Span(), span); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("upload of freed memory: %v", err)
	}
}

// Small copies and waits.
func TestSmallCopies(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	const size, rounds = 32 << 10, 200
	h := got(d.AllocHost(2 * size))(t)
	m := alloc(t, d, size)
	e := got(d.NewEvent(false))(t)
	copy(h.Bytes(), random(size))
	up, down := h.Span().Slice(0, size), h.Span().Slice(size, size)
	start := time.Now()
	for range rounds {
		try(t, s.Upload(m.Span(), up))
		try(t, s.Synchronize())
	}
	t.Logf("upload of 32 KiB and wait: %v", time.Since(start)/rounds)
	start = time.Now()
	for range rounds {
		try(t, s.Download(down, m.Span()))
		try(t, s.Record(e))
		try(t, e.Synchronize())
	}
	t.Logf("download of 32 KiB and wait for an event: %v", time.Since(start)/rounds)
	if !bytes.Equal(up.Bytes(), down.Bytes()) {
		t.Error("wrong bytes")
	}
	try(t, errors.Join(e.Close(), h.Free()))
}

func zero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

func TestRegistered(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	size := *hostMemory
	b := sharedMemory(t, size, unix.PROT_READ|unix.PROT_WRITE)
	data := random(1 << 20)
	for at := 0; at < size; at += copy(b[at:], data) {
	}
	start := time.Now()
	h := got(d.RegisterHost(b, false))(t)
	t.Logf("%d MiB registered in %v", size>>20, time.Since(start))
	m := alloc(t, d, int64(size))
	from, to := got(d.NewEvent(true))(t), got(d.NewEvent(true))(t)
	for range 2 {
		try(t, s.Record(from))
		try(t, s.Upload(m.Span(), h.Span()))
		try(t, s.Record(to))
		try(t, to.Synchronize())
		took := got(to.Elapsed(from))(t)
		t.Logf("upload %v, %.1f GB/s", took, float64(size)/took.Seconds()/1e9)
	}
	clear(b)
	try(t, s.Record(from))
	try(t, s.Download(h.Span(), m.Span()))
	try(t, s.Record(to))
	try(t, to.Synchronize())
	took := got(to.Elapsed(from))(t)
	t.Logf("download %v, %.1f GB/s", took, float64(size)/took.Seconds()/1e9)
	try(t, errors.Join(from.Close(), to.Close()))
	for at := 0; at < size; at += len(data) {
		if n := min(len(data), size-at); !bytes.Equal(b[at:at+n], data[:n]) {
			t.Fatalf("wrong bytes from %d on", at)
		}
	}
	start = time.Now()
	try(t, s.Write(m.Span(), make([]byte, size)))
	t.Logf("staged write %.1f GB/s", float64(size)/time.Since(start).Seconds()/1e9)
	if live := d.Live(); live.Registered != int64(size) {
		t.Errorf("%+v", live)
	}
	if _, err := d.RegisterHost(b, false); err == nil {
		t.Error("registered twice")
	}
	try(t, h.Free())

	for name, b := range map[string][]byte{"heap": make([]byte, 1<<20), "nothing": nil} {
		if _, err := d.RegisterHost(b, false); !errors.Is(err, backend.ErrInternal) {
			t.Errorf("registering %s: %v", name, err)
		}
	}
}

func TestRegisteredReadOnly(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	b := sharedMemory(t, 1<<20, unix.PROT_READ)
	h, err := d.RegisterHost(b, true)
	if !d.Info().RegisterReadOnly {
		if !errors.Is(err, backend.ErrUnsupported) {
			t.Errorf("%v, want ErrUnsupported", err)
		}
		return
	}
	try(t, err)
	m := alloc(t, d, 1<<20)
	try(t, s.Fill(m.Span(), 1))
	try(t, s.Upload(m.Span(), h.Span()))
	back := make([]byte, 1<<20)
	try(t, s.Read(back, m.Span()))
	if !zero(back) {
		t.Error("wrong bytes")
	}
	h.Wipe() // must leave the mapping alone
	if err := s.Download(h.Span(), m.Span()); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("download to read-only memory: %v", err)
	}
	try(t, h.Free())
}

func TestEvents(t *testing.T) {
	d := open(t)
	a, b := stream(t, d), stream(t, d)
	const size = 4 << 20
	m := alloc(t, d, size)
	timed, plain, last := got(d.NewEvent(true))(t), got(d.NewEvent(false))(t), got(d.NewEvent(true))(t)
	try(t, a.Record(timed))
	try(t, a.Fill(m.Span(), 3))
	try(t, a.Record(plain))
	try(t, b.Wait(plain))
	back := make([]byte, size)
	try(t, b.Read(back, m.Span()))
	if len(bytes.TrimLeft(back, "\x03")) != 0 {
		t.Error("one stream did not wait for the other")
	}
	try(t, a.Record(last))
	try(t, last.Synchronize())
	if took := got(last.Elapsed(timed))(t); took < 0 || took > time.Minute {
		t.Errorf("elapsed %v", took)
	}
	if done, err := last.Done(); !done || err != nil {
		t.Errorf("done %v, %v", done, err)
	}
	if done, err := a.Done(); !done || err != nil {
		t.Errorf("stream done %v, %v", done, err)
	}
	if _, err := plain.Elapsed(timed); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("time of an event without timing: %v", err)
	}
	try(t, errors.Join(timed.Close(), plain.Close(), last.Close(), last.Close()))
	if err := a.Record(last); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed event: %v", err)
	}
}

func TestOutOfMemory(t *testing.T) {
	d := open(t)
	free, total, err := d.MemInfo()
	try(t, err)
	_, err = d.Alloc(free + 1<<20)
	var m *MemoryError
	if !errors.As(err, &m) || !errors.Is(err, backend.ErrOutOfMemory) {
		t.Fatalf("%v, want a MemoryError", err)
	}
	t.Log(err)
	if m.Asked != free+1<<20 || m.Total != total || m.Free <= 0 || m.Free > free {
		t.Errorf("%+v", m)
	}
	alloc(t, d, 1<<20) // the device stays usable
	if d.Err() != nil {
		t.Error(d.Err())
	}
}

func TestLaunch(t *testing.T) {
	d := open(t)
	mod := kernels(t, d)
	s := stream(t, d)
	const n = 100_003
	a, b := random(8*n), random(8*n)
	da, db, dout := alloc(t, d, 8*n), alloc(t, d, 8*n), alloc(t, d, 8*n)
	try(t, errors.Join(s.Write(da.Span(), a), s.Write(db.Span(), b), s.Fill(dout.Span(), 0)))
	add := got(mod.Function("test_add"))(t)
	threads, blocks, err := add.BestBlock(0)
	try(t, err)
	try(t, add.Launch(s, Launch{Grid: Dim{X: blocks}, Block: Dim{X: threads}},
		dout.Span().Param(), da.Span().Param(), db.Span().Param(), Value(n)))
	out := make([]byte, 8*n)
	try(t, s.Read(out, dout.Span()))
	for i := range n {
		at := 8 * i
		want := binary.LittleEndian.Uint64(a[at:]) + binary.LittleEndian.Uint64(b[at:])
		if binary.LittleEndian.Uint64(out[at:]) != want {
			t.Fatalf("number %d is wrong", i)
		}
	}

	// The same as a cooperative launch, and as one that may begin early.
	for _, l := range []Launch{{Cooperative: d.Info().Cooperative}, {Overlap: true}} {
		l.Grid, l.Block = Dim{X: 2}, Dim{X: 64}
		try(t, s.Fill(dout.Span(), 0))
		try(t, add.Launch(s, l, dout.Span().Param(), da.Span().Param(), db.Span().Param(), Value(n)))
		again := make([]byte, 8*n)
		try(t, s.Read(again, dout.Span()))
		if !bytes.Equal(again, out) {
			t.Errorf("%+v gives another answer", l)
		}
	}

	// Signed and floating-point parameters.
	poke := got(mod.Function("test_poke"))(t)
	try(t, poke.Launch(s, Launch{}, dout.Span().Slice(8, 8).Param(), Value(-5), Float(2.5)))
	try(t, s.Read(out[:16], dout.Span().Slice(0, 16)))
	if v := int64(binary.LittleEndian.Uint64(out[8:])); v != -3 {
		t.Errorf("poked %d, want -3", v)
	}

	start := time.Now()
	const launches = 1000
	for range launches {
		try(t, poke.Launch(s, Launch{}, dout.Span().Param(), Value(1), Float(0)))
	}
	try(t, s.Synchronize())
	t.Logf("%v a launch", time.Since(start)/launches)

	at, err := add.Attributes()
	try(t, err)
	t.Logf("%+v", at)
	if at.Registers < 1 || at.MaxThreads < 32 || at.MaxDynamicShared < 1 || at.Binary < 50 {
		t.Errorf("implausible: %+v", at)
	}
	if n, err := add.Occupancy(256, 0); err != nil || n < 1 {
		t.Errorf("occupancy %d, %v", n, err)
	}

	for name, err := range map[string]error{
		"too few":    add.Launch(s, Launch{}, dout.Span().Param()),
		"none":       add.Launch(s, Launch{}),
		"too many":   poke.Launch(s, Launch{}, 0, 0, 0, 0),
		"long block": poke.Launch(s, Launch{Block: Dim{X: 1025}}, 0, 0, 0),
	} {
		if !errors.Is(err, backend.ErrInternal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := poke.Launch(s, Launch{Block: Dim{X: 1024, Y: 2}}, dout.Span().Param(), 0, 0); !errors.Is(err, backend.ErrUnsupported) {
		t.Errorf("a block of 2048 threads: %v", err)
	}
	if _, err := mod.Function("test_absent"); !errors.Is(err, backend.ErrUnsupported) || !strings.Contains(err.Error(), "test_absent") {
		t.Errorf("a kernel that does not exist: %v", err)
	}
	if !fakecuda.Present() {
		if _, err := mod.Function("test_narrow"); !errors.Is(err, backend.ErrUnsupported) || !strings.Contains(err.Error(), "4 bytes") {
			t.Errorf("a kernel with a 32-bit parameter: %v", err)
		}
	}
	if d.Err() != nil {
		t.Error(d.Err())
	}
}

// More than 48 KiB of dynamic shared memory must be asked for first.
func TestSharedMemory(t *testing.T) {
	d := open(t)
	mod := kernels(t, d)
	s := stream(t, d)
	out := alloc(t, d, 8)
	f := got(mod.Function("test_shared"))(t)
	const n = 12_000 // 96 kB
	launch := func() error {
		return f.Launch(s, Launch{Block: Dim{X: 128}, Shared: 8 * n}, out.Span().Param(), Value(n))
	}
	if err := launch(); err == nil {
		t.Fatal("too much shared memory was accepted")
	} else if errors.Is(err, backend.ErrGone) {
		t.Fatal(err)
	}
	try(t, f.SetMaxDynamicShared(8*n))
	try(t, f.SetSharedCarveout(100))
	try(t, launch())
	b := make([]byte, 8)
	try(t, s.Read(b, out.Span()))
	if v := binary.LittleEndian.Uint64(b); v != n*(n-1)/2 {
		t.Errorf("sum %d", v)
	}
	at, err := f.Attributes()
	if err != nil || at.MaxDynamicShared != 8*n {
		t.Errorf("%+v, %v", at, err)
	}
	if err := f.SetMaxDynamicShared(1 << 30); err == nil {
		t.Error("a GiB of shared memory was accepted")
	}
}

// Many goroutines use one device, each with its own stream.
func TestConcurrent(t *testing.T) {
	d := open(t)
	m := alloc(t, d, 1<<20)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			s, err := d.NewStream()
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			part := m.Span().Slice(int64(g)<<17, 1<<17)
			for range 20 {
				data, back := random(1<<17), make([]byte, 1<<17)
				if err := errors.Join(s.Write(part, data), s.Read(back, part)); err != nil {
					t.Error(err)
					return
				}
				if !bytes.Equal(data, back) {
					t.Error("wrong bytes")
					return
				}
			}
		})
	}
	wg.Wait()
}

// Close waits for the calls in flight; later ones fail.
func TestCloseWhileWriting(t *testing.T) {
	d := open(t)
	m, s := got(d.Alloc(3*stageSize))(t), got(d.NewStream())(t)
	data := random(3 * stageSize)
	started, ended := make(chan struct{}), make(chan error)
	go func() {
		var once sync.Once
		for {
			if err := s.Write(m.Span(), data); err != nil {
				once.Do(func() { close(started) })
				ended <- err
				return
			}
			once.Do(func() { close(started) })
		}
	}()
	<-started
	try(t, d.Close())
	if err := <-ended; !errors.Is(err, backend.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
	try(t, errors.Join(m.Free(), s.Close()))
	if fakecuda.Present() {
		if n := fakecuda.Counter("abandoned"); n != 2 {
			t.Errorf("%d objects went with the context, want the memory and the stream", n)
		}
		fakecuda.Reset()
	}
}

func TestNoImage(t *testing.T) {
	d := open(t)
	if fakecuda.Present() {
		try(t, fakecuda.Fail("cuModuleLoadData@1=209"))
		checkNoImage(t, d, []byte("any image"))
		return
	}
	checkNoImage(t, d, []byte(".version 99.0\n.target sm_90\n.address_size 64\n"))
	if *foreign != "" {
		checkNoImage(t, d, got(os.ReadFile(*foreign))(t))
	}
}

func checkNoImage(t *testing.T, d *Device, image []byte) {
	t.Helper()
	_, err := d.LoadModule(image)
	if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "install driver") {
		t.Errorf("%v, want ErrUnavailable and what to do", err)
	}
	t.Log(err)
	if d.Err() != nil {
		t.Error(d.Err())
	}
}

// illegalChild marks the process that TestIllegalAddress starts: a GPU's
// driver serves nothing else afterwards.
const illegalChild = "DRIVER_TEST_ILLEGAL_CHILD"

func TestIllegalAddress(t *testing.T) {
	if _, err := Devices(); err == nil && !fakecuda.Present() && os.Getenv(illegalChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestIllegalAddress$", "-test.v", "-need-device", "-fatbin="+*fatbin)
		cmd.Env = append(os.Environ(), illegalChild+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		try(t, err)
		if bytes.Contains(out, []byte("--- SKIP")) {
			t.Skip("a GPU needs -fatbin")
		}
		return
	}
	d := open(t)
	mod := kernels(t, d)
	s := stream(t, d)
	m := alloc(t, d, 64)
	h := got(d.AllocHost(64))(t)
	poke := got(mod.Function("test_poke"))(t)
	copy(h.Bytes(), "secret")
	b := h.Bytes()

	at := m.Span().Param()
	if fakecuda.Present() {
		try(t, fakecuda.Fail("cuStreamSynchronize@1=700"))
	} else {
		at = 8 // no memory is there
	}
	try(t, poke.Launch(s, Launch{}, at, 0, 0))
	err := s.Synchronize()
	var e *Error
	if !errors.Is(err, backend.ErrGone) || !errors.As(err, &e) || e.Result != IllegalAddress ||
		e.Call != "cuStreamSynchronize" || e.Text == "" {
		t.Fatalf("illegal address: %v", err)
	}
	t.Log(err)
	select {
	case <-d.Lost():
	default:
		t.Error("the device is not lost")
	}
	_, allocErr := d.Alloc(64)
	_, _, infoErr := d.MemInfo()
	for name, err := range map[string]error{
		"Alloc": allocErr, "MemInfo": infoErr, "Write": s.Write(m.Span(), make([]byte, 64)),
		"Launch": poke.Launch(s, Launch{}, at, 0, 0), "Synchronize": s.Synchronize(), "Err": d.Err(),
	} {
		if !errors.Is(err, backend.ErrGone) || !errors.As(err, &e) || e.Call != "cuStreamSynchronize" {
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
	if fakecuda.Present() {
		if n := fakecuda.Calls("cuStreamSynchronize"); n != 1 {
			t.Errorf("the driver was asked %d times", n)
		}
		// Let the rest be given back to the fake for its leak counters, which
		// a process that ends need not do.
		revive(d)
	}
	try(t, h.Free())
	if !fakecuda.Present() && !zero(b) {
		t.Error("pinned memory was not wiped")
	}
}
