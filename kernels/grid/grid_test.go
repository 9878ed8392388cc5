//go:build cuda && cgo && linux && (amd64 || arm64)

// Package grid_test runs kernels one by one: on a GPU, or compiled for the host,
// on the fake driver, where scripts/test-cuda-fake has one.
package grid_test

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pippin-zk/pippin/backend"
	"github.com/pippin-zk/pippin/internal/cuda/driver"
	"github.com/pippin-zk/pippin/kernels"
)

// TestMain compiles the kernels for the host and hands them to the fake driver.
func TestMain(m *testing.M) {
	if os.Getenv("FAKECUDA_KERNELS") != "" {
		out, err := exec.Command("../host/build").Output()
		if err != nil {
			panic("kernels/host/build: " + err.Error())
		}
		os.Setenv("FAKECUDA_KERNELS", os.Getenv("FAKECUDA_KERNELS")+":"+strings.TrimSpace(string(out)))
	}
	os.Exit(m.Run())
}

// device is a device that a test launches kernels on.
type device struct {
	*testing.T
	*driver.Device
	stream *driver.Stream
}

// open opens a device, or skips the test where there is none. A machine that is
// said to have one, by PIPPIN_GPU=1, must have one.
func open(t *testing.T) *device {
	t.Helper()
	d, err := driver.Open(0)
	if errors.Is(err, backend.ErrUnavailable) && os.Getenv("PIPPIN_GPU") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	return &device{t, d, s}
}

// must ends the test at an error.
func (d *device) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// words allocates n words and writes w first. The others get a pattern that is no answer.
func (d *device) words(n int, w ...uint32) driver.Span {
	d.Helper()
	m, err := d.Alloc(4 * int64(n))
	d.must(err)
	d.must(d.stream.Fill(m.Span(), 0x55))
	if len(w) > 0 {
		b := make([]byte, 4*len(w))
		for i, v := range w {
			binary.LittleEndian.PutUint32(b[4*i:], v)
		}
		d.must(d.stream.Write(m.Span().Slice(0, int64(len(b))), b))
	}
	return m.Span()
}

// read returns the words of a span.
func (d *device) read(s driver.Span) []uint32 {
	d.Helper()
	b := make([]byte, s.Size())
	d.must(d.stream.Read(b, s))
	w := make([]uint32, len(b)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return w
}

func at(s driver.Span) kernels.Pointer { return kernels.Pointer(s.Param()) }

// function loads a kernel.
func function(d *device, e kernels.Entry) *driver.Function {
	d.Helper()
	image, err := kernels.Image(e.Unit, d.Info().Compute.Major, d.Info().Compute.Minor)
	d.must(err)
	m, err := d.LoadModule(image)
	d.must(err)
	f, err := m.Function(e.Symbol)
	d.must(err)
	return f
}

// launch runs a kernel on x by y blocks.
func launch[P kernels.Params](d *device, k kernels.Kernel[P], x, y int, p P) {
	d.Helper()
	launchShaped(d, function(d, k.Entry), driver.Launch{Grid: driver.Dim{X: x, Y: y}, Block: driver.Dim{X: k.Threads}}, p)
}

func launchShaped(d *device, f *driver.Function, l driver.Launch, p kernels.Params) {
	d.Helper()
	var params []driver.Param
	for _, w := range p.Words() {
		params = append(params, driver.Param(w))
	}
	d.must(f.Launch(d.stream, l, params...))
	d.must(d.stream.Synchronize())
}
