//go:build cuda && cgo && linux && (amd64 || arm64)

package driver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver/fakecuda"
)

// The tests in this file need the fake driver: they make its calls fail.
// scripts/test-cuda-fake runs them.
func openFake(t *testing.T) *Device {
	t.Helper()
	d := open(t)
	if !fakecuda.Present() {
		t.Skip("needs the fake driver: scripts/test-cuda-fake")
	}
	return d
}

// revive undoes the loss of a device, which only the fake can.
func revive(d *Device) {
	fakecuda.Reset()
	d.lostErr.Store(nil)
	d.lostOnce, d.lost = sync.Once{}, make(chan struct{})
}

// Every call that a method makes may fail: the error names it and wraps what
// the result means, and what the method took before is given back.
func TestEveryCallFails(t *testing.T) {
	d := openFake(t)
	s := stream(t, d)
	mod := kernels(t, d)
	add := got(mod.Function("test_add"))(t)
	m := alloc(t, d, 4096)
	h := got(d.AllocHost(4096))(t)
	defer h.Free()
	ev, ev2 := got(d.NewEvent(true))(t), got(d.NewEvent(true))(t)
	defer ev.Close()
	defer ev2.Close()
	try(t, errors.Join(s.Record(ev), s.Record(ev2)))
	shared := sharedMemory(t, 4096, 3)
	other := got(Open(1))(t)
	t.Cleanup(func() { try(t, other.Close()) })
	elsewhere := alloc(t, other, 4096)

	results := map[Result]error{
		InvalidValue: backend.ErrUnsupported, OutOfMemory: backend.ErrOutOfMemory,
		NoBinaryForGPU: backend.ErrUnavailable, LaunchFailed: backend.ErrGone, ECCUncorrectable: backend.ErrGone,
	}
	drop := func(c interface{ Close() error }, err error) error {
		if err == nil {
			return errors.Join(errors.New("succeeded"), c.Close())
		}
		return err
	}
	for call, do := range map[string]func() error{
		"cuMemAlloc":                 func() error { _, err := d.Alloc(8); return err },
		"cuMemHostAlloc":             func() error { _, err := d.AllocHost(8); return err },
		"cuMemHostRegister":          func() error { _, err := d.RegisterHost(shared, false); return err },
		"cuMemGetInfo":               func() error { _, _, err := d.MemInfo(); return err },
		"cuCtxSynchronize":           d.Synchronize,
		"cuDeviceGetAttribute":       func() error { _, err := d.Attribute(AttrL2); return err },
		"cuStreamCreate":             func() error { return drop(d.NewStream()) },
		"cuStreamCreateWithPriority": func() error { return drop(d.NewUrgentStream()) },
		"cuStreamSynchronize":        s.Synchronize,
		"cuStreamQuery":              func() error { _, err := s.Done(); return err },
		"cuStreamWaitEvent":          func() error { return s.Wait(ev) },
		"cuEventCreate":              func() error { return drop(d.NewEvent(false)) },
		"cuEventRecord":              func() error { return s.Record(ev) },
		"cuEventSynchronize":         ev.Synchronize,
		"cuEventQuery":               func() error { _, err := ev.Done(); return err },
		"cuEventElapsedTime":         func() error { _, err := ev2.Elapsed(ev); return err },
		"cuMemcpyHtoDAsync":          func() error { return s.Upload(m.Span(), h.Span()) },
		"cuMemcpyDtoHAsync":          func() error { return s.Download(h.Span(), m.Span()) },
		"cuMemcpyDtoDAsync":          func() error { return s.Copy(m.Span().Slice(0, 8), m.Span().Slice(8, 8)) },
		"cuMemcpyPeerAsync":          func() error { return s.CopyFrom(m.Span(), elsewhere.Span()) },
		"cuMemsetD8Async":            func() error { return s.Fill(m.Span(), 0) },
		"cuModuleLoadData":           func() error { return drop(d.LoadModule([]byte("image"))) },
		"cuModuleGetFunction":        func() error { _, err := mod.Function("test_add"); return err },
		"cuFuncGetAttribute":         func() error { _, err := add.Attributes(); return err },
		"cuFuncSetAttribute":         func() error { return add.SetMaxDynamicShared(1) },
		"cuLaunchKernel":             func() error { return add.Launch(s, Launch{}, 0, 0, 0, 0) },
		"cuLaunchCooperativeKernel": func() error {
			return add.Launch(s, Launch{Cooperative: true}, 0, 0, 0, 0)
		},
		"cuLaunchKernelEx": func() error { return add.Launch(s, Launch{Overlap: true}, 0, 0, 0, 0) },
		"cuOccupancyMaxActiveBlocksPerMultiprocessor": func() error { _, err := add.Occupancy(32, 0); return err },
		"cuOccupancyMaxPotentialBlockSize":            func() error { _, _, err := add.BestBlock(0); return err },
	} {
		for result, kind := range results {
			fakecuda.Reset()
			before := d.Live()
			try(t, fakecuda.Fail(fmt.Sprintf("%s@1=%d", call, result)))
			err := do()
			var e *Error
			if !errors.Is(err, kind) || !errors.As(err, &e) || e.Call != call || e.Result != result {
				t.Errorf("%s fails with %v: %v", call, result, err)
			}
			if (d.Err() != nil) != result.Sticky() {
				t.Errorf("%s fails with %v: the device's error is %v", call, result, d.Err())
			}
			revive(d)
			if after := d.Live(); after != before {
				t.Errorf("%s fails with %v: left %+v, before %+v", call, result, after, before)
			}
		}
	}
	fakecuda.Reset()
}

// A Write or Read that fails half way gives its stage back, wiped, and the
// next one works.
func TestStagingFails(t *testing.T) {
	d := openFake(t)
	s := stream(t, d)
	const size = 5 * stageSize
	m := alloc(t, d, size)
	data := random(size)
	for _, rule := range []string{"cuMemHostAlloc@1=2", "cuEventCreate@1=1", "cuEventCreate@2=1"} {
		fakecuda.Reset()
		try(t, fakecuda.Fail(rule))
		if err := s.Write(m.Span(), data); err == nil || d.stage.all != 0 {
			t.Errorf("%s: %v, and %d stages", rule, err, d.stage.all)
		}
	}
	for _, rule := range []string{
		"cuMemcpyHtoDAsync@1=1", "cuMemcpyHtoDAsync@4=1", "cuEventRecord@3=1", "cuEventSynchronize@2=1",
		"cuStreamSynchronize@1=1", "cuStreamSynchronize@1=2",
	} {
		fakecuda.Reset()
		try(t, fakecuda.Fail(rule))
		if err := s.Write(m.Span(), data); err == nil {
			t.Errorf("%s: Write succeeds", rule)
		}
		fakecuda.Reset()
		try(t, s.Write(m.Span(), data))
		back := make([]byte, size)
		try(t, s.Read(back, m.Span()))
		if string(back) != string(data) {
			t.Errorf("%s: wrong bytes afterwards", rule)
		}
	}
	for _, rule := range []string{"cuMemcpyDtoHAsync@1=1", "cuMemcpyDtoHAsync@5=1", "cuEventRecord@2=1", "cuEventSynchronize@4=1",
		"cuStreamSynchronize@1=1"} {
		fakecuda.Reset()
		try(t, fakecuda.Fail(rule))
		if err := s.Read(make([]byte, size), m.Span()); err == nil {
			t.Errorf("%s: Read succeeds", rule)
		}
	}
	// While nothing can be waited for, a stage that a copy may use stays aside.
	fakecuda.Reset()
	try(t, s.Write(m.Span(), data))
	try(t, fakecuda.Fail("cuStreamSynchronize@1+=1,cuCtxSynchronize@1+=1"))
	for range 2 {
		if err := s.Write(m.Span(), data); err == nil {
			t.Error("Write succeeds, though its end cannot be waited for")
		}
	}
	if n, aside := len(d.stage.idle), len(d.stage.aside); n != 0 || aside != 2 {
		t.Errorf("%d idle stages and %d aside", n, aside)
	}
	fakecuda.Reset()
	try(t, s.Write(m.Span(), data))
	if n, aside := len(d.stage.idle), len(d.stage.aside); n != 2 || aside != 0 || d.stage.all != 2 {
		t.Errorf("%d idle stages of %d, %d aside, want two", n, d.stage.all, aside)
	}
	for _, st := range d.stage.idle {
		if !zero(st.host.Bytes()) {
			t.Error("a stage was not wiped")
		}
	}
}

// A driver that cannot tell a kernel's parameters has any number accepted.
func TestUnknownParameters(t *testing.T) {
	d := openFake(t)
	mod, s := kernels(t, d), stream(t, d)
	f := got(mod.Function("test_silent"))(t)
	before := fakecuda.Counter("kernels_run")
	try(t, f.Launch(s, Launch{}))
	try(t, f.Launch(s, Launch{}, 1, 2, 3))
	if n := fakecuda.Counter("kernels_run") - before; n != 2 {
		t.Errorf("%d kernels ran, want 2", n)
	}
}

// The tests on a device that lacks something run in a process of their own.
func TestLesserDevices(t *testing.T) {
	openFake(t)
	for name, env := range map[string]string{
		"^TestRegisteredReadOnly$": "FAKECUDA_READONLY=0",
		"^TestOutOfMemory$":        "FAKECUDA_MEMORY=300M",
	} {
		cmd := exec.Command(os.Args[0], "-test.run="+name, "-test.v")
		cmd.Env = append(os.Environ(), env)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%s with %s: %v\n%s", name, env, err, out)
		}
	}
}

// The first copy between two devices has each reach the other's memory, once; copies
// do without where that fails.
func TestReach(t *testing.T) {
	d := openFake(t)
	if all := got(Devices())(t); len(all) < 2 {
		t.Skip("needs FAKECUDA_DEVICES=2")
	}
	for _, rule := range []string{"", "cuDeviceCanAccessPeer@1=101", "cuCtxEnablePeerAccess@1=217"} {
		fakecuda.Reset()
		other := got(Open(1))(t)
		try(t, fakecuda.Fail(rule))
		to, from := alloc(t, d, 64), alloc(t, other, 64)
		here, there := stream(t, d), stream(t, other)
		for i := range 3 {
			v := byte(1 + i)
			try(t, errors.Join(there.Fill(from.Span(), v), there.Synchronize(), here.CopyFrom(to.Span(), from.Span())))
			b := make([]byte, 64)
			try(t, here.Read(b, to.Span()))
			if b[0] != v || b[63] != v {
				t.Errorf("%q: copied %d, want %d", rule, b[0], v)
			}
		}
		want := int64(2)
		if strings.HasPrefix(rule, "cuDevice") {
			want = 1
		}
		if n := fakecuda.Calls("cuCtxEnablePeerAccess"); n != want {
			t.Errorf("%q: asked %d times, want %d", rule, n, want)
		}
		try(t, errors.Join(there.Close(), from.Free(), other.Close()))
	}
	fakecuda.Reset()
}

// A device's loss leaves the others as they are.
func TestOneDeviceOfTwoIsLost(t *testing.T) {
	d := openFake(t)
	if all := got(Devices())(t); len(all) < 2 {
		t.Skip("needs FAKECUDA_DEVICES=2")
	}
	other := got(Open(1))(t)
	try(t, fakecuda.Fail("cuCtxSynchronize@1=719"))
	if err := other.Synchronize(); !errors.Is(err, backend.ErrGone) {
		t.Fatalf("%v, want ErrGone", err)
	}
	try(t, d.Synchronize())
	m, mine := alloc(t, d, 8), stream(t, d)
	revive(other)
	theirs := stream(t, other)
	for name, err := range map[string]error{
		"fill":  theirs.Fill(m.Span(), 0),
		"write": theirs.Write(m.Span(), make([]byte, 8)),
	} {
		if !errors.Is(err, backend.ErrInternal) {
			t.Errorf("%s across devices: %v", name, err)
		}
	}
	try(t, mine.Fill(m.Span(), 0))
	try(t, theirs.Close())
	try(t, other.Close())
	if err := mine.Synchronize(); err != nil {
		t.Error(err)
	}
}

func TestOpenFails(t *testing.T) {
	openFake(t)
	for _, call := range []string{"cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem", "cuDeviceGetAttribute",
		"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxRetain"} {
		for result, kind := range map[Result]error{
			DeviceUnavailable: backend.ErrUnavailable, Unknown: backend.ErrUnavailable, OutOfMemory: backend.ErrOutOfMemory,
		} {
			fakecuda.Reset()
			try(t, fakecuda.Fail(fmt.Sprintf("%s@1=%d", call, result)))
			if _, err := Open(0); !errors.Is(err, kind) || !strings.Contains(err.Error(), call) {
				t.Errorf("%s fails with %v: %v", call, result, err)
			}
		}
	}
}

// runSmoke runs the smoke program with only these variables and no driver but
// what they name.
func runSmoke(t *testing.T, program string, args []string, env ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = env
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// A program starts without a driver, says so when asked, and writes nothing to
// stdout by itself: the plugin's handshake needs that.
func TestStart(t *testing.T) {
	openFake(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "smoke")
	if out, err := exec.Command("go", "build", "-tags", "cuda", "-o", program, "./internal/smoke").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("ldd", program).CombinedOutput(); err != nil || strings.Contains(string(out), "libcuda") {
		t.Errorf("ldd: %v\n%s", err, out)
	}
	fake := strings.Split(os.Getenv("LD_LIBRARY_PATH"), ":")[0]
	// A library that is there and is no driver.
	broken := filepath.Join(dir, "libcuda.so.1")
	try(t, os.WriteFile(broken, []byte("not a library"), 0o644))

	absent := []string{"-library", filepath.Join(dir, "absent", "libcuda.so.1")}
	for _, c := range []struct {
		name           string
		args, env      []string
		code           int
		stdout, stderr string // parts; no part, no output
	}{
		{"help", []string{"--help"}, nil, 0, "", "-library"},
		{"help with a driver", []string{"--help"}, []string{"LD_LIBRARY_PATH=" + fake}, 0, "", "-library"},
		{"no library", absent, nil, 3, "", "install the NVIDIA driver"},
		{"a broken library", nil, []string{"LD_LIBRARY_PATH=" + dir}, 3, "", "install the NVIDIA driver"},
		{"another library", []string{"-library", "libm.so.6"}, nil, 3, "", "it has no cuInit"},
		{"no device", nil, []string{"LD_LIBRARY_PATH=" + fake, "FAKECUDA_DEVICES=0"}, 3, "", "CUDA_VISIBLE_DEVICES"},
		{"a driver that does not start", nil, []string{"LD_LIBRARY_PATH=" + fake, "FAKECUDA_FAIL=cuInit@1=999"}, 3, "", "does not start"},
		{"versions that differ", nil, []string{"LD_LIBRARY_PATH=" + fake, "FAKECUDA_FAIL=cuInit@1=803"}, 3, "", "reboot"},
		{"devices", nil, []string{"LD_LIBRARY_PATH=" + fake, "FAKECUDA_DEVICES=3", "FAKECUDA_MEMORY=24G", "FAKECUDA_CC=8.9"},
			0, "2: Fake GPU 2, 24 GiB, compute capability 8.9, driver for CUDA 13.0", ""},
	} {
		report := filepath.Join(dir, "report")
		_ = os.Remove(report)
		c.env = append(c.env, "FAKECUDA_REPORT="+report)
		stdout, stderr, code := runSmoke(t, program, c.args, c.env...)
		if code != c.code || !part(stdout, c.stdout) || !part(stderr, c.stderr) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", c.name, code, stdout, stderr)
		}
		if c.code == 3 && !strings.Contains(stderr, "backend unavailable") {
			t.Errorf("%s: %q", c.name, stderr)
		}
		// The fake's report shows whether it was loaded: for --help it is not.
		text, err := os.ReadFile(report)
		if loaded := err == nil; loaded != strings.Contains(stdout+stderr, "Fake GPU") && !strings.Contains(stderr, "CUDA_ERROR") {
			t.Errorf("%s: the driver was loaded: %v", c.name, loaded)
		} else if loaded && !strings.Contains(string(text), "contexts 0\n") {
			t.Errorf("%s: report %q", c.name, text)
		}
	}
}

func part(s, part string) bool { return strings.Contains(s, part) && (part != "" || s == "") }
