package driver

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/pippin-zk/pippin/backend"
)

// mock is a driver whose calls answer what a test says; calls that it lacks
// are nil and end the test.
type mock struct {
	api
	answer Result // of alloc, free and synchronize
	calls  atomic.Int64
}

func (m *mock) text(r Result) string                     { return "text of " + r.String() }
func (m *mock) setCurrent(handle) Result                 { m.calls.Add(1); return Success }
func (m *mock) synchronize() Result                      { m.calls.Add(1); return m.answer }
func (m *mock) alloc(int64) (address, Result)            { m.calls.Add(1); return 4096, m.answer }
func (m *mock) free(address) Result                      { m.calls.Add(1); return m.answer }
func (m *mock) memInfo() (int64, int64, Result)          { return 10, 100, Success }
func (m *mock) hostAlloc(int64) (unsafe.Pointer, Result) { return nil, OutOfMemory }
func (m *mock) releasePrimary(int) Result                { m.calls.Add(1); return Success }
func (m *mock) streamCreate(bool) (handle, Result)       { return 7, Success }
func (m *mock) streamDestroy(handle) Result              { return m.answer }
func (m *mock) streamSynchronize(handle) Result          { return m.answer }
func (m *mock) streamQuery(handle) Result                { return m.answer }
func (m *mock) moduleLoad([]byte) (handle, Result)       { return 9, m.answer }

func mocked(answer Result) (*mock, *Device) {
	m := &mock{answer: answer}
	return m, newDevice(m, 0, 1, Info{Name: "Mock", Compute: Compute{8, 6}})
}

// A sticky error is remembered: the driver is not asked again, and giving
// things back succeeds.
func TestStickyIsRemembered(t *testing.T) {
	m, d := mocked(Success)
	mem, err := d.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-d.Lost():
		t.Fatal("lost from the start")
	default:
	}
	m.answer = IllegalAddress
	first := d.Synchronize()
	if !errors.Is(first, backend.ErrGone) {
		t.Fatalf("illegal address: %v, want ErrGone", first)
	}
	var e *Error
	if !errors.As(first, &e) || e.Call != "cuCtxSynchronize" || e.Result != IllegalAddress {
		t.Fatalf("illegal address: %#v", e)
	}
	<-d.Lost()
	before := m.calls.Load()
	m.answer = Success
	_, allocErr := d.Alloc(64)
	for name, err := range map[string]error{"Synchronize": d.Synchronize(), "Alloc": allocErr, "Err": d.Err()} {
		if !errors.Is(err, backend.ErrGone) || !errors.As(err, &e) || e.Call != "cuCtxSynchronize" {
			t.Errorf("%s on a lost device: %v, want the first error", name, err)
		}
	}
	if err := mem.Free(); err != nil {
		t.Errorf("Free on a lost device: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close of a lost device: %v", err)
	}
	if after := m.calls.Load(); after != before {
		t.Errorf("the driver was called %d times after the device was lost", after-before)
	}
	if live := d.Live(); live != (Live{}) {
		t.Errorf("left over: %+v", live)
	}
}

func TestOtherErrorsAreNotRemembered(t *testing.T) {
	m, d := mocked(LaunchOutOfResources)
	if err := d.Synchronize(); !errors.Is(err, backend.ErrUnsupported) {
		t.Fatalf("%v, want ErrUnsupported", err)
	}
	m.answer = Success
	if err := d.Synchronize(); err != nil || d.Err() != nil {
		t.Fatalf("afterwards: %v, %v", err, d.Err())
	}
}

func TestOutOfMemorySaysTheNeed(t *testing.T) {
	_, d := mocked(OutOfMemory)
	_, err := d.Alloc(12345)
	var m *MemoryError
	if !errors.Is(err, backend.ErrOutOfMemory) || !errors.As(err, &m) {
		t.Fatalf("%v, want a MemoryError", err)
	}
	if m.Asked != 12345 || m.Free != 10 || m.Total != 100 {
		t.Errorf("%+v", m)
	}
	for _, part := range []string{"12345 bytes asked for", "10 free of 100", "CUDA_ERROR_OUT_OF_MEMORY", "cuMemAlloc", "text of"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	_, err = d.AllocHost(77)
	if !errors.As(err, &m) || m.Asked != 77 || m.Total != 0 || strings.Contains(err.Error(), "free of") {
		t.Errorf("pinned memory: %v", err)
	}
	if live := d.Live(); live != (Live{}) {
		t.Errorf("counted as live: %+v", live)
	}
	for _, size := range []int64{0, -1} {
		if _, err := d.Alloc(size); !errors.Is(err, backend.ErrInternal) {
			t.Errorf("Alloc(%d): %v", size, err)
		}
	}
}

func TestClosed(t *testing.T) {
	m, d := mocked(Success)
	mem, err := d.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close of a stream: %v", err)
	}
	if err := s.Synchronize(); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed stream: %v", err)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	calls := m.calls.Load()
	if err := d.Synchronize(); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("closed device: %v", err)
	}
	if err := mem.Free(); err != nil {
		t.Errorf("Free on a closed device: %v", err)
	}
	if m.calls.Load() != calls {
		t.Error("a closed device calls the driver")
	}
}

func TestDone(t *testing.T) {
	m, d := mocked(NotReady)
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if done, err := s.Done(); done || err != nil {
		t.Errorf("not ready: %v, %v", done, err)
	}
	m.answer = Success
	if done, err := s.Done(); !done || err != nil {
		t.Errorf("ready: %v, %v", done, err)
	}
	m.answer = LaunchFailed
	if done, err := s.Done(); done || !errors.Is(err, backend.ErrGone) {
		t.Errorf("failed: %v, %v", done, err)
	}
}

func TestNoImageSaysWhatToDo(t *testing.T) {
	for _, r := range []Result{NoBinaryForGPU, InvalidPTX, UnsupportedPTX, JITCompilerNotFound} {
		_, d := mocked(r)
		_, err := d.LoadModule([]byte("image"))
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("%v: %v, want ErrUnavailable", r, err)
			continue
		}
		for _, part := range []string{"install driver", "compute capability 8.6"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q lacks %q", err, part)
			}
		}
	}
	_, d := mocked(Success)
	if _, err := d.LoadModule(nil); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("no image: %v", err)
	}
}

func TestSpan(t *testing.T) {
	_, d := mocked(Success)
	_, other := mocked(Success)
	mem, err := d.Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	all := mem.Span()
	part := all.Slice(10, 80).Slice(5, 20)
	if part.Size() != 20 || part.Param() != 4096+15 {
		t.Errorf("slice of a slice: %d bytes at %d", part.Size(), part.Param())
	}
	if a, err := part.on(d); err != nil || a != 4096+15 {
		t.Errorf("%v, %v", a, err)
	}
	for _, c := range []struct{ off, size int64 }{{-1, 1}, {0, -1}, {0, 101}, {101, 0}, {50, 51}, {1 << 62, 1 << 62}} {
		bad := all.Slice(c.off, c.size)
		if _, err := bad.on(d); !errors.Is(err, backend.ErrInternal) || bad.Param() != 0 {
			t.Errorf("Slice(%d, %d): %v, parameter %d", c.off, c.size, err, bad.Param())
		}
		if _, err := bad.Slice(0, 0).on(d); !errors.Is(err, backend.ErrInternal) {
			t.Errorf("Slice(%d, %d) sliced again: %v", c.off, c.size, err)
		}
	}
	if _, err := all.on(other); !errors.Is(err, backend.ErrInternal) {
		t.Errorf("another device's memory: %v", err)
	}
	if _, err := (Span{}).on(d); err != nil {
		t.Errorf("the empty span: %v", err)
	}
	if err := mem.Free(); err != nil {
		t.Fatal(err)
	}
	if err := mem.Free(); err != nil {
		t.Errorf("second Free: %v", err)
	}
	if _, err := part.on(d); !errors.Is(err, backend.ErrInternal) || part.Param() != 0 {
		t.Errorf("freed memory: %v", err)
	}
}
